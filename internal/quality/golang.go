package quality

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/regexp"
)

// The rules of Go.
var (
	shellLine    = rule{"shell-injection", agency.IssueCritical, agency.Security, "a command line for a shell is put together from values: give the program its arguments one by one"}
	sqlText      = rule{"sql-injection", agency.IssueCritical, agency.Security, "a statement of SQL is put together from values: use placeholders"}
	goPath       = rule{"path-traversal", agency.IssueCritical, agency.Security, "a path is made of what a request says, and nothing keeps it within a folder: use os.Root or filepath.IsLocal"}
	goUnbounded  = rule{"unbounded-read", agency.IssueMajor, agency.Security, "the whole body of a request is read into memory, whatever its size: use http.MaxBytesReader or io.LimitReader"}
	goTLS        = rule{"tls-unverified", agency.IssueCritical, agency.Security, "certificates are not verified"}
	goRandom     = rule{"weak-random", agency.IssueMajor, agency.Security, "a secret is drawn by math/rand, which can be guessed: use crypto/rand"}
	goTemplate   = rule{"unescaped-html", agency.IssueMajor, agency.Security, "a value is taken for HTML as it is: let the template escape it"}
	fastHash     = rule{"weak-hash", agency.IssueMajor, agency.Security, "a password is hashed by a fast hash: use bcrypt, scrypt or argon2"}
	goIgnored    = rule{"ignored-error", agency.IssueMajor, agency.Correctness, "an error is dropped after which the value means nothing"}
	goRace       = rule{"data-race", agency.IssueCritical, agency.Correctness, "goroutines of a loop write one variable without a lock"}
	goWait       = rule{"wait-group-race", agency.IssueMajor, agency.Correctness, "the wait group is added to in the goroutine that it waits for: Wait may be over before"}
	goBody       = rule{"unclosed-body", agency.IssueMajor, agency.Performance, "the body of the response is never closed: its connection stays open"}
	goDeferLoop  = rule{"defer-in-loop", agency.IssueMinor, agency.Performance, "what a loop defers piles up until the function ends"}
	goRegexpLoop = rule{"compile-in-loop", agency.IssueMinor, agency.Performance, "a regular expression is compiled anew in each round"}
	deadCode     = rule{"dead-code", agency.IssueMinor, agency.Maintainability, "nothing reaches this statement"}
	sameSides    = rule{"same-operands", agency.IssueMajor, agency.Correctness, "both sides of the comparison are the same"}
	undocumented = rule{"missing-doc", agency.IssueNitpick, agency.Readability, ""}
)

// goSource is a parsed file of Go.
type goSource struct {
	*findings
	set     *token.FileSet
	file    *ast.File
	imports map[string]string // by the name in the file
}

// goFile looks through a file of Go; false where it does not parse.
func goFile(f *findings) bool {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", f.file.After, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	f.performance = true
	s := &goSource{findings: f, set: set, file: file, imports: map[string]string{}}
	for _, i := range file.Imports {
		p := strings.Trim(i.Path.Value, `"`)
		name := path.Base(p)
		if name == "v2" {
			name = path.Base(path.Dir(p))
		}
		if i.Name != nil {
			name = i.Name.Name
		}
		s.imports[name] = p
	}
	var before []shape
	if f.file.Before != nil {
		old := token.NewFileSet()
		if was, err := parser.ParseFile(old, "", f.file.Before, parser.SkipObjectResolution); err == nil {
			before = goShapes(old, was)
		}
	}
	f.judgeShapes(goShapes(set, file), before)
	for _, d := range file.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
			s.function(fn)
		}
	}
	s.docs()
	return true
}

func (s *goSource) line(n ast.Node) int { return s.set.Position(n.Pos()).Line }

func (s *goSource) at(n ast.Node, r rule) { s.tell(s.line(n), r) }

// text is the source of a node.
func (s *goSource) text(n ast.Node) string {
	return string(s.findings.file.After[s.set.Position(n.Pos()).Offset:s.set.Position(n.End()).Offset])
}

// calls tells which function of which imported package a call is of: "os/exec.Command";
// of a method, and a function of this package, its name alone.
func (s *goSource) calls(c *ast.CallExpr) string {
	switch fn := c.Fun.(type) {
	case *ast.Ident:
		return fn.Name
	case *ast.SelectorExpr:
		if x, ok := fn.X.(*ast.Ident); ok && s.imports[x.Name] != "" {
			return s.imports[x.Name] + "." + fn.Sel.Name
		}
		return "." + fn.Sel.Name
	}
	return ""
}

