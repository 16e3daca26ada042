package golang

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"

	"agency/internal/awareness"
	"agency/internal/awareness/dataflow"
)

// testingCalls are names by which code outside of tests asks for them.
var testingCalls = map[string]string{
	"testing.Testing": "asks whether it is tested", "testing.Short": "asks whether it is tested", "testing.Verbose": "asks whether it is tested",
	"testing.CoverMode": "asks whether it is tested", "testing.MainStart": "runs tests itself", "testing.Init": "runs tests itself",
	"testing.Main": "runs tests itself",
}

// processEnds are selectors that end or replace the process, whoever calls them.
var processEnds = map[string]bool{
	"syscall.Exit": true, "unix.Exit": true, "syscall.Exec": true, "unix.Exec": true, "syscall.RawSyscall": true, "syscall.RawSyscall6": true,
	"syscall.Syscall": true, "syscall.Syscall6": true, "unix.RawSyscall": true, "unix.Syscall": true, "syscall.Kill": true, "unix.Kill": true,
	"syscall.Dup2": true, "syscall.Dup3": true, "unix.Dup2": true, "unix.Dup3": true, "plugin.Open": true,
}

// awareScan is what one file of Go shows by itself.
type awareScan struct {
	file  *ast.File
	set   *token.FileSet
	test  bool
	form  *dataflow.File
	found []awareness.Finding
}

// read reads a source into the common form, with what it shows by itself. Tests
// take no part in what is followed.
func (awareReader) read(src dataflow.Source) (*dataflow.File, []awareness.Finding, error) {
	s := awareScan{test: src.Test, set: token.NewFileSet()}
	file, err := parser.ParseFile(s.set, "", src.Text, parser.ParseComments|parser.SkipObjectResolution)
	if file == nil || err != nil && len(file.Decls) == 0 {
		return nil, nil, nil
	}
	s.file, s.form = file, newFormReader(s.set, file).read(src)
	s.names()
	canonical(file)
	if s.test {
		ast.Inspect(file, func(n ast.Node) bool { s.hollow(n); return true })
	}
	s.literals()
	s.equal()
	s.exits()
	if err := s.around(src.Beside); err != nil {
		return nil, nil, err
	}
	found := append(s.found, src.Mentions(s.form, strconv.Quote)...)
	if s.test {
		return nil, found, nil
	}
	return s.form, found, nil
}

// names finds what a file takes in around the language's own ways.
func (s *awareScan) names() {
	file := s.file
	for _, g := range file.Comments {
		for _, c := range g.List {
			if strings.HasPrefix(c.Text, "//go:linkname") {
				s.say(c, "reaches into other packages by linkname")
			}
		}
	}
	for _, imp := range file.Imports {
		name, _ := strconv.Unquote(imp.Path.Value)
		switch {
		case name == "C":
			s.say(imp, "runs C")
		case imp.Name != nil && imp.Name.Name == "." && slices.Contains([]string{"os", "syscall", "runtime", "runtime/debug", "flag", "golang.org/x/sys/unix"}, name):
			s.say(imp, "uses the names of "+name+" as its own")
		}
	}
}

func (s *awareScan) say(n ast.Node, word string) {
	s.found = append(s.found, awareness.Finding{Word: word, Line: s.set.Position(n.Pos()).Line})
}

// canonical gives the packages that end or look at a process their own names
// where they are imported by others.
func canonical(file *ast.File) {
	names := map[string]string{}
	for _, imp := range file.Imports {
		p, _ := strconv.Unquote(imp.Path.Value)
		if imp.Name != nil && slices.Contains([]string{"os", "syscall", "runtime", "plugin", "testing", "golang.org/x/sys/unix"}, p) {
			names[imp.Name.Name] = path.Base(p)
		}
	}
	if len(names) == 0 {
		return
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && names[id.Name] != "" {
				id.Name = names[id.Name]
			}
		}
		return true
	})
}

// literals finds what a test binary is called, its flags, and the lines that it
// prints.
func (s *awareScan) literals() {
	s.form.Texts(func(text string, line int) {
		say := func(word string) { s.found = append(s.found, awareness.Finding{Word: word, Line: line}) }
		if strings.Contains(text, "\x16") {
			say("writes the mark of a test's result")
		}
		if s.test {
			return
		}
		for _, p := range []string{"--- PASS", "--- FAIL", "--- SKIP", "=== RUN"} {
			if strings.Contains(text, p) {
				say("prints like a test run")
				return
			}
		}
		if text == ".test" || strings.HasSuffix(text, ".test.exe") || strings.HasPrefix(strings.TrimLeft(text, "-"), "test.") && len(text) < 32 && !strings.ContainsAny(text, "/ ") {
			say("looks who runs it (" + strconv.Quote(text) + ")")
		}
	})
}

