package golang

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// testMains are the functions of a file that are handed all tests: TestMain and
// its helpers.
func testMains(file *ast.File) (out []*ast.FuncDecl) {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil && allTests(f) != "" {
			out = append(out, f)
		}
	}
	return out
}

// allTests is the name of a function's parameter that is all tests.
func allTests(f *ast.FuncDecl) string {
	for _, p := range f.Type.Params.List {
		star, ok := p.Type.(*ast.StarExpr)
		if !ok {
			continue
		}
		sel, ok := star.X.(*ast.SelectorExpr)
		if id, isID := star.X.(*ast.Ident); !(ok && sel.Sel.Name == "M" && isName(sel.X, "testing") || isID && id.Name == "M") {
			continue
		}
		if len(p.Names) == 1 {
			return p.Names[0].Name
		}
		return "_"
	}
	return ""
}

func isName(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name
}

// wholeRun looks whether the exit code of all tests stays what it is: m.Run
// stands alone, which ends the process with it, or goes unchanged into os.Exit.
type wholeRun struct {
	funcs packageFuncs // of the package
	// trusts: a helper that is not among them is believed to hand the result on.
	trusts bool
	seen   map[string]bool
	m      string
	codes  map[string]bool // variables that hold the result
	good   map[ast.Node]bool
	runs   int
}

// handsOn are functions of others that hand a result on unchanged.
var handsOn = map[string]bool{
	"goleak.VerifyTestMain": true, "testscript.Main": true, "testscript.RunMain": true, "snaps.Clean": true,
}

// fault is what a function does with the result that it must not; "" for
// nothing.
func (t wholeRun) fault(f *ast.FuncDecl) string {
	t.m, t.codes, t.good = allTests(f), map[string]bool{}, map[ast.Node]bool{}
	if t.seen == nil {
		t.seen = map[string]bool{}
	}
	t.seen[f.Name.Name] = true
	ast.Inspect(f.Body, func(n ast.Node) bool { t.result(n); return true })
	ast.Inspect(f.Body, func(n ast.Node) bool { t.use(n); return true })
	if t.runs == 0 && f.Name.Name == "TestMain" {
		return "runs no tests"
	}
	word := ""
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if why := t.breaks(n, f); why != "" && word == "" {
			word = why
		}
		return word == ""
	})
	return word
}

// isRun tells of a call that gives the result of all tests.
func (t *wholeRun) isRun(x ast.Expr) bool {
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return false
	}
	switch fun := call.Fun.(type) {
	case *ast.SelectorExpr:
		if isName(fun.X, t.m) && fun.Sel.Name == "Run" {
			return true
		}
		id, ok := fun.X.(*ast.Ident)
		return ok && handsOn[id.Name+"."+fun.Sel.Name] && len(call.Args) > 0 && isName(call.Args[0], t.m)
	case *ast.Ident:
		if !slices.ContainsFunc(call.Args, func(a ast.Expr) bool { return isName(a, t.m) }) {
			return false
		}
		helper := t.funcs[fun.Name]
		if helper == nil {
			return t.trusts
		}
		return allTests(helper) != "" && !t.seen[fun.Name] && wholeRun{funcs: t.funcs, trusts: t.trusts, seen: t.seen}.fault(helper) == ""
	}
	return false
}

// result notes the variables that hold it, and calls that may stand where they
// do.
func (t *wholeRun) result(n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if len(n.Lhs) != 1 || len(n.Rhs) != 1 {
			return
		}
		if id, ok := n.Lhs[0].(*ast.Ident); ok && id.Name != "_" && t.isRun(n.Rhs[0]) {
			t.codes[id.Name] = true
			t.allow(n.Rhs[0])
		}
	case *ast.ExprStmt:
		if t.isRun(n.X) {
			t.allow(n.X)
		}
	}
}

// use notes where the result goes on unchanged.
func (t *wholeRun) use(n ast.Node) {
	switch n := n.(type) {
	case *ast.CallExpr:
		if sel, ok := n.Fun.(*ast.SelectorExpr); ok && isName(sel.X, "os") && sel.Sel.Name == "Exit" && len(n.Args) == 1 && t.code(n.Args[0]) {
			t.good[sel] = true
			t.allow(n.Args[0])
		}
	case *ast.ReturnStmt:
		for _, x := range n.Results {
			if t.isRun(x) {
				t.allow(x)
			}
		}
	}
}

// allow lets a call that gives the result stand, with the tests in it.
func (t *wholeRun) allow(x ast.Expr) {
	if call, ok := x.(*ast.CallExpr); ok {
		t.runs++
		ast.Inspect(call, func(n ast.Node) bool { t.good[n] = true; return true })
	}
}

// code tells of an exit code that is the result, or that of a failure.
func (t *wholeRun) code(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Ident:
		return t.codes[x.Name]
	case *ast.BasicLit:
		n, err := strconv.Atoi(x.Value)
		return err == nil && n%256 != 0
	}
	return t.isRun(x)
}

