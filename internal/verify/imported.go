package verify

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"agency/internal/bounded"
	"agency/internal/changeset"
	"agency/internal/check"
	"agency/internal/checkout"
	"agency/internal/code/imports"
	"agency/internal/ecosystem"
	"agency/internal/git"
	"agency/internal/languages"
)

// maxReading is how long the imports of a checkout may be read: a fraction of
// what a suite takes that is worth narrowing.
const maxReading = 20 * time.Second

// imported is the scope of a line with one call of a runner of JavaScript,
// Python or Rust: what the change reaches by what files import. In doubt it is
// everything.
func (j *job) imported(ctx context.Context, changes []git.Change, cmd check.Command, claim *checkout.Checkout) (scope, error) {
	changed, gone, ok := codeOf(changes)
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
	a, ok := affectedFiles(ctx, one, src, changed, gone)
	if !ok {
		return scope{}, nil
	}
	n, ok := check.Only(cmd.Line, a, bounded.FS(root))
	if !ok {
		return scope{}, nil
	}
	return scope{
		partial: true, both: n.Both, line: n.Line, left: n.Left, together: one.Together,
		note: []string{"only the tests ran that the change can affect by what files import; all run when it lands"},
	}, nil
}

// codeOf parts changed files into those that are there and those that are gone.
// False where one of them decides how tests run, or is no plain file.
func codeOf(changes []git.Change) (changed, gone []string, ok bool) {
	for _, c := range changes {
		base := path.Base(c.Path)
		switch {
		case isRunner(c.Path), isRecipe(base), hasParts(c.Path), isVendored(c.Path):
			return nil, nil, false
		case c.Old.Mode != 0 && !changeset.Regular(c.Old.Mode), c.New.Mode != 0 && !changeset.Regular(c.New.Mode):
			return nil, nil, false
		case c.Status == 'D':
			gone = append(gone, c.Path)
		default:
			changed = append(changed, c.Path)
		}
	}
	return changed, gone, len(changed)+len(gone) > 0
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
func affectedFiles(ctx context.Context, one check.OneCall, src imports.Source, changed, gone []string) (a ecosystem.Affected, ok bool) {
	files := append(slices.Clone(changed), gone...)
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
