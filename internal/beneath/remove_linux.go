package beneath

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	// levels of folders are open at one time; what is deeper is moved up first.
	levels = 100
	// batch bounds the names that are held of a folder.
	batch = 1024
	// rounds bound how often a folder is looked through that somebody fills
	// while it is emptied.
	rounds = 1 << 16
	// named bounds the errors that are told.
	named = 5
)

type remover struct {
	top   *os.File // where deep folders are moved to
	moved int
	errs  []error
	more  int // errors that are not told
}

func removeAt(dir *os.File, name, at string) error {
	r := &remover{}
	r.entry(int(dir.Fd()), name, at, 0)
	if r.more > 0 {
		r.errs = append(r.errs, fmt.Errorf("and %d more", r.more))
	}
	return errors.Join(r.errs...)
}

func (r *remover) fail(at string, err error) bool {
	if len(r.errs) < named {
		r.errs = append(r.errs, &fs.PathError{Op: "remove", Path: brief(at), Err: err})
	} else {
		r.more++
	}
	return false
}

// entry deletes a name of an open folder and tells whether it is gone.
func (r *remover) entry(parent int, name, at string, depth int) bool {
	for range rounds {
		err := unix.Unlinkat(parent, name, 0)
		if err == nil || errors.Is(err, unix.ENOENT) {
			return true
		}
		dir, derr := openOwn(parent, name, at)
		none := errors.Is(derr, unix.ENOTDIR) || errors.Is(derr, unix.ELOOP)
		switch {
		case errors.Is(derr, unix.ENOENT):
			return true
		case none && errors.Is(err, unix.EISDIR):
			continue // what was a folder a moment ago is a link now
		case none:
			return r.fail(at, why(parent, name, err))
		case derr != nil:
			return r.fail(at, derr)
		}
		gone, again := r.folder(parent, dir, name, at, depth)
		_ = dir.Close() // only read
		if !again {
			return gone
		}
	}
	return r.fail(at, errors.New("a process fills it while it is emptied"))
}

// folder deletes an open folder; again: it has been filled, or is another one
// now.
func (r *remover) folder(parent int, dir *os.File, name, at string, depth int) (gone, again bool) {
	if depth == levels {
		r.moved++
		err := unix.Renameat(parent, name, int(r.top.Fd()), ".deep-"+strconv.Itoa(r.moved)+"-"+strconv.Itoa(os.Getpid()))
		return err == nil || r.fail(at, err), false
	}
	if depth == 0 {
		r.top = dir
	}
	moved := r.moved
	if !r.empty(dir, at, depth) && (depth > 0 || r.moved == moved) {
		return false, false // told already, and nothing was moved up that is to be looked at
	}
	switch err := unix.Unlinkat(parent, name, unix.AT_REMOVEDIR); {
	case err == nil, errors.Is(err, unix.ENOENT):
		return true, false
	case errors.Is(err, unix.ENOTEMPTY), errors.Is(err, unix.EEXIST), errors.Is(err, unix.ENOTDIR):
		return false, true
	default:
		return r.fail(at, why(parent, name, err)), false
	}
}

// empty goes once through a folder; false where something stays for good.
func (r *remover) empty(dir *os.File, at string, depth int) bool {
	if _, err := dir.Seek(0, io.SeekStart); err != nil {
		return r.fail(at, err)
	}
	gone := true
	for {
		names, err := dir.Readdirnames(batch)
		for _, name := range names {
			if !r.entry(int(dir.Fd()), name, join(at, name), depth+1) {
				gone = false
			}
		}
		if errors.Is(err, io.EOF) {
			return gone
		}
		if err != nil {
			return r.fail(at, err)
		}
	}
}

// join adds a name to what an error would say; past any use it stays short.
func join(at, name string) string { return filepath.Join(brief(at), name) }

// openOwn opens a folder, no link, and takes back the right to change it.
func openOwn(parent int, name, at string) (*os.File, error) {
	const flags = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK
	fd, err := unix.Openat(parent, name, unix.O_RDONLY|flags, 0)
	if errors.Is(err, unix.EACCES) {
		fd, err = openClosed(parent, name, flags)
	}
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil && st.Mode&0o700 != 0o700 {
		_ = unix.Fchmod(fd, 0o700) // where it is refused, so is what needs it, which tells
	}
	return os.NewFile(uintptr(fd), brief(at)), nil
}

// openClosed opens a folder that its owner may not read: its mode is changed
// through an open file, for a name may lead elsewhere by then.
func openClosed(parent int, name string, flags int) (int, error) {
	p, err := unix.Openat(parent, name, unix.O_PATH|flags&^unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(p) }()
	if err := unix.Chmod("/proc/self/fd/"+strconv.Itoa(p), 0o700); err != nil {
		return -1, err
	}
	return unix.Openat(p, ".", unix.O_RDONLY|flags, 0)
}

// why says of what is not permitted whether an attribute of the file forbids
// it.
func why(parent int, name string, err error) error {
	if !errors.Is(err, unix.EPERM) {
		return err
	}
	var st unix.Stat_t
	if unix.Fstatat(parent, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return err
	}
	fd, oerr := unix.Openat(parent, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if oerr != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	const immutable, appendOnly = 0x10, 0x20 // FS_IMMUTABLE_FL, FS_APPEND_FL
	flags, ferr := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS)
	if ferr == nil && flags&(immutable|appendOnly) != 0 {
		return fmt.Errorf("%w: it is immutable or append-only (sudo chattr -i -a)", err)
	}
	return err
}
