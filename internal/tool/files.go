package tool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"

	"agency/internal/agency"
)

// maxFile is the largest file that a tool reads or writes whole.
const maxFile = 16 << 20

// text is a file's content with what a rewrite must keep.
type text struct {
	rel  string // resolved
	mode fs.FileMode
	data []byte
}

// stat resolves a path and looks at it. Neither a folder nor a regular file,
// such as a pipe or a device, is refused: opening one may never return.
func (f *Files) stat(p string) (string, fs.FileInfo, error) {
	rel, err := f.Resolve(p)
	if err != nil {
		return "", nil, err
	}
	info, err := f.root.Lstat(rel)
	if err != nil {
		return rel, nil, says(err, p)
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return rel, nil, denied("%s is no regular file (%s)", p, info.Mode().Type())
	}
	return rel, info, nil
}

// load reads a text file whole; binary and huge files are named as such.
func (f *Files) load(p string) (text, error) {
	rel, info, err := f.stat(p)
	if err != nil {
		return text{}, err
	}
	if info.IsDir() {
		return text{}, agency.Errorf(agency.KindInvalid, "%s is a folder; list_directory shows what is in it", p)
	}
	if info.Size() > maxFile {
		return text{}, agency.Errorf(agency.KindInvalid, "%s is huge: %s, the most is %s; use search_files or run_command on it",
			p, size(info.Size()), size(maxFile))
	}
	data, err := f.readAll(rel)
	if err != nil {
		return text{}, says(err, p)
	}
	if binary(data) {
		return text{}, agency.Errorf(agency.KindInvalid, "%s is a binary file of %s", p, size(int64(len(data))))
	}
	return text{rel: rel, mode: info.Mode(), data: data}, nil
}

func (f *Files) readAll(rel string) ([]byte, error) {
	file, err := f.root.Open(rel)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	return io.ReadAll(io.LimitReader(file, maxFile+1))
}

// binary tells whether content is no text: a NUL byte near its beginning, as
// git decides it.
func binary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0
}

// save replaces a file's content atomically: readers see the old content or
// the new one. Mode is the permission bits of the result.
func (f *Files) save(rel string, data []byte, mode fs.FileMode) error {
	dir := path.Dir(rel)
	if err := f.root.MkdirAll(dir, 0o755); err != nil {
		return says(err, dir)
	}
	temp := path.Join(dir, fmt.Sprintf(".agency-%016x.tmp", rand.Uint64()))
	if err := f.writeNew(temp, data, mode); err != nil {
		_ = f.root.Remove(temp) // the first error counts
		return says(err, rel)
	}
	if err := f.root.Rename(temp, rel); err != nil {
		_ = f.root.Remove(temp)
		return says(err, rel)
	}
	return nil
}

func (f *Files) writeNew(name string, data []byte, mode fs.FileMode) error {
	file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode.Perm())
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	// The umask must not take away what the file had.
	return errors.Join(err, file.Chmod(mode.Perm()), file.Close())
}

// Text is a text file whole, for a brief.
func (f *Files) Text(p string) (string, error) {
	t, err := f.load(p)
	return string(t.data), err
}
