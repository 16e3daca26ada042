package gotypes

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"agency/internal/regexp"
)

// Refused says why a change is not made, and at which places.
type Refused struct {
	Why    string
	Places []string
}

func (r *Refused) Error() string {
	if len(r.Places) == 0 {
		return r.Why
	}
	return r.Why + ":\n" + strings.Join(r.Places, "\n")
}

func refuse(format string, args ...any) *Refused { return &Refused{Why: fmt.Sprintf(format, args...)} }

// maxPlaces is how many places a refusal names.
const maxPlaces = 10

func (r *Refused) at(refs []Ref) *Refused {
	for i, ref := range refs {
		if i == maxPlaces {
			r.Places = append(r.Places, fmt.Sprintf("and %d more", len(refs)-i))
			break
		}
		r.Places = append(r.Places, fmt.Sprintf("%s:%d", ref.Path, ref.Line))
	}
	return r
}

// Rename gives the files in which all references of a definition have the new name, or none:
// a *Refused where not all are known, where something outside of the checkout calls it by
// its name, or where another name would come to mean something else. What is renamed is
// type-checked again, and each name of the changed program has to stand for what it did.
func Rename(ctx context.Context, o *Outside, files Files, file string, at int, name, to string) (map[string][]byte, []Ref, error) {
	if !token.IsIdentifier(to) || to == "_" {
		return nil, nil, refuse("%q is no name of Go", to)
	}
	if name == to {
		return nil, nil, refuse("it has this name already")
	}
	if name == "main" || name == "init" || name == "_" || to == "init" || to == "main" {
		return nil, nil, refuse("main and init are called by their names")
	}
	q := Query{Names: []string{name, to}, Folders: []string{dirOf(file)}, Reach: dirOf(file), types: true}
	if text, err := files.Read(file); err == nil && isMethod(text, at) {
		q.Reach = "" // whoever has an interface with it need not know its type
	}
	before, err := Load(ctx, o, files, q)
	if err != nil {
		return nil, nil, err
	}
	defer before.Close()
	targets, err := before.linked(file, at, name)
	if err != nil {
		return nil, nil, err
	}
	found := before.places(name, targets)
	if len(found.Unresolved) > 0 {
		return nil, nil, refuse("it cannot be told what %s stands for at these places, which are not built here or lack what they import", name).at(found.Unresolved)
	}
	if err := before.named(name, targets); err != nil {
		return nil, nil, err
	}
	edits := map[string][]Ref{}
	for _, r := range found.Refs {
		edits[r.Path] = append(edits[r.Path], r)
	}
	out := map[string][]byte{}
	for n, refs := range edits {
		out[n] = replaced(before.text(n), refs, to)
	}
	q.types = false
	after, err := Load(ctx, o, files.with(out), q)
	if err != nil {
		return nil, nil, err
	}
	defer after.Close()
	if faults := after.newlyWrong(before, name, to); len(faults) > 0 {
		return nil, nil, &Refused{Why: "the code would not compile any more", Places: faults}
	}
	if err := before.same(after, name, to); err != nil {
		return nil, nil, err
	}
	return out, found.Refs, nil
}

// replaced puts a name in the place of others, which stand in order.
func replaced(text []byte, refs []Ref, to string) []byte {
	var b []byte
	at := 0
	for _, r := range refs {
		b = append(append(b, text[at:r.Start]...), to...)
		at = r.End
	}
	return append(b, text[at:]...)
}

// isMethod tells whether what stands at a byte is the name of a method.
func isMethod(text []byte, at int) (is bool) {
	set := token.NewFileSet()
	f, _ := parser.ParseFile(set, "", text, parser.SkipObjectResolution)
	if f == nil {
		return false
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			is = is || n.Recv != nil && set.Position(n.Name.Pos()).Offset == at
		case *ast.InterfaceType:
			for _, m := range n.Methods.List {
				is = is || len(m.Names) == 1 && set.Position(m.Names[0].Pos()).Offset == at
			}
		}
		return !is
	})
	return is
}

// newlyWrong are the faults that a renaming brings. A fault that names the symbol reads
// otherwise afterwards; a fault in a file that was not looked at before is none of it.
func (p *Program) newlyWrong(before *Program, name, to string) (out []string) {
	seen, files := map[string]int{}, before.looked()
	word := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
	for _, f := range before.Faults() {
		seen[f.Path+"\x00"+word.ReplaceAllString(f.What, to)]++
	}
	for _, f := range p.Faults() {
		key := f.Path + "\x00" + word.ReplaceAllString(f.What, to)
		if _, looked := slices.BinarySearch(files, f.Path); !looked {
			continue
		}
		if seen[key] > 0 {
			seen[key]--
		} else if len(out) < maxPlaces {
			out = append(out, f.String())
		}
	}
	return out
}

