package tool

import (
	"errors"
	"io/fs"
	"path"
)

// FS is the workspace to read from, for what looks at all of it.
func (f *Files) FS() fs.FS { return f.root.FS() }

// Replace makes a folder hold exactly these files, by their paths in it. The
// folder is one that no tool of an agent needs; what it was before is gone.
func (f *Files) Replace(dir string, files map[string]string) error {
	dir, err := f.Resolve(dir)
	if err != nil {
		return err
	}
	if err := f.root.RemoveAll(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return says(err, dir)
	}
	for name, text := range files {
		if err := f.save(path.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
