package code

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agency/internal/race"
)

func newEngine(t testing.TB) *Engine {
	t.Helper()
	e := New(Options{})
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// Nothing is loaded by making an engine, nor by Go, so that a command that reads
// no other language does not wait for it.
func TestEngineLoadsNothingAhead(t *testing.T) {
	e := newEngine(t)
	if _, _, err := e.Functions(context.Background(), "a.go", []byte("package a\nfunc f() {}\n")); err != nil {
		t.Fatal(err)
	}
	if e.host != nil {
		t.Error("the modules' runtime was started for Go")
	}
	if _, _, err := e.Functions(context.Background(), "a.py", []byte("x = 1\n")); err != nil {
		t.Fatal(err)
	}
	if n := len(e.host.compiled); n != 2 {
		t.Errorf("%d modules were compiled for one language, want it and the core", n)
	}
}

func TestEngineRefuses(t *testing.T) {
	e := newEngine(t)
	for path, want := range map[string]error{"a.txt": ErrLanguage, "Makefile": ErrLanguage, "a.py": ErrTooLarge, "a.go": ErrTooLarge} {
		_, _, err := e.Functions(context.Background(), path, make([]byte, MaxSize+1))
		if !errors.Is(err, want) || err != nil && !strings.HasPrefix(err.Error(), path) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
}

func TestEngineEnds(t *testing.T) {
	e := New(Options{})
	if _, _, err := e.Functions(context.Background(), "a.py", []byte("x = 1\n")); err != nil {
		t.Fatal(err)
	}
	var closing sync.WaitGroup
	for range 3 {
		closing.Go(func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	closing.Wait()
	if _, _, err := e.Functions(context.Background(), "a.py", []byte("x = 1\n")); !errors.Is(err, errClosed) {
		t.Errorf("reading after the end: %v", err)
	}
}

// hostile takes minutes where nothing stops it.
func hostile() []byte { return []byte(strings.Repeat("fn a(){", MaxSize/8)) }

func TestEngineStopsWithItsContext(t *testing.T) {
	e := newEngine(t)
	_, _, _ = e.Functions(context.Background(), "a.py", nil) // load
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, _, err := e.Functions(ctx, "a.py", hostile())
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want the context's end", err)
	}
	if d := time.Since(began); d > maxTime {
		t.Errorf("it took %v to stop", d)
	}
	ctx, cancel = context.WithCancel(context.Background())
	cancel()
	for _, path := range []string{"a.py", "a.go"} {
		if _, _, err := e.Functions(ctx, path, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want canceled", path, err)
		}
	}
	if _, _, err := e.Functions(context.Background(), "a.py", []byte("def f(): pass\n")); err != nil {
		t.Errorf("the next file: %v", err)
	}
}

// Garbage and deep nesting end in about a second, with a tree or without.
func TestEngineIsBounded(t *testing.T) {
	if race.Enabled {
		t.Skip("nothing here runs beside anything else")
	}
	e := newEngine(t)
	deep := map[string]string{
		"a.py": "fn a(){", "b.py": "(", "a.js": "function a(){", "b.js": "a=>", "c.js": "x.a(()=>1)", "a.ts": "A<B,", "a.tsx": "<a>",
		"a.rs": "fn a(){", "b.rs": "#[a]", "a.java": "class A{", "b.java": "A(){}", "a.go": "func(){", "b.go": "((",
	}
	for path, part := range deep {
		src := []byte(strings.Repeat(part, (MaxSize-1)/len(part)))
		began := time.Now()
		fns, _, err := e.Functions(context.Background(), path, src)
		if err != nil && !errors.Is(err, ErrTooMuch) {
			t.Errorf("%s of %q: %v", path, part, err)
		}
		if d := time.Since(began); d > 4*maxTime { // with room for a loaded machine
			t.Errorf("%s of %q: %d functions after %v", path, part, len(fns), d)
		}
	}
}

func TestEngineIsShared(t *testing.T) {
	e := New(Options{CacheDir: t.TempDir()})
	sources := map[string]string{
		"a.py": "def f(): return 1\n", "a.js": "function f() {}\n", "a.ts": "function f(): void {}\n",
		"a.rs": "fn f() {}\n", "A.java": "class A { void f() {} }\n", "a.go": "package a\nfunc f() {}\n",
	}
	var all sync.WaitGroup
	for range 4 {
		for path, src := range sources {
			all.Go(func() {
				fns := functionsOf(t, e, path, []byte(src))
				out, err := e.Switch(context.Background(), path, []byte(src), fns, "X")
				if err != nil || len(fns) != 1 || len(out.Source) <= len(src) {
					t.Errorf("%s: %d functions, %v", path, len(fns), err)
				}
			})
		}
	}
	all.Wait()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// A cache that holds something else, or cannot be written, is done without.
func TestEngineDoesWithoutItsCache(t *testing.T) {
	src := []byte("def f(): return 1\n")
	dir := t.TempDir()
	first := New(Options{CacheDir: dir})
	functionsOf(t, first, "a.py", src)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	kept, err := filepath.Glob(filepath.Join(dir, "modules", "*", "*"))
	if err != nil || len(kept) == 0 {
		t.Fatalf("the cache holds nothing: %v", err)
	}
	for _, f := range kept {
		if err := os.Truncate(f, 20); err != nil {
			t.Fatal(err)
		}
	}
	torn := New(Options{CacheDir: dir})
	functionsOf(t, torn, "a.py", src)
	if err := torn.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "modules", "*", "*")); len(left) > 0 {
		t.Errorf("the torn files stayed: %q", left)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	none := New(Options{CacheDir: file})
	functionsOf(t, none, "a.py", src)
	if err := none.Close(); err != nil {
		t.Fatal(err)
	}
}