func (t *wholeRun) breaks(n ast.Node, f *ast.FuncDecl) string {
	const lost = "does not end with what m.Run gave"
	switch n := n.(type) {
	case *ast.SelectorExpr:
		if isName(n.X, "os") && n.Sel.Name == "Exit" && !t.good[n] {
			return lost
		}
	case *ast.Ident:
		if n.Name == t.m && t.m != "_" && !t.good[n] {
			return lost
		}
	case *ast.AssignStmt:
		for i, l := range n.Lhs {
			id, ok := l.(*ast.Ident)
			if !ok || !t.codes[id.Name] {
				continue
			}
			if n.Tok != token.ASSIGN && n.Tok != token.DEFINE || len(n.Lhs) != len(n.Rhs) || !t.code(n.Rhs[i]) {
				return lost
			}
		}
	case *ast.IncDecStmt:
		if id, ok := n.X.(*ast.Ident); ok && t.codes[id.Name] {
			return lost
		}
	case *ast.UnaryExpr:
		if id, ok := n.X.(*ast.Ident); ok && n.Op == token.AND && t.codes[id.Name] {
			return lost
		}
	case *ast.ReturnStmt:
		if f.Name.Name == "TestMain" || f.Type.Results == nil || strings.HasPrefix(f.Name.Name, "Test") {
			return ""
		}
		for _, x := range n.Results {
			if t.code(x) {
				return ""
			}
		}
		return lost
	}
	return ""
}

// testMain is the text of a file's TestMain, without its comments, and whether
// it reports what the tests came to.
func testMain(src []byte) (text string, reports bool) {
	if !bytes.Contains(src, []byte("TestMain")) {
		return "", false
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", src, parser.SkipObjectResolution)
	if err != nil {
		return "", false
	}
	i := slices.IndexFunc(file.Decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		return ok && f.Recv == nil && f.Name.Name == "TestMain" && f.Body != nil
	})
	if i < 0 {
		return "", false
	}
	var b strings.Builder
	if err := printer.Fprint(&b, fset, file.Decls[i]); err != nil {
		return "", false
	}
	funcs := packageFuncs{}
	canonical(file)
	funcs.add(file)
	return b.String(), wholeRun{funcs: funcs, trusts: true}.fault(file.Decls[i].(*ast.FuncDecl)) == ""
}

// initialisers are the expressions and bodies that run before any test.
func initialisers(file *ast.File) []ast.Node {
	var out []ast.Node
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == "init" && d.Body != nil {
				out = append(out, d.Body)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.VAR {
					for _, x := range v.Values {
						if hasCall(x) {
							out = append(out, x)
						}
					}
				}
			}
		}
	}
	return out
}

func hasCall(x ast.Node) (found bool) {
	ast.Inspect(x, func(n ast.Node) bool {
		_, ok := n.(*ast.CallExpr)
		found = found || ok
		return !found
	})
	return found
}

// packageFuncs are the functions of a package by their name, methods too: more is
// found so, never less.
type packageFuncs map[string]*ast.FuncDecl

func (p packageFuncs) add(file *ast.File) {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name != "init" && f.Body != nil {
			p[f.Name.Name] = f
		}
	}
}

// lack tells whether an initialiser names a function that is not known yet.
func (p packageFuncs) lack(roots []ast.Node) (found bool) {
	for _, r := range roots {
		ast.Inspect(r, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				id, own := call.Fun.(*ast.Ident)
				found = found || own && p[id.Name] == nil && !predeclared[id.Name]
			}
			return !found
		})
	}
	return found
}

// predeclared are the functions and types of the language that are called.
var predeclared = map[string]bool{
	"append": true, "cap": true, "clear": true, "close": true, "complex": true, "copy": true, "delete": true, "imag": true, "len": true,
	"make": true, "max": true, "min": true, "new": true, "panic": true, "print": true, "println": true, "real": true, "recover": true,
	"string": true, "int": true, "int64": true, "uint64": true, "byte": true, "rune": true, "float64": true, "error": true, "bool": true,
}

// reachEnd tells whether what runs before any test can end the process,
// through functions of its own package too.
func (p packageFuncs) reachEnd(roots []ast.Node) (found bool) {
	seen := map[string]bool{}
	var visit func(ast.Node)
	follow := func(name string) {
		if f := p[name]; f != nil && !seen[name] {
			seen[name] = true
			visit(f.Body)
		}
	}
	visit = func(root ast.Node) {
		kept := keptFuncs(root)
		ast.Inspect(root, func(n ast.Node) bool {
			if kept[n] {
				return false
			}
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if id, ok := n.X.(*ast.Ident); ok {
					found = found || processEnds[id.Name+"."+n.Sel.Name] || id.Name == "os" && n.Sel.Name == "Exit" ||
						id.Name == "runtime" && n.Sel.Name == "Goexit"
				}
				follow(n.Sel.Name)
			case *ast.Ident:
				follow(n.Name)
			}
			return !found
		})
	}
	for _, r := range roots {
		visit(r)
	}
	return found
}

// keptFuncs are functions that a literal only keeps for later, as a table of
// commands does; of a literal whose own method is called none is kept.
func keptFuncs(root ast.Node) map[ast.Node]bool {
	used := map[ast.Node]bool{}
	ast.Inspect(root, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			ast.Inspect(call.Fun, func(m ast.Node) bool {
				if lit, ok := m.(*ast.CompositeLit); ok {
					used[lit] = true
				}
				return true
			})
		}
		return true
	})
	kept := map[ast.Node]bool{}
	ast.Inspect(root, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok || used[lit] {
			return true
		}
		for _, e := range lit.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				e = kv.Value
			}
			switch e.(type) {
			case *ast.FuncLit, *ast.Ident, *ast.SelectorExpr:
				kept[e] = true
			}
		}
		return true
	})
	return kept
}
