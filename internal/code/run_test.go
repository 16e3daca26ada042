package code

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// program is a file that prints a line for each thing that it does, in a
// language whose tools run it for real.
type program struct {
	file  string
	tools []string
	build []string // in the file's folder
	run   []string
	// wants are lines of the output under a cut of everything that is named: the
	// line's first word is the program's, the rest what it comes to.
	wants []want
	skips []string // the functions that get no switch
}

type want struct {
	cut  Cut
	name string // of the function; its id
	line string
}

var programs = []program{
	{
		file: "main.go", tools: []string{"go"}, build: []string{"go", "build", "-o", "prog", "main.go"}, run: []string{"./prog"},
		wants: []want{
			{CutZero, "Stack.Push", "push 0 <nil>"},
			{CutOther, "Stack.Push", "push 1 taken out"},
			{CutPanic, "Stack.Push", "push panic taken out"},
			{CutPanic, "Stack.Last", "last panic taken out"},
			{CutOther, "Stack.Last", "last true"},
			{CutZero, "named", "named 0 <nil>"},
			{CutOther, "named", "named 1 taken out"},
			{CutOther, "hides", "hides taken outtrue"},
			{CutZero, "hides", "hides false"},
			{CutZero, "shadow", "shadow false"},
			{CutZero, "clash", "clash panic taken out"},
			{CutZero, "lines", "lines panic taken out"},
			{CutOther, "label", "label 1"},
			{CutThere, "label", "label 0"},
			{CutThere, "Stack.Last", "last true"},
			{CutThere, "hides", "hides taken outtrue"},
			{CutThere, "Stack.Push", "push 0 <nil>"},
			{CutZero, "tuple", "tuple false [] map[] <nil> 0 false"},
			{CutOther, "tuple", "tuple false [] map[]taken out1 false"},
			{CutZero, "count", "main 0"},
			{CutOther, "count", "main 1"},
			{CutPanic, "main", "-push"},
			{CutZero, "init", "-init"},
		},
	},
	{
		file: "prog.py", tools: []string{"python3"}, run: []string{"python3", "prog.py"},
		wants: []want{
			{CutZero, "Early.one", "one None"},
			{CutOther, "Early.two", "two 0"},
			{CutZero, "Calc.__init__", "init AttributeError"},
			{CutOther, "Calc.__init__", "init AttributeError"},
			{CutPanic, "Calc.__init__", "init raised taken out"},
			{CutZero, "Calc.total", "total None"},
			{CutPanic, "Calc.add", "add raised taken out"},
			{CutOther, "Calc.doc", "doc 0"},
			{CutOther, "Calc.both", "both 0"},
			{CutPanic, "Calc.documented", "documented raised taken out"},
			{CutZero, "Calc.semi", "semi None"},
			{CutZero, "outer", "outer None"},
			{CutOther, "outer.inner", "outer 0"},
			{CutZero, "gen", "gen []"},
			{CutOther, "gen", "gen raised taken out"},
			{CutOther, "co", "co 0"},
			{CutZero, "agen", "collect []"},
			{CutPanic, "agen", "collect raised taken out"},
			{CutZero, "decorated", "decorated TypeError"},
			{CutZero, "conditional", "conditional None"},
		},
	},
	{
		file: "prog.js", tools: []string{"node"}, run: []string{"node", "prog.js"},
		wants: []want{
			{CutZero, "hoisted", "early undefined"},
			{CutOther, "obj", "obj 0"},
			{CutPanic, "two", "two threw taken out"},
			{CutZero, "multi", "multi undefined"},
			{CutPanic, "asyncArrow", "asyncArrow threw taken out"},
			{CutOther, "Base.y", "y 0"},
			{CutZero, "Base.y", "sety 1"},
			{CutOther, "Base.s", "s 0"},
			{CutZero, "Derived.constructor", "derived threw taken out"},
			{CutZero, "Late.constructor", "late threw taken out"},
			{CutZero, "Late.field", "late undefined"},
			{CutZero, "strict", "strict undefined"},
			{CutZero, "gen", "gen []"},
			{CutOther, "gen", "gen threw taken out"},
			{CutOther, "co", "co 0"},
			{CutZero, "agen", "agen []"},
			{CutZero, "o.m", "m undefined"},
			{CutOther, "o.undefined", "undefined 0"},
			{CutPanic, "shadow", "shadow threw taken out"},
			{CutZero, "regex", "regex undefined"},
			{CutZero, "seq", "seq undefined"},
		},
	},
	{ // called only after the environment was cleared
		file: "late.js", tools: []string{"node"}, run: []string{"node", "late.js"},
		wants: []want{{CutZero, "f", "-f ran"}},
	},
	{
		file: "prog.ts", tools: []string{"tsc", "node"},
		build: []string{"tsc", "--strict", "--target", "es2020", "--lib", "es2020", "--noImplicitReturns", "--noUnusedLocals", "--noFallthroughCasesInSwitch", "prog.ts"},
		run:   []string{"node", "prog.js"},
		wants: []want{
			{CutZero, "Base.constructor", "base threw taken out"},
			{CutZero, "Derived.constructor", "derived threw taken out"},
			{CutZero, "Base.y", "y undefined"},
			{CutOther, "inferred", "inferred {}"},
			{CutZero, "isText", "guard threw taken out"},
			{CutZero, "checked", "checked undefined"},
			{CutOther, "later", "later {}"},
			{CutPanic, "fails", "fails threw taken out"},
			{CutZero, "gen", "gen []"},
			{CutOther, "gen", "gen threw taken out"},
			{CutZero, "must", "-must threw no"},
			{CutOther, "arrow", "arrow {}"},
			{CutZero, "callback", `quiet "NaNa212"`},
		},
	},
	{
		file: "main.rs", tools: []string{"rustc", "cargo"}, build: []string{"rustc", "--edition", "2021", "-o", "prog", "main.rs"}, run: []string{"./prog"},
		wants: []want{
			{CutZero, "Stack.push", "push 0"},
			{CutOther, "Stack.push", "push 1"},
			{CutPanic, "Stack.push", "push panicked"},
			{CutZero, "Stack.last", "last None"},
			{CutOther, "Stack.last", "last panicked"},
			{CutZero, "Stack.first", "first None"},
			{CutThere, "Stack.last", "last panicked"},
			{CutThere, "Stack.push", "push 0"},
			{CutThere, "found", "found Some(1)"},
			{CutZero, "found", "found None"},
			{CutThere, "result", "result Ok(1)"},
			{CutThere, "checked", "checked Ok(())"},
			{CutZero, "Stack.fmt", "fmt panicked"},
			{CutZero, "Named.name", `name ""`},
			{CutOther, "Named.name", `name "taken out"`},
			{CutOther, "inner.deep.negative", "negative 1"},
			{CutOther, "inner.deep.texts", `texts ["taken out"]`},
			{CutZero, "block", "block 0"},
			{CutZero, "block.nested", "block 1"},
			{CutZero, "never", "never false"},
			{CutOther, "letter", "letter 't'"},
			{CutOther, "text", `text "taken out"`},
			{CutZero, "real", "real 0.0"},
			{CutZero, "result", "result panicked"},
			{CutZero, "iter", "iter panicked"},
			{CutZero, "unit", "-unit\n"},
		},
		skips: []string{"fixed: a const fn", "callback: an extern fn", "tests.helper: for tests alone", "tests.blocks: a test"},
	},
	{
		file: "Main.java", tools: []string{"javac", "java"}, build: []string{"javac", "-Xlint:all", "-Werror", "Main.java"}, run: []string{"java", "-cp", ".", "Main"},
		wants: []want{
			{CutZero, "Main.Base.Base", "base 0"},
			{CutPanic, "Main.Base.Base", "base threw taken out"},
			{CutZero, "Main.Derived.Derived", "derived 7"},
			{CutZero, "Main.Final.Final", "final threw taken out"},
			{CutZero, "Main.Pair.Pair", "pair threw taken out"},
			{CutOther, "Main.Pair.sum", "pair 1"},
			{CutOther, "Main.Color.label", "color taken out"},
			{CutZero, "Main.Shape.big", "shape false"},
			{CutZero, "Main.Shape.mark", "mark 0"},
			{CutOther, "Main.max", "max null"},
			{CutZero, "Main.array", "array true"},
			{CutOther, "Main.big", "big 1"},
			{CutOther, "Main.small", "small 1"},
			{CutOther, "Main.real", "real 1.0"},
			{CutZero, "Main.boxed", "boxed null"},
			{CutOther, "Main.boxedLong", "boxedLong 1"},
			{CutThere, "Main.boxedLong", "boxedLong null"},
			{CutThere, "Main.found", "found Optional[1]"},
			{CutZero, "Main.found", "found null"},
			{CutOther, "Main.text", "text taken out"},
			{CutZero, "Main.flag", "flag false"},
			{CutPanic, "Main.anonymous.toString", "anonymous threw taken out"},
			{CutPanic, "Main.nothing", "nothing threw taken out"},
		},
	},
}

