package toolset

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"agency/internal/check"
	"agency/internal/check/detect"
	"agency/internal/code"
	"agency/internal/code/lsp"
	"agency/internal/code/symbols"
	"agency/internal/codebase"
	"agency/internal/regexp"
	"agency/internal/sandbox"
	"agency/internal/tool"
)

func TestMain(m *testing.M) {
	sandbox.Child()
	os.Exit(m.Run())
}

// public are repositories that are changed, with the line that builds and tests each.
var public = []struct {
	name, line string
	languages  []code.Language
}{
	{"pflag", "go vet ./... && go test ./...", []code.Language{code.Go}},
	{"mux", "go vet ./... && go test ./...", []code.Language{code.Go}},
	{"cast", "go vet ./... && go test ./...", []code.Language{code.Go}},
	{"toml", "go vet ./... && go test ./...", []code.Language{code.Go}},
	{"strsim-rs", "cargo test -q --offline", []code.Language{code.Rust}},
	{"semver", "cargo test -q --offline", []code.Language{code.Rust}},
	{"heck", "cargo test -q --offline", []code.Language{code.Rust}},
	{"either", "cargo test -q --offline", []code.Language{code.Rust}}, // without what it would download, as semver
	{"JSON-java", javaLine("src/main/java", ""), []code.Language{code.Java}},
	{"commons-cli", javaLine("src/main/java", ""), []code.Language{code.Java}},
	{"commander.js", "npx tsc -p tsconfig.ts.json && node --test", []code.Language{code.JavaScript}},
	{"ufo", "npx tsc --noEmit -p . && npx vitest run", []code.Language{code.TypeScript}},
	{"ts-pattern", "npx tsc --noEmit -p . && npx tsc --noEmit -p tests", []code.Language{code.TypeScript}},
	{"p-queue", "npx tsc --noEmit -p . && node --import=tsx/esm --test test/basic.ts", []code.Language{code.TypeScript}},
	{"click", pytest, []code.Language{code.Python}},
	{"boltons", pytest, []code.Language{code.Python}},
	{"markupsafe", pytest, []code.Language{code.Python}},
	{"more-itertools", "PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -m unittest -q", []code.Language{code.Python}},
	{"parson", "make -B test", []code.Language{code.C}},
	{"cJSON", "make -B test", []code.Language{code.C}},
	{"inih", "cd tests && CC=cc bash unittest.sh && git diff --exit-code *.txt", []code.Language{code.C}},
}

const pytest = "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=src /usr/bin/python3 -m pytest -q -x -p no:cacheprovider tests"

func javaLine(sources, classes string) string {
	return `out=$(mktemp -d) && trap 'rm -rf "$out"' EXIT && javac -nowarn -cp "` + classes + `" -d "$out" $(find ` + sources + ` -name '*.java' ! -name module-info.java)`
}

// parses are the lines that tell by each language's own parser whether a file, $1, is syntax.
var parses = map[code.Language]string{
	code.Go:         `gofmt -e "$1" >/dev/null`,
	code.Rust:       `rustfmt --edition 2021 --emit stdout <"$1" >/dev/null`,
	code.Java:       `java ` + parseJava + ` "$1"`,
	code.JavaScript: `node --check "$1"`,
	code.Python:     `/usr/bin/python3 -c 'import ast,sys; ast.parse(open(sys.argv[1]).read())' "$1"`,
	code.TypeScript: `node ` + parseTypeScript + ` "$1"`,
	code.C:          `cc -fsyntax-only -w "$1"`,
}

const (
	parseJava       = "/tmp/agency-drawn-Parse.java"
	parseTypeScript = "/tmp/agency-drawn-parse.cjs"
)

