package node

import (
	"cmp"
	"encoding/json"
	"path"
	"strings"

	"github.com/goccy/go-yaml"

	"agency/internal/ecosystem"
	"agency/internal/regexp"
)

// manifestJS is the part of package.json that is used.
type manifestJS struct {
	Name            string                     `json:"name"`
	Bin             json.RawMessage            `json:"bin"`
	Scripts         map[string]string          `json:"scripts"`
	Dependencies    map[string]json.RawMessage `json:"dependencies"`
	DevDependencies map[string]json.RawMessage `json:"devDependencies"`
	PackageManager  string                     `json:"packageManager"`
	Workspaces      json.RawMessage            `json:"workspaces"`
}

func readManifestJS(c *ecosystem.Checkout, dir string) manifestJS {
	var m manifestJS
	_ = json.Unmarshal([]byte(c.Text(path.Join(dir, "package.json"))), &m) // a broken one has nothing
	return m
}

// script is a script that does something: npm init writes one that does not.
func (m manifestJS) script(names ...string) string {
	for _, n := range names {
		if s := m.Scripts[n]; s != "" && !strings.Contains(s, "no test specified") {
			return n
		}
	}
	return ""
}

func (m manifestJS) depends(name string) bool {
	_, dev := m.DevDependencies[name]
	_, own := m.Dependencies[name]
	return dev || own
}

// nodeParts are the packages of JavaScript and TypeScript. Where the root's own
// test script is known by the names of its tests it speaks for all; else each
// package that has a test script does.
func nodeParts(c *ecosystem.Checkout, named func(string) bool) []ecosystem.Part {
	dirs := c.With("package.json")
	var parts []ecosystem.Part
	for _, dir := range dirs {
		if len(parts) == ecosystem.MaxParts {
			break
		}
		p := nodePart(c, dir, named)
		if p.Test+p.Lint+p.Typecheck+p.Build == "" && len(dirs) > 1 {
			continue
		}
		parts = append(parts, p)
		if dir == "." && p.Test != "" && (named(p.Test) || !packagesTested(c, dirs, named)) {
			return parts[:1]
		}
	}
	if len(parts) > 1 && parts[0].Dir == "." && !named(parts[0].Test) {
		parts[0].Test = "" // it would only start the others'
	}
	return parts
}

// packagesTested tells whether a package below the root has tests that are
// known by their names.
func packagesTested(c *ecosystem.Checkout, dirs []string, named func(string) bool) bool {
	for _, d := range dirs {
		m := readManifestJS(c, d)
		if d != "." && m.script("test") != "" && named("cd "+ecosystem.Quote(d)+" && npm test") {
			return true
		}
	}
	return false
}

func nodePart(c *ecosystem.Checkout, dir string, named func(string) bool) ecosystem.Part {
	m := readManifestJS(c, dir)
	pm := packageManager(c, dir, m)
	p := ecosystem.Part{Language: "JavaScript", Manifest: path.Join(dir, "package.json"), Dir: dir}
	_, typed := c.Has(dir, "tsconfig.json")
	if typed {
		p.Language, p.Manifest = "TypeScript", path.Join(dir, "tsconfig.json")
	}
	run := func(names ...string) string {
		if s := m.script(names...); s != "" {
			return pm + " run " + s
		}
		return ""
	}
	switch {
	case m.script("test") != "":
		p.Test = pm + " test"
	case m.depends("vitest"):
		p.Test = "npx vitest run"
	case m.depends("jest"):
		p.Test = "npx jest"
	case m.depends("mocha"):
		p.Test = "npx mocha"
	case c.Any(dir, nodeTestFile.MatchString):
		p.Test = "node --test"
	}
	p.Lint, p.Build = run("lint"), run("build")
	if p.Typecheck = run("typecheck", "type-check", "check-types", "types", "tsc"); p.Typecheck == "" && typed && m.depends("typescript") {
		p.Typecheck = "npx tsc --noEmit"
	}
	for _, line := range []*string{&p.Build, &p.Typecheck} {
		if instead := silentTypes(c, dir, m.Scripts[strings.TrimPrefix(*line, pm+" run ")]); instead != "" {
			*line = ""
			p.Typecheck = instead
		}
	}
	if p.Test != "" && !named("cd "+ecosystem.Quote(dir)+" && "+p.Test) {
		p.Note = ecosystem.ExitCodesOnly
	}
	return p
}

var (
	plainTSC = regexp.MustCompile(`^tsc((?:\s+(?:-p|--project)\s+[\w./-]+)?)$`)
	noEmit   = regexp.MustCompile(`"noEmit"\s*:\s*true`)
	outDir   = regexp.MustCompile(`"outDir"\s*:\s*"([^"]+)"`)
)

