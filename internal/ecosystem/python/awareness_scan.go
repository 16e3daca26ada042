package python

import (
	"slices"
	"strings"

	"agency/internal/awareness/symbols"
	"agency/internal/code"
)

// knowingPaths are what code of Python can know of its tests by, by path.
var knowingPaths = symbols.ByWord(map[string]string{
	symbols.LooksAtCallers: `inspect.stack inspect.currentframe inspect.getouterframes inspect.trace inspect.getinnerframes traceback.extract_stack traceback.format_stack
		traceback.print_stack traceback.walk_stack sys._getframe sys._current_frames sys._getframemodulename logging.currentframe
		faulthandler.dump_traceback faulthandler.dump_traceback_later faulthandler.register warnings.showwarning warnings.formatwarning warnings._showwarnmsg`,
	symbols.LooksAtModules: `sys.modules sys.meta_path sys.path_hooks sys.path_importer_cache gc.get_objects gc.get_referrers linecache.cache
		object.__subclasses__ type.__subclasses__`,
	symbols.WatchesCode:   `sys.settrace sys.setprofile sys.addaudithook sys.monitoring sys.gettrace sys.getprofile threading.settrace threading.setprofile threading.setprofile_all_threads`,
	symbols.LooksAtRunner: `sys.argv[0] sys.orig_argv os.getppid sys._xoptions`,
})

// knowingMembers are members that nothing else has, whatever they are taken from.
var knowingMembers = symbols.ByWord(map[string]string{
	symbols.LooksAtCallers:    `f_back tb_frame gi_frame cr_frame ag_frame findCaller _getframe _current_frames currentframe extract_stack walk_stack getouterframes`,
	symbols.LooksAtModules:    `get_referrers`,
	symbols.WatchesCode:       `settrace setprofile addaudithook`,
	symbols.LooksAtRunner:     `orig_argv`,
	symbols.ReachesUnnamed:    `__globals__ __builtins__ f_globals f_builtins`,
	symbols.ReachesIntoRunner: `_baseAssertEqual _getAssertEqualityFunc`,
	symbols.LooksForMocks:     `mock_calls mock_add_spec _mock_children _mock_methods FakeDatetime FakeDate`,
})

// exitCalls end the process at once, wherever they stand.
var exitCalls = symbols.Words(`os._exit os.abort posix._exit posix.abort signal.raise_signal signal.pthread_kill faulthandler._sigsegv`)

// replacingCalls put another program in the process's place.
var replacingCalls = symbols.Words(`os.execv os.execve os.execvp os.execvpe os.execl os.execle os.execlp os.execlpe`)

// testRunners are packages that run tests and assert in them.
var testRunners = symbols.Words(`unittest pytest _pytest nose nose2 pluggy`)

// awareScan finds in a source of Python by what it can know of its tests.
type awareScan struct{ *symbols.Reader }

func (r awareScan) look(n code.Node) {
	switch n.Kind() {
	case "import_statement", "import_from_statement":
		r.imported(n)
	case "assignment", "augmented_assignment":
		r.writes(n.Field("left"), n.Field("right"))
	case "raise_statement":
		if p := n.Parts(); len(p) > 0 {
			what := p[0]
			if what.Is("call") {
				what = what.Field("function")
			}
			if slices.Contains(r.Paths(what), "SystemExit") {
				r.exits(n, p[0], "SystemExit")
			}
		}
	case "for_statement", "for_in_clause":
		for _, p := range r.Paths(n.Field("right")) {
			if p == "os.environ" || p == "os.environb" {
				r.Walks(n.Field("right"), p)
			}
		}
	}
	if !r.Stands(n) {
		return
	}
	for _, p := range r.Paths(n) {
		r.path(n, p)
	}
	if n.Is("call") {
		r.call(n)
	}
}

