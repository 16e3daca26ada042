package gotypes

import (
	"context"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"path"
	"strconv"
	"strings"
)

// Extract gives a file in which whole statements of a function, from one line to another,
// are a function of their own, right behind. It refuses where they leave the function or a
// loop around them, where a variable would be shared that is now copied, and where the
// result would not compile.
func Extract(ctx context.Context, o *Outside, files Files, file string, from, to int, name string) ([]byte, error) {
	if !token.IsIdentifier(name) || name == "_" || name == "init" || name == "main" {
		return nil, refuse("%q is no name of a function", name)
	}
	q := Query{Names: []string{name}, Folders: []string{dirOf(file)}, Reach: dirOf(file)}
	before, err := Load(ctx, o, files, q)
	if err != nil {
		return nil, err
	}
	defer before.Close()
	x := extraction{p: before, file: file, text: before.text(file), name: name}
	if err := x.find(from, to); err != nil {
		return nil, err
	}
	if err := x.flow(); err != nil {
		return nil, err
	}
	if err := x.variables(); err != nil {
		return nil, err
	}
	out, err := x.write()
	if err != nil {
		return nil, err
	}
	after, err := Load(ctx, o, files.with(map[string][]byte{file: out}), q)
	if err != nil {
		return nil, err
	}
	defer after.Close()
	if faults := after.NewFaults(before); len(faults) > 0 {
		r := refuse("the result would not compile")
		for _, f := range faults[:min(len(faults), maxPlaces)] {
			r.Places = append(r.Places, f.String())
		}
		return nil, r
	}
	return out, nil
}

type extraction struct {
	p        *Program
	file     string
	text     []byte
	name     string
	fn       *ast.FuncDecl
	stmts    []ast.Stmt
	from, to token.Pos
	ins      []*types.Var // what the lines read of the function
	outs     []*types.Var // what the function reads of the lines
	fresh    map[*types.Var]bool
	known    map[token.Pos]*types.Var
	returns  bool // the lines end the function, and are called in its return
}

func (x *extraction) line(p token.Pos) int { return x.p.set.Position(p).Line }

// find finds the statements that the lines consist of.
func (x *extraction) find(from, to int) error {
	f := x.p.parsed[x.file]
	if f == nil {
		return refuse("%s is no Go file that is built here", x.file)
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && x.line(fn.Body.Lbrace) <= from && to <= x.line(fn.Body.Rbrace) {
			x.fn = fn
		}
	}
	if x.fn == nil || from > to {
		return refuse("lines %d to %d are not within one function of %s", from, to, x.file)
	}
	ast.Inspect(x.fn.Body, func(n ast.Node) bool {
		var list []ast.Stmt
		switch n := n.(type) {
		case *ast.BlockStmt:
			list = n.List
		case *ast.CaseClause:
			list = n.Body
		case *ast.CommClause:
			list = n.Body
		}
		var in []ast.Stmt
		for _, s := range list {
			if x.line(s.Pos()) >= from && x.line(s.End()) <= to {
				in = append(in, s)
			}
		}
		if len(in) > 0 && len(x.stmts) == 0 {
			x.stmts = in
		}
		return len(x.stmts) == 0
	})
	if len(x.stmts) == 0 {
		return refuse("lines %d to %d hold no whole statement", from, to)
	}
	x.from, x.to = x.stmts[0].Pos(), x.stmts[len(x.stmts)-1].End()
	// Code of other statements on these lines would be cut through.
	for n := from; n <= to; n++ {
		if n >= x.line(x.from) && n <= x.line(x.to) {
			continue
		}
		line := strings.TrimSpace(string(x.lineText(n)))
		if line != "" && !strings.HasPrefix(line, "//") {
			return refuse("line %d is a part of a statement: name whole statements", n)
		}
	}
	head, tail := x.at(x.from), x.at(x.to)
	if strings.TrimSpace(string(x.text[lineBegin(x.text, head):head])) != "" || behind(x.text, tail) != "" {
		return refuse("lines %d to %d share a line with other code", from, to)
	}
	return nil
}

