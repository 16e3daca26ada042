package supervisor

import (
	"encoding/binary"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"agency/internal/linux"
	"agency/internal/linux/fork"
)

// topCapability is above every capability that Linux has.
const topCapability = 63

// lastCapability is the kernel's own last, or above it.
func lastCapability() uintptr {
	b, err := os.ReadFile("/proc/sys/kernel/cap_last_cap")
	if n, bad := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && bad == nil && n < topCapability {
		return uintptr(n)
	}
	return topCapability
}

// giveUp takes from the first process, and so from the command, every
// capability, the way back to them, and what others could learn of its memory.
// It cannot be undone.
func (s *script) giveUp(landlocked bool) {
	// The ambient set first: it would pass through exec. The bounding set would
	// give back what a file grants.
	s.Add(fork.Shared, "ambient capabilities", 0, unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	may := uintptr(unix.EINVAL) // past the kernel's last it is no number of a capability
	if landlocked {
		may = uintptr(unix.EPERM) // who is not root cannot, and needs not: no_new_privs
	}
	for c := range lastCapability() + 1 {
		s.Add(fork.Shared, "bounding capability", may, unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0, 0, 0)
	}
	head := binary.NativeEndian.AppendUint32(nil, unix.LINUX_CAPABILITY_VERSION_3)
	head = binary.NativeEndian.AppendUint32(head, 0)
	none := make([]byte, 24) // two of three words each
	s.Add(fork.Shared, "capabilities", 0, unix.SYS_CAPSET, s.Bytes(head), s.Bytes(none))
	s.Add(fork.Shared, "no_new_privs", 0, unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	s.Add(fork.Shared, "dumpable", 0, unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

// reservedPIDs are numbers that the kernel does not hand out again after the
// first round.
const reservedPIDs = 300

// MostTasks is how many tasks a command has at the most that may have so many, where its own
// namespace holds it.
func MostTasks(tasks int) int { return tasks + reservedPIDs }

// limitTasks bounds the tasks of the namespace by the numbers there are for
// them: the only wall against a fork bomb of the host's root without a cgroup.
// It writes pid_max, on kernels where each pid namespace has its own
// (6.14). Before that the host's root would change the whole machine's.
func (s *script) limitTasks(tasks int) {
	if !linux.KernelAtLeast(6, 14) {
		return
	}
	s.writeFile("tasks", "/proc/sys/kernel/pid_max", strconv.Itoa(MostTasks(tasks)))
}

// writeFile writes a file of the kernel's, where it can.
func (s *script) writeFile(step, path, text string) {
	cwd := unix.AT_FDCWD
	s.Add(fork.Shared, step, fork.AnyError, unix.SYS_OPENAT, uintptr(cwd), s.Text(path), unix.O_WRONLY|unix.O_CLOEXEC, 0)
	s.Add(fork.Shared, step, fork.AnyError, unix.SYS_WRITE, s.next, s.Text(text), uintptr(len(text)))
	s.Add(fork.Shared, step, fork.AnyError, unix.SYS_CLOSE, s.next)
}
