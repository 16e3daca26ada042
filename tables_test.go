package agency_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	makesTable  = regexp.MustCompile(`(?i)CREATE TABLE (?:IF NOT EXISTS )?(\w+)`)
	writesTable = regexp.MustCompile(`(?i)\b(?:INSERT (?:OR \w+ )?INTO|REPLACE INTO|UPDATE(?: OR \w+)?|DELETE FROM)\s+(\w+)`)
)

// A table is written by the package whose migrations make it and by no other
// (docs/design.md, Durable steps), and a contract's row by the four functions that may: it changes
// by Advance, and by Amend before it has begun (docs/design.md, Contracts).
func TestTablesHaveOneWriter(t *testing.T) {
	owner, writes := map[string]string{}, []write{}
	statements := map[string]bool{} // that write contracts, by their names
	err := filepath.WalkDir("internal", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err == nil && d.IsDir() && d.Name() == "testdata":
			return fs.SkipDir
		case err != nil || d.IsDir():
			return err
		case strings.HasSuffix(p, ".sql"):
			b, err := os.ReadFile(p)
			dir := filepath.ToSlash(filepath.Dir(filepath.Dir(p))) // SQL lies in a folder of its package
			for _, m := range makesTable.FindAllStringSubmatch(string(b), -1) {
				owner[m[1]] = dir
			}
			if filepath.Base(filepath.Dir(p)) != "migrations" {
				writes = append(writes, writesIn(string(b), dir, p)...)
			}
			return err
		case strings.HasSuffix(p, ".go") && !strings.HasSuffix(p, "_test.go"):
			found, err := writesOf(p)
			writes = append(writes, found...)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range writes {
		if by, ok := owner[w.table]; ok && by != w.dir {
			t.Errorf("%s writes the table %s, which is %s's", w.where, w.table, by)
		}
		if name, ok := strings.CutPrefix(w.where, "internal/registry/sql.go "); ok && w.table == "contracts" {
			statements[name] = true
		}
	}
	want := []string{"internal/registry/contract.go CreateContract", "internal/registry/contract.go replace"}
	if got := usersOf(t, "internal/registry", statements); !slices.Equal(got, want) {
		t.Errorf("contracts are written by %q, want %q", got, want)
	}
}

// usersOf are the functions of a package that name one of some constants.
func usersOf(t *testing.T, dir string, names map[string]bool) []string {
	t.Helper()
	users := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range files {
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || strings.HasSuffix(p, "_test.go") {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && names[id.Name] {
					users[filepath.ToSlash(p)+" "+fn.Name.Name] = true
				}
				return true
			})
		}
	}
	return slices.Sorted(maps.Keys(users))
}

// write is a statement that writes a table, and the function or constant that it
// is in.
type write struct{ table, dir, where string }

func writesIn(sql, dir, where string) (out []write) {
	for _, m := range writesTable.FindAllStringSubmatch(sql, -1) {
		out = append(out, write{m[1], dir, where})
	}
	return out
}

// writesOf finds the statements in a file's strings.
func writesOf(p string) (out []write, err error) {
	f, err := parser.ParseFile(token.NewFileSet(), p, nil, 0)
	if err != nil {
		return nil, err
	}
	p = filepath.ToSlash(p)
	dir := filepath.ToSlash(filepath.Dir(p))
	look := func(n ast.Node, where string) {
		ast.Inspect(n, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				out = append(out, writesIn(lit.Value, dir, where)...)
			}
			return true
		})
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			look(d, p+" "+d.Name.Name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				where := p
				if v, ok := s.(*ast.ValueSpec); ok {
					where += " " + v.Names[0].Name
				}
				look(s, where)
			}
		}
	}
	return out, nil
}
