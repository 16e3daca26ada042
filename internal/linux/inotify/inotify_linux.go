// Package inotify tells which files below a folder changed, by what the kernel has noted when
// it is asked. Nothing runs between the questions, and an answer has every write that ended
// before its question.
package inotify

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// maxFolders is how many folders one Watcher has: the kernel keeps about 1 KiB of each.
const maxFolders = 1 << 16

// ErrTooMany is that of a tree with more folders than are watched.
var ErrTooMany = errors.New("more folders than are watched")

// Watcher watches the folders below one. It is for one caller at a time.
type Watcher struct {
	fd   int
	dirs map[int32]string // by the kernel's number, from the folder on
	skip func(name string) bool
}

// noted is what the kernel is to note of a folder. What changes the tree of folders itself is
// among it: their paths are no longer known then.
const noted = unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO |
	unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW | unix.IN_EXCL_UNLINK

// Open begins to watch a folder and all below it but those with names that are skipped. What
// is read of the folder afterwards is no older than the first answer.
func Open(dir string, skip func(name string) bool) (*Watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	w := &Watcher{fd: fd, dirs: map[int32]string{}, skip: skip}
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.IsDir():
			return nil
		case p != dir && skip(d.Name()):
			return fs.SkipDir
		case len(w.dirs) == maxFolders:
			return ErrTooMany
		}
		// WalkDir lists a folder after this, so that what is made in it meanwhile is noted.
		wd, err := unix.InotifyAddWatch(fd, p, noted)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		w.dirs[int32(wd)] = filepath.ToSlash(rel)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// Close ends the watching.
func (w *Watcher) Close() error { return unix.Close(w.fd) }

// Changed are the files that were written, made or removed since the last answer, by their
// paths from the folder on. False where that is not known: folders came, went or moved, or
// more happened than the kernel keeps. The watcher is of no more use then.
func (w *Watcher) Changed() (map[string]bool, bool) {
	out := map[string]bool{}
	var buf [64 << 10]byte
	for {
		n, err := unix.Read(w.fd, buf[:])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return out, true
		case err != nil || !w.take(buf[:n], out):
			return nil, false
		}
	}
}

// take reads events as the kernel writes them: number, mask, cookie, length, name.
func (w *Watcher) take(events []byte, out map[string]bool) bool {
	for len(events) >= unix.SizeofInotifyEvent {
		wd, mask := int32(binary.NativeEndian.Uint32(events)), binary.NativeEndian.Uint32(events[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(events[12:]))
		if end > len(events) {
			return false
		}
		name, _, _ := strings.Cut(string(events[unix.SizeofInotifyEvent:end]), "\x00")
		events = events[end:]
		dir, ok := w.dirs[wd]
		switch {
		case !ok || name == "": // the queue was full, or the folder itself is gone
			return false
		case mask&unix.IN_ISDIR == 0:
			out[path.Join(dir, name)] = true
		case !w.skip(name):
			return false
		}
	}
	return true
}
