package check

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"agency/internal/agency"
	"agency/internal/ecosystem"
)

// NeedKind says where a program is looked for.
type NeedKind int

// The kinds of programs.
const (
	NeedProgram NeedKind = iota // in PATH, or at the path that its name is
	NeedBin                     // of a package of JavaScript: in a node_modules/.bin from Dir upward, or in PATH
	NeedModule                  // of Python: what -m of the interpreter In names
)

// Need is a program without which a command cannot do its work.
type Need struct {
	Kind NeedKind
	ecosystem.Need
	// Command and Line are the first command that starts it; Script is the
	// package script in between: "script test of web/package.json".
	Command agency.CheckKind
	Line    string
	Script  string
	// After are the places, in the list, of earlier needs that may have installed
	// this one: it is certainly missing only where none of them can run.
	After []int
}

// Needs are the programs that the commands of a checkout certainly start, in the
// order setup, build, typecheck, lint, test, each once a command. What a shell
// decides only while it reads the line is left out, and so is whatever an earlier
// call may have installed that is no need itself: what remains fails where it
// and its After are missing.
func Needs(cmds Commands, repo fs.FS) []Need { return readCommands(cmds, repo).found }

func readCommands(cmds Commands, repo fs.FS) needs {
	n := needs{find: finder{repo: ecosystem.Repo{FS: repo}}}
	for _, kind := range cmds.Kinds() {
		n.kind, n.line, n.unsure = kind, cmds.Command(kind).Line, false
		n.read(n.line, ".")
	}
	return n
}

// needs reads commands in the order in which they run.
type needs struct {
	find  finder
	found []Need

	kind   agency.CheckKind
	line   string
	script string // that is read; empty: the command's own line
	depth  int

	begun []Start

	unsure    bool // the line says itself where programs lie
	installed bool // an earlier call may have installed some
	// after are the needs whose programs may have installed some.
	after []int
}

// read reads a line that starts in a folder.
func (n *needs) read(line, dir string) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
	if err != nil {
		n.installed = true
		return
	}
	n.stmts(file.Stmts, dir)
}

// stmts reads a list: only its last statement decides how it ends.
func (n *needs) stmts(stmts []*syntax.Stmt, dir string) string {
	for i, s := range stmts {
		dir = n.stmt(s, dir, i == len(stmts)-1)
	}
	return dir
}

// stmt reads a statement; one that may fail or never run is only looked at for
// what it changes.
func (n *needs) stmt(s *syntax.Stmt, dir string, decides bool) string {
	if s.Background || s.Coprocess || s.Negated {
		decides = false
	}
	switch c := s.Cmd.(type) {
	case nil:
		return dir
	case *syntax.CallExpr:
		return n.call(c, dir, decides)
	case *syntax.BinaryCmd:
		switch c.Op {
		case syntax.AndStmt:
			return n.stmt(c.Y, n.stmt(c.X, dir, decides), decides)
		case syntax.OrStmt:
			return n.stmt(c.Y, n.stmt(c.X, dir, false), false)
		}
		n.stmt(c.X, dir, decides)
		n.stmt(c.Y, dir, decides)
		return dir
	case *syntax.Subshell:
		was := n.unsure
		if decides {
			n.stmts(c.Stmts, dir)
		} else {
			n.doubt(c)
		}
		n.unsure = was
		return dir
	case *syntax.Block:
		if decides {
			return n.stmts(c.Stmts, dir)
		}
	}
	n.doubt(s.Cmd)
	return ecosystem.UnknownDir
}

// doubt looks at what may run for what it changes.
func (n *needs) doubt(at syntax.Node) {
	syntax.Walk(at, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.FuncDecl, *syntax.DeclClause:
			n.unsure = true
		case *syntax.CallExpr:
			n.call(node, ecosystem.UnknownDir, false)
		}
		return true
	})
}

