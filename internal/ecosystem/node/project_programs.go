package node

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"agency/internal/ecosystem"
	"agency/internal/regexp"
)

func programs() ecosystem.Programs {
	return ecosystem.Programs{
		Install: map[string]string{
			"node": "install Node.js (https://nodejs.org)", npm: "install Node.js with npm (https://nodejs.org)", "npx": "install Node.js with npm (https://nodejs.org)",
			pnpm: "npm install -g pnpm", yarn: "npm install -g yarn",
		},
		Toolchain: []string{"node", npm, "npx", "bun"},
		Harmless: []string{
			"node", "npx", "tsc", "eslint", "prettier", "jest", "vitest", "mocha", "tape", "tap", "ava", "c8", "nyc", "cross-env",
		},
		Folders:   map[string][]string{npm: {"--prefix", "-C"}, pnpm: {"-C", "--dir"}, yarn: {"--cwd"}},
		Paths:     []string{"NODE_PATH"},
		Starts:    starts,
		Package:   hasProgram,
		Elsewhere: elsewhere,
		LacksProgram: func(m *ecosystem.Machine, n ecosystem.Need, by string, ofPackage bool) (what, mend string) {
			if !ofPackage {
				return "", ""
			}
			what = fmt.Sprintf("%s%s is neither in node_modules/.bin of %s nor in PATH", n.Name, by, ecosystem.PlaceName(n.Dir))
			if n.In == "npx" || n.In == npm {
				what += ", and " + n.In + " would want to download it"
			}
			return what, installer(m, n)
		},
		Fetches: pinnedManager,
		Other:   otherManager,
	}
}

// plainNPX are the options of npx and its like that name no package.
var plainNPX = []string{"--", "--no-install", "--no", "--yes", "-y", "--quiet", "-q", "--offline", "--prefer-offline"}

// starts is what npx and its like start, and would fetch, or what yarn and pnpm start
// by its name alone; a version that is asked for is not looked at.
func starts(w []string) (program, by string, ok bool) {
	rest := w[1:]
	switch by = path.Base(w[0]); {
	case by == "npx":
	case len(w) > 2 && w[1] == "exec" && slices.Contains(managers, by):
		rest = w[2:]
	case (by == yarn || by == pnpm) && launches(w) == 1:
		return w[1], "", true
	default:
		return "", "", false
	}
	for len(rest) > 0 && slices.Contains(plainNPX, rest[0]) {
		rest = rest[1:]
	}
	if len(rest) > 0 && !strings.ContainsAny(rest[0], "/:") && !strings.HasPrefix(rest[0], "-") {
		program, _, _ = strings.Cut(rest[0], "@")
	}
	return program, by, true
}

// hasProgram is the shell that tells whether a package which is installed has a
// program.
func hasProgram(n ecosystem.Need) (found string) {
	name := ecosystem.Quote(n.Name)
	for at, up := n.Dir, "."; ; at, up = path.Dir(at), up+"/.." {
		found += " || test -e " + up + "/node_modules/.bin/" + name
		if n.In != "" { // a package whose program has another name
			found += " || test -e " + up + "/node_modules/" + name
		}
		if at == "." {
			break
		}
	}
	if n.In != "" { // npx also takes what npm has stored
		found += " || npm cache ls 2>/dev/null | grep -q /" + name + "$"
	}
	return found
}

// elsewhere tells what may come out of a package of the repository itself, or by a
// loader of yarn's.
func elsewhere(m *ecosystem.Machine, n ecosystem.Need) bool {
	for at := range ecosystem.Upward(n.Dir) {
		in := filepath.Join(m.Dir, filepath.FromSlash(at))
		if ecosystem.Exist(filepath.Join(in, ".pnp.cjs")) || ecosystem.Exist(filepath.Join(in, ".pnp.js")) ||
			strings.Contains(m.Text(path.Join(at, "yarn.lock")), "__metadata:") && !strings.Contains(m.Text(path.Join(at, ".yarnrc.yml")), "node-modules") {
			return true
		}
	}
	return readManifestJS(m.Checkout, n.Dir).brings(n.Name)
}

// brings tells whether a package itself has a program of a name.
func (m manifestJS) brings(name string) bool {
	if m.Name == name || strings.HasSuffix(m.Name, "/"+name) {
		return len(m.Bin) > 0
	}
	return strings.Contains(string(m.Bin), strconv.Quote(name))
}