// silentTypes stands in for a script that is the compiler of TypeScript alone,
// where what it writes would lie among the sources for git to see. Empty: it may
// run as it is.
func silentTypes(c *ecosystem.Checkout, dir, script string) string {
	m := plainTSC.FindStringSubmatch(strings.TrimSpace(script))
	if m == nil {
		return ""
	}
	config := path.Join(dir, "tsconfig.json")
	if f := strings.Fields(m[1]); len(f) == 2 {
		if config = path.Join(dir, f[1]); path.Ext(config) != ".json" {
			config = path.Join(config, "tsconfig.json")
		}
	}
	settings := c.Text(config)
	if noEmit.MatchString(settings) {
		return ""
	}
	to := path.Join(dir, "*.js")
	if o := outDir.FindStringSubmatch(settings); o != nil {
		to = path.Join(path.Dir(config), o[1])
	}
	if c.IgnoresFolder("", to) {
		return ""
	}
	return "npx tsc --noEmit" + m[1]
}

var nodeTestFile = regexp.MustCompile(`(?:^test[-.].*|[._-]test|^test)\.[cm]?js$`)

// packageManager is the one whose lockfile is nearest.
func packageManager(c *ecosystem.Checkout, dir string, m manifestJS) string {
	if name, _, ok := strings.Cut(m.PackageManager, "@"); ok && (name == "pnpm" || name == "yarn") {
		return name
	}
	for at := range ecosystem.Upward(dir) {
		if lock, ok := c.Has(at, "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock"); ok {
			return cmp.Or(map[string]string{"pnpm-lock.yaml": pnpm, "yarn.lock": yarn}[lock], npm)
		}
	}
	return npm
}

// member tells whether a package is a member of a workspace above it.
// Those of other languages are not parts of their own.
func member(c *ecosystem.Checkout, dir string) bool {
	if !c.Exists(path.Join(dir, "package.json")) {
		return false
	}
	for at := dir; at != "."; {
		at = path.Dir(at)
		in := false
		for _, pattern := range workspacesOf(c, at) {
			not := strings.HasPrefix(pattern, "!")
			pattern = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(pattern, "!"), "./"), "/")
			if matchesFolder(pattern, strings.TrimPrefix(strings.TrimPrefix(dir, at), "/")) {
				in = !not
			}
		}
		if in {
			return true
		}
	}
	return false
}

// workspacesOf are the patterns of the folders of a workspace's members.
func workspacesOf(c *ecosystem.Checkout, dir string) []string {
	m := readManifestJS(c, dir)
	var list []string
	var full struct {
		Packages []string `json:"packages" yaml:"packages"`
	}
	if json.Unmarshal(m.Workspaces, &list) != nil {
		_ = json.Unmarshal(m.Workspaces, &full) // likewise
		list = full.Packages
	}
	full.Packages = nil
	if y := c.Text(path.Join(dir, "pnpm-workspace.yaml")); y != "" && modest(y) && yaml.Unmarshal([]byte(y), &full) == nil {
		list = append(list, full.Packages...)
	}
	return list
}

// matchesFolder tells whether a pattern of folders names one; ** is any depth.
func matchesFolder(pattern, dir string) bool {
	want, have := strings.Split(pattern, "/"), strings.Split(dir, "/")
	for i, w := range want {
		if w == "**" {
			return len(have) > i || i == len(want)-1
		}
		if i >= len(have) {
			return false
		}
		if ok, err := path.Match(w, have[i]); !ok || err != nil {
			return false
		}
	}
	return len(want) == len(have)
}

var (
	jsFile = regexp.MustCompile(`"(?:file|link|portal):([^"]+)"`)
	jsDir  = regexp.MustCompile(`(?:\bcd|--prefix|--cwd|-C)[ =]+["']?([\w./-]+)`)
)

// uses are the folders that a manifest names, and that its scripts enter.
func uses(c *ecosystem.Checkout, dir string) []string {
	out := c.Named(path.Join(dir, "package.json"), jsFile)
	for _, script := range readManifestJS(c, dir).Scripts {
		for _, m := range jsDir.FindAllStringSubmatch(script, -1) {
			out = append(out, path.Join(dir, m[1]))
		}
	}
	return out
}

// program is what the scripts of a package are started by.
func program(p ecosystem.Part) string {
	if pm, _, _ := strings.Cut(p.Test+p.Build+p.Lint, " "); pm == pnpm || pm == yarn {
		return pm
	}
	return "node"
}
