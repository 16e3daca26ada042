package daemon

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/windows"

	"agency/internal/agency"
)

func folderOf(common string) (identity, error) {
	f, err := os.Open(common)
	if err != nil {
		return identity{}, agency.Errorf(agency.KindTransient, "git's folder: %w", err)
	}
	defer func() { _ = f.Close() }() // only looked at
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &info); err != nil {
		return identity{}, agency.Errorf(agency.KindTransient, "git's folder: %w", err)
	}
	return identity{
		Dev: uint64(info.VolumeSerialNumber), Inode: uint64(info.FileIndexHigh)<<32 | uint64(info.FileIndexLow), Path: common,
	}, nil
}

// lockFolder cannot hold a folder here; writing the id is one rename.
func lockFolder(string) (unlock func(), err error) { return func() {}, nil }

// tryLock takes the lock of a file for as long as the file is open, or says
// that somebody has it.
func tryLock(f *os.File) (taken bool, err error) {
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 1, new(windows.Overlapped))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION):
		return false, nil
	}
	return false, fmt.Errorf("lock %s: %w", f.Name(), err)
}

func ownSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS}
}

// cutOff tells whether a process was ended from outside; here that cannot be
// known.
func cutOff(*os.ProcessState) (bool, string) { return false, "" }
