package gotypes

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

// shared is what is outside of the samples, read once for all tests.
var shared = sync.OnceValue(func() *Outside { return NewOutside(FindPlace(os.Getenv)) })

// tree is a checkout from a text: "-- NAME --" begins a file.
func tree(text string) fstest.MapFS {
	out := fstest.MapFS{}
	for _, part := range strings.Split("\n"+text, "\n-- ")[1:] {
		name, body, _ := strings.Cut(part, " --\n")
		out[name] = &fstest.MapFile{Data: []byte(body + "\n")}
	}
	return out
}

// at is the byte at which the nth occurrence of a word stands in a file.
func at(t *testing.T, files fstest.MapFS, file, word string) int {
	t.Helper()
	before, _, ok := strings.Cut(string(files[file].Data), word)
	if !ok {
		t.Fatalf("%s has no %s", file, word)
	}
	return len(before) + strings.LastIndex(word, " ") + 1
}

const shop = `
-- go.mod --
module shop

go 1.22
-- cart/cart.go --
// Package cart: Total is in a comment.
package cart

import "fmt"

type Item struct{ price int }

type Cart struct {
	Item
	items []Item
}

type Totaller interface{ Total() int }

// Total sums.
func (c *Cart) Total() int {
	total := 0
	for _, i := range c.items {
		total += i.price
	}
	return total
}

func (c *Cart) String() string { return fmt.Sprint("Total", c.Total(), c.Item) }

func New(prices ...int) *Cart {
	c := &Cart{}
	for _, p := range prices {
		c.items = append(c.items, Item{price: p})
	}
	return c
}

type box[T any] struct{ v T }

func (b box[T]) get() T { return b.v }

var one = box[int]{1}.get()
-- cart/cart_test.go --
package cart

import "testing"

func TestTotal(t *testing.T) {
	if got := New(1, 2).Total(); got != 3 {
		t.Error(got)
	}
}
-- cart/outer_test.go --
package cart_test

import (
	"testing"

	"shop/cart"
)

func TestOuter(t *testing.T) {
	var s cart.Totaller = cart.New(1)
	if s.Total() != 1 {
		t.Fail()
	}
}
-- main.go --
package main

import (
	"fmt"

	"shop/cart"
)

type other struct{}

func (other) Total() string { return "" }

func main() {
	fmt.Println(cart.New(1).Total(), other{}.Total())
}
-- testdata/broken.go --
package broken is not code: Total
`

