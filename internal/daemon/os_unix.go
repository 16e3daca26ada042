//go:build unix

package daemon

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"agency/internal/agency"
)

func folderOf(common string) (identity, error) {
	info, err := os.Stat(common)
	if err != nil {
		return identity{}, agency.Errorf(agency.KindTransient, "git's folder: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}, agency.Errorf(agency.KindInternal, "git's folder %s has no inode", common)
	}
	return identity{Dev: uint64(st.Dev), Inode: st.Ino, Path: common}, nil //nolint:unconvert // signed on darwin
}

// lockFolder holds a folder for a moment against other processes.
func lockFolder(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := flock(f, unix.LOCK_EX); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil // the lock goes with the descriptor
}

// flock waits for the lock through interruptions.
func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// tryLock takes the lock of a file for as long as the file is open, or says
// that somebody has it.
func tryLock(f *os.File) (taken bool, err error) {
	err = flock(f, unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, unix.EWOULDBLOCK):
		return false, nil
	}
	return false, fmt.Errorf("lock %s: %w", f.Name(), err)
}

// ownSession takes the host off the terminal: neither Ctrl-C nor a closed
// window reaches it.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// cutOff tells whether a process was ended from outside, and by what.
func cutOff(end *os.ProcessState) (bool, string) {
	status, ok := end.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return false, ""
	}
	switch status.Signal() {
	case syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP:
		return true, status.Signal().String()
	}
	return false, ""
}
