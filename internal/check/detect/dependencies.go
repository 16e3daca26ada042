package detect

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/check"
	"agency/internal/ecosystem"
)

// maxDependencies bounds the folders of one repository: each is a mount.
const maxDependencies = 64

// dependencies finds the folders of a checkout that builds need and git
// ignores. A folder that is a link is left alone.
func dependencies(dir string, c *ecosystem.Checkout) []check.Dependency {
	var out []check.Dependency
	var kinds []ecosystem.Folder
	for _, l := range projects {
		kinds = append(kinds, l.Dependencies.Folders...)
	}
	for _, k := range kinds {
		folders := c.With(k.Manifests...)
		if k.Bare && !slices.Contains(folders, ".") {
			folders = append(slices.Clip(folders), ".")
		}
		for _, at := range folders {
			for _, name := range k.Names {
				folder := path.Join(at, name)
				host := filepath.Join(dir, filepath.FromSlash(folder))
				info, err := os.Lstat(host)
				if err != nil || !info.IsDir() || len(out) == maxDependencies {
					continue
				}
				if k.Proof != "" && !c.Exists(path.Join(folder, k.Proof)) {
					continue
				}
				d := check.Dependency{Unit: ecosystem.Unit{Folder: folder}, Host: host, Repo: dir}
				if k.Locks != nil {
					d.Locks = locksOf(c, at, k.Locks)
				}
				out = append(out, d)
			}
		}
	}
	slices.SortFunc(out, func(a, b check.Dependency) int { return strings.Compare(a.Folder, b.Folder) })
	return out
}

// locksOf are the lockfiles that decide about a folder of dependencies; without
// one the manifests do.
func locksOf(c *ecosystem.Checkout, dir string, names []string) []string {
	for at := range ecosystem.Upward(dir) {
		if locks := c.Within(at, names...); len(locks) > 0 {
			return locks
		}
	}
	var manifests []string
	for n := range c.Files(dir) {
		if slices.ContainsFunc(projects, func(l ecosystem.Project) bool { return l.Dependencies.Alone != nil && l.Dependencies.Alone(n) }) {
			manifests = append(manifests, path.Join(dir, n))
		}
	}
	slices.Sort(manifests)
	return manifests
}
