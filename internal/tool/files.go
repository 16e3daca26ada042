package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"strings"

	"agency/internal/agency"
	"agency/internal/bounded"
)

// MaxFile is the largest file that a tool reads or writes whole.
const MaxFile = 16 << 20

// TextFile is a file's content with what a rewrite must keep.
type TextFile struct {
	Rel  string // resolved
	Mode fs.FileMode
	Data []byte
}

// Stat resolves a path and looks at it. Neither a folder nor a regular file,
// such as a pipe or a device, is refused: opening one may never return.
func (f *Files) Stat(p string) (string, fs.FileInfo, error) {
	rel, err := f.Resolve(p)
	if err != nil {
		return "", nil, err
	}
	info, err := f.root.Lstat(rel)
	if err != nil {
		return rel, nil, Says(err, p)
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return rel, nil, denied("%s is no regular file (%s)", p, info.Mode().Type())
	}
	return rel, info, nil
}

// Load reads a text file whole; binary and huge files are named as such.
func (f *Files) Load(p string) (TextFile, error) {
	t, err := ReadFile(f, p)
	if err == nil && Binary(t.Data) {
		return TextFile{}, agency.Errorf(agency.KindInvalid, "%s is a binary file of %s", p, Size(int64(len(t.Data))))
	}
	return t, err
}

// ReadFile reads a file whole, whatever it holds; huge files are named as such.
func ReadFile(f *Files, p string) (TextFile, error) {
	rel, info, err := f.Stat(p)
	if err != nil {
		return TextFile{}, err
	}
	if info.IsDir() {
		return TextFile{}, agency.Errorf(agency.KindInvalid, "%s is a folder; list_directory shows what is in it", p)
	}
	if info.Size() > MaxFile {
		return TextFile{}, agency.Errorf(agency.KindInvalid, "%s is huge: %s, the most is %s; use search_files or run_command on it",
			p, Size(info.Size()), Size(MaxFile))
	}
	data, err := f.ReadAll(rel)
	if err != nil {
		return TextFile{}, Says(err, p)
	}
	return TextFile{Rel: rel, Mode: info.Mode(), Data: data}, nil
}

// ReadAll reads a file by its resolved path, up to MaxFile.
func (f *Files) ReadAll(rel string) ([]byte, error) {
	return bounded.Read(f.root, rel, MaxFile)
}

// Binary tells whether content is no text: a NUL byte near its beginning, as
// git decides it.
func Binary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0
}

// Save replaces a file's content atomically: readers see the old content or
// the new one. Mode is the permission bits of the result.
func (f *Files) Save(rel string, data []byte, mode fs.FileMode) error {
	dir := path.Dir(rel)
	if err := f.root.MkdirAll(dir, 0o755); err != nil {
		return Says(err, dir)
	}
	temp := path.Join(dir, fmt.Sprintf(".agency-%016x.tmp", rand.Uint64()))
	if err := f.writeNew(temp, data, mode); err != nil {
		_ = f.root.Remove(temp) // the first error counts
		return Says(err, rel)
	}
	if err := f.root.Rename(temp, rel); err != nil {
		_ = f.root.Remove(temp)
		return Says(err, rel)
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
	t, err := f.Load(p)
	return string(t.Data), err
}

// Remove deletes a file, or a link itself and never what it leads to.
func (f *Files) Remove(ctx context.Context, rel, shown string) error {
	// The folder is resolved, the name is not: the link is what is meant.
	dir, name := path.Split(rel)
	dir, err := f.Resolve(orDot(path.Clean(dir)))
	if err != nil {
		return err
	}
	rel = path.Join(dir, name)
	info, err := f.root.Lstat(rel)
	if err != nil {
		return Says(err, shown)
	}
	if info.IsDir() {
		return agency.Errorf(agency.KindInvalid, "%s is a folder; delete its files one by one, or use run_command", shown)
	}
	if err := f.MayWrite(ctx, rel); err != nil {
		return err
	}
	if err := f.root.Remove(rel); err != nil {
		return Says(err, shown)
	}
	return nil
}

// Target is where a write goes, and the mode that it keeps.
func (f *Files) Target(p string) (rel string, mode fs.FileMode, existed bool, err error) {
	rel, info, err := f.Stat(p)
	switch {
	case err == nil && info.IsDir():
		return "", 0, false, agency.Errorf(agency.KindInvalid, "%s is a folder", p)
	case err == nil:
		return rel, info.Mode(), true, nil
	case agency.KindOf(err) == agency.KindNotFound && rel != "":
		return rel, 0o644, false, f.parentIsFolder(rel, p)
	}
	return "", 0, false, err
}

// parentIsFolder refuses a path below a file.
func (f *Files) parentIsFolder(rel, p string) error {
	for dir := rel; ; {
		i := strings.LastIndexByte(dir, '/')
		if i < 0 {
			return nil
		}
		dir = dir[:i]
		info, err := f.root.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Says(err, p)
		}
		if !info.IsDir() {
			return agency.Errorf(agency.KindInvalid, "%s: %s is a file, not a folder", p, dir)
		}
		return nil
	}
}
