package detect

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"agency/internal/check"
)

// pin is a version that a file of the repository asks for.
type pin struct{ tool, version, file string }

// pinFiles are the files that ask for one version of one tool, at the root.
var pinFiles = []struct{ file, tool string }{
	{".nvmrc", "node"}, {".node-version", "node"}, {".python-version", "python"}, {"rust-toolchain", "rustc"}, {"rust-toolchain.toml", "rustc"},
}

// toolNames are the names of tools in .tool-versions, as Found.Version has them.
var toolNames = map[string]string{"nodejs": "node", "node": "node", "python": "python", "golang": "go", "go": "go", "rust": "rustc", "java": "java"}

// exactPin is a version with a number; others, such as lts/*, name none.
var exactPin = regexp.MustCompile(`(?:^|[a-z-])v?(\d+(?:\.\d+)*)$`)

// pinsOf are the versions that a repository's files ask for.
func pinsOf(repo fs.FS) []pin {
	var out []pin
	add := func(tool, say, file string) {
		if m := exactPin.FindStringSubmatch(strings.TrimSpace(say)); m != nil && tool != "" {
			out = append(out, pin{tool, m[1], file})
		}
	}
	for _, f := range pinFiles {
		all := text(repo, f.file)
		say, _, _ := strings.Cut(strings.TrimSpace(all), "\n")
		if m := rustChannel.FindStringSubmatch(all); m != nil {
			say = m[1]
		}
		add(f.tool, say, f.file)
	}
	var m struct {
		Volta struct {
			Node string `json:"node"`
		} `json:"volta"`
	}
	_ = json.Unmarshal([]byte(text(repo, "package.json")), &m) // then it asks for nothing
	add("node", m.Volta.Node, "volta of package.json")
	for line := range strings.Lines(text(repo, ".tool-versions")) {
		if w := strings.Fields(line); len(w) > 1 {
			add(toolNames[w[0]], w[1], ".tool-versions")
		}
	}
	return out
}

// OtherVersions are notes on toolchains of which the repository asks for another
// version than this machine's, which found tells as Found.Version does. Commands
// run with what is there: what it does otherwise it does on both sides.
func OtherVersions(repo fs.FS, found string) []string {
	var out []string
	for _, p := range pinsOf(repo) {
		have := versionOf(found, p.tool)
		if have == "" || have == p.version || strings.HasPrefix(have, p.version+".") {
			continue
		}
		out = append(out, fmt.Sprintf("%s asks for %s %s, and commands run with %s; mend: %s", p.file, p.tool, p.version, have, install(p)))
	}
	var w want
	for _, d := range findModules(repo) {
		if m := toolchainLine.FindStringSubmatch(text(repo, path.Join(d.dir, d.manifest()))); m != nil && newer(m[1], w.toolchain) {
			w.toolchain, w.toolchainIn = m[1], path.Join(d.dir, d.manifest())
		}
	}
	if have := versionOf(found, "go"); have != "" && w.toolchain != "" && newer(w.toolchain, "go"+have) {
		out = append(out, fmt.Sprintf("%s names the toolchain %s, and commands run with go%s; mend: GOTOOLCHAIN=auto go version, in the repository, fetches it", w.toolchainIn, w.toolchain, have))
	}
	return out
}

// versionOf is a tool's version among those found: "node v20.1.0", "go1.26.1 linux/amd64".
func versionOf(found, tool string) string {
	for part := range strings.SplitSeq(found, ", ") {
		if v, ok := strings.CutPrefix(part, tool+" "); ok {
			v, _, _ = strings.Cut(strings.TrimPrefix(v, "v"), " ")
			if tool == "java" { // the folder comes first
				v = lastWord(part)
			}
			return v
		}
		if v, ok := strings.CutPrefix(part, "go"); ok && tool == "go" {
			v, _, _ = strings.Cut(v, " ")
			return v
		}
	}
	return ""
}

func lastWord(s string) string { return s[strings.LastIndexByte(s, ' ')+1:] }

// install is how a version comes onto a machine.
func install(p pin) string {
	switch p.tool {
	case "node":
		return "nvm install " + p.version + ", and start the run where it is in PATH"
	case "python":
		return "pyenv install " + p.version
	case "rustc":
		return "rustup toolchain install " + p.version
	}
	return "install " + p.tool + " " + p.version + ", and start the run where it is in PATH"
}

// pinned tells of a package manager or compiler that a file asks for in a
// version which is not installed, where that would keep a command from running:
// the sandbox has no network to fetch it.
func (b Base) pinned(ctx context.Context, n check.Need) (what, mend string) {
	switch n.Name {
	case "cargo", "rustc":
		return b.pinnedRust(ctx)
	case byNPM, byPNPM, byYarn:
		return b.pinnedManager(ctx, n)
	}
	return "", ""
}

func (b Base) pinnedRust(ctx context.Context) (what, mend string) {
	root := b.Root.FS()
	channel, file := strings.TrimSpace(text(root, "rust-toolchain")), "rust-toolchain"
	if m := rustChannel.FindStringSubmatch(text(root, "rust-toolchain.toml") + "\n" + channel); m != nil {
		channel = m[1]
		if exists(root, "rust-toolchain.toml") {
			file = "rust-toolchain.toml"
		}
	}
	bin, _, err := look(b.Env, "rustc")
	if err != nil || !versionName.MatchString(channel) {
		return "", ""
	}
	if _, err := ask(ctx, b.Env, []string{"RUSTUP_TOOLCHAIN=" + channel}, bin, "--print", "sysroot"); err == nil {
		return "", ""
	}
	return fmt.Sprintf("%s asks for Rust %s, which is not installed", file, channel), "rustup toolchain install " + channel
}

