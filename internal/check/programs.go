package check

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"agency/internal/agency"
	"agency/internal/ecosystem"
	"agency/internal/languages"
)

// NeedKind says where a program is looked for.
type NeedKind int

// The kinds of programs.
const (
	NeedProgram NeedKind = iota // in PATH, or at the path that its name is
	NeedBin                     // of a package that is installed for Dir, or in PATH
	NeedModule                  // one by whose name the interpreter In is told what to run
	NeedFile                    // of the repository, or a script of its manifest: What says that it is not there
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
	// this one: it is missing only where none of them can run.
	After []int
	// Built are those of the build, which may make something of the sort though it is no
	// setup: where one of them can run, or Doubt says that something else may, nobody knows.
	Built []int
	Doubt bool
	// Own tells that it may be the repository's own: what a run works on may bring it.
	Own        bool
	What, Mend string
}

// Needs are the programs that the commands of a checkout certainly start, in the
// order setup, build, typecheck, lint, test, each once a command. What a shell
// decides only while it reads the line is left out, and so is whatever an earlier
// call of setup or of the line itself may have installed that is no need itself: what
// remains fails where it, its After and what was built are missing. What types and style
// are checked with installs nothing for others.
func Needs(cmds Commands, repo fs.FS) []Need { return readCommands(cmds, repo).found }

func readCommands(cmds Commands, repo fs.FS) needs {
	n := needs{find: finder{repo: ecosystem.Repo{FS: repo}}}
	for _, kind := range cmds.Kinds() {
		n.kind, n.line, n.unsure, n.ran, n.may = kind, cmds.Command(kind).Line, false, false, n.setup
		n.after = slices.Clone(n.after)
		n.read(n.line, ".")
		switch kind {
		case agency.CheckSetup:
			n.setup = n.may
		case agency.CheckBuild:
			n.built = n.may
		}
	}
	return n
}

// may is what may have installed programs by now: the needs whose programs do, and whether
// something that is no need does.
type may struct {
	installed bool
	after     []int
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

	unsure bool // the line says itself where programs lie
	ran    bool // something of the line did before, and may have made files
	plain  bool // all words of the call are known before a shell reads them
	may         // the calls before, of the line and of setup
	setup  may
	built  may // those of the build, with setup
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
	defer func() { n.ran = n.ran || len(s.Redirs) > 0 }()
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
		case a.Name == nil || !slices.Contains(programs().Paths, a.Name.Value):
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
	n.plain = !slices.ContainsFunc(e.Args, func(w *syntax.Word) bool { return !literal(w) })
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

// programs is what is known of programs: those of no language, and those of each.
var programs = sync.OnceValue(func() ecosystem.Programs {
	all := ecosystem.Programs{
		Toolchain: []string{"make", "cmake", "ninja", "meson", "gcc", "cc", "clang", "bazel"},
		Harmless:  []string{"mkdir", "rm", "cp", "mv", "ls", "cat", "grep", "sed", "head", "tail", "tee", "sleep", "env"},
		Folders:   map[string][]string{"make": {"-C"}}, Subcommands: map[string][]string{}, Paths: []string{"PATH"},
	}
	for _, l := range languages.All() {
		of := l.Project.Programs
		all.Toolchain, all.Harmless = append(all.Toolchain, of.Toolchain...), append(all.Harmless, of.Harmless...)
		all.Wrappers, all.Paths = append(all.Wrappers, of.Wrappers...), append(all.Paths, of.Paths...)
		maps.Copy(all.Folders, of.Folders)
		maps.Copy(all.Subcommands, of.Subcommands)
	}
	return all
})

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
	n.files(w, dir, sure)
	defer func() { n.ran = true }()
	if name, _, ok := n.find.scriptName(w, dir); ok {
		n.program(w[0], dir, sure)
		n.packageScript(w, name, dir, sure)
		n.follow(base, name, dir, sure)
		return
	}
	for _, of := range languages.All() {
		if n.ofLanguage(of.Project.Programs, w, dir, sure) {
			return
		}
	}
	at := n.program(w[0], dir, sure)
	if len(w) > 1 && slices.Contains(programs().Subcommands[base], w[1]) {
		n.program(base+"-"+w[1], dir, sure)
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
	case slices.Contains(programs().Harmless, base) && !installs(w):
	case at < 0:
		n.installed = true
	default: // where it is missing it has installed nothing
		n.after = append(n.after, at)
	}
}

