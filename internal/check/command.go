package check

import (
	"fmt"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"agency/internal/agency"
)

// Command is one line of shell with what it is for.
type Command struct {
	Kind    agency.CheckKind `json:"kind"`
	Line    string           `json:"line"`
	Timeout time.Duration    `json:"timeout,omitempty"` // zero: DefaultTimeout
}

// DefaultTimeout is how long a check may take (DESIGN 15).
const DefaultTimeout = 1800 * time.Second

// Commands are a repository's own. An empty one does not exist.
type Commands struct {
	Setup          string `json:"setup,omitempty"`
	Build          string `json:"build,omitempty"`
	Typecheck      string `json:"typecheck,omitempty"`
	Lint           string `json:"lint,omitempty"`
	Test           string `json:"test,omitempty"`
	TimeoutSeconds int    `json:"timeout_seconds,omitempty"` // of one command; zero: DefaultTimeout
}

// Command is the command of a kind; its Line is empty where there is none.
func (c Commands) Command(kind agency.CheckKind) Command {
	line := map[agency.CheckKind]string{
		agency.CheckSetup: c.Setup, agency.CheckBuild: c.Build, agency.CheckTypecheck: c.Typecheck,
		agency.CheckLint: c.Lint, agency.CheckTest: c.Test,
	}[kind]
	return Command{Kind: kind, Line: strings.TrimSpace(line), Timeout: c.timeout()}
}

// Kinds are those of the commands that there are, in the order in which they run.
func (c Commands) Kinds() (kinds []agency.CheckKind) {
	for _, k := range []agency.CheckKind{agency.CheckSetup, agency.CheckBuild, agency.CheckTypecheck, agency.CheckLint, agency.CheckTest} {
		if c.Command(k).Line != "" {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

func (c Commands) timeout() time.Duration {
	if c.TimeoutSeconds > 0 {
		return time.Duration(c.TimeoutSeconds) * time.Second
	}
	return DefaultTimeout
}

// GoTest tells whether every test that the line runs is run by a plain
// `go test`, so that its results are known by name.
func GoTest(line string) bool {
	_, n := instrument(line)
	return n > 0
}

// instrument adds -json and -count=1 to each plain `go test` of a line and
// tells how many there are. Everything else stays as it is, byte for byte.
func instrument(line string) (string, int) {
	calls := goTests(line)
	var b strings.Builder
	at := 0
	for _, c := range calls {
		b.WriteString(line[at:c.after])
		if !c.json {
			b.WriteString(" -json")
		}
		b.WriteString(" -count=1")
		at = c.after
	}
	b.WriteString(line[at:])
	return b.String(), len(calls)
}

// goCall is one plain `go test` of a line.
type goCall struct {
	start    int // offset of the call, with its assignments
	after    int // offset behind the word test
	end      int // offset behind the call
	json     bool
	selects  bool   // it has a -run, -skip, -bench or -fuzz of its own
	packages []span // the words that name packages
}

type span struct{ from, to int }

// goTests finds the calls of `go test` whose standard output is the line's own:
// not in a pipe, a substitution, a function, in the background, redirected or
// negated. A line that is not shell has none.
func goTests(line string) []goCall {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil
	}
	var out []goCall
	walkStmts(file.Stmts, func(call *syntax.CallExpr) {
		if c, ok := goTest(call); ok {
			out = append(out, c)
		}
	})
	return out
}

// walkStmts visits, in the order of the text, the calls whose output is the
// line's own.
func walkStmts(stmts []*syntax.Stmt, visit func(*syntax.CallExpr)) {
	for _, s := range stmts {
		if s.Background || s.Coprocess || s.Negated || !onlyErrors(s.Redirs) {
			continue
		}
		switch c := s.Cmd.(type) {
		case *syntax.CallExpr:
			visit(c)
		case *syntax.BinaryCmd:
			if c.Op == syntax.AndStmt || c.Op == syntax.OrStmt {
				walkStmts([]*syntax.Stmt{c.X, c.Y}, visit)
			}
		case *syntax.Subshell:
			walkStmts(c.Stmts, visit)
		case *syntax.Block:
			walkStmts(c.Stmts, visit)
		case *syntax.ForClause:
			walkStmts(c.Do, visit)
		case *syntax.IfClause:
			for ; c != nil; c = c.Else {
				walkStmts(c.Cond, visit)
				walkStmts(c.Then, visit)
			}
		}
	}
}

// onlyErrors tells whether redirections leave standard output alone.
func onlyErrors(redirs []*syntax.Redirect) bool {
	for _, r := range redirs {
		if r.N == nil || r.N.Value != "2" {
			return false
		}
	}
	return true
}

// goTest reads a call as `[env] [NAME=VALUE...] go test ...`. A call that lists
// or only compiles tests, or asks for its own form of output, is none.
func goTest(call *syntax.CallExpr) (goCall, bool) {
	args := call.Args
	if len(args) > 0 && args[0].Lit() == "env" {
		args = args[1:]
		for len(args) > 0 && strings.Contains(wordText(args[0]), "=") {
			args = args[1:]
		}
	}
	if len(args) < 2 || args[0].Lit() != "go" || args[1].Lit() != "test" {
		return goCall{}, false
	}
	c := goCall{start: int(call.Pos().Offset()), after: int(args[1].End().Offset()), end: int(call.End().Offset())}
	for i, a := range args[2:] {
		word := wordText(a)
		name, isFlag := flagName(word)
		switch {
		case name == "args":
			return c, true
		case name == "json":
			c.json = true
		case name == "run", name == "skip", name == "bench", name == "fuzz":
			c.selects = true
		case name == "c", name == "list", name == "h", name == "n", name == "o":
			return goCall{}, false
		case !isFlag && !takesValue(args[2:], i):
			c.packages = append(c.packages, span{int(a.Pos().Offset()), int(a.End().Offset())})
		}
	}
	return c, true
}

// takesValue tells whether word i is the value of the flag before it: -run X.
func takesValue(words []*syntax.Word, i int) bool {
	if i == 0 {
		return false
	}
	prev := wordText(words[i-1])
	name, isFlag := flagName(prev)
	return isFlag && !strings.Contains(prev, "=") && valueFlags[name]
}

// valueFlags are the flags of `go test` that take their value as the next word.
var valueFlags = map[string]bool{
	"run": true, "skip": true, "bench": true, "benchtime": true, "count": true, "cpu": true, "timeout": true,
	"parallel": true, "p": true, "shuffle": true, "tags": true, "fuzz": true, "fuzztime": true, "fuzzminimizetime": true,
	"covermode": true, "coverpkg": true, "coverprofile": true, "cpuprofile": true, "memprofile": true, "blockprofile": true,
	"mutexprofile": true, "trace": true, "outputdir": true, "vet": true, "exec": true, "ldflags": true, "gcflags": true,
	"asmflags": true, "mod": true, "modfile": true, "overlay": true, "pkgdir": true, "toolexec": true, "C": true,
	"blockprofilerate": true, "memprofilerate": true, "mutexprofilefraction": true, "gocoverdir": true, "testlogfile": true,
}

// flagName is the name of a flag word without dashes, value and the prefix
// test.; false for a word that is no flag.
func flagName(word string) (string, bool) {
	if !strings.HasPrefix(word, "-") {
		return "", false
	}
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	return strings.TrimPrefix(name, "test."), true
}

// wordText is the beginning of a word that is written as such.
func wordText(w *syntax.Word) string {
	var b strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				if l, ok := q.(*syntax.Lit); ok {
					b.WriteString(l.Value)
				}
			}
		}
	}
	return b.String()
}

