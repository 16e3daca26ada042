package node

import (
	"slices"
	"strings"

	"agency/internal/awareness/symbols"
	"agency/internal/code"
	"agency/internal/regexp"
)

// knowingPaths are what code of JavaScript can know of its tests by, by path.
var knowingPaths = symbols.ByWord(map[string]string{
	symbols.LooksAtCallers: `node:util.getCallSites node:util.getCallSite Error.prepareStackTrace node:inspector arguments.callee`,
	symbols.LooksAtRunner: `module.parent process.mainModule process.argv0 process.execArgv process.title process.ppid process.channel process.connected process.report
		process._eval process._print_eval process.listenerCount process.eventNames process.getActiveResourcesInfo process._getActiveHandles
		process._getActiveRequests node:async_hooks.executionAsyncId node:async_hooks.triggerAsyncId node:async_hooks.executionAsyncResource
		import.meta.env.MODE import.meta.env.TEST import.meta.env.VITEST import.meta.vitest`,
	symbols.LooksAtModules: `require.cache require.extensions module.children Module._load Module._resolveFilename Module._extensions Module._cache Module._pathCache
		Module.prototype Module.wrap Module.wrapper Module._compile Module.register Module.registerHooks Module.syncBuiltinESMExports
		process.moduleLoadList`,
	symbols.ReachesUnnamed: `process.binding process._linkedBinding`,
})

// knowingMembers are members that nothing else has, whatever they are taken from.
var knowingMembers = symbols.ByWord(map[string]string{
	symbols.LooksAtCallers:   `prepareStackTrace getCallSites`,
	symbols.LooksAtRunner:    `mainModule execArgv argv0`,
	symbols.LooksAtModules:   `_resolveFilename _extensions getBuiltinModule`,
	symbols.EndsProcess:      `reallyExit`,
	symbols.EqualsEverything: `asymmetricMatch`,
	symbols.LooksForMocks:    `_isMockFunction`,
})

// runnerModules are modules that run tests; assertions are read elsewhere.
var runnerModules = symbols.Words(`node:test vitest mocha @jest/globals chai jest expect tap ava`)

// awareScan finds in a source of JavaScript by what it can know of its tests.
type awareScan struct{ *symbols.Reader }

func (r awareScan) look(n code.Node) {
	switch n.Kind() {
	case "assignment_expression", "augmented_assignment_expression":
		r.writes(n.Field("left"), n.Field("right"))
	case "import_statement":
		if m := modulePath(plainString(n.Field("source"))); !r.Options.Test && runnerModules[m] {
			r.Mark(n, symbols.ImportsRunner, m)
		}
	case "for_in_statement":
		if slices.Contains(r.Paths(n.Field("right")), "process.env") {
			r.Walks(n.Field("right"), "process.env")
		}
	case "variable_declarator", "arrow_function", "catch_clause":
		r.takenApart(n)
	}
	if !r.Stands(n) {
		return
	}
	for _, p := range r.Paths(n) {
		r.path(n, p)
	}
	if n.Is("call_expression", "new_expression") {
		r.call(n)
	}
}

// path marks an expression by the path that it stands for.
func (r awareScan) path(n code.Node, p string) {
	name := symbols.Last(p)
	word := knowingPaths[p]
	if word == "" && knowingMembers[name] != "" && symbols.IsForeign(p) {
		word = knowingMembers[name]
	}
	switch {
	case word == symbols.EndsProcess, word == symbols.EqualsEverything:
		r.Mark(n, word, p)
	case name == "?" && (p == "process.?" || p == "globalThis.?" || p == "global.?"):
		r.Mark(n, symbols.ReachesUnnamed, strings.TrimSuffix(p, ".?"))
	case r.Options.Test:
	case p == "process.title" && symbols.Written(n):
	case word != "":
		r.Mark(n, word, p)
	case p == "require.main" && !r.guardsMain(n):
		r.Mark(n, symbols.LooksAtRunner, p)
	case p == "process.argv" && !r.argumentsOnly(n) && !r.AsksMain(n.Parent().Parent()):
		r.Mark(n, symbols.LooksAtRunner, p)
	case strings.HasPrefix(p, "process.env.") && symbols.IsRunnerVariable(name):
		r.Mark(n, "reads the test runner's environment", name)
	case name == "?" && symbols.IsKeyModule(strings.TrimSuffix(p, ".?")):
		r.Mark(n, symbols.ReachesUnnamed, strings.TrimSuffix(p, ".?"))
	case runnerModules[p] && n.Is("call_expression"):
		r.Mark(n, symbols.ImportsRunner, p)
	case symbols.IsKeyModule(p) && r.HandedOn(n) && p != "globalThis":
		r.Mark(n, symbols.ReachesUnnamed, p+" is handed on as a whole")
	case name == "caller" && strings.HasPrefix(p, "="), name == "stack" && r.looksInto(n, p):
		r.Mark(n, symbols.LooksAtCallers, p)
	}
}