func refs(t *testing.T, files fstest.MapFS, file, word string) (found Found, got string) {
	t.Helper()
	name := word[strings.LastIndex(word, " ")+1:]
	p, err := Load(t.Context(), shared(), Files{FS: files}, Query{Names: []string{name}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	found, err = p.References(file, at(t, files, file, word), name)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, r := range found.Refs {
		fmt.Fprintf(&b, "%s:%d ", r.Path, r.Line)
	}
	for _, r := range found.Unresolved {
		fmt.Fprintf(&b, "%s:%d? ", r.Path, r.Line)
	}
	return found, strings.TrimSpace(b.String())
}

// References are those of the definition, not those of its name.
func TestReferences(t *testing.T) {
	for _, tc := range []struct{ file, word, want string }{
		{"cart/cart.go", "(c *Cart) Total", "cart/cart.go:16 cart/cart.go:24 cart/cart_test.go:6 main.go:14"},
		{"cart/cart.go", "interface{ Total", "cart/cart.go:13 cart/outer_test.go:11"},
		{"main.go", "func (other) Total", "main.go:11 main.go:14"},
		{"cart/cart.go", "type Item", "cart/cart.go:6 cart/cart.go:9 cart/cart.go:10 cart/cart.go:24 cart/cart.go:29"},
		{"cart/cart.go", "struct{ price", "cart/cart.go:6 cart/cart.go:19 cart/cart.go:29"},
		{"cart/cart.go", "func New", "cart/cart.go:26 cart/cart_test.go:6 cart/outer_test.go:10 main.go:14"},
		{"cart/cart.go", "(b box[T]) get", "cart/cart.go:36 cart/cart.go:38"},
	} {
		if _, got := refs(t, tree(shop), tc.file, strings.Replace(tc.word, "interface{ ", "interface{ ", 1)); got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", tc.word, got, tc.want)
		}
	}
}

// What cannot be known is told apart from what is none.
func TestUnresolved(t *testing.T) {
	files := tree(`
-- go.mod --
module m
-- a.go --
package m

import "example.com/missing"

func Do() {}

func use() {
	Do()
	missing.Thing().Do()
}
-- a_plan9.go --
package m

func plan9() { Do() }
`)
	if _, got := refs(t, files, "a.go", "func Do"); got != "a.go:5 a.go:8 a.go:9? a_plan9.go:3?" {
		t.Error(got)
	}
}

func rename(t *testing.T, files fstest.MapFS, file, word, to string) (map[string][]byte, error) {
	t.Helper()
	name := word[strings.LastIndex(word, " ")+1:]
	out, _, err := Rename(t.Context(), shared(), Files{FS: files}, file, at(t, files, file, word), name, to)
	return out, err
}

// builds runs the tests of a checkout with the go command: the samples are ours.
func builds(t *testing.T, files fstest.MapFS, changed map[string][]byte) {
	t.Helper()
	dir := t.TempDir()
	for name, f := range files {
		text := f.Data
		if c, ok := changed[name]; ok {
			text = c
		}
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "vet", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// What is renamed compiles, and nothing but the references has changed.
func TestRename(t *testing.T) {
	for _, tc := range []struct {
		file, word, to string
		count          map[string]int // of the new name, by file
	}{
		{"cart/cart.go", "(c *Cart) Total", "Sum", map[string]int{"cart/cart.go": 3, "cart/cart_test.go": 1, "cart/outer_test.go": 1, "main.go": 1}},
		{"cart/cart.go", "interface{ Total", "Sum", map[string]int{"cart/cart.go": 3, "cart/cart_test.go": 1, "cart/outer_test.go": 1, "main.go": 1}},
		{"cart/cart.go", "type Item", "Line", map[string]int{"cart/cart.go": 5}},
		{"main.go", "func (other) Total", "Sum", map[string]int{"main.go": 2}},
		{"cart/cart.go", "(b box[T]) get", "value", map[string]int{"cart/cart.go": 2}},
	} {
		files := tree(shop)
		out, err := rename(t, files, tc.file, tc.word, tc.to)
		if err != nil {
			t.Errorf("%s: %v", tc.word, err)
			continue
		}
		if len(out) != len(tc.count) {
			t.Errorf("%s: %d files", tc.word, len(out))
		}
		for name, n := range tc.count {
			if got := bytes.Count(out[name], []byte(tc.to)); got != n {
				t.Errorf("%s: %s has %d of %s, want %d", tc.word, name, got, tc.to, n)
			}
		}
		if c := out["cart/cart.go"]; c != nil && (!bytes.Contains(c, []byte("Total is in a comment")) || !bytes.Contains(c, []byte(`"Total"`))) {
			t.Errorf("%s: a comment or a string has changed", tc.word)
		}
		builds(t, files, out)
	}
}

// Where not all references are known, or something would mean another thing, nothing is
// renamed, and the reason is said.
func TestRenameRefused(t *testing.T) {
	extra := tree(shop + `
-- cart/more.go --
package cart

import "encoding/json"

type Doc struct {
	Field int
	Named int ` + "`json:\"named\"`" + `
}

var _ = json.Marshal

//go:linkname linked runtime.linked
func linked() {}

var a = 1

func use() int {
	b := 2
	return a + b
}

const page = "{{.Shown}}"

type View struct{}

func (View) Shown() string { return page }

func old() {}
-- cart/more_windows.go --
package cart

func windows() { old() }
`)
	for _, tc := range []struct{ file, word, to, want string }{
		{"cart/cart.go", "(c *Cart) String", "Text", "fmt.Stringer"},
		{"cart/cart.go", "(c *Cart) Total", "total", "would not compile"},
		{"cart/cart.go", "(c *Cart) Total", "String", "would not compile"},
		{"cart/cart.go", "func New", "type", "no name of Go"},
		{"cart/cart.go", "func New", "New", "already"},
		{"main.go", "func main", "start", "by their names"},
		{"cart/more.go", "\tField", "Other", "no tag"},
		{"cart/more.go", "func linked", "other", "linkname"},
		{"cart/more.go", "var a", "b", "something else"},
		{"cart/more.go", "(View) Shown", "Seen", "behind a dot"},
		{"cart/more.go", "func old", "fresh", "more_windows.go:3"},
	} {
		word := strings.Replace(tc.word, "\t", " ", 1)
		files := extra
		if strings.HasPrefix(tc.word, "\t") {
			word = "{\n\t" + strings.TrimPrefix(tc.word, "\t")
			name := strings.TrimPrefix(tc.word, "\t")
			_, _, err := Rename(t.Context(), shared(), Files{FS: files}, tc.file, bytes.Index(files[tc.file].Data, []byte("\t"+name))+1, name, tc.to)
			if refused := (*Refused)(nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s to %s: %v, want %s", word, tc.to, err, tc.want)
			}
			continue
		}
		_, err := rename(t, files, tc.file, word, tc.to)
		if refused := (*Refused)(nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s to %s: %v, want %s", tc.word, tc.to, err, tc.want)
		}
	}
}

// A field with a tag is encoded by it.
func TestRenameTagged(t *testing.T) {
	files := tree("-- go.mod --\nmodule m\n-- a.go --\npackage m\n\nimport \"encoding/json\"\n\ntype D struct {\n\tA int `json:\"a\"`\n}\n\nvar B, _ = json.Marshal(D{A: 1})\n")
	out, _, err := Rename(t.Context(), shared(), Files{FS: files}, "a.go", bytes.Index(files["a.go"].Data, []byte("\tA int"))+1, "A", "Count")
	if err != nil || !bytes.Contains(out["a.go"], []byte("D{Count: 1}")) {
		t.Errorf("%s, %v", out["a.go"], err)
	}
}

// A module of the cache is read, one that is not there is a name without a meaning.
func TestModules(t *testing.T) {
	cache := t.TempDir()
	dir := filepath.Join(cache, "example.com", "!dep@v1.2.3", "sub")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "s.go"), []byte("package sub\n\nfunc Get() T { return T{} }\n\ntype T struct{}\n\nfunc (T) Do() { undefined }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := tree(`
-- go.mod --
module m

require example.com/Dep v1.2.3
-- a.go --
package m

import "example.com/Dep/sub"

func Do() {}

func use() {
	Do()
	sub.Get().Do()
}
`)
	place := FindPlace(os.Getenv)
	place.ModCache = cache
	p, err := Load(t.Context(), NewOutside(place), Files{FS: files}, Query{Names: []string{"Do"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	found, err := p.References("a.go", bytes.Index(files["a.go"].Data, []byte("Do()")), "Do")
	if err != nil || len(found.Refs) != 2 || len(found.Unresolved) != 0 {
		t.Errorf("%+v, %v", found, err)
	}
}

// An import leads to nothing outside of the folders in which code lies.
func TestImportsLeadNowhereElse(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "mod")
	for dir, text := range map[string]string{filepath.Join(cache, "example.com", "dep@v1.2.3"): "package dep\n", filepath.Join(cache, "..", "private"): "package private\n\nfunc Do() {}\n"} {
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "p.go"), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	place := Place{Goroot: cache, ModCache: cache}
	for _, imported := range []string{"example.com/dep/../../../private", "fmt/../../../private", "../private", "example.com/dep/./../../../private"} {
		files := tree("-- go.mod --\nmodule m\n\nrequire example.com/dep v1.2.3\n-- a.go --\npackage m\n\nimport \"" + imported + "\"\n\nfunc use() { private.Do() }\n")
		s, err := scan(t.Context(), shared(), Files{FS: files}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if dir, _ := s.resolve(place, s.mods[0], imported); dir != "" {
			t.Errorf("%s leads to %s", imported, dir)
		}
	}
}

// Sources that the type checker cannot bear are no reason to end the host.
func FuzzLoad(f *testing.F) {
	f.Add("package a\n\ntype T[P T[P]] struct{ T }\nfunc F() { F() }\n", "F")
	f.Add("package a\nvar F = [1<<40]int{}[1<<63>>1]\ntype A = B\ntype B = A\n", "A")
	f.Fuzz(func(t *testing.T, src, name string) {
		if len(src) > 1<<12 || name == "" {
			return
		}
		files := fstest.MapFS{"a.go": {Data: []byte(src)}}
		p, err := Load(t.Context(), NewOutside(Place{}), Files{FS: files}, Query{Names: []string{name}, Folders: []string{"."}})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		_ = p.Faults()
		_, _ = p.References("a.go", strings.Index(src, name), name)
	})
}
