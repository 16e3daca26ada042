package check

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// runner is a program that runs tests and can be asked for their names.
type runner string

// The runners that are known.
const (
	runGo       runner = "go test"
	runNode     runner = "node --test"
	runJest     runner = "jest"
	runVitest   runner = "vitest"
	runMocha    runner = "mocha"
	runPytest   runner = "pytest"
	runUnittest runner = "unittest"
	runCargo    runner = "cargo test"
	runNextest  runner = "cargo nextest"
	runMaven    runner = "maven"
	runGradle   runner = "gradle"
)

// call is a call of a runner whose output is the line's own.
type call struct {
	runner runner
	dir    string // working folder, relative to the checkout; "?" where unknown
	loop   bool   // it may run more than once
	stmt   *syntax.Stmt
	expr   *syntax.CallExpr
	words  []string // of the call, as they are written
	at     int      // index of the word that names the runner
	script string   // the package script through which it is called, else empty
	inner  []string // then the words of the runner in the script
	buried bool     // the script hands no arguments on to the runner
}

// unknownDir is the folder of a call after a cd that cannot be read.
const unknownDir = "?"

// repository is what is read of a checkout: package scripts.
type repository interface {
	// readFile gives a file's content, nil where there is none.
	readFile(name string) []byte
}

// findCalls finds the calls of runners in a line of shell whose output is the
// line's own: not in a pipe, a substitution, a function, in the background,
// redirected or negated. A line that is not shell has none.
func findCalls(line string, repo repository) []call {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil
	}
	f := finder{repo: repo}
	f.stmts(file.Stmts, place{dir: "."})
	return f.calls
}

type finder struct {
	repo   repository
	calls  []call
	goDirs []string // the folders of the calls of go test
}

// place is where in a line a statement stands.
type place struct {
	dir  string
	loop bool
}

// stmts visits statements in order and gives the folder that they end in.
func (f *finder) stmts(stmts []*syntax.Stmt, at place) place {
	for _, s := range stmts {
		at = f.stmt(s, at)
	}
	return at
}

func (f *finder) stmt(s *syntax.Stmt, at place) place {
	if s.Background || s.Coprocess || s.Negated || !onlyErrors(s.Redirs) {
		return at
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		return f.call(s, c, at)
	case *syntax.BinaryCmd:
		if c.Op == syntax.AndStmt || c.Op == syntax.OrStmt {
			return f.stmt(c.Y, f.stmt(c.X, at))
		}
	case *syntax.Subshell:
		f.stmts(c.Stmts, at)
	case *syntax.Block:
		return f.stmts(c.Stmts, at)
	case *syntax.ForClause:
		f.stmts(c.Do, place{dir: unknownDir, loop: true})
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			at = f.stmts(c.Then, f.stmts(c.Cond, at))
		}
	}
	return at
}

func (f *finder) call(s *syntax.Stmt, e *syntax.CallExpr, at place) place {
	words := make([]string, len(e.Args))
	for i, w := range e.Args {
		words[i] = wordText(w)
	}
	if len(words) > 0 && words[0] == "cd" {
		at.dir = changeDir(at.dir, words, e)
		return at
	}
	if _, ok := goTest(e); ok {
		f.goDirs = append(f.goDirs, at.dir)
		return at
	}
	c := call{dir: at.dir, loop: at.loop, stmt: s, expr: e, words: words}
	var ok bool
	if c.runner, c.at, ok = recognise(words); ok {
		f.calls = append(f.calls, c)
		return at
	}
	if found, ok := f.script(c); ok {
		f.calls = append(f.calls, found)
	}
	return at
}

func changeDir(dir string, words []string, e *syntax.CallExpr) string {
	if len(words) != 2 || dir == unknownDir || !literal(e.Args[1]) || path.IsAbs(words[1]) {
		return unknownDir
	}
	to := path.Join(dir, words[1])
	if to == ".." || strings.HasPrefix(to, "../") {
		return unknownDir
	}
	return to
}

// literal tells whether a word is written without anything to expand.
func literal(w *syntax.Word) bool {
	plain := true
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.ParamExp, *syntax.CmdSubst, *syntax.ArithmExp, *syntax.ProcSubst:
			plain = false
		}
		return plain
	})
	return plain
}

// recognise finds the runner that words start, behind the programs that only
// start others, and where in them its name stands.
func recognise(words []string) (runner, int, bool) {
	for i := 0; i < len(words); {
		if r, ok := known(words[i:]); ok {
			return r, i, true
		}
		skip := wrapper(words[i:])
		if skip == 0 {
			return "", 0, false
		}
		i += skip
	}
	return "", 0, false
}

// wrapper is how many words of a program that starts another one stand before
// the other; 0 where it is none.
func wrapper(w []string) int {
	n := 0
	switch base := path.Base(w[0]); base {
	case "env", "cross-env", "time", "nice", "c8", "nyc", "npx", "exec", "command":
		n = 1
	case "pnpm", "yarn", "npm", "bundle":
		if len(w) > 1 && w[1] == "exec" {
			n = 2
		} else if len(w) > 1 && (base == "yarn" || base == "pnpm") && isRunnerName(w[1]) {
			n = 1
		}
	case "uv", "poetry", "pipenv", "pdm", "rye", "hatch":
		if len(w) > 1 && w[1] == "run" {
			n = 2
		}
	case "timeout":
		n = 1
		for n < len(w) && strings.HasPrefix(w[n], "-") {
			n++
		}
		n++
	case "node":
		if len(w) > 1 && strings.Contains(w[1], "node_modules/") {
			n = 1
		}
	}
	if n == 0 {
		return 0
	}
	for n < len(w) && (strings.HasPrefix(w[n], "-") || isAssignment(w[n])) {
		if valued(w[n]) {
			n++
		}
		n++
	}
	return n
}

