package verify_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/verify"
	"agency/internal/verify/verifytest"
)

const shellGo = `package p

import "os/exec"

func Pack(dir string) error { return exec.Command("sh", "-c", "tar cf a.tar "+dir).Run() }

func Drop(dir string) error { return exec.Command("sh", "-c", "rm -rf "+dir).Run() }
`

// A low score goes back once, and then is named, or blocks where that is asked for; what the
// contract itself asks for binds. No score makes a claim pass whose tests fail.
func TestLowScoreGoesBackOnce(t *testing.T) {
	w := newWorld(t, baseFiles())
	rules := &agency.QualityRules{Least: map[agency.Dimension]float64{agency.Security: 60}}
	w.options.Quality = func(context.Context, agency.RunID) (*agency.QualityRules, error) { return rules, nil }
	w.verifier = verify.New(w.options)
	spec := w.change(map[string]string{"sub.go": goodGo, "pack.go": shellGo})
	again := func(edit func(*verify.Spec)) agency.Verdict {
		spec.Attempt++
		s := spec
		edit(&s)
		return w.verify(s)
	}
	v := again(func(*verify.Spec) {})
	wants(t, v, false, "quality: the score is low: security 20 is below 60")
	wants(t, v, false, "quality: pack.go:5: critical security: a command line for a shell")
	v = again(func(s *verify.Spec) { s.LowBefore = true })
	wants(t, v, true, "quality: the score is low: security 20 is below 60")
	if len(v.Weakened) != 0 || v.Quality == nil || len(v.Quality.Low) != 1 || !strings.Contains(v.Quality.Line(), "security 20") {
		t.Errorf("weakened %v, quality %+v", v.Weakened, v.Quality)
	}
	wants(t, again(func(s *verify.Spec) {
		s.LowBefore, s.Thresholds = true, map[agency.Dimension]float64{agency.Security: 50}
	}), false, "quality_thresholds of the contract: security 20 is below 50")
	rules.Block = true
	v = again(func(s *verify.Spec) { s.LowBefore = true })
	wants(t, v, true, "a person has to accept it")
	if len(v.Weakened) != 1 || v.Weakened[0].Kind != agency.WeakQuality || v.Weakened[0].Name != "main: security 20 is below 60" {
		t.Errorf("weakened %v", v.Weakened)
	}
	rules.Least[agency.Security] = 0
	wants(t, again(func(*verify.Spec) {}), true)

	made := spec.Attempt
	spec = w.change(map[string]string{"sub.go": goodGo, "pack.go": shellGo, "add.go": strings.Replace(addGo, "+", "-", 1)})
	spec.Attempt = made // a step of the same key gives the verdict that it gave
	if v = again(func(*verify.Spec) {}); v.Pass || v.Quality != nil {
		t.Errorf("a failing claim: pass %v, quality %+v", v.Pass, v.Quality)
	}
}

// What only moved is not what the change brought.
func TestMovedLinesAreNotScored(t *testing.T) {
	files := baseFiles()
	files["pack.go"] = shellGo
	w := newWorld(t, files)
	w.options.Quality = func(context.Context, agency.RunID) (*agency.QualityRules, error) { return &agency.QualityRules{}, nil }
	w.verifier = verify.New(w.options)
	v := w.verify(w.change(map[string]string{"sub.go": goodGo, "pack.go": "", "moved.go": shellGo}))
	wants(t, v, true)
	if v.Quality == nil {
		t.Fatal("no score")
	}
	for _, f := range v.Quality.Findings {
		if f.Rule == "shell-injection" {
			t.Errorf("finding %v", f)
		}
	}
}

// eslintSh stands in for ESLint: it complains of calls of danger, unless its settings say off.
const eslintSh = `#!/bin/sh
grep -q off eslint.config.js && { echo '[]'; exit 0; }
comma=
printf '['
for f in "$@"; do
	case $f in ./*) ;; *) continue ;; esac
	printf '%s{"filePath":"%s/%s","messages":[' "$comma" "$PWD" "${f#./}"
	comma=,
	grep -n 'danger(' "$f" | grep -v 'eslint-disable' | cut -d: -f1 | {
		inner=
		while read -r n; do
			printf '%s{"ruleId":"no-danger","severity":2,"line":%s,"message":"no danger"}' "$inner" "$n"
			inner=,
		done
	}
	printf ']}'
done
echo ']'
`

