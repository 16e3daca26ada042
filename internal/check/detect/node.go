package detect

import (
	"encoding/json"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"agency/internal/check"
)

// manifestJS is the part of package.json that is used.
type manifestJS struct {
	Name            string                     `json:"name"`
	Bin             json.RawMessage            `json:"bin"`
	Scripts         map[string]string          `json:"scripts"`
	Dependencies    map[string]json.RawMessage `json:"dependencies"`
	DevDependencies map[string]json.RawMessage `json:"devDependencies"`
	PackageManager  string                     `json:"packageManager"`
}

func readManifestJS(root fs.FS, dir string) manifestJS {
	var m manifestJS
	_ = json.Unmarshal([]byte(text(root, path.Join(dir, "package.json"))), &m) // a broken one has nothing
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
func nodeParts(root fs.FS, f found) []part {
	dirs := f.with("package.json")
	var parts []part
	for _, dir := range dirs {
		if len(parts) == maxNested {
			break
		}
		p := nodePart(root, f, dir)
		if p.cmds == (check.Commands{}) && len(dirs) > 1 {
			continue
		}
		parts = append(parts, p)
		if dir == "." && p.cmds.Test != "" && (check.Named(p.cmds.Test, root) || !packagesTested(root, dirs)) {
			return parts[:1]
		}
	}
	if len(parts) > 1 && parts[0].dir == "." && !check.Named(parts[0].cmds.Test, root) {
		parts[0].cmds.Test = "" // it would only start the others'
	}
	return parts
}

// packagesTested tells whether a package below the root has tests that are
// known by their names.
func packagesTested(root fs.FS, dirs []string) bool {
	for _, d := range dirs {
		m := readManifestJS(root, d)
		if d != "." && m.script("test") != "" && check.Named("cd "+shellWord(d)+" && npm test", root) {
			return true
		}
	}
	return false
}

func nodePart(root fs.FS, f found, dir string) part {
	m := readManifestJS(root, dir)
	pm := packageManager(f, dir, m)
	p := part{language: "JavaScript", manifest: path.Join(dir, "package.json"), dir: dir}
	_, typed := f.has(dir, "tsconfig.json")
	if typed {
		p.language, p.manifest = "TypeScript", path.Join(dir, "tsconfig.json")
	}
	run := func(names ...string) string {
		if s := m.script(names...); s != "" {
			return pm + " run " + s
		}
		return ""
	}
	switch {
	case m.script("test") != "":
		p.cmds.Test = pm + " test"
	case m.depends("vitest"):
		p.cmds.Test = "npx vitest run"
	case m.depends("jest"):
		p.cmds.Test = "npx jest"
	case m.depends("mocha"):
		p.cmds.Test = "npx mocha"
	case f.any(dir, func(_, name string) bool { return nodeTestFile.MatchString(name) }):
		p.cmds.Test = "node --test"
	}
	p.cmds.Lint, p.cmds.Build = run("lint"), run("build")
	if p.cmds.Typecheck = run("typecheck", "type-check", "check-types", "types", "tsc"); p.cmds.Typecheck == "" && typed && m.depends("typescript") {
		p.cmds.Typecheck = "npx tsc --noEmit"
	}
	for _, line := range []*string{&p.cmds.Build, &p.cmds.Typecheck} {
		if instead := silentTypes(root, dir, m.Scripts[strings.TrimPrefix(*line, pm+" run ")]); instead != "" {
			*line = ""
			p.cmds.Typecheck = instead
		}
	}
	if p.cmds.Test != "" && !check.Named("cd "+shellWord(dir)+" && "+p.cmds.Test, root) {
		p.note = exitCodesOnly
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
func silentTypes(root fs.FS, dir, script string) string {
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
	settings := text(root, config)
	if noEmit.MatchString(settings) {
		return ""
	}
	to := path.Join(dir, "*.js")
	if o := outDir.FindStringSubmatch(settings); o != nil {
		to = path.Join(path.Dir(config), o[1])
	}
	if ignoredFolder(root, "", to) {
		return ""
	}
	return "npx tsc --noEmit" + m[1]
}

// exitCodesOnly is the note of a part whose tests have no names.
const exitCodesOnly = "tests count by the exit code of their command only"

var nodeTestFile = regexp.MustCompile(`(?:^test[-.].*|[._-]test|^test)\.[cm]?js$`)

// packageManager is the one whose lockfile is nearest.
func packageManager(f found, dir string, m manifestJS) string {
	if name, _, ok := strings.Cut(m.PackageManager, "@"); ok && (name == "pnpm" || name == "yarn") {
		return name
	}
	for at := dir; ; at = path.Dir(at) {
		if lock, ok := f.has(at, "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock"); ok {
			return map[string]string{"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn"}[lock] + map[string]string{
				"package-lock.json": "npm", "npm-shrinkwrap.json": "npm",
			}[lock]
		}
		if at == "." {
			return "npm"
		}
	}
}
