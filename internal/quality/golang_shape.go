package quality

import (
	"fmt"
	"go/ast"
	"go/token"
)

// goShapes are the sizes of a file's functions.
func goShapes(set *token.FileSet, file *ast.File) (out []shape) {
	for _, d := range file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		s := shape{name: fn.Name.Name, from: set.Position(fn.Pos()).Line, to: set.Position(fn.End()).Line}
		if fn.Recv != nil && len(fn.Recv.List) > 0 {
			s.name = receiver(fn.Recv.List[0].Type) + "." + s.name
		}
		s.measure(fn.Body, 0)
		out = append(out, s)
	}
	return out
}

func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// measure counts decisions, and how deep they are in each other. An else if stands beside
// its if.
func (s *shape) measure(n ast.Node, depth int) {
	s.nesting = max(s.nesting, depth)
	ast.Inspect(n, func(m ast.Node) bool {
		if m == nil || m == n {
			return true
		}
		switch m := m.(type) {
		case *ast.BinaryExpr:
			if m.Op == token.LAND || m.Op == token.LOR {
				s.branches++
			}
		case *ast.IfStmt:
			s.branches++
			s.measure(m.Cond, depth)
			s.measure(m.Body, depth+1)
			for e := m.Else; e != nil; {
				next, chained := e.(*ast.IfStmt)
				if !chained {
					s.measure(e, depth+1)
					break
				}
				s.branches++
				s.measure(next.Cond, depth)
				s.measure(next.Body, depth+1)
				e = next.Else
			}
			return false
		default:
			if body := blockOf(m); body != nil {
				s.branches++
				s.measure(body, depth+1)
				return false
			}
		}
		return true
	})
}

// blockOf is what a loop, a switch or a select holds; nil of anything else.
func blockOf(n ast.Node) *ast.BlockStmt {
	switch n := n.(type) {
	case *ast.ForStmt:
		return n.Body
	case *ast.RangeStmt:
		return n.Body
	case *ast.SwitchStmt:
		return n.Body
	case *ast.TypeSwitchStmt:
		return n.Body
	case *ast.SelectStmt:
		return n.Body
	}
	return nil
}

// docs tells of exports without a word on them, in a package that others import, where the
// file has them documented otherwise.
func (s *goSource) docs() {
	if s.file.Name.Name == "main" {
		return
	}
	var missing []*ast.Ident
	said := 0
	note := func(name *ast.Ident, doc *ast.CommentGroup) {
		switch {
		case !name.IsExported():
		case doc != nil:
			said++
		default:
			missing = append(missing, name)
		}
	}
	for _, d := range s.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil || ast.IsExported(receiver(d.Recv.List[0].Type)) && !wellKnown[d.Name.Name] {
				note(d.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, sp := range d.Specs {
				if t, ok := sp.(*ast.TypeSpec); ok {
					doc := t.Doc
					if doc == nil {
						doc = d.Doc
					}
					note(t.Name, doc)
				}
			}
		}
	}
	if len(missing) > said {
		return // it is not done here
	}
	for _, name := range missing {
		s.tell(s.line(name), rule{undocumented.name, undocumented.severity, undocumented.of, fmt.Sprintf("%s is exported, and no comment says what it is", name.Name)})
	}
}

// wellKnown are methods whose interface says what they do.
var wellKnown = map[string]bool{
	"String": true, "Error": true, "Close": true, "Read": true, "Write": true, "Len": true, "Less": true, "Swap": true, "Unwrap": true,
	"MarshalJSON": true, "UnmarshalJSON": true, "MarshalText": true, "UnmarshalText": true, "ServeHTTP": true, "Is": true, "As": true,
	"Next": true, "Scan": true, "Value": true, "Format": true, "Name": true,
}