// A switched program does what it did, and what the cut says where the variable
// is set: in the languages' own tools.
func TestSwitchedProgramsRun(t *testing.T) {
	e := newEngine(t)
	for _, p := range programs {
		t.Run(p.file, func(t *testing.T) {
			if testing.Short() {
				t.Skip("builds and runs programs")
			}
			for _, tool := range p.tools {
				if _, err := exec.LookPath(tool); err != nil {
					t.Skip(tool, "is not here")
				}
			}
			src, err := os.ReadFile("testdata/run/" + p.file + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			before := p.make(t, src)
			cuts := functionsOf(t, e, p.file, src)
			got, err := e.Switch(context.Background(), p.file, src, cuts, "TAKE_OUT")
			if err != nil {
				t.Fatal(err)
			}
			var skips []string
			for _, s := range got.Skipped {
				skips = append(skips, s.ID+": "+s.Why)
			}
			slices.Sort(skips)
			slices.Sort(p.skips)
			if !slices.Equal(skips, p.skips) {
				t.Errorf("skipped %q, want %q", skips, p.skips)
			}
			sameLines(t, e, p.file, src, got.Source)
			after := p.make(t, got.Source)
			plain := p.output(t, before, "")
			if s := p.output(t, after, ""); s != plain {
				t.Errorf("switched, it prints\n%s\nand did\n%s", s, plain)
			}
			if s := p.output(t, after, "zero:nobody"); s != plain {
				t.Errorf("with another's cut it prints\n%s", s)
			}
			for _, w := range p.wants {
				s := p.output(t, after, string(w.cut)+":"+w.name)
				has := slices.Contains(strings.Split(s, "\n"), w.line)
				if gone, not := strings.CutPrefix(w.line, "-"); not {
					has = !strings.Contains("\n"+s, "\n"+gone)
				} else if slices.Contains(strings.Split(plain, "\n"), w.line) {
					t.Errorf("%q is what the program prints anyway", w.line)
				}
				if !has {
					t.Errorf("%s of %s: no line %q in\n%s", w.cut, w.name, w.line, s)
				}
			}
			if s := p.output(t, after, "panic:*"); s == plain {
				t.Error("a cut of all changes nothing")
			}
		})
	}
}

// make writes and builds a program, and gives its folder.
func (p program) make(t *testing.T, src []byte) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, p.file), src, 0o600); err != nil {
		t.Fatal(err)
	}
	if p.build != nil {
		c := exec.Command(p.build[0], p.build[1:]...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s\n%s", p.build, err, out, src)
		}
	}
	return dir
}