// pinnedManager looks for the version of a package manager that corepack would
// start, or that the manager itself insists on.
func (b Base) pinnedManager(ctx context.Context, n check.Need) (what, mend string) {
	at, real, err := look(b.Env, n.Name)
	if err != nil || b.Online || b.Commands.Setup != "" {
		return "", ""
	}
	name, version, file := b.packageManagerOf(n)
	if name != n.Name {
		version = ""
	}
	if strings.Contains(real, "/corepack/") {
		in := Input{Env: b.Env}
		store := value(in, "COREPACK_HOME", home(in, ".cache", "node", "corepack"))
		have, _ := filepath.Glob(filepath.Join(store, "v1", n.Name, orAny(version))) // a bad pattern is none
		older, _ := filepath.Glob(filepath.Join(store, n.Name, orAny(version)))
		if len(have)+len(older) > 0 {
			return "", ""
		}
		if version == "" {
			return fmt.Sprintf("%s is corepack's, which would download it", at), "corepack prepare " + n.Name + "@latest --activate"
		}
		return fmt.Sprintf("%s asks for %s@%s, which corepack would download", file, n.Name, version), "corepack prepare " + n.Name + "@" + version
	}
	if n.Name == byNPM || version == "" || n.Name == byYarn && b.ownYarn(n.Dir) {
		return "", ""
	}
	have := b.managerVersion(ctx, n.Name, at, real)
	switch {
	case have == "" || have == version:
	case n.Name == byPNPM && major(have) >= 10 && !b.keepsPNPM(n.Dir, version):
		return fmt.Sprintf("%s asks for pnpm@%s, which pnpm %s would download", file, version, have), "pnpm install, in the repository, fetches it; or manage-package-manager-versions=false in .npmrc"
	case n.Name == byYarn && major(have) != major(version):
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
func (b Base) otherManager(ctx context.Context, n check.Need) string {
	if n.Name != byNPM && n.Name != byPNPM && n.Name != byYarn {
		return ""
	}
	name, version, file := b.packageManagerOf(n)
	at, real, err := look(b.Env, n.Name)
	if name != n.Name || version == "" || err != nil || strings.Contains(real, "/corepack/") || name == byYarn && b.ownYarn(n.Dir) {
		return ""
	}
	have := b.managerVersion(ctx, name, at, real)
	if have == "" || have == version {
		return ""
	}
	return fmt.Sprintf("%s asks for %s@%s, and commands run with %s; mend: npm install -g %s@%s", file, name, version, have, name, version)
}

// managerVersion is that of an installed package manager: what its own manifest
// says, or else it; "" where neither does.
func (b Base) managerVersion(ctx context.Context, name, at, real string) string {
	var m struct{ Name, Version string }
	_ = json.Unmarshal([]byte(fileText(filepath.Join(packageOf(real), "package.json"))), &m) // then it is asked
	if m.Version != "" && (m.Name == "" || m.Name == name) {
		return m.Version
	}
	said, err := ask(ctx, b.Env, nil, at, "--version")
	if err != nil || !versionName.MatchString(said) {
		return ""
	}
	return said
}

// keepsPNPM tells whether pnpm does without a download of the version that is
// asked for: it has it, or it is told to run as it is.
func (b Base) keepsPNPM(dir, version string) bool {
	in := Input{Env: b.Env}
	have, _ := filepath.Glob(filepath.Join(value(in, "PNPM_HOME", home(in, ".local", "share", "pnpm")), ".tools", "*", version)) // a bad pattern is none
	if len(have) > 0 {
		return true
	}
	for at := dir; ; at = path.Dir(at) {
		root := b.Root.FS()
		if keepsOwn.MatchString(text(root, path.Join(at, ".npmrc"))) || keepsOwn.MatchString(text(root, path.Join(at, "pnpm-workspace.yaml"))) {
			return true
		}
		if at == "." {
			return keepsOwn.MatchString(fileText(home(in, ".npmrc")))
		}
	}
}

// keepsOwn is how pnpm is told not to run another version of itself.
var keepsOwn = regexp.MustCompile(`(?m)^\s*(?:manage-package-manager-versions|managePackageManagerVersions)\s*[=:]\s*false\b`)

func orAny(version string) string {
	if version == "" {
		return "*"
	}
	return version
}

// packageManagerOf is what the nearest manifest with packageManager names.
func (b Base) packageManagerOf(n check.Need) (name, version, file string) {
	for at := n.Dir; ; at = path.Dir(at) {
		if m := readManifestJS(b.Root.FS(), at); m.PackageManager != "" {
			name, version, _ = strings.Cut(m.PackageManager, "@")
			version, _, _ = strings.Cut(version, "+")
			return name, version, path.Join(at, "package.json")
		}
		if at == "." {
			return "", "", ""
		}
	}
}

// ownYarn tells whether the repository brings its yarn with it.
func (b Base) ownYarn(dir string) bool {
	for at := dir; ; at = path.Dir(at) {
		if strings.Contains(text(b.Root.FS(), path.Join(at, ".yarnrc.yml")), "yarnPath:") || strings.Contains(text(b.Root.FS(), path.Join(at, ".yarnrc")), "yarn-path") {
			return true
		}
		if at == "." {
			return false
		}
	}
}
