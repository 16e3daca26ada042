package overlay

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"agency/internal/beneath"
)

// Where there are no overlays a cache of a command's own begins with what the
// user's has: small files as copies, which programs rewrite in place, large ones
// as links to the user's, which the command may read and not write. What cannot
// be had so is made again by whoever misses it.

const (
	// linkFrom is the size from which a file is linked.
	linkFrom = 32 << 10
	// maxWarm entries are taken over, the newest: a cache can be larger than all
	// that is won by it.
	maxWarm = 20_000
	// maxWarmCopy bounds what is copied.
	maxWarmCopy = 256 << 20
)

// Warm gives the folder base/own, filled from lower when it is made.
func Warm(base, lower string) (string, error) {
	own := Own(base)
	if _, err := os.Stat(own); err == nil {
		return own, nil
	}
	if err := os.MkdirAll(base, 0o700); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(own+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }()
	if err := flock(lock); err != nil {
		return "", err
	}
	if _, err := os.Stat(own); err == nil {
		return own, nil // while this waited
	}
	made := own + ".new"
	if err := beneath.Remove(made); err != nil { // of who died in the middle
		return "", err
	}
	if err := os.Mkdir(made, 0o700); err != nil {
		return "", err
	}
	if err := fillCache(made, lower); err != nil {
		return "", err
	}
	return own, os.Rename(made, own)
}

func flock(f *os.File) error {
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// warmFile is a file of the user's cache.
type warmFile struct {
	rel  string
	info fs.FileInfo
}

// fillCache fills a new folder. A file that goes away meanwhile, or cannot be
// read, is left out.
func fillCache(to, lower string) error {
	files := warmFiles(lower)
	left := int64(maxWarmCopy)
	for _, f := range files {
		at, from := filepath.Join(to, f.rel), filepath.Join(lower, f.rel)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return err
		}
		if f.info.Mode().IsRegular() && f.info.Size() < linkFrom {
			if left -= f.info.Size(); left < 0 {
				continue
			}
			if err := copyWarm(from, at, f.info); err != nil {
				return err
			}
			continue
		}
		target := from
		if f.info.Mode()&fs.ModeSymlink != 0 {
			var err error
			if target, err = os.Readlink(from); err != nil {
				continue
			}
		}
		if err := os.Symlink(target, at); err != nil {
			return err
		}
	}
	return nil
}

// warmFiles are the newest files of a cache, as many as are taken over.
func warmFiles(lower string) []warmFile {
	var files []warmFile
	_ = filepath.WalkDir(lower, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() && d.Type()&fs.ModeSymlink == 0 {
			return nil // what cannot be seen is left out
		}
		info, err := d.Info()
		rel, bad := filepath.Rel(lower, path)
		if err == nil && bad == nil {
			files = append(files, warmFile{rel, info})
		}
		return nil
	})
	slices.SortFunc(files, func(a, b warmFile) int {
		return cmp.Or(b.info.ModTime().Compare(a.info.ModTime()), cmp.Compare(a.rel, b.rel))
	})
	return files[:min(len(files), maxWarm)]
}

// copyWarm copies a file with its mode and time, by which programs tell whether
// it is still good. The kernel shares the blocks where the file system can.
func copyWarm(from, at string, info fs.FileInfo) error {
	in, err := os.Open(from)
	if err != nil {
		return nil // not ours to read, or gone
	}
	defer func() { _ = in.Close() }() // only read
	out, err := os.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm()|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return os.Chtimes(at, info.ModTime(), info.ModTime())
}
