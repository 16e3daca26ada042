package ecosystem

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"agency/internal/agency"
	"agency/internal/fingerprint"
	"agency/internal/sandbox"
)

// Environment is what a toolchain needs around it in the sandbox.
type Environment struct {
	Tools   sandbox.Toolchain
	Version string // "go1.26.8 linux/amd64"
	// Refused are folders that something names and that commands do not see, each
	// with who named it, why, and what to do.
	Refused []string
	// Caches are what setup fills outside of the checkout; Online is the
	// environment in which package managers may ask their hosts.
	Caches []Cache
	Online []string
	Loads  []fingerprint.Load // what of it decides what commands do
}

// Cache is a folder of packages that lies outside of checkouts and that a toolchain
// finds by its environment: Go's module cache, Cargo's home.
type Cache struct {
	Name string // of its folder in a layer: "gomod"
	// Env are the variables that name it, as NAME=VALUE with {} for the folder.
	Env []string
	// Fixed: commands read it only, but for setup.
	Fixed bool
}

// At are its variables where it lies in dir.
func (c Cache) At(dir string) []string {
	out := make([]string, len(c.Env))
	for i, kv := range c.Env {
		out[i] = strings.ReplaceAll(kv, "{}", dir)
	}
	return out
}

// Aliases is where packages are shown once more, under another name.
const Aliases = "/run/agency/"

// Builder makes the environment of one toolchain.
type Builder struct {
	Environment
	m *Machine
}

// NewBuilder makes one for a machine.
func NewBuilder(m *Machine) *Builder { return &Builder{m: m} }

// Set sets a variable.
func (b *Builder) Set(name, value string) { b.Tools.Env = append(b.Tools.Env, name+"="+value) }

// Show mounts a folder or file read-only at its own path, unless the system's
// folders hold it, and tells whether commands see it. What is not there is left
// out, and what may not be seen is told.
func (b *Builder) Show(path string) bool {
	return b.ShowAt(path, filepath.Clean(path), agency.NamedByTools, "")
}

// ShowAt shows what a path leads to at another.
func (b *Builder) ShowAt(path, at string, by agency.Naming, who string) bool {
	if clean := filepath.Clean(path); clean == at && OfSystem(clean) {
		return true
	}
	real, ok := b.m.Resolve(path)
	if !ok {
		return false
	}
	if why := b.m.Refuses(real, by); why != "" {
		b.refuse(path, real, why, who)
		return false
	}
	// Where it appears must not lie over what commands see of the system, nor where
	// the same name would be refused.
	if at != real && !strings.HasPrefix(at, Aliases) && (OfSystem(at) || b.m.Refuses(at, by) != "") {
		at = real
	}
	if !OfSystem(at) {
		b.Tools.ReadOnly = append(b.Tools.ReadOnly, sandbox.Mount{Host: real, At: at})
	}
	return true
}

// Prefix shows the folder of an installation, or where that holds more the parts
// alone.
func (b *Builder) Prefix(dir string, parts ...string) {
	said := len(b.Refused)
	if b.Show(dir) {
		return
	}
	shown := len(parts) > 0
	for _, p := range parts {
		shown = b.Show(p) && shown
	}
	if shown {
		b.Refused = b.Refused[:said] // what is needed of it is there
	}
}

// refuse notes what is not shown.
func (b *Builder) refuse(path, real, why, who string) {
	b.Refused = append(b.Refused, Refusal(path, real, why, who))
}

// Refusal says what is not shown, and why.
func Refusal(path, real, why, who string) string {
	what := path
	if real != filepath.Clean(path) {
		what += ", which leads to " + real + ","
	}
	if who != "" {
		what += " (named by " + who + ")"
	}
	if why == agency.InCheckout {
		return fmt.Sprintf("commands do not see %s: it %s", what, why)
	}
	return fmt.Sprintf("commands do not see %s: it %s; where it is needed and holds nothing of yours: sandbox.read: [%s]", what, why, real)
}

// Cache lays an overlay over a folder; where there is none, or it may not be seen,
// it is a new one.
func (b *Builder) Cache(path, name string) { b.cache(path, name, false) }

// CacheByContent is Cache for one that fits any checkout (sandbox.Overlay).
func (b *Builder) CacheByContent(path, name string) { b.cache(path, name, true) }

func (b *Builder) cache(path, name string, byContent bool) {
	if b.covers(path) {
		return
	}
	lower := Nowhere
	if real, ok := b.m.Resolve(path); ok {
		if why := b.m.Refuses(real, agency.NamedByTools); why != "" {
			b.refuse(path, real, why, "")
		} else {
			lower = real
		}
	}
	b.Tools.Overlays = append(b.Tools.Overlays, sandbox.Overlay{Lower: lower, At: filepath.Clean(path), Name: name, ByContent: byContent})
}

// covers refuses what would lie over a part of the checkout: commands would see it
// in the place of what the run has there.
func (b *Builder) covers(path string) bool {
	is := b.m.Dir != "" && b.m.Refuses(filepath.Clean(path), agency.NamedByTools) == agency.InCheckout
	if is {
		b.refuse(path, path, agency.InCheckout, "")
	}
	return is
}

// Own makes a folder writable that keeps nothing of the user's: secrets may lie
// in the one on the host.
func (b *Builder) Own(path, name string) {
	if b.covers(path) {
		return
	}
	b.Tools.Overlays = append(b.Tools.Overlays, sandbox.Overlay{Lower: Nowhere, At: path, Name: name})
}

// Program is one file that decides what commands do.
func (b *Builder) Program(at string) { b.Loads = append(b.Loads, fingerprint.Load{Path: at}) }

// Packages is a folder of packages all of which may be loaded.
func (b *Builder) Packages(at string) {
	b.Loads = append(b.Loads, fingerprint.Load{Path: at, Packages: true})
}

// Names is a folder of which the names down to a depth tell what is in it, and
// what was put there anew.
func (b *Builder) Names(at string, depth int) {
	b.Loads = append(b.Loads, fingerprint.Load{Path: at, Depth: depth, Packages: true})
}

// Resolve follows a path to a folder or an ordinary file.
func (m *Machine) Resolve(path string) (string, bool) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", false
	}
	info, err := os.Lstat(real)
	return real, err == nil && (info.IsDir() || info.Mode().IsRegular())
}

// Refuses is why commands may not see a path that was followed to its end; "" where
// they may.
func (m *Machine) Refuses(real string, by agency.Naming) string {
	return m.Sight.Refuses(filepath.ToSlash(real), by)
}
