package check

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"agency/internal/ecosystem"
	"agency/internal/languages"
	"agency/internal/text"
)

// runners are those that are known, in the order in which they are asked.
var runners = sync.OnceValue(func() (out []*ecosystem.Runner) {
	for _, language := range languages.All() {
		for _, r := range language.Runners {
			out = append(out, &r)
		}
	}
	return out
})

// launchers are those of the languages that have some.
var launchers = sync.OnceValue(func() (out []ecosystem.Launchers) {
	for _, language := range languages.All() {
		if language.Launchers.Launches != nil {
			out = append(out, language.Launchers)
		}
	}
	return out
})

// call is a call of a runner whose output is the line's own.
type call struct {
	ecosystem.Call
	runner *ecosystem.Runner
	expr   *syntax.CallExpr
}

// callOf is a call as its runner reads it.
func (f *finder) callOf(s *syntax.Stmt, e *syntax.CallExpr, at position) call {
	from, to := int(e.Pos().Offset()), int(e.End().Offset())
	c := call{Call: ecosystem.Call{Text: f.line[from:to], From: from, Dir: at.dir, Loop: at.loop, Redirected: len(s.Redirs) > 0}, expr: e}
	for _, w := range e.Args {
		c.Words = append(c.Words, ecosystem.WordText(w))
		quoted := !slices.ContainsFunc(w.Parts, func(p syntax.WordPart) bool {
			_, plain := p.(*syntax.Lit)
			return plain
		})
		c.Args = append(c.Args, ecosystem.Word{From: int(w.Pos().Offset()), To: int(w.End().Offset()), Quoted: quoted})
	}
	return c
}

// findCalls finds the calls of runners in a line of shell whose output is the
// line's own: not in a pipe, a substitution, a function, in the background,
// redirected or negated. A line that is not shell has none.
func findCalls(line string, repo ecosystem.Repo) []call {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil
	}
	f := finder{repo: repo, line: line}
	f.stmts(file.Stmts, position{dir: "."})
	return f.calls
}

// Building is a line that builds what the tests of another need and runs none of them.
// False where that other one does anything besides calling one runner, or its runner
// cannot be told.
func Building(line string, repo fs.FS) (string, bool) {
	calls := findCalls(line, ecosystem.Repo{FS: repo})
	if len(calls) != 1 || calls[0].Text != strings.TrimSpace(line) || calls[0].runner.Build == nil {
		return "", false
	}
	edits := calls[0].runner.Build(calls[0].Call)
	return apply(line, edits), len(edits) > 0
}

// directly filters calls by whether their results are what they print.
func directly(calls []call, want bool) []call {
	return slices.DeleteFunc(slices.Clone(calls), func(c call) bool { return c.runner.Direct != want })
}

type finder struct {
	repo  ecosystem.Repo
	line  string // that is read
	calls []call
}

// position is where in a line a statement stands.
type position struct {
	dir  string
	loop bool
}

// stmts visits statements in order and gives the folder that they end in.
func (f *finder) stmts(stmts []*syntax.Stmt, at position) position {
	for _, s := range stmts {
		at = f.stmt(s, at)
	}
	return at
}

func (f *finder) stmt(s *syntax.Stmt, at position) position {
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
		f.stmts(c.Do, position{dir: ecosystem.UnknownDir, loop: true})
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			at = f.stmts(c.Then, f.stmts(c.Cond, at))
		}
	}
	return at
}

func (f *finder) call(s *syntax.Stmt, e *syntax.CallExpr, at position) position {
	c := f.callOf(s, e, at)
	if len(c.Words) > 0 && c.Words[0] == "cd" {
		at.dir = changeDir(at.dir, c.Words, e)
		return at
	}
	if c.recognise(); c.runner != nil {
		f.calls = append(f.calls, c)
		return at
	}
	if found, ok := f.script(c); ok {
		f.calls = append(f.calls, found)
	}
	return at
}

