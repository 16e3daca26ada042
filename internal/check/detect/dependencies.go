package detect

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/check"
)

// kinds of dependency folders: what shows that a folder has one, its names, and
// the lockfiles that decide what is in it, the nearest upward.
var depKinds = []struct {
	manifests, folders, locks []string
	proof                     string // a file that must be in the folder
}{
	{
		[]string{"package.json"},
		[]string{"node_modules"},
		nodeLocks,
		"",
	},
	{
		[]string{"pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", "tox.ini", "pytest.ini"},
		[]string{".venv", "venv", "env"},
		[]string{"uv.lock", "poetry.lock", "Pipfile.lock", "pdm.lock"},
		"pyvenv.cfg",
	},
	{[]string{"Gemfile"}, []string{"vendor/bundle"}, []string{"Gemfile.lock"}, ""},
	{[]string{"composer.json"}, []string{"vendor"}, []string{"composer.lock"}, "autoload.php"},
	{[]string{"mix.exs"}, []string{"deps", "_build"}, []string{"mix.lock"}, ""},
	{[]string{"Cargo.toml"}, []string{"target"}, nil, "CACHEDIR.TAG"},
}

// maxDependencies bounds the folders of one repository: each is a mount.
const maxDependencies = 64

// dependencies finds the folders of a checkout that builds need and git
// ignores. A folder that is a link is left alone.
func dependencies(dir string, root fs.FS, f found) []check.Dependency {
	var out []check.Dependency
	for _, k := range depKinds {
		for _, at := range f.with(k.manifests...) {
			for _, name := range k.folders {
				folder := path.Join(at, name)
				host := filepath.Join(dir, filepath.FromSlash(folder))
				info, err := os.Lstat(host)
				if err != nil || !info.IsDir() || len(out) == maxDependencies {
					continue
				}
				if k.proof != "" && !exists(root, path.Join(folder, k.proof)) {
					continue
				}
				d := check.Dependency{Folder: folder, Host: host, Repo: dir}
				if k.locks != nil {
					d.Locks = locksOf(f, at, k.locks)
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
func locksOf(f found, dir string, names []string) []string {
	for at := dir; ; at = path.Dir(at) {
		var locks []string
		for _, n := range names {
			if f.dirs[at][n] {
				locks = append(locks, path.Join(at, n))
			}
		}
		if len(locks) > 0 {
			return locks
		}
		if at == "." {
			break
		}
	}
	var manifests []string
	for n := range f.dirs[dir] {
		switch {
		case n == "package.json", n == "pyproject.toml", n == "setup.py", n == "setup.cfg", n == "Pipfile", n == "Gemfile", n == "composer.json", n == "mix.exs",
			strings.HasSuffix(n, ".txt") && strings.Contains(n, "requirements"):
			manifests = append(manifests, path.Join(dir, n))
		}
	}
	slices.Sort(manifests)
	return manifests
}
