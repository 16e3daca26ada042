package detect

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/ecosystem"
	"agency/internal/fingerprint"
	"agency/internal/sandbox"
)

// Input is what Toolchain looks at.
type Input struct {
	// Repo is the user's checkout as files: manifests and lockfiles are read.
	Repo fs.FS
	// Dir is the user's checkout on the host; empty: its dependency folders and
	// virtual environments are left out.
	Dir string
	// Env is the environment of the user who started the run. Only variables
	// that name toolchains and caches are used, PATH and HOME.
	Env func(name string) (string, bool)
	// Sight decides what of the machine may be shown. The home of Env is hidden in
	// any case.
	Sight agency.Sight
	// Commands are those of the run: modules that they do not enter ask for no
	// toolchain. None: all do.
	Commands check.Commands
}

// Found is what commands need around them.
type Found struct {
	// Environment is that of all its toolchains and of the system.
	ecosystem.Environment
	// Missing are the languages of the repository whose toolchain was not found,
	// with what was looked for. One that is required is never among them: without
	// it there is an error.
	Missing []string
	// Dependencies are the folders of the checkout that builds need and git
	// ignores.
	Dependencies []check.Dependency
}

// Toolchain finds the toolchains that the user's own builds of this repository
// use, one for each language in it, and describes them for the sandbox:
// programs and caches read-only or as overlays, no network (docs/security.md).
// KindInvalid, with the command that mends it: no go command, or a newer Go
// than is installed; other toolchains that are not there are only named.
func Toolchain(ctx context.Context, in Input) (Found, error) {
	m := in.machine()
	var f Found
	var k kit
	for _, t := range toolchains() {
		if !t.Needed(m.Checkout) {
			continue
		}
		e, err := t.Find(ctx, m)
		if err != nil && t.Required {
			return Found{}, err
		}
		if ctx.Err() != nil {
			return Found{}, context.Cause(ctx)
		}
		if err != nil {
			f.Missing = append(f.Missing, fmt.Sprintf("%s: %v", t.Looks, err))
			continue
		}
		k.take(e)
	}
	f.Tools, f.Version, f.Caches, f.Online, f.Refused = k.tools(m.Sight.Repo), strings.Join(k.versions, ", "), k.caches, k.online, k.refused
	f.Loads = append(k.loads, systemLoads()...)
	if in.Dir != "" {
		for _, d := range dependencies(m.Sight.Repo, m.Checkout) {
			real, ok := m.Resolve(d.Host)
			if why := m.Refuses(real, agency.NamedAsInstalled); !ok || real != d.Host || why != "" {
				f.Refused = append(f.Refused, ecosystem.Refusal(d.Host, real, cmp.Or(why, "is no folder of the checkout"), ""))
				continue
			}
			f.Dependencies = append(f.Dependencies, d)
		}
	}
	return f, nil
}

// kit gathers toolchains into one.
type kit struct {
	path     []string
	all      sandbox.Toolchain
	versions []string
	caches   []ecosystem.Cache
	online   []string
	loads    []fingerprint.Load
	refused  []string
}

// take adds a toolchain; PATH of its environment is put behind those before.
func (k *kit) take(f ecosystem.Environment) {
	for _, kv := range f.Tools.Env {
		if p, ok := strings.CutPrefix(kv, "PATH="); ok {
			k.path = append(k.path, filepath.SplitList(p)...)
			continue
		}
		k.all.Env = append(k.all.Env, kv)
	}
	for _, m := range f.Tools.ReadOnly {
		if !slices.Contains(k.all.ReadOnly, m) {
			k.all.ReadOnly = append(k.all.ReadOnly, m)
		}
	}
	k.all.Overlays = append(k.all.Overlays, f.Tools.Overlays...)
	k.caches = append(k.caches, f.Caches...)
	k.loads = append(k.loads, f.Loads...)
	k.online = append(k.online, f.Online...)
	k.refused = append(k.refused, f.Refused...)
	if f.Version != "" {
		k.versions = append(k.versions, f.Version)
	}
}

// tools is all together. Nothing of the user's checkout is in PATH, where a claim
// could bring programs of its own: a dependency folder comes there where it is
// shown (check.Checker.Tools).
func (k *kit) tools(repo string) sandbox.Toolchain {
	if len(k.path) == 0 && len(k.all.Env) == 0 {
		return k.all
	}
	// The system's folders keep their place behind all others: one of them may
	// hold another version of what a toolchain brings.
	last := filepath.SplitList(ecosystem.SystemPath)
	var path []string
	for _, p := range append(slices.DeleteFunc(k.path, func(p string) bool { return slices.Contains(last, p) }), last...) {
		if !slices.Contains(path, p) && (repo == "" || !ecosystem.LiesIn(p, repo)) {
			path = append(path, p)
		}
	}
	k.all.Env = append([]string{"PATH=" + strings.Join(path, ":")}, k.all.Env...)
	return k.all
}

// systemLoads tell one state of what the system's package manager installed from
// another, and of what was put beside it by hand: commands see all of it.
func systemLoads() []fingerprint.Load {
	loads := []fingerprint.Load{{Path: "/usr/local/bin", Depth: 1}, {Path: "/usr/local/lib", Depth: 1}}
	for _, at := range []string{
		"/var/lib/dpkg/status", "/lib/apk/db/installed", "/run/current-system",
		"/var/lib/rpm", "/usr/lib/sysimage/rpm", "/var/lib/pacman/local",
	} {
		if ecosystem.Exist(at) {
			loads = append(loads, fingerprint.Load{Path: at, Depth: 1})
		}
	}
	return loads
}