// installer is the command that installs what the manifest of a folder names, or the
// program where it names nothing.
func installer(m *ecosystem.Machine, n ecosystem.Need) string {
	var unit *ecosystem.Unit
	for _, u := range nodeUnits(m.Checkout) {
		if ecosystem.Below(n.Dir, u.Dir) && (unit == nil || len(u.Dir) > len(unit.Dir)) {
			unit = &u
		}
	}
	if of := readManifestJS(m.Checkout, n.Dir); unit == nil || len(of.DevDependencies)+len(of.Dependencies) == 0 && unit.Dir == n.Dir {
		return m.Unseen(path.Join(n.Dir, "node_modules"), ecosystem.InDir(n.Dir, "npm install --no-save --no-package-lock "+n.Name))
	}
	return m.Mend(*unit)
}

// pinnedManager looks for the version of a package manager that corepack would
// start, or that the manager itself insists on.
func pinnedManager(ctx context.Context, m *ecosystem.Machine, n ecosystem.Need) (what, mend string) {
	if !slices.Contains(managers, n.Name) {
		return "", ""
	}
	at, real, err := m.Look(n.Name)
	if m.Online || m.Installs {
		return "", ""
	}
	name, version, file := packageManagerOf(m, n)
	if name != n.Name {
		version = ""
	}
	switch {
	case err != nil && n.Name == yarn && major(version) > 1: // npm has no later one under this name
		return fmt.Sprintf("%s asks for yarn@%s, and no yarn is in PATH", file, version), "corepack enable && corepack prepare yarn@" + version
	case err != nil:
		return "", ""
	}
	if strings.Contains(real, "/corepack/") {
		store := m.Value("COREPACK_HOME", m.Home(".cache", "node", "corepack"))
		have, _ := filepath.Glob(filepath.Join(store, "v1", n.Name, cmp.Or(version, "*"))) // a bad pattern is none
		older, _ := filepath.Glob(filepath.Join(store, n.Name, cmp.Or(version, "*")))
		if len(have)+len(older) > 0 {
			return "", ""
		}
		if version == "" {
			return fmt.Sprintf("%s is corepack's, which would download it", at), "corepack prepare " + n.Name + "@latest --activate"
		}
		return fmt.Sprintf("%s asks for %s@%s, which corepack would download", file, n.Name, version), "corepack prepare " + n.Name + "@" + version
	}
	if n.Name == npm || version == "" || n.Name == yarn && ownYarn(m, n.Dir) {
		return "", ""
	}
	have := managerVersion(ctx, m, n.Name, at, real)
	switch {
	case have == "" || have == version:
	case n.Name == pnpm && major(have) >= 10 && !keepsPNPM(m, n.Dir, version):
		return fmt.Sprintf("%s asks for pnpm@%s, which pnpm %s would download", file, version, have), "pnpm install, in the repository, fetches it; or manage-package-manager-versions=false in .npmrc"
	case n.Name == yarn && major(have) != major(version):
		return fmt.Sprintf("%s asks for yarn@%s, and %s is %s, which refuses to run", file, version, at, have), "corepack enable && corepack prepare yarn@" + version
	}
	return "", ""
}

// major is the first number of a version; 0 where it has none.
func major(version string) int {
	n, _, _ := strings.Cut(version, ".")
	v, _ := strconv.Atoi(n) // 0
	return v
}

// otherManager is a note on a package manager of which the repository asks for
// another version than commands run with.
func otherManager(ctx context.Context, m *ecosystem.Machine, n ecosystem.Need) string {
	if !slices.Contains(managers, n.Name) {
		return ""
	}
	name, version, file := packageManagerOf(m, n)
	at, real, err := m.Look(n.Name)
	if name != n.Name || version == "" || err != nil || strings.Contains(real, "/corepack/") || name == yarn && ownYarn(m, n.Dir) {
		return ""
	}
	have := managerVersion(ctx, m, name, at, real)
	if have == "" || have == version {
		return ""
	}
	return fmt.Sprintf("%s asks for %s@%s, and commands run with %s; mend: npm install -g %s@%s", file, name, version, have, name, version)
}

