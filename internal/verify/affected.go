package verify

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/bounded"
	"agency/internal/changeset"
	"agency/internal/check"
	"agency/internal/checkout"
	"agency/internal/code/imports"
	"agency/internal/ecosystem"
	"agency/internal/git"
	"agency/internal/languages"
	"agency/internal/suite"
	"agency/internal/testreport"
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
func (s scope) cut(base, claim suite.Results) suite.Results {
	if !s.partial {
		return base
	}
	if s.guessed() {
		s.cutFiles(base, claim)
		return base
	}
	for name := range base.Tests {
		if pkg, _, ok := testreport.SplitGo(name); ok && s.skipped[pkg] {
			delete(base.Tests, name)
		}
	}
	for pkg := range base.Broken {
		if s.skipped[pkg] {
			delete(base.Broken, pkg)
		}
	}
	return base
}

func (s scope) cutFiles(base, claim suite.Results) {
	ran := map[string]bool{}
	for name := range claim.Tests {
		ran[testreport.FileOf(name)] = true
	}
	for group := range claim.Broken {
		ran[group] = true
	}
	for name := range base.Tests {
		if f := testreport.FileOf(name); s.left(name) && (f == "" || !ran[f]) {
			delete(base.Tests, name)
		}
	}
	for group, name := range base.Broken {
		if s.left(name) && !ran[group] {
			delete(base.Broken, group)
		}
	}
}

// affected tells which tests a change can affect, where the suite takes long
// enough for that to be worth it. The whole suite runs at the landing.
func (j *job) affected(ctx context.Context, changes []git.Change, cmd check.Command, claim *checkout.Checkout) (scope, error) {
	if !j.task.isClaim() {
		return scope{}, nil
	}
	list, pkgs, ok := listed(cmd.Line)
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
	if err := claim.Prepare(ctx); err != nil {
		return scope{}, err
	}
	out, ok, err := j.checker.Output(ctx, claim.Subject(), list, cmd.Timeout)
	if err != nil || !ok {
		return scope{}, err
	}
	hit, left, known := pkgs.Affected(string(out), j.run.Info().Repo.WorkTree, pathsOf(changes))
	if !known || len(hit) == 0 || len(left) == 0 || len(hit) > maxAffected {
		return scope{}, nil
	}
	line, err := check.Narrow(cmd.Line, strings.Join(hit, " "))
	if err != nil {
		return scope{}, nil //nolint:nilerr // then all of them run
	}
	s := scope{partial: true, line: line, skipped: map[string]bool{}}
	for _, p := range left {
		s.skipped[p] = true
	}
	s.note = []string{fmt.Sprintf("the tests of %d of %s ran, which the change can affect; all run when it is integrated", len(hit), agency.Things(len(hit)+len(left), "package", "packages"))}
	return s, nil
}

// touched is the scope of a repository of several parts: those whose folders
// the change touches. The base then runs the same.
func touched(changes []git.Change, line string) scope {
	narrowed, left := check.Touched(line, pathsOf(changes))
	if len(left) == 0 {
		return scope{}
	}
	return scope{partial: true, line: narrowed, both: true, note: []string{fmt.Sprintf(
		"only the tests of the parts that the change touches ran, not those of %s; all run when it is integrated", strings.Join(left, ", "))}}
}

// listed is the command that lists the packages of what a line tests, where the
// tools of its language do.
func listed(line string) (list string, pkgs ecosystem.Packages, ok bool) {
	for _, e := range languages.All() {
		if pkgs = e.Source.Packages; pkgs.Affected != nil {
			if list, ok = check.List(line, pkgs.Form); ok {
				return list, pkgs, true
			}
		}
	}
	return "", ecosystem.Packages{}, false
}

// maxAffected bounds the packages that a command line names.
const maxAffected = 400

// maxReading is how long the imports of a checkout may be read: a fraction of
// what a suite takes that is worth narrowing.
const maxReading = 20 * time.Second

