package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"agency/internal/bounded"
	"agency/internal/ecosystem"
	"agency/internal/regexp"
)

var nodeLocks = []string{"package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb"}

// nodeUnits are the folders in which a package manager of JavaScript is
// started: where a lockfile lies, else the topmost package.
func nodeUnits(c *ecosystem.Checkout) []ecosystem.Unit {
	var out []ecosystem.Unit
	dirs := c.With(nodeLocks...)
	for _, d := range ecosystem.Topmost(c.With("package.json")) {
		if !slices.ContainsFunc(dirs, func(l string) bool { return ecosystem.Below(d, l) }) {
			dirs = append(dirs, d)
		}
	}
	for _, dir := range dirs {
		if !c.Files(dir)["package.json"] {
			continue
		}
		u := ecosystem.Unit{Folder: path.Join(dir, "node_modules"), Dir: dir, Manager: packageManager(c, dir, readManifestJS(c, dir))}
		u.Locks = c.Within(dir, append(slices.Clone(nodeLocks), "package.json")...)
		out = append(out, u)
	}
	return out
}

// looser are the forms that also install what a lockfile does not name.
var looser = strings.NewReplacer("npm ci", "npm install", "yarn install --frozen-lockfile", "yarn install", "yarn install --immutable", "yarn install --no-immutable",
	" --frozen-lockfile", " --no-frozen-lockfile")

// testRunners are the packages of JavaScript without which a test script that calls
// them cannot run.
var testRunners = []string{"jest", "vitest", "mocha"}

// nodeAbsent names the packages that a manifest asks for and node would not
// find, or find in another version than the lockfile names.
func nodeAbsent(host *ecosystem.Machine, u ecosystem.Unit, changed func() []string, test string) []string {
	dir := u.Dir
	m := readManifestJS(host.Checkout, dir)
	want := map[string]string{}
	add := func(name string, spec json.RawMessage) {
		var text string
		if json.Unmarshal(spec, &text) == nil && !strings.HasPrefix(text, "workspace:") && !strings.HasPrefix(text, "link:") {
			want[name] = ""
		}
	}
	for name, spec := range m.Dependencies {
		add(name, spec)
	}
	for _, name := range testRunners {
		if spec, ok := m.DevDependencies[name]; ok && strings.Contains(m.Scripts["test"]+test, name) {
			add(name, spec)
		}
	}
	if len(want) == 0 || loaded(host.Checkout, dir) {
		return nil
	}
	if unloaded(host.Checkout, dir) {
		return []string{strings.Join(slices.Sorted(maps.Keys(want)), ", ") + " (yarn's loader .pnp.cjs is not committed, without which no checkout finds them)"}
	}
	for name, version := range lockedAt(host.Checkout, dir, m) {
		if _, ok := want[name]; ok {
			want[name] = version
		}
	}
	// Where the user's own checkout is not the base, what is installed is not shown.
	differs := ""
	for _, name := range changed() {
		if differs == "" && slices.Contains(nodeLocks, path.Base(name)) {
			differs = name
		}
	}
	var out []string
	for name, version := range want {
		switch have, ok := installedAt(host.Dir, dir, name); {
		case !ok, version != "" && have != "" && have != version:
			out = append(out, strings.TrimSuffix(name+" "+version, " "))
		case differs != "":
			out = append(out, name+" (node_modules is of another "+differs+")")
		}
	}
	slices.Sort(out)
	return out
}

// maxManifest bounds the manifest of an installed package, in bytes.
const maxManifest = 1 << 20

// installedAt finds a package as node does, from a folder upward.
func installedAt(repo, dir, name string) (version string, ok bool) {
	if !fs.ValidPath(name) {
		return "", true // no name of a package; not ours to judge
	}
	for at := range ecosystem.Upward(dir) {
		folder := filepath.Join(repo, filepath.FromSlash(at), "node_modules", filepath.FromSlash(name))
		if b, err := bounded.ReadAt(filepath.Join(folder, "package.json"), maxManifest); err == nil {
			var m struct {
				Version string `json:"version"`
			}
			_ = json.Unmarshal(b, &m) // without a version it is there all the same
			return m.Version, true
		}
		if ecosystem.Exist(folder) {
			return "", true
		}
	}
	return "", false
}

