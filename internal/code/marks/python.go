package marks

import (
	"regexp"
	"slices"
	"strings"

	"agency/internal/code"
)

// Words of marks that both languages have.
const (
	callers  = "looks at who calls it"
	runs     = "looks at who runs it"
	loaded   = "looks at the loaded modules"
	watches  = "watches what runs"
	runner   = "imports the test runner"
	inRunner = "reaches into the test runner"
	patches  = "changes what all code uses"
	ends     = "ends the process"
	atImport = "exits when it is imported"
	unnamed  = "reaches what it does not name"
	environ  = "looks through the environment"
	equals   = "equals what it is compared with"
	asserts  = "redefines an assertion"
	builds   = "puts a name together of texts"
	asText   = "runs text as code"
)

// pythonPaths are what code of Python can know of its tests by, by path.
var pythonPaths = table(map[string]string{
	callers: `inspect.stack inspect.currentframe inspect.getouterframes inspect.trace inspect.getinnerframes traceback.extract_stack traceback.format_stack
		traceback.print_stack traceback.walk_stack sys._getframe sys._current_frames sys._getframemodulename logging.currentframe
		faulthandler.dump_traceback faulthandler.dump_traceback_later faulthandler.register warnings.showwarning warnings.formatwarning warnings._showwarnmsg`,
	loaded: `sys.modules sys.meta_path sys.path_hooks sys.path_importer_cache gc.get_objects gc.get_referrers linecache.cache
		object.__subclasses__ type.__subclasses__`,
	watches: `sys.settrace sys.setprofile sys.addaudithook sys.monitoring sys.gettrace sys.getprofile threading.settrace threading.setprofile threading.setprofile_all_threads`,
	runs:    `sys.argv[0] sys.orig_argv os.getppid sys._xoptions`,
})

// pythonMembers are members that nothing else has, whatever they are taken from.
var pythonMembers = table(map[string]string{
	callers:  `f_back tb_frame gi_frame cr_frame ag_frame findCaller _getframe _current_frames currentframe extract_stack walk_stack getouterframes`,
	loaded:   `get_referrers`,
	watches:  `settrace setprofile addaudithook`,
	runs:     `orig_argv`,
	unnamed:  `__globals__ __builtins__ f_globals f_builtins`,
	inRunner: `_baseAssertEqual _getAssertEqualityFunc`,
	mocked:   `mock_calls mock_add_spec _mock_children _mock_methods FakeDatetime FakeDate`,
})

// exitsOfPython end the process at once, wherever they stand.
var exitsOfPython = words(`os._exit os.abort posix._exit posix.abort signal.raise_signal signal.pthread_kill faulthandler._sigsegv`)

// replacesOfPython put another program in the process's place.
var replacesOfPython = words(`os.execv os.execve os.execvp os.execvpe os.execl os.execle os.execlp os.execlpe`)

// runnersOfPython are packages that run tests and assert in them.
var runnersOfPython = words(`unittest pytest _pytest nose nose2 pluggy`)

// keyModules are modules by which everything is reached.
var keyModules = words(`sys builtins inspect importlib gc unittest pytest _pytest __builtins__ __main__ process globalThis Module module node:assert node:assert.strict
	node:test node:module`)

func table(of map[string]string) map[string]string {
	out := map[string]string{}
	for word, list := range of {
		for _, p := range strings.Fields(list) {
			out[p] = word
		}
	}
	return out
}

func (r *reader) pythonNode(n code.Node) {
	switch n.Kind() {
	case "import_statement", "import_from_statement":
		r.pythonImport(n)
	case "assignment", "augmented_assignment":
		r.writes(n.Field("left"), n.Field("right"))
	case "raise_statement":
		if p := n.Parts(); len(p) > 0 {
			what := p[0]
			if what.Is("call") {
				what = what.Field("function")
			}
			if slices.Contains(r.paths(what), "SystemExit") {
				r.exits(n, p[0], "SystemExit")
			}
		}
	case "for_statement", "for_in_clause":
		for _, p := range r.paths(n.Field("right")) {
			if p == "os.environ" || p == "os.environb" {
				r.walks(n.Field("right"), p)
			}
		}
	}
	if !r.stands(n) {
		return
	}
	for _, p := range r.paths(n) {
		r.pythonPath(n, p)
	}
	if n.Is("call") {
		r.pythonCall(n)
	}
}

func (r *reader) pythonImport(n code.Node) {
	if r.o.Test {
		return
	}
	from := n.Field("module_name").Text()
	for _, p := range n.Parts() {
		name := importedName(p)
		if from != "" {
			name = from
		}
		switch first := rootOf(name); {
		case runnersOfPython[first]:
			r.mark(n, runner, name)
		case first == "tests" || first == "conftest" || strings.HasPrefix(first, "test_"), r.theirs(name), from != "" && r.theirs(joinModule(from, importedName(p))):
			r.mark(n, "imports its tests", name)
		case first == "ctypes":
			r.mark(n, "calls outside of Python", name)
		case first == "__main__":
			r.mark(n, runs, name)
		}
	}
}