// TestPublicEdits changes public repositories, whose clones lie in the folder that
// AGENCY_CLONES names, as agents do: definitions drawn at random, AGENCY_DRAWN of each, are
// renamed, their texts replaced by damaged and by harmless ones, and statements of them
// extracted. What is changed must build and pass its tests, or nothing be changed.
// AGENCY_SEED draws others.
func TestPublicEdits(t *testing.T) {
	clones := os.Getenv("AGENCY_CLONES")
	n, _ := strconv.Atoi(os.Getenv("AGENCY_DRAWN"))
	if clones == "" || n == 0 {
		t.Skip("AGENCY_CLONES names no folder with clones of public repositories, or AGENCY_DRAWN no number")
	}
	seed, _ := strconv.ParseUint(cmp.Or(os.Getenv("AGENCY_SEED"), "7"), 10, 64)
	table := tally{}
	for _, r := range public {
		t.Run(r.name, func(t *testing.T) {
			dir := filepath.Join(clones, r.name)
			if _, err := os.Stat(dir); err != nil {
				t.Skip(err)
			}
			c := cloneOf(t, dir, r.line, table)
			c.chance = rand.New(rand.NewPCG(seed, 7))
			drawn := c.definitions(t, r.languages)
			c.chance.Shuffle(len(drawn), func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
			for _, d := range drawn[:min(n, len(drawn))] {
				c.rename(t, d)
			}
			bodies := slices.DeleteFunc(drawn, func(d drawnOne) bool {
				return d.d.Kind != symbols.Function && d.d.Kind != symbols.Method || d.d.EndLine-d.d.Line < 2
			})
			for _, d := range bodies[:min(n, len(bodies))] {
				c.damage(t, d)
				c.harmless(t, d)
				c.extract(t, d)
			}
		})
	}
	t.Logf("seed %d\n%s", seed, table)
}

// tally counts what became of calls, by language and tool.
type tally map[string]map[string]int

func (a tally) add(l code.Language, call, outcome string) {
	key := fmt.Sprintf("%-12s%-18s", l, call)
	if a[key] == nil {
		a[key] = map[string]int{}
	}
	a[key]["drawn"]++
	a[key][outcome]++
}

func (a tally) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-30s%8s%8s%8s%8s\n", "", "drawn", "built", "refused", "broken")
	for _, key := range slices.Sorted(maps.Keys(a)) {
		row := a[key]
		fmt.Fprintf(&b, "%-30s%8d%8d%8d%8d\n", key, row["drawn"], row["built"], row["refused"], row["broken"])
	}
	return b.String()
}

// clone is a checkout with its servers.
type clone struct {
	dir, line string
	files     *tool.Files
	syntax    *code.Engine
	chance    *rand.Rand
	table     tally
}

// drawnOne is a definition of a file, with the file's text.
type drawnOne struct {
	file symbols.File
	text string
	d    symbols.Definition
}

func (d drawnOne) String() string {
	return fmt.Sprintf("%s:%d %s %s", d.file.Path, d.d.Line, d.d.Kind, d.d.Path())
}

