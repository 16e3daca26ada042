package check

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/bounded"
	"agency/internal/ecosystem"
	"agency/internal/fingerprint"
	"agency/internal/languages"
	"agency/internal/regexp"
	"agency/internal/sandbox"
	"agency/internal/slots"
)

// Dependency is a folder of the user's checkout that git ignores and builds
// need: node_modules, .venv, vendor/bundle, target and their like. A checkout
// sees it as an overlay's lower layer while its lockfiles are the user's own
// (docs/design.md, Verification).
type Dependency struct {
	ecosystem.Unit        // without lockfiles it is a cache, which is good for every tree
	Host           string // the folder on the host
	Repo           string // the user's checkout on the host
}

// Changed names the lockfiles that differ in a checkout from the user's own, so
// that what is installed does not fit: its dependencies have to be set up.
func (d Dependency) Changed(root *os.Root) []string {
	user, err := os.OpenRoot(d.Repo)
	if err != nil {
		return d.Locks
	}
	defer func() { _ = user.Close() }() // only read
	var out []string
	for _, l := range d.Locks {
		if lockSum(user, l) != lockSum(root, l) && !unkept(user, root, l) {
			out = append(out, l)
		}
	}
	return out
}

// unkept tells whether a lockfile is not in a checkout, and the manifest beside
// it is the user's: some repositories ignore what their package manager writes.
func unkept(user, root *os.Root, lock string) bool {
	manifest := ""
	for _, of := range dependencies() {
		manifest = cmp.Or(manifest, of.ManifestOf[path.Base(lock)])
	}
	if _, err := root.Lstat(filepath.FromSlash(lock)); err == nil || manifest == "" {
		return false
	}
	manifest = path.Join(path.Dir(lock), manifest)
	_, err := root.Lstat(filepath.FromSlash(manifest))
	return err == nil && lockSum(user, manifest) == lockSum(root, manifest)
}

// sign tells one installed state from another.
func (d Dependency) sign() string {
	user, err := os.OpenRoot(d.Repo)
	if err != nil {
		return d.Folder
	}
	defer func() { _ = user.Close() }() // only read
	var b strings.Builder
	b.WriteString(d.Host + "\x00" + d.Folder)
	for _, l := range d.Locks {
		b.WriteString("\x00" + l + "\x00" + lockSum(user, l))
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:8])
}

// dependencies are how the packages of each language are installed.
var dependencies = sync.OnceValue(func() (out []ecosystem.Dependencies) {
	for _, l := range languages.All() {
		out = append(out, l.Project.Dependencies)
	}
	return out
})

// decides is the form of what decides in a manifest; nil: all of the file does.
func decides(base string) *regexp.Regexp {
	for _, of := range dependencies() {
		if form := of.Decides[base]; form != nil {
			return form
		}
	}
	return nil
}

// Deciding is what of a file's text decides which dependencies there are. Of a
// manifest that stands in for a lockfile only those parts count: everything
// else of it changes every day.
func Deciding(name string, b []byte) []byte {
	if form := decides(path.Base(name)); form != nil {
		return bytes.Join(form.FindAll(b, -1), []byte("\n"))
	}
	return b
}

// fits tells whether a checkout can use a dependency folder: its lockfiles are
// the user's, and nothing is in its place.
func (d Dependency) fits(root *os.Root) bool {
	return vacant(root, d.Folder) && d.real() && len(d.Changed(root)) == 0
}

// real tells whether it is a folder, as when it was found: what has become a link
// since may lead anywhere.
func (d Dependency) real() bool {
	if real, err := filepath.EvalSymlinks(d.Host); err != nil || real != d.Host {
		return false
	}
	info, err := os.Lstat(d.Host)
	return err == nil && info.IsDir()
}

// vacant tells whether a folder can be shown at a path: what it lies in are
// folders, and nothing is in its place.
func vacant(root *os.Root, folder string) bool {
	if dir := path.Dir(folder); dir != "." && !realFolder(root, dir) {
		return false
	}
	info, err := root.Lstat(filepath.FromSlash(folder))
	return err != nil || info.IsDir() && emptyDir(root, folder)
}

func emptyDir(root *os.Root, name string) bool {
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // only read
	_, err = f.Readdirnames(1)
	return errors.Is(err, io.EOF)
}

// packages are the installed packages that commands see on a checkout.
type packages struct {
	o Options
	*setups
	*copies

	world fingerprint.Signer // what lies around the trees

	mu       sync.Mutex
	overlays overlayState // what the kernel makes of dependency folders
	name     string       // that no other checker has
}

