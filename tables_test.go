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
// (DESIGN 4), and a contract's row by the four functions that may: it changes
// by Advance, and by Amend before it has begun (DESIGN 5).
func TestTablesHaveOneWriter(t *testing.T) {
	owner, writes := map[string]string{}, []write{}
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
	contracts := map[string]bool{}
	for _, w := range writes {
		if by, ok := owner[w.table]; ok && by != w.dir {
			t.Errorf("%s writes the table %s, which is %s's", w.where, w.table, by)
		}
		if w.table == "contracts" {
			contracts[w.where] = true
		}
	}
	want := []string{"internal/registry/contract.go Advance", "internal/registry/contract.go Amend", "internal/registry/contract.go CreateContract"}
	if got := slices.Sorted(maps.Keys(contracts)); !slices.Equal(got, want) {
		t.Errorf("contracts are written by %q, want %q", got, want)
	}
}

// write is a statement that writes a table, and the function that it is in.
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
	for _, d := range f.Decls {
		where := p
		if fn, ok := d.(*ast.FuncDecl); ok {
			where += " " + fn.Name.Name
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				out = append(out, writesIn(lit.Value, filepath.ToSlash(filepath.Dir(p)), where)...)
			}
			return true
		})
	}
	return out, nil
}
