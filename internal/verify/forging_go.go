package verify

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"

	"agency/internal/agency"
	"agency/internal/git"
)

// goFile is a changed file of Go with the package around it, which is read only
// where an initialiser calls something that is not in the file.
type goFile struct {
	j *job
	source
}

func (j *job) goPackage(f source) goFile { return goFile{j, f} }

// marks are the ways by which either side of the file can know of its tests or
// end them.
func (g goFile) marks(ctx context.Context) (before, after []telling, err error) {
	if before, err = g.side(ctx, g.before, g.j.task.base); err != nil {
		return nil, nil, err
	}
	after, err = g.side(ctx, g.after, g.j.task.claim)
	return before, after, err
}

func (g goFile) side(ctx context.Context, src []byte, tree agency.OID) ([]telling, error) {
	if src == nil {
		return nil, nil
	}
	s := scanGo(src, g.test)
	if s.file == nil {
		return nil, nil
	}
	ends := s.ends()
	if len(ends) == 0 {
		return s.words, nil
	}
	funcs := map[string]*ast.FuncDecl{}
	addFuncs(funcs, s.file)
	if missing(ends, funcs) {
		if err := g.siblings(ctx, tree, funcs); err != nil {
			return nil, err
		}
	}
	if reachesEnd(ends, funcs) {
		s.say(token.NoPos, "an initialiser ends the process")
	}
	return s.words, nil
}

// siblings adds the functions of the package's other files.
func (g goFile) siblings(ctx context.Context, tree agency.OID, funcs map[string]*ast.FuncDecl) error {
	entries, err := g.j.tree(ctx, tree)
	if err != nil {
		return err
	}
	left := maxSourcesSum
	for _, e := range entries {
		if path.Dir(e.Path) != path.Dir(g.path) || e.Path == g.path || path.Ext(e.Path) != ".go" {
			continue
		}
		b, err := g.j.text(ctx, e.Mode, e.ID, min(left, maxSourceSize))
		if left -= len(b); git.IsTooLong(err) {
			continue // where the change made it so, it is named as unread
		}
		if err != nil {
			return err
		}
		if file, _ := parser.ParseFile(token.NewFileSet(), "", b, parser.SkipObjectResolution); file != nil {
			addFuncs(funcs, file)
		}
	}
	return nil
}

func addFuncs(funcs map[string]*ast.FuncDecl, file *ast.File) {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name != "init" && f.Body != nil {
			funcs[f.Name.Name] = f // methods by their name: more is found, never less
		}
	}
}

// goScan is what one file of Go shows by itself.
type goScan struct {
	file  *ast.File
	fset  *token.FileSet
	src   []byte
	test  bool
	words []telling
}

// say notes a mark where it stands; without a place it is the file's.
func (s *goScan) say(at token.Pos, word string) {
	if !at.IsValid() {
		s.words = append(s.words, telling{word: word})
		return
	}
	pos := s.fset.PositionFor(at, false)
	line, _, _ := strings.Cut(string(s.src[pos.Offset-pos.Column+1:]), "\n")
	s.words = append(s.words, telling{word: word, line: pos.Line, code: strings.TrimSpace(line)})
}

// scanGo finds the words and calls that matter.
func scanGo(src []byte, test bool) goScan {
	s := goScan{test: test, src: src, fset: token.NewFileSet()}
	file, err := parser.ParseFile(s.fset, "", src, parser.ParseComments|parser.SkipObjectResolution)
	if file == nil || err != nil && len(file.Decls) == 0 {
		return s
	}
	s.file = file
	for _, g := range file.Comments {
		for _, c := range g.List {
			if strings.HasPrefix(c.Text, "//go:linkname") {
				s.say(c.Pos(), "reaches into other packages by linkname")
			}
		}
	}
	for _, imp := range file.Imports {
		if imp.Path.Value == `"C"` {
			s.say(imp.Pos(), "runs C")
		}
	}
	library := file.Name.Name != "main"
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			s.selector(n, library)
		case *ast.BasicLit:
			s.literal(n)
		}
		if test {
			s.hollow(n)
		}
		return true
	})
	return s
}

// knows are selectors by which code outside of tests can tell that it is
// tested.
var knows = map[string]string{
	"testing.Testing": "asks whether it is tested", "testing.Short": "asks whether it is tested", "testing.Verbose": "asks whether it is tested",
	"testing.CoverMode": "asks whether it is tested", "testing.MainStart": "runs tests itself", "testing.Init": "runs tests itself",
	"testing.Main": "runs tests itself", "runtime.Callers": "looks at its callers", "runtime.Caller": "looks at its callers",
	"debug.ReadBuildInfo": "looks at its own build", "debug.Stack": "looks at its callers", "runtime.FuncForPC": "looks at its callers",
}

// libraryKnows are selectors that only a command has use for.
var libraryKnows = map[string]bool{
	"os.Args": true, "os.Executable": true, "flag.Lookup": true, "flag.Visit": true, "flag.VisitAll": true, "flag.Args": true,
}

// exits are selectors that end or replace the process, whoever calls them.
var exits = map[string]bool{
	"syscall.Exit": true, "unix.Exit": true, "syscall.Exec": true, "unix.Exec": true, "syscall.RawSyscall": true, "syscall.RawSyscall6": true,
	"syscall.Syscall": true, "syscall.Syscall6": true, "unix.RawSyscall": true, "unix.Syscall": true, "syscall.Kill": true, "unix.Kill": true,
	"syscall.Dup2": true, "syscall.Dup3": true, "unix.Dup2": true, "unix.Dup3": true, "plugin.Open": true,
}

func (s *goScan) selector(sel *ast.SelectorExpr, library bool) {
	id, ok := sel.X.(*ast.Ident)
	if !ok {
		return
	}
	name := id.Name + "." + sel.Sel.Name
	switch {
	case exits[name]:
		s.say(sel.Pos(), "ends or takes over the process ("+name+")")
	case name == "os.Exit" && library && !s.test:
		s.say(sel.Pos(), "ends the process (os.Exit)")
	case library && !s.test && libraryKnows[name]:
		s.say(sel.Pos(), "looks who runs it ("+name+")")
	case !s.test && knows[name] != "":
		s.say(sel.Pos(), knows[name]+" ("+name+")")
	}
}

// literal finds what a test binary is called, its flags, and the lines that it
// prints.
func (s *goScan) literal(lit *ast.BasicLit) {
	if lit.Kind != token.STRING {
		return
	}
	text, err := strconv.Unquote(lit.Value)
	if err != nil {
		return
	}
	if strings.Contains(text, "\x16") {
		s.say(lit.Pos(), "writes the mark of a test's result")
	}
	for _, m := range anywhere() {
		if m.form.MatchString(text) {
			s.say(lit.Pos(), m.word)
		}
	}
	if s.test {
		return
	}
	for _, p := range []string{"--- PASS", "--- FAIL", "--- SKIP", "=== RUN"} {
		if strings.Contains(text, p) {
			s.say(lit.Pos(), "prints like a test run")
			return
		}
	}
	if text == ".test" || strings.HasSuffix(text, ".test.exe") || strings.HasPrefix(strings.TrimLeft(text, "-"), "test.") && len(text) < 32 && !strings.ContainsAny(text, "/ ") {
		s.say(lit.Pos(), "looks who runs it ("+lit.Value+")")
	}
}

// ends are the expressions and bodies that run before any test.
func (s goScan) ends() []ast.Node {
	var out []ast.Node
	for _, d := range s.file.Decls {
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