// comparisons are methods by which others compare; of those that are true only the
// other side has to be looked at.
var comparisons = map[string]bool{"Equal": true, "Eq": true, "Equals": true, "Compare": true, "Cmp": true, "Is": false}

// equal finds methods that compare without looking at what they compare.
func (s *awareScan) equal() {
	for _, fn := range s.form.Funcs {
		both, is := comparisons[fn.Name]
		if !is || fn.Owner == "" || len(fn.Params) != 1 || len(fn.Results) != 1 ||
			!slices.Contains([]string{"bool", "int"}, fn.Results[0]) || !both && fn.Params[0].Type != "error" {
			continue
		}
		c := dataflow.Comparison{Func: fn, Self: fn.Receiver, Other: fn.Params[0].Name, Both: both}
		s.found = append(s.found, c.Hollow(s.form)...)
	}
}

// ends are the findings of a file that need the functions around it: what it names
// of the process, and how it ends it.
func (awareReader) ends(a *dataflow.Analysis, f *dataflow.File) (out []awareness.Finding) {
	honest := map[*dataflow.Node]bool{}
	f.Every(func(fn *dataflow.Func, s *dataflow.Node) {
		if s.Op == dataflow.OpCall && s.Callee() == "os.Exit" && len(s.Kids) == 2 && (f.Program || a.MayExit(fn, s.Kids[1])) {
			honest[s.Kids[0]] = true
		}
		if s.Op != dataflow.OpName {
			return
		}
		name := strings.TrimPrefix(s.Text, "golang.org/x/sys/")
		switch word := testingCalls[name]; {
		case word != "":
			out = append(out, awareness.Finding{Word: word + " (" + name + ")", Line: s.Line})
		case name == "os.Exit" && !f.Program && !honest[s]:
			out = append(out, awareness.Finding{Word: "ends the process (os.Exit)", Line: s.Line})
		}
	})
	return out
}

// exits finds the names by which a file of any kind ends or takes over the process.
func (s *awareScan) exits() {
	s.form.Every(func(_ *dataflow.Func, n *dataflow.Node) {
		if name := strings.TrimPrefix(n.Text, "golang.org/x/sys/"); n.Op == dataflow.OpName && processEnds[name] {
			s.found = append(s.found, awareness.Finding{Word: "ends or takes over the process (" + name + ")", Line: n.Line})
		}
	})
}

// around finds what needs the other sources of the package: what its initialisers
// reach, and what its TestMain hands on.
func (s *awareScan) around(beside func() ([][]byte, error)) error {
	ends, mains := initialisers(s.file), testMains(s.file)
	if len(ends)+len(mains) == 0 {
		return nil
	}
	funcs := packageFuncs{}
	funcs.add(s.file)
	if funcs.lack(ends) || len(mains) > 0 {
		others, err := beside()
		if err != nil {
			return err
		}
		for _, src := range others {
			if file, _ := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution); file != nil {
				canonical(file)
				funcs.add(file)
			}
		}
	}
	if funcs.reachEnd(ends) {
		s.found = append(s.found, awareness.Finding{Word: "an initialiser ends the process"})
	}
	for _, m := range mains {
		if word := (wholeRun{funcs: funcs}).fault(m); word != "" && s.test {
			line := s.set.Position(m.Pos())
			text := s.form.Text[line.Offset:min(s.set.Position(m.End()).Offset, len(s.form.Text))]
			s.found = append(s.found, awareness.Finding{Word: m.Name.Name + " " + word, Key: word + text, Line: line.Line})
		}
	}
	return nil
}

// hollow finds, in a test file of Go, by what a test looks as before and can
// fail no more.
func (s *awareScan) hollow(n ast.Node) {
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
		if n.Recv != nil && failingMethods[n.Name.Name] {
			s.say(n, "redefines an assertion ("+n.Name.Name+")")
		}
	}
}

// failingMethods are the methods by which a test fails.
var failingMethods = map[string]bool{"Error": true, "Errorf": true, "Fail": true, "FailNow": true, "Fatal": true, "Fatalf": true}

func isTestingT(x ast.Expr) bool {
	sel, ok := x.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == "testing" && (sel.Sel.Name == "T" || sel.Sel.Name == "B" || sel.Sel.Name == "F")
}
