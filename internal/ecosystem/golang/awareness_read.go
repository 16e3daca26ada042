package golang

import (
	"cmp"
	"go/ast"
	"go/token"
	"path"
	"strconv"
	"strings"

	"agency/internal/awareness/dataflow"
)

// formReader reads a file of Go into the common form.
type formReader struct {
	set  *token.FileSet
	file *ast.File
	// imports are the paths by the names that the file has for them; dots those
	// whose names it uses as its own.
	imports map[string]string
	dots    []string
	own     map[string]bool // names that the file declares at its top
}

func newFormReader(set *token.FileSet, file *ast.File) *formReader {
	r := &formReader{set: set, file: file, imports: map[string]string{}, own: map[string]bool{}}
	for _, i := range file.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		switch {
		case err != nil:
		case i.Name == nil:
			name := path.Base(p)
			if len(name) > 1 && name[0] == 'v' && strings.Trim(name[1:], "0123456789") == "" {
				name = path.Base(path.Dir(p))
			}
			r.imports[name] = p
		case i.Name.Name == ".":
			r.dots = append(r.dots, p)
		default:
			r.imports[i.Name.Name] = p
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				r.own[d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok {
					for _, n := range v.Names {
						r.own[n.Name] = true
					}
				}
			}
		}
	}
	return r
}

// name is what an expression names, with the path of its package: "os.Args"; ""
// where it is none of another package.
func (r *formReader) name(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.SelectorExpr:
		if id, ok := x.X.(*ast.Ident); ok && r.imports[id.Name] != "" {
			return r.imports[id.Name] + "." + x.Sel.Name
		}
	case *ast.Ident:
		if !r.own[x.Name] && ast.IsExported(x.Name) && len(r.dots) > 0 {
			return r.dots[0] + "." + x.Name
		}
	case *ast.ParenExpr:
		return r.name(x.X)
	}
	return ""
}

func (r *formReader) line(n ast.Node) int { return r.set.Position(n.Pos()).Line }

// read is the file in the common form; its unit is its folder.
func (r *formReader) read(src dataflow.Source) *dataflow.File {
	f := &dataflow.File{Path: src.Path, Test: src.Test, Unit: path.Base(path.Dir(src.Path)), Program: r.file.Name.Name == "main", Text: string(src.Text), Bare: map[string]bool{}}
	vars := &dataflow.Func{Body: &dataflow.Node{Op: dataflow.OpBlock}}
	for _, d := range r.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body == nil {
				continue
			}
			fn := r.function(d.Type, d.Body)
			fn.Name, fn.Line, fn.Entry = d.Name.Name, r.line(d), f.Program && d.Name.Name == "main"
			if d.Recv != nil {
				fn.Owner = cmp.Or(ownerOf(d), d.Name.Name)
				if l := d.Recv.List; len(l) > 0 && len(l[0].Names) > 0 {
					fn.Receiver = l[0].Names[0].Name
				}
			}
			f.Funcs = append(f.Funcs, fn)
		case *ast.GenDecl:
			vars.Body.Kids = append(vars.Body.Kids, r.decl(d))
			for _, s := range d.Specs {
				if t, ok := s.(*ast.TypeSpec); ok {
					if st, ok := t.Type.(*ast.StructType); ok && st.Fields.NumFields() == 0 {
						f.Bare[t.Name.Name] = true
					}
				}
			}
		}
	}
	f.Funcs = append(f.Funcs, vars)
	return f
}

// ownerOf is the type that a method is of, where that has no parameters; "" of others.
func ownerOf(d *ast.FuncDecl) string {
	if d.Recv != nil && len(d.Recv.List) > 0 {
		t := d.Recv.List[0].Type
		if star, ok := t.(*ast.StarExpr); ok {
			t = star.X
		}
		if id, ok := t.(*ast.Ident); ok {
			return id.Name
		}
	}
	return ""
}

func (r *formReader) function(t *ast.FuncType, body *ast.BlockStmt) *dataflow.Func {
	fn := &dataflow.Func{Line: r.line(body), Body: r.stmts(body, body.List)}
	for _, p := range t.Params.List {
		typ := r.typ(p.Type)
		if len(p.Names) == 0 {
			fn.Params = append(fn.Params, dataflow.Param{Name: "_", Type: typ})
		}
		for _, n := range p.Names {
			fn.Params = append(fn.Params, dataflow.Param{Name: n.Name, Type: typ})
		}
	}
	if t.Results != nil {
		for _, p := range t.Results.List {
			for range max(1, len(p.Names)) {
				fn.Results = append(fn.Results, r.typ(p.Type))
			}
		}
	}
	return fn
}

