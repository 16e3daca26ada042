package golang

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// listForm is a line a package: path, folder, imports, imports of tests.
const listForm = `{{.ImportPath}}|{{.Dir}}|{{join .Imports " "}}|{{join .TestImports " "}} {{join .XTestImports " "}}|{{if .Error}}error{{end}}`

// listedPackage is a package of Go as `go list` tells it.
type listedPackage struct {
	path, dir            string // dir is relative to the repository
	imports, testImports []string
	bad                  bool
}

func parseList(out, root string) []listedPackage {
	var pkgs []listedPackage
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimRight(line, "\n"), "|")
		if len(f) != 5 {
			continue
		}
		dir, err := filepath.Rel(root, f[1])
		pkgs = append(pkgs, listedPackage{
			path: f[0], dir: filepath.ToSlash(dir), imports: strings.Fields(f[2]), testImports: strings.Fields(f[3]),
			bad: err != nil || f[4] != "" || f[1] == "",
		})
	}
	return pkgs
}

// affected parts the packages that a listing names: those whose tests changed files
// can affect, which are those that it touches, those that depend on them, and those
// whose tests do, and those left. It is known only where each changed file belongs
// to a package: others may be read by any test.
func affected(list, root string, changed []string) (hit, left []string, known bool) {
	pkgs := parseList(list, root)
	if slices.ContainsFunc(pkgs, func(p listedPackage) bool { return p.bad }) {
		return nil, nil, false
	}
	byDir := map[string]string{}
	for _, p := range pkgs {
		byDir[p.dir] = p.path
	}
	code, tests := map[string]bool{}, map[string]bool{}
	for _, p := range changed {
		pkg, ok := packageOf(p, byDir)
		switch {
		case !ok:
			return nil, nil, false
		case strings.HasSuffix(p, "_test.go"):
			tests[pkg] = true
		default:
			code[pkg] = true
		}
	}
	for grown := true; grown; {
		grown = false
		for _, p := range pkgs {
			if !code[p.path] && slices.ContainsFunc(p.imports, func(i string) bool { return code[i] }) {
				code[p.path], grown = true, true
			}
		}
	}
	for _, p := range pkgs {
		if code[p.path] || tests[p.path] || slices.ContainsFunc(p.testImports, func(i string) bool { return code[i] }) {
			hit = append(hit, p.path)
		} else {
			left = append(left, p.path)
		}
	}
	return hit, left, true
}

// packageOf is the package that a changed file belongs to: its folder's, or for
// data the nearest above. What decides for all packages belongs to none.
func packageOf(p string, byDir map[string]string) (string, bool) {
	switch path.Base(p) {
	case "go.mod", "go.sum", "go.work", "go.work.sum", "modules.txt":
		return "", false
	}
	dir := path.Dir(p)
	if path.Ext(p) == ".go" && !strings.Contains("/"+dir+"/", "/testdata/") {
		pkg, ok := byDir[dir]
		return pkg, ok
	}
	for ; dir != "."; dir = path.Dir(dir) {
		if pkg, ok := byDir[dir]; ok {
			return pkg, true
		}
	}
	return "", false
}
