package codebase

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"agency/internal/agency"
	"agency/internal/code"
	"agency/internal/code/gotypes"
)

// one is the engine of all tests: grammars are loaded once.
var one = sync.OnceValue(func() *Engine {
	return New(code.New(code.Options{}), func() gotypes.Place { return gotypes.FindPlace(os.Getenv) }, nil)
})

// tree is a checkout from a text: "-- NAME --" begins a file.
func tree(text string) (Tree, fstest.MapFS) {
	out := fstest.MapFS{}
	for _, part := range strings.Split("\n"+text, "\n-- ")[1:] {
		name, body, _ := strings.Cut(part, " --\n")
		out[name] = &fstest.MapFile{Data: []byte(body + "\n")}
	}
	return one().Of(out), out
}

const mixed = `
-- go.mod --
module m
-- store/store.go --
package store

// Load is named in a comment.
type Store struct{ n int }

func (s *Store) Load(key string) int { return s.n }

func New() *Store { return &Store{} }
-- main.go --
package main

import "m/store"

func main() { println(store.New().Load("Load")) }
-- py/tools.py --
LIMIT = 3


def scale(x, factor=2):
    return x * factor


class Box:
    def area(self):
        return scale(self.w)


@decorated
def hooked():
    pass
-- py/use.py --
from py.tools import scale


def run(items):
    # scale each
    return [scale(i) for i in items]
-- web/math.ts --
export function twice(n: number): number {
  return n * 2;
}
export const LIMIT = twice(3);
-- web/use.ts --
import { twice } from "./math";

export class Counter {
  twice() { return this.twice(); }
  next() { return twice(1); }
}
-- web/free.ts --
import { once } from "./one";
export const a = once(1);
-- web/one.ts --
export function once(n: number) { return n; }
-- node_modules/dep/index.js --
function scale() {}
`

