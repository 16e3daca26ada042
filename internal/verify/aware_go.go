package verify

import (
	"go/ast"
	"go/token"
	"path"
	"strconv"
	"strings"
)

// goReader reads a file of Go into the common form.
type goReader struct {
	set  *token.FileSet
	file *ast.File
	// imports are the paths by the names that the file has for them; dots those
	// whose names it uses as its own.
	imports map[string]string
	dots    []string
	own     map[string]bool // names that the file declares at its top
}

func newGoReader(set *token.FileSet, file *ast.File) *goReader {
	r := &goReader{set: set, file: file, imports: map[string]string{}, own: map[string]bool{}}
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
func (r *goReader) name(x ast.Expr) string {
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

func (r *goReader) line(n ast.Node) int { return r.set.Position(n.Pos()).Line }

// read is the file in the common form; its unit is its folder.
func (r *goReader) read(p string, src []byte) *synFile {
	f := &synFile{path: p, unit: path.Base(path.Dir(p)), program: r.file.Name.Name == "main", text: string(src), bare: map[string]bool{}}
	vars := &synFunc{body: &syn{op: opBlock}}
	for _, d := range r.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body == nil {
				continue
			}
			fn := r.function(d.Type, d.Body)
			fn.name, fn.line, fn.top = d.Name.Name, r.line(d), f.program && d.Name.Name == "main"
			if d.Recv != nil {
				fn.owner = strings.TrimSuffix(funcName(d), "."+fn.name)
				if l := d.Recv.List; len(l) > 0 && len(l[0].Names) > 0 {
					fn.hook = l[0].Names[0].Name
				}
			}
			f.funcs = append(f.funcs, fn)
		case *ast.GenDecl:
			vars.body.kids = append(vars.body.kids, r.decl(d))
			for _, s := range d.Specs {
				if t, ok := s.(*ast.TypeSpec); ok {
					if st, ok := t.Type.(*ast.StructType); ok && st.Fields.NumFields() == 0 {
						f.bare[t.Name.Name] = true
					}
				}
			}
		}
	}
	f.funcs = append(f.funcs, vars)
	return f
}

func (r *goReader) function(t *ast.FuncType, body *ast.BlockStmt) *synFunc {
	fn := &synFunc{line: r.line(body), body: r.stmts(body, body.List)}
	for _, p := range t.Params.List {
		typ := r.typ(p.Type)
		if len(p.Names) == 0 {
			fn.params = append(fn.params, synParam{"_", typ})
		}
		for _, n := range p.Names {
			fn.params = append(fn.params, synParam{n.Name, typ})
		}
	}
	if t.Results != nil {
		for _, p := range t.Results.List {
			for range max(1, len(p.Names)) {
				fn.results = append(fn.results, r.typ(p.Type))
			}
		}
	}
	return fn
}

// typ is a type as it is written.
func (r *goReader) typ(x ast.Expr) string {
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

func (r *goReader) node(op synOp, n ast.Node, kids ...*syn) *syn {
	return &syn{op: op, line: r.line(n), kids: kids}
}

func (r *goReader) exprs(xs []ast.Expr) (out []*syn) {
	for _, x := range xs {
		out = append(out, r.expr(x))
	}
	return out
}

func (r *goReader) expr(x ast.Expr) *syn {
	if x == nil {
		return &syn{}
	}
	s := r.node(opOther, x)
	switch x := x.(type) {
	case *ast.Ident:
		s.op, s.text = opName, x.Name
		if n := r.name(x); n != "" {
			s.text = n
		}
	case *ast.BasicLit:
		s.op, s.text, s.str = opLit, x.Value, x.Kind == token.STRING
		if t, err := strconv.Unquote(x.Value); err == nil && s.str {
			s.text = t
		}
	case *ast.ParenExpr:
		return r.expr(x.X)
	case *ast.SelectorExpr:
		if n := r.name(x); n != "" {
			s.op, s.text = opName, n
			break
		}
		s.op, s.text, s.kids = opMember, x.Sel.Name, []*syn{r.expr(x.X)}
	case *ast.CallExpr:
		s.op, s.kids = opCall, append([]*syn{r.expr(x.Fun)}, r.exprs(x.Args)...)
	case *ast.IndexExpr:
		s.op, s.kids = opIndex, []*syn{r.expr(x.X), r.expr(x.Index)}
	case *ast.SliceExpr:
		s.kids = []*syn{r.expr(x.X)}
		for _, i := range []ast.Expr{x.Low, x.High, x.Max} {
			if i != nil {
				s.kids = append(s.kids, r.expr(i))
			}
		}
	case *ast.BinaryExpr:
		s.op, s.text, s.kids = opBinary, x.Op.String(), []*syn{r.expr(x.X), r.expr(x.Y)}
	case *ast.UnaryExpr:
		s.kids = []*syn{r.expr(x.X)}
		if x.Op == token.NOT {
			s.op = opNot
		}
	case *ast.StarExpr:
		return r.expr(x.X)
	case *ast.FuncLit:
		s.op, s.fn = opFunc, r.function(x.Type, x.Body)
	case *ast.CompositeLit:
		s.text = "{}"
		for _, e := range x.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				if _, field := kv.Key.(*ast.Ident); !field {
					s.kids = append(s.kids, r.expr(kv.Key))
				}
				e = kv.Value
			}
			s.kids = append(s.kids, r.expr(e))
		}
	case *ast.TypeAssertExpr:
		s.text, s.kids = "instanceof", []*syn{r.expr(x.X)}
	}
	return s
}

