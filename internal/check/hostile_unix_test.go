//go:build unix

package check

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"agency/internal/ecosystem"
	"agency/internal/testreport"
)

// What is no plain file is no report, and nobody waits for it.
func TestOnlyPlainFilesAreReports(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.xml"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"zero.xml": "/dev/zero", "out.xml": "/etc/passwd", "loop.xml": "loop.xml", "linked.xml": "pipe.xml"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.xml"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pipe.xml", "zero.xml", "out.xml", "loop.xml", "linked.xml", "folder.xml"} {
		testreport.NewAllowance(maxRead, testreport.MaxFileTime, testreport.MaxFileTime).EachOf(root, func(r io.Reader) {
			t.Errorf("%s is read", name)
		}, name)
		if b := ecosystem.Head(root, name, 100); b != nil {
			t.Errorf("%s is %q", name, b)
		}
		if s := lockSum(root, name); s != "" {
			t.Errorf("%s has the sum %s", name, s)
		}
	}
	// A sparse file of a terabyte is a plain file: its beginning is read.
	if err := os.WriteFile(filepath.Join(dir, "huge.lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "huge.lock"), 1<<40); err != nil {
		t.Fatal(err)
	}
	grew, _ := measured(func() {
		if b := ecosystem.Head(root, "huge.lock", 100); !bytes.Equal(b, make([]byte, 100)) {
			t.Errorf("read %q", b)
		}
		if s := lockSum(root, "huge.lock"); !strings.HasPrefix(s, "too large: ") {
			t.Errorf("sum %q", s)
		}
	})
	if grew > mostMemory {
		t.Errorf("holds %d MB", grew>>20)
	}
}
