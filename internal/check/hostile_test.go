package check

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"agency/internal/bounded/boundedtest"
	"agency/internal/ecosystem"
	"agency/internal/testreport"
)

// mostMemory is what the host may hold of anything that a command wrote.
const mostMemory = 64 << 20

// measured runs a reader and tells how much more of the heap it held at a time,
// garbage left out, and how long the processor worked for it.
func measured(read func()) (bytes int64, took time.Duration) {
	bytes, _ = boundedtest.Cost(100*time.Millisecond, func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		from := testreport.ThreadTime()
		read()
		took = testreport.ThreadTime() - from
	})
	return bytes, took
}

// endless repeats a text, with a number in the place of every %, up to so many
// bytes.
type endless struct {
	begin string
	parts []string
	n     int64
	left  int64
	block []byte // what is written of it
	at    int    // up to where it was read
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	if e.at == len(e.block) {
		e.block, e.at = append(e.block[:0], e.begin...), 0
		for e.begin = ""; len(e.block) < 64<<10; {
			e.n++
			for i, part := range e.parts {
				if i > 0 {
					e.block = strconv.AppendInt(e.block, e.n, 10)
				}
				e.block = append(e.block, part...)
			}
		}
	}
	n := copy(p[:min(int64(len(p)), e.left)], e.block[e.at:])
	e.at += n
	e.left -= int64(n)
	return n, nil
}