// Narrow makes a test line run only a part: target is a package pattern
// (./internal/x), a test's name (TestParse, TestParse/case), or both separated
// by a space. Only a line that is one plain `go test` can be narrowed.
func Narrow(line, target string) (string, error) {
	target = strings.TrimSpace(target)
	if target == "" {
		return line, nil
	}
	calls := goTests(line)
	if len(calls) != 1 || calls[0].selects {
		return "", agency.Errorf(agency.KindInvalid, "target %q: the test command `%s` cannot be narrowed", target, line).
			WithMend("leave target out, or use run_command")
	}
	var pkgs, tests []string
	for _, f := range strings.Fields(target) {
		if isTestName(f) {
			tests = append(tests, f)
		} else {
			pkgs = append(pkgs, f)
		}
	}
	for _, p := range pkgs {
		if strings.HasPrefix(p, "-") {
			return "", agency.Errorf(agency.KindInvalid, "target %q: %s is a flag; want a package or a test's name", target, p)
		}
	}
	c := calls[0]
	return line[:c.start] + c.narrow(line, pkgs, tests) + line[c.end:], nil
}

// narrow is the call's own text, for these packages and tests only.
func (c goCall) narrow(line string, pkgs, tests []string) string {
	var b strings.Builder
	b.WriteString(line[c.start:c.after])
	if len(tests) > 0 {
		fmt.Fprintf(&b, " -run %s", quote(RunPattern(tests)))
	}
	at := c.after
	for i, s := range c.packages {
		if len(pkgs) == 0 {
			break
		}
		b.WriteString(line[at:s.from])
		if i == 0 {
			b.WriteString(quoteAll(pkgs))
		}
		at = s.to
	}
	b.WriteString(line[at:c.end])
	if len(pkgs) > 0 && len(c.packages) == 0 {
		b.WriteString(" " + quoteAll(pkgs))
	}
	return b.String()
}

// isTestName tells a test's name from a package.
func isTestName(s string) bool {
	for _, p := range []string{"Test", "Example", "Fuzz", "Benchmark"} {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

func quoteAll(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = quote(w)
	}
	return strings.Join(out, " ")
}

// quote makes one word of shell.
func quote(s string) string {
	q, err := syntax.Quote(s, syntax.LangPOSIX)
	if err != nil { // a NUL, or a character that POSIX cannot quote
		return "'" + strings.ReplaceAll(strings.ReplaceAll(s, "\x00", ""), "'", `'\''`) + "'"
	}
	return q
}
