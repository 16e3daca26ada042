package gotypes

import (
	"bytes"
	"cmp"
	"errors"
	"go/ast"
	"go/scanner"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// Ref is a place at which a name stands.
type Ref struct {
	Path       string
	Start, End int // bytes
	Line       int
	Defines    bool
}

// Found are the places of one definition.
type Found struct {
	Refs []Ref
	// Unresolved are places of the same name of which nothing is known: they may be others.
	Unresolved []Ref
	// Object is what was asked for.
	Object types.Object
}

// ErrNotFound is that of a place where no definition of the name is.
var ErrNotFound = errors.New("nothing of that name is defined there")

// References finds what stands for the definition whose name begins at a byte of a file.
func (p *Program) References(file string, at int, name string) (Found, error) {
	id := p.identAt(file, at, name)
	if id == nil {
		return Found{}, ErrNotFound
	}
	objs, _ := p.object(file, id)
	if len(objs) == 0 {
		return Found{}, ErrNotFound
	}
	targets := map[token.Pos]bool{id.Pos(): true}
	p.embedded(name, targets)
	found := p.places(name, targets)
	found.Object = objs[0]
	return found, nil
}

func (p *Program) identAt(file string, at int, name string) (out *ast.Ident) {
	f := p.parsed[file]
	if f == nil {
		return nil
	}
	tf := p.set.File(f.FileStart)
	if at < 0 || at >= tf.Size() {
		return nil
	}
	want := tf.Pos(at)
	ast.Inspect(f, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Pos() == want && id.Name == name {
			out = id
		}
		return out == nil
	})
	return out
}

// idents tells of each identifier of that name in the files whose functions were checked.
func (p *Program) idents(name string, visit func(file string, id *ast.Ident)) {
	for _, file := range p.looked() {
		f := p.parsed[file]
		if f == nil || !p.src.mention[file] {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Name == name && id != f.Name {
				visit(file, id)
			}
			return true
		})
	}
}

// embedded adds the fields that a type gives its name to by standing in a struct.
func (p *Program) embedded(name string, targets map[token.Pos]bool) {
	p.idents(name, func(file string, id *ast.Ident) {
		objs, _ := p.object(file, id)
		if slices.ContainsFunc(objs, func(o types.Object) bool { return targets[o.Pos()] }) {
			for _, o := range objs {
				if v, ok := o.(*types.Var); ok && v.Embedded() {
					targets[o.Pos()] = true
				}
			}
		}
	})
}

func (p *Program) places(name string, targets map[token.Pos]bool) (out Found) {
	p.idents(name, func(file string, id *ast.Ident) {
		pos := p.set.Position(id.Pos())
		ref := Ref{file, pos.Offset, pos.Offset + len(name), pos.Line, targets[id.Pos()]}
		objs, known := p.object(file, id)
		switch {
		case slices.ContainsFunc(objs, func(o types.Object) bool { return targets[o.Pos()] }):
			out.Refs = append(out.Refs, ref)
		case !known:
			out.Unresolved = append(out.Unresolved, ref)
		}
	})
	out.Unresolved = append(out.Unresolved, p.elsewhere(name, targets)...)
	return out
}

// elsewhere are places of the name in files that this platform does not build.
func (p *Program) elsewhere(name string, targets map[token.Pos]bool) (out []Ref) {
	dirs := map[string]bool{}
	for pos := range targets {
		if f := p.set.Position(pos).Filename; f != "" {
			dirs[dirOf(f)] = true
		}
	}
	for dir, f := range p.src.folders {
		for _, file := range f.others {
			if p.src.mention[file] && (ast.IsExported(name) || dirs[dir]) {
				out = append(out, identifiers(file, p.text(file), name)...)
			}
		}
	}
	slices.SortFunc(out, func(a, b Ref) int { return cmp.Or(strings.Compare(a.Path, b.Path), a.Start-b.Start) })
	return out
}

// identifiers are the places of a name among the tokens of a file.
func identifiers(file string, text []byte, name string) (out []Ref) {
	set := token.NewFileSet()
	tf := set.AddFile(file, -1, len(text))
	var s scanner.Scanner
	s.Init(tf, text, nil, 0)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return out
		}
		if tok == token.IDENT && lit == name {
			at := tf.Offset(pos)
			out = append(out, Ref{file, at, at + len(name), 1 + bytes.Count(text[:at], []byte("\n")), false})
		}
	}
}

func dirOf(file string) string {
	if i := strings.LastIndexByte(file, '/'); i >= 0 {
		return file[:i]
	}
	return "."
}
