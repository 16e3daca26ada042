package agentfile

import (
	"strings"
	"testing"
	"testing/fstest"
)

// The specialists that come with the program fit together and can be chosen by what they
// say of themselves; a user's own of the same name counts before them.
func TestTalents(t *testing.T) {
	lib, err := Load(Talents())
	if err != nil {
		t.Fatal(err)
	}
	if err := lib.Check(); err != nil {
		t.Error(err)
	}
	all := lib.All()
	if len(all) < 20 || len(lib.Notes()) > 0 {
		t.Errorf("%d of them, %v", len(all), lib.Notes())
	}
	for _, f := range all {
		if f.Layer != BuiltIn || len(f.Description) < 60 || len(f.Description) > 200 {
			t.Errorf("%s: %s: %q", f.Layer, f.Name, f.Description)
		}
		for _, want := range []string{"### Deliverables\n", "### Quality bar\n"} {
			if !strings.Contains(f.Body, want) {
				t.Errorf("%s has no %q", f.Name, want)
			}
		}
	}
	own := Source{Layer: User, Name: "own", FS: fstest.MapFS{"x.md": {Data: []byte("---\nname: senior-developer\n---\nMine.\n")}}}
	if lib, err = Load(own, Talents()); err != nil {
		t.Fatal(err)
	}
	if f, err := lib.Find("senior-developer"); err != nil || f.Body != "Mine." {
		t.Errorf("%+v %v", f, err)
	}
}

// What is wrong in a library of somebody else hinders nothing, and is named.
func TestGather(t *testing.T) {
	found, notes, err := Gather(Source{Layer: User, Name: "lib", FS: fstest.MapFS{
		"a/one.md":      {Data: []byte("---\nname: One Of Them\ncolor: red\n---\nOne.\n")},
		"b/one.md":      {Data: []byte("---\nname: one-of-them\n---\nAgain.\n")},
		"b/bad.md":      {Data: []byte("---\nname: bad\nhandof: x\nrol: y\n---\nBad.\n")},
		"s/SKILL.md":    {Data: []byte("---\nname: s\n---\nA skill.\n")},
		"s/about/it.md": {Data: []byte("---\nname: it\n---\nOf the skill.\n")},
		"README.md":     {Data: []byte("# A library\n")},
		"c/two.md":      {Data: []byte("---\nname: two\n---\nTwo.\n")},
		"c/note.txt":    {Data: []byte("---\nname: three\n---\nThree.\n")},
	}})
	if err != nil || len(found) != 2 || found[0].Name != "one-of-them" || found[1].Name != "two" || !strings.Contains(string(found[0].Raw), "One Of Them") {
		t.Errorf("%+v %v", found, err)
	}
	all := strings.Join(notes, "\n")
	for _, want := range []string{
		"lib/s: a skill, which is no agent",
		"lib/README.md: no frontmatter, so no agent", "lib/b/bad.md: not taken: line 3: unknown key handof (did you mean handoff?) (and 1 more)",
		"lib/b/one.md: not taken: lib/a/one.md has the same name, one-of-them", "lib/a/one.md: color: no meaning here",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
}
