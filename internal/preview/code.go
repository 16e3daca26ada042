package preview

import (
	"errors"
	"os"
	"path/filepath"

	"agency/internal/agency"
	"agency/internal/code"
	"agency/internal/code/gotypes"
	"agency/internal/codebase"
	"agency/internal/store/fulltext"
	"agency/internal/tool"
)

// Code are the files of the checkout that a person stands in, as those who work there see
// them, with what answers for their symbols. What is kept between commands lies in the
// repository's state folder; where there is none yet, nothing is kept.
type Code struct {
	codebase.Tree
	files  *tool.Files
	engine *codebase.Engine
	syntax *code.Engine
}

// Code opens them.
func (r *Repo) Code() (*Code, error) {
	files, err := tool.OpenFiles(r.At.WorkTree, r.At.WorkTree)
	if err != nil {
		return nil, err
	}
	var o code.Options
	var index *fulltext.Index
	if i, err := os.Stat(r.State); r.State != "" && err == nil && i.IsDir() {
		o.CacheDir, index = filepath.Join(r.State, "syntax"), fulltext.New(filepath.Join(r.State, "search.db"))
	}
	c := &Code{files: files, syntax: code.New(o)}
	c.engine = codebase.New(c.syntax, func() gotypes.Place {
		return gotypes.FindPlace(func(name string) string { v, _ := r.Env(name); return v })
	}, index)
	c.Tree = c.engine.Of(files.FS())
	return c, nil
}

// Rel is a path below the checkout, as a person names it: links are followed where they stay
// inside.
func (c *Code) Rel(p string) (string, error) { return c.files.Resolve(p) }

// Write writes a change: each file that is still what it was read as, or none.
func (c *Code) Write(ch codebase.Change) error {
	modes := make([]os.FileMode, len(ch.Files))
	for i, f := range ch.Files {
		t, err := c.files.Load(f.Path)
		if err != nil {
			return err
		}
		if string(t.Data) != string(f.Before) {
			return agency.Errorf(agency.KindConflict, "%s changed meanwhile; nothing has been written", f.Path)
		}
		modes[i] = t.Mode
	}
	for i, f := range ch.Files {
		if err := c.files.Save(f.Path, f.After, modes[i]); err != nil {
			for k := range i {
				err = errors.Join(err, c.files.Save(ch.Files[k].Path, ch.Files[k].Before, modes[k]))
			}
			return err
		}
	}
	return nil
}

// Close waits until the first index of a repository is made.
func (c *Code) Close() error {
	c.engine.Wait()
	return errors.Join(c.engine.Close(), c.syntax.Close(), c.files.Close())
}
