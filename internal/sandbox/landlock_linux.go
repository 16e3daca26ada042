package sandbox

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock doubles what the mounts say: should a mount or a /proc file be
// writable by mistake, it still is not. The calls are made here and not
// through a library because the rules must hold for the command alone, and not
// for PID 1, which counts memory.

const (
	landlockMinABI = 2 // the first that lets files be renamed between folders
	landlockMaxABI = 7 // the newest that this code was tried on
	// landlockPortsABI is the first that knows the ports of TCP.
	landlockPortsABI = 4
	landlockRulePort = 2 // LANDLOCK_RULE_NET_PORT
)

const (
	landlockRead = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_READ_DIR
	landlockFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	landlockBase = unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1 // all of the first ABI
)

// landlockABI is the kernel's, 0 where it has none.
func landlockABI() int {
	n, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if e != 0 {
		return 0
	}
	return int(n)
}

// landlockRights are the file rights that an ABI knows.
func landlockRights(abi int) uint64 {
	rights := uint64(landlockBase)
	if abi >= 2 {
		rights |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		rights |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 5 {
		rights |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return rights
}

// grant is what a command may do below a path.
type grant struct {
	path  string
	write bool
}

// rulesOf makes the rules of one command of the full tier. Everything in the
// view, which is only what is listed, can be read; written can be what the plan
// has writable.
func rulesOf(p plan) (int, error) {
	grants := []grant{{"/", false}, {"/dev", true}}
	for _, path := range writablePaths(p) {
		grants = append(grants, grant{path, true})
	}
	return makeRules(grants, 0)
}

// knowsPorts says whether a rule can name the port that a command connects to.
func knowsPorts() bool { return landlockInForce() >= landlockPortsABI }

// makeRules gives -1 where the kernel has no Landlock or one too old to rename
// files under. With a port TCP may connect to that and listen nowhere; without
// one it is not Landlock's affair.
func makeRules(grants []grant, port int) (int, error) {
	abi := landlockInForce()
	if abi == 0 {
		return -1, nil
	}
	rights := landlockRights(abi)
	attr := unix.LandlockRulesetAttr{Handled_access_fs: rights}
	size := unsafe.Sizeof(attr.Handled_access_fs)
	if port != 0 {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		size = unsafe.Offsetof(attr.Scoped)
	}
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
		size = unsafe.Offsetof(attr.Scoped) + unsafe.Sizeof(attr.Scoped)
	}
	made, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if e != 0 {
		return -1, fmt.Errorf("landlock ruleset: %w", e)
	}
	fd := int(made)
	for _, g := range grants {
		r := uint64(landlockRead)
		if g.write {
			r = rights
		}
		if err := allow(fd, g.path, r); err != nil {
			_ = unix.Close(fd)
			return -1, err
		}
	}
	if port != 0 {
		if err := allowPort(fd, port); err != nil {
			_ = unix.Close(fd)
			return -1, err
		}
	}
	return fd, nil
}

// allowPort lets TCP connect to a port, of whatever machine.
func allowPort(ruleset, port int) error {
	rule := struct{ access, port uint64 }{unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, uint64(port)}
	_, _, e := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), landlockRulePort,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if e != 0 {
		return fmt.Errorf("landlock port %d: %w", port, e)
	}
	return nil
}

func writablePaths(p plan) []string {
	var out []string
	for _, it := range p.Items {
		if it.Kind == kindMemory || it.Writable {
			out = append(out, it.At)
		}
	}
	return out
}

func allow(ruleset int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("landlock %s: %w", path, err)
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("landlock %s: %w", path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= landlockFile
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, e := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if e != 0 {
		return fmt.Errorf("landlock %s: %w", path, e)
	}
	return nil
}
