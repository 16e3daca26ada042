package resources

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/session"
	"agency/internal/text"
)

// The talent of a session is its contract's for who holds that, else its role's; the
// user's file of a name counts before the program's, and one that is broken is none.
func TestTalentOf(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"own.md": "---\nname: own\ndescription: When it is mine\n---\nMine.\n", "sre.md": "---\nname: sre\n---\nMy own.\n", "broken.md": "---\nname: broken\nhandof: x\n---\nNo.\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := &Runs{o: Options{Agents: dir}}
	c := config.Defaults()
	a := c.Agents["reviewer"]
	a.Talent = "code-reviewer"
	c.Agents["reviewer"] = a
	asked := agency.Contract{ID: "x", AssignedRole: agency.RoleScaffolder, Talent: "own"}
	for name, tt := range map[string]struct {
		role     agency.RoleID
		contract agency.Contract
		want     string // what its text begins with; empty: no talent
	}{
		"the contract's":                   {agency.RoleScaffolder, asked, "Mine."},
		"the role's of who reviews it":     {agency.RoleReviewer, asked, "You find the defect"},
		"the default":                      {agency.RoleScaffolder, agency.Contract{AssignedRole: agency.RoleScaffolder}, "You"},
		"none":                             {agency.RoleTestEngineer, agency.Contract{}, ""},
		"the user's before the program's":  {agency.RoleScaffolder, agency.Contract{AssignedRole: agency.RoleScaffolder, Talent: "sre"}, "My own."},
		"the domain's":                     {agency.RoleVerifier, agency.Contract{AssignedRole: agency.RoleImplementer, Domain: "API", Talent: "own"}, "You"},
		"another role's is not the holder": {agency.RoleTestEngineer, asked, ""},
	} {
		got, err := r.talentOf(session.Spec{Role: tt.role}, c, tt.contract)
		if err != nil || !strings.HasPrefix(got.Text, tt.want) || (got.Text == "") != (tt.want == "") {
			t.Errorf("%s: %.60q %v", name, got.Text, err)
		}
	}
	for name, want := range map[string]string{
		"own": "", "senior-developer": "", "broken": `talent "broken" is not known`, "senior-developr": `(did you mean senior-developer?)`,
	} {
		if got := r.talentFault(name); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q", name, got)
		}
	}
	offered, err := r.offered()
	if err != nil || len(offered) < 20 {
		t.Errorf("%d are offered, %v", len(offered), err)
	}
	for _, o := range offered {
		if o.Text != "" || o.Name == "sre" { // it does not say when to choose it
			t.Errorf("%+v", o)
		}
	}
}

// However many files a user has, and however much they say of themselves, a plan's author
// is shown few lines; the user's own are among them.
func TestOfferedIsBounded(t *testing.T) {
	dir := t.TempDir()
	for i := range 300 {
		file := fmt.Sprintf("---\nname: own-%03d\ndescription: %s\n---\nText.\n", i, strings.Repeat("when it is wanted, ", 50))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.md", i)), []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	offered, err := (&Runs{o: Options{Agents: dir}}).offered()
	if err != nil || len(offered) != mostOffered {
		t.Fatalf("%d, %v", len(offered), err)
	}
	for _, o := range offered {
		if !strings.HasPrefix(o.Name, "own-") || len(o.Description) > mostDescription+len(text.Ellipsis) {
			t.Errorf("%s: %d bytes", o.Name, len(o.Description))
		}
	}
}
