package detect

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Package is one that differs between two states of a lockfile or manifest. A
// side on which it is not is empty; a version that the file does not tell is
// "*".
type Package struct {
	Name string `json:"name"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// Decides tells whether a file of this name decides what is installed.
func Decides(name string) bool {
	base := path.Base(name)
	_, known := readers[base]
	return known || strings.HasSuffix(base, ".txt") && strings.Contains(base, "requirements") ||
		base == "setup.py" || base == "setup.cfg" || base == "bun.lock" || base == "bun.lockb" || base == "go.work" || base == "npm-shrinkwrap.json"
}

// Packages are what differs between two texts of a lockfile or manifest, by
// name; none for a file whose form is not read.
func Packages(name string, from, to []byte) []Package {
	read := readers[path.Base(name)]
	switch {
	case path.Base(name) == "npm-shrinkwrap.json":
		read = npmPackages
	case read == nil && strings.HasSuffix(name, ".txt"):
		read = requirements
	case read == nil:
		return nil
	}
	was, is := read(from), read(to)
	var out []Package
	for n, v := range is {
		if was[n] != v {
			out = append(out, Package{Name: n, From: was[n], To: v})
		}
	}
	for n, v := range was {
		if is[n] == "" {
			out = append(out, Package{Name: n, From: v})
		}
	}
	slices.SortFunc(out, func(a, b Package) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// readers read the packages of a file, each with its version or versions.
var readers = map[string]func([]byte) map[string]string{
	"package-lock.json": npmPackages, "package.json": manifestPackages, "composer.lock": composerPackages,
	"pnpm-lock.yaml": pairs(pnpmEntry), "yarn.lock": pairs(yarnEntry), "Gemfile.lock": pairs(gemEntry),
	"uv.lock": pairs(tomlEntry), "poetry.lock": pairs(tomlEntry), "pdm.lock": pairs(tomlEntry), "Cargo.lock": pairs(tomlEntry),
	"Cargo.toml": cargoPackages, "Pipfile.lock": pipfilePackages, "pyproject.toml": projectPackages, "go.mod": pairs(goEntry), "go.sum": pairs(sumEntry),
	"pom.xml": mavenPackages, "build.gradle": pairs(gradleEntry), "build.gradle.kts": pairs(gradleEntry), "gradle.lockfile": pairs(gradleLockEntry),
}

var (
	pnpmEntry       = regexp.MustCompile(`(?m)^  ['"]?/?((?:@[\w.-]+/)?[\w.-]+)[@/](\d[\w.+-]*)[^:\n]*:\s*$`)
	yarnEntry       = regexp.MustCompile(`(?m)^"?((?:@[\w.-]+/)?[\w.-]+)@[^\n]*:\n\s+version:? "?([^"\s]+)"?`)
	gemEntry        = regexp.MustCompile(`(?m)^    ([\w.-]+) \(([^)]+)\)$`)
	tomlEntry       = regexp.MustCompile(`(?m)^\[\[package\]\]\s*\nname = "([^"]+)"\s*\nversion = "([^"]+)"`)
	goEntry         = regexp.MustCompile(`(?m)^(?:\t|require\s+)([\w.~-]+(?:/[\w.~-]+)+|[\w-]+\.[\w.-]+) (v[^\s]+)`)
	sumEntry        = regexp.MustCompile(`(?m)^(\S+) (v[^\s/]+) h1:`)
	gradleEntry     = regexp.MustCompile(`["']([\w.-]+:[\w.-]+):([\w.+-]+)["']`)
	gradleLockEntry = regexp.MustCompile(`(?m)^([\w.-]+:[\w.-]+):([^=\s]+)=`)
	requirement     = regexp.MustCompile(`^([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?\s*([^#;]*)`)
	quoted          = regexp.MustCompile(`["']([^"'\n]+)["']`)
	tomlPair        = regexp.MustCompile(`(?m)^([\w-]+)\s*=\s*(?:"([^"]*)"|\{[^}\n]*?version\s*=\s*"([^"]*)"[^}\n]*\}|\{[^}\n]*\})`)
	tomlHead        = regexp.MustCompile(`(?m)^\[+([^\]\n]+)\]+[ \t]*$`)
	projectList     = regexp.MustCompile(`(?ms)^(?:dependencies|[\w-]+)\s*=\s*\[(.*?)\]\s*$`)
)

// add notes a version; a package can have several.
func add(m map[string]string, name, version string) {
	if version = strings.TrimSpace(version); version == "" {
		version = "*"
	}
	switch have := m[name]; {
	case have == "":
		m[name] = version
	case !slices.Contains(strings.Split(have, ", "), version):
		all := append(strings.Split(have, ", "), version)
		slices.Sort(all)
		m[name] = strings.Join(all, ", ")
	}
}

// pairs reads every name and version that a form finds.
func pairs(form *regexp.Regexp) func([]byte) map[string]string {
	return func(b []byte) map[string]string {
		out := map[string]string{}
		for _, m := range form.FindAllSubmatch(b, -1) {
			add(out, string(m[1]), string(m[2]))
		}
		return out
	}
}

func npmPackages(b []byte) map[string]string {
	type old struct {
		Version      string                     `json:"version"`
		Dependencies map[string]json.RawMessage `json:"dependencies"`
	}
	var lock struct {
		Packages map[string]struct {
			Version string `json:"version"`
			Link    bool   `json:"link"`
		} `json:"packages"`
		Dependencies map[string]json.RawMessage `json:"dependencies"`
	}
	out := map[string]string{}
	if json.Unmarshal(b, &lock) != nil {
		return out
	}
	for at, p := range lock.Packages {
		if i := strings.LastIndex(at, "node_modules/"); i >= 0 && !p.Link {
			add(out, at[i+len("node_modules/"):], p.Version)
		}
	}
	if lock.Packages != nil {
		return out
	}
	var walk func(map[string]json.RawMessage, int)
	walk = func(deps map[string]json.RawMessage, depth int) {
		for name, raw := range deps {
			var p old
			if json.Unmarshal(raw, &p) == nil && depth < 64 {
				add(out, name, p.Version)
				walk(p.Dependencies, depth+1)
			}
		}
	}
	walk(lock.Dependencies, 0)
	return out
}

func manifestPackages(b []byte) map[string]string {
	var m struct {
		Dependencies, DevDependencies, OptionalDependencies map[string]string
	}
	out := map[string]string{}
	if json.Unmarshal(b, &m) != nil {
		return out
	}
	for _, deps := range []map[string]string{m.Dependencies, m.DevDependencies, m.OptionalDependencies} {
		for name, version := range deps {
			add(out, name, version)
		}
	}
	return out
}

func composerPackages(b []byte) map[string]string {
	type list []struct{ Name, Version string }
	var lock struct {
		Packages list `json:"packages"`
		Dev      list `json:"packages-dev"`
	}
	out := map[string]string{}
	if json.Unmarshal(b, &lock) != nil {
		return out
	}
	for _, p := range append(lock.Packages, lock.Dev...) {
		add(out, p.Name, p.Version)
	}
	return out
}

func pipfilePackages(b []byte) map[string]string {
	type group map[string]struct {
		Version string `json:"version"`
	}
	var lock struct{ Default, Develop group }
	out := map[string]string{}
	if json.Unmarshal(b, &lock) != nil {
		return out
	}
	for _, g := range []group{lock.Default, lock.Develop} {
		for name, p := range g {
			add(out, name, strings.TrimPrefix(p.Version, "=="))
		}
	}
	return out
}

// requirements reads what pip is told, a package a line.
func requirements(b []byte) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if m := requirement.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			version, _, _ := strings.Cut(m[2], "--hash")
			add(out, pythonName(m[1]), strings.TrimSuffix(strings.TrimSpace(version), `\`))
		}
	}
	return out
}

var pythonRuns = regexp.MustCompile(`[-_.]+`)

// pythonName is a distribution's name in its one normal form.
func pythonName(name string) string { return strings.ToLower(pythonRuns.ReplaceAllString(name, "-")) }

func projectPackages(b []byte) map[string]string {
	out := map[string]string{}
	for _, t := range tablesOf(string(b)) {
		if t.name != "project" && t.name != "project.optional-dependencies" && t.name != "dependency-groups" {
			continue
		}
		for _, list := range projectList.FindAllStringSubmatch(t.body, -1) {
			if t.name == "project" && !strings.HasPrefix(list[0], "dependencies") {
				continue // classifiers and their like
			}
			for _, q := range quoted.FindAllStringSubmatch(list[1], -1) {
				for name, version := range requirements([]byte(q[1])) {
					add(out, name, version)
				}
			}
		}
	}
	for name, version := range cargoPackages(b) { // poetry's tables have the same form
		if name != "python" {
			add(out, pythonName(name), version)
		}
	}
	return out
}

func cargoPackages(b []byte) map[string]string {
	out := map[string]string{}
	for _, t := range tablesOf(string(b)) {
		if !strings.HasSuffix(t.name, "dependencies") || t.name == "project.optional-dependencies" {
			continue
		}
		for _, m := range tomlPair.FindAllStringSubmatch(t.body, -1) {
			add(out, m[1], m[2]+m[3])
		}
	}
	return out
}

// table is one of a file of TOML, as text.
type table struct{ name, body string }

func tablesOf(toml string) []table {
	var out []table
	heads := tomlHead.FindAllStringSubmatchIndex(toml, -1)
	for i, h := range heads {
		end := len(toml)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		out = append(out, table{name: toml[h[2]:h[3]], body: toml[h[1]:end]})
	}
	return out
}

var mavenProperty = regexp.MustCompile(`\$\{([^}]+)\}`)

func mavenPackages(b []byte) map[string]string {
	type artifact struct {
		Group    string `xml:"groupId"`
		Artifact string `xml:"artifactId"`
		Version  string `xml:"version"`
	}
	var pom struct {
		Properties struct {
			All []struct {
				XMLName xml.Name
				Text    string `xml:",chardata"`
			} `xml:",any"`
		} `xml:"properties"`
		Parent  []artifact `xml:"parent"`
		Own     []artifact `xml:"dependencies>dependency"`
		Managed []artifact `xml:"dependencyManagement>dependencies>dependency"`
		Plugins []artifact `xml:"build>plugins>plugin"`
	}
	out := map[string]string{}
	if xml.Unmarshal(b, &pom) != nil {
		return out
	}
	values := map[string]string{}
	for _, p := range pom.Properties.All {
		values[p.XMLName.Local] = strings.TrimSpace(p.Text)
	}
	for _, list := range [][]artifact{pom.Parent, pom.Own, pom.Managed, pom.Plugins} {
		for _, a := range list {
			version := mavenProperty.ReplaceAllStringFunc(strings.TrimSpace(a.Version), func(s string) string {
				return cmp.Or(values[s[2:len(s)-1]], s)
			})
			group := cmp.Or(strings.TrimSpace(a.Group), "org.apache.maven.plugins")
			add(out, group+":"+strings.TrimSpace(a.Artifact), version)
		}
	}
	return out
}
