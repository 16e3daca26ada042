package tool

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"agency/internal/agency"
)

type listDirectoryArgs struct {
	Path  string `json:"path" jsonschema_description:"Folder, relative to the repository's root; . is the root."`
	Depth int    `json:"depth,omitempty" jsonschema:"minimum=1,maximum=8" jsonschema_description:"Levels to descend; 1 where absent."`
}

const (
	maxDepth   = 8
	maxEntries = 1000
)

func listDirectory() Tool {
	return define("list_directory", Read, func(ctx context.Context, env *Env, a listDirectoryArgs) (Result, error) {
		if a.Depth < 0 || a.Depth > maxDepth {
			return refuse(fmt.Sprintf("depth is 1 to %d", maxDepth)), nil
		}
		out, err := env.Files.List(ctx, a.Path, max(1, a.Depth), maxEntries)
		if err != nil {
			return Result{}, err
		}
		if out == "" {
			return ok("(the folder is empty)"), nil
		}
		return ok(out), nil
	})
}

// List is a listing of a folder as a tree: folders with a slash, files with
// their size, at most most entries. Git directories are left out.
func (f *Files) List(ctx context.Context, p string, depth, most int) (string, error) {
	rel, info, err := f.stat(p)
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
	entries, err := fs.ReadDir(l.files.root.FS(), dir)
	if err != nil {
		return says(err, dir)
	}
	for _, e := range entries {
		if gitName(e.Name()) {
			continue
		}
		if l.left--; l.left < 0 {
			return nil
		}
		l.b.WriteString(strings.Repeat("  ", level) + printable(e.Name()) + l.mark(dir, e) + "\n")
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
		return " -> " + printable(target)
	case !e.Type().IsRegular():
		return " (" + e.Type().String() + ")"
	}
	info, err := e.Info()
	if err != nil {
		return ""
	}
	return "  " + size(info.Size())
}

// printable shows a name in one line whatever letters it has.
func printable(name string) string {
	for _, r := range name {
		if r < ' ' || r == 0x7f || r == 0xfffd {
			return fmt.Sprintf("%q", name)
		}
	}
	return name
}
