package textmerge_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"agency/internal/textmerge"
)

// seeds are texts that random edits begin from.
var seeds = map[string]string{
	"a.go":         "package a\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\nvar m = map[string]int{\n\t\"a\": 1,\n\t\"b\": 2,\n}\n\n// A says.\nfunc A() {\n\tfmt.Println(1)\n}\n\nfunc B() {\n\tos.Exit(2)\n}\n\ntype T struct {\n\tX int\n}\n\nfunc (t T) C() int {\n\treturn 3\n}\n",
	"a.py":         "import io\nimport os\nfrom a import b, c\n\nx = [\n    1,\n    2,\n]\n\n\ndef f():\n    return 1\n\n\nclass C:\n    def g(self):\n        return 2\n\n    def h(self):\n        return 3\n\n\nif __name__ == '__main__':\n    f()\n",
	"a.ts":         "import { a, b } from './a';\nimport { c } from './c';\n\nexport function f() {\n  return 1;\n}\n\nexport class C {\n  g() {\n    return 2;\n  }\n\n  h() {\n    return 3;\n  }\n}\n\nexport const list = [\n  'x',\n  'y',\n];\n",
	"a.rs":         "use std::fmt;\nuse std::io;\n\nenum E {\n    A,\n    B,\n}\n\nimpl E {\n    fn f(&self) -> u8 {\n        1\n    }\n}\n\nfn g() {\n    h();\n}\n",
	"p.json":       "{\n  \"a\": {\n    \"x\": 1\n  },\n  \"b\": [\n    1,\n    2\n  ]\n}\n",
	"CHANGELOG.md": "# Changelog\n\n## Unreleased\n\n- one\n- two\n\n## 1.0\n\n- three\n",
	".gitignore":   "/a\n/b\n/c\n",
}

// additions are what an edit may put in, by the file; %d makes it another.
var additions = map[string][]string{
	"a.go":         {"func F%d() {\n\tfmt.Println(%d)\n}\n", "\t\"k%d\": %d,", "\t\"x/p%d\"", "\tN%d int", "\tx := %d", "}", "var v%d = %d\n", "// %d"},
	"a.py":         {"def f%d():\n    return %d\n\n", "import m%d", "    %d,", "    def m%d(self):\n        return %d\n", "y%d = 1", "from a import b, c, n%d", "# %d", "\"\"\""},
	"a.ts":         {"export function f%d() {\n  return %d;\n}\n", "import { n%d } from './n%d';", "  'v%d',", "  m%d() {\n    return 1;\n  }\n", "const y%d = 1;", "import { a, b, z%d } from './a';", "}", "`"},
	"a.rs":         {"fn f%d() {\n    g();\n}\n", "use std::m%d;", "    V%d,", "    fn m%d(&self) {\n    }\n", "let y%d = 1;", "'", "{"},
	"p.json":       {"    \"k%d\": %d,", "  \"m%d\": {\n    \"x\": 1\n  },", "    %d,", "]", "  \"a\": %d,"},
	"CHANGELOG.md": {"- item %d", "- item %d\n  goes on", "## %d\n", "words %d"},
	".gitignore":   {"/x%d", "!/y%d", "# %d"},
}

