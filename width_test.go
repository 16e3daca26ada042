package agency_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The limits of width: what the sizes of files and functions do not hold grows
// into types and folders instead.
const (
	maxMethods = 25 // of a type
	maxFields  = 15 // of a struct that does something: one with methods that may change it
	maxFiles   = 15 // of a package's folder, twins for platforms counted once
	maxOptions = 12 // of a struct by which a constructor is told what it is to make
)

// wide are the packages beyond a limit, at most maxWide, each with its width and the
// reason: none may come to be wider, and whoever makes one narrower says so here.
var wide = map[string]struct {
	n   int
	why string
}{
	"cmd/agency: files":      {33, "a command is a file"},
	"internal/agency: files": {34, "the vocabulary: its types refer to one another, a noun and its rules a file"},
	"internal/board: files":  {19, "the life of a message is one state, which each operation changes in the caller's transaction"},
	"internal/config: files": {30, "a section of agency.yaml is a file; all are read, merged and guarded as one document"},
	"internal/verify: files": {25, "one judgement: a question of it with all that answers it is a file, what its facts are read from stands in packages below"},
}

const maxWide = 5

// TestWidth holds the limits of width.
func TestWidth(t *testing.T) {
	found := widths(t)
	if len(wide) > maxWide {
		t.Errorf("%d are beyond a limit, more than %d", len(wide), maxWide)
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		switch n, was := found[name], wide[name]; {
		case was.why == "":
			t.Errorf("%s: %d", name, n)
		case n > was.n:
			t.Errorf("%s: %d, and was %d", name, n, was.n)
		case n < was.n:
			t.Errorf("%s: %d now, write that instead of %d", name, n, was.n)
		}
	}
	for name := range wide {
		if found[name] == 0 {
			t.Errorf("%s is wide no more: take it from the list", name)
		}
	}
}

// widths are all that are beyond a limit.
func widths(t *testing.T) map[string]int {
	t.Helper()
	files, methods, fields, acts := map[string]map[string]bool{}, map[string]int{}, map[string]int{}, map[string]bool{}
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || p == "bench" || p == "tools" || strings.HasPrefix(d.Name(), ".") && p != ".") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		p = filepath.ToSlash(p)
		dir := path.Dir(p)
		if files[dir] == nil {
			files[dir] = map[string]bool{}
		}
		files[dir][platformless(path.Base(p))] = true
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			countMethods(dir, d, methods, acts)
			countFields(dir, d, fields)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for dir, names := range files {
		if n := len(names); n > maxFiles {
			found[dir+": files"] = n
		}
	}
	for name, n := range fields {
		if strings.HasSuffix(name, "Options") && n > maxOptions {
			found[name+": options"] = n
		}
	}
	for name, n := range methods {
		if n > maxMethods {
			found[name+": methods"] = n
		}
		if n := fields[name]; n > maxFields && acts[name] {
			found[name+": fields"] = n
		}
	}
	return found
}

// platformless is a file's name without the platform that it is for.
func platformless(name string) string {
	name = strings.TrimSuffix(name, ".go")
	for _, p := range []string{"_amd64", "_arm64", "_linux", "_unix", "_darwin", "_windows", "_other"} {
		name = strings.TrimSuffix(name, p)
	}
	return name
}

// countMethods counts a method; acts are the types with methods that may change them.
func countMethods(dir string, d ast.Decl, methods map[string]int, acts map[string]bool) {
	f, ok := d.(*ast.FuncDecl)
	if !ok || f.Recv == nil {
		return
	}
	of := f.Recv.List[0].Type
	s, pointer := of.(*ast.StarExpr)
	if pointer {
		of = s.X
	}
	if s, ok := of.(*ast.IndexExpr); ok {
		of = s.X
	}
	name := dir + "." + fmt.Sprint(of)
	methods[name]++
	acts[name] = acts[name] || pointer
}

func countFields(dir string, d ast.Decl, fields map[string]int) {
	g, ok := d.(*ast.GenDecl)
	if !ok {
		return
	}
	for _, s := range g.Specs {
		if ts, ok := s.(*ast.TypeSpec); ok {
			if st, ok := ts.Type.(*ast.StructType); ok {
				fields[dir+"."+ts.Name.Name] = st.Fields.NumFields()
			}
		}
	}
}
