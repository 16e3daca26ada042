package node

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"agency/internal/agency"
	"agency/internal/ecosystem"
	"agency/internal/regexp"
)

// The package managers, by the names of their programs.
const (
	npm  = "npm"
	pnpm = "pnpm"
	yarn = "yarn"
)

var managers = []string{npm, pnpm, yarn}

// nodeUsers are the programs for which packages are installed.
var nodeUsers = regexp.MustCompile(`^(?:npm|npx|node|pnpm|yarn|jest|vitest|mocha|tsc)$`)

var packageParts = regexp.MustCompile(`(?s)"(?:dependencies|devDependencies|optionalDependencies|peerDependencies|overrides|resolutions|workspaces)"\s*:\s*[\[{][^\]}]*[\]}]`)

func project() ecosystem.Project {
	return ecosystem.Project{
		Parts: ecosystem.Parts{Manifests: []string{"package.json"}, Find: nodeParts, Member: member, Uses: uses, Program: program, Lacks: nodeLacks},
		Dependencies: ecosystem.Dependencies{
			Managers: managers, Units: nodeUnits,
			Folders:   []ecosystem.Folder{{Manifests: []string{"package.json"}, Names: []string{"node_modules"}, Locks: nodeLocks}},
			Manifests: []string{"package.json"}, Alone: func(base string) bool { return base == "package.json" },
			ManifestOf: map[string]string{
				"package-lock.json": "package.json", "pnpm-lock.yaml": "package.json", "yarn.lock": "package.json", "bun.lock": "package.json",
			},
			Decides: map[string]*regexp.Regexp{"package.json": packageParts}, Noted: noted,
			Installs: ecosystem.InstallWords(map[string][]string{
				npm: {"ci", "install", "i", "clean-install"}, pnpm: {"install", "i"}, yarn: {"install", ""}, "bun": {"install", "i"},
			}),
			Setup:  setup,
			Reader: packagesOf, Unread: []string{"bun.lock", "bun.lockb"},
			HostFiles: []string{".npmrc", ".yarnrc", ".yarnrc.yml"}, Hosts: hosts, Registries: registries,
			Users: nodeUsers, Absent: nodeAbsent, Relink: relink,
		},
		Toolchain: ecosystem.Toolchain{
			Tool: "node", Names: []string{"nodejs", "node"}, Looks: "node",
			Needed: func(c *ecosystem.Checkout) bool { return len(c.With("package.json")) > 0 }, Find: nodeToolchain,
			Variables: []string{"NVM_DIR", "VOLTA_HOME", "FNM_DIR"},
			Quiet:     []string{"COREPACK_ENABLE_NETWORK=0", "COREPACK_ENABLE_DOWNLOAD_PROMPT=0"},
			PinFiles:  []string{".nvmrc", ".node-version"}, MorePins: volta,
			Installs: func(version string) string {
				return "nvm install " + version + ", and start the run where it is in PATH"
			},
		},
		Programs: programs(),
		Imports:  ecosystem.Imports{Read: imported, Decides: decidesTests},
	}
}

// volta is the version that a manifest asks for.
func volta(c *ecosystem.Checkout) []ecosystem.Pin {
	var m struct {
		Volta struct {
			Node string `json:"node"`
		} `json:"volta"`
	}
	_ = json.Unmarshal([]byte(c.Text("package.json")), &m) // then it asks for nothing
	return []ecosystem.Pin{{Tool: "node", Version: m.Volta.Node, File: "volta of package.json"}}
}

// toolchain is the environment of node while it is made.
type toolchain struct{ *ecosystem.Builder }

// retries is npm's setting of how often it asks a registry again, which without
// a network takes a minute to come to nothing.
const retries = "fetch_retries"

