package detect

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/check"
)

// Finder is what check asks about a checkout.
type Finder struct{}

var _ check.Finder = Finder{}

// The package managers, by the names of their programs.
const (
	byNPM      = "npm"
	byPNPM     = "pnpm"
	byYarn     = "yarn"
	byPip      = "pip"
	byUV       = "uv"
	byPoetry   = "poetry"
	byPDM      = "pdm"
	byPipenv   = "pipenv"
	byGo       = "go"
	byCargo    = "cargo"
	byMaven    = "mvn"
	byGradle   = "gradle"
	byBundler  = "bundle"
	byComposer = "composer"
)

// Units are what the manifests of a checkout ask to be installed, sorted by
// folder and cache.
func (Finder) Units(root fs.FS) []check.Dependency {
	f := survey(root)
	units := slices.Concat(nodeUnits(root, f), pythonUnits(root, f), phpAndRuby(f), cacheUnits(root, f))
	slices.SortStableFunc(units, func(a, b check.Dependency) int {
		return strings.Compare(a.Folder+"\x00"+a.Cache, b.Folder+"\x00"+b.Cache)
	})
	return units[:min(len(units), maxDependencies)]
}

// Folders are the dependency folders of a checkout, each with the lockfiles and
// manifests of the unit that it belongs to.
func (u Finder) Folders(dir string, root fs.FS) []check.Dependency {
	units := u.Units(root)
	found := dependencies(dir, root, survey(root))
	for i, d := range found {
		best := -1
		for _, n := range units {
			if n.Folder != "" && path.Base(n.Folder) == path.Base(d.Folder) && below(path.Dir(d.Folder), n.Dir) && len(n.Dir) > best {
				best, found[i].Locks = len(n.Dir), n.Locks
			}
		}
	}
	return found
}

var nodeLocks = []string{"package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb"}

// nodeUnits are the folders in which a package manager of JavaScript is
// started: where a lockfile lies, else the topmost package.
func nodeUnits(root fs.FS, f found) []check.Dependency {
	var out []check.Dependency
	dirs := f.with(nodeLocks...)
	for _, d := range topmost(f.with("package.json")) {
		if !slices.ContainsFunc(dirs, func(l string) bool { return below(d, l) }) {
			dirs = append(dirs, d)
		}
	}
	for _, dir := range dirs {
		if !f.dirs[dir]["package.json"] {
			continue
		}
		u := check.Dependency{Folder: path.Join(dir, "node_modules"), Dir: dir, Manager: packageManager(f, dir, readManifestJS(root, dir))}
		for _, n := range append(slices.Clone(nodeLocks), "package.json") {
			if f.dirs[dir][n] {
				u.Locks = append(u.Locks, path.Join(dir, n))
			}
		}
		out = append(out, u)
	}
	return out
}

// pythonUnits are the projects of Python with anything to install.
func pythonUnits(root fs.FS, f found) []check.Dependency {
	var out []check.Dependency
	for _, dir := range topmost(f.with("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile")) {
		u := check.Dependency{Dir: dir, Manager: byPip}
		venv := venvOf(root, dir)
		if venv == "" {
			venv = venvs[0]
		}
		u.Folder = path.Join(dir, venv)
		for _, l := range [][2]string{{"uv.lock", byUV}, {"poetry.lock", byPoetry}, {"pdm.lock", byPDM}, {"Pipfile.lock", byPipenv}} {
			if f.dirs[dir][l[0]] {
				u.Locks, u.Manager = append(u.Locks, path.Join(dir, l[0])), l[1]
				break
			}
		}
		for n := range f.dirs[dir] {
			if n == "pyproject.toml" || n == "Pipfile" || n == "setup.py" || n == "setup.cfg" || strings.HasSuffix(n, ".txt") && strings.Contains(n, "requirements") {
				u.Locks = append(u.Locks, path.Join(dir, n))
			}
		}
		slices.Sort(u.Locks)
		out = append(out, u)
	}
	return out
}

func phpAndRuby(f found) []check.Dependency {
	var out []check.Dependency
	for _, k := range []struct{ manager, manifest, lock, folder string }{
		{byBundler, "Gemfile", "Gemfile.lock", "vendor/bundle"}, {byComposer, "composer.json", "composer.lock", "vendor"},
	} {
		for _, dir := range topmost(f.with(k.manifest)) {
			u := check.Dependency{Folder: path.Join(dir, k.folder), Dir: dir, Manager: k.manager}
			for _, n := range []string{k.lock, k.manifest} {
				if f.dirs[dir][n] {
					u.Locks = append(u.Locks, path.Join(dir, n))
				}
			}
			out = append(out, u)
		}
	}
	return out
}

// cacheUnits are the ecosystems that install into one cache for all projects.
func cacheUnits(root fs.FS, f found) []check.Dependency {
	var out []check.Dependency
	unit := func(manager, cache string, dirs, names []string) {
		if len(dirs) == 0 {
			return
		}
		u := check.Dependency{Cache: cache, Manager: manager, Dir: dirs[0]}
		for _, d := range f.with(names...) {
			for _, n := range names {
				if f.dirs[d][n] {
					u.Locks = append(u.Locks, path.Join(d, n))
				}
			}
		}
		slices.Sort(u.Locks)
		out = append(out, u)
	}
	var modules []string
	for _, g := range findModules(root) {
		modules = append(modules, g.dir)
	}
	unit(byGo, cacheGo, modules, []string{"go.mod", "go.sum", "go.work", "go.work.sum"})
	unit(byCargo, cacheCargo, topmost(f.with("Cargo.toml")), []string{"Cargo.toml", "Cargo.lock"})
	unit(byMaven, cacheMaven, topmost(f.with("pom.xml")), []string{"pom.xml"})
	unit(byGradle, cacheGradle, topmost(f.with("settings.gradle", "settings.gradle.kts", "build.gradle", "build.gradle.kts")),
		[]string{"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradle.lockfile", "libs.versions.toml"})
	return out
}

