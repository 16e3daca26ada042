package agency_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"agency/internal/config"
)

// keepers are the files of package config that read settings only to check, merge or
// show them, which is no effect.
var keepers = []string{"build.go", "check.go", "decode.go", "defaults.go", "guards.go", "security.go", "show.go", "support.go"}

// TestEachKeyHasAReader holds that each key of agency.yaml either does something,
// that is, some code reads it, or is one that `run` and `config validate` warn of where
// a file sets it. The keys are those of the schema's own type.
func TestEachKeyHasAReader(t *testing.T) {
	read := settingsRead(t)
	var walk func(at string, typ reflect.Type)
	seen := 0
	walk = func(at string, typ reflect.Type) {
		for f := range typ.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			key, inner := name, f.Type
			if at != "" {
				key = at + "." + name
			}
			field := typ.Name() + "." + f.Name
			switch inner.Kind() {
			case reflect.Map:
				key, inner = key+"."+anyOf(f), inner.Elem()
			case reflect.Slice:
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.Struct && inner.PkgPath() == typ.PkgPath() && inner != reflect.TypeFor[config.Secret]() {
				walk(key, inner)
				continue
			}
			seen++
			if strings.HasPrefix(key, "profiles.") { // it is laid over the key of that name at the top level
				continue
			}
			if f.Tag.Get("fixed") != "" { // it has one value, which a file may say and not change
				continue
			}
			switch works := config.InEffect(key); {
			case works && !read[field]:
				t.Errorf("%s is said to do something, and nothing reads %s", key, field)
			case !works && read[field]:
				t.Errorf("%s is read, and a warning says that it does nothing (config/support.go)", key)
			}
		}
	}
	walk("", reflect.TypeFor[config.Config]())
	if seen < 100 {
		t.Errorf("only %d keys were looked at", seen)
	}
}

// anyOf is a key of a map: one that stands for all where only some do something.
func anyOf(f reflect.StructField) string {
	if f.Name == "Agents" {
		return "scaffolder"
	}
	return "any"
}

// fixedKeys have one value alone, every other being refused: there is nothing to read.
var fixedKeys = []string{"Config.Version", "Sandbox.Network", "Store.URL"}

// settingsRead are the fields of the configuration whose value some code uses, as
// Type.Field.
func settingsRead(t *testing.T) map[string]bool {
	t.Helper()
	read := map[string]bool{}
	for _, f := range fixedKeys {
		read[f] = true
	}
	fset := token.NewFileSet()
	packages, exports := compiled(t)
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range packages {
		if p.ImportPath != "agency/internal/config" && !slices.Contains(p.Imports, "agency/internal/config") {
			continue
		}
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
		if _, err := (&types.Config{Importer: imports}).Check(p.ImportPath, fset, files, info); err != nil {
			t.Fatal(err)
		}
		for sel, s := range info.Selections {
			own := p.ImportPath == "agency/internal/config" && slices.Contains(keepers, filepath.Base(fset.Position(sel.Pos()).Filename))
			if v, ok := s.Obj().(*types.Var); ok && v.IsField() && v.Pkg().Path() == "agency/internal/config" && !own {
				read[typeName(s.Recv())+"."+v.Name()] = true
			}
		}
	}
	return read
}

// typeName is a named type without its package.
func typeName(t types.Type) string {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := t.(*types.Named); ok {
		return n.Obj().Name()
	}
	return ""
}

// goPackage is a package as the go command lists it.
type goPackage struct {
	ImportPath, Dir, Export string
	GoFiles, Imports        []string
}

// compiled are the packages of the module, and where the export data of each of them
// and of what they need stands.
func compiled(t *testing.T) (module []goPackage, exports map[string]string) {
	t.Helper()
	var failed bytes.Buffer
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Imports", "./cmd/agency")
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, failed.Bytes())
	}
	exports = map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return module, exports
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, "agency/") {
			module = append(module, p)
		}
	}
}