// linted is a world without a toolchain, whose setup installs that ESLint as it stands in
// the tree.
func linted(t *testing.T) *world {
	w := newWorld(t, map[string]string{
		"state.txt": "bad\n", "tools/eslint.sh": eslintSh, "tools/rules.js": "module.exports = {};\n",
		"eslint.config.js": "module.exports = [require('./tools/rules.js')];\n", "web/a.js": "exports.a = (s) => danger(s);\n",
	})
	w.commands = check.Commands{
		Setup: "mkdir -p node_modules/.bin && cp tools/eslint.sh node_modules/.bin/eslint && chmod +x node_modules/.bin/eslint",
		Test:  "grep -q good state.txt",
	}
	w.options.Quality = func(context.Context, agency.RunID) (*agency.QualityRules, error) { return &agency.QualityRules{}, nil }
	w.verifier = verify.New(w.options)
	return w
}

// lintedChange is a claim whose edited settings a person was told of before.
func (w *world) lintedChange(files map[string]string) verify.Spec {
	files["state.txt"] = "good\n"
	spec := w.change(files)
	for _, name := range []string{"state.txt", "tools/eslint.sh", "eslint.config.js"} {
		spec.WeakenedBefore = append(spec.WeakenedBefore, agency.Weakening{Kind: agency.WeakControl, Name: name})
	}
	return spec
}

// found are the findings of analyzers that are not built in, one a line.
func found(v agency.Verdict) (out []string) {
	if v.Quality == nil {
		return []string{"no score"}
	}
	for _, f := range v.Quality.Findings {
		if f.Analyzer == "eslint" {
			out = append(out, f.Where()+" "+f.Rule)
		}
	}
	return append(out, v.Quality.Failed...)
}

// The project's own analyzers count in the lines that a change brought, and no change turns
// one off, chooses its rules, or has it keep quiet.
func TestAnalyzersOfTheProject(t *testing.T) {
	w := linted(t)
	bad := "exports.b = (s) => {\n  return danger(s);\n};\n"
	for name, tt := range verifytest.Some(map[string]struct {
		change map[string]string
		want   []string
	}{
		"new file":                   {map[string]string{"web/b.js": bad}, []string{"web/b.js:2 no-danger"}},
		"a line that had it before":  {map[string]string{"web/a.js": "exports.a = (text) => danger(text);\n"}, nil},
		"one more":                   {map[string]string{"web/a.js": "exports.a = (text) => danger(text);\nexports.c = (s) => danger(s);\n"}, []string{"web/a.js:1 no-danger"}},
		"turned off by its settings": {map[string]string{"web/b.js": bad, "eslint.config.js": "// off\n"}, []string{"web/b.js:2 no-danger"}},
		"its settings are gone":      {map[string]string{"web/b.js": bad, "eslint.config.js": ""}, []string{"web/b.js:2 no-danger"}},
		"what its settings load":     {map[string]string{"web/b.js": bad, "tools/rules.js": "exports.x = (s) => danger(s);\n"}, []string{"web/b.js:2 no-danger"}},
		"silenced": {
			map[string]string{"web/b.js": strings.Replace(bad, "danger(s);", "danger(s); // eslint-disable-line", 1)}, []string{"web/b.js:2 no-danger"},
		},
		"clean": {map[string]string{"web/b.js": "exports.b = 1;\n"}, nil},
	}) {
		v := w.verify(w.lintedChange(tt.change))
		if got := found(v); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q; %v", name, got, tt.want, v.Reasons)
		}
	}
}

// Clippy itself, in a crate of a workspace that is not the repository: what a changed line
// brought counts; what the base had, in a line that stayed or that changed, does not.
func TestClippy(t *testing.T) {
	if exec.Command("cargo", "clippy", "--version").Run() != nil {
		t.Skip("there is no clippy")
	}
	const had = "pub fn first(v: &[i32]) -> bool {\n    return v.len() == 1;\n}\n\npub fn second(n: i32) -> i32 {\n    return n;\n}\n"
	w := newWorld(t, map[string]string{
		"state.txt": "bad\n", "Cargo.lock": "", "rust/Cargo.toml": "[workspace]\nmembers = [\"crates/a\"]\nresolver = \"2\"\n",
		"rust/crates/a/Cargo.toml": "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2021\"\n", "rust/crates/a/src/lib.rs": had,
	})
	w.commands = check.Commands{Test: "cd rust && grep -q good ../state.txt"}
	w.options.Quality = func(context.Context, agency.RunID) (*agency.QualityRules, error) { return &agency.QualityRules{}, nil }
	w.verifier = verify.New(w.options)
	spec := w.lintedChange(map[string]string{
		"rust/crates/a/src/lib.rs": strings.Replace(had, "return n;", "return n + 1;", 1) + "\npub fn third(v: &[i32]) -> bool {\n    v.len() == 0\n}\n",
	})
	v := w.verify(spec)
	if v.Quality == nil {
		t.Fatalf("no score: %v", v.Reasons)
	}
	var got []string
	for _, f := range v.Quality.Findings {
		if f.Analyzer == "clippy" {
			got = append(got, f.Where()+" "+f.Rule)
		}
	}
	if want := []string{"rust/crates/a/src/lib.rs:10 clippy::len_zero"}; !slices.Equal(got, want) || len(v.Quality.Failed) > 0 {
		t.Errorf("%q, want %q; failed %q", got, want, v.Quality.Failed)
	}
}

