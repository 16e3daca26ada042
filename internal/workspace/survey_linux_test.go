package workspace_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/git/gittest"
	"agency/internal/workspace"
)

// What git could not take, or only at a cost, is refused by name and size
// before git reads it; what the base ignores may be as large as it likes.
func TestTooMuchIsNamed(t *testing.T) {
	sparse := func(name string, size int64) func(at string) error {
		return func(at string) error {
			return errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(at, name)), 0o700), os.WriteFile(filepath.Join(at, name), nil, 0o600),
				os.Truncate(filepath.Join(at, name), size))
		}
	}
	chain := func(name string, levels int) func(at string) error {
		return func(at string) error {
			root, err := os.OpenRoot(at)
			for range levels {
				if err != nil {
					return err
				}
				next := (*os.Root)(nil)
				if err = root.Mkdir(name, 0o700); err == nil {
					next, err = root.OpenRoot(name)
				}
				_ = root.Close()
				root = next
			}
			return errors.Join(root.WriteFile("last", []byte("x"), 0o600), root.Close())
		}
	}
	many := func(dir string, n int) func(at string) error {
		return func(at string) error {
			err := os.MkdirAll(filepath.Join(at, dir), 0o700)
			for i := range n {
				err = errors.Join(err, os.WriteFile(filepath.Join(at, dir, fmt.Sprint(i)), nil, 0o600))
			}
			return err
		}
	}
	const tera = 1 << 40
	for name, c := range map[string]struct {
		do   func(at string) error
		want []string // nil: it is taken
	}{
		"a sparse file of a terabyte": {sparse("new/big.bin", tera), []string{"new/big.bin", "1099511627776 bytes"}},
		"a known file, so large":      {sparse("a.txt", tera+2), []string{"a.txt", "1099511627778 bytes"}},
		"a file of 5 GB":              {sparse("five", 5<<30), []string{"five", "5368709120 bytes"}},
		"many that are large together": {func(at string) (err error) {
			for i := range 12 {
				err = errors.Join(err, sparse(fmt.Sprint("part", i), 400<<20)(at))
			}
			return err
		}, []string{"5033164800 bytes together", "part"}},
		"rules of many megabytes":      {sparse("sub/.gitignore", 64<<20), []string{"sub/.gitignore", "67108864 bytes"}},
		"folders 2000 deep":            {chain("d", 2000), []string{"d/d/d/", "501 folders deep"}},
		"a path of 4000":               {chain(strings.Repeat("long", 50), 20), []string{"longlong", "is a path of 4"}},
		"too many files":               {many("heap", 12_000), []string{"heap/", "holds"}},
		"as large, but ignored":        {sparse("cache/big.bin", tera), nil},
		"as large a file, but ignored": {sparse("core.dump", tera), nil},
		"as many, but ignored":         {many("cache/heap", 12_000), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, gittest.New(t, "a.txt", "a\n", ".gitignore", "cache/\n*.dump\n"))
			b.m = workspace.New(workspace.Options{Git: b.host, DB: b.db, MostFiles: 11_000})
			w := b.work()
			clean := snap(t, w)
			if err := c.do(w.Path()); err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := w.Snapshot(t.Context())
			runtime.ReadMemStats(&after)
			if grown := after.HeapSys - min(before.HeapSys, after.HeapSys); grown > 256<<20 {
				t.Errorf("the host took %d bytes for it", grown)
			}
			if c.want == nil {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
			} else {
				fault := (*workspace.Violation)(nil)
				if !errors.As(err, &fault) || fault.Kind != workspace.TooMuch || agency.KindOf(err) != agency.KindInvalid {
					t.Fatalf("snapshot: %v", err)
				}
				for _, want := range c.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%q is not in: %v", want, err)
					}
				}
				if err := w.Check(t.Context()); !errors.As(err, &fault) {
					t.Errorf("check: %v", err)
				}
				if len(err.Error()) > 8<<10 {
					t.Errorf("an error of %d bytes", len(err.Error()))
				}
			}
			if err := w.Restore(t.Context(), clean); err != nil {
				t.Errorf("restore: %v", err)
			}
			if err := w.Run().Remove(t.Context(), "main", workspace.Work); err != nil {
				t.Errorf("removal: %v", err)
			}
			if _, err := os.Lstat(w.Path()); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the checkout is still there: %v", err)
			}
		})
	}
}

// A file of the base may be as large as it is there, and be edited as others
// are.
func TestLargeFileOfTheBaseStays(t *testing.T) {
	if testing.Short() {
		t.Skip("half a gigabyte")
	}
	r := gittest.New(t, "a.txt", "a\n")
	if err := errors.Join(os.WriteFile(filepath.Join(r.Dir, "large"), nil, 0o600), os.Truncate(filepath.Join(r.Dir, "large"), 513<<20)); err != nil {
		t.Fatal(err)
	}
	r.Commit("large")
	w := setup(t, r).work()
	clean := snap(t, w)
	if err := os.Truncate(filepath.Join(w.Path(), "large"), 600<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Snapshot(t.Context()); err == nil || !strings.Contains(err.Error(), "large") {
		t.Errorf("larger than on the base: %v", err)
	}
	if err := w.Restore(t.Context(), clean); err != nil {
		t.Fatal(err)
	}
	if got := snap(t, w); got != clean {
		t.Errorf("%s instead of %s", got, clean)
	}
}
