package verify

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"agency/internal/agency"
	"agency/internal/git"
)

// goOrigins are the ways by which code of Go can look at who runs it.
var goOrigins = map[string]origin{
	"runtime.Caller": {grade: gradeStrong, results: []int{0, 1, 2}}, "runtime.Callers": {grade: gradeStrong},
	"runtime.CallersFrames": {grade: gradeStrong, results: []int{0}}, "runtime.FuncForPC": {grade: gradeStrong},
	"runtime.Stack": {grade: gradeStrong}, "runtime/debug.Stack": {grade: gradeStrong},
	"runtime.NumGoroutine": {grade: gradeStrong, number: true}, "runtime.GoroutineProfile": {grade: gradeStrong}, "runtime.NumCgoCall": {grade: gradeStrong, number: true},
	"runtime/pprof.Lookup": {grade: gradeStrong}, "runtime/pprof.Profiles": {grade: gradeStrong}, "runtime/pprof.Label": {grade: gradeStrong},
	"os.Executable": {grade: gradeStrong, results: []int{0}, own: true}, "os.Getppid": {grade: gradeStrong}, "syscall.Getppid": {grade: gradeStrong},
	"expvar.Get": {grade: gradeStrong}, "log.Flags": {grade: gradeStrong}, "log.Prefix": {grade: gradeStrong}, "log.Writer": {grade: gradeStrong},
	"runtime/metrics.Read": {grade: gradeStrong}, "runtime.ReadMemStats": {grade: gradeStrong}, "flag.Set": {grade: gradeArgs},
	"os.Environ": {grade: gradeWeak, loads: true},
	"os.Args":    {grade: gradeArgs}, "flag.CommandLine": {grade: gradeArgs}, "flag.Lookup": {grade: gradeArgs}, "flag.Visit": {grade: gradeArgs},
	"flag.VisitAll": {grade: gradeArgs}, "flag.Args": {grade: gradeArgs}, "flag.Arg": {grade: gradeArgs}, "flag.NArg": {grade: gradeArgs},
	"flag.NFlag": {grade: gradeArgs}, "flag.Parsed": {grade: gradeArgs},
	"os.Stdout": {stream: true}, "os.Stderr": {stream: true}, "os.Stdin": {stream: true, input: true},
	"os.Getwd": {grade: gradeWeak, results: []int{0}}, "syscall.Getwd": {grade: gradeWeak}, "runtime/debug.ReadBuildInfo": {grade: gradeWeak, results: []int{0}},
}

// goFileCalls look at files by their name.
var goFileCalls = map[string]bool{
	"os.Stat": true, "os.Lstat": true, "os.Open": true, "os.OpenFile": true, "os.ReadFile": true, "os.ReadDir": true, "os.Readlink": true,
	"os.DirFS": true, "path/filepath.Glob": true, "path/filepath.WalkDir": true, "path/filepath.Walk": true, "path/filepath.Abs": true, "path/filepath.EvalSymlinks": true, "io/ioutil.ReadFile": true, "io/ioutil.ReadDir": true,
}

// goFlows are packages whose functions give on what they are given.
var goFlows = []string{
	"strings.", "bytes.", "path.", "path/filepath.Base", "path/filepath.Clean", "path/filepath.Dir", "path/filepath.Ext", "path/filepath.Join", "path/filepath.Rel",
	"path/filepath.ToSlash", "path/filepath.Match", "path/filepath.Split", "fmt.Sprint", "fmt.Append", "fmt.Errorf", "slices.", "maps.", "strconv.", "regexp.", "unicode/utf8.", "cmp.",
	"os.Stat", "os.Lstat", "os.SameFile", "errors.",
}

// goAskers tell of a stream who is at its other end.
var goAskers = regexp.MustCompile(`^(?:Stat|Fd|Seek|Sync|SyscallConn|Set(?:Read|Write)?Deadline|ReadAt|WriteAt|Truncate|Is(?:Cygwin)?Terminal|Isatty|IsTTY|GetSize|GetState|MakeRaw|Fstat|Ioctl\w*|Dup\w*|NewFile)$`)

// goStreams are names of files that are the streams.
var goStreams = regexp.MustCompile(`^/dev/(?:std(?:in|out|err)|fd/\d+)$`)

// goBuiltins are functions and types of the language that do.
var goBuiltins = []string{"string", "len", "append", "min", "max", "int", "int64", "uint64", "bool", "byte", "any"}

