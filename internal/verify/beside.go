package verify

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"

	"agency/internal/agency"
)

// testsBeside tells whether a package of Go has tests of its own.
func (j *job) testsBeside(ctx context.Context, tree agency.OID, p string) bool {
	files, err := j.packageOf(ctx, tree, p)
	return err == nil && slices.ContainsFunc(files, isTestFile)
}

// packageOf are the other files of Go in the folder of one.
func (j *job) packageOf(ctx context.Context, tree agency.OID, p string) (out []string, err error) {
	entries, err := j.tree(ctx, tree)
	for _, e := range entries {
		if path.Ext(e.Path) == ".go" && path.Dir(e.Path) == path.Dir(p) && e.Path != p {
			out = append(out, e.Path)
		}
	}
	return out, err
}

// namesBeside decides of a file of Go that stands among what is tested, with
// tests beside it: its names are used without an import.
func (j *job) namesBeside(ctx context.Context, tree agency.OID, p string, src []byte) (matter, error) {
	m := doubtful
	switch {
	case asserts(golang, src):
		m = ofTests
	case !onlyData(p, src):
		return ofProduct, nil
	}
	files, err := j.packageOf(ctx, tree, p)
	if err != nil {
		return ofProduct, err
	}
	if slices.IndexFunc(files, func(f string) bool { return !isTestFile(f) }) < 0 {
		return ofProduct, nil // it is what they test
	}
	users, err := j.mentions(ctx, tree, "/"+path.Base(path.Dir(p))+`"`)
	if err != nil {
		return ofProduct, err
	}
	form := topNames(src)
	if form == nil {
		return ofProduct, nil
	}
	theirs := false
	for i, f := range slices.Concat(files, users) {
		text, err := j.textIn(ctx, tree, f)
		if err != nil || i > maxUsers {
			return ofProduct, err
		}
		if path.Ext(f) != ".go" || f == p || !form.MatchString(bareText(golang, text)) {
			continue
		}
		whose, err := j.userMatter(ctx, tree, f)
		if err != nil || whose == ofProduct {
			return ofProduct, err
		}
		theirs = theirs || whose == ofTests
	}
	if !theirs {
		return ofProduct, nil
	}
	return m, nil
}

// topNames finds the names that a source of Go declares for its package; nil
// where it declares none.
func topNames(src []byte) *regexp.Regexp {
	file, err := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	var names []string
	add := func(id *ast.Ident) {
		if id.Name != "_" && id.Name != "init" {
			names = append(names, regexp.QuoteMeta(id.Name))
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				add(d.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					for _, id := range s.Names {
						add(id)
					}
				case *ast.TypeSpec:
					add(s.Name)
				}
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	return regexp.MustCompile(`\b(?:` + strings.Join(names, "|") + `)\b`)
}
