// Package landlock makes rules of Landlock for a process other than the calling
// one: it gives the ruleset as an open file, and whoever it is for restricts itself
// by it. The calls are made here and not through a library because the rules must
// hold for the command alone, and not for who counts what it uses.
//
// It does not know what is shown to whom: that comes as a list of grants.
package landlock

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"agency/internal/linux"
)

const (
	MinABI = 2 // the first that lets files be renamed between folders
	maxABI = 7 // the newest that this code was tried on
	// TruncateABI is the first that keeps a file from being cut short.
	TruncateABI = 3
	// portsABI is the first that knows the ports of TCP.
	portsABI = 4
	rulePort = 2 // LANDLOCK_RULE_NET_PORT
	// ScopeABI is the first that keeps signals within a domain.
	ScopeABI = 6
)

const (
	readRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_READ_DIR
	fileRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	baseRights = unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1 // all of the first ABI
)

// kernelABI is the kernel's, 0 where it has none.
func kernelABI() int {
	n, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if e != 0 {
		return 0
	}
	return int(n)
}

// InForce is the ABI that commands run under, 0 for none.
func InForce() int {
	if abi := min(kernelABI(), maxABI); abi >= MinABI {
		return abi
	}
	return 0
}

// rightsOf are the file rights that an ABI knows.
func rightsOf(abi int) uint64 {
	rights := uint64(baseRights)
	if abi >= 2 {
		rights |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= TruncateABI {
		rights |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 5 {
		rights |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return rights
}

// Grant is what may be done below a path: read, or write too.
type Grant struct {
	Path  string
	Write bool
	// ID is the file that was judged; none: whatever the system has at the path.
	ID linux.FileID
}

// KnowsPorts says whether a rule can name the port that a command connects to.
func KnowsPorts() bool { return InForce() >= portsABI }

// Rules makes a ruleset by which nothing may be done but what is granted; -1 where the kernel has
// no Landlock or one too old to rename files under. With a port TCP may connect to
// that and listen nowhere; without one it is not Landlock's affair.
func Rules(grants []Grant, port int) (int, error) {
	abi := InForce()
	if abi == 0 {
		return -1, nil
	}
	rights := rightsOf(abi)
	attr := unix.LandlockRulesetAttr{Handled_access_fs: rights}
	size := unsafe.Sizeof(attr.Handled_access_fs)
	if port != 0 {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		size = unsafe.Offsetof(attr.Scoped)
	}
	if abi >= ScopeABI {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
		size = unsafe.Offsetof(attr.Scoped) + unsafe.Sizeof(attr.Scoped)
	}
	made, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if e != 0 {
		return -1, fmt.Errorf("landlock ruleset: %w", e)
	}
	fd := int(made)
	for _, g := range grants {
		r := uint64(readRights)
		if g.Write {
			r = rights
		}
		if err := g.allow(fd, r); err != nil {
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

// Scope makes rules by which a process may send signals to what it starts and to
// nobody else, so that it can end all of that with one call: a ruleset whose number
// is above or higher, -1 where the kernel's Landlock knows no signals. Of files they
// forbid nothing; but rules that do not speak of moving and linking between folders
// forbid it everywhere, whatever others say, which are asked, too.
func Scope(above int) (int, error) {
	if InForce() < ScopeABI {
		return -1, nil
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_REFER, Scoped: unix.LANDLOCK_SCOPE_SIGNAL}
	made, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if e != 0 {
		return -1, fmt.Errorf("landlock scope: %w", e)
	}
	defer func() { _ = unix.Close(int(made)) }()
	if err := (Grant{Path: "/"}).allow(int(made), unix.LANDLOCK_ACCESS_FS_REFER); err != nil {
		return -1, err
	}
	return unix.FcntlInt(made, unix.F_DUPFD_CLOEXEC, above)
}

// allowPort lets TCP connect to a port, of whatever machine.
func allowPort(ruleset, port int) error {
	rule := struct{ access, port uint64 }{unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, uint64(port)}
	_, _, e := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), rulePort,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if e != 0 {
		return fmt.Errorf("landlock port %d: %w", port, e)
	}
	return nil
}

func (g Grant) open() (int, error) {
	if g.ID != (linux.FileID{}) {
		return linux.OpenFile(g.Path, g.ID)
	}
	return unix.Open(g.Path, unix.O_PATH|unix.O_CLOEXEC, 0)
}

func (g Grant) allow(ruleset int, rights uint64) error {
	path := g.Path
	fd, err := g.open()
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
		rights &= fileRights
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, e := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if e != 0 {
		return fmt.Errorf("landlock %s: %w", path, e)
	}
	return nil
}
