package check

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/beneath"
	"agency/internal/ecosystem"
	"agency/internal/sandbox"
	"agency/internal/store"
	"agency/internal/testreport"
)

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
		out[n] = lockSum(root, n)
	}
	return out
}

// fits tells whether a part is what a checkout's lockfiles ask for, and can be
// shown there.
func (p part) fits(root *os.Root) bool {
	return (p.Folder == "" || vacant(root, p.Folder)) && p.suits(root)
}

// suits tells whether a part is what a checkout's lockfiles ask for.
func (p part) suits(root *os.Root) bool {
	for name, want := range p.Locks {
		if lockSum(root, name) != want {
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

// setups are what setups of a run installed.
type setups struct {
	dir     string // of the layers; empty: there are none
	landed  func(ctx context.Context, run agency.RunID, contract agency.ContractID) (bool, error)
	release func(dir string)

	mu   sync.Mutex
	read bool
	all  []layer // the oldest first
}

// installed are the layers of the run, read once.
func (c *setups) installed() ([]layer, error) {
	if c.dir == "" {
		return nil, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.read {
		var err error
		if c.all, err = readLayers(c.dir); err != nil {
			return nil, err
		}
		c.read = true
	}
	return c.all, nil
}

// usable are the layers that count for a contract: its own, and those of what has
// landed. A setup runs what the claim brings, so that what it installed for a
// claim that did not land is nobody else's, whatever its lockfiles say.
func (c *setups) usable(ctx context.Context, contract agency.ContractID) ([]layer, error) {
	all, err := c.installed()
	var out []layer
	for _, l := range all {
		own := l.Receipt.ContractID == contract
		if !own && c.landed != nil && err == nil {
			own, err = c.landed(ctx, l.Receipt.RunID, l.Receipt.ContractID)
		}
		if own {
			out = append(out, l)
		}
	}
	return out, err
}

// Withdraw takes back what was installed for earlier claims of a contract that
// has not landed.
func (c *setups) Withdraw(ctx context.Context, contract agency.ContractID, claim agency.OID) error {
	all, err := c.installed()
	for _, l := range all {
		if err != nil || l.Receipt.ContractID != contract || l.Receipt.Tree == claim {
			continue
		}
		landed := false
		if c.landed != nil {
			landed, err = c.landed(ctx, l.Receipt.RunID, contract)
		}
		if err == nil && !landed {
			err = c.drop(l)
		}
	}
	return err
}

func (c *setups) drop(l layer) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.release(l.dir)
	half := filepath.Join(filepath.Dir(l.dir), halfMade+filepath.Base(l.dir)) // gone at once for a host that dies now
	if err := errors.Join(beneath.Remove(half), os.Rename(l.dir, half), beneath.Remove(half)); err != nil {
		return fmt.Errorf("what setup installed for an earlier claim: %w", err)
	}
	c.all = slices.DeleteFunc(slices.Clone(c.all), func(o layer) bool { return o.dir == l.dir })
	return nil
}

// layerNames tell one set of installed layers from another.
func (c *setups) layerNames(ctx context.Context, contract agency.ContractID) []string {
	layers, err := c.usable(ctx, contract)
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
func state(root *os.Root, line string, units []ecosystem.Unit) string {
	sum := sha256.New()
	_, _ = sum.Write([]byte(line)) // a hash never fails
	for _, u := range units {
		locks := locksOf(root, u.Locks)
		for _, n := range u.Locks {
			_, _ = sum.Write([]byte("\x00" + u.Folder + "\x00" + u.Cache + "\x00" + n + "\x00" + locks[n]))
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// showInstalled adds what layers hold for a checkout, the newest first, and
// tells which folders are shown.
func (c *packages) showInstalled(t *sandbox.Toolchain, root *os.Root, place sandbox.Place, layers []layer) (shown map[string]bool, err error) {
	shown = map[string]bool{}
	for _, l := range slices.Backward(layers) {
		for _, p := range l.Parts {
			name := p.Folder + "\x00" + p.Cache
			if shown[name] {
				continue
			}
			if shown[name], err = c.showPart(t, root, place, l, p); err != nil {
				return nil, err
			}
		}
	}
	return shown, nil
}

// showPart shows a part where it is what the checkout asks for, and tells so.
func (c *packages) showPart(t *sandbox.Toolchain, root *os.Root, place sandbox.Place, l layer, p part) (there bool, err error) {
	data := filepath.Join(l.dir, p.Data)
	name := filepath.Join("deps", filepath.Base(l.dir)+"-"+p.Data)
	if p.Cache != "" {
		i := slices.IndexFunc(c.o.Caches, func(o ecosystem.Cache) bool { return o.Name == p.Cache })
		if i < 0 || !p.suits(root) { // -1: of a toolchain that is no longer there
			return false, nil
		}
		t.Env = append(slices.Clone(t.Env), c.o.Caches[i].At(data)...)
		if c.o.Caches[i].Fixed {
			t.ReadOnly = append(slices.Clone(t.ReadOnly), sandbox.Mount{Host: data, At: data, Own: true})
		} else {
			t.Overlays = append(t.Overlays, sandbox.Overlay{Lower: data, At: data, Name: name, Own: true})
		}
		return true, nil
	}
	at := filepath.Join(place.At, filepath.FromSlash(p.Folder))
	if c.o.Runner.Tier() != sandbox.TierFull {
		there, err = c.copied(root, place, p.Folder, data, p.suits(root))
	} else if there = p.fits(root); there {
		t.Overlays = append(t.Overlays, sandbox.Overlay{Lower: data, At: at, Name: name, Own: true})
	}
	if there && isVenv(data) {
		activate(t, at)
	}
	return there, err
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
			errs = append(errs, beneath.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// scarce is the free room in bytes below which a command that complains of a
// full disk is believed: its own /tmp has a limit of its own, and what it
// deletes as it ends gives room back.
const scarce = 256 << 20

// outOfRoom tells whether a command failed because the disk of its checkout or
// of its caches is full. That is no result of the tree: it would cost an
// attempt that the agent is not to blame for.
func (c *Checker) outOfRoom(s Subject, res sandbox.Result, stdout *spill) error {
	if res.ExitCode == 0 {
		return nil
	}
	complains := sync.OnceValue(func() bool {
		for line := range testreport.Lines(io.MultiReader(bytes.NewReader(res.Output), stdout.read())) {
			if bytes.Contains(bytes.ToLower(line), []byte("no space left on device")) {
				return true
			}
		}
		return false
	})
	for _, dir := range []string{s.Place.Root, c.o.LayerDir} {
		if dir == "" {
			continue
		}
		free, err := store.Room(dir)
		if store.Full(dir) || err == nil && free < scarce && complains() {
			return agency.Errorf(agency.KindTransient, "%w: %s", store.ErrDiskFull, dir).WithMend("free space on the disk of %s", dir)
		}
	}
	return nil
}

// Sweep removes from a folder of layers what a check makes for itself and
// removes again, which a host that was killed leaves behind, and what commands
// wrote over packages that were replaced long before now. No check may be at
// work there.
func Sweep(layers string, now time.Time) error {
	errs := []error{beneath.Remove(filepath.Join(layers, scratchDir)), beneath.Remove(filepath.Join(layers, reportsDir))}
	sealed, err := filepath.Glob(filepath.Join(layers, warmDir, "*"))
	errs = append(errs, err)
	for _, store := range sealed {
		errs = append(errs, sandbox.SweepSealed(store, now))
	}
	written, err := filepath.Glob(filepath.Join(layers, "*", "deps", "*-*"))
	errs = append(errs, err)
	for _, dir := range written {
		if info, err := os.Stat(dir); err == nil && now.Sub(info.ModTime()) > keepLayer {
			errs = append(errs, beneath.Remove(dir))
		}
	}
	return errors.Join(errs...)
}

// keepLayer is how long what was written over packages stays.
const keepLayer = 14 * 24 * time.Hour
