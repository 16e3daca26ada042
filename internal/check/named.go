package check

import (
	"io/fs"
	"path"
	"strings"
)

// Named tells whether the tests that a line runs will be known by name: each
// statement of it calls a runner that can be asked. repo holds the repository's files.
func Named(line string, repo fs.FS) bool {
	if strings.TrimSpace(line) == "" {
		return false
	}
	p := makePlan(line, files{repo}, "/out", measure{})
	return p.asked()
}

// files are a repository's files as the readers of lines ask for them. The zero
// value knows none: then a word with a slash or a dot passes for a path.
type files struct{ fs.FS }

func (f files) readFile(name string) []byte {
	if f.FS == nil {
		return nil
	}
	info, err := fs.Stat(f.FS, path.Clean(name))
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxGoMod {
		return nil
	}
	b, err := fs.ReadFile(f.FS, path.Clean(name))
	if err != nil {
		return nil
	}
	return b
}

func (f files) exists(name string) bool {
	if f.FS == nil {
		return strings.ContainsAny(name, "/.")
	}
	_, err := fs.Stat(f.FS, name)
	return err == nil
}

func (f files) isDir(name string) bool {
	if f.FS == nil {
		return path.Ext(name) == ""
	}
	info, err := fs.Stat(f.FS, name)
	return err == nil && info.IsDir()
}

// below lists the files of a folder that want takes, relative to base, without
// those of others' code.
func (f files) below(base, dir string, want func(string) bool) []string {
	if f.FS == nil {
		return nil
	}
	var out []string
	_ = fs.WalkDir(f.FS, path.Join(base, dir), func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && d != nil && d.IsDir(), err == nil && d.IsDir() && skipFolder(d.Name()):
			return fs.SkipDir
		case err != nil || d.IsDir() || len(out) >= maxReportFiles:
			return nil
		}
		rel := p
		if base != "." {
			rel = strings.TrimPrefix(p, base+"/")
		}
		if want(rel) {
			out = append(out, rel)
		}
		return nil
	})
	return out
}