// function looks through a function.
func (s *goSource) function(fn *ast.FuncDecl) {
	body := s.text(fn.Body)
	if len(body) > maxFunction {
		return
	}
	v := &goFunction{goSource: s, decl: fn, body: body, fenced: fenced.MatchString(body), assigned: map[string][]ast.Expr{}, request: requestOf(fn.Type)}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok {
			v.assign(a)
		}
		return true
	})
	v.walk(fn.Body, false)
}

// goFunction is a function with what is assigned in it.
type goFunction struct {
	*goSource
	decl     *ast.FuncDecl
	body     string
	fenced   bool // something in it keeps paths within a folder
	assigned map[string][]ast.Expr
	request  string // the name of its parameter of *http.Request
}

func (v *goFunction) assign(a *ast.AssignStmt) {
	for i, l := range a.Lhs {
		if name, ok := l.(*ast.Ident); ok && name.Name != "_" {
			v.assigned[name.Name] = append(v.assigned[name.Name], a.Rhs[min(i, len(a.Rhs)-1)])
		}
	}
}

// value is what an expression stands for: what a local variable was given, where that is
// one thing.
func (v *goFunction) value(e ast.Expr) ast.Expr {
	if name, ok := e.(*ast.Ident); ok && len(v.assigned[name.Name]) == 1 {
		return v.assigned[name.Name][0]
	}
	return e
}

// walk looks at a part of the function; loop tells whether it is repeated within it.
func (v *goFunction) walk(n ast.Node, loop bool) {
	ast.Inspect(n, func(m ast.Node) bool {
		switch m := m.(type) {
		case *ast.ForStmt:
			if m != n {
				v.walk(m.Body, true)
				return false
			}
		case *ast.RangeStmt:
			if m != n {
				v.walk(m.Body, true)
				return false
			}
		case *ast.FuncLit:
			if loop {
				v.walk(m.Body, false)
				return false
			}
		case *ast.DeferStmt:
			if loop {
				v.at(m, goDeferLoop)
			}
		case *ast.GoStmt:
			v.goroutine(m, loop)
		case *ast.BlockStmt:
			v.dead(m.List)
		case *ast.CaseClause:
			v.dead(m.Body)
		case *ast.BinaryExpr:
			if comparison[m.Op] && plainOperand(m.X) && v.text(m.X) == v.text(m.Y) {
				v.at(m, sameSides)
			}
		case *ast.KeyValueExpr:
			if k, ok := m.Key.(*ast.Ident); ok && k.Name == "InsecureSkipVerify" && v.text(m.Value) == "true" {
				v.at(m, goTLS)
			}
		case *ast.ExprStmt:
			if c, ok := m.X.(*ast.CallExpr); ok && onlyError[v.calls(c)] {
				v.at(m, goIgnored)
			}
		case *ast.AssignStmt:
			v.ignored(m)
			v.response(m)
		case *ast.CallExpr:
			v.call(m, loop)
		}
		return true
	})
}

var comparison = map[token.Token]bool{token.EQL: true, token.NEQ: true, token.LSS: true, token.GTR: true, token.LEQ: true, token.GEQ: true, token.LAND: true, token.LOR: true}

// plainOperand tells of a name or a field: that a float is not itself is how NaN is told,
// but of these nearly always a slip.
func plainOperand(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return plainOperand(e.X)
	case *ast.Ident:
		return e.Name != "f" && e.Name != "x" && e.Name != "v"
	}
	return false
}

// onlyError are functions whose one result is an error that must be looked at; and
// withError those whose other result means nothing beside one.
var (
	onlyError = map[string]bool{"encoding/json.Unmarshal": true, "os.WriteFile": true, "os.Rename": true, "encoding/xml.Unmarshal": true}
	withError = map[string]bool{
		"os.ReadFile": true, "os.Open": true, "os.Create": true, "os.OpenFile": true, "net/http.Get": true, "net/http.Post": true,
		"net/http.NewRequest": true, "net/url.Parse": true, "io.ReadAll": true, "crypto/rand.Read": true, "database/sql.Open": true,
	}
)

func (v *goFunction) ignored(a *ast.AssignStmt) {
	if len(a.Rhs) != 1 || len(a.Lhs) != 2 {
		return
	}
	c, ok := a.Rhs[0].(*ast.CallExpr)
	if blank, is := a.Lhs[1].(*ast.Ident); ok && is && blank.Name == "_" && withError[v.calls(c)] {
		if first, is := a.Lhs[0].(*ast.Ident); !is || first.Name != "_" {
			v.at(a, goIgnored)
		}
	}
}

