package symbols

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"

	"agency/internal/code"
)

// readGo reads a file of Go. Behind a first error the parser sees little more.
func (f *File) readGo(src []byte) error {
	if len(src) > code.MaxSize {
		return code.ErrTooLarge
	}
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, f.Path, src, parser.ParseComments|parser.SkipObjectResolution|parser.AllErrors)
	if err != nil {
		f.Fault = &Fault{Line: 1, Column: 1, What: short(err.Error(), 200)}
		if list := scanner.ErrorList(nil); errors.As(err, &list) && len(list) > 0 {
			f.Fault = &Fault{Line: list[0].Pos.Line, Column: list[0].Pos.Column, What: list[0].Msg}
		}
	}
	if tree == nil || tree.Package == token.NoPos {
		return nil
	}
	g := &goReader{file: f, src: src, pos: set.File(tree.Package), roles: map[*ast.Ident]Role{}}
	for _, d := range tree.Decls {
		g.decl(d)
	}
	ast.Inspect(tree, g.name)
	return nil
}

type goReader struct {
	file  *File
	src   []byte
	pos   *token.File
	roles map[*ast.Ident]Role
}

func (g *goReader) at(p token.Pos) int { return min(g.pos.Offset(p), len(g.src)) }

func (g *goReader) add(id *ast.Ident, kind Kind, in string, n ast.Node, body token.Pos) {
	if id == nil || id.Name == "_" {
		return
	}
	g.roles[id] = Defines
	d := Definition{Name: id.Name, Container: in, Kind: kind, Start: g.at(n.Pos()), End: g.at(n.End()), NameStart: g.at(id.Pos())}
	d.Head = d.Start
	at := d.Start
	if body.IsValid() {
		at = g.at(body)
	}
	d.Line, d.EndLine = g.file.Line(d.Start), g.file.Line(max(d.Start, d.End-1))
	d.Signature = signature(g.src, d.Start, at, d.End)
	g.file.Definitions = append(g.file.Definitions, d)
}

func (g *goReader) decl(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		kind, in, body := Function, "", token.NoPos
		if d.Recv != nil && len(d.Recv.List) > 0 {
			kind, in = Method, code.Receiver(d.Recv.List[0].Type)
		}
		if d.Body != nil {
			body = d.Body.Lbrace
		}
		g.add(d.Name, kind, in, d, body)
	case *ast.GenDecl:
		for _, s := range d.Specs {
			var whole ast.Node = s
			if !d.Lparen.IsValid() {
				whole = d // with its keyword
			}
			switch s := s.(type) {
			case *ast.TypeSpec:
				g.typeSpec(s, whole)
			case *ast.ValueSpec:
				kind := Variable
				if d.Tok == token.CONST {
					kind = Constant
				}
				for _, id := range s.Names {
					g.add(id, kind, "", whole, token.NoPos)
				}
			}
		}
	}
}

func (g *goReader) typeSpec(s *ast.TypeSpec, whole ast.Node) {
	switch t := s.Type.(type) {
	case *ast.StructType:
		g.add(s.Name, Class, "", whole, t.Fields.Opening)
		g.members(s.Name.Name, t.Fields, Field)
	case *ast.InterfaceType:
		g.add(s.Name, Interface, "", whole, t.Methods.Opening)
		g.members(s.Name.Name, t.Methods, Method)
	default:
		g.add(s.Name, Type, "", whole, token.NoPos)
	}
}

func (g *goReader) members(in string, list *ast.FieldList, kind Kind) {
	for _, m := range list.List {
		for _, id := range m.Names {
			g.add(id, kind, in, m, token.NoPos)
		}
	}
}

// name notes an identifier, with what is known of it from around it: Inspect comes from the
// outer to the inner.
func (g *goReader) name(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		g.roles[n.Sel] = Member
	case *ast.KeyValueExpr:
		if id, ok := n.Key.(*ast.Ident); ok {
			g.roles[id] = Member
		}
	case *ast.Field:
		for _, id := range n.Names {
			if g.roles[id] != Defines {
				g.roles[id] = Binds
			}
		}
	case *ast.AssignStmt:
		for _, e := range n.Lhs {
			if id, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
				g.roles[id] = Binds
			}
		}
	case *ast.Ident:
		if n.Name == "_" {
			return true
		}
		at := g.at(n.Pos())
		g.file.Names = append(g.file.Names, Name{Text: n.Name, Start: at, End: at + len(n.Name), Line: g.file.Line(at), Role: g.roles[n]})
	}
	return true
}
