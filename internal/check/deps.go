package check

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"agency/internal/sandbox"
)

// Dependency is a folder of the user's checkout that git ignores and builds
// need: node_modules, .venv, vendor/bundle, target and their like. A checkout
// sees it as an overlay's lower layer while its lockfiles are the user's own
// (DESIGN 8).
type Dependency struct {
	Folder string // relative to the repository, with slashes
	// Locks are the files that decide what is in it, relative to the
	// repository. None: a cache, which is good for every tree.
	Locks []string
	// Cache names a cache outside of checkouts instead of a folder.
	Cache string
	// Manager is the package manager that fills it, Dir where it is started.
	Manager, Dir string
	Host         string // the folder on the host
	Repo         string // the user's checkout on the host
}

// maxLock bounds a lockfile.
const maxLock = 32 << 20

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
		if !bytes.Equal(lockText(user, l), lockText(root, l)) && !unkept(user, root, l) {
			out = append(out, l)
		}
	}
	return out
}

// unkept tells whether a lockfile is not in a checkout, and the manifest beside
// it is the user's: some repositories ignore what their package manager writes.
func unkept(user, root *os.Root, lock string) bool {
	manifest := map[string]string{
		"package-lock.json": "package.json", "pnpm-lock.yaml": "package.json", "yarn.lock": "package.json", "bun.lock": "package.json",
		"uv.lock": "pyproject.toml", "poetry.lock": "pyproject.toml", "pdm.lock": "pyproject.toml", "Pipfile.lock": "Pipfile",
		"composer.lock": "composer.json", "Gemfile.lock": "Gemfile",
	}[path.Base(lock)]
	if _, err := root.Lstat(filepath.FromSlash(lock)); err == nil || manifest == "" {
		return false
	}
	manifest = path.Join(path.Dir(lock), manifest)
	_, err := root.Lstat(filepath.FromSlash(manifest))
	return err == nil && bytes.Equal(lockText(user, manifest), lockText(root, manifest))
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
		lock := sha256.Sum256(lockText(user, l))
		b.WriteString("\x00" + l + "\x00" + hex.EncodeToString(lock[:]))
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:8])
}

var (
	packageParts = regexp.MustCompile(`(?s)"(?:dependencies|devDependencies|optionalDependencies|peerDependencies|overrides|resolutions|workspaces)"\s*:\s*[\[{][^\]}]*[\]}]`)
	projectParts = regexp.MustCompile(`(?ms)^\s*(?:dependencies|requires)\s*=\s*\[.*?\]|^\[[^\]\n]*dependenc[^\]\n]*\].*?(?:^\[|\z)`)
)

// lockText is what of a file decides which dependencies there are.
func lockText(root *os.Root, name string) []byte {
	return Deciding(name, readSome(root, filepath.FromSlash(name), maxLock))
}

// Deciding is what of a file's text decides which dependencies there are. Of a
// manifest that stands in for a lockfile only those parts count: everything
// else of it changes every day.
func Deciding(name string, b []byte) []byte {
	switch path.Base(name) {
	case "package.json":
		return bytes.Join(packageParts.FindAll(b, -1), []byte("\n"))
	case "pyproject.toml":
		return bytes.Join(projectParts.FindAll(b, -1), []byte("\n"))
	}
	return b
}