func TestOutline(t *testing.T) {
	tr, _ := tree(mixed)
	out, err := tr.Outline(t.Context(), "store", 2, 100)
	if err != nil || out.Certainty != Syntax {
		t.Fatal(out, err)
	}
	var got []string
	for _, s := range out.Symbols {
		got = append(got, fmt.Sprintf("%s:%d %s %s.%s", s.Path, s.Line, s.Kind, s.Container, s.Name))
	}
	want := []string{"store/store.go:4 class .Store", "store/store.go:4 field Store.n", "store/store.go:6 method Store.Load", "store/store.go:8 function .New"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if out, err := tr.Outline(t.Context(), "store", 1, 100); err != nil || len(out.Symbols) != 2 {
		t.Errorf("%+v, %v", out, err)
	}
	if out, err := tr.Outline(t.Context(), "store/store.go", 3, 1); err != nil || len(out.Symbols) != 1 || !out.More {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err := tr.Outline(t.Context(), "go.mod", 2, 9); agency.KindOf(err) != agency.KindInvalid {
		t.Error(err)
	}
}

func TestFind(t *testing.T) {
	tr, _ := tree(mixed)
	for _, tc := range []struct {
		name string
		kind Group
		want string
		near bool
	}{
		{"Load", "", "store/store.go:6", false},
		{"Store.Load", "method", "store/store.go:6", false},
		{"Load", "function", "", false},
		{"scale", "any", "py/tools.py:4", false},
		{"area", "method", "py/tools.py:9", false},
		{"LIMIT", "variable", "py/tools.py:1 web/math.ts:4", false},
		{"ount", "", "web/use.ts:3", true},
		{"nothing", "", "", false},
	} {
		out, err := tr.Find(t.Context(), tc.name, tc.kind, 20)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range out.Symbols {
			got = append(got, fmt.Sprintf("%s:%d", s.Path, s.Line))
		}
		if strings.Join(got, " ") != tc.want || out.Near != tc.near {
			t.Errorf("%s %s: %v, near %v", tc.name, tc.kind, got, out.Near)
		}
	}
}

func TestReferences(t *testing.T) {
	tr, _ := tree(mixed)
	for _, tc := range []struct{ symbol, file, want, unsure string }{
		{"Store.Load", "store/store.go", "types store/store.go:6 main.go:5", ""},
		{"scale", "py/tools.py", "syntax py/tools.py:4 py/tools.py:10 py/use.py:1 py/use.py:6", ""},
		{"twice", "web/math.ts", "syntax web/math.ts:1 web/math.ts:4 web/use.ts:1 web/use.ts:5", "web/use.ts:4"},
	} {
		u, err := tr.References(t.Context(), tc.symbol, tc.file)
		if err != nil {
			t.Fatal(err)
		}
		got, unsure := []string{}, []string{}
		for _, p := range u.Places {
			got = append(got, fmt.Sprintf("%s:%d", p.Path, p.Line))
		}
		for _, p := range u.Unsure {
			unsure = append(unsure, fmt.Sprintf("%s:%d", p.Path, p.Line))
		}
		slices.Sort(got)
		want := strings.Fields(tc.want)
		slices.Sort(want[1:])
		if string(u.Certainty) != want[0] || !slices.Equal(got, want[1:]) || strings.Join(unsure, " ") != tc.unsure {
			t.Errorf("%s: %s %v, unsure %v", tc.symbol, u.Certainty, got, unsure)
		}
	}
	u, err := tr.References(t.Context(), "scale", "py/tools.py")
	if err != nil {
		t.Fatal(err)
	}
	if c := u.Callers(); len(c) != 2 || c[0].In != "Box.area" || c[1].In != "run" {
		t.Errorf("%+v", c)
	}
	if _, err := tr.References(t.Context(), "Lod", "store/store.go"); agency.KindOf(err) != agency.KindNotFound || !strings.Contains(err.Error(), "Store") {
		t.Error(err)
	}
}

func TestRenameBySyntax(t *testing.T) {
	tr, files := tree(mixed)
	for _, tc := range []struct{ symbol, file, to, want string }{
		{"scale", "py/tools.py", "resize", "py/tools.py:2 py/use.py:2"},
		{"once", "web/one.ts", "single", "web/free.ts:2 web/one.ts:1"},
		{"New", "store/store.go", "Open", "main.go:1 store/store.go:1"},
	} {
		c, err := tr.Rename(t.Context(), tc.symbol, tc.file, tc.to)
		if err != nil {
			t.Errorf("%s: %v", tc.symbol, err)
			continue
		}
		var got []string
		for _, f := range c.Files {
			got = append(got, fmt.Sprintf("%s:%d", f.Path, strings.Count(string(f.After), tc.to)))
			if string(f.Before) != string(files[f.Path].Data) {
				t.Errorf("%s: another text before", f.Path)
			}
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s: %v, want %s", tc.symbol, got, tc.want)
		}
	}
	c, err := tr.Rename(t.Context(), "scale", "py/tools.py", "resize")
	if err != nil || len(c.Notes) != 1 || !strings.Contains(c.Notes[0], "py/use.py:5: # scale each") {
		t.Errorf("%q, %v", c.Notes, err)
	}
}

// A rename that cannot look at all files is none; what only answers says that there is more.
func TestNotAllFilesAreSeen(t *testing.T) {
	files := "-- a.py --\ndef scale(n):\n    return n\n"
	tr, fsys := tree(files)
	fsys["large.py"] = &fstest.MapFile{Data: append(bytes.Repeat([]byte("# filled\n"), maxFile/9), "from a import scale\n"...)}
	if _, err := tr.Rename(t.Context(), "scale", "a.py", "resize"); err == nil || !strings.Contains(fmt.Sprintf("%+v", err), "large.py") {
		t.Errorf("a file that is too large: %v", err)
	}
	tr, fsys = tree(files)
	for i := range maxFiles {
		fsys[fmt.Sprintf("z%d", i)] = &fstest.MapFile{}
	}
	if _, err := tr.Rename(t.Context(), "scale", "a.py", "resize"); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("more than %d files", maxFiles)) {
		t.Errorf("too many files: %v", err)
	}
	if used, err := tr.References(t.Context(), "scale", "a.py"); err != nil || !used.More || len(used.Places) != 1 {
		t.Errorf("%+v, %v", used, err)
	}
	if found, err := tr.Find(t.Context(), "scale", "any", 10); err != nil || !found.More || len(found.Symbols) != 1 {
		t.Errorf("%+v, %v", found, err)
	}
	if all, err := tr.list(t.Context()); err != nil || !all.partial || len(all.sources) != 1 {
		t.Errorf("%d files, %v, %v", len(all.sources), all.partial, err)
	}
}

// Where syntax does not tell what a place means, nothing is renamed, and the place is said.
func TestRenameRefused(t *testing.T) {
	tr, files := tree(mixed)
	files["cfg.toml"] = &fstest.MapFile{Data: []byte("run = \"py.use:run\"\n")}
	files["py/text.py"] = &fstest.MapFile{Data: []byte("from py.tools import LIMIT\nx = getattr(a, 'LIMIT')\n")}
	files["a.js"] = &fstest.MapFile{Data: []byte("function script() {}\n")}
	files["lib/a.rs"] = &fstest.MapFile{Data: []byte("fn plain(x: i32) -> i32 { x }\nfn user() -> i32 { plain(1) }\n#[no_mangle]\n// kept\n#[inline]\nfn seen() {}\n#[test]\n#[cfg_attr(all(a, b), inline)]\nfn tried() {}\n#[cfg_attr(\n    a, no_mangle\n)]\nfn maybe() {}\n")}
	for _, tc := range []struct{ symbol, file, to, want string }{
		{"twice", "web/math.ts", "double", "web/use.ts:4 (a member"},
		{"Box.area", "py/tools.py", "size", "is a member"},
		{"hooked", "py/tools.py", "other", "decorator"},
		{"run", "py/use.py", "go", "cfg.toml:1"},
		{"LIMIT", "py/tools.py", "MOST", "py/text.py:2 (in a string)"},
		{"scale", "py/tools.py", "Box", "py/tools.py:8 (has the new name already)"},
		{"scale", "py/tools.py", "not a name", "no name"},
		{"scale", "py/tools.py", "lambda", "no syntax"},
		{"script", "a.js", "other", "no module"},
		{"seen", "lib/a.rs", "other", "attribute"},
		{"maybe", "lib/a.rs", "other", "attribute"},
	} {
		_, err := tr.Rename(t.Context(), tc.symbol, tc.file, tc.to)
		if agency.KindOf(err) != agency.KindConflict || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "nothing has changed") {
			t.Errorf("%s to %s: %v, want %s", tc.symbol, tc.to, err, tc.want)
		}
	}
	for symbol, places := range map[string]int{"plain": 2, "tried": 1} {
		if c, err := tr.Rename(t.Context(), symbol, "lib/a.rs", "simple"); err != nil || c.Places != places {
			t.Errorf("%s: %+v, %v", symbol, c, err)
		}
	}
}