// same tells whether each name of the files that were looked at stands for what it did. Of
// others than the two no meaning can change.
func (p *Program) same(after *Program, name, to string) error {
	for _, file := range p.looked() {
		if !p.src.mention[file] {
			continue
		}
		a, b := p.identsOf(file), after.identsOf(file)
		if len(a) != len(b) {
			return refuse("%s reads otherwise afterwards", file)
		}
		for i := range a {
			if n := a[i].Name; n != name && n != to {
				continue
			}
			if was, now := p.meaning(file, a[i]), after.meaning(file, b[i]); was != now {
				return &Refused{Why: fmt.Sprintf("%s would stand for something else in place of %s", to, name), Places: []string{fmt.Sprintf("%s:%d", file, p.set.Position(a[i].Pos()).Line)}}
			}
		}
	}
	return nil
}

// identsOf are the identifiers of a file in the order of the text.
func (p *Program) identsOf(file string) []*ast.Ident {
	if list, ok := p.listed[file]; ok {
		return list
	}
	var out []*ast.Ident
	if f := p.parsed[file]; f != nil {
		ast.Inspect(f, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				out = append(out, id)
			}
			return true
		})
	}
	slices.SortFunc(out, func(a, b *ast.Ident) int { return int(a.Pos() - b.Pos()) })
	if p.listed == nil {
		p.listed = map[string][]*ast.Ident{}
	}
	p.listed[file] = out
	return out
}

// meaning is what an identifier stands for, in words that two states of a checkout share.
func (p *Program) meaning(file string, id *ast.Ident) string {
	objs, ok := p.object(file, id)
	if !ok {
		return "unknown"
	}
	var parts []string
	for _, o := range objs {
		if at := p.set.Position(o.Pos()).Filename; p.parsed[at] != nil {
			list := p.identsOf(at)
			i, _ := slices.BinarySearchFunc(list, o.Pos(), func(id *ast.Ident, pos token.Pos) int { return int(id.Pos() - pos) })
			parts = append(parts, fmt.Sprintf("%s#%d", at, i))
			continue
		}
		pkg := ""
		if o.Pkg() != nil {
			pkg = o.Pkg().Path()
		}
		parts = append(parts, pkg+"."+o.Name())
	}
	slices.Sort(parts)
	return strings.Join(slices.Compact(parts), " ")
}

// linked are the definitions that have to be renamed together: fields that a type gives its
// name to, and for a method those of the interfaces that its type fulfils, and of the other
// types that fulfil them.
func (p *Program) linked(file string, at int, name string) (map[token.Pos]bool, error) {
	id := p.identAt(file, at, name)
	if id == nil {
		return nil, ErrNotFound
	}
	objs, _ := p.object(file, id)
	if len(objs) == 0 {
		return nil, ErrNotFound
	}
	targets := map[token.Pos]bool{id.Pos(): true}
	p.embedded(name, targets)
	f, ok := objs[0].(*types.Func)
	if !ok || f.Signature().Recv() == nil {
		return targets, nil
	}
	ours, theirs := p.interfaces(name)
	concrete := append(p.receivers(name), ours...)
	for before := 0; before != len(targets); {
		before = len(targets)
		for _, t := range concrete {
			m := methodOf(t, name)
			if m == nil {
				continue
			}
			for _, i := range ours {
				im := methodOf(i, name)
				if im == nil || !targets[m.Pos()] && !targets[im.Pos()] || !fulfils(t, i) {
					continue
				}
				targets[m.Pos()], targets[im.Pos()] = true, true
			}
			if !targets[m.Pos()] {
				continue
			}
			for _, i := range theirs {
				if fulfils(t, i) {
					return nil, refuse("%s has %s because of %s, which is not of this repository", types.TypeString(t, (*types.Package).Name), name, types.TypeString(i, nil))
				}
			}
		}
	}
	for pos := range targets {
		if !pos.IsValid() || p.set.Position(pos).Filename == "" || p.src.known[p.set.Position(pos).Filename] == nil {
			return nil, refuse("%s is also a method of a type that is not of this repository", name)
		}
	}
	return targets, nil
}

// interfaces are the interfaces with a method of that name: of the checkout, and of what it
// imports.
func (p *Program) interfaces(name string) (ours, theirs []types.Type) {
	seen := map[*types.Package]bool{}
	var outside func(pkgs []*types.Package)
	outside = func(pkgs []*types.Package) {
		for _, pkg := range pkgs {
			if seen[pkg] {
				continue
			}
			seen[pkg] = true
			for _, n := range pkg.Scope().Names() {
				if t, ok := pkg.Scope().Lookup(n).(*types.TypeName); ok && types.IsInterface(t.Type()) && methodOf(t.Type(), name) != nil {
					theirs = append(theirs, t.Type())
				}
			}
			outside(pkg.Imports())
		}
	}
	for _, u := range p.checked {
		seen[u.pkg] = true
	}
	for _, pkg := range p.bases {
		seen[pkg] = true
	}
	for _, u := range p.checked {
		for _, o := range u.info.Defs {
			if t, ok := o.(*types.TypeName); ok && types.IsInterface(t.Type()) && methodOf(t.Type(), name) != nil {
				ours = append(ours, t.Type())
			}
		}
		for e, tv := range u.info.Types {
			if _, ok := e.(*ast.InterfaceType); ok && methodOf(tv.Type, name) != nil {
				ours = append(ours, tv.Type)
			}
		}
		outside(u.pkg.Imports())
	}
	return ours, theirs
}

