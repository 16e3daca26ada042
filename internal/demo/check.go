package demo

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"agency/internal/agency"
	"agency/internal/bounded"
)

// CheckCommand is the hidden command of the program that checks the sample in
// shell: its tests need no program but this one.
const CheckCommand = "demo-check"

// ErrFailed is the end of a check that found something; it has been printed.
var ErrFailed = errors.New("the check failed")

// Check runs a check, test or lint, on the sample in shell below dir, as a
// test runner would: it prints what failed, and leaves a JUnit report.
func Check(ctx context.Context, dir, kind string, out io.Writer) error {
	files, err := sources(dir)
	if err != nil {
		return err
	}
	switch kind {
	case "lint":
		return lint(files, out)
	case "test":
		return test(ctx, dir, files, out)
	}
	return agency.Errorf(agency.KindInvalid, "%s %q: want test or lint", CheckCommand, kind)
}

// source is a shell file of the sample, parsed; err says why it could not be.
type source struct {
	path string // below the sample
	file *syntax.File
	err  error
}

func sources(dir string) (out []source, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, agency.Errorf(agency.KindInvalid, "%s: %w", CheckCommand, err)
	}
	defer func() { _ = root.Close() }() // only read
	err = fs.WalkDir(bounded.FS(root), ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case !d.Type().IsRegular() || filepath.Ext(p) != ".sh":
			return nil
		}
		text, err := root.ReadFile(p)
		if err != nil {
			return err
		}
		s := source{path: p}
		s.file, s.err = syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(bytes.NewReader(text), p)
		out = append(out, s)
		return nil
	})
	return out, err
}

func lint(files []source, out io.Writer) error {
	failed := false
	for _, s := range files {
		if s.err != nil {
			failed = true
			if _, err := fmt.Fprintln(out, s.err); err != nil {
				return err
			}
		}
	}
	if failed {
		return ErrFailed
	}
	return nil
}

// report is what of JUnit's form is needed.
type report struct {
	XMLName xml.Name `xml:"testsuite"`
	Name    string   `xml:"name,attr"`
	Tests   int      `xml:"tests,attr"`
	Failed  int      `xml:"failures,attr"`
	Cases   []result `xml:"testcase"`
}

type result struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Time    float64  `xml:"time,attr"`
	Failure *failure `xml:"failure"`
}

type failure struct {
	Text string `xml:",chardata"`
}

func test(ctx context.Context, dir string, files []source, out io.Writer) error {
	r := report{Name: "service"}
	for _, s := range files {
		if !strings.HasSuffix(s.path, "_test.sh") {
			continue
		}
		class := strings.TrimSuffix(s.path, ".sh")
		if s.err != nil {
			r.add(result{Class: class, Name: "parses", Failure: &failure{s.err.Error()}})
			continue
		}
		for _, name := range tests(s.file) {
			began := time.Now()
			text, ok := call(ctx, dir, s.file, name)
			one := result{Class: class, Name: name, Time: time.Since(began).Seconds()}
			if !ok {
				one.Failure = &failure{text}
			}
			r.add(one)
		}
	}
	doc, err := xml.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "report.xml"), append(doc, '\n'), 0o644); err != nil {
		return err
	}
	return r.print(out)
}

func (r *report) add(one result) {
	r.Cases = append(r.Cases, one)
	r.Tests++
	if one.Failure != nil {
		r.Failed++
	}
}

func (r *report) print(out io.Writer) error {
	var b strings.Builder
	for _, c := range r.Cases {
		if c.Failure == nil {
			fmt.Fprintf(&b, "ok   %s\n", c.Name)
			continue
		}
		fmt.Fprintf(&b, "FAIL %s\n", c.Name)
		for line := range strings.Lines(c.Failure.Text) {
			fmt.Fprintf(&b, "     %s\n", strings.TrimRight(line, "\n"))
		}
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return err
	}
	if r.Failed > 0 {
		return ErrFailed
	}
	return nil
}

// tests are the functions of a file whose names begin with test_.
func tests(f *syntax.File) (names []string) {
	for _, s := range f.Stmts {
		if fn, ok := s.Cmd.(*syntax.FuncDecl); ok && strings.HasPrefix(fn.Name.Value, "test_") && !slices.Contains(names, fn.Name.Value) {
			names = append(names, fn.Name.Value)
		}
	}
	return names
}

// maxTest bounds one test: a loop without an end must not hang the demo.
const maxTest = 20 * time.Second

// call runs one test in a shell of its own. Only what is built into a shell
// can be used: no other program is ever started.
func call(ctx context.Context, dir string, f *syntax.File, name string) (text string, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, maxTest)
	defer cancel()
	var out bytes.Buffer
	failed := false
	fail := func(interp.ExecHandlerFunc) interp.ExecHandlerFunc {
		return func(_ context.Context, args []string) error {
			if args[0] == "fail" {
				failed = true
				_, err := fmt.Fprintln(&out, strings.Join(args[1:], " "))
				return errors.Join(err, interp.ExitStatus(1))
			}
			_, err := fmt.Fprintf(&out, "%s: not found: the sample uses no programs\n", args[0])
			return errors.Join(err, interp.ExitStatus(127))
		}
	}
	r, err := interp.New(interp.Dir(dir), interp.Env(expand.ListEnviron()), interp.StdIO(nil, &out, &out), interp.ExecHandlers(fail))
	if err == nil {
		err = r.Run(ctx, f)
	}
	if err == nil {
		call := &syntax.CallExpr{Args: []*syntax.Word{{Parts: []syntax.WordPart{&syntax.Lit{Value: name}}}}}
		err = r.Run(ctx, &syntax.Stmt{Cmd: call})
	}
	var status interp.ExitStatus
	if err != nil && !errors.As(err, &status) {
		_, _ = fmt.Fprintln(&out, err) // a buffer takes every write
	}
	return out.String(), err == nil && !failed
}
