package workspace

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

var errDifferent = errors.New("more than content is different")

func lookOf(st *unix.Stat_t, now time.Time) look {
	l := look{ino: st.Ino, size: st.Size, mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano(), mode: st.Mode}
	still := freshForCoarse
	if l.ctime%int64(time.Millisecond) != 0 {
		still = freshFor
	}
	l.fresh = l.ctime >= now.Add(-still).UnixNano()
	return l
}

// readFolder looks at a folder and at all files in it; sub are its folders.
func readFolder(root, rel string, now time.Time) (d memoDir, sub []string, err error) {
	f, err := openFolder(joinRoot(root, rel))
	if err != nil {
		return d, nil, err
	}
	defer func() { _ = f.Close() }() // only read
	d.path = rel
	var st unix.Stat_t
	fd := int(f.Fd())
	if err := unix.Fstat(fd, &st); err != nil {
		return d, nil, err
	}
	d.look = lookOf(&st, now)
	entries, err := f.ReadDir(-1)
	if err != nil {
		return d, nil, err
	}
	d.names = hashNames(entries)
	for _, e := range entries {
		if e.IsDir() {
			sub = append(sub, e.Name())
			continue
		}
		if err := unix.Fstatat(fd, e.Name(), &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return d, nil, err
		}
		d.files = append(d.files, memoFile{name: e.Name(), look: lookOf(&st, now)})
	}
	return d, sub, nil
}

func openFolder(at string) (*os.File, error) {
	return os.OpenFile(at, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}

// hashNames is a hash of names and types, whatever their order.
func hashNames(entries []fs.DirEntry) [32]byte {
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	h := sha256.New()
	for _, e := range entries {
		b := append([]byte(e.Name()), 0)
		_, _ = h.Write(binary.LittleEndian.AppendUint32(b, uint32(e.Type()))) // a hash takes everything
	}
	return [32]byte(h.Sum(nil))
}

// compare looks at a folder and its tracked files again.
func (d *memoDir) compare(root string, now time.Time) (changed []string, err error) {
	at := joinRoot(root, d.path)
	fd, err := unix.Open(at, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }() // only looked through
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if seen := lookOf(&st, now); !d.look.same(seen) {
		if err := d.sameNames(at); err != nil {
			return nil, err
		}
		d.look = seen
	}
	for i := range d.files {
		f := &d.files[i]
		if err := unix.Fstatat(fd, f.name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return nil, err
		}
		seen := lookOf(&st, now)
		if f.look.same(seen) {
			continue
		}
		if f.look.mode&unix.S_IFMT != seen.mode&unix.S_IFMT || seen.size > mostFile || isRules(f.name) && seen.size > maxRules {
			return nil, errDifferent
		}
		f.look = seen
		changed = append(changed, path.Join(d.path, f.name))
	}
	return changed, nil
}

func (d *memoDir) sameNames(at string) error {
	f, err := openFolder(at)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	entries, err := f.ReadDir(-1)
	if err == nil && hashNames(entries) != d.names {
		err = errDifferent
	}
	return err
}
