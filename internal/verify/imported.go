package verify

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agency/internal/check"
	"agency/internal/check/imports"
	"agency/internal/git"
)

// maxReading is how long the imports of a checkout may be read: a fraction of
// what a suite takes that is worth narrowing.
const maxReading = 20 * time.Second

// imported is the scope of a line with one call of a runner of JavaScript,
// Python or Rust: what the change reaches by what files import. In doubt it is
// everything.
func (j *job) imported(ctx context.Context, changes []git.Change, cmd check.Command, claim *bench) (scope, error) {
	changed, gone, ok := codeOf(changes)
	if !ok {
		return scope{}, nil
	}
	if err := claim.prepare(ctx); err != nil {
		return scope{}, err
	}
	entries, err := j.tree(ctx, j.task.claim)
	if err != nil {
		return scope{}, err
	}
	root, err := os.OpenRoot(claim.place.Root)
	if err != nil {
		return scope{}, fmt.Errorf("checkout: %w", err)
	}
	defer func() { _ = root.Close() }() // only read
	one, ok := check.FindOneCall(cmd.Line, root.FS())
	src, plain := sourceOf(root, entries)
	if !ok || !plain {
		return scope{}, nil
	}
	ctx, stop := context.WithTimeout(ctx, maxReading)
	defer stop()
	a, ok := affectedFiles(ctx, one, src, changed, gone)
	if !ok {
		return scope{}, nil
	}
	n, ok := check.Only(cmd.Line, a, root.FS())
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
		case c.Old.Mode != 0 && !regular(c.Old.Mode), c.New.Mode != 0 && !regular(c.New.Mode):
			return nil, nil, false
		case c.Status == 'D':
			gone = append(gone, c.Path)
		default:
			changed = append(changed, c.Path)
		}
	}
	return changed, gone, len(changed)+len(gone) > 0
}

func regular(mode uint32) bool { return mode == 0o100644 || mode == 0o100755 }

// sourceOf is a checkout as the readers of imports take it. False where git
// tracks a link that code may be found by.
func sourceOf(root *os.Root, entries []git.Entry) (imports.Source, bool) {
	src := imports.Source{Read: func(name string, most int64) []byte { return readRegular(root, name, most) }}
	for _, e := range entries {
		switch ext := path.Ext(e.Path); {
		case regular(e.Mode):
			src.Files = append(src.Files, e.Path)
		case ext == "" || languageOf(e.Path) != "":
			return src, false
		}
	}
	return src, true
}

// readRegular reads at most so many bytes of a regular file of a checkout.
func readRegular(root *os.Root, name string, most int64) []byte {
	name = filepath.FromSlash(name)
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := root.Open(name)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // only read
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return nil
	}
	return b
}

// affectedFiles follows a change through the files of a call's language.
func affectedFiles(ctx context.Context, one check.OneCall, src imports.Source, changed, gone []string) (a check.Affected, ok bool) {
	files := append(slices.Clone(changed), gone...)
	if one.Language == check.Rust {
		return a, ofCrates(ctx, &a, one, src, files)
	}
	read, config := imports.JavaScript, imports.IsJavaScriptConfig
	if one.Language == check.Python {
		read, config = imports.Python, imports.IsPythonConfig
	}
	g := read(ctx, src.With(gone))
	if g == nil {
		return a, false
	}
	hit, known := g.Affected(files)
	if !known || imports.Mentioned(one.Says, hit) {
		return a, false
	}
	for f := range hit {
		if config(f) || one.Together && g.Hooks(f) {
			return a, false
		}
		a.Hit = append(a.Hit, f)
	}
	a.Code = slices.DeleteFunc(g.Code, func(f string) bool { return slices.Contains(gone, f) })
	a.Keep = g.Hooks
	return a, true
}

func ofCrates(ctx context.Context, a *check.Affected, one check.OneCall, src imports.Source, files []string) bool {
	c := imports.Rust(ctx, src)
	if c == nil || one.Dir != "." || c.Default || c.Root && !strings.Contains(one.Says, "--workspace") && !strings.Contains(one.Says, "--all") {
		return false
	}
	var known bool
	if a.Packages, known = c.Affected(files); !known {
		return false
	}
	for _, k := range c.All {
		a.All = append(a.All, k.Name)
	}
	return true
}