func (x *extraction) at(p token.Pos) int { return x.p.set.Position(p).Offset }

func (x *extraction) lineText(n int) []byte {
	lines := strings.SplitAfter(string(x.text), "\n")
	if n > len(lines) {
		return nil
	}
	return []byte(lines[n-1])
}

func lineBegin(text []byte, at int) int {
	for at > 0 && text[at-1] != '\n' {
		at--
	}
	return at
}

// behind is what stands on a line behind a byte, but for a comment.
func behind(text []byte, at int) string {
	rest, _, _ := strings.Cut(string(text[at:]), "\n")
	rest, _, _ = strings.Cut(rest, "//")
	return strings.TrimSpace(rest)
}

// flow refuses what leaves the lines otherwise than at their end.
func (x *extraction) flow() error {
	var why *Refused
	say := func(n ast.Node, what string) {
		if why == nil {
			why = refuse("line %d has %s", x.line(n.Pos()), what)
		}
	}
	var walk func(n ast.Node, loops, switches, literals int)
	walk = func(n ast.Node, loops, switches, literals int) {
		ast.Inspect(n, func(c ast.Node) bool {
			if c == nil || c == n {
				return true
			}
			switch c := c.(type) {
			case *ast.FuncLit:
				walk(c, 0, 0, literals+1)
				return false
			case *ast.ForStmt, *ast.RangeStmt:
				walk(c, loops+1, switches, literals)
				return false
			case *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
				walk(c, loops, switches+1, literals)
				return false
			case *ast.ReturnStmt:
				if literals == 0 && !x.ends() {
					say(c, "a return of the function around it, which does not always end with these lines")
				}
				x.returns = x.returns || literals == 0
			case *ast.DeferStmt:
				if literals == 0 {
					say(c, "a defer, which would run earlier")
				}
			case *ast.LabeledStmt:
				say(c, "a label")
			case *ast.BranchStmt:
				if c.Label != nil || c.Tok == token.GOTO || literals == 0 && (c.Tok == token.CONTINUE && loops == 0 || c.Tok == token.BREAK && loops+switches == 0 || c.Tok == token.FALLTHROUGH && switches == 0) {
					say(c, "a jump out of the lines")
				}
			case *ast.CallExpr:
				if id, ok := c.Fun.(*ast.Ident); ok && id.Name == "recover" && literals == 0 {
					say(c, "a recover")
				}
			}
			return true
		})
	}
	walk(&ast.BlockStmt{List: x.stmts, Lbrace: x.from, Rbrace: x.to}, 0, 0, 0)
	if why != nil {
		return why
	}
	return nil
}

// ends tells whether the function may always end with the lines: what they are called in is
// its return then, and the compiler tells whether one is missing. The lines of a function
// without results have to be its last, or to end with a return. Named results are others'
// to read, and a function literal has results of its own.
func (x *extraction) ends() bool {
	results, last := x.fn.Type.Results, x.stmts[len(x.stmts)-1]
	within := false
	ast.Inspect(x.fn.Body, func(n ast.Node) bool {
		lit, ok := n.(*ast.FuncLit)
		within = within || ok && lit.Pos() <= x.from && x.to <= lit.End()
		return !within
	})
	switch {
	case within, results != nil && len(results.List) > 0 && len(results.List[0].Names) > 0:
		return false
	case results == nil:
		_, ok := last.(*ast.ReturnStmt)
		return ok || x.last()
	}
	switch last.(type) {
	case *ast.ReturnStmt, *ast.IfStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt, *ast.ForStmt, *ast.BlockStmt, *ast.ExprStmt:
		return true
	}
	return false
}

// last tells whether nothing of the function follows the lines.
func (x *extraction) last() bool {
	return x.fn.Body.List[len(x.fn.Body.List)-1] == x.stmts[len(x.stmts)-1]
}

