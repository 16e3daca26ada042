package tool

import (
	"errors"
	"io/fs"
	"path"

	"agency/internal/backlog"
	"agency/internal/bounded"
	"agency/internal/codebase"
)

// CodeOf answers for the symbols of the files.
func CodeOf(f *Files) codebase.Tree { return f.Symbols.Of(f.FS()).At(f.at).With(f.Embedder) }

// FS is the workspace to read from, for what looks at all of it.
func (f *Files) FS() fs.FS { return bounded.FS(f.root) }

// Replace makes a folder hold exactly these files, by their paths in it. The
// folder is one that no tool of an agent needs; what it was before is gone.
func (f *Files) Replace(dir string, files map[string]string) error {
	dir, err := f.Resolve(dir)
	if err != nil {
		return err
	}
	if err := f.root.RemoveAll(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Says(err, dir)
	}
	for name, text := range files {
		if err := f.Save(path.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Backlog reads the workspace's backlog. Its faults are the model's to mend.
func (f *Files) Backlog() (*backlog.File, error) { return backlog.Read(f.root, 0) }

// HasBacklog tells whether the workspace has a backlog.
func (f *Files) HasBacklog() bool {
	_, err := f.root.Lstat(backlog.Name)
	return err == nil
}