func edited(r *rand.Rand, name, text string, n int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for range 1 + r.IntN(n) {
		at := r.IntN(len(lines) + 1)
		switch k := r.IntN(10); {
		case k < 6 || at == len(lines):
			add := additions[name][r.IntN(len(additions[name]))]
			add = strings.ReplaceAll(add, "%d", fmt.Sprint(r.IntN(30)))
			lines = slices.Insert(lines, at, strings.Split(add, "\n")...)
		case k < 8 && len(lines) > 1:
			lines = slices.Delete(lines, at, min(len(lines), at+1+r.IntN(3)))
		case k < 9 && strings.Contains(lines[at], "1"):
			lines[at] = strings.ReplaceAll(lines[at], "1", fmt.Sprint(1+r.IntN(30)))
		default:
			lines[at] += fmt.Sprint(" ", r.IntN(30))
		}
		if len(lines) == 0 {
			lines = []string{"x"}
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// TestRandomEdits holds the promise: what came out of two random edits has
// every line that either side added and none that either removed, but for what
// lines of imports share, and is the same however often it is made.
func TestRandomEdits(t *testing.T) {
	merged := map[string]int{}
	for name, seed := range seeds {
		r := rand.New(rand.NewPCG(7, uint64(len(seed))))
		for range 4000 {
			ours, theirs := edited(r, name, seed, 2), edited(r, name, seed, 2)
			got, err := textmerge.Merge(name, []byte(seed), []byte(ours), []byte(theirs))
			if err != nil {
				continue
			}
			merged[name]++
			if fault := broken(seed, ours, theirs, string(got)); fault != "" {
				t.Fatalf("%s: %s\n--- ours\n%s--- theirs\n%s--- merged\n%s", name, fault, ours, theirs, got)
			}
			again, err := textmerge.Merge(name, []byte(seed), []byte(ours), []byte(theirs))
			if err != nil || !bytes.Equal(got, again) {
				t.Fatalf("%s: another result the second time: %v", name, err)
			}
		}
		if merged[name] < 20 {
			t.Errorf("%s: only %d of 4000 edits merged", name, merged[name])
		}
	}
	t.Log(merged)
}

// broken looks at lines, not at how the merge was made.
func broken(base, ours, theirs, merged string) string {
	b, o, t, m := tally(base), tally(ours), tally(theirs), tally(merged)
	all := map[string]bool{}
	for _, c := range []map[string]int{b, o, t, m} {
		for l := range c {
			all[l] = true
		}
	}
	for l := range all {
		if strings.Contains(l, "import") {
			continue // names move from line to line
		}
		added := o[l] > b[l] || t[l] > b[l]
		removed := o[l] < b[l] || t[l] < b[l]
		switch {
		case added && !removed && m[l] < max(o[l], t[l]):
			return fmt.Sprintf("%q was added and is not there", l)
		case removed && !added && m[l] > min(o[l], t[l]):
			return fmt.Sprintf("%q was removed and is there", l)
		case !added && !removed && m[l] != b[l]:
			return fmt.Sprintf("%q stood %d times and stands %d times", l, b[l], m[l])
		case m[l] > 0 && o[l]+t[l] == 0:
			return fmt.Sprintf("%q is of nobody", l)
		}
	}
	return ""
}

func tally(text string) map[string]int {
	n := map[string]int{}
	for l := range strings.Lines(text) {
		if l = strings.TrimSuffix(strings.TrimSpace(l), ","); l != "" {
			n[l]++
		}
	}
	return n
}

// FuzzMerge: whatever the files hold, a merge ends soon and either keeps its
// promise or is refused.
func FuzzMerge(f *testing.F) {
	for name, seed := range seeds {
		r := rand.New(rand.NewPCG(1, 1))
		f.Add(name, seed, edited(r, name, seed, 2), edited(r, name, seed, 2))
	}
	f.Add("A.java", "class A {\n}\n", "class A {\n  int b() {\n  }\n}\n", "class A {\n  int c() {\n  }\n}\n")
	f.Add("go.mod", "module a\n", "require (\n\ta v1\n)\n", "require (\n\tb v1\n)\n")
	f.Fuzz(func(t *testing.T, name, base, ours, theirs string) {
		begun := time.Now()
		got, err := textmerge.Merge(name, []byte(base), []byte(ours), []byte(theirs))
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("took %v", took)
		}
		if err != nil || ours == theirs || strings.Contains(base+ours+theirs, "\r") {
			return
		}
		if fault := broken(base, ours, theirs, string(got)); fault != "" {
			t.Errorf("%s\n%s", fault, got)
		}
	})
}

// What is too large, no text, or differs too much is a conflict, soon.
func TestBounds(t *testing.T) {
	lines := func(n int, f string) []byte { return []byte(strings.Repeat(f+"\n", n)) }
	var a, b strings.Builder
	for i := range 19_000 {
		fmt.Fprintf(&a, "- a%d\n", i)
		fmt.Fprintf(&b, "- b%d\n", i)
	}
	for name, c := range map[string][3][]byte{
		"size":   {nil, lines(300_000, "a"), lines(1, "b")},
		"lines":  {nil, lines(25_000, "a"), lines(1, "b")},
		"edits":  {[]byte("- x\n"), []byte(a.String()), []byte(b.String())},
		"binary": {nil, []byte("a\x00\n"), []byte("b\n")},
		"utf-8":  {nil, []byte("a\xff\n"), []byte("b\n")},
		"end":    {nil, []byte("a"), []byte("b\n")},
		"mixed":  {[]byte("a\r\n"), []byte("a\r\nb\n"), []byte("a\r\nc\r\n")},
	} {
		begun := time.Now()
		if out, err := textmerge.Merge("CHANGELOG.md", c[0], c[1], c[2]); err == nil {
			t.Errorf("%s: merged to %d bytes", name, len(out))
		}
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("%s: %v", name, took)
		}
	}
}

func TestLineEndingsStay(t *testing.T) {
	dos := func(s string) []byte { return []byte(strings.ReplaceAll(s, "\n", "\r\n")) }
	got, err := textmerge.Merge("CHANGELOG.md", dos("- a\n"), dos("- a\n- b\n"), dos("- a\n- c\n"))
	if err != nil || string(got) != string(dos("- a\n- b\n- c\n")) {
		t.Errorf("%v %q", err, got)
	}
}