// receivers are the types of the checkout that have a method of that name.
func (p *Program) receivers(name string) (out []types.Type) {
	for _, u := range p.checked {
		for _, o := range u.info.Defs {
			if t, ok := o.(*types.TypeName); ok && !types.IsInterface(t.Type()) && methodOf(t.Type(), name) != nil {
				out = append(out, t.Type())
			}
		}
	}
	return out
}

func methodOf(t types.Type, name string) *types.Func {
	if t == nil {
		return nil
	}
	var pkg *types.Package
	if n, ok := types.Unalias(t).(*types.Named); ok {
		pkg = n.Obj().Pkg()
	}
	o, _, _ := types.LookupFieldOrMethod(t, true, pkg, name)
	if f, ok := o.(*types.Func); ok {
		return f.Origin()
	}
	return nil
}

// fulfils tells whether a type, or the pointer to it, has the methods of an interface. Of
// generic ones the name of the method is enough: which instances there are is not told. Two
// states of one package, with and without its tests, are the same: so their methods are
// compared by names where the types differ.
func fulfils(t, i types.Type) bool {
	in, ok := i.Underlying().(*types.Interface)
	if !ok {
		return false
	}
	if generic(t) || generic(i) || types.Implements(t, in) || types.Implements(types.NewPointer(t), in) {
		return true
	}
	for m := range in.Methods() {
		mine := methodOf(t, m.Name())
		if mine == nil || types.TypeString(mine.Signature(), nil) != types.TypeString(m.Signature(), nil) {
			return false
		}
	}
	return in.NumMethods() > 0
}

func generic(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.TypeParams().Len() > 0
}

// byName are methods that the standard library calls where a value has them, whatever it is.
var byName = map[string]bool{
	"String": true, "Error": true, "GoString": true, "Format": true, "Unwrap": true, "Is": true, "As": true, "Timeout": true, "Temporary": true,
	"MarshalJSON": true, "UnmarshalJSON": true, "MarshalText": true, "UnmarshalText": true, "MarshalBinary": true, "UnmarshalBinary": true,
	"GobEncode": true, "GobDecode": true, "MarshalXML": true, "UnmarshalXML": true, "MarshalYAML": true, "UnmarshalYAML": true, "LogValue": true,
	"WriteTo": true, "ReadFrom": true, "WriteString": true, "Flush": true, "Hijack": true, "IsBoolFlag": true,
}

var (
	linkname = regexp.MustCompile(`(?m)^//(?:go:linkname|export)\s.*`)
	encoders = regexp.MustCompile(`(?i)(?:^encoding/|json|yaml|toml|xml|bson|msgpack|template|mapstructure|/sql|cbor|proto)`)
)

// named refuses where a definition is reached by its name and not by a reference.
func (p *Program) named(name string, targets map[token.Pos]bool) error {
	for _, u := range p.checked {
		for id, o := range u.info.Defs {
			if o == nil || !targets[id.Pos()] || !u.full {
				continue
			}
			switch o := o.(type) {
			case *types.Func:
				if o.Signature().Recv() != nil && byName[name] {
					return refuse("the standard library calls a method %s of any value that has one", name)
				}
			case *types.Var:
				if o.IsField() && !o.Embedded() && o.Exported() && !tagged(p.parsed[p.set.Position(id.Pos()).Filename], id) && encodes(p.checked) {
					return refuse("the exported field %s has no tag, and the program encodes values or fills templates: its name may be read at run time", name)
				}
			}
		}
	}
	word := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
	for _, file := range p.looked() {
		for _, line := range linkname.FindAll(p.text(file), -1) {
			if word.Match(line) {
				return refuse("%s names it in %q", file, line)
			}
		}
		if ast.IsExported(name) && dotted(p.parsed[file], name) {
			return refuse("%s has it behind a dot in a string, as templates do", file)
		}
	}
	return nil
}

// dotted tells whether a string of a file has a name behind a dot.
func dotted(f *ast.File, name string) (found bool) {
	re := regexp.MustCompile(`\{\{[^}]*\.` + regexp.QuoteMeta(name) + `\b`)
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && re.MatchString(lit.Value) {
			found = true
		}
		return !found
	})
	return found
}

// tagged tells whether a field has a tag.
func tagged(f *ast.File, id *ast.Ident) (tagged bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if f, ok := n.(*ast.Field); ok && slices.Contains(f.Names, id) {
			tagged = f.Tag != nil
		}
		return true
	})
	return tagged
}

// encodes tells whether a package that was looked at imports what reads fields by name.
func encodes(units []unit) bool {
	for _, u := range units {
		for _, i := range u.pkg.Imports() {
			if u.full && encoders.MatchString(i.Path()) {
				return true
			}
		}
	}
	return false
}