// argumentsOnly tells where process.argv is read as what the program was asked to do,
// and not as what runs it.
func (r awareScan) argumentsOnly(n code.Node) bool {
	p := n.Parent()
	switch p.Kind() {
	case "subscript_expression":
		at := p.Field("index")
		return at.Is("number") && strings.ReplaceAll(at.Text(), " ", "") > "1" || r.Starts(n)
	case "member_expression":
		call := p.Parent()
		if p.Field("property").Text() == "slice" && call.Is("call_expression") {
			a := call.Field("arguments").Parts()
			return len(a) > 0 && a[0].Text() >= "2"
		}
		return p.Field("property").Text() == "length"
	}
	return r.Starts(n)
}

// guardsMain tells of `require.main === module` where a program starts by it.
func (r awareScan) guardsMain(n code.Node) bool {
	for a := range n.Around() {
		if a.Is("if_statement") {
			return r.Guards(a)
		}
	}
	return false
}

// looksInto tells where the stack of an error is read by code, and not only
// shown: one that was made here, or one that is searched.
func (r awareScan) looksInto(n code.Node, p string) bool {
	if symbols.Written(n) {
		return false
	}
	if r.isError(p) {
		return true
	}
	up := n.Parent()
	switch {
	case up.Is("member_expression"):
		return r.searches(up.Field("property").Text()) || up.Field("property").Text() == "split"
	case up.Is("arguments"):
		f := up.Parent().Field("function")
		return r.searches(symbols.Last(f.Text()))
	}
	return false
}

// isError tells of an error that the file makes.
func (r awareScan) isError(p string) bool {
	class, ok := strings.CutPrefix(strings.TrimSuffix(p, ".stack"), "new ")
	if !ok {
		return false
	}
	if own, ok := strings.CutPrefix(class, "="); ok {
		for n := range r.Root.All() {
			if n.Is("class_declaration") && n.Field("name").Text() == own && strings.Contains(n.Child("class_heritage").Text(), "Error") {
				return true
			}
		}
	}
	return strings.Contains(class, "Error") || strings.Contains(class, "Exception")
}

func (r awareScan) searches(name string) bool {
	return slices.Contains([]string{"includes", "indexOf", "lastIndexOf", "match", "matchAll", "search", "startsWith", "endsWith", "test", "exec"}, name)
}

// takenApart marks the stack of an error that is taken out of it by a pattern.
func (r awareScan) takenApart(n code.Node) {
	if r.Options.Test {
		return
	}
	pattern := n.Field("name")
	if n.Is("catch_clause") {
		pattern = n.Field("parameter")
	}
	for c := range pattern.All() {
		if c.Is("shorthand_property_identifier_pattern") && c.Text() == "stack" || c.Is("pair_pattern") && c.Field("key").Text() == "stack" {
			made := n.Is("catch_clause")
			for _, p := range r.Paths(n.Field("value")) {
				made = made || r.isError(p)
			}
			if made {
				r.Mark(c, symbols.LooksAtCallers, "the stack of an error")
			}
		}
	}
}

func (r awareScan) call(n code.Node) {
	args := n.Field("arguments").Parts()
	callee := n.Field("function")
	if n.Is("new_expression") {
		callee = n.Field("constructor")
	}
	for _, f := range r.Paths(callee) {
		switch f {
		case "Object.defineProperty", "Reflect.defineProperty", "Reflect.set":
			if len(args) == 3 {
				name, _ := r.TextOf(args[1], 0)
				r.WritesTo(args[0], name, args[2], n)
			}
		case "Object.assign", "Object.defineProperties":
			if len(args) > 1 {
				r.assigns(args[0], args[1:], n)
			}
		case "process.exit", "process.abort":
			r.exits(n, f, args)
		case "process.kill":
			if len(args) > 0 && r.OwnProcess(args[0]) {
				r.Mark(n, symbols.EndsProcess, f)
			}
		case "process.on", "process.once":
			if t, _ := r.TextOf(symbols.Argument(n, 0), 0); r.Options.Test && (t == "exit" || t == "beforeExit") {
				r.Mark(n, "decides the exit code", f)
			}
		case "eval", "Function", "node:vm.runInThisContext":
			if !r.Options.Test {
				r.Mark(n, symbols.RunsText, f)
			}
		case "Error.captureStackTrace":
			if len(args) > 0 && !args[0].Is("this") && !r.Options.Test && r.readsStack() {
				r.Mark(n, symbols.LooksAtCallers, f)
			}
		case "Object.keys", "Object.values", "Object.entries", "Object.getOwnPropertyNames", "Object.getOwnPropertySymbols", "Reflect.ownKeys", "JSON.stringify", "Object.fromEntries":
			if len(args) > 0 && slices.Contains(r.Paths(args[0]), "process.env") {
				r.Walks(n, "process.env")
			}
			if len(args) > 0 && !r.Options.Test && slices.Contains([]string{"globalThis", "global", "window", "self"}, args[0].Text()) {
				r.Mark(n, symbols.ReachesUnnamed, args[0].Text()+" is looked through")
			}
		case "Proxy":
			if n.Is("new_expression") && len(args) == 2 {
				r.proxy(n, args[1])
			}
		}
		if loaders[f] || callee.Is("import") {
			r.requires(n, args, f)
		}
	}
	if callee.Is("import") {
		r.requires(n, args, "import")
	}
}

