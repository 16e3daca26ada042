package gotypes

import (
	"context"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
)

// maxOutside is how many packages are kept before they are read anew.
const maxOutside = 2000

// Outside are the packages that checkouts import from elsewhere, read once. It is safe for
// concurrent use.
type Outside struct {
	place   Place
	glances glances // of files of checkouts

	mu  sync.Mutex
	set *token.FileSet
	all map[string]*types.Package // by folder; nil while it is read
}

// NewOutside makes one that has read nothing yet.
func NewOutside(p Place) *Outside {
	return &Outside{place: p, set: token.NewFileSet(), all: map[string]*types.Package{}}
}

// fresh forgets what has been read where it is much, and gives the positions' set.
func (o *Outside) fresh() *token.FileSet {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.all) > maxOutside {
		o.all, o.set = map[string]*types.Package{}, token.NewFileSet()
	}
	return o.set
}

// importer reads the packages that one checkout's module imports.
type importer struct {
	ctx  context.Context
	o    *Outside
	src  *source
	mod  *mod
	mine map[string]*types.Package // of the vendor folder, which is the checkout's
}

func (i *importer) load(imported string) (*types.Package, error) {
	i.o.mu.Lock()
	defer i.o.mu.Unlock()
	return i.read(imported)
}

// read is load for who holds the lock.
func (i *importer) read(imported string) (*types.Package, error) {
	if imported == "unsafe" {
		return types.Unsafe, nil
	}
	if err := i.ctx.Err(); err != nil {
		return nil, err
	}
	dir, inside := i.src.resolve(i.o.place, i.mod, imported)
	if dir == "" {
		return nil, fmt.Errorf("%s is not on this machine", imported)
	}
	kept, files, key := i.o.all, fs.FS(nil), dir
	if inside {
		kept, files = i.mine, i.src.files.FS
	}
	if p, ok := kept[key]; ok {
		if p == nil {
			return nil, fmt.Errorf("import cycle through %s", imported)
		}
		return p, nil
	}
	kept[key] = nil
	p, err := i.check(imported, dir, files)
	if err != nil {
		delete(kept, key)
		return nil, err
	}
	kept[key] = p
	return p, nil
}

// check reads a package without the bodies of its functions.
func (i *importer) check(imported, dir string, files fs.FS) (*types.Package, error) {
	b := build.Default
	b.CgoEnabled = false
	var fsys fs.FS
	if files == nil {
		fsys = os.DirFS(dir)
	} else {
		sub, err := fs.Sub(files, dir)
		if err != nil {
			return nil, err
		}
		fsys = sub
		b.OpenFile = nil
	}
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, fmt.Errorf("%s is not on this machine", imported)
	}
	var parsed []*ast.File
	for _, e := range entries {
		name := e.Name()
		if !e.Type().IsRegular() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := Files{FS: fsys}.Read(name)
		if err != nil || !matches(b, dir, name, text) {
			continue
		}
		f, err := parser.ParseFile(i.o.set, filepath.Join(dir, name), text, parser.SkipObjectResolution)
		if f == nil || err != nil {
			continue
		}
		parsed = append(parsed, f)
	}
	if len(parsed) == 0 {
		return nil, fmt.Errorf("%s has no Go files here", imported)
	}
	conf := types.Config{
		Importer: nested{i, path.Dir(imported)}, IgnoreFuncBodies: true, FakeImportC: true, Error: func(error) {},
		Sizes: types.SizesFor("gc", b.GOARCH),
	}
	p, err := checked(func() (*types.Package, error) { return conf.Check(imported, i.o.set, parsed, nil) })
	if p == nil {
		return nil, err
	}
	return p, nil
}

// nested imports for a package outside, whose own imports may be vendored in GOROOT.
type nested struct {
	i  *importer
	of string
}

func (n nested) Import(p string) (*types.Package, error) {
	if n.i.o.place.Goroot != "" && strings.HasPrefix(p, "golang.org/x/") {
		if first, _, _ := strings.Cut(n.of, "/"); !strings.Contains(first, ".") || strings.HasPrefix(n.of, "vendor/") {
			if got, err := n.i.read("vendor/" + p); err == nil {
				return got, nil
			}
		}
	}
	return n.i.read(p)
}

// checked runs the type checker: what it cannot bear of a hostile source is an error.
func checked(check func() (*types.Package, error)) (p *types.Package, err error) {
	defer func() {
		if r := recover(); r != nil {
			p, err = nil, fmt.Errorf("the type checker gave up: %v", r)
		}
	}()
	return check()
}