// hostile are contents by which a report could take the host's memory or time.
// The first word of a name is of the reader that it is meant for.
func hostile() map[string]func(size int64) io.Reader {
	long := strings.Repeat("n", 1<<20)
	of := func(begin, text string) func(size int64) io.Reader {
		parts := strings.Split(text, "%")
		return func(size int64) io.Reader { return &endless{begin: begin, parts: parts, left: size} }
	}
	return map[string]func(size int64) io.Reader{
		"zeroes":                    of("", strings.Repeat("\x00", 4096)),
		"one line":                  of("", strings.Repeat("x", 4096)),
		"empty lines":               of("", strings.Repeat("\n", 4096)),
		"profile spans":             of("mode: set\n", "ex.com/p/a.go:1.1,1048576.1 1 1\n"),
		"profile files":             of("mode: set\n", "ex.com/p/a%.go:1.1,2.1 1 1\n"),
		"profile long files":        of("mode: set\n", "ex.com/p/"+long+"%.go:1.1,2.1 1 1\n"),
		"lcov lines":                of("SF:a.js\n", "DA:%,1\n"),
		"lcov files":                of("", "SF:a%.js\nDA:1048576,1\n"),
		"lcov stripes":              of("", "SF:a%.js\nDA:1,1\nDA:2,0\nDA:3,1\nDA:4,0\nDA:5,1\nDA:6,0\nDA:7,1\nDA:8,0\nDA:9,1\nDA:10,0\n"),
		"junit depth":               of("<testsuite>", "<a>"),
		"junit long names":          of("<testsuite>", "<"+long+">"),
		"junit attributes":          of("<testsuite><testcase ", ` a%="b"`),
		"junit namespaces":          of("<testsuite>", `<a xmlns:b%="`+strings.Repeat("c", 50<<10)+`">`),
		"junit entities":            of(`<!DOCTYPE a [<!ENTITY b "`+strings.Repeat("c", 1000)+`">]><testsuite><testcase name="`, "&b;"),
		"junit doctype":             of(`<!DOCTYPE a [`, `<!ENTITY b% "&b;&b;&b;">`),
		"junit comments":            of("<testsuite>", "<!-- "+long),
		"junit many comments":       of("<testsuite>", strings.Repeat("t", 60<<10)+"<!-- -->"),
		"junit directive":           of("<testsuite><!D [ ", "<a>"),
		"junit closed directives":   of("<testsuite>", strings.Repeat("t", 60<<10)+"<!D [ <a>'>' ]>"),
		"junit quoted directive":    of("<testsuite><!D '", ">"),
		"junit commented directive": of("<testsuite><!D <!-- ", "> ->"),
		"junit instruction":         of("<testsuite><?x ", "<"+strings.Repeat("a", 1000)+"> b"),
		"junit instructions":        of("<testsuite>", "<?x "+strings.Repeat("a", 100<<10)+"?>"),
		"junit bare attribute":      of("<testsuite><a b=", "c"),
		"junit empty tags":          of("<testsuite>", "<!>"),
		"junit sections":            of("<testsuite>", "<![CDATA["+strings.Repeat("t", 60<<10)+"]]>"),
		"junit cdata":               of("<testsuite><testcase name='a'><failure><![CDATA[", long),
		"junit cases":               of("<testsuite>", `<testcase name="a%"><failure>no</failure></testcase>`),
		"junit long cases":          of("<testsuite>", `<testcase name="a%`+strings.Repeat("n", 400)+`"><failure>`+strings.Repeat("o", 4000)+`</failure></testcase>`),
		"cobertura depth":           of("<coverage>", "<"+strings.Repeat("p", 1000)+">"),
		"cobertura lines":           of("<coverage><packages><package><classes><class filename='a.py'><lines>", `<line number="%" hits="1"/>`),
		"jest depth":                of(`{"testResults":`, "["),
		"jest objects":              of(`{"testResults":[{"assertionResults":[`, `{"a":`),
		"jest keys":                 of("{", `"`+strings.Repeat("k", 9000)+`%":1,`),
		"jest tests":                of(`{"testResults":[{"assertionResults":[`, `{"title":"t%","status":"failed","failureMessages":["no"]},`),
		"jest long tests":           of(`{"testResults":[{"assertionResults":[`, `{"ancestorTitles":["`+strings.Repeat("a", 4000)+`","`+strings.Repeat("b", 4000)+`%"],"title":"t","status":"passed"},`),
		"jest number":               of(`{"testResults":`, "123456789"),
		"jest string":               of(`{"`, `\u0000`),
		"v8 ranges":                 of(`{"result":[{"url":"file:///repo/s.js","functions":[{"ranges":[`, `{"startOffset":0,"endOffset":900000000,"count":1},`),
		"v8 scripts":                of(`{"result":[`, `{"url":"file:///repo/s.js","functions":[]},`),
		"events":                    of(`{"begin":true}`+"\n", `{"file":"a%","name":["x"],"status":"failed","out":"`+strings.Repeat("o", 500)+`"}`+"\n"),
		"events names":              of("", `{"name":[`+strings.Repeat(`"",`, 100_000)+`"x%"],"status":"passed"}`+"\n"),
		"events depth":              of("", `{"name":`+strings.Repeat("[", 1<<19)+"\n"),
		"tap points":                of("TAP version 13\n", "ok % - a%\n"),
		"tap subtests":              of("TAP version 13\n"+tapNest(), strings.Repeat(" ", 4*50)+"ok % - "+strings.Repeat("p", 400)+"%\n"),
		"tap plan":                  of("TAP version 13\n1..999999999999999999999\n", "not ok\n"),
		"cargo targets":             of("", "     Running unittests src/lib.rs (target/debug/deps/x%-0123456789abcdef)\nrunning 1 test\ntest a ... FAILED\ntest result: FAILED.\n"),
		"cargo long tests":          of("     Running unittests src/lib.rs (target/debug/deps/x-0123456789abcdef)\nrunning 9 tests\n", "test a%"+strings.Repeat("n", 1<<19)+" ... FAILED\n"),
		"cargo tests":               of("     Running unittests src/lib.rs (target/debug/deps/x-0123456789abcdef)\nrunning 9 tests\n", "test a% ... FAILED\n"),
		"test tests":                of("", `{"Action":"run","Package":"p","Test":"Test%"}`+"\n"),
		"test packages":             of("", `{"Action":"start","Package":"p%"}`+"\n"),
		"test builds":               of("", `{"Action":"fail","Package":"p%","FailedBuild":"`+strings.Repeat("b", 1<<18)+`%"}`+"\n"),
		"test outputs":              of(`{"Action":"run","Package":"p","Test":"TestA"}`+"\n", `{"Action":"output","Package":"p","Test":"TestA","Output":"`+strings.Repeat("o", 2000)+`\n"}`+"\n"),
		"test many":                 of("", `{"Action":"run","Package":"p%","Test":"Test%"}`+"\n"+`{"Action":"output","Package":"p%","Test":"Test%","Output":"`+strings.Repeat("o", 200)+`\n"}`+"\n"),
		"test long name":            of("", `{"Action":"run","Package":"p","Test":"Test%`+strings.Repeat("n", 1<<18)+`"}`+"\n"),
	}
}

// tapNest opens fifty subtests, one in another.
func tapNest() string {
	var b strings.Builder
	for i := range 50 {
		fmt.Fprintf(&b, "%s# Subtest: %s\n", strings.Repeat(" ", 4*i), strings.Repeat("s", 480))
	}
	return b.String()
}