// managerVersion is that of an installed package manager: what its own manifest
// says, or else it; "" where neither does.
func managerVersion(ctx context.Context, m *ecosystem.Machine, name, at, real string) string {
	var of struct{ Name, Version string }
	_ = json.Unmarshal([]byte(ecosystem.FileText(filepath.Join(packageOf(real), "package.json"))), &of) // then it is asked
	if of.Version != "" && (of.Name == "" || of.Name == name) {
		return of.Version
	}
	said, err := m.Ask(ctx, nil, at, "--version")
	if err != nil || !ecosystem.VersionName.MatchString(said) {
		return ""
	}
	return said
}

// keepsPNPM tells whether pnpm does without a download of the version that is
// asked for: it has it, or it is told to run as it is.
func keepsPNPM(m *ecosystem.Machine, dir, version string) bool {
	have, _ := filepath.Glob(filepath.Join(m.Value("PNPM_HOME", m.Home(".local", "share", "pnpm")), ".tools", "*", version)) // a bad pattern is none
	if len(have) > 0 {
		return true
	}
	for at := range ecosystem.Upward(dir) {
		if keepsOwn.MatchString(m.Text(path.Join(at, ".npmrc"))) || keepsOwn.MatchString(m.Text(path.Join(at, "pnpm-workspace.yaml"))) {
			return true
		}
	}
	return keepsOwn.MatchString(ecosystem.FileText(m.Home(".npmrc")))
}

// keepsOwn is how pnpm is told not to run another version of itself.
var keepsOwn = regexp.MustCompile(`(?m)^\s*(?:manage-package-manager-versions|managePackageManagerVersions)\s*[=:]\s*false\b`)

// packageManagerOf is what the nearest manifest with packageManager names.
func packageManagerOf(m *ecosystem.Machine, n ecosystem.Need) (name, version, file string) {
	for at := range ecosystem.Upward(n.Dir) {
		if of := readManifestJS(m.Checkout, at); of.PackageManager != "" {
			name, version, _ = strings.Cut(of.PackageManager, "@")
			version, _, _ = strings.Cut(version, "+")
			return name, version, path.Join(at, "package.json")
		}
	}
	return "", "", ""
}

// ownYarn tells whether the repository brings its yarn with it.
func ownYarn(m *ecosystem.Machine, dir string) bool {
	for at := range ecosystem.Upward(dir) {
		if strings.Contains(m.Text(path.Join(at, ".yarnrc.yml")), "yarnPath:") || strings.Contains(m.Text(path.Join(at, ".yarnrc")), "yarn-path") {
			return true
		}
	}
	return false
}

// loaded tells whether the repository itself brings the loader of yarn by which packages
// are found.
func loaded(c *ecosystem.Checkout, dir string) bool {
	for at := range ecosystem.Upward(dir) {
		if _, ok := c.Has(at, ".pnp.cjs", ".pnp.js"); ok {
			return true
		}
	}
	return false
}

// unloaded tells whether packages are found by yarn's loader alone, and a checkout does
// not have it.
func unloaded(c *ecosystem.Checkout, dir string) bool {
	return berry(c, dir) && !folderLinker.MatchString(c.Text(path.Join(dir, ".yarnrc.yml"))) && !loaded(c, dir)
}

// folderLinker are the linkers of yarn that install into node_modules.
var folderLinker = regexp.MustCompile(`(?m)^nodeLinker:\s*["']?(?:node-modules|pnpm)\b`)

// berry tells whether a folder is one of yarn 2 or later, by its lockfile, or where it has
// none by the version that it asks for.
func berry(c *ecosystem.Checkout, dir string) bool {
	if lock := c.Text(path.Join(dir, "yarn.lock")); lock != "" {
		return strings.Contains(lock, "__metadata:")
	}
	name, version, _ := strings.Cut(readManifestJS(c, dir).PackageManager, "@")
	return name == yarn && major(version) > 1 || name == "" && c.Exists(path.Join(dir, ".yarnrc.yml"))
}

// relink is what makes installed packages visible to every checkout, where installing them
// does not.
func relink(c *ecosystem.Checkout, u ecosystem.Unit) string {
	if u.Manager != yarn || !unloaded(c, u.Dir) {
		return ""
	}
	return ecosystem.InDir(u.Dir, "yarn config set nodeLinker node-modules && yarn install")
}