func cloneOf(t *testing.T, dir, line string, table tally) clone {
	t.Helper()
	if out, err := exec.Command("git", "-C", dir, "status", "--porcelain", "-uno").CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("the clone has changes, which would be lost: commit them\n%s%v", out, err)
	}
	runner, err := sandbox.New(sandbox.Options{Mode: sandbox.ModeFull, StateDir: t.TempDir()})
	if err != nil {
		t.Skip(err)
	}
	files, err := tool.OpenFiles(dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	found, err := detect.Toolchain(t.Context(), detect.Input{Repo: os.DirFS(dir), Dir: dir, Env: os.LookupEnv, Sight: runner.Sight(dir), Commands: check.Commands{}})
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	files.Servers = lsp.NewKeeper(4).Open(dir, func(ctx context.Context, p lsp.Process) (int, error) {
		defer func() { _ = p.Stdin.Close() }()
		tools := found.Tools
		tools.ReadOnly = append(slices.Clone(tools.ReadOnly), sandbox.Mount{Host: dir, At: dir, Own: true, Apart: true})
		limits := sandbox.DefaultLimits()
		limits.Wall = time.Hour
		res, err := runner.Run(ctx, sandbox.Spec{
			Place: sandbox.Place{Root: home, At: home}, Tools: tools, LayerDir: filepath.Join(filepath.Dir(home), "layers"), Argv: p.Argv,
			Env: append(slices.Clone(p.Env), "HOME="+home), Limits: limits, Input: p.Stdin, Stdout: p.Stdout,
		})
		t.Logf("a server ended: %s %d, at most %d MiB, %v; %.300s", res.Cause, res.ExitCode, res.MaxRSSKB>>10, err, res.Output)
		return res.ExitCode, err
	})
	syntax := code.New(code.Options{})
	t.Cleanup(func() {
		files.Servers.Close()
		_ = files.Close()
		_ = runner.Close()
		_ = syntax.Close()
	})
	for name, text := range map[string]string{
		parseJava: `import javax.tools.*; import java.util.*; import com.sun.source.util.*;
class Parse { public static void main(String[] a) throws Exception {
	var c = ToolProvider.getSystemJavaCompiler(); var d = new DiagnosticCollector<JavaFileObject>(); var m = c.getStandardFileManager(null, null, null);
	((JavacTask) c.getTask(null, m, d, null, null, m.getJavaFileObjects(a))).parse();
	for (var x : d.getDiagnostics()) if (x.getKind() == Diagnostic.Kind.ERROR) { System.err.println(x); System.exit(1); } } }`,
		parseTypeScript: `const ts = require(process.cwd() + '/node_modules/typescript'), fs = require('fs')
const bad = ts.transpileModule(fs.readFileSync(process.argv[2], 'utf8'), {reportDiagnostics: true}).diagnostics
if (bad.length) { console.error(bad[0].messageText); process.exit(1) }`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := clone{dir: dir, line: line, files: files, syntax: syntax, table: table}
	if out, err := c.passes(t); err != nil {
		t.Fatalf("it does not pass as it is: %v\n%s", err, out)
	}
	return c
}

// passes builds and tests the checkout.
func (c clone) passes(t *testing.T) (string, error) { return c.shell(t, c.line) }

func (c clone) shell(t *testing.T, line string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", append([]string{"-c", line, "bash"}, args...)...)
	cmd.Dir = c.dir
	out, err := cmd.CombinedOutput()
	return string(out[max(0, len(out)-3000):]), err
}

// definitions are those of the clone's own files.
func (c clone) definitions(t *testing.T, languages []code.Language) (out []drawnOne) {
	t.Helper()
	err := filepath.WalkDir(c.dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && codebase.Skipped(e.Name()) {
			return fs.SkipDir
		}
		rel, _ := filepath.Rel(c.dir, p)
		if !e.Type().IsRegular() || !slices.Contains(languages, code.SyntaxOf(rel)) {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		f, err := symbols.Read(t.Context(), c.syntax, rel, text)
		if err != nil && code.Skip(err) == nil {
			return err
		}
		for _, d := range f.Definitions {
			out = append(out, drawnOne{f, string(text), d})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// symbol is how an agent names it.
func (d drawnOne) symbol() string {
	if p := d.d.Path(); len(d.file.Named(p)) == 1 {
		return p
	}
	return fmt.Sprintf("%s:%d", d.d.Path(), d.d.Line)
}

// asks calls a tool as an agent does, and judges what it did: an answer that changed files
// has to build and pass its tests.
func (c clone) asks(t *testing.T, d drawnOne, name, what string, args map[string]any) (res tool.Result, built bool) {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	res, err = named([]string{name})[0].Run(t.Context(), env(c.files), raw)
	if err != nil {
		t.Fatalf("%s %s: %v", name, raw, err)
	}
	took := time.Since(begun).Round(time.Millisecond)
	if res.Failed || res.Refused {
		t.Logf("REFUSED %s %s, %s (%v): %s", name, d, what, took, res.Text)
		if out, err := c.shell(t, "git status --porcelain -uno"); err != nil || out != "" {
			t.Errorf("%s %s was refused and has changed: %s %v", name, d, out, err)
		}
		return res, false
	}
	out, err := c.passes(t)
	if err != nil {
		diff, _ := c.shell(t, "git diff -U1")
		t.Logf("does not build: %s %s, %s (%v): %v\n%s\n%s\n%s", name, d, what, took, err, res.Text, out, diff)
	} else {
		t.Logf("BUILT %s %s, %s (%v)", name, d, what, took)
	}
	return res, err == nil
}

// restores takes back what was written.
func (c clone) restores(t *testing.T) {
	t.Helper()
	if out, err := c.shell(t, "git checkout -q -- ."); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// rename gives one a name that nothing has, or one that something in its file has.
func (c clone) rename(t *testing.T, d drawnOne) {
	t.Helper()
	to := d.d.Name + "_anew"
	if c.chance.IntN(3) == 0 && len(d.file.Names) > 0 {
		to = d.file.Names[c.chance.IntN(len(d.file.Names))].Text
	}
	defer c.restores(t)
	res, built := c.asks(t, d, "rename_symbol", "to "+to, map[string]any{"symbol_name": d.symbol(), "file_path": d.file.Path, "new_name": to})
	call := "rename, new"
	if !strings.HasSuffix(to, "_anew") {
		call = "rename, taken"
	}
	c.count(t, d, call, res, built, true)
}

func (c clone) count(t *testing.T, d drawnOne, call string, res tool.Result, built, right bool) {
	t.Helper()
	refused := res.Failed || res.Refused
	switch {
	case !right || !refused && !built:
		c.table.add(d.file.Language, call, "broken")
		t.Errorf("BROKEN %s of %s", call, d)
	case refused:
		c.table.add(d.file.Language, call, "refused")
	default:
		c.table.add(d.file.Language, call, "built")
	}
}

var tokens = regexp.MustCompile("[A-Za-z_][A-Za-z_0-9]*|[0-9]+|\\S")

// parsed tells whether the language's own parser takes the file with another text of d.
func (c clone) parsed(t *testing.T, d drawnOne, content string) (string, bool) {
	t.Helper()
	return c.taken(t, d, content, parses[d.file.Language])
}

// taken tells whether a line succeeds with another text of d, whose file is its argument.
func (c clone) taken(t *testing.T, d drawnOne, content, line string) (string, bool) {
	t.Helper()
	name := filepath.Join(c.dir, d.file.Path)
	if err := os.WriteFile(name, []byte(d.text[:d.d.Start]+content+d.text[d.d.End:]), 0o644); err != nil {
		t.Fatal(err)
	}
	defer c.restores(t)
	out, err := c.shell(t, line, d.file.Path)
	return out, err == nil
}

// damage replaces one by itself with a token less: where that is no syntax it has to be
// refused, with the place.
func (c clone) damage(t *testing.T, d drawnOne) {
	t.Helper()
	was := d.text[d.d.Start:d.d.End]
	all := tokens.FindAllStringIndex(was, -1)
	marks := slices.DeleteFunc(slices.Clone(all), func(m []int) bool { return !strings.Contains("(){}[]\"'`;:=.,", was[m[0]:m[1]]) })
	if len(marks) > 0 && c.chance.IntN(2) == 0 {
		all = marks
	}
	at := all[c.chance.IntN(len(all))]
	content := was[:at[0]] + was[at[1]:]
	said, whole := c.parsed(t, d, content)
	what := fmt.Sprintf("without %q at %d:\n%s\n", was[at[0]:at[1]], at[0], content)
	res, built := c.replaces(t, d, what, content)
	refused := res.Failed || res.Refused
	right := refused != whole
	if refused && whole { // some parsers take what their compilers do not
		_, takes := c.taken(t, d, content, c.line)
		right = !takes
	}
	if !right {
		t.Logf("smart_edit refused: %v, the language's parser takes it: %v %s", refused, whole, said)
	}
	if refused && !strings.Contains(res.Text, d.file.Path+":") {
		t.Logf("no place in %s", res.Text)
		right = false
	}
	if whole && !refused {
		built = true // what types make of it is not syntax's
	}
	c.count(t, d, "edit, damaged", res, built, right)
}

func (c clone) replaces(t *testing.T, d drawnOne, what, content string) (tool.Result, bool) {
	t.Helper()
	defer c.restores(t)
	return c.asks(t, d, "smart_edit", what, map[string]any{"symbol_name": d.symbol(), "file_path": d.file.Path, "new_content": content})
}

// nothings are statements that do nothing.
var nothings = map[code.Language]string{code.Go: "_ = 1", code.Rust: "let _ = 1;", code.Java: "int anew = 1;", code.JavaScript: "void 0;", code.TypeScript: "void 0;", code.C: ";"}

// harmless replaces one by itself with a statement that does nothing.
func (c clone) harmless(t *testing.T, d drawnOne) {
	t.Helper()
	content := d.text[d.d.Start:d.d.End]
	if nothing := nothings[d.file.Language]; nothing != "" {
		head, body, ok := strings.Cut(content, "{\n")
		if !ok {
			return
		}
		content = head + "{\n" + nothing + "\n" + body
	} else {
		_, body, _ := strings.Cut(content, ":\n")
		content += "\n" + body[:len(body)-len(strings.TrimLeft(body, " "))] + "pass"
	}
	if _, whole := c.parsed(t, d, content); !whole || strings.HasSuffix("."+d.d.Container, "."+d.d.Name) {
		return
	}
	res, built := c.replaces(t, d, "with a statement more", content)
	c.count(t, d, "edit, harmless", res, built, true)
}

// extract takes statements of a function of Go that stand together out of it.
func (c clone) extract(t *testing.T, d drawnOne) {
	t.Helper()
	if d.file.Language != code.Go {
		return
	}
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "", d.text, 0)
	if err != nil {
		t.Fatal(err)
	}
	var lists [][]ast.Stmt
	ast.Inspect(f, func(n ast.Node) bool {
		if n != nil && (set.Position(n.End()).Line < d.d.Line || set.Position(n.Pos()).Line > d.d.EndLine) {
			return false
		}
		switch n := n.(type) {
		case *ast.BlockStmt:
			lists = append(lists, n.List)
		case *ast.CaseClause:
			lists = append(lists, n.Body)
		}
		return true
	})
	lists = slices.DeleteFunc(lists, func(l []ast.Stmt) bool { return len(l) == 0 })
	if len(lists) == 0 {
		return
	}
	list := lists[c.chance.IntN(len(lists))]
	from := c.chance.IntN(len(list))
	to := from + c.chance.IntN(len(list)-from)
	first, last := set.Position(list[from].Pos()).Line, set.Position(list[to].End()).Line
	defer c.restores(t)
	res, built := c.asks(t, d, "extract_function", fmt.Sprintf("lines %d to %d", first, last), map[string]any{
		"file_path": d.file.Path, "start_line": first, "end_line": last, "function_name": "anewFunction",
	})
	c.count(t, d, "extract", res, built, true)
}
