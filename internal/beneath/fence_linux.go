package beneath

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	fenceRead    = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	fenceProgram = fenceRead | unix.LANDLOCK_ACCESS_FS_EXECUTE
	// fenceWrite makes no devices, and executes nothing.
	fenceWrite = fenceRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	// fenceFile are the rights that a file can have.
	fenceFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
)

// fenceRights are the rights that this kernel knows, 0 where it has no Landlock.
func fenceRights() uint64 {
	abi, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if e != 0 || int(abi) < 1 {
		return 0
	}
	rights := uint64(unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1) // all of the first version
	if abi >= 2 {
		rights |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		rights |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	return rights
}

// Fenced tells whether this kernel can fence.
func Fenced() bool { return fenceRights() != 0 }

// Run does the work on a thread of its own inside the fence, and waits. Programs
// that it starts are inside, too; goroutines that it starts are not. The error
// is the work's, or why there is no fence. A kernel without Landlock has none to
// give (Fenced): the work is then done without.
func (f Fence) Run(do func() error) error {
	rights := fenceRights()
	if rights == 0 {
		return do()
	}
	rules, err := f.rules(rights)
	if err != nil {
		return err
	}
	done := make(chan error)
	go func() {
		// Never unlocked: the thread ends with the goroutine, and its fence with it.
		// New threads are not made from a locked one.
		runtime.LockOSThread()
		err := enter(rules)
		_ = unix.Close(rules)
		if err == nil {
			err = do()
		}
		done <- err
	}()
	return <-done
}

// enter fences the thread for good.
func enter(rules int) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("fence: %w", err)
	}
	if _, _, e := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules), 0, 0); e != 0 {
		return fmt.Errorf("fence: %w", e)
	}
	return nil
}

func (f Fence) rules(rights uint64) (fd int, err error) {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: rights}
	made, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr.Handled_access_fs), 0)
	if e != 0 {
		return -1, fmt.Errorf("fence: %w", e)
	}
	fd = int(made)
	for _, g := range []struct {
		paths  []string
		rights uint64
	}{{f.Programs, fenceProgram}, {f.Read, fenceRead}, {f.Write, fenceWrite}} {
		for _, p := range g.paths {
			if err := grant(fd, p, g.rights&rights); err != nil {
				_ = unix.Close(fd)
				return -1, err
			}
		}
	}
	return fd, nil
}

func grant(rules int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("fence %s: %w", path, err)
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("fence %s: %w", path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fenceFile
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, e := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if e != 0 {
		return fmt.Errorf("fence %s: %w", path, e)
	}
	return nil
}
