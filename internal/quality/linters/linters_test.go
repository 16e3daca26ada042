package linters

import (
	"errors"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
)

// tree is a change of files, all of which are in the tree.
func tree(lint string, files map[string]string, changed ...string) Change {
	return Change{
		Files: changed, Lint: lint,
		Read: func(p string) []byte {
			if text, ok := files[p]; ok {
				return []byte(text)
			}
			return nil
		},
		Names: func(dir string) (out []string) {
			for p := range files {
				if path.Dir(p) == dir {
					out = append(out, path.Base(p))
				}
			}
			return out
		},
	}
}

func TestPlan(t *testing.T) {
	all := map[string]string{
		"go.mod": "module m\n", "a.go": "", "sub/go.mod": "module s\n\ntool (\n\thonnef.co/go/tools/cmd/staticcheck\n)\n", "sub/x/b.go": "",
		"p.py": "", "web/eslint.config.mjs": "", "web/src/c.ts": "", "c.js": "", "Cargo.toml": "", "src/l.rs": "", "package.json": `{"scripts": {"lint": "eslint ."}}`,
	}
	for name, tt := range map[string]struct {
		change Change
		want   []string
	}{
		"go":             {tree("", all, "a.go"), []string{"golangci-lint .", "staticcheck .", "gosec ."}},
		"two modules":    {tree("", all, "a.go", "sub/x/b.go"), []string{"golangci-lint .", "golangci-lint sub", "staticcheck .", "staticcheck sub", "gosec .", "gosec sub"}},
		"python":         {tree("", all, "p.py"), []string{"ruff .", "bandit ."}},
		"by its folder":  {tree("", all, "c.js", "web/src/c.ts"), []string{"eslint web"}},
		"rust":           {tree("", all, "src/l.rs"), []string{"clippy ."}},
		"not twice":      {tree("golangci-lint run && gosec ./...", all, "a.go"), []string{"staticcheck ."}},
		"not in scripts": {tree("npm run lint", all, "web/src/c.ts"), nil},
		"no code":        {tree("", all, "README.md"), nil},
	} {
		var got []string
		for _, c := range Plan(tt.change) {
			got = append(got, c.Analyzer+" "+c.Dir)
			if c.GoTool != (c.Analyzer == "staticcheck" && c.Dir == "sub") {
				t.Errorf("%s: %s in %s: a tool of the module: %t", name, c.Analyzer, c.Dir, c.GoTool)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// A line is shell whatever the names of files are, and names each below its folder.
func TestLines(t *testing.T) {
	files := map[string]string{"web/eslint.config.js": "", "web/src/it's $(touch x).ts": "", "web/-f.ts": "", "go.mod": "", "a/b.go": "", "a/c.go": ""}
	for _, c := range Plan(tree("", files, "web/src/it's $(touch x).ts", "web/-f.ts", "a/b.go", "a/c.go")) {
		line := c.Line()
		if out, err := exec.Command("sh", "-n", "-c", line).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", c.Analyzer, err, out)
		}
		switch c.Analyzer {
		case "eslint":
			if want := `set -- './src/it'\''s $(touch x).ts' './-f.ts'` + "\nfor at in"; !strings.HasPrefix(strings.Replace(line, "tool=eslint\n", "", 1), want) ||
				!strings.Contains(line, "'./node_modules/.bin/eslint' '../node_modules/.bin/eslint'") {
				t.Error(line)
			}
		case "gosec":
			if !strings.HasPrefix(line, "set -- './a'\n") {
				t.Error(line)
			}
		}
	}
}

// What real ones print, shortened.
func TestRead(t *testing.T) {
	for name, tt := range map[string]struct {
		analyzer, file, out string
		want                []string
	}{
		"eslint": {
			"eslint", "a.js", `[{"filePath":"/r/a.js","messages":[{"ruleId":"no-unused-vars","severity":2,"message":"'x' is assigned a value but never used.","line":3},` +
				`{"ruleId":"no-eval","severity":1,"message":"eval can be harmful.","line":1},{"ruleId":"semi","severity":2,"message":"Missing semicolon.","line":2},` +
				`{"ruleId":null,"severity":1,"message":"File ignored"}]}]`,
			[]string{
				"a.js:1: minor security: eval can be harmful. (eslint/no-eval)", "a.js:2: nitpick readability: Missing semicolon. (eslint/semi)",
				"a.js:3: minor maintainability: 'x' is assigned a value but never used. (eslint/no-unused-vars)",
			},
		},
		"staticcheck": {
			"staticcheck", "a.go", `{"code":"SA4006","severity":"error","location":{"file":"/r/a.go","line":7},"message":"never used"}` + "\n" +
				`{"code":"ST1000","severity":"error","location":{"file":"/r/b.go","line":7},"message":"elsewhere"}` + "\n",
			[]string{"a.go:7: major correctness: never used (staticcheck/SA4006)"},
		},
		"bandit": {
			"bandit", "a.py", `{"errors":[],"results":[{"filename":"./a.py","issue_severity":"HIGH","issue_text":"shell=True","line_number":3,"test_id":"B602"}]}`,
			[]string{"a.py:3: major security: shell=True (bandit/B602)"},
		},
		"clippy": {
			"clippy", "src/lib.rs", `{"reason":"compiler-artifact"}` + "\n" +
				`{"reason":"compiler-message","message":{"level":"warning","message":"unneeded return","code":{"code":"clippy::needless_return"},"spans":[{"file_name":"src/lib.rs","line_start":4,"is_primary":true}]}}` + "\n" +
				`{"reason":"compiler-message","message":{"level":"error","message":"always true","code":{"code":"clippy::absurd"},"spans":[{"file_name":"src/lib.rs","line_start":5,"is_primary":true}]}}` + "\n",
			[]string{"src/lib.rs:4: nitpick readability: unneeded return (clippy/clippy::needless_return)", "src/lib.rs:5: major correctness: always true (clippy/clippy::absurd)"},
		},
		"gosec": {
			"gosec", "a.go", `{"Golang errors":{},"Issues":[{"severity":"HIGH","confidence":"HIGH","rule_id":"G204","details":"tainted","file":"/r/a.go","line":"12-14"},` +
				`{"severity":"MEDIUM","rule_id":"G304","details":"a file","file":"/r/a.go","line":"13"}],"Stats":{}}`,
			[]string{"a.go:12: major security: tainted (gosec/G204)", "a.go:13: nitpick security: a file (gosec/G304)"},
		},
		"ruff": {
			"ruff", "a.py", `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"ruff"}},"results":[{"ruleId":"F821","level":"error","message":{"text":"undefined name"},` +
				`"locations":[{"physicalLocation":{"artifactLocation":{"uri":"file:///r/a.py"},"region":{"startLine":2}}}]}]}]}`,
			[]string{"a.py:2: major correctness: undefined name (ruff/F821)"},
		},
		"golangci-lint": {
			"golangci-lint", "a.go", `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"golangci-lint"}},"results":[{"ruleId":"staticcheck","level":"error","message":{"text":"SA4006: never used"},` +
				`"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a.go"},"region":{"startLine":1}}}]},{"ruleId":"staticcheck","level":"error","message":{"text":"ST1005: no capital"},` +
				`"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a.go"},"region":{"startLine":2}}}]}]}]}`,
			[]string{"a.go:1: major correctness: SA4006: never used (golangci-lint/staticcheck)", "a.go:2: nitpick readability: ST1005: no capital (golangci-lint/staticcheck)"},
		},
	} {
		var got []string
		found, err := callOf(tt.analyzer, tt.file).Read(Said{Out: []byte(tt.out), Root: "/r"})
		for _, f := range found {
			got = append(got, f.String())
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

// callOf is a call of an analyzer for a file at the root.
func callOf(name, file string) Call {
	at := slices.IndexFunc(table, func(a analyzer) bool { return a.name == name })
	return Call{Analyzer: name, Dir: ".", Files: []string{file}, of: table[at]}
}

// What fails says so in a line, and what is made to be large is not read.
func TestUnread(t *testing.T) {
	for name, tt := range map[string]struct {
		analyzer string
		said     Said
		want     string
	}{
		"not there":     {"gosec", Said{Exit: 127}, "not installed"},
		"ended":         {"gosec", Said{Cause: "it took longer than 1m0s"}, "it took longer than 1m0s"},
		"too much":      {"gosec", Said{Full: true}, "it printed more than is read"},
		"nothing":       {"gosec", Said{}, "it ended with 0: "},
		"fails":         {"staticcheck", Said{Exit: 1, Last: "no such package"}, "it ended with 1: no such package"},
		"not compiled":  {"staticcheck", Said{Out: []byte(`{"code":"compile","location":{},"message":"# p\nundefined: x"}`), Exit: 1}, "it ended with 1: # p undefined: x"},
		"empty results": {"semgrep", Said{Out: []byte(`{"version":"2.1.0","runs":[{"results":[` + strings.Repeat("{},", 1<<20) + `{}]}]}`)}, "it ended with 0: SARIF: JSON"},
		"empty lines":   {"clippy", Said{Out: []byte(strings.Repeat("{ }\n", 1<<20))}, "it ended with 0: more than 50000 lines"},
		"no parser":     {"eslint", Said{Out: []byte(`[{"filePath":"a.js","messages":[{"fatal":true,"message":"Parsing error: x"}]}]`), Exit: 1}, "it ended with 1: Parsing error: x"},
	} {
		_, err := callOf(tt.analyzer, "a.js").Read(tt.said)
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) || errors.Is(err, ErrMissing) != (tt.said.Exit == 127) {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}

// No name of a file leads out of what was changed, and no word becomes a dimension.
func TestForged(t *testing.T) {
	for _, uri := range []string{"../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "a.go/../../b", "b.go", "", "..", "http://x/a.go"} {
		out := `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"evil"}},"results":[{"ruleId":"x","message":{"text":"x"},"properties":{"severity":"fatal","dimension":"overall"},` +
			`"locations":[{"physicalLocation":{"artifactLocation":{"uri":"` + uri + `"},"region":{"startLine":1}}},{}]},{"ruleId":"y\nz","message":{"text":"y\u001b[31m\nz"},"properties":{"severity":"fatal","dimension":"overall"},` +
			`"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a.go"},"region":{"startLine":2}}}]},{"ruleId":"n","locations":[{"physicalLocation":{"artifactLocation":{"uri":"a.go"},"region":{"startLine":-7}}}]}]}]}`
		found, err := callOf("semgrep", "a.go").Read(Said{Out: []byte(out), Root: "/r"})
		if err != nil || len(found) != 1 || found[0].Line != 2 || found[0].Analyzer != "semgrep" || strings.Contains(found[0].String(), "\n") ||
			found[0].Severity != agency.IssueMinor || found[0].Dimension != agency.Security {
			t.Errorf("%s: %v %q", uri, err, found)
		}
	}
}

func TestFresh(t *testing.T) {
	f := func(line int, message string) agency.QualityFinding {
		return agency.QualityFinding{Analyzer: "a", Rule: "r", File: "f", Line: line, Message: message, Severity: agency.IssueMinor, Dimension: agency.Security}
	}
	now := []agency.QualityFinding{f(3, "line 3 is bad"), f(9, "line 9 is bad"), f(11, "other")}
	touched := OnAdded(now, func(_ string, line int) bool { return line > 3 })
	if got := Fresh(touched, now, []agency.QualityFinding{f(2, "line 2 is bad"), f(5, "line 5 is bad")}); !slices.Equal(got, []agency.QualityFinding{f(11, "other")}) {
		t.Errorf("fresh %v", got)
	}
	if got := Fresh(touched, now, nil); len(got) != 2 {
		t.Errorf("of a new file: %v", got)
	}
	worse := f(9, "worse")
	worse.Severity, worse.Analyzer = agency.IssueMajor, "b"
	if got := Beside([]agency.QualityFinding{f(11, "known")}, append(touched, worse)); !slices.Equal(got, []agency.QualityFinding{worse}) {
		t.Errorf("beside %v", got)
	}
}

func TestSettings(t *testing.T) {
	for p, want := range map[string]bool{
		".golangci.yml": true, "web/eslint.config.mjs": true, ".eslintrc.json": true, "node_modules/.bin/eslint": true, "a/.venv/bin/ruff": true,
		"ruff.toml": true, ".semgrep.yml": true, "a.go": false, "src/eslint.ts": false, "package.json": false,
	} {
		if IsSetting(p) != want {
			t.Errorf("%s: %t", p, !want)
		}
	}
	if got := Loads("web/eslint.config.js", []byte(`import rules from "./rules"; require('../lint/index.js')`)); !slices.Contains(got, "web/rules.js") || !slices.Contains(got, "lint/index.js") {
		t.Errorf("loads %v", got)
	}
}