// fits tells whether a checkout can use a dependency folder: its lockfiles are
// the user's, and nothing is in its place.
func (d Dependency) fits(root *os.Root) bool {
	if !vacant(root, d.Folder) {
		return false
	}
	if info, err := os.Stat(d.Host); err != nil || !info.IsDir() {
		return false
	}
	return len(d.Changed(root)) == 0
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

// Tools is what commands on a checkout need around them: the toolchain, and
// the user's dependency folders that fit the checkout. Where the sandbox mounts
// nothing they are copied into it.
func (c *Checker) Tools(ctx context.Context, place sandbox.Place) (sandbox.Toolchain, error) {
	t := c.o.Tools
	layers, err := c.installed()
	if err != nil || len(c.o.Dependencies)+len(layers) == 0 || place.Root == "" {
		return t, err
	}
	root, err := os.OpenRoot(place.Root)
	if err != nil {
		return t, fmt.Errorf("checkout: %w", err)
	}
	defer func() { _ = root.Close() }() // only read
	t.Overlays = slices.Clone(t.Overlays)
	shown, err := c.showInstalled(&t, root, place.At)
	if err != nil {
		return t, err
	}
	for _, d := range c.o.Dependencies {
		if shown[d.Folder+"\x00"] || !d.fits(root) {
			continue
		}
		if c.o.Runner.Tier() != sandbox.TierFull {
			if err := copyInto(d.Host, root, d.Folder); err != nil {
				return t, fmt.Errorf("copy of %s: %w", d.Folder, err)
			}
			continue
		}
		t.Overlays = append(t.Overlays, sandbox.Overlay{
			Lower: d.Host, At: filepath.Join(place.At, filepath.FromSlash(d.Folder)), Name: filepath.Join("deps", c.layerName(ctx, d)),
		})
	}
	return t, nil
}

// layerName is the folder for what commands write over a dependency folder: it
// belongs to what was installed there, and what is installed later gets another
// one.
func (c *Checker) layerName(ctx context.Context, d Dependency) string {
	l, ok := d.load()
	if !ok {
		return d.sign()
	}
	sum, known := c.world.sign(ctx, []Load{l}, false)
	if !known {
		return d.sign() + "-" + c.unknown()
	}
	return d.sign() + "-" + sum[:16]
}

// unknown stands for whatever is installed where nobody can tell: it is the
// same for this checker only.
func (c *Checker) unknown() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.name == "" {
		c.name = rand.Text()
	}
	return c.name
}

// Withheld tells, for an agent, which dependency folders of the user its
// checkout does not show because lockfiles have changed; "" where none.
func (c *Checker) Withheld(place sandbox.Place) (string, error) {
	if len(c.o.Dependencies) == 0 || place.Root == "" {
		return "", nil
	}
	layers, err := c.installed()
	if err != nil {
		return "", err
	}
	root, err := os.OpenRoot(place.Root)
	if err != nil {
		return "", fmt.Errorf("checkout: %w", err)
	}
	defer func() { _ = root.Close() }() // only read
	var t sandbox.Toolchain
	shown := map[string]bool{}
	if len(layers) > 0 {
		if shown, err = c.showInstalled(&t, root, place.At); err != nil {
			return "", err
		}
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

// Exec runs a command of the sandbox after making sure that its dependency
// folders are filled where the kernel refuses overlays.
func (c *Checker) Exec(ctx context.Context, spec sandbox.Spec) (sandbox.Result, error) {
	if err := c.fill(ctx, spec); err != nil {
		return sandbox.Result{}, err
	}
	return c.o.Runner.Run(ctx, spec)
}

// fill copies dependency folders into the caches that stand in for overlays
// that the kernel refuses; it asks the kernel once.
func (c *Checker) fill(ctx context.Context, spec sandbox.Spec) error {
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
			err = copyInto(o.Lower, root, "own")
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

// copyInto copies a folder of the user's below a root: folders, files with
// their modes and times, and links as links. It never follows a link.
func copyInto(from string, root *os.Root, to string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		at := filepath.Join(filepath.FromSlash(to), rel)
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			return root.MkdirAll(at, info.Mode().Perm()|0o700)
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			if err != nil {
				return err
			}
			return root.Symlink(target, at)
		case d.Type().IsRegular():
			return copyFile(name, root, at, info)
		}
		return nil
	})
}

func copyFile(from string, root *os.Root, at string, info fs.FileInfo) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	out, err := root.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close()
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return root.Chtimes(at, info.ModTime(), info.ModTime())
}