// imported is the scope of a line with one call of a runner of JavaScript,
// Python or Rust: what the change reaches by what files import. In doubt it is
// everything.
func (j *job) imported(ctx context.Context, changes []git.Change, cmd check.Command, claim *checkout.Checkout) (scope, error) {
	gone, ok := codeOf(changes)
	if !ok {
		return scope{}, nil
	}
	if err := claim.Prepare(ctx); err != nil {
		return scope{}, err
	}
	root, err := claim.Root(ctx)
	if err != nil {
		return scope{}, fmt.Errorf("checkout: %w", err)
	}
	defer func() { _ = root.Close() }() // only read
	one, ok := check.FindOneCall(cmd.Line, bounded.FS(root))
	src, plain := sourceOf(root, j.trees.List(ctx, j.task.claim))
	if !ok || !plain {
		return scope{}, nil
	}
	ctx, stop := context.WithTimeout(ctx, maxReading)
	defer stop()
	a, ok := affectedFiles(ctx, one, src, pathsOf(changes), gone)
	if !ok {
		return scope{}, nil
	}
	n, ok := check.Only(cmd.Line, a, bounded.FS(root))
	if !ok {
		return scope{}, nil
	}
	return scope{
		partial: true, both: n.Both, line: n.Line, left: n.Left, together: one.Together,
		note: []string{"only the tests ran that the change can affect by what files import; all run when it is integrated"},
	}, nil
}

// codeOf are the changed files that are gone. False where one of the changed decides
// how tests run, or is no plain file.
func codeOf(changes []git.Change) (gone []string, ok bool) {
	for _, c := range changes {
		switch {
		case isRunner(c.Path), isRecipe(path.Base(c.Path)), hasParts(c.Path), isVendored(c.Path):
			return nil, false
		case c.Old.Mode != 0 && !changeset.Regular(c.Old.Mode), c.New.Mode != 0 && !changeset.Regular(c.New.Mode):
			return nil, false
		case c.Status == 'D':
			gone = append(gone, c.Path)
		}
	}
	return gone, len(changes) > 0
}

// sourceOf is a checkout as the readers of imports take it. False where git
// tracks a link that code may be found by.
func sourceOf(root *os.Root, entries []git.Entry) (imports.Source, bool) {
	src := imports.Source{Read: func(name string, most int64) []byte {
		b, err := bounded.Head(root, filepath.FromSlash(name), most)
		if err != nil {
			return nil
		}
		return b
	}}
	for _, e := range entries {
		switch ext := path.Ext(e.Path); {
		case changeset.Regular(e.Mode):
			src.Files = append(src.Files, e.Path)
		case ext == "" || languageOf(e.Path) != "":
			return src, false
		}
	}
	return src, true
}

// affectedFiles follows a change through the files of a call's language.
func affectedFiles(ctx context.Context, one check.OneCall, src imports.Source, files, gone []string) (a ecosystem.Affected, ok bool) {
	for _, l := range languages.All() {
		if l.Name != one.Language {
			continue
		}
		if packages := l.Project.Imports.Packages; packages != nil {
			if one.Dir == "." {
				a.Packages, a.All, ok = packages(ctx, src, one.Says, files)
			}
			return a, ok
		}
		return reachedByImports(ctx, l.Project.Imports, one, src, files, gone)
	}
	return a, false
}

// reachedByImports are the files that a change reaches by what files import.
func reachedByImports(ctx context.Context, of ecosystem.Imports, one check.OneCall, src imports.Source, files, gone []string) (a ecosystem.Affected, ok bool) {
	g := of.Read(ctx, src.With(gone))
	if g == nil {
		return a, false
	}
	hit, known := g.Affected(files)
	if !known || g.Mentions(one.Says, hit) {
		return a, false
	}
	for f := range hit {
		if of.Decides(f) || one.Together && g.Hooks(f) {
			return a, false
		}
		a.Hit = append(a.Hit, f)
	}
	a.Code = slices.DeleteFunc(g.Code, func(f string) bool { return slices.Contains(gone, f) })
	a.Keep = g.Hooks
	return a, true
}
