// Package bounded opens and reads files that somebody else wrote: a repository,
// an agent, a command. It opens plain files only, and without waiting, so that a
// pipe, a device or a link to one holds nobody up; it follows no link out of a
// folder; and it reads as much as the caller names and not a byte more.
//
// What is in a file it does not judge. It knows no time: a plain file of so many
// bytes is read at once.
package bounded

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Causes of files that are not read.
var (
	ErrNotPlain = errors.New("is no plain file")
	ErrTooLarge = errors.New("is larger than what is read of such a file")
	errSwapped  = errors.New("became another file while it was opened")
)

// Open opens a plain file beneath a folder, that no link stands for. The caller
// closes it. ErrNotPlain for all else that may be there.
func Open(root *os.Root, name string) (*os.File, error) {
	info, err := root.Lstat(name)
	return open(name, info, err, func() (*os.File, error) { return root.OpenFile(name, readNow, 0) })
}

// OpenAt opens a plain file of the host, to which links may lead. The caller
// closes it.
func OpenAt(name string) (*os.File, error) {
	info, err := os.Stat(name)
	return open(name, info, err, func() (*os.File, error) { return os.OpenFile(name, readNow, 0) })
}

// open looks before it opens, because to open a device can do something, and
// behind, because what was looked at may have been replaced.
func open(name string, before fs.FileInfo, err error, do func() (*os.File, error)) (*os.File, error) {
	fault := func(err error) error { return &fs.PathError{Op: "open", Path: name, Err: err} }
	switch {
	case err != nil:
		return nil, err
	case !before.Mode().IsRegular():
		return nil, fault(ErrNotPlain)
	}
	f, err := do()
	if err != nil {
		return nil, err
	}
	switch info, err := f.Stat(); {
	case err != nil:
		_ = f.Close() // the first error counts
		return nil, err
	case !os.SameFile(before, info):
		_ = f.Close()
		return nil, fault(errSwapped)
	}
	return f, nil
}

// Read reads a plain file beneath a folder whole. ErrTooLarge where it has more
// than so many bytes.
func Read(root *os.Root, name string, most int64) ([]byte, error) {
	f, err := Open(root, name)
	if err != nil {
		return nil, err
	}
	return whole(f, name, most)
}

// ReadAt is Read of a file of the host.
func ReadAt(name string, most int64) ([]byte, error) {
	f, err := OpenAt(name)
	if err != nil {
		return nil, err
	}
	return whole(f, name, most)
}

// Head reads the beginning of a plain file beneath a folder, so many bytes of it
// at most.
func Head(root *os.Root, name string, most int64) ([]byte, error) {
	f, err := Open(root, name)
	if err != nil {
		return nil, err
	}
	return upTo(f, most)
}

func whole(f *os.File, name string, most int64) ([]byte, error) {
	b, err := upTo(f, most+1)
	if err == nil && int64(len(b)) > most {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("%w: %d bytes", ErrTooLarge, most)}
	}
	return b, err
}

// upTo reads and closes.
func upTo(f *os.File, most int64) ([]byte, error) {
	defer func() { _ = f.Close() }() // only read
	var b bytes.Buffer
	if info, err := f.Stat(); err == nil {
		b.Grow(int(max(0, min(info.Size(), most))) + bytes.MinRead)
	}
	if _, err := b.ReadFrom(io.LimitReader(f, most)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
