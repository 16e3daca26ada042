package workspace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"agency/internal/text"
)

// A checkout is looked over before git reads any of it: a sparse file of a
// terabyte costs whoever makes it nothing, and whoever hashes it hours. What git
// would pass over by the base's rules may be as large as it likes.
const (
	// mostFile bounds a file, in bytes; one that the base has may be as large as
	// there.
	mostFile = 512 << 20
	// mostNew bounds all new files together, in bytes.
	mostNew = 4 << 30
	// mostFiles bounds the names beside those that are tracked (Options.MostFiles).
	mostFiles = 300_000
	// mostPath bounds a path below the checkout, in bytes: git and most programs
	// end at 4095, with what stands in front. mostDeep bounds its folders.
	mostPath, mostDeep = 3900, 500
	// mostTold bounds what an error names.
	mostTold = 10
)

// excess is something that is too much.
type excess struct {
	path string // a folder's with a slash at its end, "" for the whole
	why  string
	big  bool // a file of too many bytes
}

// survey looks a checkout over. A *Violation names what is too much for a tree.
func (g *staging) survey(ctx context.Context) error {
	room := len(g.tracked) + spare
	found := g.look(ctx, room)
	if len(found) == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	// Perhaps it is all ignored. What is, is asked once: only the base's rules
	// count, and they never change.
	wanted := map[string]bool{}
	for _, f := range found {
		wanted[f.path] = true
	}
	ignored := maps.Clone(g.ignored)
	if ignored == nil {
		ignored = map[string]bool{}
	}
	err := g.dir.Files().Ignored(ctx, g.base.excludes, func(p string) bool {
		if strings.HasSuffix(p, "/") || wanted[p] {
			ignored[p] = true
		}
		return len(ignored) < mostFiles
	})
	if err != nil {
		return err
	}
	g.ignored = ignored
	var told []string
	for _, f := range g.look(ctx, len(g.tracked)+g.run.m.opts.MostFiles) {
		had, err := g.hadAlready(ctx, f.path)
		if err != nil {
			return err
		}
		if !had && len(told) < mostTold {
			told = append(told, strings.TrimSpace(briefly(f.path)+" "+f.why))
		}
	}
	if len(told) == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	return &Violation{Kind: TooMuch, Paths: told}
}

// dropBig deletes known files that have become too large: git would compare one
// by its content where its size, of which an index holds 32 bits, looks the same.
func (g *staging) dropBig(ctx context.Context) error {
	if err := g.readFolders(ctx); err != nil {
		return err
	}
	var drop []string
	for _, f := range g.look(ctx, len(g.tracked)+g.run.m.opts.MostFiles) {
		if _, known := g.tracked[f.path]; !known || !f.big {
			continue
		}
		had, err := g.hadAlready(ctx, f.path)
		if err != nil {
			return err
		}
		if !had {
			drop = append(drop, f.path)
		}
	}
	return g.delete(drop)
}

// hadAlready tells whether the base has a file that is as large as now.
func (g *staging) hadAlready(ctx context.Context, p string) (bool, error) {
	if !g.base.files[p] {
		return false, nil
	}
	was, err := g.dir.Objects().Size(ctx, g.run.baseTree, p)
	if err != nil {
		return false, err
	}
	root, err := g.Root()
	if err != nil {
		return false, nil //nolint:nilerr // it is gone meanwhile
	}
	defer func() { _ = root.Close() }() // only looked through
	info, err := root.Lstat(p)
	return err == nil && info.Size() == was, nil //nolint:nilerr // as above, or it is no file
}

// tally is one look over a checkout.
type tally struct {
	tracked map[string]struct{}
	ignored map[string]bool
	room    int // how many more names
	fresh   int64
	largest string
	size    int64
	counts  map[string]int // names by their first folder
	found   []excess
	broken  bool // a name holds a line break
}

var errEnough = errors.New("enough is seen")

// file counts a name. The error ends the look.
func (t *tally) file(dir, name string, size int64, folder bool) error {
	p := path.Join(dir, name)
	t.broken = t.broken || strings.ContainsRune(name, '\n')
	if t.ignored[p] || folder && t.ignored[p+"/"] {
		return nil
	}
	top, _, below := strings.Cut(p, "/")
	if !below {
		top = "."
	}
	t.counts[top]++
	if t.room--; t.room < 0 {
		most := top
		for k, n := range t.counts {
			if n > t.counts[most] {
				most = k
			}
		}
		t.found = append(t.found, excess{path: most + "/", why: fmt.Sprintf("holds %d files or more, and the checkout too many", t.counts[most])})
		return errEnough
	}
	_, known := t.tracked[p]
	rules := isRules(name)
	switch {
	case len(p) > mostPath:
		t.add(p, fmt.Sprintf("is a path of %d bytes, at most %d can be", len(p), mostPath))
	case folder && strings.Count(p, "/") >= mostDeep:
		t.add(p+"/", fmt.Sprintf("is %d folders deep, at most %d can be", strings.Count(p, "/")+1, mostDeep))
	case folder:
	case size > mostFile:
		t.add(p, fmt.Sprintf("has %d bytes, a file can have %d", size, mostFile))
		t.found[len(t.found)-1].big = true
	case rules && size > maxRules:
		t.add(p, fmt.Sprintf("has %d bytes, such a file can have %d", size, maxRules))
	case !known:
		if t.fresh += size; size > t.size {
			t.size, t.largest = size, p
		}
	}
	if len(t.found) > 1000 {
		return errEnough
	}
	return nil
}

// isRules tells a file that git reads whole, by its name.
func isRules(name string) bool { return name == ".gitignore" || name == ".gitattributes" }

func (t *tally) add(p, why string) { t.found = append(t.found, excess{path: p, why: why}) }

// enters tells whether a folder is looked into.
func (t *tally) enters(p string) bool {
	return !t.ignored[p+"/"] && p != ".git" && len(p) <= mostPath && strings.Count(p, "/") < mostDeep
}

// end gives what is too much.
func (t *tally) end() []excess {
	if t.fresh > mostNew {
		t.add("", fmt.Sprintf("the new files have %d bytes together, they can have %d; the largest is %s with %d", t.fresh, int64(mostNew), briefly(t.largest), t.size))
	}
	return slices.Clip(t.found)
}

// briefly keeps an error readable: an agent's path may have any length.
func briefly(p string) string { return text.Ends(p, 200) }