func (r *goReader) stmts(at ast.Node, list []ast.Stmt) *syn {
	b := r.node(opBlock, at)
	for _, st := range list {
		if s := r.stmt(st); s != nil {
			b.kids = append(b.kids, s)
		}
	}
	return b
}

// before puts a statement of a head in front of what it is the head of.
func (r *goReader) before(init ast.Stmt, s *syn) *syn {
	if init == nil {
		return s
	}
	return &syn{op: opBlock, line: s.line, kids: []*syn{r.stmt(init), s}}
}

func (r *goReader) assign(n ast.Node, lhs, rhs []ast.Expr, text string) *syn {
	s := r.node(opAssign, n, append(r.exprs(lhs), r.exprs(rhs)...)...)
	s.text, s.lhs = text, len(lhs)
	return s
}

func (r *goReader) decl(d *ast.GenDecl) *syn {
	b := r.node(opBlock, d)
	for _, s := range d.Specs {
		if v, ok := s.(*ast.ValueSpec); ok && len(v.Values) > 0 {
			var names []ast.Expr
			for _, n := range v.Names {
				names = append(names, n)
			}
			b.kids = append(b.kids, r.assign(v, names, v.Values, "="))
		}
	}
	return b
}

func (r *goReader) stmt(st ast.Stmt) *syn {
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
		return r.node(opReturn, st, r.exprs(st.Results)...)
	case *ast.BranchStmt:
		return r.node(opJump, st)
	case *ast.BlockStmt:
		return r.stmts(st, st.List)
	case *ast.IfStmt:
		s := r.node(opIf, st, r.expr(st.Cond), r.stmts(st.Body, st.Body.List))
		if e := r.stmt(st.Else); e != nil {
			s.kids = append(s.kids, e)
		}
		return r.before(st.Init, s)
	case *ast.ForStmt:
		body := r.stmts(st.Body, st.Body.List)
		if p := r.stmt(st.Post); p != nil {
			body = &syn{op: opBlock, line: body.line, kids: append([]*syn{p}, body.kids...)}
		}
		return r.before(st.Init, r.node(opLoop, st, r.expr(st.Cond), body))
	case *ast.RangeStmt:
		s := r.node(opEach, st, r.expr(st.Key), r.expr(st.Value), r.expr(st.X), r.stmts(st.Body, st.Body.List))
		s.lhs = 2
		return s
	case *ast.SwitchStmt:
		return r.before(st.Init, r.choice(st, r.expr(st.Tag), st.Body))
	case *ast.TypeSwitchStmt:
		return r.before(st.Init, r.choice(st, r.before(st.Assign, &syn{}), st.Body))
	case *ast.SelectStmt:
		return r.choice(st, &syn{}, st.Body)
	case *ast.LabeledStmt:
		return r.stmt(st.Stmt)
	case *ast.GoStmt:
		return r.expr(st.Call)
	case *ast.DeferStmt:
		return r.expr(st.Call)
	case *ast.IncDecStmt:
		return r.assign(st, []ast.Expr{st.X}, []ast.Expr{&ast.BasicLit{Kind: token.INT, Value: "1", ValuePos: st.Pos()}}, st.Tok.String())
	case *ast.SendStmt:
		return r.node(opOther, st, r.expr(st.Chan), r.expr(st.Value))
	}
	return nil
}

func (r *goReader) choice(at ast.Node, tag *syn, body *ast.BlockStmt) *syn {
	s := r.node(opSwitch, at, tag)
	for _, c := range body.List {
		one := r.node(opCase, c)
		switch c := c.(type) {
		case *ast.CaseClause:
			one.kids = append(r.exprs(c.List), r.stmts(c, c.Body))
		case *ast.CommClause:
			list := c.Body
			if c.Comm != nil {
				list = append([]ast.Stmt{c.Comm}, list...)
			}
			one.kids = []*syn{r.stmts(c, list)}
		default:
			continue
		}
		s.kids = append(s.kids, one)
	}
	return s
}