func changeDir(dir string, words []string, e *syntax.CallExpr) string {
	if len(words) != 2 || dir == ecosystem.UnknownDir || !literal(e.Args[1]) || path.IsAbs(words[1]) {
		return ecosystem.UnknownDir
	}
	to := path.Join(dir, words[1])
	if to == ".." || strings.HasPrefix(to, "../") {
		return ecosystem.UnknownDir
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

// recognise finds the runner that a call starts, behind the programs that only start
// others, and where its name stands.
func (c *call) recognise() {
	at := 0
	if len(c.Words) > 0 && c.expr.Args[0].Lit() == "env" {
		for at = 1; at < len(c.Words) && strings.Contains(c.Words[at], "="); at++ {
		}
	}
	plain := len(c.Words) > at+1 && c.expr.Args[at].Lit() != "" && c.expr.Args[at+1].Lit() != ""
	for _, r := range runners() {
		if plain && r.Direct && r.Runs(c.Words[at:]) {
			c.runner, c.At = r, at
			return
		}
	}
	for i := 0; i < len(c.Words); {
		for _, r := range runners() {
			if !r.Direct && r.Runs(c.Words[i:]) {
				c.runner, c.At = r, i
				return
			}
		}
		skip := wrapper(c.Words[i:])
		if skip == 0 {
			return
		}
		i += skip
	}
}

// wrapper is how many words of a program that starts another one stand before
// the other; 0 where it is none.
func wrapper(w []string) int {
	n := 0
	switch path.Base(w[0]) {
	case "env", "time", "nice", "exec", "command":
		n = 1
	case "timeout":
		n = 1
		for n < len(w) && strings.HasPrefix(w[n], "-") {
			n++
		}
		n++
	default:
		n = launched(w)
	}
	if n == 0 {
		return 0
	}
	for n < len(w) && (strings.HasPrefix(w[n], "-") || isAssignment(w[n])) {
		if valued[w[n]] {
			n++
		}
		n++
	}
	return n
}

// launched is how many words name a program of a language that starts another one.
func launched(w []string) (n int) {
	for _, p := range launchers() {
		n = max(n, p.Launches(w))
	}
	return n
}

// valued are the options of wrappers that take the next word.
var valued = set("--with", "--extra", "--group", "--python", "--package", "--prefix", "-C", "--dir", "--reporter", "-r", "-n", "-p")

func isAssignment(w string) bool {
	name, _, ok := strings.Cut(w, "=")
	return ok && name != "" && !strings.ContainsAny(name, "/-. ")
}

// maxScripts bounds how deep package scripts that call each other are read.
const maxScripts = 5

// script follows `npm test`, `yarn run x` and their like into package.json. A
// script counts as a call of the runner in it; one that runs several runners
// only where they take their orders from the environment.
func (f *finder) script(c call) (call, bool) {
	if c.Dir == ecosystem.UnknownDir {
		return c, false
	}
	name, at, ok := f.scriptName(c.Words, c.Dir)
	if !ok {
		return c, false
	}
	inner, ok := f.scriptRunner(c.Dir, name, maxScripts)
	if !ok {
		return c, false
	}
	c.runner, c.At, c.Script, c.Inner, c.Buried = inner.runner, at, name, inner.Words[inner.At:], inner.Buried
	return c, true
}

// scriptRunner is the runner of a script.
func (f *finder) scriptRunner(dir, name string, depth int) (call, bool) {
	if depth == 0 {
		return call{}, false
	}
	line := f.scripts(dir)[name]
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
	if err != nil || len(file.Stmts) == 0 {
		return call{}, false
	}
	inside := finder{repo: f.repo, line: line}
	inside.stmts(file.Stmts, position{dir: dir})
	last := lastCall(file.Stmts[len(file.Stmts)-1])
	env := true
	calls := directly(inside.calls, false)
	for _, c := range calls {
		env = env && c.runner.ByEnvironment
	}
	n := len(calls)
	if n == 0 || n > 1 && !env {
		return call{}, false
	}
	c := calls[n-1]
	c.Buried = c.Buried || c.expr != last
	if c.Script != "" { // a script that calls a script: its words, as if they stood here
		// npm takes options that follow a script's name for its own.
		c.Buried = c.Buried || path.Base(c.Words[0]) == "npm" && !slices.Contains(c.Words[c.At:], "--")
		c.Words, c.At = c.Inner, 0
	}
	return c, true
}

// lastCall is the call to which words at the end of a script belong.
func lastCall(s *syntax.Stmt) *syntax.CallExpr {
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		return c
	case *syntax.BinaryCmd:
		if c.Op == syntax.AndStmt || c.Op == syntax.OrStmt {
			return lastCall(c.Y)
		}
	}
	return nil
}

// scriptName is the package script that words start in a folder, and the index of
// the last word that names it.
func (f *finder) scriptName(words []string, dir string) (name string, at int, ok bool) {
	for _, p := range launchers() {
		if p.ScriptName != nil && !ok {
			name, at, ok = p.ScriptName(words, f.scripts(dir))
		}
	}
	return name, at, ok
}

// scripts are the package scripts of a folder.
func (f *finder) scripts(dir string) map[string]string {
	out := map[string]string{}
	for _, p := range launchers() {
		if p.Scripts != nil && dir != ecosystem.UnknownDir {
			maps.Copy(out, p.Scripts(f.repo.Text(path.Join(dir, p.Manifest))))
		}
	}
	return out
}

// shells are programs whose first word that is no option is a file that they read.
var shells = set("sh", "bash", "dash", "ksh", "zsh")

// interpreters do so where their first word is no option.
var interpreters = set("python", "python3", "node", "ruby", "perl", "php")

// files notes what a call reads and that is not there: the script of a shell or another
// interpreter, the makefile, the script of a package.
func (n *needs) files(w []string, dir string, sure bool) {
	args := w[1:]
	switch base := path.Base(w[0]); {
	case shells[base]:
		for len(args) > 0 && strings.HasPrefix(args[0], "-") && strings.Trim(args[0], "-eux") == "" {
			args = args[1:]
		}
		n.first(args, dir, sure)
	case interpreters[base] && len(args) > 0 && path.Ext(args[0]) != "":
		n.first(args, dir, sure)
	case base == "make" && !slices.ContainsFunc(args, func(a string) bool {
		return strings.HasPrefix(a, "-") && a != "-C" && a != "-s" && a != "-B" && a != "-k"
	}):
		n.makefile(args, folderOf(w, dir), sure)
	}
}

func (n *needs) first(args []string, dir string, sure bool) {
	if len(args) > 0 && args[0] != "" && !strings.HasPrefix(args[0], "-") {
		n.file(args[0], dir, sure, false)
	}
}

// file notes a file of the repository that is not there, or cannot be run, where nothing before
// in the line may have made it; -1: it is there, or nobody knows.
func (n *needs) file(name, dir string, sure, runs bool) int {
	at := path.Join(dir, name)
	if !sure || !n.plain || n.ran || dir == ecosystem.UnknownDir || path.IsAbs(name) || !fs.ValidPath(at) || strings.ContainsAny(name, "*?[{~$") {
		return -1
	}
	f := Need{Kind: NeedFile, Own: true, Need: ecosystem.Need{Name: at, Dir: "."}}
	switch info, err := fs.Stat(n.find.repo.FS, at); {
	case errors.Is(err, fs.ErrNotExist):
		f.What, f.Mend = at+" is not there", "write and commit it, or set "+n.key()+" to what is there"
	case err == nil && runs && info.Mode().IsRegular() && info.Mode().Perm()&0o111 == 0:
		f.What, f.Mend = at+" is not executable", "chmod +x "+ecosystem.Quote(at)+", git update-index --chmod=+x "+ecosystem.Quote(at)+", and commit"
	default:
		return -1
	}
	return n.add(f, sure)
}

// key is where the command is configured.
func (n *needs) key() string { return "commands." + string(n.kind) + " in agency.yaml" }

// makefile notes that there is none, where make does not know by itself how its targets are made.
func (n *needs) makefile(args []string, dir string, sure bool) {
	if !sure || !n.plain || n.ran || dir == ecosystem.UnknownDir {
		return
	}
	looked := []string{"GNUmakefile", "makefile", "Makefile"}
	for _, a := range args {
		looked = append(looked, a+".*")
	}
	for _, name := range looked {
		if found, err := fs.Glob(n.find.repo.FS, path.Join(dir, name)); err != nil || len(found) > 0 {
			return
		}
	}
	at := path.Join(dir, "Makefile")
	n.add(Need{
		Kind: NeedFile, Own: true, Need: ecosystem.Need{Name: at, In: "make", Dir: "."},
		What: at + " is not there", Mend: "write and commit it, or set " + n.key() + " to what is there",
	}, sure)
}

// packageScript notes that a manifest does not have the script that its manager is to run,
// and nothing else.
func (n *needs) packageScript(w []string, name, dir string, sure bool) {
	if !n.plain || n.ran || !sure || dir == ecosystem.UnknownDir || slices.ContainsFunc(w, func(a string) bool { return strings.HasPrefix(a, "-") && a != "--" }) {
		return
	}
	for _, of := range launchers() {
		if of.OnlyScript == nil || !of.OnlyScript(path.Base(w[0]), name) {
			continue
		}
		manifest, scripts := path.Join(dir, of.Manifest), n.find.scripts(dir)
		said := n.find.repo.Text(manifest)
		f := Need{Kind: NeedFile, Own: true, Need: ecosystem.Need{Name: name, In: manifest, Dir: "."}, Mend: "write the script, or set " + n.key() + " to one that is there"}
		_, there := scripts[name]
		switch {
		case there || len(said) == 0 && dir != ".": // a manager looks above
			return
		case len(said) == 0:
			f.What = manifest + " is not there"
		default:
			f.What = manifest + " has no script " + name
			if have := slices.Sorted(maps.Keys(scripts)); len(have) > 0 {
				f.What += ", only " + text.Few(have, 6)
			}
		}
		n.add(f, sure)
	}
}