// response tells of a response of HTTP whose body nobody closes and that goes nowhere.
func (v *goFunction) response(a *ast.AssignStmt) {
	if len(a.Rhs) != 1 || len(a.Lhs) != 2 {
		return
	}
	c, ok := a.Rhs[0].(*ast.CallExpr)
	resp, named := a.Lhs[0].(*ast.Ident)
	if !ok || !named || resp.Name == "_" || !slices.Contains([]string{"net/http.Get", "net/http.Post", "net/http.Head"}, v.calls(c)) {
		return
	}
	uses := regexp.MustCompile(`\b` + regexp.QuoteMeta(resp.Name) + `\b(?:\.Body\.Close|\s*[,)}\n])`)
	rest := v.body[strings.Index(v.body, v.text(a))+len(v.text(a)):]
	if !uses.MatchString(rest) {
		v.at(a, goBody)
	}
}

// dead tells of what stands behind the end of a block.
func (v *goFunction) dead(list []ast.Stmt) {
	for i, st := range list[:max(0, len(list)-1)] {
		ends := false
		switch st := st.(type) {
		case *ast.ReturnStmt:
			ends = true
		case *ast.BranchStmt:
			ends = st.Tok != token.FALLTHROUGH
		case *ast.ExprStmt:
			c, ok := st.X.(*ast.CallExpr)
			ends = ok && (v.calls(c) == "panic" || v.calls(c) == "os.Exit")
		}
		if _, label := list[i+1].(*ast.LabeledStmt); ends && !label {
			v.at(list[i+1], deadCode)
			return
		}
	}
}

// goroutine looks at what a goroutine does with what others have, too.
func (v *goFunction) goroutine(g *ast.GoStmt, loop bool) {
	lit, ok := g.Call.Fun.(*ast.FuncLit)
	if !ok {
		return
	}
	body := v.text(lit.Body)
	own := map[string]bool{}
	for _, p := range lit.Type.Params.List {
		for _, n := range p.Names {
			own[n.Name] = true
		}
	}
	waits, shares := len(lit.Body.List) > 0, loop && !guards.MatchString(body)
	ast.Inspect(lit.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				if name, ok := l.(*ast.Ident); ok && n.Tok == token.DEFINE {
					own[name.Name] = true
				} else if shares {
					v.written(n, l, own)
				}
			}
		case *ast.IncDecStmt:
			if shares {
				v.written(n, n.X, own)
			}
		case *ast.ExprStmt:
			c, ok := n.X.(*ast.CallExpr)
			sel, is := ast.Expr(nil), false
			if ok {
				sel, is = c.Fun, strings.HasSuffix(v.calls(c), ".Add")
			}
			if ok && is && waits && strings.Contains(body, strings.TrimSuffix(v.text(sel), "Add")+"Done()") {
				v.at(n, goWait)
			}
		}
		return true
	})
}

// guards are what a goroutine that shares may do it by.
var guards = regexp.MustCompile(`\.Lock\(|\.Do\(|atomic\.|<-`)

// written tells of a write by goroutines of a loop to a variable or a map that is declared
// outside of it: an element of a slice may be a goroutine's own.
func (v *goFunction) written(at ast.Node, to ast.Expr, own map[string]bool) {
	if i, ok := to.(*ast.IndexExpr); ok {
		made := ""
		if name, is := i.X.(*ast.Ident); is {
			for _, e := range v.assigned[name.Name] {
				made += v.text(e)
			}
		}
		if !strings.HasPrefix(made, "map[") && !strings.HasPrefix(made, "make(map[") {
			return
		}
		to = i.X
	}
	name, ok := to.(*ast.Ident)
	if !ok || own[name.Name] || name.Name == "_" || !v.outside(name) {
		return
	}
	v.at(at, goRace)
}

// outside tells whether a name is declared in no loop: then all rounds share it.
func (v *goFunction) outside(name *ast.Ident) bool {
	found := false
	ast.Inspect(v.decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			return false
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				if x, ok := l.(*ast.Ident); ok && n.Tok == token.DEFINE && x.Name == name.Name {
					found = true
				}
			}
		case *ast.ValueSpec:
			for _, x := range n.Names {
				found = found || x.Name == name.Name
			}
		}
		return true
	})
	return found
}
