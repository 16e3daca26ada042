package agentfile

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"agency/internal/agency"
	"agency/internal/config"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// eachPair runs a case of a golden archive: NAME.md, and NAME.err with what is to come
// of it.
func eachPair(t *testing.T, file string, got func(t *testing.T, input []byte, name string) string) {
	t.Helper()
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(a.Files); i += 2 {
		name := strings.TrimSuffix(a.Files[i].Name, ".md")
		t.Run(name, func(t *testing.T) {
			out := got(t, a.Files[i].Data, a.Files[i].Name)
			if diff := cmp.Diff(string(a.Files[i+1].Data), out); diff != "" && !*update {
				t.Errorf("(-want +got):\n%s", diff)
			}
			a.Files[i+1].Data = []byte(out)
		})
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBadFiles(t *testing.T) {
	eachPair(t, "testdata/bad.txtar", func(t *testing.T, input []byte, name string) string {
		_, err := Parse("agents/"+name, input)
		var faults config.Faults
		if agency.KindOf(err) != agency.KindInvalid || !errors.As(err, &faults) {
			t.Fatalf("%v is of kind %s, and no faults", err, agency.KindOf(err))
		}
		return err.Error() + "\n"
	})
}

// What no archive of text can hold.
func TestBadBytes(t *testing.T) {
	for _, tt := range []struct{ name, input, want string }{
		{"not UTF-8 in the body", "---\nname: a\n---\nWork.\nä\xff", "config: a.md:5:2: not UTF-8\n    5 | ä\n      |  ^"},
		{"not UTF-8 in the head", "---\nname: \xff\n---\nWork.\n", "config: a.md:2:7: not UTF-8\n    2 | name:\n      |       ^"},
		{"NUL", "---\nname: a\n---\nWork\x00.\n", "config: a.md:4:5: the control character U+0000\n    4 | Work .\n      |     ^"},
		{"NUL before what is not UTF-8", "---\nname: a\n---\n\x00\xff\n", "config: a.md:4:1: the control character U+0000\n    4 | \n      | ^"},
		{"a control character in the head", "---\nname: \x1b\n---\nWork.\n", "config: a.md:2:7: the control character U+001B\n    2 | name:\n      |       ^"},
		{"too large", "---\nname: a\n---\n" + strings.Repeat("x", maxFile-15), "config: a.md: the file has 262145 bytes, more than 256 KiB"},
		{"a name of which nothing is left", "---\nname: Ä\n---\nWork.\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("a.md", []byte(tt.input))
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	_, err := Parse("\x1b[2J.md", []byte("---\nnam: a\n---\nWork.\n"))
	if want := `config: "\x1b[2J.md":2:1: `; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	_, err = Parse("Ä.md", []byte("---\nname: Ö\n---\nWork.\n"))
	if want := "config: Ä.md:1:1: the agent has no name: write one, up to 64 of letters, digits, '.', '_' and '-'\n    1 | ---\n      | ^"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestNoFrontmatter(t *testing.T) {
	for _, text := range []string{"", "# Notes\n", "\n---\nname: a\n---\nWork.\n", "----\n", "--- a\n"} {
		_, err := Parse("docs/a.md", []byte(text))
		if !errors.Is(err, ErrNoFrontmatter) || agency.KindOf(err) != agency.KindInvalid {
			t.Errorf("%q: %v", text, err)
		} else if want := "docs/a.md: no frontmatter: the file does not begin with a line of ---"; err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestParse(t *testing.T) {
	const all = `---
name: risk-assessor               # id, unique
description: when to use it
role: reviewer
model: anthropic/claude-x:1
tools: [read_file, run_tests]
max_turns: 20
max_tool_calls_per_turn: 10
max_output_tokens: 4096
timeout_seconds: 600
chat: true
agents: [other-agent]
handoff: Approval Gateway
router: {destinations: [legal, billing]}
advisors: [compliance-checker]
input: json
output: json
team: {members: [analyst, developer], supervisor: planning-lead, memberMaxTurns: 6, supervisorMaxTurns: 12}
---

# Risks
---
Look.

`
	want := File{
		Name: "risk-assessor", Description: "when to use it", Role: agency.RoleReviewer, Model: "anthropic/claude-x:1",
		Tools: []string{"read_file", "run_tests"}, MaxTurns: 20, MaxToolCallsPerTurn: 10, MaxOutputTokens: 4096, TimeoutSeconds: 600,
		Chat: true, Agents: []string{"other-agent"}, Handoff: "approval-gateway", Router: &Router{[]string{"legal", "billing"}},
		Advisors: []string{"compliance-checker"}, Input: JSON, Output: JSON,
		Team: &Team{[]string{"analyst", "developer"}, "planning-lead", 6, 12},
		Body: "# Risks\n---\nLook.", Path: "agents/x.md", Servers: []string{},
	}
	for name, text := range map[string]string{
		"plain": all, "CRLF": strings.ReplaceAll(all, "\n", "\r\n"), "BOM": "\xef\xbb\xbf" + all,
	} {
		got, err := Parse("agents/x.md", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	least, err := Parse("agents/my agent.agent.md", []byte("---\n---\nWork."))
	if diff := cmp.Diff(File{Name: "my-agent", Input: Markdown, Output: Markdown, Body: "Work.", Path: "agents/my agent.agent.md"}, least); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	whole := "---\nname: a\n---\n" + strings.Repeat("x", maxFile-16)
	if f, err := Parse("a.md", []byte(whole)); err != nil || len(whole) != maxFile || len(f.Body) != maxFile-16 {
		t.Errorf("%d bytes: %v", len(whole), err)
	}
}

func TestDescriptionIsCut(t *testing.T) {
	for _, tt := range []struct {
		n    int
		note string
	}{{512, ""}, {513, "description has 1026 bytes and was cut at 1024"}} {
		f, err := Parse("a.md", []byte("---\ndescription: "+strings.Repeat("ä", tt.n)+"\n---\nWork."))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(f.Notes, "\n"); got != tt.note || len(f.Description) > maxDescription || len(f.Description) < maxDescription-2 {
			t.Errorf("%d bytes, noted %q", len(f.Description), got)
		}
		if cut := strings.HasSuffix(f.Description, "ä…"); cut != (tt.note != "") {
			t.Errorf("cut: %v", cut)
		}
	}
}
