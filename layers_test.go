package agency_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// rows is the order of the architecture, lowest first: a package may import
// only packages of lower rows, so siblings meet above (docs/ARCHITECTURE.md).
// A sub-package has its parent's row and may import its ancestors, and one
// beside it only where siblings says so.
var rows = [][]string{
	{"agency", "bounded", "beneath", "block"},
	{"linux"},
	{"rootfs"},
	{"supervisor"},
	{"store", "git", "sandbox", "llm", "config", "api", "backlog", "code", "fingerprint", "testreport", "notify", "slots"},
	{"awareness", "codebase"},
	{"event", "lease", "ecosystem", "secretscan"},
	{"languages", "overseer", "quality"},
	{"flow", "board", "registry", "budget", "workspace", "check", "roster", "textmerge", "acts", "stream"},
	{"changeset", "checkout", "commandfiles", "mutation", "suite", "verdicts"},
	{"tool", "verify", "brief", "deps", "decision", "artifact", "reservation"},
	{"session", "land", "mcp"},
	{"schedule", "critic", "report"},
	{"effects"},
	{"contractrun"},
	{"mode"},
	{"host", "doctor", "demo"},
	{"serve", "ui", "preview"},
	{"daemon"},
	{"cmd"},
}

// anyone may be imported from everywhere and imports nothing of the product.
var anyone = map[string]bool{"bug": true, "text": true, "race": true, "regexp": true}

// uiMayImport is all that a view may know: it draws what the api says.
var uiMayImport = map[string]bool{"api": true, "agency": true}

// siblings are what sub-packages may import of those beside them, by how the paths
// begin: any runtime of sessions stores what it does in the tables that all share, and
// tells its agent what all are told, which are no part of what a session means; the
// suite of adapters asks them through what retries; the list of tools is that of their
// families; who asks below a log reads the keys; who shows a conversation shows its
// turns.
var siblings = []struct{ from, to string }{
	{"internal/session/", "internal/session/record"},
	{"internal/session/", "internal/session/briefing"},
	{"internal/llm/llmtest", "internal/llm/failover"},
	{"internal/tool/toolset", "internal/tool/"},
	{"internal/ui/tui/ask", "internal/ui/prompt"},
	{"internal/ui/tui/app", "internal/ui/tui/turn"},
}

// compiles are those that take expressions that are written for a run: all others have
// theirs from internal/regexp, so that a program which begins compiles none.
var compiles = map[string]bool{"internal/regexp": true, "internal/tool/file": true, "internal/llm/rehearsal": true, "internal/ecosystem/node": true}

// testOnly are kept suites and rigs that a test of any row may import.
var testOnly = map[string]bool{"internal/torture": true}

func TestLayers(t *testing.T) {
	pure := map[string]bool{}
	for _, imp := range packages(t, false) {
		from, to := imp.from, imp.to
		if fault := judge(from, to); fault != "" {
			t.Errorf("%s imports %s: %s", from, to, fault)
		}
		if to == "regexp" && !compiles[from] {
			t.Errorf("%s imports regexp: take internal/regexp, which compiles when it is asked", from)
		}
		if anyone[top(from)] || top(from) == "agency" && !anyone[top(to)] {
			pure[to] = true
		}
	}
	for to := range pure {
		if strings.Contains(to, ".") || strings.HasPrefix(to, "internal/") {
			t.Errorf("the vocabulary, or what everybody may import, imports %s: it knows the standard library only", to)
		}
	}
	for _, imp := range packages(t, true) {
		if _, ok := row(imp.from); !ok && !testOnly[imp.from] && imp.from != "." {
			t.Errorf("%s stands in no row", imp.from)
		}
	}
}

// judge says what is wrong with an import, or nothing.
func judge(from, to string) string {
	if !ours(to) {
		return ""
	}
	fromRow, ok := row(from)
	if !ok {
		return from + " stands in no row"
	}
	toRow, ok := row(to)
	if !ok {
		return to + " stands in no row"
	}
	switch {
	case anyone[top(to)], strings.HasPrefix(from, to+"/"), beside(from, to):
		return ""
	case strings.HasPrefix(to, from+"/"):
		return "a parent does not import its sub-packages"
	case top(from) == "ui" && !uiMayImport[top(to)]:
		return "a view imports only api and agency"
	case toRow == fromRow:
		return "same row"
	case toRow > fromRow:
		return "upward"
	}
	return ""
}

