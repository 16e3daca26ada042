package agentfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/roster"
)

// folder is a file system of agent files: the head of each by path, where it begins
// with a key.
func folder(files map[string]string) fs.FS {
	out := fstest.MapFS{}
	for name, text := range files {
		if !strings.HasPrefix(text, "#") {
			text = "---\n" + text + "\n---\nWork.\n"
		}
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

func load(t *testing.T, files map[string]string) Library {
	t.Helper()
	l, err := Load(Source{Repository, "", folder(files), "."})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestNearestWins(t *testing.T) {
	near := Source{Repository, "repo", folder(map[string]string{
		"agents/deep/er/b.md": "description: near", "agents/README.md": "# Agents", "other/c.md": "name: c", "agents/x.txt": "name: x",
		"agents/.hidden/d.md": "bad", "agents/.e.md": "name: e\ncolor: red",
	}), "agents"}
	user := Source{User, "~/agents", folder(map[string]string{"a.md": "description: user", "b.md": "description: user"}), ""}
	far := Source{BuiltIn, "built in", folder(map[string]string{"a.md": "description: far", "z.md": "name: Z z"}), "."}
	l, err := Load(near, user, Source{User, "", folder(nil), "nowhere"}, far)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range l.All() {
		got = append(got, fmt.Sprintf("%s %s %s %s", f.Name, f.Layer, f.Path, f.Description))
	}
	if diff := cmp.Diff([]string{
		"a user ~/agents/a.md user", "b repository repo/agents/deep/er/b.md near", "e repository repo/agents/.e.md ", "z-z built-in built in/z.md ",
	}, got); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"repo/agents/.e.md: color: no meaning here",
		"repo/agents/.hidden: a hidden folder, which is not read",
		"repo/agents/README.md: no frontmatter, so no agent",
		"~/agents/b.md: not used: repo/agents/deep/er/b.md has the same name and is nearer",
		"built in/a.md: not used: ~/agents/a.md has the same name and is nearer",
	}, l.Notes()); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

func TestFind(t *testing.T) {
	l := load(t, map[string]string{"a.md": "name: reviewer", "b.md": "name: tester"})
	if f, err := l.Find("tester"); err != nil || f.Path != "b.md" || f.Layer != Repository || f.Body != "Work." {
		t.Errorf("%+v, %v", f, err)
	}
	for name, want := range map[string]string{
		"reviwer": `agent "reviwer" is not known (did you mean reviewer?)`, "zzz": `agent "zzz" is not known`,
	} {
		if _, err := l.Find(name); agency.KindOf(err) != agency.KindNotFound || err.Error() != want {
			t.Errorf("%v", err)
		}
	}
	if _, err := (Library{}).Find("a"); agency.KindOf(err) != agency.KindNotFound {
		t.Errorf("nothing loaded: %v", err)
	}
}

func TestFaultsOfALibrary(t *testing.T) {
	user := func(files map[string]string) Source { return Source{User, "u", folder(files), "."} }
	for _, tt := range []struct {
		name    string
		sources []Source
		want    string
	}{
		{"of every file", []Source{user(map[string]string{"a.md": "nam: a", "b/b.md": "chat: 3", "c.md": "name: c"})}, "config: u/a.md:2:1: unknown key nam (did you mean name?)\n    2 | nam: a\n      | ^\nagency: config: u/b/b.md:2:7: chat must be true or false, not a whole number (\"3\")\n    2 | chat: 3\n      |       ^"},
		{"two of a name", []Source{user(map[string]string{"a.md": "name: x", "b/x.md": "chat: true"})}, "config: u/b/x.md:1:1: agent x is also u/a.md:2: one layer has one of a name\n    1 | ---\n      | ^"},
		{"two of a name in two folders of a layer", []Source{user(map[string]string{"a.md": "name: x"}), {User, "v", folder(map[string]string{"y.md": "name: X y", "z.md": "role: pm\nname: x"}), ""}}, "config: v/z.md:3:1: agent x is also u/a.md:2: one layer has one of a name\n    3 | name: x\n      | ^"},
		{"a folder outside", []Source{{User, "u", folder(nil), "../x"}}, `agent files: "../x" is no folder below u`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(tt.sources...)
			if agency.KindOf(err) != agency.KindInvalid {
				t.Fatalf("%v", err)
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestBoundsOfALibrary(t *testing.T) {
	many := fstest.MapFS{}
	for i := range maxFiles {
		many[fmt.Sprintf("a%04d.md", i)] = &fstest.MapFile{Data: []byte("---\n---\nWork.")}
	}
	if l, err := Load(Source{User, "u", many, ""}); err != nil || len(l.All()) != maxFiles {
		t.Errorf("%d: %v", len(l.All()), err)
	}
	many["z.md"] = many["a0000.md"]
	if _, err := Load(Source{User, "u", many, ""}); err == nil || err.Error() != "agent files: more than 2000 files or 64 MiB, at u/z.md" {
		t.Errorf("%v", err)
	}
	large := fstest.MapFS{}
	for i := range maxBytes/maxFile + 1 {
		large[fmt.Sprintf("a%04d.md", i)] = &fstest.MapFile{Data: []byte("---\n---\n" + strings.Repeat("x", maxFile-8))}
	}
	if _, err := Load(Source{User, "u", large, ""}); err == nil || err.Error() != "agent files: more than 2000 files or 64 MiB, at u/a0256.md" {
		t.Errorf("%v", err)
	}
	delete(large, "a0256.md")
	if _, err := Load(Source{User, "u", large, ""}); err != nil {
		t.Errorf("%v", err)
	}
}

func TestLinksAreNotFollowed(t *testing.T) {
	dir := t.TempDir()
	write := func(name string) {
		p := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte("---\n---\nWork."), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("agents/a.md")
	write("out/b.md")
	for from, to := range map[string]string{"agents/l.md": "../out/b.md", "agents/dir": "../out", "linked": "agents", "up": "."} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	for at, want := range map[string][]string{
		"agents": {"a", "x/agents/l.md: a link or no plain file, which is not read"},
		"linked": {"x/linked: a link, which is not followed"}, "up/agents": {"x/up: a link, which is not followed"},
	} {
		l, err := Load(Source{User, "x", os.DirFS(dir), at})
		var got []string
		for _, f := range l.All() {
			got = append(got, f.Name)
		}
		if got = append(got, l.Notes()...); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", at, got, err)
		}
	}
}

// What is offered is never more than the role has, never less than it needs to end.
func TestTools(t *testing.T) {
	reviewer, err := roster.Find(agency.RoleReviewer)
	if err != nil {
		t.Fatal(err)
	}
	ends := []string{"signal_blocked", "submit_review"}
	for _, tt := range []struct {
		name string
		file File
		want []string
	}{
		{"the role's", File{Role: agency.RoleReviewer}, reviewer.Tools()},
		{"narrowed", File{Role: agency.RoleReviewer, Tools: []string{"read_file"}}, append([]string{"read_file"}, ends...)},
		{"not widened", File{Role: agency.RoleReviewer, Tools: []string{"write_file", "run_command"}}, ends},
		{"none", File{Role: agency.RoleReviewer, Tools: []string{}}, ends},
		{"no role", File{}, readers()},
		{"no role, narrowed", File{Tools: []string{"read_file", "write_file"}}, []string{"final_report", "read_file"}},
	} {
		if diff := cmp.Diff(tt.want, Library{}.Tools(tt.file)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	for _, tool := range readers() {
		for _, r := range roster.Roles() {
			if tool != "final_report" && r.ID != agency.RoleOverseer && !r.Offers(tool) {
				t.Errorf("an agent without a role has %s, which a %s has not", tool, r.ID)
			}
		}
	}
}