// typ is a type as it is written.
func (r *formReader) typ(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.StarExpr:
		return "*" + r.typ(x.X)
	case *ast.ArrayType:
		return "[]" + r.typ(x.Elt)
	case *ast.Ellipsis:
		return "[]" + r.typ(x.Elt)
	case *ast.SelectorExpr:
		return r.name(x)
	}
	return "?"
}

func (r *formReader) node(op dataflow.Op, n ast.Node, kids ...*dataflow.Node) *dataflow.Node {
	return &dataflow.Node{Op: op, Line: r.line(n), Kids: kids}
}

func (r *formReader) exprs(xs []ast.Expr) (out []*dataflow.Node) {
	for _, x := range xs {
		out = append(out, r.expr(x))
	}
	return out
}

func (r *formReader) expr(x ast.Expr) *dataflow.Node {
	if x == nil {
		return &dataflow.Node{}
	}
	s := r.node(dataflow.OpOther, x)
	switch x := x.(type) {
	case *ast.Ident:
		s.Op, s.Text = dataflow.OpName, x.Name
		if n := r.name(x); n != "" {
			s.Text = n
		}
	case *ast.BasicLit:
		s.Op, s.Text, s.IsText = dataflow.OpLit, x.Value, x.Kind == token.STRING
		if t, err := strconv.Unquote(x.Value); err == nil && s.IsText {
			s.Text = t
		}
	case *ast.ParenExpr:
		return r.expr(x.X)
	case *ast.SelectorExpr:
		if n := r.name(x); n != "" {
			s.Op, s.Text = dataflow.OpName, n
			break
		}
		s.Op, s.Text, s.Kids = dataflow.OpMember, x.Sel.Name, []*dataflow.Node{r.expr(x.X)}
	case *ast.CallExpr:
		s.Op, s.Kids = dataflow.OpCall, append([]*dataflow.Node{r.expr(x.Fun)}, r.exprs(x.Args)...)
	case *ast.IndexExpr:
		s.Op, s.Kids = dataflow.OpIndex, []*dataflow.Node{r.expr(x.X), r.expr(x.Index)}
	case *ast.SliceExpr:
		s.Kids = []*dataflow.Node{r.expr(x.X)}
		for _, i := range []ast.Expr{x.Low, x.High, x.Max} {
			if i != nil {
				s.Kids = append(s.Kids, r.expr(i))
			}
		}
	case *ast.BinaryExpr:
		s.Op, s.Text, s.Kids = dataflow.OpBinary, x.Op.String(), []*dataflow.Node{r.expr(x.X), r.expr(x.Y)}
	case *ast.UnaryExpr:
		s.Kids = []*dataflow.Node{r.expr(x.X)}
		if x.Op == token.NOT {
			s.Op = dataflow.OpNot
		}
	case *ast.StarExpr:
		return r.expr(x.X)
	case *ast.FuncLit:
		s.Op, s.Func = dataflow.OpFunc, r.function(x.Type, x.Body)
	case *ast.CompositeLit:
		s.Text = "{}"
		for _, e := range x.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				if _, field := kv.Key.(*ast.Ident); !field {
					s.Kids = append(s.Kids, r.expr(kv.Key))
				}
				e = kv.Value
			}
			s.Kids = append(s.Kids, r.expr(e))
		}
	case *ast.TypeAssertExpr:
		s.Text, s.Kids = "instanceof", []*dataflow.Node{r.expr(x.X)}
	}
	return s
}

func (r *formReader) stmts(at ast.Node, list []ast.Stmt) *dataflow.Node {
	b := r.node(dataflow.OpBlock, at)
	for _, st := range list {
		if s := r.stmt(st); s != nil {
			b.Kids = append(b.Kids, s)
		}
	}
	return b
}

// before puts a statement of a head in front of what it is the head of.
func (r *formReader) before(init ast.Stmt, s *dataflow.Node) *dataflow.Node {
	if init == nil {
		return s
	}
	return &dataflow.Node{Op: dataflow.OpBlock, Line: s.Line, Kids: []*dataflow.Node{r.stmt(init), s}}
}