func nodeLacks(host *ecosystem.Machine, p ecosystem.Part) (what, mend string) {
	m := readManifestJS(host.Checkout, p.Dir)
	var names []string
	for _, list := range []map[string]json.RawMessage{m.Dependencies, m.DevDependencies} {
		for name, raw := range list {
			var spec string
			if json.Unmarshal(raw, &spec) == nil && !strings.Contains(spec, ":") {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if _, ok := installedAt(host.Dir, p.Dir, name); !ok {
			return name + " is not installed", host.InstallIn(p.Dir, "node_modules")
		}
	}
	return "", ""
}

// npmSource are the lines of a lockfile of npm that say where a package is;
// others name sponsors.
var npmSource = regexp.MustCompile(`"resolved"\s*:\s*"[^"]*"`)

// setup is the line that installs what a unit asks for.
func setup(c *ecosystem.Checkout, u ecosystem.Unit, loose bool) string {
	line := setupIn(c, u)
	if loose {
		line = looser.Replace(line)
	}
	return ecosystem.InDir(u.Dir, line)
}

func setupIn(c *ecosystem.Checkout, u ecosystem.Unit) string {
	_, locked := c.Has(u.Dir, nodeLocks...)
	switch u.Manager {
	case pnpm:
		if locked {
			return "pnpm install --frozen-lockfile"
		}
		return "pnpm install --no-lockfile"
	case yarn:
		switch lock := c.Text(path.Join(u.Dir, "yarn.lock")); {
		case berry(c, u.Dir) && lock == "":
			return "yarn install --no-immutable" // it knows no run without a lockfile
		case berry(c, u.Dir):
			return "yarn install --immutable"
		case lock == "":
			return "yarn install --no-lockfile"
		}
		return "yarn install --frozen-lockfile"
	}
	if locked {
		return "npm ci"
	}
	return "npm install --no-package-lock"
}

// hosts are the lines of a file that say where packages are.
func hosts(base string, text []byte) (part []byte, ok bool) {
	switch base {
	case "package-lock.json", "npm-shrinkwrap.json":
		for m := npmSource.FindIndex(text); m != nil; m = npmSource.FindIndex(text) {
			part = append(append(part, text[m[0]:m[1]]...), '\n')
			text = text[m[1]:]
		}
		return part, true
	}
	return nil, base == "package.json" // links to homepages
}

func registries(ctx context.Context, m *ecosystem.Machine, manager string) string {
	if r, ok := m.Env("npm_config_registry"); ok && r != "" {
		return r
	}
	if manager == yarn {
		if r := m.Told(ctx, yarn, "config", "get", "registry"); strings.Contains(r, "https://") {
			return r
		}
	}
	return m.Told(ctx, npm, "config", "get", "registry")
}

// Bounds of YAML that is handed to the library, which calls itself for each level
// and for each alias.
const (
	maxYAMLLine  = 16 << 10 // bytes
	maxYAMLDepth = 64       // levels
)

// packagesOf reads the packages of a file.
func packagesOf(base string) func([]byte) ecosystem.Versions {
	return map[string]func([]byte) ecosystem.Versions{
		"package-lock.json": npmPackages, "npm-shrinkwrap.json": npmPackages, "package.json": manifestPackages,
		"pnpm-lock.yaml": ecosystem.Pairs(pnpmEntry), "yarn.lock": ecosystem.Pairs(yarnEntry),
	}[base]
}

var (
	pnpmEntry = regexp.MustCompile(`(?m)^  ['"]?/?((?:@[\w.-]+/)?[\w.-]+)[@/](\d[\w.+-]*)[^:\n]*:\s*$`)
	yarnEntry = regexp.MustCompile(`(?m)^"?((?:@[\w.-]+/)?[\w.-]+)@[^\n]*:\n\s+version:? "?([^"\s]+)"?`)
)

// Bounds of a lockfile of npm.
const (
	maxLocked       = 200_000    // packages
	maxLockedNames  = 16 << 20   // bytes of their folders and versions
	maxLockedValues = 20_000_000 // keys and values
)

// npmPackage is what a lockfile of npm says of a package.
type npmPackage struct {
	version        string
	optional, link bool
}

// npmLock is a lockfile of npm.
type npmLock struct {
	packages map[string]npmPackage // by the folder that they lie in; nil: of npm 6 or before
	old      ecosystem.Versions    // as npm 6 lists them
}

// readNPM reads a lockfile of npm; of one that is broken or too large what stands
// before that.
func readNPM(in io.Reader) (lock npmLock, err error) {
	lock.old = ecosystem.NewVersions()
	names := 0
	return lock, bounded.JSON(in, maxLockedValues, func(at []string, value json.Token) error {
		text, isText := value.(string)
		switch {
		case len(at) > 1 && at[0] == "packages":
			if lock.packages == nil {
				lock.packages = map[string]npmPackage{}
			}
			p, known := lock.packages[at[1]]
			if len(at) == 3 {
				switch at[2] {
				case "version":
					names += len(text) - len(p.version)
					p.version = text
				case "link":
					p.link = value == true
				case "optional":
					p.optional = value == true
				}
			}
			if !known {
				names += len(at[1])
			}
			if names > maxLockedNames || !known && len(lock.packages) >= maxLocked {
				return bounded.ErrTooLarge
			}
			lock.packages[at[1]] = p
		case len(at)%2 == 1 && at[0] == "dependencies" && at[len(at)-1] == "version" && isText && nestedOnly(at):
			lock.old.Add(at[len(at)-2], text)
		}
		return nil
	})
}

// npmPackages are the packages of a lockfile of npm; one that is broken has none.
func npmPackages(b []byte) ecosystem.Versions {
	lock, err := readNPM(bytes.NewReader(b))
	out := lock.old
	if lock.packages != nil {
		out = ecosystem.NewVersions()
	}
	for at, p := range lock.packages {
		if i := strings.LastIndex(at, modulesDir); i >= 0 && !p.link {
			out.Add(at[i+len(modulesDir):], p.version)
		}
	}
	switch {
	case errors.Is(err, bounded.ErrTooLarge):
		out.More = true
	case err != nil:
		return ecosystem.NewVersions()
	}
	return out
}

// modulesDir is how the folder of a package within others begins.
const modulesDir = "node_modules/"

// sameVersions tells whether every package of a lockfile of npm is noted as
// installed, but for those that another machine needs.
func sameVersions(lock, noted io.Reader) bool {
	want, err := readNPM(lock)
	have, err2 := readNPM(noted)
	if err != nil || err2 != nil || len(want.packages) == 0 {
		return false
	}
	for at, p := range want.packages {
		if got, ok := have.packages[at]; at != "" && (ok || !p.optional) && (!ok || got.version != p.version) {
			return false
		}
	}
	return true
}

// noted is where a package manager notes what it installed for a lockfile, and how
// the two are compared.
func noted(lock string) (file string, same func(lock, noted io.Reader) bool) {
	switch lock {
	case "package-lock.json", "npm-shrinkwrap.json":
		return ".package-lock.json", sameVersions
	case "pnpm-lock.yaml":
		return ".pnpm/lock.yaml", nil
	}
	return "", nil
}

// nestedOnly tells whether every second key is of a list of dependencies.
func nestedOnly(at []string) bool {
	for i := 0; i < len(at)-1; i += 2 {
		if at[i] != "dependencies" {
			return false
		}
	}
	return true
}

func manifestPackages(b []byte) ecosystem.Versions {
	out := ecosystem.NewVersions()
	out.Walk(b, func(at []string, value json.Token) {
		if version, ok := value.(string); ok && len(at) == 2 && slices.Contains([]string{"dependencies", "devDependencies", "optionalDependencies"}, at[0]) {
			out.Add(at[1], version)
		}
	})
	return out
}

// lockedAt are the versions that the lockfile of a folder names for what its
// manifest depends on; a package of which none is certain is left out.
func lockedAt(c *ecosystem.Checkout, dir string, m manifestJS) map[string]string {
	for _, n := range []string{"package-lock.json", "npm-shrinkwrap.json"} {
		if b := c.Text(path.Join(dir, n)); b != "" {
			return lockedByNPM(b)
		}
	}
	if b := c.Text(path.Join(dir, "pnpm-lock.yaml")); b != "" {
		return lockedByPNPM(b)
	}
	return lockedByYarn(c.Text(path.Join(dir, "yarn.lock")), m)
}

func lockedByNPM(text string) map[string]string {
	out := map[string]string{}
	lock, err := readNPM(strings.NewReader(text))
	if err != nil {
		return out // a broken one names nothing
	}
	for at, p := range lock.packages {
		if name, ok := strings.CutPrefix(at, modulesDir); ok && !p.link && !strings.Contains(name, "/"+modulesDir) {
			out[name] = p.version
		}
	}
	return out
}

// modest tells whether a text is no deeper than what package managers write, and
// refers to nothing of its own.
func modest(text string) bool {
	depth := 0
	for line := range strings.Lines(text) {
		begin := len(line) - len(strings.TrimLeft(line, " -?"))
		opened := strings.Count(line, "[") + strings.Count(line, "{")
		depth = max(0, depth+opened-strings.Count(line, "]")-strings.Count(line, "}"))
		if len(line) > maxYAMLLine || begin > 4*maxYAMLDepth || opened > maxYAMLDepth || depth > maxYAMLDepth ||
			strings.Contains(line, ": &") || strings.Contains(line, "- &") || strings.HasPrefix(line, "&") || strings.Contains(line, "<<:") {
			return false
		}
	}
	return true
}

// pnpmVersion is a version as pnpm writes it: with what it was installed beside
// behind it.
var pnpmVersion = regexp.MustCompile(`^(\d+\.\d+\.\d+[\w.+-]*)(?:[(_].*)?$`)

// lockedByPNPM reads the importer that the lockfile's own folder is; versions 5
// and 6 without workspaces have it at the top.
func lockedByPNPM(text string) map[string]string {
	type importer struct {
		Dependencies    map[string]any `yaml:"dependencies"`
		DevDependencies map[string]any `yaml:"devDependencies"`
	}
	var lock struct {
		Importers map[string]importer `yaml:"importers"`
		Packages  map[string]struct {
			Version string `yaml:"version"`
		} `yaml:"packages"`
	}
	var of importer
	if !modest(text) || yaml.Unmarshal([]byte(text), &lock) != nil || yaml.Unmarshal([]byte(text), &of) != nil {
		return nil
	}
	if i, ok := lock.Importers["."]; ok {
		of = i
	}
	out := map[string]string{}
	for _, list := range []map[string]any{of.Dependencies, of.DevDependencies} {
		for name, entry := range list {
			version, _ := entry.(string)
			if full, ok := entry.(map[string]any); ok {
				version, _ = full["version"].(string)
			}
			if m := pnpmVersion.FindStringSubmatch(version); m != nil {
				out[name] = m[1]
			} else if p := lock.Packages[name+"@"+version]; p.Version != "" { // of a file or a repository
				out[name] = p.Version
			}
		}
	}
	return out
}

var yarnLocked = regexp.MustCompile(`(?m)^(\S[^\n]*):\n\s+version:? "?([^"\s]+)"?`)

// lockedByYarn finds what the manifest asks for word for word.
func lockedByYarn(text string, m manifestJS) map[string]string {
	versions := map[string]string{}
	for _, e := range yarnLocked.FindAllStringSubmatch(text, -1) {
		for key := range strings.SplitSeq(strings.ReplaceAll(e[1], `"`, ""), ", ") {
			key, _, _ = strings.Cut(key, "::") // what follows binds a file to whose it is
			versions[key] = e[2]
		}
	}
	out := map[string]string{}
	for _, list := range []map[string]json.RawMessage{m.Dependencies, m.DevDependencies} {
		for name, raw := range list {
			var spec string
			if json.Unmarshal(raw, &spec) != nil {
				continue
			}
			for _, key := range []string{name + "@" + spec, name + "@npm:" + spec} {
				if v := versions[key]; v != "" && !strings.HasPrefix(v, "0.0.0-use.") {
					out[name] = v
				}
			}
		}
	}
	return out
}