// A module whose names are made at run time is not renamed in: no place has the name.
func TestRenameWhereNamesAreComputed(t *testing.T) {
	const api = "-- lib/api.js --\nexport function getUser() {}\nfunction local() {}\n-- lib/old.js --\nfunction getOld() {}\nmodule.exports = {\n  getOld,\n}\n-- lib/index.js --\nexport * from './api.js'\n"
	for name, c := range map[string]struct{ files, symbol, file, want string }{
		"handed on":       {"-- use.js --\nimport * as all from './lib/index.js'\nall[`get${kind}`]()\n", "getUser", "lib/api.js", "use.js:2: all[`get${kind}`]()"},
		"of a folder":     {"-- use.js --\nimport * as all from './lib'\nall?.[kind]()\n", "getUser", "lib/api.js", "use.js:2"},
		"of the file":     {"-- use.js --\nimport * as all from './lib/api.js'\nfor (const k in all) run(k)\n", "getUser", "lib/api.js", "use.js:2"},
		"as in node":      {"-- use.js --\nconst old = require('./lib/old')\nold['get' + x]\n", "getOld", "lib/old.js", "use.js:2"},
		"of its names":    {"-- use.js --\nconst old = require('./lib/old')\nObject.keys(old)\n", "getOld", "lib/old.js", "use.js:2"},
		"another":         {"-- use.js --\nimport * as all from './lib/old.js'\nall[kind]()\n", "getUser", "lib/api.js", ""},
		"not exported":    {"-- use.js --\nimport * as all from './lib/api.js'\nall[kind]()\n", "local", "lib/api.js", ""},
		"by letters only": {"-- use.js --\nimport * as all from './lib/api.js'\nall['other'](); small[0]\n", "getUser", "lib/api.js", ""},
	} {
		tr, _ := tree(api + c.files)
		_, err := tr.Rename(t.Context(), c.symbol, c.file, "anew")
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), "made at run time") || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What rustdoc runs is code; what a module of its file alone sees is no member.
func TestRenameOfRust(t *testing.T) {
	const lib = "/// Twice.\n///\n/// ```\n/// use c::twice;\n/// assert_eq!(twice(1), 2);\n/// ```\n/// ```text\n/// twice as much\n/// ```\npub fn twice(x: i32) -> i32 { x + x }\n\n" +
		"/// ```\n/// c::Of.of()\n/// ```\npub fn of() {}\n\npub fn shown() {}\n\n" +
		"#[cfg(test)]\nmod tests {\n    use super::twice;\n    fn two() -> i32 { twice(1) }\n    #[test]\n    fn of_two() { assert_eq!(two(), 2) }\n    pub fn open() {}\n    struct S;\n    impl S { fn own(&self) {} }\n}\n"
	tr, files := tree("-- src/lib.rs --\n" + lib)
	for symbol, want := range map[string]int{"twice": 5, "tests.two": 2, "tests.of_two": 1} {
		c, err := tr.Rename(t.Context(), symbol, "src/lib.rs", "anew")
		if err != nil || c.Places != want || !strings.Contains(string(c.Files[0].After), "twice as much") {
			t.Errorf("%s: %+v, %v", symbol, c, err)
		}
	}
	files["README.md"] = &fstest.MapFile{Data: []byte("# c\n```\nc::shown();\n```\n")}
	if c, err := tr.Rename(t.Context(), "shown", "src/lib.rs", "anew"); err != nil || c.Places != 1 || len(c.Notes) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	files["src/lib.rs"].Data = []byte("#![doc = include_str!(\"../README.md\")]\n" + lib)
	for symbol, want := range map[string]string{"of": "in a test in a comment", "shown": "README.md:3", "tests.open": "is a member", "tests.S.own": "is a member"} {
		if _, err := tr.Rename(t.Context(), symbol, "src/lib.rs", "anew"); agency.KindOf(err) != agency.KindConflict || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", symbol, err, want)
		}
	}
}