func (r *formReader) assign(n ast.Node, lhs, rhs []ast.Expr, text string) *dataflow.Node {
	s := r.node(dataflow.OpAssign, n, append(r.exprs(lhs), r.exprs(rhs)...)...)
	s.Text, s.LHS = text, len(lhs)
	return s
}

func (r *formReader) decl(d *ast.GenDecl) *dataflow.Node {
	b := r.node(dataflow.OpBlock, d)
	for _, s := range d.Specs {
		if v, ok := s.(*ast.ValueSpec); ok && len(v.Values) > 0 {
			var names []ast.Expr
			for _, n := range v.Names {
				names = append(names, n)
			}
			b.Kids = append(b.Kids, r.assign(v, names, v.Values, "="))
		}
	}
	return b
}

func (r *formReader) stmt(st ast.Stmt) *dataflow.Node {
	switch st := st.(type) {
	case nil, *ast.EmptyStmt:
		return nil
	case *ast.ExprStmt:
		return r.expr(st.X)
	case *ast.AssignStmt:
		return r.assign(st, st.Lhs, st.Rhs, st.Tok.String())
	case *ast.DeclStmt:
		if d, ok := st.Decl.(*ast.GenDecl); ok {
			return r.decl(d)
		}
		return nil
	case *ast.ReturnStmt:
		return r.node(dataflow.OpReturn, st, r.exprs(st.Results)...)
	case *ast.BranchStmt:
		return r.node(dataflow.OpJump, st)
	case *ast.BlockStmt:
		return r.stmts(st, st.List)
	case *ast.IfStmt:
		s := r.node(dataflow.OpIf, st, r.expr(st.Cond), r.stmts(st.Body, st.Body.List))
		if e := r.stmt(st.Else); e != nil {
			s.Kids = append(s.Kids, e)
		}
		return r.before(st.Init, s)
	case *ast.ForStmt:
		body := r.stmts(st.Body, st.Body.List)
		if p := r.stmt(st.Post); p != nil {
			body = &dataflow.Node{Op: dataflow.OpBlock, Line: body.Line, Kids: append([]*dataflow.Node{p}, body.Kids...)}
		}
		return r.before(st.Init, r.node(dataflow.OpLoop, st, r.expr(st.Cond), body))
	case *ast.RangeStmt:
		s := r.node(dataflow.OpEach, st, r.expr(st.Key), r.expr(st.Value), r.expr(st.X), r.stmts(st.Body, st.Body.List))
		s.LHS = 2
		return s
	case *ast.SwitchStmt:
		return r.before(st.Init, r.choice(st, r.expr(st.Tag), st.Body))
	case *ast.TypeSwitchStmt:
		return r.before(st.Init, r.choice(st, r.before(st.Assign, &dataflow.Node{}), st.Body))
	case *ast.SelectStmt:
		return r.choice(st, &dataflow.Node{}, st.Body)
	case *ast.LabeledStmt:
		return r.stmt(st.Stmt)
	case *ast.GoStmt:
		return r.expr(st.Call)
	case *ast.DeferStmt:
		return r.expr(st.Call)
	case *ast.IncDecStmt:
		return r.assign(st, []ast.Expr{st.X}, []ast.Expr{&ast.BasicLit{Kind: token.INT, Value: "1", ValuePos: st.Pos()}}, st.Tok.String())
	case *ast.SendStmt:
		return r.node(dataflow.OpOther, st, r.expr(st.Chan), r.expr(st.Value))
	}
	return nil
}

func (r *formReader) choice(at ast.Node, tag *dataflow.Node, body *ast.BlockStmt) *dataflow.Node {
	s := r.node(dataflow.OpSwitch, at, tag)
	for _, c := range body.List {
		one := r.node(dataflow.OpCase, c)
		switch c := c.(type) {
		case *ast.CaseClause:
			one.Kids = append(r.exprs(c.List), r.stmts(c, c.Body))
		case *ast.CommClause:
			list := c.Body
			if c.Comm != nil {
				list = append([]ast.Stmt{c.Comm}, list...)
			}
			one.Kids = []*dataflow.Node{r.stmts(c, list)}
		default:
			continue
		}
		s.Kids = append(s.Kids, one)
	}
	return s
}