// goLore is what is known of Go; exists tells what files the claim has.
func goLore(exists func(string) bool) *lore {
	return &lore{
		origins: goOrigins,
		asked: func(f *synFile, name, constant string) (origin, bool) {
			if name == "os.Getenv" || name == "os.LookupEnv" {
				return origin{grade: gradeStrong}, slices.Contains([]string{"_", "PWD", "OLDPWD", "GOCOVERDIR", "GOTEST", "GOFLAGS"}, constant)
			}
			if name == "os/exec.Command" {
				return origin{grade: gradeStrong}, slices.Contains([]string{"pwd", "ps", "pstree", "lsof", "tty"}, constant)
			}
			if goFileCalls[name] && goStreams.MatchString(constant) {
				return origin{grade: gradeStrong, stream: true}, !strings.HasPrefix(name, "os.Open")
			}
			if !goFileCalls[name] || path.IsAbs(constant) {
				return origin{}, false
			}
			dir := path.Dir(f.path)
			beside := dir != "." && exists(path.Join(dir, constant)) && !exists(path.Clean(constant))
			return origin{grade: gradeWeak}, beside || path.Clean(constant) == "." || strings.HasSuffix(constant, ".go") || isTestFile(constant)
		},
		places: func(call *syn) bool {
			return call.callee() == "log.New" && call.names(map[string]bool{"log.Lshortfile": true, "log.Llongfile": true}) && !call.names(map[string]bool{"os.Stderr": true, "os.Stdout": true})
		},
		flows: func(name string) bool {
			return slices.Contains(goBuiltins, name) || slices.ContainsFunc(goFlows, func(p string) bool { return strings.HasPrefix(name, p) })
		},
		askers: goAskers,
		tells: func(name string) bool {
			for _, p := range []string{"fmt.Print", "fmt.Fprint", "log.", "log/slog."} {
				if strings.HasPrefix(name, p) {
					return true
				}
			}
			return slices.Contains([]string{"Print", "Printf", "Println", "Log", "Logf", "Debug", "Info", "Warn", "Error", "Errorf", "println", "print"}, name)
		},
		argType: func(typ string) bool {
			switch typ {
			case "[]string", "int", "error", "context.Context", "io.Writer", "io.Reader", "*os.File", "io/fs.FS", "string":
				return true
			}
			return false
		},
	}
}

// goAsks are names by which code outside of tests asks for them.
var goAsks = map[string]string{
	"testing.Testing": "asks whether it is tested", "testing.Short": "asks whether it is tested", "testing.Verbose": "asks whether it is tested",
	"testing.CoverMode": "asks whether it is tested", "testing.MainStart": "runs tests itself", "testing.Init": "runs tests itself",
	"testing.Main": "runs tests itself",
}

// exits are selectors that end or replace the process, whoever calls them.
var exits = map[string]bool{
	"syscall.Exit": true, "unix.Exit": true, "syscall.Exec": true, "unix.Exec": true, "syscall.RawSyscall": true, "syscall.RawSyscall6": true,
	"syscall.Syscall": true, "syscall.Syscall6": true, "unix.RawSyscall": true, "unix.Syscall": true, "syscall.Kill": true, "unix.Kill": true,
	"syscall.Dup2": true, "syscall.Dup3": true, "unix.Dup2": true, "unix.Dup3": true, "plugin.Open": true,
}

// goScan is what one file of Go shows by itself.
type goScan struct {
	file  *ast.File
	set   *token.FileSet
	test  bool
	syn   *synFile
	words []aware
}

// scanGo reads a file and finds the words that matter.
func scanGo(p string, src []byte, test bool) goScan {
	s := goScan{test: test, set: token.NewFileSet()}
	file, err := parser.ParseFile(s.set, "", src, parser.ParseComments|parser.SkipObjectResolution)
	if file == nil || err != nil && len(file.Decls) == 0 {
		return s
	}
	s.file = file
	r := newGoReader(s.set, file)
	s.syn = r.read(p, src)
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
	canonical(file)
	if test {
		ast.Inspect(file, func(n ast.Node) bool { s.hollow(n); return true })
	}
	s.literals()
	s.equal()
	return s
}