// Of several definitions of one path each can be named, as the refusal names them.
func TestNamedByLine(t *testing.T) {
	tr, _ := tree("-- A.java --\nclass A {\n    int of(int x) { return x; }\n    int of() { return of(1); }\n}\n-- a.ts --\nexport class A {\n  #n() { return 1 }\n  n() { return this.#n() }\n}\n-- a.go --\npackage a\n\nfunc run() {}\n\ntype a struct{}\n\nfunc (a) run() {}\n")
	for _, tc := range []struct{ file, symbol, want string }{{"A.java", "A.of", "A.of:2, A.of:3"}, {"a.go", "run", "run:3, a.run:7"}} {
		if _, err := tr.Replace(t.Context(), tc.symbol, tc.file, "x"); agency.KindOf(err) != agency.KindConflict || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", tc.symbol, err, tc.want)
		}
	}
	for _, tc := range []struct{ file, symbol, content, want string }{
		{"A.java", "A.of:3", "int of() { return of(2); }", "    int of(int x) { return x; }\n    int of() { return of(2); }\n"},
		{"a.go", "run:3", "func run() { println() }", "func run() { println() }\n\ntype a"},
		{"a.ts", "A.#n", "#n() { return 2 }", "  #n() { return 2 }\n"},
	} {
		c, err := tr.Replace(t.Context(), tc.symbol, tc.file, tc.content)
		if err != nil || !strings.Contains(string(c.Files[0].After), tc.want) || len(c.Notes) > 0 {
			t.Errorf("%s: %+v, %v", tc.symbol, c, err)
		}
	}
	if _, err := tr.Replace(t.Context(), "A.of:9", "A.java", "x"); agency.KindOf(err) != agency.KindNotFound {
		t.Error(err)
	}
}

