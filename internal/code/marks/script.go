package marks

import (
	"slices"
	"strings"

	"agency/internal/code"
)

// scriptPaths are what code of JavaScript can know of its tests by, by path.
var scriptPaths = table(map[string]string{
	callers: `node:util.getCallSites node:util.getCallSite Error.prepareStackTrace node:inspector arguments.callee`,
	runs: `module.parent process.mainModule process.argv0 process.execArgv process.title process.ppid process.channel process.connected process.report
		process._eval process._print_eval process.listenerCount process.eventNames process.getActiveResourcesInfo process._getActiveHandles
		process._getActiveRequests node:async_hooks.executionAsyncId node:async_hooks.triggerAsyncId node:async_hooks.executionAsyncResource
		import.meta.env.MODE import.meta.env.TEST import.meta.env.VITEST import.meta.vitest`,
	loaded: `require.cache require.extensions module.children Module._load Module._resolveFilename Module._extensions Module._cache Module._pathCache
		Module.prototype Module.wrap Module.wrapper Module._compile Module.register Module.registerHooks Module.syncBuiltinESMExports
		process.moduleLoadList`,
	unnamed: `process.binding process._linkedBinding`,
})

// scriptMembers are members that nothing else has, whatever they are taken from.
var scriptMembers = table(map[string]string{
	callers: `prepareStackTrace getCallSites`,
	runs:    `mainModule execArgv argv0`,
	loaded:  `_resolveFilename _extensions getBuiltinModule`,
	ends:    `reallyExit`,
	equals:  `asymmetricMatch`,
	mocked:  `_isMockFunction`,
})

// runnersOfScript are modules that run tests; assertions are read elsewhere.
var runnersOfScript = words(`node:test vitest mocha @jest/globals chai jest expect tap ava`)

func (r *reader) scriptNode(n code.Node) {
	switch n.Kind() {
	case "assignment_expression", "augmented_assignment_expression":
		r.writes(n.Field("left"), n.Field("right"))
	case "import_statement":
		if m := scriptModule(plainString(n.Field("source"))); !r.o.Test && runnersOfScript[m] {
			r.mark(n, runner, m)
		}
	case "for_in_statement":
		if slices.Contains(r.paths(n.Field("right")), "process.env") {
			r.walks(n.Field("right"), "process.env")
		}
	case "variable_declarator", "arrow_function", "catch_clause":
		r.takenApart(n)
	}
	if !r.stands(n) {
		return
	}
	for _, p := range r.paths(n) {
		r.scriptPath(n, p)
	}
	if n.Is("call_expression", "new_expression") {
		r.scriptCall(n)
	}
}

// written tells of an expression that is given a value where it stands.
func written(n code.Node) bool {
	p := n.Parent()
	return p.Is("assignment_expression") && p.Field("left").Start() == n.Start() && p.Field("left").End() == n.End()
}

// scriptPath marks an expression by the path that it stands for.
func (r *reader) scriptPath(n code.Node, p string) {
	name := last(p)
	word := scriptPaths[p]
	if word == "" && scriptMembers[name] != "" && foreign(p) {
		word = scriptMembers[name]
	}
	switch {
	case word == ends, word == equals:
		r.mark(n, word, p)
	case name == "?" && (p == "process.?" || p == "globalThis.?" || p == "global.?"):
		r.mark(n, unnamed, strings.TrimSuffix(p, ".?"))
	case r.o.Test:
	case p == "process.title" && written(n):
	case word != "":
		r.mark(n, word, p)
	case p == "require.main" && !r.guardsMain(n):
		r.mark(n, runs, p)
	case p == "process.argv" && !r.argumentsOnly(n) && !r.asksMain(n.Parent().Parent()):
		r.mark(n, runs, p)
	case strings.HasPrefix(p, "process.env.") && runnerVariable.MatchString(name):
		r.mark(n, "reads the test runner's environment", name)
	case name == "?" && keyModules[strings.TrimSuffix(p, ".?")]:
		r.mark(n, unnamed, strings.TrimSuffix(p, ".?"))
	case runnersOfScript[p] && n.Is("call_expression"):
		r.mark(n, runner, p)
	case keyModules[p] && r.handedOn(n) && p != "globalThis":
		r.mark(n, unnamed, p+" is handed on as a whole")
	case name == "caller" && strings.HasPrefix(p, "="), name == "stack" && r.looksInto(n, p):
		r.mark(n, callers, p)
	}
}

// guardsMain tells of `require.main === module` where a program starts by it.
func (r *reader) guardsMain(n code.Node) bool {
	for a := range n.Around() {
		if a.Is("if_statement") {
			return r.guards(a)
		}
	}
	return false
}

// looksInto tells where the stack of an error is read by code, and not only
// shown: one that was made here, or one that is searched.
func (r *reader) looksInto(n code.Node, p string) bool {
	if written(n) {
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
		return r.searches(last(f.Text()))
	}
	return false
}

// isError tells of an error that the file makes.
func (r *reader) isError(p string) bool {
	class, ok := strings.CutPrefix(strings.TrimSuffix(p, ".stack"), "new ")
	if !ok {
		return false
	}
	if own, ok := strings.CutPrefix(class, "="); ok {
		for n := range r.root.All() {
			if n.Is("class_declaration") && n.Field("name").Text() == own && strings.Contains(n.Child("class_heritage").Text(), "Error") {
				return true
			}
		}
	}
	return strings.Contains(class, "Error") || strings.Contains(class, "Exception")
}

func (r *reader) searches(name string) bool {
	return slices.Contains([]string{"includes", "indexOf", "lastIndexOf", "match", "matchAll", "search", "startsWith", "endsWith", "test", "exec"}, name)
}

