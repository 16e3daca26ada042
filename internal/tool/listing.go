package tool

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"agency/internal/agency"
	"agency/internal/bounded"
)

// List is a listing of a folder as a tree: folders with a slash, files with
// their size, at most most entries. Git directories are left out.
func (f *Files) List(ctx context.Context, p string, depth, most int) (string, error) {
	rel, info, err := f.Stat(p)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", agency.Errorf(agency.KindInvalid, "%s is a file; read_file shows it", p)
	}
	l := listing{files: f, left: most}
	if err := l.folder(ctx, rel, 0, depth); err != nil {
		return "", err
	}
	if l.left < 0 {
		fmt.Fprintf(&l.b, "[more entries left out: list a folder below, or use search_files]\n")
	}
	return l.b.String(), nil
}

type listing struct {
	files *Files
	b     strings.Builder
	left  int
}

func (l *listing) folder(ctx context.Context, dir string, level, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := fs.ReadDir(bounded.FS(l.files.root), dir)
	if err != nil {
		return Says(err, dir)
	}
	for _, e := range entries {
		if GitName(e.Name()) {
			continue
		}
		if l.left--; l.left < 0 {
			return nil
		}
		l.b.WriteString(strings.Repeat("  ", level) + Printable(e.Name()) + l.mark(dir, e) + "\n")
		if e.IsDir() && level+1 < depth {
			if err := l.folder(ctx, path.Join(dir, e.Name()), level+1, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

// mark says what an entry is.
func (l *listing) mark(dir string, e fs.DirEntry) string {
	switch {
	case e.IsDir():
		return "/"
	case e.Type()&fs.ModeSymlink != 0:
		target, err := l.files.root.Readlink(path.Join(dir, e.Name()))
		if err != nil {
			return " -> ?"
		}
		return " -> " + Printable(target)
	case !e.Type().IsRegular():
		return " (" + e.Type().String() + ")"
	}
	info, err := e.Info()
	if err != nil {
		return ""
	}
	return "  " + Size(info.Size())
}

// Printable shows a name in one line whatever letters it has.
func Printable(name string) string {
	for _, r := range name {
		if r < ' ' || r == 0x7f || r == 0xfffd {
			return fmt.Sprintf("%q", name)
		}
	}
	return name
}
