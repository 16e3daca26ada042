package gotypes

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"sort"
)

// Program is the part of a checkout's Go code in which some names stand, type-checked. It
// is for one caller.
type Program struct {
	src     *source
	out     *Outside
	set     *token.FileSet
	ctx     context.Context
	parsed  map[string]*ast.File
	bases   map[string]*types.Package // packages without tests, by path; nil while they are checked
	checked []unit
	units   map[string][]int // of checked, by file
	full    map[string]bool  // folders whose functions are checked
	listed  map[string][]*ast.Ident
	types   bool
	errs    []Fault
}

// unit is a package as it was checked, its tests perhaps with it.
type unit struct {
	pkg  *types.Package
	info *types.Info
	full bool // with the bodies of its functions
}

// Fault is what the compiler would say of a place.
type Fault struct {
	Path         string
	Line, Column int
	What         string
}

func (f Fault) String() string { return fmt.Sprintf("%s:%d:%d: %s", f.Path, f.Line, f.Column, f.What) }

// Query is what is to be known of a checkout.
type Query struct {
	// Names are those that are asked for: packages in which none stands are read without the
	// bodies of their functions.
	Names []string
	// Folders are looked at in any case.
	Folders []string
	// Reach is the folder of a package of whose importers alone the answer is; "": of all.
	Reach string
	// types: what expressions are is kept, which takes much memory.
	types bool
}

// Load type-checks the packages in whose files one of the names stands, and those of the
// folders, with what they import.
func Load(ctx context.Context, o *Outside, files Files, q Query) (*Program, error) {
	src, err := scan(ctx, o, files, q.Names)
	if err != nil {
		return nil, err
	}
	p := &Program{
		src: src, out: o, set: o.fresh(), ctx: ctx, parsed: map[string]*ast.File{}, bases: map[string]*types.Package{},
		units: map[string][]int{}, full: map[string]bool{}, types: q.types,
	}
	reach := map[string]bool(nil)
	if q.Reach != "" {
		reach = src.reaching(q.Reach)
	}
	for dir, f := range src.folders {
		has := func(n string) bool { return src.mention[n] }
		p.full[dir] = slices.Contains(q.Folders, dir) || (reach == nil || reach[dir]) &&
			(slices.ContainsFunc(f.files, has) || slices.ContainsFunc(f.inner, has) || slices.ContainsFunc(f.outer, has))
	}
	for _, dir := range slices.Sorted(maps.Keys(src.folders)) {
		if !p.full[dir] {
			continue
		}
		f := src.folders[dir]
		_, _ = p.base(f.path) // what is wrong with it is among the faults
		p.tests(f)
		if ctx.Err() != nil {
			p.Close()
			return nil, ctx.Err()
		}
	}
	return p, nil
}

// Close gives back what the program holds of the positions that all share.
func (p *Program) Close() {
	for _, f := range p.parsed {
		if tf := p.set.File(f.FileStart); tf != nil {
			p.set.RemoveFile(tf)
		}
	}
}

// parse reads files; of those that are not looked at, no bodies are kept.
func (p *Program) parse(list []string, full bool) (out []*ast.File) {
	for _, name := range list {
		f := p.parsed[name]
		if f == nil {
			var err error
			f, err = parser.ParseFile(p.set, name, p.src.text(name), parser.ParseComments|parser.SkipObjectResolution|parser.AllErrors)
			if all := scanner.ErrorList(nil); errors.As(err, &all) {
				for _, e := range all {
					p.errs = append(p.errs, Fault{name, e.Pos.Line, e.Pos.Column, e.Msg})
				}
			}
			if f == nil || f.Name == nil {
				continue
			}
			p.parsed[name] = f
			if !full {
				f.Comments = nil
				for _, d := range f.Decls {
					if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
						fn.Body.List = nil
					}
				}
			}
		}
		out = append(out, f)
	}
	return out
}

