package detect

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"agency/internal/check"
)

// program is one file that decides what commands do.
func (b *builder) program(at string) { b.f.Loads = append(b.f.Loads, check.Load{Path: at}) }

// packages is a folder of packages all of which may be loaded.
func (b *builder) packages(at string) {
	b.f.Loads = append(b.f.Loads, check.Load{Path: at, Packages: true})
}

// names is a folder of which the names down to a depth tell what is in it, and
// what was put there anew.
func (b *builder) names(at string, depth int) {
	b.f.Loads = append(b.f.Loads, check.Load{Path: at, Depth: depth, Packages: true})
}

// sitePackages are the folders in which an interpreter finds what pip or the
// system installed for all.
func (b *builder) sitePackages(prefix, version string) {
	minor := "python" + strings.Join(strings.SplitN(version, ".", 3)[:2], ".")
	for _, at := range []string{
		prefix + "/lib/" + minor + "/site-packages", prefix + "/lib/" + minor + "/dist-packages",
		"/usr/local/lib/" + minor + "/dist-packages", "/usr/lib/python3/dist-packages",
	} {
		if exist(at) {
			b.packages(at)
		}
	}
}

// systemLoads tell one state of what the system's package manager installed from
// another, and of what was put beside it by hand: commands see all of it.
func systemLoads() []check.Load {
	loads := []check.Load{{Path: "/usr/local/bin", Depth: 1}, {Path: "/usr/local/lib", Depth: 1}}
	for _, at := range []string{"/var/lib/dpkg/status", "/lib/apk/db/installed", "/run/current-system"} {
		if exist(at) {
			loads = append(loads, check.Load{Path: at, Depth: 1})
		}
	}
	for _, at := range []string{"/var/lib/rpm", "/usr/lib/sysimage/rpm", "/var/lib/pacman/local"} {
		if exist(at) {
			loads = append(loads, check.Load{Path: at, Depth: 1})
		}
	}
	return loads
}

// goLoads are the programs of a Go installation, and which of the modules that
// the repository names are in the module cache: there the go command keeps what
// go.sum's hashes name, and keeps it from being written.
func goLoads(e goEnv, repo fs.FS, dirs []goDir) []check.Load {
	var b builder
	b.program(filepath.Join(e.GOROOT, "VERSION"))
	b.names(filepath.Join(e.GOROOT, "bin"), 1)
	b.names(filepath.Join(e.GOROOT, "pkg", "tool"), 2)
	var sums []string
	for _, d := range dirs {
		sums = append(sums, filepath.ToSlash(filepath.Join(d.dir, "go.sum")), filepath.ToSlash(filepath.Join(d.dir, "go.work.sum")))
		for _, u := range d.uses {
			sums = append(sums, filepath.ToSlash(filepath.Join(d.dir, u, "go.sum")))
		}
	}
	var modules []string
	for _, name := range sums {
		for _, m := range sumEntry.FindAllStringSubmatch(text(repo, name), -1) {
			modules = append(modules, escaped(m[1])+"@"+escaped(m[2]))
		}
	}
	slices.Sort(modules)
	for _, m := range slices.Compact(modules) {
		b.names(filepath.Join(e.GOMODCACHE, filepath.FromSlash(m)), 1)
	}
	return b.f.Loads
}

var capital = regexp.MustCompile(`[A-Z]`)

// escaped is a module's path as the module cache writes it.
func escaped(name string) string {
	return capital.ReplaceAllStringFunc(name, func(s string) string { return "!" + strings.ToLower(s) })
}