// Ruff itself, by the project's own settings: each finding of a changed line counts with its
// rule, also one that a comment of the change has it leave out; what the base had does not.
func TestRuff(t *testing.T) {
	if _, err := os.Stat("/usr/local/bin/ruff"); err != nil {
		t.Skip("there is no ruff in /usr/local/bin, where commands see it")
	}
	const had = "import os\n\n\ndef first(x):\n    return absent(x)\n"
	w := newWorld(t, map[string]string{
		"state.txt": "bad\n", "pyproject.toml": "[tool.ruff.lint]\nselect = [\"F\", \"PERF\", \"S\", \"UP\"]\n", "py/a.py": had,
	})
	w.commands = check.Commands{Test: "grep -q good state.txt"}
	w.options.Quality = func(context.Context, agency.RunID) (*agency.QualityRules, error) { return &agency.QualityRules{}, nil }
	w.verifier = verify.New(w.options)
	v := w.verify(w.lintedChange(map[string]string{"py/a.py": had + `

def second(x):
    out = []
    for y in x:
        out.append(y * 2)
    gone(out)
    hidden(out)  # ruff: ignore[F821]
    assert out
    return "%s" % (x,)
`}))
	if v.Quality == nil {
		t.Fatalf("no score: %v", v.Reasons)
	}
	var got []string
	for _, f := range v.Quality.Findings {
		if f.Analyzer == "ruff" {
			got = append(got, fmt.Sprintf("%s %s %s %s", f.Where(), f.Rule, f.Severity, f.Dimension))
		}
	}
	slices.Sort(got)
	want := []string{
		"py/a.py:11 PERF401 minor performance", "py/a.py:12 F821 major correctness", "py/a.py:13 F821 major correctness",
		"py/a.py:14 S101 nitpick security", "py/a.py:15 UP031 nitpick readability",
	}
	if !slices.Equal(got, want) || len(v.Quality.Failed) > 0 {
		t.Errorf("%q, want %q; failed %q", got, want, v.Quality.Failed)
	}
}

// Whoever writes what an analyzer prints decides nothing by it but its own findings of the
// change, and takes no more than its time.
func TestHostileAnalyzers(t *testing.T) {
	w := linted(t)
	w.options.AnalyzersFor = 12 * time.Second
	w.verifier = verify.New(w.options)
	bad := "exports.b = (s) => danger(s);\n"
	say := func(file, rest string) string {
		return "#!/bin/sh\necho '[{\"filePath\":\"" + file + "\",\"messages\":[{\"ruleId\":\"r\",\"severity\":2,\"line\":1,\"message\":\"forged\"}]}]'\n" + rest
	}
	for name, tt := range verifytest.Some(map[string]struct {
		script string
		want   string
	}{
		"forged":                {say("web/b.js", ""), "web/b.js:1 r"},
		"another folder":        {say("../../etc/passwd", ""), ""},
		"a path of the machine": {say("/etc/passwd", ""), ""},
		"an unchanged file":     {say("web/a.js", ""), ""},
		"much":                  {"#!/bin/sh\nhead -c 20000000 /dev/zero | tr '\\0' '['\n", "eslint failed: it printed more than is read"},
		"deep":                  {"#!/bin/sh\nhead -c 2000000 /dev/zero | tr '\\0' '['\n", "eslint failed: it ended with 0: [["},
		"hangs":                 {"#!/bin/sh\nsleep 1000\n", "eslint failed: it took longer than 6s"},
		"leaves a process":      {say("web/b.js", "setsid sleep 1000 &\n"), "web/b.js:1 r"},
		"writes":                {say("web/b.js", "for f in *.txt web/*; do echo broken > \"$f\"; done\n"), "web/b.js:1 r"},
		"removes its settings":  {"#!/bin/sh\nrm -rf eslint.config.js web .git\necho '[]'\n", ""},
		"fails":                 {"#!/bin/sh\necho 'no such rule' >&2\nexit 2\n", "eslint failed: it ended with 2: no such rule"},
		"is not there":          {"#!/bin/sh\nexit 127\n", ""},
	}) {
		v := w.verify(w.lintedChange(map[string]string{"web/b.js": bad, "tools/eslint.sh": tt.script}))
		if got := strings.Join(found(v), "; "); !v.Pass || !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%s: %t %q, want %q; %v", name, v.Pass, got, tt.want, v.Reasons)
		}
	}
}