// importedName is what an import takes, whatever it calls it.
func importedName(n code.Node) string {
	if n.Is("aliased_import") {
		return n.Field("name").Text()
	}
	return n.Text()
}

// theirs tells of a module that the folders of tests alone have: it is there for
// the product while they run it, and for nobody else.
func (r *reader) theirs(module string) bool { return r.o.Theirs != nil && r.o.Theirs(module) }

// pythonPath marks an expression by the path that it stands for.
func (r *reader) pythonPath(n code.Node, p string) {
	name := last(p)
	word := pythonPaths[p]
	if word == "" && pythonMembers[name] != "" && foreign(p) {
		word = pythonMembers[name]
	}
	switch {
	case exitsOfPython[p], name == "_exit":
		r.mark(n, ends, p)
	case word == inRunner:
		r.mark(n, word, p)
	case r.o.Test:
	case p == "sys.modules" && n.Parent().Is("subscript") && n.Parent().Field("subscript").Text() == "__name__":
	case p == "sys.argv[0]" && r.starts(n):
	case word != "":
		r.mark(n, word, p)
	case replacesOfPython[p] && !r.starts(n):
		r.mark(n, ends, p)
	case p == "sys.argv" && !r.argumentsOnly(n):
		r.mark(n, runs, p)
	case rootOf(p) == "__main__" && p != "__main__":
		r.mark(n, runs, p)
	case runnersOfPython[rootOf(p)] && n.Is("call"):
		r.mark(n, runner, p)
	case strings.HasSuffix(p, "__base__.__subclasses__"), strings.HasSuffix(p, "[0].__subclasses__"), strings.HasPrefix(p, "?.__subclasses__"):
		r.mark(n, loaded, p)
	case name == "?" && keyModules[strings.TrimSuffix(p, ".?")], p == "os.?" && n.Is("call"):
		r.mark(n, unnamed, strings.TrimSuffix(p, ".?"))
	case keyModules[p] && r.handedOn(n):
		r.mark(n, unnamed, p+" is handed on as a whole")
	case strings.HasPrefix(p, "os.environ.") && runnerVariable.MatchString(name):
		r.mark(n, "reads the test runner's environment", name)
	}
}

// foreign tells of a path that is not of the file's own objects.
func foreign(p string) bool {
	first := rootOf(p)
	return !strings.HasPrefix(p, "=") && (strings.Count(p, ".") != 1 || first != "self" && first != "cls" && first != "this")
}

// runnerVariable are variables of the environment that runners and shells set.
var runnerVariable = regexp.MustCompile(`^(?:PYTEST_\w+|NODE_TEST_CONTEXT|JEST_WORKER_ID|VITEST\w*|MOCHA_\w+|AGENCY_\w+|npm_\w+|TOX_\w+|COVERAGE_\w+|NODE_OPTIONS|_)$`)

// argumentsOnly tells where sys.argv and process.argv are read as what the
// program was asked to do, and not as what runs it.
func (r *reader) argumentsOnly(n code.Node) bool {
	p := n.Parent()
	first := "1"
	if r.script {
		first = "2"
	}
	switch p.Kind() {
	case "subscript", "subscript_expression":
		at := p.Field("subscript")
		if r.script {
			at = p.Field("index")
		}
		t := strings.ReplaceAll(at.Text(), " ", "")
		if !r.script && t == "0" {
			return true // which is marked by itself
		}
		return at.Is("slice") && strings.HasPrefix(t, first+":") || at.Is("integer", "number") && (t > "0" && first == "1" || t > "1" && first == "2") ||
			r.script && r.starts(n)
	case "member_expression":
		call := p.Parent()
		if p.Field("property").Text() == "slice" && call.Is("call_expression") {
			a := call.Field("arguments").Parts()
			return len(a) > 0 && a[0].Text() >= first
		}
		return p.Field("property").Text() == "length"
	case "argument_list":
		if f := p.Parent().Field("function").Text(); f == "len" {
			return true
		}
	}
	return r.starts(n)
}

// handedOn tells where a value goes on as a whole, so that what becomes of it is
// not seen.
func (r *reader) handedOn(n code.Node) bool {
	p := n.Parent()
	switch p.Kind() {
	case "argument_list", "arguments":
		for _, f := range r.paths(p.Parent().Field("function")) {
			switch f {
			case "getattr", "hasattr", "setattr", "delattr", "vars", "isinstance", "id", "repr", "str", "importlib.reload", "Reflect.get", "Object.assign",
				"Object.defineProperty", "Object.getPrototypeOf", "Reflect.getPrototypeOf", "Object.getOwnPropertyDescriptor", "Reflect.set", "require", "Module._load",
				"Object.defineProperties", "Object.entries", "Object.keys":
				return f == "Object.entries" || f == "Object.keys"
			}
		}
		return true
	case "list", "tuple", "set", "dictionary", "pair", "return_statement", "array", "keyword_argument", "spread_element", "list_splat":
		return true
	}
	return false
}