func (r awareScan) imported(n code.Node) {
	if r.Options.Test {
		return
	}
	from := n.Field("module_name").Text()
	for _, p := range n.Parts() {
		name := importedName(p)
		if from != "" {
			name = from
		}
		switch first := symbols.RootOf(name); {
		case testRunners[first]:
			r.Mark(n, symbols.ImportsRunner, name)
		case first == "tests" || first == "conftest" || strings.HasPrefix(first, "test_"), r.theirs(name), from != "" && r.theirs(joinModule(from, importedName(p))):
			r.Mark(n, "imports its tests", name)
		case first == "ctypes":
			r.Mark(n, "calls outside of Python", name)
		case first == "__main__":
			r.Mark(n, symbols.LooksAtRunner, name)
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
func (r awareScan) theirs(module string) bool {
	return r.Options.Theirs != nil && r.Options.Theirs(module)
}

// path marks an expression by the path that it stands for.
func (r awareScan) path(n code.Node, p string) {
	name := symbols.Last(p)
	word := knowingPaths[p]
	if word == "" && knowingMembers[name] != "" && symbols.IsForeign(p) {
		word = knowingMembers[name]
	}
	switch {
	case exitCalls[p], name == "_exit":
		r.Mark(n, symbols.EndsProcess, p)
	case word == symbols.ReachesIntoRunner:
		r.Mark(n, word, p)
	case r.Options.Test:
	case p == "sys.modules" && n.Parent().Is("subscript") && n.Parent().Field("subscript").Text() == "__name__":
	case p == "sys.argv[0]" && r.Starts(n):
	case word != "":
		r.Mark(n, word, p)
	case replacingCalls[p] && !r.Starts(n):
		r.Mark(n, symbols.EndsProcess, p)
	case p == "sys.argv" && !r.argumentsOnly(n):
		r.Mark(n, symbols.LooksAtRunner, p)
	case symbols.RootOf(p) == "__main__" && p != "__main__":
		r.Mark(n, symbols.LooksAtRunner, p)
	case testRunners[symbols.RootOf(p)] && n.Is("call"):
		r.Mark(n, symbols.ImportsRunner, p)
	case strings.HasSuffix(p, "__base__.__subclasses__"), strings.HasSuffix(p, "[0].__subclasses__"), strings.HasPrefix(p, "?.__subclasses__"):
		r.Mark(n, symbols.LooksAtModules, p)
	case name == "?" && symbols.IsKeyModule(strings.TrimSuffix(p, ".?")), p == "os.?" && n.Is("call"):
		r.Mark(n, symbols.ReachesUnnamed, strings.TrimSuffix(p, ".?"))
	case symbols.IsKeyModule(p) && r.HandedOn(n):
		r.Mark(n, symbols.ReachesUnnamed, p+" is handed on as a whole")
	case strings.HasPrefix(p, "os.environ.") && symbols.IsRunnerVariable(name):
		r.Mark(n, "reads the test runner's environment", name)
	}
}

// argumentsOnly tells where sys.argv is read as what the program was asked to do, and
// not as what runs it.
func (r awareScan) argumentsOnly(n code.Node) bool {
	p := n.Parent()
	switch p.Kind() {
	case "subscript":
		at := p.Field("subscript")
		t := strings.ReplaceAll(at.Text(), " ", "")
		// The first is marked by itself.
		return t == "0" || at.Is("slice") && strings.HasPrefix(t, "1:") || at.Is("integer") && t > "0"
	case "argument_list":
		if p.Parent().Field("function").Text() == "len" {
			return true
		}
	}
	return r.Starts(n)
}

func (r awareScan) call(n code.Node) {
	args := n.Field("arguments").Parts()
	for _, f := range r.Paths(n.Field("function")) {
		switch f {
		case "setattr", "object.__setattr__", "type.__setattr__":
			if len(args) == 3 {
				name, _ := r.TextOf(args[1], 0)
				r.WritesTo(args[0], name, args[2], n)
			}
		case "sys.exit", "exit", "quit":
			r.exits(n, symbols.Argument(n, 0), f)
		case "os.kill", "os.killpg":
			if len(args) > 0 && (r.OwnProcess(args[0]) || f == "os.killpg") {
				r.Mark(n, symbols.EndsProcess, f)
			}
		case "atexit.register":
			if r.Options.Test {
				r.Mark(n, "acts at the process's end", f)
			}
		case "exec", "compile", "eval", "runpy.run_path", "runpy.run_module":
			if !r.Options.Test && (f != "compile" || !strings.Contains(n.Text(), "ast")) && !strings.HasPrefix(f, "runpy") {
				r.Mark(n, symbols.RunsText, f)
			}
		case "__import__", "importlib.import_module", "importlib.__import__", "pydoc.locate", "pkgutil.resolve_name":
			if len(args) > 0 && !r.Options.Test {
				r.loads(n, args[0], f)
			}
		case "os.environ.items", "os.environ.keys", "os.environ.values":
			r.Walks(n, f)
		case "warnings.catch_warnings":
			if !r.Options.Test && strings.Contains(strings.ReplaceAll(n.Text(), " ", ""), "record=True") && readsMember(r.Root, "filename", "lineno") {
				r.Mark(n, symbols.LooksAtCallers, "by the file that a warning names")
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

// loads marks what is imported by a text: a runner, or a name that is made
// where it stands and not known.
func (r awareScan) loads(n, arg code.Node, by string) {
	if t, ok := r.TextOf(arg, 0); ok {
		if first := symbols.RootOf(t); testRunners[first] || first == "tests" || first == "conftest" || first == "__main__" {
			r.Mark(n, symbols.ImportsRunner, t)
		} else if r.theirs(t) {
			r.Mark(n, "imports its tests", t)
		}
		return
	}
	switch arg.Kind() {
	case "identifier", "attribute", "subscript":
		return // what it is given is the business of who gives it
	case "string", "binary_operator":
		if first, ok := r.TextOf(arg.Parts()[0], 0); ok && first != "" || arg.Is("string") && strings.Contains(arg.Text(), ".") {
			return // below a package that is named
		}
	}
	r.Mark(n, symbols.ReachesUnnamed, by)
}

// exits marks an end of the process by an error that a program may raise: not
// where the program starts, and not with a code by which a check fails.
func (r awareScan) exits(n, value code.Node, what string) {
	if !symbols.Owner(n).OK() && !r.Starts(n) {
		r.Mark(n, symbols.ExitsAtImport, what)
		return
	}
	if r.Options.Test || r.Starts(n) {
		return
	}
	if value.Is("call") {
		value = symbols.Argument(n.Parts()[0], 0)
	}
	failing := value.Is("integer", "number", "string", "concatenated_string", "binary_operator") && value.Text() != "0"
	if !failing {
		r.Mark(n, symbols.EndsProcess, what)
	}
}

// runnerModules are modules of Python that the runners work with: who puts another
// function there decides what they do.
var runnerModules = symbols.Words(`abc argparse ast builtins codecs collections contextlib copy datetime decimal difflib enum fractions functools gc importlib inspect io json
	linecache locale logging math numbers operator os pathlib pickle platform pprint random re runpy shutil signal socket statistics string struct subprocess sys
	tempfile threading time token tokenize traceback types typing unittest warnings weakref pytest _pytest asyncio ctypes posix nt`)

// writes marks what is put into something that others made.
func (r awareScan) writes(to, from code.Node) {
	switch to.Kind() {
	case "attribute":
		r.WritesTo(to.Field("object"), to.Field("attribute").Text(), from, to)
	case "subscript":
		if v := to.Field("value"); strings.Contains(v.Text(), "__dict__") || strings.HasPrefix(v.Text(), "vars(") {
			name, _ := r.TextOf(to.Field("subscript"), 0)
			r.WritesTo(v, name, from, to)
		}
	}
}

// write marks what is put into something that the runners work with.
func (r awareScan) write(at, value code.Node, p, name string) {
	full, first := p+"."+name, symbols.RootOf(p)
	switch {
	case testRunners[first] && !strings.HasPrefix(p, "unittest.mock"), first == "builtins":
		r.Mark(at, symbols.ReachesIntoRunner, full)
	case r.Options.Test || !runnerModules[first] || symbols.IsConstant(value) || full == "os.environ" || strings.HasPrefix(p, "os.environ"):
	case first == "sys" && (symbols.Owner(at).OK() || r.Starts(at)) && (name == "stdout" || name == "stderr" || name == "stdin"):
	case r.Starts(at) && strings.HasSuffix(name, "hook"):
	default:
		r.Mark(at, symbols.ChangesShared, full)
	}
}

// comparingMethods are the methods by which two values are compared or brought
// together in Python; of these the result has to come from both.
var comparingMethods = symbols.Words(`__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __contains__ __instancecheck__ __subclasscheck__`)

// countingMethods are operators that give a new value, which has to be computed from
// what they are called on.
var countingMethods = symbols.Words(`__sub__ __rsub__ __add__ __radd__ __mul__ __rmul__ __truediv__ __mod__ __xor__ __and__ __round__ __abs__ __float__ __int__ __index__ __bool__ __str__ __repr__ __format__`)

// compare marks methods by which a value equals what it is compared with.
func (r awareScan) compare(n code.Node) {
	switch n.Kind() {
	case "function_definition":
		if f, ok := r.FunctionAt(n); ok {
			r.hook(f, f.Name)
			r.redefines(f)
		}
	case "pair":
		if name, ok := r.TextOf(n.Field("key"), 0); ok {
			r.hookValue(name, n.Field("value"), n)
		}
	case "assignment":
		if left := n.Field("left"); left.Is("attribute") {
			r.hookValue(left.Field("attribute").Text(), n.Field("right"), n)
		} else if f, ok := r.FunctionAt(n.Field("right")); ok {
			r.hook(f, left.Text())
		}
	case "keyword_argument":
		r.hookValue(n.Field("name").Text(), n.Field("value"), n)
	case "call":
		if args := n.Field("arguments").Parts(); len(args) == 3 && slices.Contains(r.Paths(n.Field("function")), "setattr") {
			name, _ := r.TextOf(args[1], 0)
			r.hookValue(name, args[2], n)
		}
	}
}

// hookValue marks what a class is given under the name of such a method, other
// than by its definition.
func (r awareScan) hookValue(name string, value, at code.Node) {
	if !comparingMethods[name] && !countingMethods[name] {
		return
	}
	if f, ok := r.FunctionAt(value); ok {
		r.hook(f, name)
		return
	}
	for _, f := range r.Functions {
		if value.Is("identifier") && f.Name == value.Text() {
			r.hook(f, name)
			return
		}
	}
	if value.Is("call") {
		r.Mark(at, symbols.EqualsEverything, name)
	}
}

func (r awareScan) hook(f symbols.Function, name string) {
	if !comparingMethods[name] && !countingMethods[name] || len(f.Params) == 0 {
		return
	}
	own := map[string]bool{f.Params[0]: true, "super": true}
	other := map[string]bool{}
	if len(f.Params) > 1 {
		other[f.Params[1]] = true
	}
	spread(f.Body, own)
	spread(f.Body, other)
	results, fixed, writes, meets := symbols.Results(f), 0, false, false
	for _, e := range results {
		if symbols.IsFixed(e) {
			fixed++
		}
	}
	for n := range f.Body.All() {
		switch n.Kind() {
		case "assignment", "augmented_assignment":
			if l := n.Field("left"); l.Is("attribute", "subscript") && !strings.HasPrefix(name, "__i") && symbols.RootOf(l.Text()) == f.Params[0] {
				writes = true
			}
		case "comparison_operator", "binary_operator":
			meets = meets || symbols.Mentions(n, own) && symbols.Mentions(n, other)
		case "call":
			fn := n.Field("function").Text()
			if fn != "isinstance" && fn != "issubclass" && fn != "type" && fn != "hasattr" {
				meets = meets || symbols.Mentions(n, own) && symbols.Mentions(n, other)
			}
		}
	}
	switch {
	case comparingMethods[name] && (writes || !meets && len(results) > 0 && !refuses(results)):
		r.Mark(f.Node, symbols.EqualsEverything, name)
	case countingMethods[name] && name != "__str__" && name != "__repr__" && name != "__format__" && len(results) > 0 && fixed == len(results) && !refuses(results):
		r.Mark(f.Node, symbols.EqualsEverything, name)
	case name == "__str__" || name == "__repr__":
		if writes {
			r.Mark(f.Node, symbols.EqualsEverything, name)
		}
	}
}

// refuses tells of results by which a method says that it does not compare.
func refuses(results []code.Node) bool {
	return !slices.ContainsFunc(results, func(n code.Node) bool { return n.Text() != "NotImplemented" })
}

// spread adds the names that are given something that mentions these.
func spread(body code.Node, known map[string]bool) {
	for range 3 {
		for n := range body.All() {
			if n.Is("assignment", "for_statement") && symbols.Mentions(n.Field("right"), known) {
				for c := range n.Field("left").All() {
					if c.Is("identifier") && !c.Parent().Is("attribute") {
						known[c.Text()] = true
					}
				}
			}
		}
	}
}

// redefines marks an assertion that a class of tests defines anew, or how its
// tests are run.
func (r awareScan) redefines(f symbols.Function) {
	if !r.Options.Test || !symbols.IsAssertion(f.Name) && !slices.Contains([]string{"run", "__call__", "debug"}, f.Name) {
		return
	}
	var class code.Node
	for a := range f.Node.Around() {
		if a.Is("class_definition") {
			class = a
			break
		}
	}
	if class.OK() && r.holdsTests(class, 0) {
		r.Mark(f.Node, symbols.RedefinesAssertion, f.Name)
	}
}

// holdsTests tells of a class of tests, or one that a class of tests is made of.
func (r awareScan) holdsTests(class code.Node, depth int) bool {
	name := class.Field("name").Text()
	if strings.Contains(name, "TestCase") || strings.HasSuffix(name, "Mixin") {
		return true
	}
	for _, b := range class.Field("superclasses").Parts() {
		if strings.Contains(b.Text(), "Test") || strings.HasSuffix(b.Text(), "Case") || strings.HasSuffix(b.Text(), "Mixin") {
			return true
		}
		for _, p := range r.Paths(b) {
			if testRunners[symbols.RootOf(p)] {
				return true
			}
		}
	}
	if depth > 3 {
		return false
	}
	for n := range r.Root.All() {
		if !n.Is("class_definition") || n.Start() == class.Start() {
			continue
		}
		for _, b := range n.Field("superclasses").Parts() {
			if b.Text() == name && r.holdsTests(n, depth+1) {
				return true
			}
		}
	}
	return false
}