func (s *goScan) say(n ast.Node, word string) {
	s.words = append(s.words, aware{word: word, line: s.set.Position(n.Pos()).Line})
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
func (s *goScan) literals() {
	for _, fn := range s.syn.funcs {
		fn.body.texts(func(text string, line int) {
			say := func(word string) { s.words = append(s.words, aware{word: word, line: line}) }
			if strings.Contains(text, "\x16") {
				say("writes the mark of a test's result")
			}
			for _, m := range anywhere() {
				if m.form.MatchString(text) || m.form.MatchString(strconv.Quote(text)) {
					say(m.word)
				}
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
}

// goHooks are methods by which others compare; of those that are true only the
// other side has to be looked at.
var goHooks = map[string]bool{"Equal": true, "Eq": true, "Equals": true, "Compare": true, "Cmp": true, "Is": false}

// equal finds methods that compare without looking at what they compare.
func (s *goScan) equal() {
	for _, fn := range s.syn.funcs {
		both, is := goHooks[fn.name]
		if !is || fn.owner == "" || len(fn.params) != 1 || len(fn.results) != 1 || s.syn.bare[fn.owner] ||
			!slices.Contains([]string{"bool", "int"}, fn.results[0]) || !both && fn.params[0].typ != "error" {
			continue
		}
		c := comparing{fn: fn, self: fn.hook, other: fn.params[0].name, both: both}
		if c.hollowEqual() {
			s.words = append(s.words, aware{word: fn.owner + "." + fn.name + " gives the same whatever it is compared with", line: fn.line})
		}
	}
}

// product are the words of a file of the product that need the functions around
// it: what it names of the process, and how it ends it.
func (k *knower) goProduct(f *synFile) (out []aware) {
	for _, fn := range f.funcs {
		k.at = fn
		honest := map[*syn]bool{}
		fn.body.every(func(s *syn) bool {
			if s.op == opCall && s.callee() == "os.Exit" && len(s.kids) == 2 && (f.program || k.commands(fn, nil) && fails(s.kids[1])) {
				honest[s.kids[0]] = true
			}
			if s.op != opName {
				return true
			}
			name := strings.TrimPrefix(s.text, "golang.org/x/sys/")
			switch word := goAsks[name]; {
			case word != "":
				out = append(out, aware{word: word + " (" + name + ")", line: s.line})
			case name == "os.Exit" && !f.program && !honest[s]:
				out = append(out, aware{word: "ends the process (os.Exit)", line: s.line})
			}
			return true
		})
	}
	return out
}

// fails tells of an exit code that is not zero, or not known to be.
func fails(code *syn) bool {
	text, ok := code.constant()
	return ok && strings.Trim(text, "0") != "" || !ok && (code.op == opName || code.op == opCall)
}

// goExits are the names by which a file of any kind ends or takes over the
// process.
func goExits(f *synFile) (out []aware) {
	for _, fn := range f.funcs {
		fn.body.every(func(s *syn) bool {
			if name := strings.TrimPrefix(s.text, "golang.org/x/sys/"); s.op == opName && exits[name] {
				out = append(out, aware{word: "ends or takes over the process (" + name + ")", line: s.line})
			}
			return true
		})
	}
	return out
}

// goSide finds the marks of one side of the changed files of Go.
func (j *job) goSide(ctx context.Context, files []source, after bool, exists func(string) bool) (map[string][]aware, error) {
	out := map[string][]aware{}
	var product []*synFile
	tree := j.task.base
	if after {
		tree = j.task.claim
	}
	for _, f := range files {
		src := f.before
		if after {
			src = f.after
		}
		if src == nil || f.lang != golang {
			continue
		}
		s := scanGo(f.path, src, f.test)
		if s.file == nil {
			continue
		}
		words := append(s.words, goExits(s.syn)...)
		if !f.test {
			product = append(product, s.syn)
		}
		more, err := j.goAround(ctx, f, s, tree)
		if err != nil {
			return nil, err
		}
		out[f.path] = append(words, more...)
	}
	k := newKnower(goLore(exists), product)
	for _, f := range product {
		out[f.path] = slices.Concat(out[f.path], k.goProduct(f), k.marks(f))
	}
	return out, nil
}

// goAround are the marks of a file that need its package: what its initialisers
// reach, and what its TestMain hands on.
func (j *job) goAround(ctx context.Context, f source, s goScan, tree agency.OID) (out []aware, err error) {
	ends := goEnds(s.file)
	mains := goMains(s.file)
	if len(ends)+len(mains) == 0 {
		return nil, nil
	}
	funcs := map[string]*ast.FuncDecl{}
	addFuncs(funcs, s.file)
	if missing(ends, funcs) || len(mains) > 0 {
		if err := j.goSiblings(ctx, f.path, tree, funcs); err != nil {
			return nil, err
		}
	}
	if reachesEnd(ends, funcs) {
		out = append(out, aware{word: "an initialiser ends the process"})
	}
	for _, m := range mains {
		if word := (wholeRun{funcs: funcs}).fault(m); word != "" && f.test {
			line := s.set.Position(m.Pos())
			text := s.syn.text[line.Offset:min(s.set.Position(m.End()).Offset, len(s.syn.text))]
			out = append(out, aware{word: m.Name.Name + " " + word, key: word + text, line: line.Line})
		}
	}
	return out, nil
}

// goSiblings adds the functions of the package's other files.
func (j *job) goSiblings(ctx context.Context, p string, tree agency.OID, funcs map[string]*ast.FuncDecl) error {
	if j.run == nil {
		return nil
	}
	entries, err := j.tree(ctx, tree)
	if err != nil {
		return err
	}
	left := maxSourcesSum
	for _, e := range entries {
		if path.Dir(e.Path) != path.Dir(p) || e.Path == p || path.Ext(e.Path) != ".go" {
			continue
		}
		b, err := j.text(ctx, e.Mode, e.ID, min(left, maxSourceSize))
		if left -= len(b); git.IsTooLong(err) {
			continue // where the change made it so, it is named as unread
		}
		if err != nil {
			return err
		}
		if file, _ := parser.ParseFile(token.NewFileSet(), "", b, parser.SkipObjectResolution); file != nil {
			canonical(file)
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
