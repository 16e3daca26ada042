package agentfile

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDrawings(t *testing.T) {
	l := load(t, map[string]string{
		"triage.md":  "description: 'Reads what comes in: all of it'\nadvisors: [risk]\nagents: [search]\nrouter: {destinations: [legal, panel, gone]}",
		"risk.md":    "agents: [search]",
		"search.md":  "description: Finds \"files\"",
		"legal.md":   "handoff: audit",
		"audit.md":   "handoff: sign",
		"sign.md":    "name: sign",
		"panel.md":   "team: {members: [analyst, legal], supervisor: boss}",
		"analyst.md": "name: analyst",
		"boss.md":    "handoff: audit",
		"alone.md":   "name: alone",
	})
	for file, got := range map[string]string{"testdata/tree.txt": l.Draw("triage"), "testdata/tree.mmd": l.Mermaid("triage")} {
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if diff := cmp.Diff(string(want), got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", file, err, diff)
		}
	}
	if got := l.Draw("alone"); got != "alone\n" {
		t.Errorf("%q", got)
	}
	if got := l.Mermaid("alone"); got != "flowchart TD\n  n0[\"alone\"]\n" {
		t.Errorf("%q", got)
	}
	if got := l.Draw("nobody") + l.Mermaid("nobody"); got != "" {
		t.Errorf("%q", got)
	}
}

// Agents that Check refuses are drawn all the same, to the end.
func TestDrawingsOfACycle(t *testing.T) {
	l := load(t, map[string]string{"a.md": "handoff: b", "b.md": "handoff: a"})
	if got, want := l.Draw("a"), "a\n└─ handoff b\n   └─ handoff a (above)\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := l.Mermaid("a"), "flowchart TD\n  n0[\"a\"]\n  n1[\"b\"]\n  n0 -->|handoff| n1\n  n1 -->|handoff| n0\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// No description leaves its label.
func TestLabelsHold(t *testing.T) {
	label := regexp.MustCompile(`^  n\d+\["[\pL\pN .,\-_]*(#\d+;|[\pL\pN .,\-_]|<br/>)*"\]$`)
	for _, hostile := range []string{
		`"]; click n0 "javascript:alert(1)"`, "a\nb --> c\n```\n# x", "<script>x</script>", "`**md**`", "#quot;]", "%%{init: {}}%%", "end", "a|b|c", "{{x}}", "\u202ea\u2028b\u0085", "ﬂ°°34¶ß",
	} {
		l := Library{files: map[string]*reading{"a": {file: File{Name: "a", Description: hostile}}}}
		lines := strings.Split(strings.TrimSuffix(l.Mermaid("a"), "\n"), "\n")
		if len(lines) != 2 || !label.MatchString(lines[1]) || strings.Contains(lines[1], "#8238;") {
			t.Errorf("%q: %q", hostile, lines)
		}
		l = Library{files: map[string]*reading{"a": {file: File{Name: "a", Handoff: hostile}}}}
		lines = strings.Split(strings.TrimSuffix(l.Mermaid("a"), "\n"), "\n")
		if len(lines) != 4 || !label.MatchString(lines[2]) {
			t.Errorf("name %q: %q", hostile, lines)
		}
	}
}
