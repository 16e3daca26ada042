package imports_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agency/internal/code/imports"
	"agency/internal/ecosystem/node"
	"agency/internal/ecosystem/python"
	"agency/internal/ecosystem/rust"
)

// checkout is a Source of NAME=TEXT.
func checkout(files ...string) imports.Source {
	texts := map[string]string{}
	var src imports.Source
	for _, f := range files {
		name, text, _ := strings.Cut(f, "=")
		texts[name] = text
		src.Files = append(src.Files, name)
	}
	src.Read = func(name string, most int64) []byte {
		text, ok := texts[name]
		if !ok {
			return nil
		}
		return []byte(text[:min(int64(len(text)), most)])
	}
	return src
}

// hits are the affected files without the changed ones; "?" where nothing is
// known.
func hits(g *imports.Graph, changed ...string) string {
	if g == nil {
		return "?"
	}
	hit, known := g.Affected(changed)
	if !known {
		return "?"
	}
	var out []string
	for f := range hit {
		if !slices.Contains(changed, f) {
			out = append(out, f)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestJavaScript(t *testing.T) {
	const pkg = `package.json={"name": "me", "devDependencies": {"lodash": "1", "@x/y": "1"}}`
	for name, tt := range map[string]struct {
		files   []string
		changed string
		want    string
	}{
		"through a chain": {[]string{"a.js=", "b.mjs=import { a } from './a.js'", "c.test.js=import('./b.mjs')", "d.test.js=require('./e')", "e.js="}, "a.js", "b.mjs c.test.js"},
		"exported again":  {[]string{"a.ts=", "b.ts=export * from \"./a\"", "c.ts=import x from './b.js'"}, "a.ts", "b.ts c.ts"},
		"over lines":      {[]string{"a.js=", "b.js=import {\n  x,\n} from\n  './a';"}, "a.js", "b.js"},
		"index of a folder": {
			[]string{"lib/index.js=", "b.js=require('./lib')", "lib/c.js=require('.')", "lib/sub/d.js=require('..')", "e.js=require('./other')", "other/index.js="},
			"lib/index.js", "b.js lib/c.js lib/sub/d.js",
		},
		"one that comes between": {[]string{"a.js=", "a.ts=", "b.js=require('./a')"}, "a.ts", "b.js"},
		"packages of others":     {[]string{pkg, "a.js=", "b.js=require('lodash/fp'); require('@x/y'); require('node:fs'); require('fs/promises')"}, "a.js", ""},
		"an unknown package":     {[]string{pkg, "a.js=", "b.js=require('left-pad')"}, "a.js", "b.js"},
		"a package of the checkout": {
			[]string{pkg, `libs/p/package.json={"name": "@me/p"}`, "libs/p/src/x.js=", "a.test.js=import '@me/p'", "b.test.js="},
			"libs/p/src/x.js", "a.test.js",
		},
		"paths of tsconfig": {[]string{
			pkg, "tsconfig.json={\n// said so\n\"compilerOptions\": {\"baseUrl\": \".\", \"paths\": {\"@app\": [\"src/app\"], \"~/*\": [\"src/*\"]}}}",
			"src/app/index.ts=", "src/zed.ts=", "a.ts=import '@app'", "b.ts=import '~/zed'", "c.ts=import './a'",
		}, "src/app/index.ts", "a.ts c.ts"},
		"a mock by its name":        {[]string{"src/a.js=", "b.test.js=jest.mock('../src/a')"}, "src/a.js", "b.test.js"},
		"a path in pieces":          {[]string{"bin/cli.js=", "b.test.js=path.join(__dirname, '..', 'bin', 'cli')"}, "bin/cli.js", "b.test.js"},
		"behind quotes in comments": {[]string{"a.js=", "b.js=/* it's */ load('./a'); // don't"}, "a.js", "b.js"},
		"a name that is computed":   {[]string{"a.js=", "b.test.js=require(name)", "c.test.js=import(`./x/${n}.js`)", "d.test.js="}, "a.js", "b.test.js c.test.js"},
		"a program that is started": {[]string{"a.js=", "b.test.js=const { spawn } = require('child_process')", "c.test.js="}, "a.js", "b.test.js"},
		"a folder that is read":     {[]string{"a.js=", "b.test.js=fs.readdirSync(dir)", "c.test.js=import.meta.glob('./x/*')"}, "a.js", "b.test.js c.test.js"},
		"what a command makes":      {[]string{"src/a.js=", "b.test.js=require('../dist/a')", "c.test.js=require('./gone')"}, "src/a.js", "b.test.js c.test.js"},
		"what was made and is kept": {[]string{"src/z.js=", "dist/a.js=", "b.test.js=require('./dist/a')"}, "src/z.js", "b.test.js"},
		"a require of another name": {[]string{"a.js=", "b.test.js=const load = createRequire(import.meta.url)", "c.test.js=const require = createRequire(import.meta.url)"}, "a.js", "b.test.js"},
		"data":                      {[]string{"a.json=", "b.test.js=require('./a.json')"}, "a.json", "?"},
		"a component":               {[]string{"a.vue=", "b.test.js="}, "a.vue", "?"},
		"others' code":              {[]string{"node_modules/x/a.js=", "b.test.js="}, "node_modules/x/a.js", "?"},
		"too large":                 {[]string{"a.js=", "b.js=" + strings.Repeat("x", 1<<20+1)}, "a.js", "?"},
	} {
		if got := hits(node.Ecosystem().Project.Imports.Read(t.Context(), checkout(tt.files...)), tt.changed); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	g := node.Ecosystem().Project.Imports.Read(t.Context(), checkout("a.js=beforeEach(() => {})", "b.js=describe('x', () => {\n  beforeEach(f)\n})", "c.js=exports.mochaHooks = {}"))
	if !g.Hooks("a.js") || g.Hooks("b.js") || !g.Hooks("c.js") {
		t.Error("hooks around all tests are not told from those of one suite")
	}
}

func TestPython(t *testing.T) {
	for name, tt := range map[string]struct {
		files   []string
		changed string
		want    string
	}{
		"through a chain":  {[]string{"p/__init__.py=", "p/a.py=", "p/b.py=from .a import x", "tests/test_b.py=from p.b import y", "tests/test_c.py=import p.c", "p/c.py="}, "p/a.py", "p/b.py tests/test_b.py"},
		"a folder above":   {[]string{"src/p/a.py=", "tests/test_a.py=import p.a as q, os"}, "src/p/a.py", "tests/test_a.py"},
		"a name in it":     {[]string{"p/a.py=", "t1.py=from p import (\n    b,  # no\n    a,\n)", "t2.py=from p import b"}, "p/a.py", "t1.py"},
		"the folder's own": {[]string{"p/q/a.py=", "p/b.py=", "p/q/c.py=from .. import b", "p/q/d.py=from ..b import x", "p/q/e.py=from . import a"}, "p/b.py", "p/q/c.py p/q/d.py"},
		"the package":      {[]string{"p/__init__.py=", "p/a.py=", "test_a.py=from p.a import x", "test_b.py=import other"}, "p/__init__.py", "p/a.py test_a.py"},
		"what it loads":    {[]string{"p/__init__.py=from .a import x", "p/a.py=", "test_a.py=import p"}, "p/a.py", "p/__init__.py test_a.py"},
		"a star":           {[]string{"p/a.py=", "test_a.py=from p import *"}, "p/a.py", "test_a.py"},
		"a patch by name":  {[]string{"p/a.py=", "test_a.py=@mock.patch('p.a.f')", "test_b.py="}, "p/a.py", "test_a.py"},
		"after a colon":    {[]string{"p/a.py=", "test_a.py=try: import p.a\nexcept ImportError: pass", "test_b.py=def f(): from p import a"}, "p/a.py", "test_a.py test_b.py"},
		"over lines":       {[]string{"p/a.py=", "test_a.py=from p import b, \\\n  a"}, "p/a.py", "test_a.py"},
		"conftest":         {[]string{"t/conftest.py=from p.a import f", "t/x/test_a.py=", "u/test_b.py=", "p/a.py="}, "p/a.py", "t/conftest.py t/x/test_a.py"},
		"plugins":          {[]string{"t/plug.py=", "t/conftest.py=pytest_plugins = [\n  'plug',\n]", "t/test_a.py=", "u/test_b.py="}, "t/plug.py", "t/conftest.py t/test_a.py"},
		"by name alone":    {[]string{"p/a.py=", "test_a.py=importlib.import_module(name)", "test_b.py=import importlib.metadata"}, "p/a.py", "test_a.py"},
		"a program":        {[]string{"p/a.py=", "test_a.py=subprocess.run(cmd)", "test_b.py="}, "p/a.py", "test_a.py"},
		"made by a build":  {[]string{"p/__init__.py=", "p/a.py=", "p/b.py=from ._speed import x", "test_b.py=import p.b"}, "p/a.py", "p/b.py test_b.py"},
		"lists of names":   {[]string{"p/a.py=", "settings.py=INSTALLED_APPS = ['p']"}, "p/a.py", "?"},
		"moved packages":   {[]string{"src/a.py=", "test_a.py=import foo.a", "setup.py=setup(package_dir={'foo': 'src'})"}, "src/a.py", "?"},
		"a plain src":      {[]string{"src/p/a.py=", "test_a.py=import p.a", "pyproject.toml=[tool.setuptools.package-dir]\n\"\" = \"src\"\n"}, "src/p/a.py", "test_a.py"},
		"tests by hand":    {[]string{"p/a.py=", "test_a.py=def load_tests(a, b, c): pass"}, "p/a.py", "?"},
		"data":             {[]string{"p/a.txt=", "test_a.py="}, "p/a.txt", "?"},
	} {
		if got := hits(python.Ecosystem().Project.Imports.Read(t.Context(), checkout(tt.files...)), tt.changed); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// What is gone still counts for what names it.
func TestGone(t *testing.T) {
	src := checkout("p/b.py=import p.a", "test_b.py=import p.b", "test_c.py=").With([]string{"p/a.py"})
	if got := hits(python.Ecosystem().Project.Imports.Read(t.Context(), src), "p/a.py"); got != "p/b.py test_b.py" {
		t.Errorf("%q", got)
	}
}

func TestRust(t *testing.T) {
	ws := []string{
		"Cargo.toml=[workspace]\nmembers = ['*']\n[workspace.dependencies]\ncore = { path = \"core\" }\n", "core/Cargo.toml=[package]\nname = \"core-x\"\n",
		"mid/Cargo.toml=[package]\nname = \"mid\"\n[dependencies]\ncore.workspace = true\n", "app/Cargo.toml=[package]\nname = \"app\"\n[dev-dependencies.mid]\npath = \"../mid\"\n",
		"lone/Cargo.toml=[package]\nname = \"lone\"\n[lib]\npath = \"src/lib.rs\"\n", "core/src/lib.rs=", "lone/src/lib.rs=", "README.md=",
	}
	for name, tt := range map[string]struct {
		more    []string
		changed string
		want    string
	}{
		"who depends on it":  {nil, "core/src/lib.rs", "app core-x mid"},
		"one alone":          {nil, "lone/src/lib.rs", "lone"},
		"its data":           {nil, "mid/data/x.txt", "app mid"},
		"what another reads": {[]string{"lone/src/x.rs=include_str!(\"../../core/src/x.txt\")"}, "core/src/x.txt", "app core-x lone mid"},
		"of no crate":        {nil, "README.md", "?"},
		"a manifest":         {nil, "core/Cargo.toml", "?"},
		"a build script":     {nil, "core/build.rs", "?"},
		"a replaced crate":   {[]string{"x/Cargo.toml=[patch.crates-io]\nfoo = { path = \"../lone\" }\n"}, "lone/src/lib.rs", "?"},
		"another's program":  {[]string{"lone/tests/it.rs=Command::cargo_bin(\"app\")"}, "app/src/main.rs", "?"},
	} {
		got := "?"
		if names, _, known := rust.Ecosystem().Project.Imports.Packages(t.Context(), checkout(append(slices.Clone(ws), tt.more...)...), "", []string{tt.changed}); known {
			got = strings.Join(names, " ")
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestMentioned(t *testing.T) {
	g := imports.NewReader(t.Context(), imports.Source{}, ".js", ".ts", ".py").Graph
	hit := map[string]bool{"test/setup.js": true, "src/hooks/index.ts": true, "p/plug.py": true}
	for text, want := range map[string]bool{
		"setupFiles: ['./test/setup.js']": true, "--import ./test/setup": true, "src/hooks": true, "addopts = -p p.plug": true,
		"src/**/*.js": false, "setups": false,
	} {
		if got := g.Mentions(text, hit); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

// A large checkout is read in time, and not at all once the time is over.
func TestBounds(t *testing.T) {
	var files []string
	for i := range 600 {
		files = append(files, fmt.Sprintf("d%d/f%d.js=import x from './f%d'; import y from '../d%d/f%d';\n%s", i%50, i, i-1, i%50, i/2, strings.Repeat("const a = 'some text';\n", 40)))
		files = append(files, fmt.Sprintf("d%d/f%d.py=from .f%d import x\nimport d%d.f%d\n%s", i%50, i, i-1, i%50, i/2, strings.Repeat("a = self.b.c('d')\n", 40)))
	}
	src := checkout(files...)
	began := time.Now()
	if node.Ecosystem().Project.Imports.Read(t.Context(), src) == nil || python.Ecosystem().Project.Imports.Read(t.Context(), src) == nil {
		t.Error("nothing was read")
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("1200 files took %s", took)
	}
	over, stop := context.WithCancel(t.Context())
	stop()
	if node.Ecosystem().Project.Imports.Read(over, src) != nil || python.Ecosystem().Project.Imports.Read(over, src) != nil {
		t.Error("it read on after the end of its time")
	}
}
