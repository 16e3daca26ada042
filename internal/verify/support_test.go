package verify

import (
	"fmt"
	"strings"
	"testing"
)

func TestUses(t *testing.T) {
	for _, tt := range []struct {
		from, text, file string
		want             bool
	}{
		{"tests/test_a.py", "from qa.values import SUB", "qa/values.py", true},
		{"tests/test_a.py", "from qa import (\n    other,\n    values,\n)", "qa/values.py", true},
		{"tests/test_a.py", "import os; import shop.calc as c", "shop/__init__.py", true},
		{"tests/test_a.py", "import qa.values", "src/qa/values.py", true},
		{"tests/test_a.py", "from other.values import SUB", "qa/values.py", false},
		{"tests/test_a.py", "# from qa.values import SUB\nvalues = 1", "qa/values.py", false},
		{"shop/prices.py", "from . import rates", "shop/rates.py", true},
		{"shop/prices.py", "from .rates import TAX", "qa/rates.py", false},
		{"tests/test_a.py", "@mock.patch('shop.calc.sub')", "shop/calc.py", true},
		{"qa/run.py", "subprocess.run(['python3', 'qa/inner.py'])", "qa/inner.py", true},
		{"tests/a.test.js", "const { SUB } = require('../qa/values');", "qa/values.js", true},
		{"tests/a.test.ts", "import { sub } from '../src/ops';", "src/ops/index.ts", true},
		{"tests/a.test.js", "import x from '@/qa/values.js'", "qa/values.js", true},
		{"src/a.js", "const values = require('./values');", "qa/values.js", false},
		{"src/a.js", "// require('../qa/values')", "qa/values.js", false},
		{"calc/a_test.go", "package calc_test\n\nimport \"ex.com/shop/qa\"\n", "qa/values.go", true},
		{"calc/a_test.go", "package calc_test\n\nimport \"ex.com/qa/other\"\n", "qa/values.go", false},
		{"test/ATest.java", "import shop.Rows;", "src/shop/Rows.java", true},
	} {
		if got := namingOf(tt.from, []byte(tt.text)).uses(tt.file); got != tt.want {
			t.Errorf("%s: %q uses %s: %t", tt.from, tt.text, tt.file, got)
		}
	}
}

func TestAssertsAndData(t *testing.T) {
	for _, tt := range []struct{ path, text, want string }{
		{"a/base.py", "import unittest\n\nclass Case(unittest.TestCase): pass\n", "asserts"},
		{"a/same.py", "def same(a, b):\n    assert a == b\n", "asserts"},
		{"a/names.py", "def initials(name):\n    assert name\n    return name[0]\n", "neither"},
		{"a/rates.py", "\"\"\"Rates.\"\"\"\n\nTAX = 16\n", "data"},
		{"a/__init__.py", "from .calc import add\n\n__all__ = ['add']\n", "neither"},
		{"a/api.py", "from a.calc import add, sub\n", "neither"},
		{"a/same.js", "const assert = require('node:assert');\nexports.same = (a, b) => assert.strictEqual(a, b);\n", "asserts"},
		{"a/calc.js", "'use strict';\nconst assert = require('node:assert');\nexports.half = (n) => { assert(n); return n / 2; };\n", "neither"},
		{"a/rates.js", "'use strict';\n\nexports.TAX = 16;\n", "data"},
		{"a/types.ts", "export interface A { b: string }\n", "neither"},
		{"a/rows.go", "package a\n\nvar rows = []int{1, 2}\n", "data"},
		{"a/calc.go", "package a\n\nfunc Two() int { return 2 }\n", "neither"},
		{"a/help.go", "package a\n\nimport \"testing\"\n\nfunc Same(t testing.TB) {}\n", "asserts"},
		{"src/rows.rs", "pub const ROWS: [i64; 2] = [1, 2];\n", "data"},
		{"src/same.rs", "pub fn same(a: i64, b: i64) {\n    assert_eq!(a, b);\n}\n", "asserts"},
		{"src/calc.rs", "pub fn half(n: i64) -> i64 {\n    assert!(n > 0);\n    n / 2\n}\n", "neither"},
		{"src/a/Rows.java", "package a;\npublic final class Rows {\n    static final int[] ROWS = {1, 2};\n}\n", "data"},
		{"src/a/Same.java", "package a;\nimport org.junit.Assert;\npublic final class Same {}\n", "asserts"},
	} {
		got := "neither"
		switch src := []byte(tt.text); {
		case asserts(tt.path, src):
			got = "asserts"
		case onlyData(tt.path, src):
			got = "data"
		}
		if got != tt.want {
			t.Errorf("%s %q: %s, want %s", tt.path, tt.text, got, tt.want)
		}
	}
}

