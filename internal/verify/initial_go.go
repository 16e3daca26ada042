package verify

import (
	"go/ast"
	"go/token"
)

// goEnds are the expressions and bodies that run before any test.
func goEnds(file *ast.File) []ast.Node {
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

// missing tells whether an initialiser names a function that is not known yet.
func missing(roots []ast.Node, funcs map[string]*ast.FuncDecl) (found bool) {
	for _, r := range roots {
		ast.Inspect(r, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				name, own := called(call)
				found = found || own && funcs[name] == nil && !builtins[name]
			}
			return !found
		})
	}
	return found
}

var builtins = map[string]bool{
	"append": true, "cap": true, "clear": true, "close": true, "complex": true, "copy": true, "delete": true, "imag": true, "len": true,
	"make": true, "max": true, "min": true, "new": true, "panic": true, "print": true, "println": true, "real": true, "recover": true,
	"string": true, "int": true, "int64": true, "uint64": true, "byte": true, "rune": true, "float64": true, "error": true, "bool": true,
}

// called is the name that a call uses; own where it is of the package itself or
// a method.
func called(call *ast.CallExpr) (name string, own bool) {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name, true
	case *ast.SelectorExpr:
		return f.Sel.Name, false
	}
	return "", false
}

// reachesEnd tells whether what runs before any test can end the process,
// through functions of its own package too.
func reachesEnd(roots []ast.Node, funcs map[string]*ast.FuncDecl) (found bool) {
	seen := map[string]bool{}
	var visit func(ast.Node)
	visit = func(root ast.Node) {
		kept := keptFuncs(root)
		ast.Inspect(root, func(n ast.Node) bool {
			if kept[n] {
				return false
			}
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if id, ok := n.X.(*ast.Ident); ok {
					found = found || exits[id.Name+"."+n.Sel.Name] || id.Name == "os" && n.Sel.Name == "Exit" ||
						id.Name == "runtime" && n.Sel.Name == "Goexit"
				}
				follow(n.Sel.Name, funcs, seen, visit)
			case *ast.Ident:
				follow(n.Name, funcs, seen, visit)
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

func follow(name string, funcs map[string]*ast.FuncDecl, seen map[string]bool, visit func(ast.Node)) {
	if f := funcs[name]; f != nil && !seen[name] {
		seen[name] = true
		visit(f.Body)
	}
}
