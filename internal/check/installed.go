package check

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/sandbox"
)

// Cache is a folder of packages that lies outside of checkouts and that a
// toolchain finds by its environment: Go's module cache, Cargo's home.
type Cache struct {
	Name string // of its folder in a layer: "gomod"
	// Env are the variables that name it, as NAME=VALUE with {} for the folder.
	Env []string
	// Fixed: commands read it only, but for setup.
	Fixed bool
}

func (c Cache) env(dir string) []string {
	out := make([]string, len(c.Env))
	for i, kv := range c.Env {
		out[i] = strings.ReplaceAll(kv, "{}", dir)
	}
	return out
}

// layer is what one setup installed: a folder of the host with the installed
// folders as numbered sub-folders, and this as installed.json. It appears by
// one rename, so that it is whole or not there.
type layer struct {
	dir string

	State   string         `json:"state"` // Checker.state of the checkout
	Parts   []part         `json:"parts"`
	Receipt agency.Receipt `json:"receipt"`
}

// part is one installed folder.
type part struct {
	Folder string            `json:"folder,omitempty"` // of the checkout
	Cache  string            `json:"cache,omitempty"`  // or the name of a cache
	Locks  map[string]string `json:"locks"`            // lockfile to the hash of its text
	Data   string            `json:"data"`             // folder in the layer
}

const (
	layerFile = "installed.json"
	halfMade  = "new-" // begins the name of a layer that is not finished
)

// locksOf are the hashes of lockfiles; "" for one that is not there.
func locksOf(root *os.Root, names []string) map[string]string {
	out := make(map[string]string, len(names))
	for _, n := range names {
		out[n] = ""
		if text := lockText(root, n); len(text) > 0 {
			sum := sha256.Sum256(text)
			out[n] = hex.EncodeToString(sum[:])
		}
	}
	return out
}

// fits tells whether a part is what a checkout's lockfiles ask for, and can be
// shown there.
func (p part) fits(root *os.Root) bool {
	if p.Folder != "" && !vacant(root, p.Folder) {
		return false
	}
	for name, want := range p.Locks {
		if locksOf(root, []string{name})[name] != want {
			return false
		}
	}
	return true
}

// readLayers finds the finished layers of a folder, the oldest first.
func readLayers(dir string) ([]layer, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []layer
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), halfMade) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name(), layerFile))
		if err != nil {
			return nil, err
		}
		l := layer{dir: filepath.Join(dir, e.Name())}
		if err := json.Unmarshal(b, &l); err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b layer) int { return a.Receipt.At.Compare(b.Receipt.At) })
	return out, err
}

// installed are the layers of the run, read once.
func (c *Checker) installed() ([]layer, error) {
	if c.o.InstallDir == "" {
		return nil, nil
	}
	c.layersMu.Lock()
	defer c.layersMu.Unlock()
	if !c.layersRead {
		var err error
		if c.layers, err = readLayers(c.o.InstallDir); err != nil {
			return nil, err
		}
		c.layersRead = true
	}
	return c.layers, nil
}

// layerNames tell one set of installed layers from another.
func (c *Checker) layerNames() []string {
	layers, err := c.installed()
	if err != nil { // whatever runs next says it
		return []string{err.Error()}
	}
	var out []string
	for _, l := range layers {
		out = append(out, filepath.Base(l.dir))
	}
	return out
}

// state tells one state of lockfiles from another, and what sets it up.
func state(root *os.Root, line string, found []Dependency) string {
	sum := sha256.New()
	_, _ = sum.Write([]byte(line)) // a hash never fails
	for _, d := range found {
		locks := locksOf(root, d.Locks)
		for _, n := range d.Locks {
			_, _ = sum.Write([]byte("\x00" + d.Folder + "\x00" + d.Cache + "\x00" + n + "\x00" + locks[n]))
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// showInstalled adds what layers hold for a checkout, the newest first, and
// tells which folders are shown.
func (c *Checker) showInstalled(t *sandbox.Toolchain, root *os.Root, at string) (shown map[string]bool, err error) {
	layers, err := c.installed()
	if err != nil || len(layers) == 0 {
		return nil, err
	}
	shown = map[string]bool{}
	for _, l := range slices.Backward(layers) {
		for _, p := range l.Parts {
			if name := p.Folder + "\x00" + p.Cache; shown[name] || !p.fits(root) {
				continue
			} else {
				shown[name] = true
			}
			if err := c.showPart(t, root, at, l, p); err != nil {
				return nil, err
			}
		}
	}
	return shown, nil
}

func (c *Checker) showPart(t *sandbox.Toolchain, root *os.Root, at string, l layer, p part) error {
	data := filepath.Join(l.dir, p.Data)
	name := filepath.Join("deps", filepath.Base(l.dir)+"-"+p.Data)
	if p.Cache != "" {
		i := slices.IndexFunc(c.o.Caches, func(o Cache) bool { return o.Name == p.Cache })
		if i < 0 {
			return nil // of a toolchain that is no longer there
		}
		t.Env = append(slices.Clone(t.Env), c.o.Caches[i].env(data)...)
		if c.o.Caches[i].Fixed {
			t.ReadOnly = append(slices.Clone(t.ReadOnly), sandbox.Mount{Host: data, At: data})
		} else {
			t.Overlays = append(t.Overlays, sandbox.Overlay{Lower: data, At: data, Name: name})
		}
		return nil
	}
	if _, err := os.Stat(filepath.Join(data, "pyvenv.cfg")); err == nil {
		activate(t, filepath.Join(at, filepath.FromSlash(p.Folder)))
	}
	if c.o.Runner.Mode() == sandbox.ModeOff {
		return copyInto(data, root, p.Folder)
	}
	t.Overlays = append(t.Overlays, sandbox.Overlay{Lower: data, At: filepath.Join(at, filepath.FromSlash(p.Folder)), Name: name})
	return nil
}

// activate puts the programs of a virtual environment before all others, as its
// activation does.
func activate(t *sandbox.Toolchain, venv string) {
	t.Env = append(slices.Clone(t.Env), "VIRTUAL_ENV="+venv)
	bin := filepath.Join(venv, "bin")
	for i, kv := range t.Env {
		if paths, ok := strings.CutPrefix(kv, "PATH="); ok && !slices.Contains(filepath.SplitList(paths), bin) {
			t.Env[i] = "PATH=" + bin + string(filepath.ListSeparator) + paths
		}
	}
}

// SweepInstalled removes layers that a killed host left half made.
func SweepInstalled(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), halfMade) {
			errs = append(errs, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}
