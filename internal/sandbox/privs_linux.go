package sandbox

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
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
func (s *script) giveUp(t Tier) {
	// The ambient set first: it would pass through exec. The bounding set would
	// give back what a file grants.
	s.add(partShared, "ambient capabilities", 0, unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	may := uintptr(unix.EINVAL) // past the kernel's last it is no number of a capability
	if t == TierLandlock {
		may = uintptr(unix.EPERM) // who is not root cannot, and needs not: no_new_privs
	}
	for c := range lastCapability() + 1 {
		s.add(partShared, "bounding capability", may, unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0, 0, 0)
	}
	head := binary.NativeEndian.AppendUint32(nil, unix.LINUX_CAPABILITY_VERSION_3)
	head = binary.NativeEndian.AppendUint32(head, 0)
	none := make([]byte, 24) // two of three words each
	s.add(partShared, "capabilities", 0, unix.SYS_CAPSET, s.bytes(head), s.bytes(none))
	s.add(partShared, "no_new_privs", 0, unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	s.add(partShared, "dumpable", 0, unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

// reservedPIDs are numbers that the kernel does not hand out again after the
// first round.
const reservedPIDs = 300

// limitTasks bounds the tasks of the namespace by the numbers there are for
// them: the only wall against a fork bomb of the host's root without a cgroup.
// It writes pid_max, on kernels where each pid namespace has its own
// (6.14). Before that the host's root would change the whole machine's.
func (s *script) limitTasks(tasks int) {
	if !kernelAtLeast(6, 14) {
		return
	}
	const opened = fdRules + 1
	cwd := unix.AT_FDCWD
	text := strconv.Itoa(tasks + reservedPIDs)
	s.add(partShared, "tasks", anyError, unix.SYS_OPENAT, uintptr(cwd), s.text("/proc/sys/kernel/pid_max"), unix.O_WRONLY|unix.O_CLOEXEC, 0)
	for _, fd := range []uintptr{opened - 1, opened} { // the first where there are no rules
		if fd == fdRules && landlockInForce() != 0 {
			continue
		}
		s.add(partShared, "tasks", anyError, unix.SYS_WRITE, fd, s.text(text), uintptr(len(text)))
		s.add(partShared, "tasks", anyError, unix.SYS_CLOSE, fd)
	}
}

// candidates are the paths at which a program is looked for, in order.
func candidates(name, path string) []string {
	if strings.ContainsRune(name, '/') {
		return []string{name}
	}
	var out []string
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) {
			out = append(out, filepath.Join(dir, name))
		}
	}
	return out
}
