package verify

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/git"
)

// scope is which tests of the claim ran: all of them, or those that the change
// can affect.
type scope struct {
	partial bool
	both    bool            // the base runs the narrowed command too
	line    string          // the narrowed command
	skipped map[string]bool // packages that exist and did not run
	note    []string
	// left tells of a test by its name that it did not run, where that is followed
	// by what files import; together, that what ran in one process may need what did
	// not. What such a scope shows counts only while nothing of it is in doubt.
	left     func(test string) bool
	together bool
}

// guessed tells a scope that files' imports decided, which no tool vouches for.
func (s scope) guessed() bool { return s.partial && s.left != nil }

// again is the command out of which single tests are picked.
func (s scope) again(cmd check.Command) check.Command {
	if s.guessed() && !s.both {
		return cmd
	}
	return s.of(cmd)
}

// of is the command of the scope.
func (s scope) of(cmd check.Command) check.Command {
	if s.partial {
		cmd.Line = s.line
	}
	return cmd
}

// ofBase is the command that the base runs.
func (s scope) ofBase(cmd check.Command) check.Command {
	if s.both {
		return s.of(cmd)
	}
	return cmd
}

// cut leaves out of the base's results those of packages and files that the
// claim has and did not run. What the claim has no more stays: its tests are
// gone.
func (s scope) cut(base, claim suite) suite {
	if !s.partial {
		return base
	}
	if s.guessed() {
		s.cutFiles(base, claim)
		return base
	}
	for name := range base.tests {
		if pkg, _, ok := check.SplitGo(name); ok && s.skipped[pkg] {
			delete(base.tests, name)
		}
	}
	for pkg := range base.broken {
		if s.skipped[pkg] {
			delete(base.broken, pkg)
		}
	}
	return base
}

func (s scope) cutFiles(base, claim suite) {
	ran := map[string]bool{}
	for name := range claim.tests {
		ran[check.FileOf(name)] = true
	}
	for group := range claim.broken {
		ran[group] = true
	}
	for name := range base.tests {
		if f := check.FileOf(name); s.left(name) && (f == "" || !ran[f]) {
			delete(base.tests, name)
		}
	}
	for group, name := range base.broken {
		if s.left(name) && !ran[group] {
			delete(base.broken, group)
		}
	}
}

// stands tells whether what a narrowed command showed may stand for the suite:
// something was tested, and every test that has to be known by name was. What is
// red stands where the tests that did not run cannot be the reason.
func (f facts) stands() bool {
	s := f.claimSuite
	switch {
	case !f.hasNamedTests(), s.receipt.Parsed && !s.tested():
		return false
	case !f.scope.guessed():
		return true
	}
	red := !s.receipt.OK() && (f.scope.together || s.receipt.Failed == 0)
	return s.receipt.Parsed && s.whole() && !red
}

// tested tells whether a test ran.
func (s suite) tested() bool {
	for _, status := range s.tests {
		if status != agency.TestSkipped {
			return true
		}
	}
	return len(s.broken) > 0
}

// affected tells which tests a change can affect, where the suite takes long
// enough for that to be worth it. The whole suite runs at the landing.
func (j *job) affected(ctx context.Context, changes []git.Change, cmd check.Command, claim *bench) (scope, error) {
	if !j.task.isClaim() {
		return scope{}, nil
	}
	list, ok := check.GoList(cmd.Line, goListForm)
	took, err := j.checker.Took(ctx, cmd)
	if err != nil || took < j.v.o.AffectedAbove {
		return scope{}, err
	}
	if !ok && len(check.Parts(cmd.Line)) > 1 {
		return touched(changes, cmd.Line), nil
	}
	if !ok {
		return j.imported(ctx, changes, cmd, claim)
	}
	if err := claim.prepare(ctx); err != nil {
		return scope{}, err
	}
	out, ok, err := j.checker.Output(ctx, claim.subject(), list, cmd.Timeout)
	if err != nil || !ok {
		return scope{}, err
	}
	pkgs := parseGoList(string(out), j.run.Info().Repo.WorkTree)
	hit, known := affectedBy(changes, pkgs)
	if !known || len(hit) == 0 || len(hit) == len(pkgs) || len(hit) > maxAffected {
		return scope{}, nil
	}
	line, err := check.Narrow(cmd.Line, strings.Join(hit, " "))
	if err != nil {
		return scope{}, nil //nolint:nilerr // then all of them run
	}
	s := scope{partial: true, line: line, skipped: map[string]bool{}}
	for _, p := range pkgs {
		if !slices.Contains(hit, p.path) {
			s.skipped[p.path] = true
		}
	}
	s.note = []string{fmt.Sprintf("the tests of %d of %s ran, which the change can affect; all run when it lands", len(hit), agency.Things(len(pkgs), "package", "packages"))}
	return s, nil
}

// touched is the scope of a repository of several parts: those whose folders
// the change touches. The base then runs the same.
func touched(changes []git.Change, line string) scope {
	paths := make([]string, 0, len(changes))
	for _, c := range changes {
		paths = append(paths, c.Path)
	}
	narrowed, left := check.Touched(line, paths)
	if len(left) == 0 {
		return scope{}
	}
	return scope{partial: true, line: narrowed, both: true, note: []string{fmt.Sprintf(
		"only the tests of the parts that the change touches ran, not those of %s; all run when it lands", strings.Join(left, ", "))}}
}

// maxAffected bounds the packages that a command line names.
const maxAffected = 400

// goListForm is a line a package: path, folder, imports, imports of tests.
const goListForm = `{{.ImportPath}}|{{.Dir}}|{{join .Imports " "}}|{{join .TestImports " "}} {{join .XTestImports " "}}|{{if .Error}}error{{end}}`

// goPkg is a package of Go as `go list` tells it.
type goPkg struct {
	path, dir            string // dir is relative to the repository
	imports, testImports []string
	bad                  bool
}

func parseGoList(out, root string) []goPkg {
	var pkgs []goPkg
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimRight(line, "\n"), "|")
		if len(f) != 5 {
			continue
		}
		dir, err := filepath.Rel(root, f[1])
		pkgs = append(pkgs, goPkg{
			path: f[0], dir: filepath.ToSlash(dir), imports: strings.Fields(f[2]), testImports: strings.Fields(f[3]),
			bad: err != nil || f[4] != "" || f[1] == "",
		})
	}
	return pkgs
}

// affectedBy names the packages whose tests a change can affect: those that it
// touches, those that depend on them, and those whose tests do. It is known only
// where each changed file belongs to a package: others may be read by any test.
func affectedBy(changes []git.Change, pkgs []goPkg) (hit []string, known bool) {
	if slices.ContainsFunc(pkgs, func(p goPkg) bool { return p.bad }) {
		return nil, false
	}
	byDir := map[string]string{}
	for _, p := range pkgs {
		byDir[p.dir] = p.path
	}
	code, tests := map[string]bool{}, map[string]bool{}
	for _, c := range changes {
		pkg, ok := owner(c, byDir)
		switch {
		case !ok:
			return nil, false
		case strings.HasSuffix(c.Path, "_test.go"):
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
		}
	}
	return hit, true
}

// owner is the package that a changed file belongs to: its folder's, or for
// data the nearest above. What decides for all packages belongs to none.
func owner(c git.Change, byDir map[string]string) (string, bool) {
	switch path.Base(c.Path) {
	case "go.mod", "go.sum", "go.work", "go.work.sum", "modules.txt":
		return "", false
	}
	dir := path.Dir(c.Path)
	if path.Ext(c.Path) == ".go" && !strings.Contains("/"+dir+"/", "/testdata/") {
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