// The names of caches in a layer.
const (
	cacheGo     = "gomod"
	cacheCargo  = "cargo"
	cacheMaven  = "m2"
	cacheGradle = "gradle"
)

// Setup is the line that installs what units ask for, each in its folder.
// loose: also what a lockfile does not name yet.
func Setup(root fs.FS, units []check.Dependency, loose bool) string {
	f := survey(root)
	line := ""
	for _, u := range units {
		switch u.Manager {
		case byGo:
			line = join(line, downloadCommand(findModules(root)))
		case byCargo:
			for _, d := range topmost(f.with("Cargo.toml")) {
				c := "cargo fetch"
				if f.dirs[d]["Cargo.lock"] && !loose {
					c += " --locked"
				}
				line = join(line, inDir(d, c))
			}
		case byMaven, byGradle:
			line = join(line, javaSetup(f, u.Manager))
		default:
			c := setupIn(root, f, u)
			if loose {
				c = looser.Replace(c)
			}
			line = join(line, inDir(u.Dir, c))
		}
	}
	return line
}

// mendBy is the command by which a person installs what units ask for, in the
// checkout at repo, such that git sees nothing of it there afterwards.
func mendBy(root fs.FS, repo string, units ...check.Dependency) string {
	line := ""
	for _, u := range units {
		if u.Folder != "" && !ignoredFolder(root, repo, u.Folder) {
			line = join(line, exclude(u.Folder))
		}
	}
	line = join(line, Setup(root, units, false))
	for _, u := range units { // Cargo cannot do without a lockfile of its own
		if lock := path.Join(u.Dir, "Cargo.lock"); u.Manager == byCargo && !exists(root, lock) && !exist(filepath.Join(repo, filepath.FromSlash(lock))) {
			line = join(line, "rm "+shellWord(lock))
		}
	}
	return line
}

// exclude has git leave out a folder of this checkout alone.
func exclude(folder string) string {
	return "echo " + shellWord("/"+folder+"/") + " >>.git/info/exclude"
}

// ignoredFolder tells whether git leaves a folder out by the usual plain lines of
// its ignore files.
func ignoredFolder(root fs.FS, repo, folder string) bool {
	rules := fileText(filepath.Join(repo, ".git", "info", "exclude"))
	for at := path.Dir(folder); ; at = path.Dir(at) {
		rules += "\n" + text(root, path.Join(at, ".gitignore"))
		if at == "." {
			break
		}
	}
	base := path.Base(folder)
	for line := range strings.Lines(rules) {
		line = strings.TrimSpace(line)
		switch plain := strings.Trim(strings.TrimPrefix(line, "**/"), "/"); {
		case line == "" || line[0] == '#' || line[0] == '!':
		case plain == base, plain == folder, plain == "*", plain == base+"/*":
			return true
		}
	}
	return false
}

// looser are the forms that also install what a lockfile does not name.
var looser = strings.NewReplacer("npm ci", "npm install", "yarn install --frozen-lockfile", "yarn install", "yarn install --immutable", "yarn install --no-immutable",
	" --frozen-lockfile", " --no-frozen-lockfile", " --locked", "")

func javaSetup(f found, manager string) (line string) {
	files, wrapper, args := []string{"pom.xml"}, "mvnw", " -B dependency:go-offline"
	if manager == byGradle {
		files, wrapper, args = []string{"settings.gradle", "settings.gradle.kts", "build.gradle", "build.gradle.kts"}, "gradlew", " dependencies"
	}
	for _, d := range topmost(f.with(files...)) {
		program := manager
		if f.dirs[d][wrapper] {
			program = "./" + wrapper
		}
		line = join(line, inDir(d, program+args))
	}
	return line
}

func setupIn(root fs.FS, f found, u check.Dependency) string {
	_, locked := f.has(u.Dir, nodeLocks...)
	switch u.Manager {
	case byNPM:
		if locked {
			return "npm ci"
		}
		return "npm install --no-package-lock"
	case byPNPM:
		if locked {
			return "pnpm install --frozen-lockfile"
		}
		return "pnpm install --no-lockfile"
	case byYarn:
		switch lock := text(root, path.Join(u.Dir, "yarn.lock")); {
		case lock == "":
			return "yarn install --no-lockfile"
		case strings.Contains(lock, "__metadata:"):
			return "yarn install --immutable"
		}
		return "yarn install --frozen-lockfile"
	case byUV:
		return "uv sync --locked"
	case byPoetry:
		return "POETRY_VIRTUALENVS_IN_PROJECT=1 poetry install"
	case byPDM:
		return "pdm sync"
	case byPipenv:
		return "PIPENV_VENV_IN_PROJECT=1 pipenv sync --dev"
	case byBundler:
		return "BUNDLE_PATH=vendor/bundle bundle install"
	case byComposer:
		return "composer install --no-interaction"
	}
	venv := path.Base(u.Folder)
	pip := "python3 -m venv " + venv + " && " + venv + "/bin/pip install"
	var files []string
	for _, l := range u.Locks {
		if b := path.Base(l); strings.HasSuffix(b, ".txt") {
			files = append(files, "-r "+shellWord(b))
		}
	}
	if len(files) > 0 {
		return pip + " " + strings.Join(files, " ")
	}
	return pip + " -e ."
}
