package mode

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// A mode says who stands where, and contractrun what a contract comes to. What
// acts has a context and a store, and stands in effects.
func TestModesOnlyCompose(t *testing.T) {
	var files []string
	for _, where := range []string{"*.go", "../contractrun/*.go", "../contractrun/*/*.go"} {
		some, err := filepath.Glob(where)
		if err != nil || len(some) == 0 {
			t.Fatal(where, err)
		}
		files = append(files, some...)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range f.Imports {
			if path := strings.Trim(imp.Path.Value, `"`); path == "context" || path == "agency/internal/store" {
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
}
