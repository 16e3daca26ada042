package supervisor

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// loopbackUp starts the only interface that a new network namespace has.
func loopbackUp() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(s) }()
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo)
}

// The kernel gives a user so many of these for all programs together, and
// charges those of a sandbox to the user's too: a command may not hold all that
// an editor outside needs. Watchers are what one process of a test runner or
// server has one or two of.
const (
	maxWatchers = 64
	maxWatched  = 65536
)

// bound lowers what the sandbox's user namespace may have of what the kernel
// counts for a user. No command can make another namespace, whatever it finds.
// A kernel without one of the counts has none to bound.
func bound() {
	for _, b := range [...]struct {
		name string
		most int
	}{
		{"max_inotify_instances", maxWatchers},
		{"max_inotify_watches", maxWatched},
		{"max_fanotify_groups", 0},
		{"max_user_namespaces", 0},
		{"max_cgroup_namespaces", 0},
		{"max_time_namespaces", 0},
	} {
		_ = os.WriteFile("/proc/sys/user/"+b.name, []byte(strconv.Itoa(b.most)), 0)
	}
}
