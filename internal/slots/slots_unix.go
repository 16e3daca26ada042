//go:build unix

package slots

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// take takes the lock of a slot for as long as the file is open; nil: somebody has it.
// Folder and file must be of the user alone, and no links: who could put another file in
// a slot's place could hold it, or give it twice.
func take(dir, name string, makes bool) (*os.File, error) {
	flags := unix.O_RDWR
	if makes {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		flags |= unix.O_CREAT
	}
	folder, err := open(unix.AT_FDCWD, dir, dir, unix.O_RDONLY|unix.O_DIRECTORY, unix.S_IFDIR)
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }() // only looked into
	// Without waiting, for it may be a pipe.
	f, err := open(int(folder.Fd()), name, filepath.Join(dir, name), flags|unix.O_NONBLOCK, unix.S_IFREG)
	if err != nil {
		return nil, err
	}
	if held, err := locked(f); err != nil || held {
		return nil, errors.Join(err, f.Close())
	}
	var got, there unix.Stat_t
	if err := errors.Join(unix.Fstat(int(f.Fd()), &got), unix.Fstatat(int(folder.Fd()), name, &there, unix.AT_SYMLINK_NOFOLLOW)); err != nil || got.Ino != there.Ino || got.Dev != there.Dev {
		_ = f.Close() // somebody removed it meanwhile: the next look finds the one that counts
		return nil, nil
	}
	return f, nil
}

// open opens what is a folder or a file of the user alone.
func open(at int, name, path string, flags int, kind uint32) (*os.File, error) {
	for {
		fd, err := unix.Openat(at, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
			return nil, fmt.Errorf("%s is a link, or nothing of the kind that belongs there", path)
		}
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
		var st unix.Stat_t
		err = unix.Fstat(fd, &st)
		switch {
		case err != nil:
		case uint32(st.Mode)&unix.S_IFMT != kind: //nolint:unconvert // narrower on darwin
			err = fmt.Errorf("%s is nothing of the kind that belongs there", path)
		case int(st.Uid) != os.Geteuid():
			err = fmt.Errorf("%s belongs to another user", path)
		case st.Mode&0o077 != 0:
			err = fmt.Errorf("%s may be used by other users (mode %o)", path, st.Mode&0o777)
		case kind == unix.S_IFREG && st.Nlink > 1:
			err = fmt.Errorf("%s has another name elsewhere", path)
		}
		if err != nil {
			return nil, errors.Join(err, unix.Close(fd))
		}
		return os.NewFile(uintptr(fd), path), nil
	}
}

// locked takes the lock, or says that somebody has it.
func locked(f *os.File) (held bool, err error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return true, nil
		case err != nil:
			return false, fmt.Errorf("lock %s: %w", f.Name(), err)
		default:
			return false, nil
		}
	}
}