func TestSilences(t *testing.T) {
	src := func(p, before, after string) source {
		s := source{path: p, lang: languageOf(p)}
		if before != "" {
			s.before = []byte(before)
		}
		if after != "" {
			s.after = []byte(after)
		}
		return s
	}
	for _, tt := range []struct {
		files []source
		want  string
	}{
		{[]source{src("a.py", "x = f()\n", "x = 1\nx = f()  # type: ignore[attr]\n")}, "a.py:2"},
		{[]source{src("a.py", "x = f()  # noqa\n", "y = 1\nx = g()  # noqa\n")}, ""},
		{[]source{src("a.py", "x = f()  # noqa\n", ""), src("b.py", "", "x = f()  # noqa\n")}, ""},
		{[]source{src("a.py", "", "# a note on noqa\n")}, ""},
		{[]source{src("a.ts", "", "// @ts-expect-error later\nf(1);\n/* eslint-disable */\n// prettier-ignore\n")}, "a.ts:1 a.ts:3"},
		{[]source{src("a.go", "", "package a\n\nvar x = 1 //nolint:unused\n")}, "a.go:3"},
		{[]source{src("a.rs", "", "#![allow(dead_code)]\n#[derive(Debug)]\n#[expect(unused)]\nfn f() {}\n")}, "a.rs:1 a.rs:3"},
		{[]source{src("A.java", "", "@SuppressWarnings(\"all\")\nclass A { int x; // NOSONAR\n}\n")}, "A.java:1 A.java:2"},
	} {
		var got []string
		for _, s := range silences(tt.files) {
			got = append(got, fmt.Sprintf("%s:%d", s.path, s.line))
			rest := plainComment(tt.files[len(tt.files)-1].after[s.from:s.to])
			if readAs(s.path).Forms.Silences.In(string(rest)) {
				t.Errorf("%s is still silent: %q", s.path, rest)
			}
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%q: %q, want %q", tt.files[len(tt.files)-1].after, s, tt.want)
		}
	}
}

func TestEntriesOfAPackage(t *testing.T) {
	got := entriesIn([]byte(`{"main": "./a.js", "browser": {"x": false}, "exports": {".": {"import": "./a.mjs", "types": "./a.d.ts"}, "./b": "./b.js"}}`))
	if s := fmt.Sprint(got); s != "map[. import:a.mjs ./b:b.js main:a.js]" {
		t.Error(s)
	}
}

// One comment that stands twice is one weakening, wherever it moves to.
func TestWeakSilences(t *testing.T) {
	all := []silence{{path: "a.py", text: "# noqa", line: 3}, {path: "a.py", text: "# noqa", line: 7}, {path: "b.py", text: "# noqa", line: 1}}
	for _, tt := range []struct {
		found []string
		want  string
	}{
		{[]string{"a.py: bare except"}, "[finding silenced: a.py: # noqa (line 3, 7, of lint)]"},
		{[]string{"1 problem"}, "[finding silenced: a.py: # noqa (line 3, 7, of lint) finding silenced: b.py: # noqa (line 1, of lint)]"},
	} {
		if got := fmt.Sprint(weakSilences(all, &diff{fresh: tt.found}, "lint")); got != tt.want {
			t.Errorf("%v: %s", tt.found, got)
		}
	}
	if got := weakSilences(all, nil, "lint"); got != nil {
		t.Error(got)
	}
}