// readers are all that reads what a command wrote, each as it is called.
func readers(root *os.Root) map[string]func(doc io.Reader, left *testreport.Allowance) {
	at := testreport.Paths{Roots: []string{"/repo"}, Dir: "."}
	return map[string]func(doc io.Reader, left *testreport.Allowance){
		"junit": func(doc io.Reader, _ *testreport.Allowance) {
			_, _ = testreport.ReadJUnit(doc, at, testreport.NewTally())
		},
		"events": func(doc io.Reader, _ *testreport.Allowance) {
			testreport.ReadEvents(doc, at, testreport.NewTally(), nil)
		},
		"jest": func(doc io.Reader, _ *testreport.Allowance) { readBy("jest", doc, at, testreport.NewTally()) },
		"tap":  func(doc io.Reader, _ *testreport.Allowance) { testreport.ReadTAP(doc, at, testreport.NewTally()) },
		"cargo": func(doc io.Reader, _ *testreport.Allowance) {
			readBy("cargo test", doc, at, testreport.NewTally())
		},
		"test": func(doc io.Reader, left *testreport.Allowance) {
			runnerOf("go test").Read(ecosystem.Report{Doc: doc, Tests: testreport.NewTally(), Text: testreport.NewExcerpt(testreport.MaxText), Repo: root, Left: left})
		},
		"profile": func(doc io.Reader, left *testreport.Allowance) {
			p := testreport.NewProfile(left)
			coverageBy("go test", ".cover", doc, ecosystem.Measured{Profile: p, Repo: root})
			filesOf(p)
		},
		"lcov": func(doc io.Reader, left *testreport.Allowance) {
			p := testreport.NewProfile(left)
			p.ReadLCOV(doc, at)
			filesOf(p)
		},
		"cobertura": func(doc io.Reader, left *testreport.Allowance) {
			p := testreport.NewProfile(left)
			_ = p.ReadCobertura(doc, at) // what is no report has no lines
			filesOf(p)
		},
		"v8": func(doc io.Reader, left *testreport.Allowance) {
			p := testreport.NewProfile(left)
			coverageBy("node --test", "-v8/*.json", doc, ecosystem.Measured{Profile: p, At: at, Repo: root, Asked: []string{"s.js"}})
			filesOf(p)
		},
	}
}

// Whatever a command writes where a reader looks for a report costs the host no
// more than is promised: the reader ends by itself, and holds little.
func TestNoReportCostsMuch(t *testing.T) {
	if testing.Short() {
		t.Skip("reads gigabytes")
	}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("s.js", strings.Repeat("a;\n", 1<<18))
	write("go.mod", "module ex.com/p\n")
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	docs, most := hostile(), time.Second/2
	for by, read := range readers(root) {
		for name, doc := range docs {
			size := int64(1 << 20) // of others' reports, too, a little
			if of, _, _ := strings.Cut(name, " "); of == by {
				size = maxRead
			}
			left := testreport.NewAllowance(maxRead, most, most)
			grew, took := measured(func() {
				defer left.Start()()
				read(left.Of(name, doc(size)), left)
			})
			if grew > mostMemory {
				t.Errorf("%s of %s holds %d MB", by, name, grew>>20)
			}
			if took > 8*most { // a step goes on up to the next look at the clock, which a shared processor slows
				t.Errorf("%s of %s takes %s", by, name, took)
			}
			if size == maxRead {
				t.Logf("%s of %s: %d MB, %s %s", by, name, grew>>20, took, left.Why)
			}
		}
	}
}

// A report that names a million lines a line, for years, ends by the clock, and
// it is said why.
func TestClockEndsAReport(t *testing.T) {
	left := testreport.NewAllowance(math.MaxInt64, time.Hour, 2*time.Hour)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module ex.com/p\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	steps := 0
	left.Clock = func() time.Duration { steps++; return time.Duration(steps) * time.Minute }
	defer left.Start()()
	p := testreport.NewProfile(left)
	doc := left.Of("a.cover", io.LimitReader(&endless{parts: []string{"ex.com/p/a.go:1.1,1048576.1 1 1\n"}, left: math.MaxInt64}, 1<<20))
	coverageBy("go test", ".cover", doc, ecosystem.Measured{Profile: p, Repo: root})
	if left.Why != `"a.cover" takes longer than 1h0m0s to read` || steps > 5000 {
		t.Errorf("after %d looks at the clock: %q", steps, left.Why)
	}
}

// runnerOf is the runner of a name.
func runnerOf(name string) *ecosystem.Runner {
	i := slices.IndexFunc(runners(), func(r *ecosystem.Runner) bool { return r.Name == name })
	return runners()[i]
}

// readBy reads a report as a runner does.
func readBy(runner string, doc io.Reader, at testreport.Paths, t *testreport.Tally) (complete, ok bool) {
	return runnerOf(runner).Read(ecosystem.Report{Doc: doc, At: at, Tests: t, Text: io.Discard})
}

// coverageBy reads what a runner left of the lines, in a file with this end.
func coverageBy(runner, end string, doc io.Reader, m ecosystem.Measured) {
	m.Each = func(e string, _ int, read func(io.Reader)) int {
		if e != end {
			return 0
		}
		read(doc)
		return 1
	}
	runnerOf(runner).Coverage(m)
}