// beside tells whether a sub-package may import one of its siblings.
func beside(from, to string) bool {
	for _, s := range siblings {
		if strings.HasPrefix(from, s.from) && strings.HasPrefix(to, s.to) {
			return true
		}
	}
	return false
}

// ours tells a package of the product from one of somebody else.
func ours(pkg string) bool {
	return strings.HasPrefix(pkg, "internal/") || strings.HasPrefix(pkg, "cmd/")
}

func TestJudge(t *testing.T) {
	for _, tt := range []struct{ from, to, want string }{
		{"internal/land", "internal/session", "same row"},
		{"internal/store", "internal/event", "upward"},
		{"internal/session", "internal/store", ""},
		{"internal/llm/openai", "internal/llm", ""},
		{"internal/llm", "internal/llm/openai", "a parent does not import its sub-packages"},
		{"internal/llm/openai", "internal/llm/anthropic", "same row"},
		{"internal/session/native", "internal/session/record", ""},
		{"internal/session/any", "internal/session/briefing", ""},
		{"internal/session/any", "internal/session/native", "same row"},
		{"internal/tool/toolset", "internal/tool/shell", ""},
		{"internal/tool/shell", "internal/tool/file", "same row"},
		{"internal/ui/tui", "internal/store", "a view imports only api and agency"},
		{"internal/ui/tui", "internal/api", ""},
		{"internal/store", "internal/bug", ""},
		{"internal/new", "internal/store", "internal/new stands in no row"},
		{"cmd/agency", "internal/daemon", ""},
	} {
		if got := judge(tt.from, tt.to); got != tt.want {
			t.Errorf("%s imports %s: %q, want %q", tt.from, tt.to, got, tt.want)
		}
	}
}

func top(pkg string) string {
	name := strings.TrimPrefix(pkg, "internal/")
	name, _, _ = strings.Cut(name, "/")
	return name
}

func row(pkg string) (int, bool) {
	if anyone[top(pkg)] {
		return -1, true
	}
	for i, names := range rows {
		for _, n := range names {
			if top(pkg) == n {
				return i, true
			}
		}
	}
	return 0, false
}

type edge struct{ from, to string }

// packages lists the imports of the product's files, of every platform; with
// tests too where asked.
func packages(t *testing.T, tests bool) []edge {
	t.Helper()
	var edges []edge
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || p == "bench" || p == "tools" || strings.HasPrefix(d.Name(), ".") && p != ".") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") && !tests {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		from := filepath.ToSlash(filepath.Dir(p))
		edges = append(edges, edge{from, from})
		for _, imp := range f.Imports {
			to, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				return err
			}
			if to = strings.TrimPrefix(to, "agency/"); to != from {
				edges = append(edges, edge{from, to})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return withoutSelf(edges, tests)
}

// withoutSelf drops the marks that stand for a package itself, unless the
// packages are what is asked for.
func withoutSelf(edges []edge, keep bool) []edge {
	var out []edge
	for _, e := range edges {
		if e.from != e.to || keep {
			out = append(out, e)
		}
	}
	return out
}

// TestSize holds the house rule: no file over 500 lines, no function over 70.
// Tests, embedded tables and generated code are excepted.
func TestSize(t *testing.T) {
	const maxFile, maxFunc = 500, 70
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") || strings.Contains(p, "testdata") {
			return err
		}
		b, err := os.ReadFile(p)
		if err != nil || strings.HasPrefix(path.Base(p), "zz_") {
			return err
		}
		lines := strings.Split(string(b), "\n")
		if len(lines) > maxFile+1 {
			t.Errorf("%s has %d lines", p, len(lines)-1)
		}
		start, name := 0, ""
		for i, l := range lines {
			switch {
			case strings.HasPrefix(l, "func "):
				start, name = i, l
			case l == "}" && name != "":
				if n := i - start + 1; n > maxFunc {
					t.Errorf("%s:%d: %d lines: %s", p, start+1, n, fmt.Sprintf("%.60s", name))
				}
				name = ""
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
