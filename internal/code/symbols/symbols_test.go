package symbols

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/code"

	"github.com/google/go-cmp/cmp"
)

func engine(t testing.TB) *code.Engine {
	t.Helper()
	e := code.New(code.Options{})
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// Each file of testdata defines, in its language, what the file beside it lists; and of the
// names in it the uses of "target" are told apart by their roles.
func TestDefinitions(t *testing.T) {
	e := engine(t)
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			src, want, ok := strings.Cut(string(b), "=====\n")
			if !ok {
				t.Fatal("no line of =====")
			}
			f, err := Read(t.Context(), e, name, []byte(src))
			if err != nil {
				t.Fatal(err)
			}
			if f.Fault != nil {
				t.Errorf("%+v", *f.Fault)
			}
			if diff := cmp.Diff(want, listed(f)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func listed(f File) string {
	var b strings.Builder
	for _, d := range f.Definitions {
		fmt.Fprintf(&b, "%d-%d %s %s\n", d.Line, d.EndLine, d.Kind, d.Path())
	}
	for _, n := range f.Uses("target") {
		fmt.Fprintf(&b, "target %d %s\n", n.Line, [...]string{"plain", "defines", "member", "binds", "imports " + n.From}[n.Role])
	}
	return b.String()
}

// What is no syntax is named with its place, and what is whole is listed all the same.
func TestFault(t *testing.T) {
	e := engine(t)
	for name, tc := range map[string]struct{ src, want string }{
		"a.go":   {"package a\n\nfunc A() {\n\tx := )\n}\n", "4:7"},
		"a.py":   {"def a():\n    return 1\n\ndef b(:\n", "4:"},
		"a.ts":   {"export function a() { return 1 }\nconst x = ;\n", "2:"},
		"A.java": {"class A {\n  void a() { int x = ; }\n}\n", "2:"},
		"a.rs":   {"fn a() {}\nfn b( {\n", "2:"},
	} {
		f, err := Read(t.Context(), e, name, []byte(tc.src))
		if err != nil {
			t.Fatal(err)
		}
		if f.Fault == nil || !strings.HasPrefix(fmt.Sprintf("%d:%d", f.Fault.Line, f.Fault.Column), tc.want) || f.Fault.What == "" {
			t.Errorf("%s: %+v, want %s", name, f.Fault, tc.want)
		}
		if len(f.Definitions) == 0 {
			t.Errorf("%s: nothing is listed", name)
		}
	}
}

func TestNamed(t *testing.T) {
	f, err := Read(t.Context(), engine(t), "a.go", []byte("package a\n\ntype S struct{ n int }\n\nfunc (s *S) Push() {}\n\nfunc Push() {}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for symbol, want := range map[string]int{"Push": 2, "S.Push": 1, "(*S).Push": 1, "S": 1, "S.n": 1, "ush": 0, "Pop": 0} {
		if got := f.Named(symbol); len(got) != want {
			t.Errorf("%s: %d, want %d: %+v", symbol, len(got), want, got)
		}
	}
	if d, ok := f.Within(50); !ok || d.Path() != "S.Push" {
		t.Errorf("%+v", d)
	}
}

// What cannot be read is refused as the engine does.
func TestRefused(t *testing.T) {
	e := engine(t)
	for name, size := range map[string]int{"a.txt": 1, "a.go": code.MaxSize + 1, "a.rb": code.MaxSize + 1} {
		if _, err := Read(t.Context(), e, name, make([]byte, size)); err == nil || code.Skip(err) != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ctx, e, "a.rb", []byte("x = 1")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Nesting without end is no reason to run out of stack, and a file of anything is read in
// the bounds of the engine.
func FuzzRead(f *testing.F) {
	e := engine(f)
	for _, name := range []string{"a.go", "a.py", "a.tsx", "a.rs", "A.java", "a.cpp", "a.cs", "a.rb", "a.php", "a.sh"} {
		f.Add(name, "x = 1\nclass A { int f(int target) { return target; } }\n")
		f.Add(name, strings.Repeat("(", 2000))
	}
	f.Fuzz(func(t *testing.T, name, src string) {
		if code.SyntaxOf(name) == "" || len(src) > 1<<14 {
			return
		}
		got, err := Read(t.Context(), e, name, []byte(src))
		if code.Skip(err) != nil {
			t.Fatal(err)
		}
		for _, d := range got.Definitions {
			if d.Start > d.NameStart || d.NameStart+len(d.Name) > d.End || d.End > len(src) || src[d.NameStart:d.NameStart+len(d.Name)] != d.Name {
				t.Errorf("%+v in %q", d, src)
			}
		}
		for _, n := range got.Names {
			if src[n.Start:n.End] != n.Text {
				t.Errorf("%+v in %q", n, src)
			}
		}
	})
}