// Tools is what commands on a checkout need around them: the toolchain, and
// the dependency folders that fit the checkout: the user's, and what was installed
// for a contract or for what has landed. Where the sandbox mounts
// nothing they are copied into it.
func (c *packages) Tools(ctx context.Context, place sandbox.Place, contract agency.ContractID) (sandbox.Toolchain, error) {
	t := c.o.Tools
	t.Overlays = slices.Clone(t.Overlays)
	for i, o := range t.Overlays {
		if o.ByContent {
			t.Overlays[i].Warm = c.warm(o)
		}
	}
	layers, err := c.usable(ctx, contract)
	if err != nil || len(c.o.Dependencies)+len(layers) == 0 || place.Root == "" {
		return t, err
	}
	root, err := os.OpenRoot(place.Root)
	if err != nil {
		return t, fmt.Errorf("checkout: %w", err)
	}
	defer func() { _ = root.Close() }() // only read
	shown, err := c.showInstalled(&t, root, place, layers)
	if err != nil {
		return t, err
	}
	for _, d := range c.o.Dependencies {
		if shown[d.Folder+"\x00"] {
			continue
		}
		at, there := filepath.Join(place.At, filepath.FromSlash(d.Folder)), false
		if d.Host == filepath.Join(place.Root, filepath.FromSlash(d.Folder)) {
			there = true // the user's own checkout
		} else if c.o.Runner.Tier() != sandbox.TierFull {
			if there, err = c.copied(root, place, d.Folder, d.Host, len(d.Changed(root)) == 0 && d.real()); err != nil {
				return t, fmt.Errorf("copy of %s: %w", d.Folder, err)
			}
		} else if there = d.fits(root); there {
			t.Overlays = append(t.Overlays, sandbox.Overlay{Lower: d.Host, At: at, Name: filepath.Join("deps", c.layerName(ctx, d))})
		}
		if there && !strings.Contains(d.Folder, "/") && isVenv(d.Host) {
			activate(&t, at)
		}
	}
	return t, nil
}

// hasInstalled tells whether what a setup installed for a contract is shown: it is what
// agents asked for.
func hasInstalled(t sandbox.Toolchain) bool {
	return slices.ContainsFunc(t.Overlays, func(o sandbox.Overlay) bool { return o.Own }) ||
		slices.ContainsFunc(t.ReadOnly, func(m sandbox.Mount) bool { return m.Own })
}

// isVenv tells a virtual environment of Python from other folders.
func isVenv(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "pyvenv.cfg"))
	return err == nil
}

// layerName is the folder for what commands write over a dependency folder: it
// belongs to what was installed there, and what is installed later gets another
// one.
func (c *packages) layerName(ctx context.Context, d Dependency) string {
	l, ok := d.load()
	if !ok {
		return d.sign()
	}
	sum, known := c.world.Sign(ctx, []fingerprint.Load{l}, false)
	if !known {
		return d.sign() + "-" + c.unknown()
	}
	return d.sign() + "-" + sum[:16]
}

// unknown stands for whatever is installed where nobody can tell: it is the
// same for this checker only.
func (c *packages) unknown() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.name == "" {
		c.name = rand.Text()
	}
	return c.name
}

// Withheld tells, for an agent, which dependency folders of the user its
// checkout does not show because lockfiles have changed; "" where none.
func (c *packages) Withheld(ctx context.Context, place sandbox.Place, contract agency.ContractID) (string, error) {
	if len(c.o.Dependencies) == 0 || place.Root == "" {
		return "", nil
	}
	layers, err := c.usable(ctx, contract)
	if err != nil {
		return "", err
	}
	root, err := os.OpenRoot(place.Root)
	if err != nil {
		return "", fmt.Errorf("checkout: %w", err)
	}
	defer func() { _ = root.Close() }() // only read
	var t sandbox.Toolchain
	shown, err := c.showInstalled(&t, root, place, layers)
	if err != nil {
		return "", err
	}
	var out []string
	for _, d := range c.o.Dependencies {
		if locks := d.Changed(root); d.Folder != "" && !shown[d.Folder+"\x00"] && len(locks) > 0 {
			out = append(out, d.Folder+" ("+strings.Join(locks, ", ")+")")
		}
	}
	if len(out) == 0 {
		return "", nil
	}
	return "note: not here because what decides it has changed: " + strings.Join(out, "; ") +
		". What a change asks for is installed after the claim, before it is verified; checks that need it cannot pass before.", nil
}

// Exec runs a command of a subject in the sandbox, once what it needs is to be had and
// its dependency folders are filled where the kernel refuses overlays.
func (c *Checker) Exec(ctx context.Context, s Subject, cmd Command, spec sandbox.Spec) (sandbox.Result, error) {
	res, _, err := c.exec(ctx, s, cmd, spec)
	return res, err
}

// exec says as well how long it waited.
func (c *Checker) exec(ctx context.Context, s Subject, cmd Command, spec sandbox.Spec) (sandbox.Result, time.Duration, error) {
	if err := c.fill(ctx, spec); err != nil {
		return sandbox.Result{}, 0, err
	}
	held, err := c.hold(ctx, s, cmd)
	if err != nil {
		return sandbox.Result{}, 0, err
	}
	defer held.Release()
	res, err := c.o.Runner.Run(ctx, spec)
	return res, held.Waited, err
}

// Needs is what a command needs of what is scarce on the machine, sorted.
func (c *Checker) Needs(ctx context.Context, s Subject, cmd Command) ([]string, error) {
	if c.o.Contracts.Needs == nil {
		return nil, nil
	}
	names, err := c.o.Contracts.Needs(ctx, s.Run, s.Contract, cmd)
	return slices.Compact(slices.Sorted(slices.Values(names))), err
}