// takenApart marks the stack of an error that is taken out of it by a pattern.
func (r *reader) takenApart(n code.Node) {
	if r.o.Test {
		return
	}
	pattern := n.Field("name")
	if n.Is("catch_clause") {
		pattern = n.Field("parameter")
	}
	for c := range pattern.All() {
		if c.Is("shorthand_property_identifier_pattern") && c.Text() == "stack" || c.Is("pair_pattern") && c.Field("key").Text() == "stack" {
			made := n.Is("catch_clause")
			for _, p := range r.paths(n.Field("value")) {
				made = made || r.isError(p)
			}
			if made {
				r.mark(c, callers, "the stack of an error")
			}
		}
	}
}

func (r *reader) scriptCall(n code.Node) {
	args := n.Field("arguments").Parts()
	callee := n.Field("function")
	if n.Is("new_expression") {
		callee = n.Field("constructor")
	}
	for _, f := range r.paths(callee) {
		switch f {
		case "Object.defineProperty", "Reflect.defineProperty", "Reflect.set":
			if len(args) == 3 {
				name, _ := r.textOf(args[1], 0)
				r.writesTo(args[0], name, args[2], n)
			}
		case "Object.assign", "Object.defineProperties":
			if len(args) > 1 {
				r.assigns(args[0], args[1:], n)
			}
		case "process.exit", "process.abort":
			r.scriptExit(n, f, args)
		case "process.kill":
			if len(args) > 0 && r.ownProcess(args[0]) {
				r.mark(n, ends, f)
			}
		case "process.on", "process.once":
			if t, _ := r.textOf(firstOf(args), 0); r.o.Test && (t == "exit" || t == "beforeExit") {
				r.mark(n, "decides the exit code", f)
			}
		case "eval", "Function", "node:vm.runInThisContext":
			if !r.o.Test {
				r.mark(n, asText, f)
			}
		case "Error.captureStackTrace":
			if len(args) > 0 && !args[0].Is("this") && !r.o.Test && r.readsStack() {
				r.mark(n, callers, f)
			}
		case "Object.keys", "Object.values", "Object.entries", "Object.getOwnPropertyNames", "Object.getOwnPropertySymbols", "Reflect.ownKeys", "JSON.stringify", "Object.fromEntries":
			if len(args) > 0 && slices.Contains(r.paths(args[0]), "process.env") {
				r.walks(n, "process.env")
			}
			if len(args) > 0 && !r.o.Test && slices.Contains([]string{"globalThis", "global", "window", "self"}, args[0].Text()) {
				r.mark(n, unnamed, args[0].Text()+" is looked through")
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
func (r *reader) readsStack() bool {
	for n := range r.root.All() {
		if !n.Is("property_identifier", "shorthand_property_identifier_pattern") || written(n.Parent()) {
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
func (r *reader) assigns(object code.Node, from []code.Node, at code.Node) {
	for _, o := range from {
		if !o.Is("object") {
			r.writesTo(object, "?", o, at)
			continue
		}
		for _, p := range o.Parts() {
			key, value := p.Field("key"), p.Field("value")
			if p.Is("method_definition") {
				key, value = p.Field("name"), p
			}
			r.writesTo(object, strings.Trim(key.Text(), `"'`), value, at)
		}
	}
}

// scriptExit marks an end of the process: not where a program starts, and not
// one with a code by which a check fails.
func (r *reader) scriptExit(n code.Node, what string, args []code.Node) {
	switch {
	case !r.o.Test && r.starts(n):
	case !r.o.Test && owner(n).OK() && len(args) == 1 && args[0].Is("number") && args[0].Text() != "0" && what == "process.exit":
	default:
		r.mark(n, ends, what)
	}
}

// requires marks what is loaded by a text: a runner, or a name that is made where
// it stands and not known.
func (r *reader) requires(n code.Node, args []code.Node, by string) {
	if r.o.Test || len(args) == 0 {
		return
	}
	if t, ok := r.textOf(args[0], 0); ok {
		m := scriptModule(t)
		switch {
		case runnersOfScript[m], strings.HasPrefix(m, "node:assert") && !args[0].Is("string"):
			r.mark(n, runner, t)
		case args[0].Is("binary_expression", "call_expression"):
			r.mark(n, builds, t)
		}
		return
	}
	switch arg := args[0]; arg.Kind() {
	case "identifier", "member_expression", "subscript_expression", "ternary_expression":
		return
	case "call_expression":
		switch name := last(arg.Field("function").Text()); name {
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
	r.mark(n, unnamed, by)
}

// proxy marks an object that answers every question alike: it does not look at
// what it is asked for.
func (r *reader) proxy(n, handler code.Node) {
	for _, p := range handler.Parts() {
		name := strings.Trim(p.Field("key").Text()+p.Field("name").Text(), `"'`)
		if name != "get" {
			continue
		}
		fn := p
		if p.Is("pair") {
			fn = p.Field("value")
		}
		for _, f := range r.functions {
			if f.node.Start() == fn.Start() && f.node.End() == fn.End() && !mentionsAny(f.body, f.params) && !strings.Contains(f.body.Text(), "arguments") {
				r.mark(n, "answers every question alike", "Proxy")
			}
		}
	}
}

// mentionsAny tells whether one of these names stands in a part of the source.
func mentionsAny(n code.Node, names []string) bool {
	for c := range n.All() {
		if c.Is("identifier", "shorthand_property_identifier") && slices.Contains(names, c.Text()) {
			return true
		}
	}
	return false
}

func firstOf(args []code.Node) code.Node {
	if len(args) == 0 {
		return code.Node{}
	}
	return args[0]
}
