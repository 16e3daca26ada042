package marks

import (
	"regexp"
	"strings"

	"agency/internal/code"
)

// assertName is how the assertions of unittest are called.
var assertName = regexp.MustCompile(`^(?:assert(?:Equal|NotEqual|True|False|Is|IsNot|IsNone|IsNotNone|In|NotIn|IsInstance|NotIsInstance|Raises|RaisesRegex|Warns|WarnsRegex|Logs|NoLogs|AlmostEqual|NotAlmostEqual|Greater|GreaterEqual|Less|LessEqual|Regex|NotRegex|CountEqual|MultiLineEqual|SequenceEqual|ListEqual|TupleEqual|SetEqual|DictEqual)s?|_baseAssertEqual|_getAssertEqualityFunc|_formatMessage|failureException|fail|strictEqual|deepStrictEqual|deepEqual|notStrictEqual)$`)

// shared are modules of Python that the runners work with: who puts another
// function there decides what they do.
var shared = words(`abc argparse ast builtins codecs collections contextlib copy datetime decimal difflib enum fractions functools gc importlib inspect io json
	linecache locale logging math numbers operator os pathlib pickle platform pprint random re runpy shutil signal socket statistics string struct subprocess sys
	tempfile threading time token tokenize traceback types typing unittest warnings weakref pytest _pytest asyncio ctypes posix nt`)

// builtinScript are the classes and objects that all code of JavaScript uses.
var builtinScript = words(`Array ArrayBuffer BigInt Boolean Buffer DataView Date Error Function Intl Iterator JSON Map Math Number Object Promise Proxy Reflect RegExp Set
	String Symbol TypeError RangeError URL WeakMap WeakSet console process Module require globalThis Uint8Array`)

// writes marks what is put into something that others made.
func (r *reader) writes(to, from code.Node) {
	switch to.Kind() {
	case "attribute":
		r.writesTo(to.Field("object"), to.Field("attribute").Text(), from, to)
	case "member_expression":
		r.writesTo(to.Field("object"), to.Field("property").Text(), from, to)
	case "subscript_expression":
		name, ok := r.textOf(to.Field("index"), 0)
		if !ok {
			name = "?"
		}
		r.writesTo(to.Field("object"), name, from, to)
	case "subscript":
		if v := to.Field("value"); strings.Contains(v.Text(), "__dict__") || strings.HasPrefix(v.Text(), "vars(") {
			name, _ := r.textOf(to.Field("subscript"), 0)
			r.writesTo(v, name, from, to)
		}
	}
}

// writesTo marks a value that is put into an object under a name.
func (r *reader) writesTo(object code.Node, name string, value, at code.Node) {
	for _, p := range r.paths(object) {
		r.puts = append(r.puts, put{p + "." + name, at})
	}
	if len(r.paths(object)) == 0 {
		r.puts = append(r.puts, put{"?." + name, at})
	}
	if assertName.MatchString(name) && !ownAssert(object) && !(name == "fail" && r.names.script) {
		r.mark(at, inRunner, name)
		return
	}
	for _, p := range r.paths(object) {
		full := p + "." + name
		first := rootOf(p)
		if strings.Contains(p, "()") && !strings.HasPrefix(p, "Module") || strings.HasPrefix(p, "new ") {
			continue
		}
		switch {
		case r.script:
			r.scriptWrite(at, value, p, name)
		case runnersOfPython[first] && !strings.HasPrefix(p, "unittest.mock"), first == "builtins":
			r.mark(at, inRunner, full)
		case r.o.Test || !shared[first] || constant(value) || full == "os.environ" || strings.HasPrefix(p, "os.environ"):
		case first == "sys" && (owner(at).OK() || r.starts(at)) && (name == "stdout" || name == "stderr" || name == "stdin"):
		case r.starts(at) && strings.HasSuffix(name, "hook"):
		default:
			r.mark(at, patches, full)
		}
	}
}

// ownAssert tells of what a test keeps on itself.
func ownAssert(object code.Node) bool { return object.Text() == "self" || object.Text() == "cls" }

// scriptWrite marks what is put into something of all code's.
func (r *reader) scriptWrite(at, value code.Node, p, name string) {
	full := p + "." + name
	switch {
	case p == "node:assert" || strings.HasPrefix(p, "node:assert.") || strings.HasPrefix(p, "node:test") || p == "Module" || strings.HasPrefix(p, "Module."):
		r.mark(at, inRunner, full)
	case p == "process" && name == "exitCode":
		if r.o.Test || !r.starts(at) && (value.Text() == "0" || !value.Is("number")) {
			r.mark(at, "decides the exit code", full)
		}
	case r.o.Test:
	case full == "Error.prepareStackTrace":
		r.mark(at, callers, full)
	case strings.HasPrefix(p, "process.stdout"), strings.HasPrefix(p, "process.stderr"):
		r.mark(at, "writes in the name of the test runner", full)
	case strings.HasPrefix(p, "process.env"), constant(value), p == "process" && name == "title":
	case p == "globalThis" && !builtinScript[name], full == "Error.stackTraceLimit":
	case p == "Object.prototype" || builtinScript[p] || builtinScript[strings.TrimSuffix(p, ".prototype")]:
		r.mark(at, patches, full)
	case strings.HasPrefix(p, "node:"):
		r.mark(at, patches, full)
	}
}