// call reads one call and gives the folder that comes after it.
func (n *needs) call(e *syntax.CallExpr, dir string, decides bool) string {
	words, plain := plainWords(e)
	for _, a := range e.Assigns {
		switch {
		case a.Name == nil || a.Name.Value != "PATH" && a.Name.Value != "NODE_PATH" && a.Name.Value != "PYTHONPATH":
		case len(words) == 0:
			n.unsure = true
		default:
			decides = false
		}
	}
	if len(words) == 0 {
		return dir
	}
	switch words[0] {
	case "cd":
		return changeDir(dir, words, e)
	case ".", "source", "eval", "alias", "hash", "unset", "pushd", "popd":
		n.unsure = true
		return dir
	case "export":
		n.unsure = n.unsure || slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "PATH=") })
		return dir
	}
	if words = started(words); len(words) == 0 || builtins[words[0]] {
		return dir
	}
	n.starts(words, dir, decides && plain && !n.unsure)
	return dir
}

// plainWords are the words of a call; false where its program is only known
// when it runs.
func plainWords(e *syntax.CallExpr) (words []string, plain bool) {
	for _, a := range e.Args {
		words = append(words, ecosystem.WordText(a))
	}
	return words, len(words) > 0 && words[0] != "" && literal(e.Args[0]) && !strings.ContainsAny(words[0], "~*?[{")
}

// started takes away what only starts a program: env, exec, timeout. None are
// left where it cannot be told what is started.
func started(w []string) []string {
	for len(w) > 0 {
		switch w[0] {
		case "env":
			for w = w[1:]; len(w) > 0 && isAssignment(w[0]); w = w[1:] {
				if strings.HasPrefix(w[0], "PATH=") {
					return nil
				}
			}
		case "exec", "command", "nohup", "time", "nice":
			w = w[1:]
		case "timeout":
			for w = w[1:]; len(w) > 0 && strings.HasPrefix(w[0], "-"); w = w[1:] {
			}
			w = w[min(1, len(w)):]
		default:
			return w
		}
		if len(w) > 0 && strings.HasPrefix(w[0], "-") {
			return nil
		}
	}
	return nil
}

// builtins are words that a shell knows by itself, and no program of anyone's.
var builtins = set(":", "[", "bg", "break", "continue", "echo", "exit", "false", "fg", "getopts", "jobs", "kill", "printf", "pwd",
	"read", "readonly", "return", "set", "shift", "test", "times", "trap", "true", "type", "ulimit", "umask", "wait")

// toolchains are programs that nothing installs beside packages.
var toolchains = set("go", "cargo", "rustc", "mvn", "gradle", "java", "javac", "node", "npm", "npx", "make", "cmake", "ninja", "meson",
	"dotnet", "mix", "swift", "zig", "deno", "bun", "bundle", "composer", "php", "ruby", "gcc", "cc", "clang", "bazel")

// harmless are programs that install nothing, for all that is usual.
var harmless = set("go", "cargo", "rustc", "mvn", "mvnw", "gradle", "gradlew", "java", "javac", "node", "npx", "tsc", "eslint", "prettier",
	"jest", "vitest", "mocha", "tape", "tap", "ava", "c8", "nyc", "cross-env", "pytest", "py.test", "ruff", "mypy", "flake8", "pylint", "black",
	"golangci-lint", "staticcheck", "gofmt", "gofumpt", "gotestsum", "mkdir", "rm", "cp", "mv", "ls", "cat", "grep", "sed", "head", "tail", "tee", "sleep", "env")

func set(words ...string) map[string]bool {
	out := make(map[string]bool, len(words))
	for _, w := range words {
		out[w] = true
	}
	return out
}

