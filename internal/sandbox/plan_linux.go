package sandbox

import (
	"os"
	"path/filepath"
	"sort"
	"strings"

	"golang.org/x/sys/unix"
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

// makePlan lays out the file system of a sandbox. Paths are sorted parents
// first, so that the repository lies over the system, caches inside the
// repository over it, and none is hidden by what is mounted later.
func makePlan(s Spec) (plan, error) {
	p := plan{Tier: TierFull, Once: s.Out != "", At: s.Place.At, UID: insideID(os.Getuid()), GID: insideID(os.Getgid())}
	items := []item{
		{Kind: kindMemory, At: "/tmp"},
		{Kind: kindMemory, At: "/dev/shm"},
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
	for _, o := range s.Tools.Overlays {
		items = append(items, item{
			Kind: kindOverlay, Host: o.Lower, At: o.At, Writable: true, Layers: filepath.Join(s.LayerDir, o.Name),
		})
	}
	for i := range items {
		if err := resolveItem(&items[i]); err != nil {
			return plan{}, err
		}
		items[i].Inside = items[i].At != p.At && within(items[i].At, p.At)
	}
	sort.SliceStable(items, func(i, j int) bool { return parentFirst(items[i].At, items[j].At) })
	nest(items)
	p.Items = items
	return p, nil
}

// nest finds what each item lies in: the last before it that contains it.
func nest(items []item) {
	for i := range items {
		items[i].Under = -1
		for j := i - 1; j >= 0; j-- {
			if within(items[i].At, items[j].At) {
				items[i].Under = j
				break
			}
		}
	}
}

// makeRequest is one command in the sandbox of a plan, whose overlays lie in
// these layers.
func makeRequest(s Spec, p plan, layers map[string]layer) request {
	r := request{
		Dir: filepath.Join(s.Place.At, s.Dir), Argv: s.Argv, Limits: s.Limits,
		Env: environment(home, "/tmp", s.Tools.Env, proxyOf(s), s.Env),
	}
	for _, it := range p.Items {
		if it.Kind == kindOverlay {
			r.Layers = append(r.Layers, layers[it.At].name)
		}
	}
	return r
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
	for _, path := range []*string{&it.Host, &it.Layers} {
		if *path == "" {
			continue
		}
		real, err := filepath.EvalSymlinks(*path)
		if err == nil {
			*path = real
			err = it.identify(real)
		}
		if err != nil && path == &it.Host && it.Kind == kindOverlay && os.IsNotExist(err) {
			it.Host, err = "", nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (it *item) identify(path string) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return &os.PathError{Op: "stat", Path: path, Err: err}
	}
	it.IDs = append(it.IDs, [2]uint64{uint64(st.Dev), st.Ino})
	return nil
}

// parentFirst orders paths so that a folder comes before what lies in it.
func parentFirst(a, b string) bool {
	return strings.ReplaceAll(a, "/", "\x00") < strings.ReplaceAll(b, "/", "\x00")
}

// shows says whether anything of a folder of the host is mounted.
func (p plan) shows(dir string) bool {
	dir = resolved(dir)
	for _, it := range p.Items {
		if it.Host != "" && within(it.Host, dir) || it.Layers != "" && within(it.Layers, dir) {
			return true
		}
	}
	return false
}

func proxyOf(s Spec) []string {
	if len(s.Hosts) == 0 {
		return nil
	}
	return proxyEnv(proxyPort)
}
