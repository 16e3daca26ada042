package verify

import (
	"bytes"
	"context"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/git"
)

// control names the files that decide how tests run and that the claim edited
// (DESIGN 8).
func (j *job) control(ctx context.Context) ([]agency.Weakening, error) {
	base, claim := j.task.base, j.task.claim
	changes, err := j.run.Changes(ctx, base, claim)
	if err != nil {
		return nil, err
	}
	named := namedFiles(j.task.Commands)
	var out []agency.Weakening
	for _, c := range changes {
		if isControl(c, named) {
			out = append(out, agency.Weakening{Kind: agency.WeakControl, Name: c.Path})
			continue
		}
		if !strings.HasSuffix(c.Path, ".go") || c.Status == 'D' {
			continue
		}
		var before []byte
		if c.Status != 'A' {
			if before, err = j.run.Dir().Blob(ctx, base, c.Path); err != nil {
				return nil, err
			}
		}
		after, err := j.run.Dir().Blob(ctx, claim, c.Path)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(c.Path, "_test.go") && testMainWeaker(before, after) {
			out = append(out, agency.Weakening{Kind: agency.WeakControl, Name: c.Path + " (TestMain)"})
		}
		if initExits(after) && !initExits(before) {
			out = append(out, agency.Weakening{Kind: agency.WeakControl, Name: c.Path + " (init ends the process)"})
		}
	}
	return out, nil
}

// isControl tells whether a change is one of a control file. A runner's
// configuration that is new counts where it takes effect by being there.
func isControl(c git.Change, named map[string]bool) bool {
	base := path.Base(c.Path)
	switch {
	case named[c.Path]:
		return true
	case c.Path == "agency.yaml": // decides with what the next run is verified
		return true
	case base == "go.work", base == "staticcheck.conf", strings.HasPrefix(base, ".golangci."):
		return true
	case base == "Makefile", base == "makefile", base == "GNUmakefile", base == "Taskfile.yml", base == "Taskfile.yaml",
		base == "justfile", base == "magefile.go", base == ".gotestsum.yaml":
		return c.Status != 'A'
	}
	return false
}

// namedFiles are the words of the commands that can be paths of the repository,
// as they stand and below the folders that the commands change to.
func namedFiles(c check.Commands) map[string]bool {
	out := map[string]bool{}
	for _, line := range []string{c.Setup, c.Build, c.Typecheck, c.Lint, c.Test} {
		file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
		if err != nil {
			continue
		}
		words, dirs := []string{}, []string{"."}
		syntax.Walk(file, func(n syntax.Node) bool {
			call, ok := n.(*syntax.CallExpr)
			if !ok {
				return true
			}
			for i, a := range call.Args {
				w := literal(a)
				words = append(words, w)
				if i == 1 && literal(call.Args[0]) == "cd" {
					dirs = append(dirs, w)
				}
				if _, value, ok := strings.Cut(w, "="); ok {
					words = append(words, value)
				}
			}
			return true
		})
		for _, d := range dirs {
			for _, w := range words {
				out[path.Join(d, w)] = true
			}
		}
	}
	delete(out, ".")
	return out
}

func literal(w *syntax.Word) string {
	var b strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				if l, ok := q.(*syntax.Lit); ok {
					b.WriteString(l.Value)
				}
			}
		}
	}
	return b.String()
}

// testMainWeaker tells whether a TestMain was changed, or is new and never runs
// the tests: it decides alone what a test binary reports.
func testMainWeaker(before, after []byte) bool {
	old, _ := testMain(before)
	now, runs := testMain(after)
	switch {
	case now == "":
		return false
	case old != "":
		return old != now
	default:
		return !runs
	}
}

// testMain is the text of a file's TestMain, without its comments, and whether
// it calls a method named Run.
func testMain(src []byte) (text string, runs bool) {
	if !bytes.Contains(src, []byte("TestMain")) {
		return "", false
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", src, parser.SkipObjectResolution)
	if err != nil {
		return "", false
	}
	i := slices.IndexFunc(file.Decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		return ok && f.Recv == nil && f.Name.Name == "TestMain"
	})
	if i < 0 {
		return "", false
	}
	ast.Inspect(file.Decls[i], func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Run" {
				runs = true
			}
		}
		return true
	})
	var b strings.Builder
	if err := printer.Fprint(&b, fset, file.Decls[i]); err != nil {
		return "", false
	}
	return b.String(), runs
}

// initExits tells whether an init function ends its process: it runs before
// any test, so that it can print what a test binary prints and leave with 0.
// It sees only calls that stand in the function itself.
func initExits(src []byte) (exits bool) {
	if !bytes.Contains(src, []byte("Exit")) {
		return false
	}
	file, err := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); !ok || f.Recv != nil || f.Name.Name != "init" {
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				sel, ok := call.Fun.(*ast.SelectorExpr)
				exits = exits || ok && (sel.Sel.Name == "Exit" || sel.Sel.Name == "Goexit")
			}
			return true
		})
	}
	return exits
}