// readsStack tells whether a file reads the stack of anything, by its name or
// with all that an object has of its own: no other listing shows it.
func (r awareScan) readsStack() bool {
	for n := range r.Root.All() {
		if !n.Is("property_identifier", "shorthand_property_identifier_pattern") || symbols.Written(n.Parent()) {
			continue
		}
		switch n.Text() {
		case "stack", "getOwnPropertyNames", "getOwnPropertyDescriptors", "getOwnPropertyDescriptor", "ownKeys":
			return true
		}
	}
	return false
}

// assigns marks what an object is given all at once.
func (r awareScan) assigns(object code.Node, from []code.Node, at code.Node) {
	for _, o := range from {
		if !o.Is("object") {
			r.WritesTo(object, "?", o, at)
			continue
		}
		for _, p := range o.Parts() {
			key, value := p.Field("key"), p.Field("value")
			if p.Is("method_definition") {
				key, value = p.Field("name"), p
			}
			r.WritesTo(object, strings.Trim(key.Text(), `"'`), value, at)
		}
	}
}

// exits marks an end of the process: not where a program starts, and not
// one with a code by which a check fails.
func (r awareScan) exits(n code.Node, what string, args []code.Node) {
	switch {
	case !r.Options.Test && r.Starts(n):
	case !r.Options.Test && symbols.Owner(n).OK() && len(args) == 1 && args[0].Is("number") && args[0].Text() != "0" && what == "process.exit":
	default:
		r.Mark(n, symbols.EndsProcess, what)
	}
}

// requires marks what is loaded by a text: a runner, or a name that is made where
// it stands and not known.
func (r awareScan) requires(n code.Node, args []code.Node, by string) {
	if r.Options.Test || len(args) == 0 {
		return
	}
	if t, ok := r.TextOf(args[0], 0); ok {
		m := modulePath(t)
		switch {
		case runnerModules[m], strings.HasPrefix(m, "node:assert") && !args[0].Is("string"):
			r.Mark(n, symbols.ImportsRunner, t)
		case args[0].Is("binary_expression", "call_expression"):
			r.Mark(n, symbols.BuildsName, t)
		}
		return
	}
	switch arg := args[0]; arg.Kind() {
	case "identifier", "member_expression", "subscript_expression", "ternary_expression":
		return
	case "call_expression":
		switch name := symbols.Last(arg.Field("function").Text()); name {
		case "join", "resolve", "pathToFileURL", "fileURLToPath", "normalize":
			if !arg.Field("function").Field("object").Is("array") {
				return
			}
		}
	case "binary_expression", "template_string":
		text := arg.Text()
		if strings.HasPrefix(strings.TrimLeft(text, "'\"`"), "./") || strings.HasPrefix(strings.TrimLeft(text, "'\"`"), "../") || strings.Contains(text, "__dirname") {
			return
		}
	}
	r.Mark(n, symbols.ReachesUnnamed, by)
}

// proxy marks an object that answers every question alike: it does not look at
// what it is asked for.
func (r awareScan) proxy(n, handler code.Node) {
	for _, p := range handler.Parts() {
		name := strings.Trim(p.Field("key").Text()+p.Field("name").Text(), `"'`)
		if name != "get" {
			continue
		}
		fn := p
		if p.Is("pair") {
			fn = p.Field("value")
		}
		for _, f := range r.Functions {
			if f.Node.Start() == fn.Start() && f.Node.End() == fn.End() && !symbols.MentionsAny(f.Body, f.Params) && !strings.Contains(f.Body.Text(), "arguments") {
				r.Mark(n, "answers every question alike", "Proxy")
			}
		}
	}
}

// builtinObjects are the classes and objects that all code of JavaScript uses.
var builtinObjects = symbols.Words(`Array ArrayBuffer BigInt Boolean Buffer DataView Date Error Function Intl Iterator JSON Map Math Number Object Promise Proxy Reflect RegExp Set
	String Symbol TypeError RangeError URL WeakMap WeakSet console process Module require globalThis Uint8Array`)