// starts notes what a call of a program needs.
func (n *needs) starts(w []string, dir string, sure bool) {
	base := path.Base(w[0])
	n.note(w, dir)
	switch name, _, ok := n.find.scriptName(w, dir); {
	case ok:
		n.program(w[0], dir, sure)
		n.follow(base, name, dir, sure)
		return
	case isPython(base):
		n.program(w[0], dir, sure)
		n.module(w, dir, sure)
		return
	case base == "npx" || len(w) > 2 && w[1] == "exec" && (base == "npm" || base == "pnpm" || base == "yarn"):
		n.program(w[0], dir, sure)
		n.fetched(w, dir, sure)
		return
	case (base == "yarn" || base == "pnpm") && launched(w) == 1:
		n.program(w[0], dir, sure)
		n.add(Need{Kind: NeedBin, Need: ecosystem.Need{Name: w[1], Dir: dir}}, sure)
		return
	}
	at := n.program(w[0], dir, sure)
	if base == "cargo" && len(w) > 1 && extraCargo[w[1]] {
		n.program("cargo-"+w[1], dir, sure)
	}
	if base == "cross-env" {
		rest := w[1:]
		for len(rest) > 0 && isAssignment(rest[0]) {
			rest = rest[1:]
		}
		if len(rest) > 0 {
			n.starts(rest, dir, sure)
		}
		return
	}
	switch {
	case harmless[base] && !installs(w):
	case at < 0:
		n.installed = true
	default: // where it is missing it has installed nothing
		n.after = append(n.after, at)
	}
}

// extraCargo are the subcommands that are programs of their own.
var extraCargo = set("nextest", "clippy", "fmt", "llvm-cov", "tarpaulin", "hack", "deny", "audit", "make")

// program notes a program that is called by its name or path. One at a path is
// only judged where no build makes it: in a folder of packages, or a wrapper. It
// gives the need's place, as add does.
func (n *needs) program(name, dir string, sure bool) int {
	base := path.Base(name)
	switch {
	case n.script != "" && !strings.Contains(name, "/"):
		return n.add(Need{Kind: NeedBin, Need: ecosystem.Need{Name: name, Dir: dir}}, sure)
	case !strings.Contains(name, "/"):
		return n.add(Need{Need: ecosystem.Need{Name: name, Dir: "."}}, sure)
	case !path.IsAbs(name) && (base == "gradlew" || base == "mvnw" || ofPackages(name)):
		return n.add(Need{Need: ecosystem.Need{Name: name, Dir: dir}}, sure)
	}
	return -1
}

func ofPackages(name string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(name), "/"), func(part string) bool {
		return part == "node_modules" || part == ".venv" || part == "venv" || part == "vendor"
	})
}

// modules are those that pip installs with a program of their name. A module of
// another name may be the repository's own.
var modules = set("pytest", "coverage", "mypy", "ruff", "flake8", "pylint", "black", "isort", "tox", "nox", "nose2", "pyright")

// module notes what -m names, behind coverage too.
func (n *needs) module(w []string, dir string, sure bool) {
	known := false
	for i := 1; i+1 < len(w); i++ {
		if w[i] == "-c" {
			break
		}
		if w[i] == "-m" {
			if known = modules[w[i+1]]; known {
				n.add(Need{Kind: NeedModule, Need: ecosystem.Need{Name: w[i+1], In: w[0], Dir: dir}}, sure)
			}
			if w[i+1] == "unittest" || w[i+1] == "doctest" {
				known = true
			}
			if w[i+1] != "coverage" {
				break
			}
		}
	}
	n.installed = n.installed || !known
}

// plainNPX are the options of npx and its like that name no package.
var plainNPX = set("--", "--no-install", "--no", "--yes", "-y", "--quiet", "-q", "--offline", "--prefer-offline")

// fetched notes what npx and its like start, and would fetch; a version that is
// asked for is not looked at. What names its package by itself is left out.
func (n *needs) fetched(w []string, dir string, sure bool) {
	rest := w[1:]
	if path.Base(w[0]) != "npx" {
		rest = w[2:]
	}
	for len(rest) > 0 && plainNPX[rest[0]] {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return
	}
	name, _, _ := strings.Cut(rest[0], "@")
	if name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(rest[0], "/:") {
		return
	}
	n.add(Need{Kind: NeedBin, Need: ecosystem.Need{Name: name, In: path.Base(w[0]), Dir: dir}}, sure)
}