// base is a package of the checkout as others import it.
func (p *Program) base(at string) (*types.Package, error) {
	if pkg, ok := p.bases[at]; ok {
		if pkg == nil {
			return nil, fmt.Errorf("import cycle through %s", at)
		}
		return pkg, nil
	}
	f := p.src.byPath[at]
	if f == nil || len(f.files) == 0 {
		return nil, fmt.Errorf("%s has no Go files here", at)
	}
	p.bases[at] = nil
	pkg := p.check(f, at, f.files, nil)
	if pkg == nil {
		delete(p.bases, at)
		return nil, fmt.Errorf("%s cannot be checked", at)
	}
	p.bases[at] = pkg
	return pkg, nil
}

// tests checks a package with its tests, and the tests beside it.
func (p *Program) tests(f *folder) {
	var with *types.Package
	if len(f.inner) > 0 {
		with = p.check(f, f.path, slices.Concat(f.files, f.inner), nil)
	}
	if len(f.outer) > 0 {
		p.check(f, f.path+"_test", f.outer, with)
	}
}

// check checks files as one package; own, where set, is what they import under the path of
// their own folder.
func (p *Program) check(f *folder, at string, names []string, own *types.Package) *types.Package {
	full := p.full[f.dir]
	parsed := p.parse(names, full)
	if len(parsed) == 0 {
		return nil
	}
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	if p.types {
		info.Types = map[ast.Expr]types.TypeAndValue{}
	}
	i := &importer{ctx: p.ctx, o: p.out, src: p.src, mod: f.mod, mine: map[string]*types.Package{}}
	conf := types.Config{
		IgnoreFuncBodies: !full, FakeImportC: true, Sizes: types.SizesFor("gc", build.Default.GOARCH),
		Importer: importFunc(func(imported string) (*types.Package, error) {
			if own != nil && imported == f.path {
				return own, nil
			}
			if p.src.byPath[imported] != nil {
				return p.base(imported)
			}
			return i.load(imported)
		}),
		Error: func(err error) {
			if e := (types.Error{}); errors.As(err, &e) && full {
				pos := p.set.Position(e.Pos)
				p.errs = append(p.errs, Fault{pos.Filename, pos.Line, pos.Column, e.Msg})
			}
		},
	}
	pkg, _ := checked(func() (*types.Package, error) { return conf.Check(at, p.set, parsed, info) })
	if pkg != nil {
		for _, n := range names {
			p.units[n] = append(p.units[n], len(p.checked))
		}
		p.checked = append(p.checked, unit{pkg, info, full})
	}
	return pkg
}

type importFunc func(string) (*types.Package, error)

func (f importFunc) Import(p string) (*types.Package, error) { return f(p) }

// Faults are what the compiler would say of the program, in order, once each.
func (p *Program) Faults() []Fault {
	sort.Slice(p.errs, func(i, j int) bool { return p.errs[i].String() < p.errs[j].String() })
	return slices.Compact(p.errs)
}

// NewFaults are those that another state of the checkout did not have: places move with an
// edit, so what counts is how often each is said of a file.
func (p *Program) NewFaults(before *Program) (out []Fault) {
	seen := map[string]int{}
	for _, f := range before.Faults() {
		seen[f.Path+"\x00"+f.What]++
	}
	for _, f := range p.Faults() {
		if key := f.Path + "\x00" + f.What; seen[key] > 0 {
			seen[key]--
			continue
		}
		out = append(out, f)
	}
	return out
}

// text is that of a file of the program.
func (p *Program) text(name string) []byte { return p.src.text(name) }

// looked are the files whose functions were checked, sorted.
func (p *Program) looked() (out []string) {
	for n := range p.units {
		if p.full[dirOf(n)] {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// object is what an identifier of a file stands for, in each package that the file is of;
// ok is false where nothing is known of it.
func (p *Program) object(file string, id *ast.Ident) (objs []types.Object, ok bool) {
	for _, at := range p.units[file] {
		u := p.checked[at]
		for _, m := range []map[*ast.Ident]types.Object{u.info.Defs, u.info.Uses} {
			if o, there := m[id]; there {
				ok = true
				if o != nil {
					objs = append(objs, origin(o))
				}
			}
		}
	}
	return objs, ok
}

// origin is a function or variable before its type's parameters were filled in.
func origin(o types.Object) types.Object {
	switch o := o.(type) {
	case *types.Func:
		return o.Origin()
	case *types.Var:
		return o.Origin()
	}
	return o
}
