package workspace

import (
	"context"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"agency/internal/agency"

	"golang.org/x/sync/errgroup"
)

// memo is what a checkout looked like when its index last agreed with it. With
// it a snapshot in which only the content of known files has changed, which is
// most, looks at each file once and asks git for those alone; one in which
// nothing has changed asks nothing. Whatever else is different, such as a new
// name or another type, makes it worthless: then git looks for itself.
type memo struct {
	tree agency.OID
	dirs []memoDir
}

// memoDir is a folder, ignored ones too: a file that appears in a folder that
// holds no tracked file yet is to be seen as well.
type memoDir struct {
	path  string // below the root, "." for itself
	look  look
	names [32]byte // hash of its names and their types
	files []memoFile
}

type memoFile struct {
	name string
	look look
}

// look is what one call of the kernel says about a file.
type look struct {
	ino          uint64
	size         int64
	mtime, ctime int64 // nanoseconds
	mode         uint32
	// fresh is set where the file may change again without looking different,
	// because the clock of the file system has not moved since.
	fresh bool
}

// same tells whether a file is certain not to have changed.
func (l look) same(now look) bool {
	now.fresh = false
	return l == now
}

const (
	// freshFor is longer than the clock of a file system stands still where it
	// counts finer than milliseconds; freshForCoarse is for the others, of which
	// FAT has the coarsest.
	freshFor, freshForCoarse = 50 * time.Millisecond, 2 * time.Second
	// mostFresh and mostChanged bound what is told git by name; beyond them its
	// own search is no slower.
	mostFresh   = 1000
	mostChanged = 1000
	// spare is how many files beside the tracked ones a checkout may hold:
	// folders of dependencies are not worth remembering.
	spare = 10_000
)

// worthIt tells whether to make a memo: rarely, where the last ones did not
// serve, as with tools that write new files all the time.
func (g *staging) worthIt() bool { return g.missed < 4 || g.missed%8 == 0 }

// remember makes a memo of the checkout, nil where it is not worth it. The
// files may change meanwhile: what does is fresh.
func (g *staging) remember(ctx context.Context, tracked int) *memo {
	r := &remembering{root: g.root, left: 2*tracked + spare, now: time.Now()}
	if !r.folder(ctx, ".") {
		return nil
	}
	return &memo{dirs: r.dirs}
}

type remembering struct {
	root  string
	now   time.Time
	left  int // how many more names
	fresh int
	dirs  []memoDir
}

func (r *remembering) folder(ctx context.Context, rel string) bool {
	d, sub, err := readFolder(r.root, rel, r.now)
	if err != nil || ctx.Err() != nil {
		return false
	}
	if d.look.fresh {
		r.fresh++
	}
	for _, f := range d.files {
		if f.look.fresh {
			r.fresh++
		}
	}
	r.left -= len(d.files) + len(sub)
	if r.left < 0 || r.fresh > mostFresh {
		return false
	}
	r.dirs = append(r.dirs, d)
	for _, name := range sub {
		if name == ".git" {
			if rel == "." {
				continue // ours, and looked at first
			}
			return false
		}
		if !r.folder(ctx, path.Join(rel, name)) {
			return false
		}
	}
	return true
}

// keep leaves only tracked files in the memo: others are known by their names
// alone.
func (m *memo) keep(tracked map[string]struct{}) {
	for i := range m.dirs {
		d := &m.dirs[i]
		kept := d.files[:0]
		for _, f := range d.files {
			if _, ok := tracked[path.Join(d.path, f.name)]; ok {
				kept = append(kept, f)
			}
		}
		d.files = append([]memoFile(nil), kept...)
	}
}

// compare looks at everything again and gives the tracked files that may have
// changed. ok is false where more than content is different. The memo holds
// what was seen now.
func (m *memo) compare(ctx context.Context, root string) (changed []string, ok bool) {
	now := time.Now()
	workers := min(runtime.GOMAXPROCS(0), 8)
	g, ctx := errgroup.WithContext(ctx)
	var mu sync.Mutex
	size := (len(m.dirs) + workers - 1) / workers
	for from := 0; from < len(m.dirs); from += size {
		dirs := m.dirs[from:min(from+size, len(m.dirs))]
		g.Go(func() error {
			var mine []string
			for i := range dirs {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				names, err := dirs[i].compare(root, now)
				if err != nil {
					return err
				}
				mine = append(mine, names...)
			}
			mu.Lock()
			defer mu.Unlock()
			changed = append(changed, mine...)
			return nil
		})
	}
	return changed, g.Wait() == nil && len(changed) <= mostChanged
}

// quick takes the snapshot by the memo. ok is false where it does not serve.
func (g *staging) quick(ctx context.Context) (tree agency.OID, ok bool) {
	m := g.memo
	g.memo = nil // what fails below leaves none behind
	if m == nil {
		return "", false
	}
	g.missed++
	defer func() {
		if ok {
			g.missed = 0
		}
	}()
	changed, ok := m.compare(ctx, g.root)
	if !ok {
		return "", false
	}
	if slices.ContainsFunc(changed, isIgnoreFile) {
		return "", false
	}
	if len(changed) == 0 {
		g.memo = m
		return m.tree, true
	}
	g.audit.suspect = g.audit.suspect || gitDataIn(changed)
	// An error is found again, and named, by the search of git that follows.
	if err := g.dir.Index().AddPaths(ctx, changed); err != nil {
		return "", false
	}
	tree, err := g.dir.Index().WriteTree(ctx)
	if err != nil {
		return "", false
	}
	m.tree, g.memo = tree, m
	return tree, true
}

func joinRoot(root, rel string) string { return filepath.Join(root, filepath.FromSlash(rel)) }
