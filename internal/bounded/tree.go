package bounded

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Bounds of a folder as FS shows it.
const (
	MaxFile  = 16 << 20 // bytes of a file that ReadFile gives
	maxDir   = 50_000   // entries of one folder
	maxNames = 4 << 20  // bytes of their names
	maxDepth = 64       // folders one in another
)

// errTooMany is the fault of a folder with more in it than is looked at.
var errTooMany = errors.New("has more in it than is looked at")

// FS shows what lies beneath a folder: folders, and files as Open does it, but
// for links, which are followed where they stay inside. Folders too full or too
// deep cannot be read, so that a walk ends.
func FS(root *os.Root) fs.FS { return tree{root, root.FS()} }

type tree struct {
	root *os.Root
	in   fs.FS
}

// Open opens a plain file or a folder.
func (t tree) Open(name string) (fs.File, error) {
	info, err := fs.Stat(t.in, name) // where a link leads
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return t.in.Open(name)
	}
	return open(name, info, nil, func() (*os.File, error) { return t.root.OpenFile(name, readNow, 0) })
}

// ReadFile reads a plain file of up to MaxFile bytes.
func (t tree) ReadFile(name string) ([]byte, error) {
	f, err := t.Open(name)
	if err != nil {
		return nil, err
	}
	if plain, ok := f.(*os.File); ok {
		return whole(plain, name, MaxFile)
	}
	_ = f.Close() // a folder
	return nil, &fs.PathError{Op: "read", Path: name, Err: ErrNotPlain}
}

// ReadDir lists a folder, sorted.
func (t tree) ReadDir(name string) ([]fs.DirEntry, error) {
	full := &fs.PathError{Op: "read", Path: name, Err: errTooMany}
	if strings.Count(name, "/") >= maxDepth {
		return nil, full
	}
	f, err := t.in.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	dir, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("is no folder")}
	}
	var out []fs.DirEntry
	names := 0
	for {
		some, err := dir.ReadDir(1024)
		for _, e := range some {
			names += len(e.Name())
		}
		if out = append(out, some...); len(out) > maxDir || names > maxNames {
			return nil, full
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return out, nil
}

// Stat follows links that stay inside.
func (t tree) Stat(name string) (fs.FileInfo, error) { return fs.Stat(t.in, name) }

// Lstat follows none.
func (t tree) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(t.in, name) }

// ReadLink is where a link leads.
func (t tree) ReadLink(name string) (string, error) { return fs.ReadLink(t.in, name) }
