package sandbox

import (
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// rootInside is the user that the host's root is inside: many programs refuse
// to run, or do not respect permissions, as root.
const rootInside = 1000

func insideID(id int) int {
	if id == 0 {
		return rootInside
	}
	return id
}

// makePlan lays out the file system of one command. Paths are sorted parents
// first, so that the repository lies over the system, caches inside the
// repository over it, and none is hidden by what is mounted later.
func makePlan(s Spec, layers []layer) (plan, error) {
	p := plan{
		At: s.Place.At, UID: insideID(os.Getuid()), GID: insideID(os.Getgid()),
		Dir: filepath.Join(s.Place.At, s.Dir), Argv: s.Argv, Limits: s.Limits,
		Env: environment(home, "/tmp", s.Tools.Env, s.Env),
	}
	tmp := s.Limits.tmpMB()
	items := []item{
		{Kind: kindMemory, At: "/tmp", SizeMB: tmp},
		{Kind: kindMemory, At: "/dev/shm", SizeMB: tmp},
		{Kind: kindBind, Host: s.Place.Root, At: s.Place.At, Writable: !s.Place.ReadOnly, Place: true},
		gitItem(s.Place),
	}
	for i, at := range objectsAt(s.Place) {
		items = append(items, item{Kind: kindBind, Host: s.Place.Objects[i], At: at})
	}
	for _, ms := range [][]Mount{s.Tools.ReadOnly, s.Reads} {
		for _, m := range ms {
			items = append(items, item{Kind: kindBind, Host: m.Host, At: m.At})
		}
	}
	if s.Out != "" {
		items = append(items, item{Kind: kindBind, Host: s.Out, At: s.Out, Writable: true})
	}
	for i, o := range s.Tools.Overlays {
		items = append(items, item{Kind: kindOverlay, Host: o.Lower, At: o.At, Writable: true, Layer: layers[i]})
	}
	for i := range items {
		if err := resolveItem(&items[i]); err != nil {
			return plan{}, err
		}
		items[i].Inside = items[i].At != p.At && within(items[i].At, p.At)
	}
	sort.SliceStable(items, func(i, j int) bool { return parentFirst(items[i].At, items[j].At) })
	p.Items = items
	return p, nil
}

func gitItem(p Place) item {
	at := filepath.Join(p.At, ".git")
	if p.GitDir == "" {
		return item{Kind: kindEmpty, At: at}
	}
	return item{Kind: kindBind, Host: p.GitDir, At: at, Writable: true}
}

// resolveItem follows the host's symbolic links now, in the host's own view;
// an overlay whose lower folder does not exist becomes a cache of its own.
func resolveItem(it *item) error {
	if it.Host == "" {
		return nil
	}
	real, err := filepath.EvalSymlinks(it.Host)
	if err != nil {
		if it.Kind == kindOverlay && os.IsNotExist(err) {
			it.Host = ""
			return nil
		}
		return err
	}
	it.Host = real
	return nil
}

// parentFirst orders paths so that a folder comes before what lies in it.
func parentFirst(a, b string) bool {
	return strings.ReplaceAll(a, "/", "\x00") < strings.ReplaceAll(b, "/", "\x00")
}