// write writes the file with the function behind the one that it is taken from.
func (x *extraction) write() ([]byte, error) {
	if x.fn.Type.TypeParams != nil || x.fn.Recv != nil && genericReceiver(x.fn.Recv) {
		return nil, refuse("%s has parameters of type: which of them the lines need is not told here", x.fn.Name.Name)
	}
	names := func(list []*types.Var) string {
		out := make([]string, len(list))
		for i, v := range list {
			out[i] = v.Name()
		}
		return strings.Join(out, ", ")
	}
	params, err := x.typed(x.ins)
	if err != nil {
		return nil, err
	}
	results, err := x.typed(x.outs)
	if err != nil {
		return nil, err
	}
	call := x.name + "(" + names(x.ins) + ")"
	own := x.fn.Type.Results
	switch {
	case x.returns && own != nil:
		call = "return " + call
	case x.returns && !x.last():
		call += "\nreturn"
	case len(x.outs) > 0:
		call = names(x.outs) + x.assignment() + call
	}
	head, end := x.at(x.from), x.at(x.to)
	body := string(x.text[lineBegin(x.text, head):end])
	var fn strings.Builder
	fn.WriteString("\n\nfunc " + x.name + "(" + strings.Join(params, ", ") + ")")
	if x.returns && own != nil {
		fn.WriteString(" " + string(x.text[x.at(own.Pos()):x.at(own.End())]))
	} else if len(results) > 0 {
		types := make([]string, len(results))
		for i, r := range results {
			_, types[i], _ = strings.Cut(r, " ")
		}
		fn.WriteString(" (" + strings.Join(types, ", ") + ")")
	}
	fn.WriteString(" {\n" + body + "\n")
	if len(x.outs) > 0 {
		fn.WriteString("return " + names(x.outs) + "\n")
	}
	fn.WriteString("}")
	close := x.at(x.fn.Body.Rbrace) + 1
	out := string(x.text[:head]) + x.declarations() + call + string(x.text[end:close]) + fn.String() + string(x.text[close:])
	formatted, err := format.Source([]byte(out))
	if err != nil {
		return nil, refuse("the result would be no syntax: %v", err)
	}
	return formatted, nil
}

// assignment is how the call hands its results over: mixed ones are declared before.
func (x *extraction) assignment() string {
	for _, v := range x.outs {
		if !x.fresh[v] {
			return " = "
		}
	}
	return " := "
}

// declarations are those of variables that the lines declared, where others stood before.
func (x *extraction) declarations() string {
	if x.assignment() == " := " {
		return ""
	}
	var b strings.Builder
	for _, v := range x.outs {
		if x.fresh[v] {
			t, _ := x.typed([]*types.Var{v}) // has been asked before
			b.WriteString("var " + t[0] + "\n")
		}
	}
	return b.String()
}

// typed writes variables with their types as the file names them.
func (x *extraction) typed(list []*types.Var) (out []string, err error) {
	f := x.p.parsed[x.file]
	for _, v := range list {
		t := types.TypeString(v.Type(), func(pkg *types.Package) string {
			if pkg.Path() == x.pkgPath() {
				return ""
			}
			for _, i := range f.Imports {
				if p, _ := strconv.Unquote(i.Path.Value); p == pkg.Path() {
					if i.Name == nil {
						return pkg.Name()
					}
					if n := i.Name.Name; n != "." {
						return n
					}
					return ""
				}
			}
			err = refuse("the type of %s is of package %s, which %s does not import", v.Name(), pkg.Path(), path.Base(x.file))
			return pkg.Name()
		})
		if strings.Contains(t, "invalid type") {
			return nil, refuse("the type of %s is not known here", v.Name())
		}
		out = append(out, v.Name()+" "+t)
	}
	return out, err
}

func (x *extraction) pkgPath() string {
	for _, at := range x.p.units[x.file] {
		return x.p.checked[at].pkg.Path()
	}
	return ""
}

func genericReceiver(l *ast.FieldList) bool {
	t := l.List[0].Type
	if s, ok := t.(*ast.StarExpr); ok {
		t = s.X
	}
	switch t.(type) {
	case *ast.IndexExpr, *ast.IndexListExpr:
		return true
	}
	return false
}