// follow reads a package script, and those that npm runs around it.
func (n *needs) follow(manager, name, dir string, sure bool) {
	if !sure || dir == ecosystem.UnknownDir || n.depth == maxScripts {
		n.installed = true
		return
	}
	names := []string{name}
	if manager == "npm" {
		names = []string{"pre" + name, name, "post" + name}
	}
	scripts := n.find.scripts(dir)
	was := n.script
	n.depth++
	for _, s := range names {
		if scripts[s] == "" {
			continue
		}
		if n.script = was; was == "" {
			n.script = "script " + s + " of " + path.Join(dir, "package.json")
		}
		n.read(scripts[s], dir)
	}
	n.depth--
	n.script, n.unsure = was, false
}

// add notes a need, once a command, and gives its place in the list; -1 where
// it is in doubt.
func (n *needs) add(need Need, sure bool) int {
	if !sure || need.Dir == ecosystem.UnknownDir || n.installed && !toolchains[need.Name] {
		return -1
	}
	need.Command, need.Line, need.Script = n.kind, n.line, n.script
	if !toolchains[need.Name] {
		need.After = slices.Clone(n.after)
	}
	if i := slices.IndexFunc(n.found, func(o Need) bool { return o.Command == need.Command && o.Same(need) }); i >= 0 {
		return i
	}
	n.found = append(n.found, need)
	return len(n.found) - 1
}

// Same tells whether two commands need one thing.
func (n Need) Same(o Need) bool {
	return n.Kind == o.Kind && n.Need == o.Need
}

func isPython(base string) bool {
	rest, ok := strings.CutPrefix(base, "python")
	return ok && strings.Trim(rest, "0123456789.") == ""
}

// Start is a program that a command starts, and the folder in which it does.
type Start struct {
	Program string // without its path
	Dir     string // relative to the checkout
	// Known tells that the program does what its name says: one that is not, such
	// as make, may enter other folders by itself.
	Known bool
}

// Starts are the programs that the commands of a checkout start, in folders that
// are known before a shell reads the lines, behind package scripts too.
func Starts(cmds Commands, repo fs.FS) []Start { return readCommands(cmds, repo).begun }

// folderOptions are the options by which programs are told to work elsewhere.
var folderOptions = map[string][]string{
	"go": {"-C"}, "npm": {"--prefix", "-C"}, "pnpm": {"-C", "--dir"}, "yarn": {"--cwd"}, "make": {"-C"}, "cargo": {"-C", "--manifest-path"},
	"mvn": {"-f", "--file"}, "mvnw": {"-f", "--file"}, "gradle": {"-p", "--project-dir"}, "gradlew": {"-p", "--project-dir"},
}

// folderOf is where a call works that starts in a folder.
func folderOf(words []string, dir string) string {
	options := folderOptions[path.Base(words[0])]
	for i, w := range words[1:] {
		for _, o := range options {
			to, ok := strings.CutPrefix(w, o+"=")
			if w == o && i+2 < len(words) {
				to, ok = words[i+2], true
			}
			if !ok || dir == ecosystem.UnknownDir {
				continue
			}
			if strings.HasSuffix(to, ".toml") || strings.HasSuffix(to, ".xml") {
				to = path.Dir(to)
			}
			if to = path.Join(dir, to); path.IsAbs(words[0]) || to == ".." || strings.HasPrefix(to, "../") {
				return ecosystem.UnknownDir
			}
			return to
		}
	}
	return dir
}

// note notes that a call starts a program.
func (n *needs) note(words []string, dir string) {
	base := path.Base(words[0])
	if dir = folderOf(words, dir); dir != ecosystem.UnknownDir {
		known := harmless[base] || toolchains[base] && base != "make" || isPython(base) || base == "yarn" || base == "pnpm"
		n.begun = append(n.begun, Start{Program: base, Dir: dir, Known: known})
	}
}