// writes marks what is put into something that others made.
func (r awareScan) writes(to, from code.Node) {
	switch to.Kind() {
	case "member_expression":
		r.WritesTo(to.Field("object"), to.Field("property").Text(), from, to)
	case "subscript_expression":
		name, ok := r.TextOf(to.Field("index"), 0)
		if !ok {
			name = "?"
		}
		r.WritesTo(to.Field("object"), name, from, to)
	}
}

// write marks what is put into something of all code's.
func (r awareScan) write(at, value code.Node, p, name string) {
	full := p + "." + name
	switch {
	case p == "node:assert" || strings.HasPrefix(p, "node:assert.") || strings.HasPrefix(p, "node:test") || p == "Module" || strings.HasPrefix(p, "Module."):
		r.Mark(at, symbols.ReachesIntoRunner, full)
	case p == "process" && name == "exitCode":
		if r.Options.Test || !r.Starts(at) && (value.Text() == "0" || !value.Is("number")) {
			r.Mark(at, "decides the exit code", full)
		}
	case r.Options.Test:
	case full == "Error.prepareStackTrace":
		r.Mark(at, symbols.LooksAtCallers, full)
	case strings.HasPrefix(p, "process.stdout"), strings.HasPrefix(p, "process.stderr"):
		r.Mark(at, "writes in the name of the test runner", full)
	case strings.HasPrefix(p, "process.env"), symbols.IsConstant(value), p == "process" && name == "title":
	case p == "globalThis" && !builtinObjects[name], full == "Error.stackTraceLimit":
	case p == "Object.prototype" || builtinObjects[p] || builtinObjects[strings.TrimSuffix(p, ".prototype")]:
		r.Mark(at, symbols.ChangesShared, full)
	case strings.HasPrefix(p, "node:"):
		r.Mark(at, symbols.ChangesShared, full)
	}
}

var globalName = regexp.MustCompile(`^(?:globalThis|global|window|self)(?:\?)?\.([A-Za-z_$][\w$]*)$`)

// engineGlobals are what engines have of themselves.
var engineGlobals = symbols.Words(`fetch crypto performance structuredClone setTimeout setInterval setImmediate queueMicrotask clearTimeout clearInterval navigator location
	document localStorage sessionStorage window self global TextEncoder TextDecoder AbortController Event EventTarget WebSocket Headers Request Response FormData Blob`)

// global is the name of a variable of all code that engines have not themselves.
func (awareScan) global(text string) (name string, ok bool) {
	m := globalName.FindStringSubmatch(text)
	if m == nil || builtinObjects[m[1]] || engineGlobals[m[1]] {
		return "", false
	}
	return m[1], true
}

// plainValueMethods are the methods by which JavaScript turns an object into a plain
// value.
var plainValueMethods = symbols.Words(`valueOf toString toJSON [Symbol.toPrimitive] [Symbol.hasInstance]`)

// compare marks methods by which a value equals what it is compared with.
func (r awareScan) compare(n code.Node) {
	switch n.Kind() {
	case "pair":
		if f, ok := r.FunctionAt(n.Field("value")); ok {
			r.hook(f, n.Field("key").Text())
		}
	case "method_definition":
		if f, ok := r.FunctionAt(n); ok {
			r.hook(f, n.Field("name").Text())
		}
	case "assignment_expression":
		if f, ok := r.FunctionAt(n.Field("right")); ok && n.Field("left").Is("member_expression") {
			r.hook(f, n.Field("left").Field("property").Text())
		}
	}
}

// hook marks a method by which an object becomes what it is compared with:
// one that gives something else each time, or the same whatever the object is.
func (r awareScan) hook(f symbols.Function, name string) {
	name = strings.Trim(name, `"'`)
	if !plainValueMethods[name] {
		return
	}
	if name == "[Symbol.hasInstance]" {
		if !symbols.MentionsAny(f.Body, f.Params) {
			r.Mark(f.Node, symbols.EqualsEverything, name)
		}
		return
	}
	local := map[string]bool{}
	for _, p := range f.Params {
		local[p] = true
	}
	changes := false
	for n := range f.Body.All() {
		if n.Is("variable_declarator") {
			local[n.Field("name").Text()] = true
		}
	}
	for n := range f.Body.All() {
		to := n.Field("left")
		if n.Is("update_expression") {
			to = n.Field("argument")
		}
		steps := n.Is("augmented_assignment_expression", "update_expression") || n.Is("assignment_expression") && strings.Contains(n.Field("right").Text(), to.Text()+" ")
		if steps && !local[symbols.RootOf(to.Text())] {
			changes = true
		}
	}
	all := symbols.Results(f)
	same := name != "toString" && len(all) > 0 && !slices.ContainsFunc(all, func(n code.Node) bool { return !symbols.IsFixed(n) })
	if changes || same {
		r.Mark(f.Node, symbols.EqualsEverything, name)
	}
}