func TestReplace(t *testing.T) {
	for _, tc := range []struct {
		symbol, file, content string
		after                 string // in the file
		notes                 string
	}{
		{"Store.Load", "store/store.go", "func (s *Store) Load(key string) int {\n\treturn s.n + 1\n}", "type Store struct{ n int }\n\nfunc (s *Store) Load(key string) int {\n\treturn s.n + 1\n}\n\nfunc New()", ""},
		{"Store.Load", "store/store.go", "func (s *Store) Load(key, other string) int { return s.n }", "key, other", "main.go:5"},
		{"Store", "store/store.go", "// Store keeps.\ntype Store struct{ n, m int }", "package store\n\n// Store keeps.\ntype Store struct{ n, m int }\n\nfunc (s", ""},
		{"New", "store/store.go", "func Open() *Store { return nil }", "Open", "main.go:5"},
		{"Box.area", "py/tools.py", "def area(self):\n    return 1", "class Box:\n    def area(self):\n        return 1\n", ""},
		{"Box.area", "py/tools.py", "@once\n    def area(self):\n        return 1", "class Box:\n    @once\n    def area(self):\n        return 1\n", ""},
		{"Box.area", "py/tools.py", "@once\ndef area(self):\n    return 1", "class Box:\n    @once\n    def area(self):\n        return 1\n", ""},
		{"hooked", "py/tools.py", "def hooked():\n    return 1", "@decorated\ndef hooked():\n    return 1", ""},
		{"twice", "web/math.ts", "function twice(n: number): number {\n  return n + n;\n}", "export function twice(n: number): number {\n  return n + n;\n}", ""},
		{"scale", "py/tools.py", "def scale(x):\n    return x", "def scale(x):", "py/use.py:6"},
	} {
		tr, _ := tree(mixed)
		c, err := tr.Replace(t.Context(), tc.symbol, tc.file, tc.content)
		if err != nil {
			t.Errorf("%s: %v", tc.symbol, err)
			continue
		}
		if !strings.Contains(string(c.Files[0].After), tc.after) {
			t.Errorf("%s: %s", tc.symbol, c.Files[0].After)
		}
		if notes := strings.Join(c.Notes, "\n"); (tc.notes == "") != (notes == "") || !strings.Contains(notes, tc.notes) {
			t.Errorf("%s: notes %q, want %q", tc.symbol, notes, tc.notes)
		}
	}
	tr, _ := tree(mixed)
	for _, tc := range []struct{ symbol, file, content, want string }{
		{"Store.Load", "store/store.go", "func (s *Store) Load(key string) int {\n\treturn s.n +\n}", "store/store.go:8:1, line 3 of new_content"},
		{"scale", "py/tools.py", "def scale(x:\n    return x", "py/tools.py:4:"},
		{"New", "store/store.go", "  \n", "empty"},
		{"New", "store/store.go", "func New() *Store { return &Store{} }", "already"},
	} {
		if _, err := tr.Replace(t.Context(), tc.symbol, tc.file, tc.content); agency.KindOf(err) != agency.KindInvalid || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", tc.symbol, err, tc.want)
		}
	}
}

func TestExtractElsewhere(t *testing.T) {
	tr, _ := tree(mixed)
	if _, err := tr.Extract(t.Context(), "py/tools.py", 5, 5, "inner"); agency.KindOf(err) != agency.KindConflict || !strings.Contains(err.Error(), "Go alone") {
		t.Error(err)
	}
	if c, err := tr.Extract(t.Context(), "main.go", 5, 5, "inner"); agency.KindOf(err) != agency.KindConflict {
		t.Errorf("%+v, %v", c, err)
	}
}

// A search reads a bounded part of a checkout, and says that there is more.
func TestSearchIsBounded(t *testing.T) {
	tree, _ := tree("-- a.md --\none cat\n-- b.md --\ntwo cats\n-- c.md --\nthree cats")
	for room, want := range map[int]int{100: 3, 20: 2, 7: 0} {
		all, err := (&listing{room: room}).look(t.Context(), tree)
		if err != nil || len(all.sources) != want || all.partial != (want < 3) {
			t.Errorf("%d bytes: %d files, partial %v, %v", room, len(all.sources), all.partial, err)
		}
	}
}
