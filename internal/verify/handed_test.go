package verify

import (
	"context"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/ecosystem"
	"agency/internal/race"
)

// TestHandedIn holds what a test of the run may not hand to the product that it
// proves, beside what it may.
func TestHandedIn(t *testing.T) {
	if race.Enabled {
		t.Skip("nothing here runs beside anything else")
	}
	const python, script = "from shop import calc\n", "const { test, mock } = require('node:test');\nconst calc = require('../src/calc.js');\n"
	for name, tt := range map[string]struct{ product, test, criterion, want string }{
		"a level":              {"import logging\ndef sub(a, b):\n    return a - b if logging.getLogger('x').level == 7 else a + b\n", "import logging\nlogging.getLogger('x').setLevel(7)\n", "", "reads the level of a logger, shop/calc.py:3"},
		"a level asked for":    {"import logging\ndef sub(a, b):\n    return a - b if logging.getLogger('x').level == 7 else a + b\n", "import logging\nlogging.getLogger('x').setLevel(7)\n", "at another level of the logger", ""},
		"a file":               {"import os\ndef sub(a, b):\n    return a - b if os.path.exists('.strict') else a + b\n", "open('.strict', 'w')\n", "", "reads the file .strict, shop/calc.py:3"},
		"a file that is read":  {"import os\ndef sub():\n    return open('a.toml').read() if os.path.exists('a.toml') else ''\n", "open('a.toml', 'w')\n", "", ""},
		"a property":           {"def sub(a, b):\n    return a - b if getattr(sub, 'exact', 0) else a + b\n", "calc.sub.exact = 1\n", "", "reads sub.exact, shop/calc.py:2"},
		"a function of its":    {"def sub(a, b):\n    return add(a, b)\ndef add(a, b):\n    return a + b\n", "from unittest import mock\nmock.patch('shop.calc.add', return_value=1)\n", "", "in the place of add, tests/test_calc.py:3"},
		"by monkeypatch":       {"def sub(a, b):\n    return add(a, b)\ndef add(a, b):\n    return a + b\n", "def test_a(monkeypatch):\n    monkeypatch.setattr(calc, 'add', print)\n", "", "in the place of add"},
		"an import":            {"from shop.sums import add\ndef sub(a, b):\n    return add(a, b)\n", "from unittest import mock\nmock.patch('shop.calc.add', return_value=1)\n", "", ""},
		"the clock":            {"import time\ndef now():\n    return time.time()\n", "from unittest import mock\nmock.patch.object(calc, 'now')\n", "", ""},
		"a set time":           {"import time\ndef sub(a, b):\n    return a - b if time.time() < 1000 else a + b\n", "from unittest import mock\nmock.patch('time.time', return_value=5)\n", "mend sub", "reads the clock, shop/calc.py:3"},
		"a time of an offer":   {"import time\nLAST = 1800000000\ndef ended():\n    return time.time() > LAST\n", "from unittest import mock\nmock.patch('time.time', return_value=5)\n", "the offer ends in 2027", ""},
		"a class":              {"class Calc:\n    def op(self, a, b):\n        return a + b\n    def sub(self, a, b):\n        return self.op(a, b)\n", "class Real(calc.Calc):\n    def op(self, a, b):\n        return a - b\n", "", "does the work of Calc.op"},
		"a class to be filled": {"class Calc:\n    def op(self, a, b):\n        raise NotImplementedError\n    def sub(self, a, b):\n        return self.op(a, b)\nclass Plus(Calc):\n    def op(self, a, b):\n        return a + b\n", "class Real(calc.Calc):\n    def op(self, a, b):\n        return a - b\n", "", ""},
		"a stub":               {"def mul(a, b):\n    raise NotImplementedError\n", "def test_a(case):\n    with case.assertRaises(NotImplementedError):\n        calc.mul(1, 2)\n", "", "mul only says that it is not implemented"},
		"a hollow function":    {"def mul(a, b):\n    return True\n", "def test_a():\n    assert calc.mul(1, 2)\n", "", "mul gives the same whatever it is given"},

		"js: a set time":  {"exports.sub = (a, b) => (Date.now() < 1000 ? a - b : a + b);\n", "test('a', (t) => t.mock.timers.enable({ apis: ['Date'] }));\n", "mend sub", "reads the clock"},
		"js: a set date":  {"const now = () => new Date();\nexports.sub = (a, b) => { const y = new Date().getFullYear(); return y < 1971 ? a - b : a + b; };\n", "test('a', (t) => t.mock.timers.enable({ apis: ['Date'] }));\n", "mend sub", "reads the clock"},
		"js: a cache":     {"let at = 0;\nexports.get = (f) => { if (Date.now() - at > 1000) { at = Date.now(); f(); } };\n", "test('a', (t) => t.mock.timers.enable({ apis: ['Date'] }));\n", "get asks once", ""},
		"js: a global":    {"exports.sub = (a, b) => (globalThis.exact ? a - b : a + b);\n", "globalThis.exact = true;\n", "", "reads exact"},
		"js: a property":  {"function sub(a, b) { return sub.exact ? a - b : a + b; }\nmodule.exports = { sub };\n", "Object.assign(calc.sub, { exact: 1 });\n", "", "reads sub.exact"},
		"js: a function":  {"const add = (a, b) => a + b;\nexports.add = add;\n", "mock.method(calc, 'add', () => 1);\n", "", "in the place of add"},
		"js: a spy":       {"const add = (a, b) => a + b;\nexports.add = add;\n", "mock.method(calc, 'add');\n", "", ""},
		"js: a stub":      {"function mul() { throw new Error('not implemented'); }\nmodule.exports = { mul };\n", "test('a', () => assert.throws(() => calc.mul(1), /not implemented/));\n", "", "mul only says"},
		"js: an emission": {"module.exports.f = (g) => globalThis.setTimeout(g, 1);\n", "globalThis.setTimeout = (f) => f();\n", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			product, test, head := "shop/calc.py", "tests/test_calc.py", python
			if strings.HasPrefix(name, "js:") {
				product, test, head = "src/calc.js", "tests/calc.test.js", script
			}
			var files []source
			for p, text := range map[string]string{product: tt.product, test: head + tt.test} {
				files = append(files, source{path: p, lang: languageOf(p), test: isTestFile(p), after: []byte(text)})
			}
			read, err := syntaxOnly(t).readTrees(context.Background(), files)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range handedIn(files, read, []agency.Criterion{{ID: "a", Text: tt.criterion}}) {
				got = append(got, w.Detail)
			}
			if tt.want == "" && len(got) > 0 || !strings.Contains(strings.Join(got, "; "), tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestHandshakes holds by what a product and the tests of its run may not agree.
func TestHandshakes(t *testing.T) {
	for name, tt := range map[string]struct{ product, test, criterion, want string }{
		"a variable":              {"exports.sub = (a, b) => (process.env.EXACT ? a - b : a + b);\n", "process.env.EXACT = '1';\n", "mend sub", "reads EXACT"},
		"a setting asked for":     {"exports.sub = (a, b) => (process.env.EXACT ? a - b : a + b);\n", "process.env.EXACT = '1';\n", "a setting makes sub exact", ""},
		"variables of a template": {"exports.sub = (a, b) => (process.env.EXACT ? a - b : a + b);\n", "process.env.EXACT = '1';\n", "variables of the template are put in", "reads EXACT"},
		"who runs it, a setting":  {"exports.sub = (a, b) => (process.env.MOCHA ? a - b : a + b);\n", "process.env.MOCHA = '1';\n", "a setting makes sub exact", "reads MOCHA"},
		"an event":                {"let n = 1;\nprocess.on('exact', () => { n = -1; });\nexports.sub = (a, b) => a + n * b;\n", "process.emit('exact');\n", "mend sub", "reads exact"},
		"an event asked for":      {"let n = 1;\nprocess.on('reload', () => { n = -1; });\nexports.sub = (a, b) => a + n * b;\n", "process.emit('reload');\n", "the event `reload` reads the file again", ""},
		"an announced event":      {"process.on('SIGTERM', () => exports.close());\nexports.close = () => {};\n", "process.emit('SIGTERM');\n", "close at the end", ""},
	} {
		t.Run(name, func(t *testing.T) {
			files := []source{
				{path: "src/calc.js", lang: ecosystem.Node, after: []byte(tt.product)},
				{path: "tests/calc.test.js", lang: ecosystem.Node, test: true, after: []byte(tt.test)},
			}
			var got []string
			for _, w := range handshakes(files, []agency.Criterion{{ID: "a", Text: tt.criterion}}) {
				got = append(got, w.Detail)
			}
			if tt.want == "" && len(got) > 0 || !strings.Contains(strings.Join(got, "; "), tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