func (r *reader) pythonCall(n code.Node) {
	args := n.Field("arguments").Parts()
	for _, f := range r.paths(n.Field("function")) {
		switch f {
		case "setattr", "object.__setattr__", "type.__setattr__":
			if len(args) == 3 {
				name, _ := r.textOf(args[1], 0)
				r.writesTo(args[0], name, args[2], n)
			}
		case "sys.exit", "exit", "quit":
			var value code.Node
			if len(args) > 0 {
				value = args[0]
			}
			r.exits(n, value, f)
		case "os.kill", "os.killpg":
			if len(args) > 0 && (r.ownProcess(args[0]) || f == "os.killpg") {
				r.mark(n, ends, f)
			}
		case "atexit.register":
			if r.o.Test {
				r.mark(n, "acts at the process's end", f)
			}
		case "exec", "compile", "eval", "runpy.run_path", "runpy.run_module":
			if !r.o.Test && (f != "compile" || !strings.Contains(n.Text(), "ast")) && !strings.HasPrefix(f, "runpy") {
				r.mark(n, asText, f)
			}
		case "__import__", "importlib.import_module", "importlib.__import__", "pydoc.locate", "pkgutil.resolve_name":
			if len(args) > 0 && !r.o.Test {
				r.imports(n, args[0], f)
			}
		case "os.environ.items", "os.environ.keys", "os.environ.values":
			r.walks(n, f)
		case "warnings.catch_warnings":
			if !r.o.Test && strings.Contains(strings.ReplaceAll(n.Text(), " ", ""), "record=True") && readsMember(r.root, "filename", "lineno") {
				r.mark(n, callers, "by the file that a warning names")
			}
		}
	}
}

// readsMember tells whether a file reads such a member of something.
func readsMember(root code.Node, names ...string) bool {
	for n := range root.All() {
		if n.Is("attribute") && slices.Contains(names, n.Field("attribute").Text()) || n.Is("string") && slices.Contains(names, strings.Trim(n.Text(), `"'`)) {
			return true
		}
	}
	return false
}

// imports marks what is imported by a text: a runner, or a name that is made
// where it stands and not known.
func (r *reader) imports(n, arg code.Node, by string) {
	if t, ok := r.textOf(arg, 0); ok {
		if first := rootOf(t); runnersOfPython[first] || first == "tests" || first == "conftest" || first == "__main__" {
			r.mark(n, runner, t)
		} else if r.theirs(t) {
			r.mark(n, "imports its tests", t)
		}
		return
	}
	switch arg.Kind() {
	case "identifier", "attribute", "subscript":
		return // what it is given is the business of who gives it
	case "string", "binary_operator":
		if first, ok := r.textOf(arg.Parts()[0], 0); ok && first != "" || arg.Is("string") && strings.Contains(arg.Text(), ".") {
			return // below a package that is named
		}
	}
	r.mark(n, unnamed, by)
}

// ownProcess tells whether an expression is the number of the own process or of
// all of its group.
func (r *reader) ownProcess(n code.Node) bool {
	if n.Text() == "0" || n.Text() == "-1" {
		return true
	}
	for _, p := range r.paths(n) {
		if p == "os.getpid()" || p == "os.getppid()" || p == "process.pid" || p == "process.ppid" || p == "os.getpgrp()" {
			return true
		}
	}
	return false
}

// exits marks an end of the process by an error that a program may raise: not
// where the program starts, and not with a code by which a check fails.
func (r *reader) exits(n, value code.Node, what string) {
	if !owner(n).OK() && !r.starts(n) {
		r.mark(n, atImport, what)
		return
	}
	if r.o.Test || r.starts(n) {
		return
	}
	if value.Is("call") {
		value = code.Node{}
		if a := n.Parts()[0].Field("arguments").Parts(); len(a) > 0 {
			value = a[0]
		}
	}
	failing := value.Is("integer", "number", "string", "concatenated_string", "binary_operator") && value.Text() != "0"
	if !failing {
		r.mark(n, ends, what)
	}
}

// walks marks that all variables are looked at, but where only those of a name
// of the product's own are taken.
func (r *reader) walks(n code.Node, what string) {
	if r.o.Test {
		return
	}
	for a := range n.Around() {
		if !a.Is("for_statement", "list_comprehension", "generator_expression", "dictionary_comprehension", "set_comprehension", "for_in_statement", "call_expression", "lexical_declaration", "return_statement") {
			continue
		}
		fits, seen := true, false
		for c := range a.All() {
			if !c.Is("call", "call_expression") {
				continue
			}
			if f := c.Field("function"); last(f.Text()) != "startswith" && last(f.Text()) != "startsWith" {
				continue
			}
			seen = true
			if args := c.Field("arguments").Parts(); len(args) > 0 {
				if t, ok := r.textOf(args[0], 0); ok && (len(t) < 3 || runnerPrefix.MatchString(t)) {
					fits = false
				}
			}
		}
		if seen && fits {
			return
		}
	}
	r.mark(n, environ, what)
}

var runnerPrefix = regexp.MustCompile(`^(?i:AGENCY|PYTEST|NODE_|JEST|VITEST|MOCHA|npm_|TOX|COVERAGE)`)
