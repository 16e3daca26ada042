package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// smallDiskArg starts the test binary on a disk of its own.
const smallDiskArg = "sandbox-small-disk"

// TestDisk fills a small disk, runs a command on what is left of it, and fills it
// again, with empty files.
func TestDisk(t *testing.T) {
	full(t, Options{})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(self, smallDiskArg, dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if want := "disk\nexited\ndisk\n"; err != nil || string(out) != want {
		t.Fatalf("%v %s, want %s", err, out, want)
	}
}

// smallDisk tells how a command ends that fills the disk, and one that does not.
func smallDisk(dir string) int {
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64m,nr_inodes=40000"); err != nil {
		fmt.Println(err)
		return 1
	}
	root := filepath.Join(dir, "tree")
	if err := os.Mkdir(root, 0o755); err != nil {
		fmt.Println(err)
		return 1
	}
	r, err := New(Options{})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer func() { _ = r.Close() }()
	for _, script := range []string{
		"while :; do head -c 200000 /dev/zero >> big; done", "echo x > small",
		"rm big; i=0; while :; do : > $i; i=$((i+1)); done", // no bytes, only files
	} {
		res, err := r.Run(context.Background(), Spec{
			Place: Place{Root: root, At: at}, Argv: sh(script), Limits: Limits{Wall: time.Minute},
		})
		if err != nil || res.Cause != CauseDisk && len(res.Output) > 0 {
			fmt.Println(err, strings.TrimSpace(string(res.Output)))
			return 1
		}
		fmt.Println(res.Cause)
	}
	return 0
}
