package golang

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	"agency/internal/ecosystem"
)

// codeUnits are the functions of a test file of Go. An assertion is a call of a
// method that fails a test, or one that is handed the test: t.Errorf,
// require.Equal(t, ...), checkSum(t, ...). One in a loop over a table counts for
// each of the table's rows, so that a table is no weaker than what it replaces.
func codeUnits(src []byte) []ecosystem.CodeUnit {
	file, err := parser.ParseFile(token.NewFileSet(), "", src, parser.ParseComments|parser.SkipObjectResolution)
	if file == nil || err != nil && len(file.Decls) == 0 {
		return nil
	}
	var out []ecosystem.CodeUnit
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		c := unitCounter{file: file, tests: testParams(f.Type), rows: tableRows(f.Body)}
		c.block(f.Body, 1)
		u := ecosystem.CodeUnit{Name: unitName(f), Test: isTest(f), Asserts: c.asserts, Skips: c.skips, Text: string(src[f.Pos()-1 : min(int(f.End())-1, len(src))])}
		u.Body = u.Text
		if f.Type.Results == nil {
			u.Returns = c.quietReturns(f.Body)
		}
		if strings.HasPrefix(f.Name.Name, "Example") {
			u.Asserts += expectedOutputs(file, f)
		}
		out = append(out, u)
	}
	return out
}

func isTest(f *ast.FuncDecl) bool {
	if f.Recv != nil {
		return strings.HasPrefix(f.Name.Name, "Test") // a suite's method
	}
	return f.Name.Name != "TestMain" && slices.ContainsFunc([]string{"Test", "Example", "Fuzz"}, func(p string) bool { return strings.HasPrefix(f.Name.Name, p) })
}

func unitName(f *ast.FuncDecl) string {
	if owner := ownerOf(f); owner != "" {
		return owner + "." + f.Name.Name
	}
	return f.Name.Name
}

// testParams are the parameters of a function that are a test: *testing.T and
// its like, and interfaces of that name.
func testParams(f *ast.FuncType) map[string]bool {
	out := map[string]bool{}
	for _, p := range f.Params.List {
		t := p.Type
		if star, ok := t.(*ast.StarExpr); ok {
			t = star.X
		}
		sel, ok := t.(*ast.SelectorExpr)
		if !ok || !(sel.Sel.Name == "T" || sel.Sel.Name == "B" || sel.Sel.Name == "F" || sel.Sel.Name == "TB" || sel.Sel.Name == "TestingT") {
			continue
		}
		for _, n := range p.Names {
			out[n.Name] = true
		}
	}
	return out
}

// tableRows is the size of the largest literal of a function: its table.
func tableRows(body *ast.BlockStmt) int {
	rows := 1
	ast.Inspect(body, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		switch lit.Type.(type) {
		case *ast.ArrayType, *ast.MapType:
			rows = max(rows, len(lit.Elts))
		}
		return true
	})
	return rows
}

type unitCounter struct {
	file    *ast.File
	tests   map[string]bool
	rows    int
	asserts int
	skips   int
}

// block counts in a statement; weight is how often a loop over the table runs
// it.
func (c *unitCounter) block(n ast.Node, weight int) {
	ast.Inspect(n, func(m ast.Node) bool {
		switch m := m.(type) {
		case *ast.RangeStmt:
			if weight == 1 && m != n {
				c.block(m.Body, c.rows)
				return false
			}
		case *ast.FuncLit:
			inner := testParams(m.Type)
			for name := range inner {
				c.tests[name] = true
			}
		case *ast.CallExpr:
			c.call(m, weight)
		}
		return true
	})
}

// quietReturns counts the returns of a function, and of its subtests, before
// which the same block fails nothing.
func (c *unitCounter) quietReturns(body ast.Node) (n int) {
	ast.Inspect(body, func(m ast.Node) bool {
		if lit, ok := m.(*ast.FuncLit); ok && len(testParams(lit.Type)) == 0 {
			return false // a helper's
		}
		var list []ast.Stmt
		switch m := m.(type) {
		case *ast.BlockStmt:
			list = m.List
		case *ast.CaseClause:
			list = m.Body
		}
		for i, s := range list {
			if _, ok := s.(*ast.ReturnStmt); ok && (i == 0 || !c.asserting(list[i-1])) {
				n++
			}
		}
		return true
	})
	return n
}

// asserting tells whether a statement can fail the test.
func (c *unitCounter) asserting(s ast.Stmt) bool {
	inner := unitCounter{file: c.file, tests: c.tests, rows: 1}
	inner.block(s, 1)
	return inner.asserts > 0
}

// assertsNothing are methods of a test that assert nothing.
var assertsNothing = map[string]bool{
	"Run": true, "Log": true, "Logf": true, "Helper": true, "Parallel": true, "Cleanup": true, "TempDir": true, "Setenv": true,
	"Name": true, "Context": true, "Deadline": true, "Failed": true, "Skipped": true, "Chdir": true, "Fuzz": true, "Add": true,
	"Skip": true, "Skipf": true, "SkipNow": true, "Output": true, "Attr": true, "N": true, "Loop": true, "ReportAllocs": true,
	"ResetTimer": true, "StartTimer": true, "StopTimer": true, "SetBytes": true, "ReportMetric": true,
}

// assertsAlone are packages and values whose methods assert without being handed
// the test each time.
var assertsAlone = map[string]bool{
	"assert": true, "require": true, "is": true, "qt": true, "check": true, "must": true, "should": true, "g": true, "suite": true, "s": true,
}

func (c *unitCounter) call(call *ast.CallExpr, weight int) {
	sel, isSel := call.Fun.(*ast.SelectorExpr)
	if isSel {
		if id, ok := sel.X.(*ast.Ident); ok {
			switch {
			case c.tests[id.Name] && strings.HasPrefix(sel.Sel.Name, "Skip"):
				c.skips++
				return
			case c.tests[id.Name]:
				if !assertsNothing[sel.Sel.Name] {
					c.asserts += weight
				}
				return
			case assertsAlone[id.Name] && !assertsNothing[sel.Sel.Name]:
				c.asserts += weight
				return
			}
		}
	}
	if id, ok := call.Fun.(*ast.Ident); ok && (id.Name == "Expect" || id.Name == "panic") {
		c.asserts += weight
		return
	}
	for _, a := range call.Args {
		if id, ok := a.(*ast.Ident); ok && c.tests[id.Name] {
			c.asserts += weight
			return
		}
	}
}

// expectedOutputs counts the comments by which an example asserts.
func expectedOutputs(file *ast.File, f *ast.FuncDecl) (n int) {
	for _, g := range file.Comments {
		if g.Pos() < f.Body.Pos() || g.End() > f.Body.End() {
			continue
		}
		text := strings.ToLower(strings.TrimSpace(g.Text()))
		if strings.HasPrefix(text, "output:") || strings.HasPrefix(text, "unordered output:") {
			n++
		}
	}
	return n
}
