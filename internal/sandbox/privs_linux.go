package sandbox

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// giveUp takes from the calling thread, and so from the command it forks,
// everything that the view alone does not keep away. It cannot be undone.
func giveUp(p plan) error {
	if err := setLimits(p.Limits); err != nil {
		return err
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	// PID 1's memory, environment and files are nobody's business inside.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("dumpable: %w", err)
	}
	if err := lockPaths(p); err != nil {
		return err
	}
	return filterCalls()
}

// setLimits sets what the kernel counts for each process. Memory of all
// processes is the watch's: a limit on address space breaks every runtime that
// reserves more than it uses.
func setLimits(l Limits) error {
	for _, r := range []struct {
		name string
		id   int
		v    uint64
	}{
		// One byte, not none: with none a core still goes to a program that
		// the host has set up for it.
		{"core", unix.RLIMIT_CORE, 1},
		{"file size", unix.RLIMIT_FSIZE, uint64(l.FileSizeMB) << 20},
		{"processes", unix.RLIMIT_NPROC, uint64(l.tasks())},
		{"message queues", unix.RLIMIT_MSGQUEUE, 819200},
		{"pending signals", unix.RLIMIT_SIGPENDING, 4096},
	} {
		if err := lower(r.id, r.v); err != nil {
			return fmt.Errorf("limit of %s: %w", r.name, err)
		}
	}
	if s := l.cpuSeconds(); s > 0 {
		if err := lower(unix.RLIMIT_CPU, s); err != nil {
			return fmt.Errorf("limit of cpu: %w", err)
		}
	}
	// By package syscall, which otherwise restores at exec what the runtime
	// had raised at start.
	var now syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &now); err != nil {
		return fmt.Errorf("limit of open files: %w", err)
	}
	n := min(uint64(l.OpenFiles), now.Max)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
		return fmt.Errorf("limit of open files: %w", err)
	}
	return nil
}

// lower sets a limit, or leaves a stricter one that the host runs under.
func lower(id int, v uint64) error {
	var now unix.Rlimit
	if err := unix.Prlimit(0, id, nil, &now); err != nil {
		return err
	}
	v = min(v, now.Max)
	return unix.Prlimit(0, id, &unix.Rlimit{Cur: v, Max: v}, nil)
}

// lastCapability is above every capability that Linux has.
const lastCapability = 63

// dropCapabilities empties every set, the ambient and the bounding one too:
// the first would pass through exec, the second would come back with a file
// that grants it.
func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("ambient capabilities: %w", err)
	}
	for c := uintptr(0); c <= lastCapability; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			if err == unix.EINVAL { // past the kernel's last
				break
			}
			return fmt.Errorf("bounding capability %d: %w", c, err)
		}
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&head, &none[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	return nil
}
