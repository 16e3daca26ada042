package escape

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// openByHandle asks for the handle of a file that it may read, which is no
// harm, and opens a file by a handle, which would need no path.
func openByHandle() error {
	handle, mount, err := unix.NameToHandleAt(unix.AT_FDCWD, "/usr", 0)
	if err != nil {
		handle, mount = unix.NewFileHandle(1, make([]byte, 8)), 0
	}
	return closed(unix.OpenByHandleAt(mount, handle, unix.O_RDONLY))
}

func readMemory() error {
	b := make([]byte, 8)
	_, err := unix.ProcessVMReadv(os.Getppid(), []unix.Iovec{{Base: &b[0], Len: 8}}, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
	return err
}

// parent is a file of the process that has started this one: the first of the
// namespace, where there is one.
func parent(name string) string { return fmt.Sprintf("/proc/%d/%s", os.Getppid(), name) }

// takeFile copies a file descriptor of the namespace's first process.
func takeFile() error {
	pid, err := unix.PidfdOpen(os.Getppid(), 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(pid) }()
	return closed(unix.PidfdGetfd(pid, 3, 0))
}

// openFiles opens one of the files of the namespace's first process, through
// which it could speak for it.
func openFiles() error {
	var answers []error
	for fd := range 64 {
		at := parent(fmt.Sprintf("fd/%d", fd))
		answers = append(answers, opened(at, os.O_RDONLY), opened(at, os.O_WRONLY))
	}
	return noneOf(answers...)
}

// endSupervisor sends what the kernel would have to let through. It is stopped
// when this process is still there to tell.
func (in Inside) endSupervisor() error {
	if !in.namespace() && !in.Scoped {
		return nil // it would, and nobody could tell
	}
	for s := unix.Signal(1); s <= 31; s++ {
		_ = unix.Kill(os.Getppid(), s)
	}
	if err := unix.Kill(os.Getppid(), 0); err != nil && !errors.Is(err, unix.EPERM) {
		return nil
	}
	return errors.New("it does not listen")
}

// openDevice makes the node of the first disk where it may make nodes at all.
func openDevice() error {
	const path = "/tmp/agency-disk"
	if err := unix.Mknod(path, unix.S_IFBLK|0o600, int(unix.Mkdev(8, 0))); err != nil {
		return err
	}
	defer func() { _ = os.Remove(path) }()
	return opened(path, os.O_RDONLY)
}

// coreLimit succeeds when a core could be written, or piped to what the host
// has set up for cores.
func coreLimit() error {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &l); err != nil {
		return err
	}
	if l.Max > 1 {
		return nil
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}); err != nil {
		return fmt.Errorf("at most %d byte: %w", l.Max, err)
	}
	return nil
}

// changeNetwork takes down the loopback, the one interface there is.
func changeNetwork() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(s) }()
	lo, err := unix.NewIfreq("lo") // without flags
	if err != nil {
		return err
	}
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo)
}

// runSetUID runs each program of the system that has the rights of its owner,
// and looks whether it got them.
func runSetUID() error {
	for _, name := range []string{"/usr/bin/su", "/bin/su", "/usr/bin/passwd", "/usr/bin/mount", "/usr/bin/sudo"} {
		fi, err := os.Stat(name)
		if err != nil || fi.Mode()&os.ModeSetuid == 0 {
			continue
		}
		// The dynamic linker of a program that has got rights does not heed this.
		cmd := exec.Command(name, "--version")
		cmd.Env = []string{"LD_SHOW_AUXV=1"}
		out, err := cmd.Output()
		if err != nil && len(out) == 0 {
			continue
		}
		for line := range strings.Lines(string(out)) {
			if f := strings.Fields(line); len(f) == 2 && f[0] == "AT_SECURE:" && f[1] != "0" {
				return nil
			}
		}
	}
	return errors.New("the owner's rights are ignored")
}

// inheritedFiles looks for open files but the three streams and what this
// program has opened itself.
func inheritedFiles() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name()))
		if err != nil || slices.Contains([]string{"0", "1", "2"}, e.Name()) {
			continue
		}
		if !strings.HasPrefix(target, "anon_inode:[event") && !strings.HasPrefix(target, "/proc/") && target != "/sys/fs/cgroup" {
			return nil
		}
	}
	return errors.New("none but the streams")
}

// namespace says whether this process runs in a namespace of processes of its
// command's own.
func (in Inside) namespace() bool {
	if os.Getppid() != 1 || os.Getpid() == 1 {
		return false
	}
	b, err := os.ReadFile("/proc/1/cmdline")
	return err == nil && bytes.HasPrefix(b, []byte(in.Init))
}