func (p program) output(t *testing.T, dir, cut string) string {
	t.Helper()
	c := exec.Command(p.run[0], p.run[1:]...)
	c.Dir = dir
	c.Env = append(os.Environ(), "TAKE_OUT="+cut)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err != nil && cut == "" {
		t.Fatalf("%v: %v\n%s", p.run, err, out.String())
	}
	return out.String()
}

// functionsOf lists all functions, with their names as ids.
func functionsOf(t *testing.T, e *Engine, path string, src []byte) (out []SwitchedFunction) {
	t.Helper()
	fns, broken, err := e.Functions(context.Background(), path, src)
	if err != nil || broken {
		t.Fatalf("%s: broken %v, %v", path, broken, err)
	}
	for _, fn := range fns {
		id := fn.Name
		if id == "" {
			id = "anonymous"
		}
		out = append(out, SwitchedFunction{fn, id})
	}
	return out
}

// sameLines holds that what was in a file stays on its lines. Python has a test
// of its own (TestPythonTradesLines).
func sameLines(t *testing.T, e *Engine, path string, before, after []byte) {
	t.Helper()
	if LanguageOf(path) == Python {
		return
	}
	a, b := functionsOf(t, e, path, before), functionsOf(t, e, path, after)
	for i := range a {
		if a[i].Name != b[i].Name || a[i].FromLine != b[i].FromLine || a[i].ToLine != b[i].ToLine {
			t.Fatalf("%s at %d to %d became %s at %d to %d", a[i].Name, a[i].FromLine, a[i].ToLine, b[i].Name, b[i].FromLine, b[i].ToLine)
		}
	}
}