// nodeToolchain shows the installation that node itself names, the package
// managers beside it, and the user's caches of packages.
func nodeToolchain(ctx context.Context, m *ecosystem.Machine) (ecosystem.Environment, error) {
	bin, _, err := m.Look("node", "nodejs")
	if err != nil {
		return ecosystem.Environment{}, err
	}
	out, err := m.Ask(ctx, nil, bin, "-p", "process.execPath + '\\n' + process.version")
	exe, version, ok := strings.Cut(out, "\n")
	if err != nil || !ok || !filepath.IsAbs(exe) {
		return ecosystem.Environment{}, fmt.Errorf("%s does not tell where it lies: %q, %w", bin, out, err)
	}
	b := toolchain{ecosystem.NewBuilder(m)}
	b.Program(exe)
	b.Packages(filepath.Join(filepath.Dir(filepath.Dir(exe)), "lib", "node_modules")) // npm, and what is installed for all
	dirs := []string{filepath.Dir(exe)}
	if !ecosystem.OfSystem(exe) {
		b.Prefix(filepath.Dir(filepath.Dir(exe)), exe)
	}
	for _, pm := range []string{pnpm, yarn, npm} {
		at, real, err := m.Look(pm)
		if err != nil || ecosystem.OfSystem(at) || strings.HasPrefix(at, filepath.Dir(filepath.Dir(exe))+"/") {
			continue
		}
		pkg := packageOf(real)
		b.Packages(pkg)
		b.Show(pkg)
		b.Show(at)
		if filepath.Base(real) != pm { // a link on the host, and a copy of the program without its package inside
			dirs = append(dirs, b.alias(pm, real, pkg))
		}
		dirs = append(dirs, filepath.Dir(at))
	}
	b.Set("PATH", strings.Join(dirs, ":"))
	b.Set("CI", "true") // watchers and prompts would never end
	b.Set("COREPACK_ENABLE_NETWORK", "0")
	b.Set("COREPACK_ENABLE_DOWNLOAD_PROMPT", "0")
	for _, kv := range [][2]string{{"manage_package_manager_versions", "false"}, {"update_notifier", "false"}, {"audit", "false"}, {"fund", "false"}, {"logs_dir", "/tmp/npm-logs"}, {"prefer_offline", "true"}, {retries, "0"}} {
		b.Set("npm_config_"+kv[0], kv[1])
	}
	if corepack := m.Value("COREPACK_HOME", m.Home(".cache", "node", "corepack")); ecosystem.Exist(corepack) {
		b.Show(corepack)
		b.Names(corepack, 3) // a manager, and a version of it each
		b.Set("COREPACK_HOME", corepack)
	}
	if cache := m.Value("npm_config_cache", m.Home(".npm")); ecosystem.Exist(filepath.Join(cache, "_cacache")) {
		b.Cache(filepath.Join(cache, "_cacache"), "npm")
		b.Set("npm_config_cache", cache)
	}
	b.Online = []string{"COREPACK_ENABLE_NETWORK=1", "npm_config_" + retries + "=2"}
	b.Version = "node " + strings.TrimSpace(version)
	return b.Environment, nil
}

// alias shows a package once more, with its program under the name by which it
// is called, and gives the program's folder. Programs of JavaScript find their
// package by the folder that they lie in.
func (b toolchain) alias(name, real, pkg string) (bin string) {
	at := filepath.Join(ecosystem.Aliases, name)
	sub, err := filepath.Rel(pkg, filepath.Dir(real))
	if err != nil || pkg == real || strings.Contains(sub, "/") || sub == "." {
		return filepath.Dir(real)
	}
	show := func(host, inside string) {
		b.ShowAt(host, filepath.Join(at, inside), agency.NamedByTools, "")
	}
	for _, dir := range []string{"", sub} {
		entries, err := os.ReadDir(filepath.Join(pkg, dir))
		if err != nil {
			return filepath.Dir(real)
		}
		for _, e := range entries {
			if inside := filepath.Join(dir, e.Name()); inside != sub && e.Name() != name {
				show(filepath.Join(pkg, inside), inside)
			}
		}
	}
	show(real, filepath.Join(sub, name))
	return filepath.Join(at, sub)
}

// packageOf is the package that a program of JavaScript lies in, or the program
// alone.
func packageOf(real string) string {
	for at := filepath.Dir(real); at != "/" && at != "."; at = filepath.Dir(at) {
		if ecosystem.Exist(filepath.Join(at, "package.json")) {
			return at
		}
	}
	return real
}