// valued tells the options of wrappers that take the next word.
func valued(w string) bool {
	switch w {
	case "--with", "--extra", "--group", "--python", "--package", "--prefix", "-C", "--dir", "--reporter", "-r", "-n", "-p":
		return true
	}
	return false
}

func isAssignment(w string) bool {
	name, _, ok := strings.Cut(w, "=")
	return ok && name != "" && !strings.ContainsAny(name, "/-. ")
}

func isRunnerName(w string) bool {
	switch path.Base(w) {
	case "jest", "vitest", "mocha", "_mocha":
		return true
	}
	return false
}

// known reads words as the call of a runner that runs tests; one that only
// lists or watches them is none.
func known(w []string) (runner, bool) {
	switch base := strings.TrimSuffix(path.Base(w[0]), ".js"); {
	case base == "jest":
		return runJest, !has(w, "--listTests", "--watch", "--watchAll", "--showConfig", "--version", "--help", "--json")
	case base == "vitest" || base == "vitest.mjs":
		return runVitest, !has(w, "watch", "dev", "bench", "list", "--watch", "-w", "--ui", "--help", "--version")
	case base == "mocha" || base == "_mocha":
		return runMocha, !has(w, "--watch", "-w", "--list-files", "--reporter", "-R", "--help", "--version", "--list-reporters")
	case base == "pytest" || base == "py.test":
		return runPytest, !has(w, "--collect-only", "--co", "--fixtures", "--markers", "--version", "-h", "--help")
	case isPython(base), base == "coverage" && len(w) > 1 && w[1] == "run":
		return pythonRunner(w)
	case base == "node" || base == "tsx":
		return runNode, nodeTest(w)
	case base == "cargo":
		return cargoRunner(w)
	case base == "mvn" || base == "mvnw" || base == "mvnd":
		return runMaven, has(w[1:], "test", "verify", "package", "install", "integration-test") && !has(w, "-DskipTests", "-Dmaven.test.skip", "-Dmaven.test.skip=true", "-DskipTests=true")
	case base == "gradle" || base == "gradlew":
		return runGradle, gradleTests(w[1:]) && !has(w, "--dry-run", "-m")
	}
	return "", false
}

func isPython(base string) bool {
	rest, ok := strings.CutPrefix(base, "python")
	return ok && strings.Trim(rest, "0123456789.") == ""
}

// pythonRunner reads `python [flags] -m pytest|unittest` and the same under
// coverage.
func pythonRunner(w []string) (runner, bool) {
	switch at := moduleOf(w); {
	case at == 0:
		return "", false
	case w[at] == "pytest", w[at] == "py.test":
		return runPytest, !has(w, "--collect-only", "--co", "--version", "-h", "--help")
	case w[at] == "unittest":
		return runUnittest, !has(w[at:], "-h", "--help")
	}
	return "", false
}

// moduleOf is the index of the module that Python, or coverage in front of it,
// runs; 0 where it runs none.
func moduleOf(w []string) int {
	at := moduleAt(w)
	if at == 0 && path.Base(w[0]) == "coverage" {
		at = slices.Index(w, "-m") + 1
	} else if at > 0 && w[at] == "coverage" {
		if i := slices.Index(w[at:], "-m"); i > 0 {
			at += i + 1
		}
	}
	if at >= len(w) {
		return 0
	}
	return at
}

// moduleAt is the index of the module that a call of Python runs, 0 where it
// runs none.
func moduleAt(w []string) int {
	for i := 1; i+1 < len(w) && strings.HasPrefix(w[i], "-"); i++ {
		switch w[i] {
		case "-m":
			return i + 1
		case "-c":
			return 0
		case "-W", "-X":
			i++
		}
	}
	return 0
}

// nodeTest tells whether --test stands before the first file.
func nodeTest(w []string) bool {
	for _, a := range w[1:] {
		if a == "--test" {
			return !has(w, "--watch")
		}
		if !strings.HasPrefix(a, "-") && !strings.HasPrefix(a, ".") && a != "tsx" && a != "ts-node/esm" {
			return false
		}
	}
	return false
}

func cargoRunner(w []string) (runner, bool) {
	args := w[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "+") {
		args = args[1:]
	}
	switch {
	case len(args) == 0 || has(args, "--no-run", "--help", "-h", "--list", "--message-format", "-q", "--quiet", "--format", "--nocapture", "--no-capture", "--show-output"):
		return "", false
	case args[0] == "test" || args[0] == "t":
		return runCargo, true
	case args[0] == "nextest" && len(args) > 1 && (args[1] == "run" || args[1] == "r"):
		return runNextest, true
	}
	return "", false
}

func gradleTests(args []string) bool {
	for _, a := range args {
		task := a[strings.LastIndexByte(a, ':')+1:]
		if task == "test" || task == "check" || task == "build" || strings.HasSuffix(task, "Test") {
			return true
		}
	}
	return false
}

// has tells whether one of names is among words, alone or with a value.
func has(words []string, names ...string) bool {
	for _, w := range words {
		for _, n := range names {
			if w == n || (strings.HasPrefix(n, "--") && strings.HasPrefix(w, n+"=")) {
				return true
			}
		}
	}
	return false
}
