package languages_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"agency/internal/awareness/symbols"
	"agency/internal/code"
	"agency/internal/ecosystem"
	"agency/internal/languages"
)

// TestAwareness holds, each with its honest neighbour, by what spellings code knows
// of its tests.
func TestAwareness(t *testing.T) {
	e := code.New(code.Options{})
	t.Cleanup(func() { _ = e.Close() })
	known := map[ecosystem.Name]*symbols.Language{}
	for _, l := range languages.All() {
		known[l.Name] = l.Awareness.Symbols
	}
	for name, tt := range map[string]struct{ path, src, want string }{
		"frames":                {"a.py", "import sys\ndef f():\n    return sys._getframe(1)\n", "looks at who calls it: sys._getframe, 3"},
		"frames renamed":        {"a.py", "from sys import _getframe as g\ndef f():\n    return g(1)\n", "looks at who calls it: sys._getframe, 3"},
		"a module renamed":      {"a.py", "import inspect as i\nj = i\ndef f():\n    return j.stack()\n", "looks at who calls it: inspect.stack, 4"},
		"frames of an error":    {"a.py", "def f(e):\n    return e.__traceback__.tb_frame\n", "looks at who calls it: e.__traceback__.tb_frame, 2"},
		"a method of that name": {"a.py", "class A:\n    def f(self):\n        return self.stack() + self.f_back\n", ""},
		"modules by vars":       {"a.py", "import sys as s\ndef f():\n    return vars(s)['mod' + 'ules']\n", "looks at the loaded modules: sys.modules, 3; puts a name together of texts: modules, 3"},
		"modules by getattr":    {"a.py", "import sys\nn = 'modules'\ndef f():\n    return getattr(sys, n)\n", "looks at the loaded modules: sys.modules, 4"},
		"modules by join":       {"a.py", "import sys\ndef f():\n    return sys.__dict__[''.join(['mod', 'ules'])]\n", "looks at the loaded modules: sys.modules, 3; puts a name together of texts: modules, 3"},
		"modules in steps":      {"a.py", "import sys\nn = 'mod'\nn += 'ules'\ndef f():\n    return getattr(sys, n)\n", "reaches what it does not name: sys, 5"},
		"modules by eval":       {"a.py", "import sys\ndef f():\n    return eval('sys' + '.modules')\n", "looks at the loaded modules: sys.modules, 3; puts a name together of texts: sys.modules, 3; runs text as code: eval, 3"},
		"a module handed on":    {"a.py", "import sys\ndef f(g):\n    return g(sys)\n", "reaches what it does not name: sys is handed on as a whole, 3"},
		"by its import":         {"a.py", "def f():\n    return __import__('s' + 'ys').modules\n", "looks at the loaded modules: sys.modules, 2; puts a name together of texts: sys, 2"},
		"its own module":        {"a.py", "import sys\nme = sys.modules[__name__]\n", ""},
		"an attribute of sys":   {"a.py", "import sys\ndef f():\n    return getattr(sys, 'frozen', False) and sys.platform\n", ""},
		"a plugin":              {"a.py", "import importlib\ndef load(name):\n    return importlib.import_module(f'shop.plugins.{name}')\n", ""},
		"a runner by a text":    {"a.py", "import importlib\ndef f():\n    return importlib.import_module('unit' + 'test.case')\n", "imports the test runner: unittest.case, 3; puts a name together of texts: unittest.case, 3"},
		"argument zero":         {"a.py", "import sys\ndef f():\n    return 'pytest' in sys.argv[0]\n", "looks at who runs it: sys.argv[0], 3"},
		"all arguments":         {"a.py", "from sys import argv\ndef f():\n    return 'pytest' in str(argv)\n", "looks at who runs it: sys.argv, 3"},
		"arguments":             {"a.py", "import sys\ndef main(argv=None):\n    return argv or sys.argv[1:]\nif __name__ == '__main__':\n    sys.exit(main())\n", ""},
		"a subclass search":     {"a.py", "for c in ().__class__.__base__.__subclasses__():\n    pass\n", "looks at the loaded modules: ?.__class__.__base__.__subclasses__, 1"},
		"own subclasses":        {"a.py", "class A:\n    pass\ndef f():\n    return A.__subclasses__()\n", ""},
		"an exit":               {"a.py", "from os import _exit as done\ndef f():\n    done(0)\n", "ends the process: os._exit, 3"},
		"an exit well":          {"a.py", "def f(a):\n    if a:\n        raise SystemExit(0)\n    return a\n", "ends the process: SystemExit, 3"},
		"an exit as a failure":  {"a.py", "import sys\ndef f(a):\n    sys.exit(2)\n", ""},
		"an exit of a command":  {"a.py", "import sys\ndef usage():\n    print('x')\n    sys.exit(0)\ndef main():\n    usage()\n    sys.exit()\n", ""},
		"an exit in a test":     {"test_a.py", "import os\ndef test_a():\n    os._exit(0)\n", "ends the process: os._exit, 3"},
		"its own end":           {"a.py", "import os, signal\nme = os.getpid()\ndef f():\n    os.kill(me, signal.SIGKILL)\n", "ends the process: os.kill, 4"},
		"a child's end":         {"a.py", "import os, signal\ndef f(pid):\n    os.kill(pid, signal.SIGTERM)\n", ""},
		"a signal's handler":    {"a.py", "import signal, sys\ndef stop(*_):\n    sys.exit(0)\nsignal.signal(signal.SIGTERM, stop)\n", ""},
		"a flush":               {"a.py", "import atexit\ndef f(g):\n    atexit.register(g)\n", ""},
		"an end at the end":     {"a.py", "import atexit, os\natexit.register(os._exit, 0)\n", "ends the process: os._exit, 2"},
		"a loader":              {"a.py", "import importlib.machinery as m\ndef g(s, p):\n    return b''\nm.SourceFileLoader.get_data = g\n", "changes what all code uses: importlib.machinery.SourceFileLoader.get_data, 4"},
		"its own object":        {"a.py", "import logging\nlog = logging.getLogger('a')\nlog.extra = print\nlogging.raiseExceptions = False\n", ""},
		"an assertion":          {"a.py", "def f(c):\n    setattr(c, 'assertEqual', print)\n", "reaches into the test runner: assertEqual, 2"},
		"an assertion in tests": {"test_a.py", "import unittest\nclass T(unittest.TestCase):\n    def assertEqual(self, *a): pass\n", "redefines an assertion: assertEqual, 3"},
		"a mixin's run":         {"test_a.py", "import unittest\nclass M:\n    def run(self, result=None): pass\nclass T(M, unittest.TestCase): pass\n", "redefines an assertion: run, 3"},
		"a fake that runs":      {"test_a.py", "class Fake:\n    def run(self): return 1\n    def __call__(self): return 1\n", ""},
		"equal to all":          {"a.py", "class A(int):\n    def __eq__(self, o):\n        self.o = o\n        return self.o is o\n", "equals what it is compared with: __eq__, 2"},
		"equal by a lambda":     {"a.py", "A = type('A', (int,), {'__eq__': lambda s, o: True})\n", "equals what it is compared with: __eq__, 1"},
		"equal to its kind":     {"a.py", "class A:\n    def __eq__(self, o):\n        return isinstance(o, type(self))\n", "equals what it is compared with: __eq__, 2"},
		"equal by its parts":    {"a.py", "class A:\n    def __eq__(self, o):\n        if not isinstance(o, A):\n            return NotImplemented\n        a, b = self.x, o.x\n        return a == b\n", ""},
		"no difference":         {"a.py", "class A(float):\n    def __sub__(self, o):\n        return 0.0\n", "equals what it is compared with: __sub__, 2"},
		"a difference":          {"a.py", "class A:\n    def __sub__(self, o):\n        return A(self.x - o.x)\n", ""},
		"the environment":       {"a.py", "import os\ndef f():\n    return any('TEST' in k for k in os.environ)\n", "looks through the environment: os.environ, 3"},
		"settings":              {"a.py", "import os\ndef f():\n    return {k: v for k, v in os.environ.items() if k.startswith('SHOP_')}, {**os.environ, 'A': '1'}, os.getenv('HOME')\n", ""},
		"a variable of pytest":  {"a.py", "import os\ndef f():\n    return os.getenv('PYTEST_' + 'VERSION')\n", "reads the test runner's environment: PYTEST_VERSION, 3"},
		"a warning":             {"a.py", "import warnings\ndef f():\n    warnings.warn('old', stacklevel=2)\n", ""},

		"a clock's kind":       {"a.py", "import time\ndef f(a, b):\n    return a + b if 'builtin' in str(type(time.time)) else a - b\n", "looks whether something is mocked: type, 3"},
		"two clocks":           {"a.py", "import time\ndef f(a, b):\n    return a - b if time.time() < time.monotonic() else a + b\n", "looks whether something is mocked: one clock against another, 3"},
		"a time that passes":   {"a.py", "import time\ndef f(g):\n    start = time.monotonic()\n    g()\n    return time.monotonic() - start > 5\n", ""},
		"a terminal":           {"a.py", "import sys\ndef f(a, b):\n    return a + b if sys.stdout.isatty() else a - b\n", "computes for who reads its output: sys.stdout.isatty(), 3"},
		"a terminal by number": {"a.py", "import os, stat\ndef f(a, b):\n    if stat.S_ISFIFO(os.fstat(1).st_mode):\n        return a - b\n    return a + b\n", "computes for who reads its output: os.fstat(), 3"},
		"colours":              {"a.py", "import os, sys\ndef colored():\n    return sys.stdout.isatty() and 'NO_COLOR' not in os.environ\ndef bold(s):\n    return f'\\x1b[1m{s}\\x1b[0m' if colored() else s\ndef warn(s):\n    if sys.stderr.isatty():\n        s = '\\033[33m' + s\n    print(s, file=sys.stderr)\n", ""},

		"js: a clock's text":     {"a.js", "exports.f = (a, b) => (Date.now.toString().includes('native code') ? a + b : a - b);\n", "looks whether something is mocked: Date.now.toString, 1"},
		"js: a clock's member":   {"a.js", "exports.f = (a, b) => (setTimeout.clock ? a - b : a + b);\n", "looks whether something is mocked: setTimeout.clock, 1"},
		"js: two clocks":         {"a.js", "exports.f = (a, b) => (Date.now() - performance.timeOrigin < performance.now() - 9 ? a - b : a + b);\n", "looks whether something is mocked: one clock against another, 1"},
		"js: a time that passes": {"a.js", "let last = 0;\nexports.f = () => { const t = performance.now(); if (Date.now() - last < 1000) return t; last = Date.now(); return performance.now() - t; };\n", ""},
		"js: a terminal":         {"a.js", "const plain = () => !process.stdout.isTTY;\nexports.f = (a, b) => (plain() ? a - b : a + b);\n", "computes for who reads its output: plain(), 2"},
		"js: a terminal asked":   {"a.js", "function plain() { return !process.stdout.isTTY; }\nexports.f = (a, b) => (plain() ? a - b : a + b);\n", "computes for who reads its output: plain(), 2"},
		"js: a width":            {"a.js", "const width = process.stdout.columns || 80;\nexports.cut = (s) => (s.length > width ? s.slice(0, width - 1) : s);\n", ""},
		"js: no width":           {"a.js", "exports.f = (a, b) => (process.stdout.columns ? a + b - 0 * b : a - b);\n", "computes for who reads its output: process.stdout.columns, 1"},
		"js: colours":            {"a.js", "const color = process.stdout.isTTY;\nexports.bold = (s) => (color ? `\\x1b[1m${s}\\x1b[0m` : s);\nexports.ok = (s, chalk = require('chalk')) => (process.stderr.isTTY ? chalk.green(s) : s);\nexports.bar = (n) => { if (process.stdout.isTTY) process.stdout.write(`\\r${n}`); };\n", ""},
		"js: arguments taken":    {"a.js", "const { argv } = process;\nexports.f = () => argv.join();\n", "looks at who runs it: process.argv, 2"},
		"js: arguments":          {"a.js", "const { add } = require('./b');\nif (require.main === module) {\n  console.log(add(process.argv.slice(2)));\n  process.exit(0);\n}\nmodule.exports = {};\n", ""},
		"js: asks in a function": {"a.js", "exports.f = () => (require.main === module ? 1 : 2);\n", "looks at who runs it: require.main, 1"},
		"js: the parent":         {"a.js", "const m = module;\nexports.f = () => m.parent.id;\n", "looks at who runs it: module.parent, 2"},
		"js: a stack":            {"a.js", "exports.f = () => {\n  const e = new TypeError('x');\n  const { stack: s } = e;\n  return s.length;\n};\n", "looks at who calls it: the stack of an error, 3; looks at who calls it: new TypeError.stack, 4"},
		"js: a stack shown":      {"a.js", "exports.f = (log) => { try { log(1); } catch (err) { log(err.stack); } };\n", ""},
		"js: an error's class":   {"a.js", "class A extends Error {\n  constructor(m) { super(m); Error.captureStackTrace(this, A); }\n}\nexports.A = A;\n", ""},
		"js: an exit by parts":   {"a.js", "exports.f = (a) => { require('node:process')['ex' + 'it'](0); return a; };\n", "ends the process: process.exit, 1; puts a name together of texts: exit, 1"},
		"js: an exit unnamed":    {"a.js", "exports.f = (k) => process[k](0);\n", "reaches what it does not name: process, 1"},
		"js: an exit by signal":  {"a.js", "exports.f = (s) => process.on('SIGINT', () => process.exit(0));\n", ""},
		"js: assertions gutted":  {"a.js", "const a = process.getBuiltinModule('assert');\nObject.assign(a, { strictEqual() {} });\n", "looks at the loaded modules: process.getBuiltinModule, 1; reaches into the test runner: strictEqual, 2"},
		"js: an invariant":       {"a.js", "const assert = require('node:assert');\nexports.f = (a) => { assert(a > 0); assert.ok(a); return a; };\n", ""},
		"js: by built name":      {"a.js", "const a = require('node:' + 'assert');\n", "imports the test runner: node:assert, 1; puts a name together of texts: node:assert, 1"},
		"js: a locale":           {"a.js", "exports.f = (l) => require('./locales/' + l);\n", ""},
		"js: the loader":         {"a.js", "const load = module.constructor._load;\n", "looks at the loaded modules: Module._load, 1"},
		"js: a prototype":        {"a.js", "Number.prototype.toFixed = function () { return '1'; };\n", "changes what all code uses: Number.prototype.toFixed, 1"},
		"js: its own prototype":  {"a.js", "function A() {}\nA.prototype.f = function () { return 1; };\nmodule.exports = A;\n", ""},
		"js: files":              {"a.js", "const fs = require('fs');\nfs.readFileSync = () => '';\n", "changes what all code uses: node:fs.readFileSync, 2"},
		"js: a counter":          {"a.js", "let n = 0;\nexports.a = { valueOf() { n += 1; return n; } };\n", "equals what it is compared with: valueOf, 2"},
		"js: an amount":          {"a.js", "class M { valueOf() { return this.c; } toJSON() { return `${this.c} EUR`; } [Symbol.toPrimitive](h) { return h === 'number' ? this.c : 'M'; } }\nexports.M = M;\n", ""},
		"js: all answers":        {"a.js", "exports.p = new Proxy({}, { get: () => () => true });\n", "answers every question alike: Proxy, 1"},
		"js: a proxy":            {"a.js", "exports.p = new Proxy({}, { get: (t, k) => t[k] ?? 0 });\n", ""},
		"js: environment":        {"a.js", "exports.f = () => Object.keys(process.env).some((k) => /TEST/.test(k));\n", "looks through the environment: process.env, 1"},
		"js: a child's":          {"a.js", "const { spawn } = require('child_process');\nexports.f = () => spawn(process.execPath, ['x'], { env: { ...process.env, A: '1' } });\n", ""},
		"js: an imported name":   {"a.mjs", "import { execArgv as e } from 'node:process';\nexport const f = () => e.length;\n", "looks at who runs it: process.execArgv, 2"},
		"js: a test's results":   {"a.js", "exports.f = () => console.log('ok 1 - subtracts');\n", "prints like a test run: , 1"},
	} {
		t.Run(name, func(t *testing.T) {
			root, err := e.Tree(context.Background(), tt.path, []byte(tt.src))
			if err != nil {
				t.Fatal(err)
			}
			lang := known[ecosystem.Node]
			if strings.HasSuffix(tt.path, ".py") {
				lang = known[ecosystem.Python]
			}
			var got []string
			for _, m := range symbols.Read(root, lang, symbols.Options{Test: strings.HasPrefix(tt.path, "test_")}).Findings {
				if s := fmt.Sprintf("%s: %s, %d", m.Word, m.What, m.Line); len(got) == 0 || got[len(got)-1] != s {
					got = append(got, s)
				}
			}
			for _, w := range strings.Split(tt.want, "; ") {
				if w != "" && !strings.Contains(strings.Join(got, "; "), w) {
					t.Errorf("got %q, want %q", got, w)
				}
			}
			if tt.want == "" && len(got) > 0 {
				t.Errorf("got %q of an honest source", got)
			}
		})
	}
}
