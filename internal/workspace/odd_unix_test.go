//go:build unix

package workspace_test

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"agency/internal/agency"
	"agency/internal/git/gittest"
	"agency/internal/workspace"
)

// What git cannot take into a tree is a violation that the agent can mend, and
// neither a git that never ends nor a lock that stays.
func TestUnreadableFiles(t *testing.T) {
	for name, c := range map[string]struct {
		root bool // also as root
		do   func(at string) error
		mend func(at string) error
	}{
		"pipe as ignore file":     {true, pipe(".gitignore"), remove(".gitignore")},
		"pipe as attributes file": {true, pipe("src/.gitattributes"), remove("src/.gitattributes")},
		"pipe for a tracked file": {true, pipe("src/a.go"), remove("src/a.go")},
		"a name that is .git elsewhere": {true, func(at string) error {
			return errors.Join(os.Mkdir(at+"/GIT~1", 0o755), os.WriteFile(at+"/GIT~1/config", nil, 0o644))
		}, remove("GIT~1")},
		"no right to read": {false, func(at string) error { return os.Chmod(at+"/src/a.go", 0) }, func(at string) error { return os.Chmod(at+"/src/a.go", 0o644) }},
	} {
		t.Run(name, func(t *testing.T) {
			if !c.root && os.Getuid() == 0 {
				t.Skip("root reads everything")
			}
			t.Parallel()
			w := setup(t, gittest.New(t, "src/a.go", "a")).work()
			snap(t, w)
			if err := os.WriteFile(w.Path()+"/src/b.go", []byte("b"), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := c.do(w.Path()); err != nil {
				t.Fatal(err)
			}
			_, err := w.Snapshot(t.Context())
			if fault := (*workspace.Violation)(nil); !errors.As(err, &fault) || fault.Kind != workspace.Unreadable || agency.KindOf(err) != agency.KindInvalid {
				t.Fatalf("snapshot: %v", err)
			}
			if err := c.mend(w.Path()); err != nil {
				t.Fatal(err)
			}
			snap(t, w)
		})
	}
}

// The checkout's own folder gets its mode back.
func TestClosedCheckout(t *testing.T) {
	w := setup(t, gittest.New(t, "a.go", "a")).work()
	base := snap(t, w)
	if err := os.Chmod(w.Path(), 0); err != nil {
		t.Fatal(err)
	}
	if got := snap(t, w); got != base {
		t.Errorf("%s instead of %s", got, base)
	}
}

func pipe(name string) func(string) error {
	return func(at string) error {
		_ = os.Remove(at + "/" + name)
		return syscall.Mkfifo(at+"/"+name, 0o600)
	}
}

func remove(name string) func(string) error {
	return func(at string) error { return os.RemoveAll(at + "/" + name) }
}
