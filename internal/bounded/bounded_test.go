//go:build unix

package bounded

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// odd makes a folder of what is no plain file, and gives the names.
func odd(t *testing.T) (root *os.Root, names []string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "b") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	at := func(name string) string {
		names = append(names, name)
		return filepath.Join(dir, name)
	}
	l, err := net.Listen("unix", at("socket"))
	for _, err := range []error{
		err,
		syscall.Mkfifo(at("pipe"), 0o600),
		os.Mkdir(at("folder"), 0o700),
		os.Symlink("/dev/zero", at("zero")),
		os.Symlink("/proc/self/mem", at("memory")),
		os.Symlink("../../../../etc/passwd", at("outside")),
		os.Symlink("loop", at("loop")),
		os.Symlink("pipe", at("to a pipe")),
		os.Symlink("nothing", at("to nothing")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = l.Close() })
	if syscall.Mknod(at("device"), syscall.S_IFCHR|0o600, 1<<8|5) != nil { // /dev/zero, where we may
		names = names[:len(names)-1]
	}
	if root, err = os.OpenRoot(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root, names
}

func TestOnlyPlainFilesAreOpened(t *testing.T) {
	root, names := odd(t)
	for _, name := range names {
		if f, err := Open(root, name); err == nil {
			t.Errorf("%s is opened", name)
			_ = f.Close()
		}
		if b, err := Read(root, name, 10); err == nil {
			t.Errorf("%s: %q", name, b)
		}
		if b, err := fs.ReadFile(FS(root), name); err == nil {
			t.Errorf("%s: %q", name, b)
		}
		if f, err := FS(root).Open(name); err == nil && name != "folder" {
			t.Errorf("%s is opened", name)
			_ = f.Close()
		}
		if strings.HasPrefix(name, "outside") {
			continue // of the host it is a file
		}
		if b, err := ReadAt(filepath.Join(root.Name(), name), 10); err == nil {
			t.Errorf("%s: %q", name, b)
		}
	}
}

func TestReadIsWholeOrNothing(t *testing.T) {
	root, _ := odd(t)
	if err := root.WriteFile("ten", []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := root.Symlink("ten", "linked"); err != nil {
		t.Fatal(err)
	}
	if b, err := Read(root, "ten", 10); err != nil || string(b) != "0123456789" {
		t.Errorf("%q, %v", b, err)
	}
	if b, err := Read(root, "ten", 9); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%q, %v", b, err)
	}
	if b, err := Head(root, "ten", 9); err != nil || string(b) != "012345678" {
		t.Errorf("%q, %v", b, err)
	}
	if b, err := Read(root, "linked", 10); !errors.Is(err, ErrNotPlain) {
		t.Errorf("%q, %v", b, err)
	}
	if b, err := fs.ReadFile(FS(root), "linked"); err != nil || string(b) != "0123456789" {
		t.Errorf("%q, %v", b, err)
	}
	if err := root.WriteFile("sparse", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(root.Name(), "sparse"), 1<<40); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := fs.ReadFile(FS(root), "sparse"); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 3*MaxFile {
		t.Errorf("%d MB for a sparse file", took>>20)
	}
}

// A walk ends, however deep or full folders are.
func TestFoldersAreBounded(t *testing.T) {
	root, _ := odd(t)
	deep := root
	for range 3 * maxDepth {
		if err := deep.Mkdir("d", 0o700); err != nil {
			t.Fatal(err)
		}
		next, err := deep.OpenRoot("d")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = next.Close() })
		deep = next
	}
	if err := root.Mkdir("full", 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range maxDir + 1 {
		if err := os.Link(filepath.Join(root.Name(), "pipe"), filepath.Join(root.Name(), "full", strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	seen, refused := 0, 0
	err := fs.WalkDir(FS(root), ".", func(_ string, d fs.DirEntry, err error) error {
		seen++
		if err != nil && d != nil && d.IsDir() {
			refused++
			return fs.SkipDir
		}
		return err
	})
	if err != nil || refused != 2 || seen > 2*maxDepth {
		t.Errorf("%d seen, %d refused, %v", seen, refused, err)
	}
}