// hold takes what a command needs of what is scarce on the machine. Waiting for it is
// told to the log.
func (c *Checker) hold(ctx context.Context, s Subject, cmd Command) (*slots.Held, error) {
	k := c.o.Contracts
	names, err := c.Needs(ctx, s, cmd)
	if err != nil || k.Needs == nil {
		return &slots.Held{}, err
	}
	told := false
	wait := slots.Wait{Busy: func(b slots.Busy) error {
		told = true
		d := agency.ResourceWaited{Resource: b.Resource, InUse: b.Of, Of: b.Of, Command: cmd.Line, Stage: string(s.Stage)}
		return c.tell(ctx, s, "waits for "+d.String()+" for "+cmd.shown(), d)
	}}
	if k.Rest != nil {
		wait.Rest = func(ctx context.Context, leave func()) (bool, error) { return k.Rest(ctx, s.Run, leave) }
	}
	held, err := k.Slots.Take(ctx, names, wait)
	if err == nil && told {
		waited := held.Waited.Round(100 * time.Millisecond)
		if err = c.tell(ctx, s, "has "+strings.Join(names, ", ")+" after "+waited.String()+" for "+cmd.shown(), agency.ResourceTaken{Resources: names, WaitedSeconds: waited.Seconds(), Command: cmd.Line, Stage: string(s.Stage)}); err != nil {
			held.Release()
		}
	}
	return held, err
}

// fill copies dependency folders into the caches that stand in for overlays
// that the kernel refuses; it asks the kernel once.
func (c *packages) fill(ctx context.Context, spec sandbox.Spec) error {
	deps := slices.DeleteFunc(slices.Clone(spec.Tools.Overlays), func(o sandbox.Overlay) bool {
		return !strings.HasPrefix(o.Name, "deps"+string(filepath.Separator))
	})
	if len(deps) == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.overlays == overlaysUnknown {
		probe := spec
		probe.Argv, probe.Stdin, probe.Dir, probe.Tools.Overlays = []string{"/bin/true"}, nil, "", deps[:1]
		probe.Stdout = nil
		res, err := c.o.Runner.Run(ctx, probe)
		if err != nil {
			return err
		}
		c.overlays = overlaysWork
		if slices.Contains(res.OwnCaches, deps[0].At) {
			c.overlays = overlaysRefused
		}
	}
	if c.overlays == overlaysWork {
		return nil
	}
	for _, o := range deps {
		own := filepath.Join(spec.LayerDir, o.Name, "own")
		if err := os.MkdirAll(own, 0o700); err != nil {
			return err
		}
		root, err := os.OpenRoot(filepath.Dir(own))
		if err != nil {
			return err
		}
		if emptyDir(root, "own") {
			err = copyInto(o.Lower, root, "own", sandbox.Place{})
		}
		_ = root.Close()
		if err != nil {
			return fmt.Errorf("copy of %s: %w", o.Lower, err)
		}
	}
	return nil
}

// overlayState is what is known of the kernel's overlays.
type overlayState uint8

const (
	overlaysUnknown overlayState = iota
	overlaysWork
	overlaysRefused
)

// Bounds of the files that decide which dependencies there are.
const (
	maxLock     = 64 << 20 // bytes of a lockfile, of which nothing is held
	maxManifest = 4 << 20  // bytes of a manifest
)

// lockSum tells one state of a file that decides which dependencies there are
// from another; "" where none are decided. One that is larger than what is read
// equals no other.
func lockSum(root *os.Root, name string) string {
	name = filepath.FromSlash(name)
	f, err := bounded.Open(root, name)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // only read
	sum := sha256.New()
	most := int64(maxLock)
	base := filepath.Base(name)
	if decides(base) != nil {
		most = maxManifest
	}
	info, err := f.Stat()
	if err == nil && info.Size() <= maxManifest { // the whole of it is held
		var text bytes.Buffer
		_, err = text.ReadFrom(io.LimitReader(f, maxManifest))
		part := Deciding(base, text.Bytes())
		if len(part) == 0 {
			return ""
		}
		_, _ = sum.Write(part) // a hash never fails
	} else if err == nil {
		_, err = io.Copy(sum, io.LimitReader(f, most))
	}
	switch {
	case err != nil:
		return ""
	case info.Size() > most:
		return fmt.Sprintf("too large: %s %d %d %s", root.Name(), info.Size(), info.ModTime().UnixNano(), fingerprint.Inode(info))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// sameFiles compares two files of a checkout as same does; nil: they are equal.
func sameFiles(root *os.Root, a, b string, same func(a, b io.Reader) bool) bool {
	if same == nil {
		sum := lockSum(root, a)
		return sum != "" && sum == lockSum(root, b)
	}
	f, err := bounded.Open(root, filepath.FromSlash(a))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // only read
	g, err := bounded.Open(root, filepath.FromSlash(b))
	if err != nil {
		return false
	}
	defer func() { _ = g.Close() }() // only read
	return same(io.LimitReader(f, maxLock), io.LimitReader(g, maxLock))
}
