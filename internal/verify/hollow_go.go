package verify

import "go/ast"

// hollow finds, in a test file of Go, by what a test looks as before and can
// fail no more.
func (s *goScan) hollow(n ast.Node) {
	switch n := n.(type) {
	case *ast.IfStmt:
		if id, ok := n.Cond.(*ast.Ident); ok && id.Name == "false" {
			s.say(n, "holds code that never runs")
		}
	case *ast.CompositeLit:
		if isTestingT(n.Type) {
			s.say(n, "makes a test of its own")
		}
	case *ast.CallExpr:
		if id, ok := n.Fun.(*ast.Ident); ok && len(n.Args) == 1 && id.Name == "new" && isTestingT(n.Args[0]) {
			s.say(n, "makes a test of its own")
		}
		if id, ok := n.Fun.(*ast.Ident); ok && id.Name == "recover" {
			s.say(n, "recovers from panics")
		}
	case *ast.FuncDecl:
		if n.Recv != nil && failing[n.Name.Name] {
			s.say(n, "redefines an assertion ("+n.Name.Name+")")
		}
	}
}

// failing are the methods by which a test fails.
var failing = map[string]bool{"Error": true, "Errorf": true, "Fail": true, "FailNow": true, "Fatal": true, "Fatalf": true}

func isTestingT(x ast.Expr) bool {
	sel, ok := x.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == "testing" && (sel.Sel.Name == "T" || sel.Sel.Name == "B" || sel.Sel.Name == "F")
}
