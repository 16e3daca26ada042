package beneath_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"agency/internal/beneath"

	"golang.org/x/sys/unix"
)

// deep makes folders inside of each other, deeper than any path can name.
func deep(t *testing.T, at string, levels int) {
	t.Helper()
	fd, err := unix.Open(at, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for i := 0; err == nil && i < levels; i++ {
		if err = unix.Mkdirat(fd, "deep", 0o700); err != nil {
			break
		}
		var next int
		next, err = unix.Openat(fd, "deep", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		_ = unix.Close(fd)
		fd = next
	}
	if err == nil {
		err = unix.Mkdirat(fd, "last", 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(fd)
}

func write(t *testing.T, at, text string) string {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	return at
}

func TestRemoveWhateverItHolds(t *testing.T) {
	levels := 20_000
	if testing.Short() {
		levels = 3000
	}
	at := filepath.Join(t.TempDir(), "work")
	outside := write(t, filepath.Join(t.TempDir(), "home", "canary"), "alive")
	for i := range 3000 {
		write(t, filepath.Join(at, "many", fmt.Sprint(i)), "")
	}
	deep(t, at, levels)
	for _, link := range []string{outside, filepath.Dir(outside), "nowhere"} {
		if err := os.Symlink(link, filepath.Join(at, "many", "link-"+filepath.Base(link))); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(at, "closed", "inner", "file"), "")
	if err := errors.Join(syscall.Mkfifo(filepath.Join(at, "pipe"), 0), os.Chmod(filepath.Join(at, "closed", "inner"), 0),
		os.Chmod(filepath.Join(at, "closed"), 0), os.Chmod(at, 0)); err != nil {
		t.Fatal(err)
	}
	if err := beneath.Remove(at); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	if b, err := os.ReadFile(outside); string(b) != "alive" {
		t.Errorf("the file outside: %q, %v", b, err)
	}
	if err := beneath.Remove(at); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

// As root every folder can be entered; the same must hold for others.
func TestRemoveAsOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("TestRemoveWhateverItHolds is the same")
	}
	dir, err := os.MkdirTemp("/tmp", "beneath-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	self, err := os.ReadFile("/proc/self/exe")
	bin := filepath.Join(dir, "beneath.test")
	if err = errors.Join(err, os.WriteFile(bin, self, 0o755), os.Chown(dir, 1000, 1000)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "-test.run=^TestRemoveWhateverItHolds$|^TestFence", "-test.short", "-test.v")
	cmd.Dir = dir
	cmd.Env = []string{"TMPDIR=" + dir, "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1000, Gid: 1000}}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestRemoveWhateverItHolds") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestRemoveNamesWhatStays(t *testing.T) {
	at := filepath.Join(t.TempDir(), "work")
	stays := write(t, filepath.Join(at, "a", "held"), "")
	write(t, filepath.Join(at, "a", "goes"), "")
	f, err := os.Open(stays)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, 0x10); err != nil {
		t.Skipf("no right to make a file immutable: %v", err)
	}
	err = beneath.Remove(at)
	if err == nil || !strings.Contains(err.Error(), stays) || !strings.Contains(err.Error(), "chattr") {
		t.Errorf("error %v", err)
	}
	if names, _ := filepath.Glob(at + "/a/*"); len(names) != 1 {
		t.Errorf("left: %v", names)
	}
	if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, 0); err != nil {
		t.Fatal(err)
	}
	if err := beneath.Remove(at); err != nil {
		t.Error(err)
	}
}

// swap exchanges a folder and a link as fast as it can, until the result is
// called, which tells how often.
func swap(t *testing.T, dir, a, b string) (stop func() int) {
	t.Helper()
	var end atomic.Bool
	done := make(chan int)
	go func() {
		n := 0
		for !end.Load() {
			if unix.Renameat2(unix.AT_FDCWD, filepath.Join(dir, a), unix.AT_FDCWD, filepath.Join(dir, b), unix.RENAME_EXCHANGE) == nil {
				n++
			}
		}
		done <- n
	}()
	return func() int { end.Store(true); return <-done }
}

// A folder that is swapped for a link to one outside while it is removed takes
// nothing of that along.
func TestRemoveUnderASwap(t *testing.T) {
	home := t.TempDir()
	canary := write(t, filepath.Join(home, "f0"), "alive")
	swaps := 0
	for range 100 {
		at := filepath.Join(t.TempDir(), "work")
		for i := range 30 {
			write(t, filepath.Join(at, "sub", fmt.Sprint("f", i)), "")
		}
		if err := os.Symlink(home, filepath.Join(at, "other")); err != nil {
			t.Fatal(err)
		}
		stop := swap(t, at, "sub", "other")
		err := beneath.Remove(at)
		swaps += stop()
		if err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(canary); string(b) != "alive" {
		t.Errorf("the file outside: %q, %v", b, err)
	}
	if swaps == 0 {
		t.Error("nothing was ever swapped")
	}
}

func TestFence(t *testing.T) {
	if !beneath.Fenced() {
		t.Skip("this kernel has no Landlock")
	}
	in, home := t.TempDir(), t.TempDir()
	secret := write(t, filepath.Join(home, "secret"), "secret")
	write(t, filepath.Join(in, "own"), "own")
	if err := os.Symlink(home, filepath.Join(in, "out")); err != nil {
		t.Fatal(err)
	}
	fence := beneath.Fence{Programs: []string{"/usr", "/lib", "/lib64", "/bin"}, Write: []string{in, "/dev/null"}}
	err := fence.Run(func() error {
		for what, err := range map[string]error{
			"reading":             second(os.ReadFile(filepath.Join(in, "out", "secret"))),
			"writing":             os.WriteFile(filepath.Join(in, "out", "new"), nil, 0o600),
			"deleting":            os.Remove(filepath.Join(in, "out", "secret")),
			"renaming":            os.Rename(filepath.Join(in, "own"), filepath.Join(in, "out", "own")),
			"a program's reading": exec.Command("/bin/cat", secret).Run(),
		} {
			if err == nil {
				t.Errorf("%s outside went through", what)
			}
		}
		return errors.Join(
			second(os.ReadFile(filepath.Join(in, "own"))), os.Mkdir(filepath.Join(in, "dir"), 0o700),
			os.Rename(filepath.Join(in, "own"), filepath.Join(in, "dir", "own")), exec.Command("/bin/cat", filepath.Join(in, "dir", "own")).Run())
	})
	if err != nil {
		t.Errorf("inside: %v", err)
	}
	if b, err := os.ReadFile(secret); string(b) != "secret" {
		t.Errorf("outside of the fence: %q, %v", b, err)
	}
}

// No thread of the process stays fenced, however many were, and many at once
// do not meet.
func TestFenceEnds(t *testing.T) {
	secret := write(t, filepath.Join(t.TempDir(), "secret"), "secret")
	for range 20 {
		done := make(chan error)
		for range 20 {
			go func() {
				done <- beneath.Fence{}.Run(func() error {
					if _, err := os.ReadFile(secret); err == nil && beneath.Fenced() {
						return errors.New("read")
					}
					return nil
				})
			}()
			go func() { done <- second(os.ReadFile(secret)) }()
		}
		for range 40 {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
	}
}

func second(_ []byte, err error) error { return err }