// ofLanguage notes what a call needs that starts a module of an interpreter, or the
// program of a package; false where it is no such call.
func (n *needs) ofLanguage(of ecosystem.Programs, w []string, dir string, sure bool) bool {
	if of.Modules != nil {
		if modules, quiet, ok := of.Modules(w); ok {
			n.program(w[0], dir, sure)
			for i, m := range modules {
				n.add(Need{Kind: NeedModule, Need: ecosystem.Need{Name: m, In: w[0], Dir: dir}, Own: !quiet && i == len(modules)-1}, sure)
			}
			n.installed = n.installed || !quiet
			return true
		}
	}
	if of.Starts == nil {
		return false
	}
	program, by, ok := of.Starts(w)
	if ok {
		n.program(w[0], dir, sure)
	}
	if program != "" {
		n.add(Need{Kind: NeedBin, Need: ecosystem.Need{Name: program, In: by, Dir: dir}}, sure)
	}
	return ok
}

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
	case !path.IsAbs(name) && (slices.Contains(programs().Wrappers, base) || ofPackages(name)):
		return n.add(Need{Need: ecosystem.Need{Name: name, Dir: dir}}, sure)
	}
	return n.file(name, dir, sure, true)
}

func ofPackages(name string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(name), "/"), func(part string) bool {
		return part == "node_modules" || part == ".venv" || part == "venv" || part == "vendor"
	})
}

// follow reads a package script, and those that its starter runs around it.
func (n *needs) follow(manager, name, dir string, sure bool) {
	if !sure || dir == ecosystem.UnknownDir || n.depth == maxScripts {
		n.installed = true
		return
	}
	scripts := n.find.scripts(dir)
	was := n.script
	n.depth++
	for _, of := range launchers() {
		if of.Around == nil {
			continue
		}
		for _, s := range of.Around(manager, name) {
			if scripts[s] == "" {
				continue
			}
			if n.script = was; was == "" {
				n.script = "script " + s + " of " + path.Join(dir, of.Manifest)
			}
			n.read(scripts[s], dir)
		}
	}
	n.depth--
	n.script, n.unsure = was, false
}

// add notes a need, once a command, and gives its place in the list; -1 where
// it is in doubt.
func (n *needs) add(need Need, sure bool) int {
	if !sure || need.Dir == ecosystem.UnknownDir || n.installed && !slices.Contains(programs().Toolchain, need.Name) {
		return -1
	}
	need.Command, need.Line, need.Script = n.kind, n.line, n.script
	if !slices.Contains(programs().Toolchain, need.Name) {
		need.After = slices.Clone(n.after)
		if n.kind != agency.CheckBuild {
			need.Built, need.Doubt = slices.Clone(n.built.after), n.built.installed
		}
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

// folderOf is where a call works that starts in a folder.
func folderOf(words []string, dir string) string {
	options := programs().Folders[path.Base(words[0])]
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
		known := base != "make" && (slices.Contains(programs().Harmless, base) || slices.Contains(programs().Toolchain, base) ||
			len(programs().Folders[base]) > 0 || isInterpreter(words))
		n.begun = append(n.begun, Start{Program: base, Dir: dir, Known: known})
	}
}

// isInterpreter tells a call of a program that runs modules by their names.
func isInterpreter(words []string) bool {
	return slices.ContainsFunc(languages.All(), func(of ecosystem.Ecosystem) bool {
		if of.Project.Programs.Modules == nil {
			return false
		}
		_, _, is := of.Project.Programs.Modules(words)
		return is
	})
}
