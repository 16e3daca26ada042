package rust

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/ecosystem"
	"agency/internal/regexp"
)

// cargo is the package manager, and the name of its cache.
const cargo = "cargo"

// cargoUsers are the programs for which packages are installed.
var cargoUsers = regexp.MustCompile(`^cargo$`)

func project() ecosystem.Project {
	return ecosystem.Project{
		Parts: ecosystem.Parts{
			Manifests: []string{"Cargo.toml"}, Find: rustParts, Uses: uses, Program: func(ecosystem.Part) string { return cargo }, Lacks: rustLacks,
		},
		Dependencies: ecosystem.Dependencies{
			Managers: []string{cargo},
			Units: func(c *ecosystem.Checkout) []ecosystem.Unit {
				return c.CacheUnit(cargo, cargo, ecosystem.Topmost(c.With("Cargo.toml")), "Cargo.toml", "Cargo.lock")
			},
			Folders:   []ecosystem.Folder{{Manifests: []string{"Cargo.toml"}, Names: []string{"target"}, Proof: "CACHEDIR.TAG"}},
			Manifests: []string{"Cargo.toml"},
			Installs:  ecosystem.InstallWords(map[string][]string{cargo: {"fetch"}}),
			Setup:     setup, Leaves: "Cargo.lock",
			Reader: func(base string) func([]byte) ecosystem.Versions {
				return map[string]func([]byte) ecosystem.Versions{"Cargo.toml": ecosystem.TOMLDependencies, "Cargo.lock": ecosystem.TOMLLock}[base]
			},
			Probe:     probe,
			Answered:  func(exit int, output string) bool { return exit == 0 || !cargoOffline.MatchString(output) },
			HostFiles: []string{".cargo/config.toml"}, Hosts: sparse, Registries: registries,
			Users: cargoUsers, Denied: denied,
		},
		Toolchain: ecosystem.Toolchain{
			Tool: "rustc", Names: []string{"rust"}, Looks: "rustc and cargo",
			Needed: func(c *ecosystem.Checkout) bool { return len(c.With("Cargo.toml")) > 0 }, Find: rustToolchain,
			Variables: []string{"RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "CARGO_HOME"}, Quiet: []string{"RUSTUP_AUTO_INSTALL=0"},
			PinFiles: []string{"rust-toolchain", "rust-toolchain.toml"}, Pinned: pinned,
			Installs: func(version string) string { return "rustup toolchain install " + version },
		},
		Programs: ecosystem.Programs{
			Install: map[string]string{
				cargo: "install Rust (https://rustup.rs)", "cargo-nextest": "cargo install cargo-nextest --locked",
				"cargo-clippy": "rustup component add clippy", "cargo-fmt": "rustup component add rustfmt",
			},
			Toolchain: []string{cargo, "rustc"}, Harmless: []string{cargo, "rustc"},
			Folders:     map[string][]string{cargo: {"-C", "--manifest-path"}},
			Subcommands: map[string][]string{cargo: {"nextest", "clippy", "fmt", "llvm-cov", "tarpaulin", "hack", "deny", "audit", "make"}},
			Fetches:     fetches,
		},
		Imports: ecosystem.Imports{Packages: affectedCrates},
	}
}

var tomlFolder = regexp.MustCompile(`path\s*=\s*"([^"]+)"`)

func uses(c *ecosystem.Checkout, dir string) []string {
	return c.Named(path.Join(dir, "Cargo.toml"), tomlFolder)
}

func cargoHome(m *ecosystem.Machine) string { return m.Value("CARGO_HOME", m.Home(".cargo")) }

func setup(c *ecosystem.Checkout, _ ecosystem.Unit, loose bool) (line string) {
	for _, d := range ecosystem.Topmost(c.With("Cargo.toml")) {
		fetch := "cargo fetch"
		if c.Files(d)["Cargo.lock"] && !loose {
			fetch += " --locked"
		}
		line = ecosystem.JoinLines(line, ecosystem.InDir(d, fetch))
	}
	return line
}

func probe(c *ecosystem.Checkout, _ ecosystem.Unit, _ []ecosystem.Package) (line string) {
	for _, d := range ecosystem.Topmost(c.With("Cargo.toml")) {
		line = ecosystem.JoinLines(line, ecosystem.InDir(d, "cargo metadata --offline --format-version 1 "+thisPlatform+" >/dev/null"))
	}
	return line
}

// denied is the crate that Cargo says it would download.
func denied(u ecosystem.Unit, output string) []string {
	if m := cargoPackage.FindStringSubmatch(output); m != nil {
		return []string{m[1] + m[2]}
	}
	return []string{"crates of " + strings.Join(u.Locks, ", ")}
}

// pinned is the channel of a rust-toolchain file.
func pinned(text string) string {
	if m := rustChannel.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

func rustParts(c *ecosystem.Checkout, _ func(string) bool) []ecosystem.Part {
	var parts []ecosystem.Part
	for _, dir := range ecosystem.Topmost(c.With("Cargo.toml")) {
		all := ""
		if strings.Contains(c.Text(path.Join(dir, "Cargo.toml")), "[workspace]") {
			all = " --workspace"
		}
		parts = append(parts, ecosystem.Part{
			Language: "Rust", Manifest: path.Join(dir, "Cargo.toml"), Dir: dir,
			Test: "cargo test" + all, Build: "cargo build" + all,
		})
	}
	return parts
}

var rustChannel = regexp.MustCompile(`(?m)^\s*channel\s*=\s*"([^"]+)"`)

// rustToolchain shows the toolchain that rustup would choose, without rustup:
// its proxies read the repository and would fetch what is missing.
func rustToolchain(ctx context.Context, m *ecosystem.Machine) (ecosystem.Environment, error) {
	bin, _, err := m.Look("rustc")
	if err != nil {
		return ecosystem.Environment{}, err
	}
	var extra []string
	channel, _ := channelOf(m)
	if ecosystem.VersionName.MatchString(channel) {
		extra = []string{"RUSTUP_TOOLCHAIN=" + channel}
	}
	root, err := m.Ask(ctx, extra, bin, "--print", "sysroot")
	if err != nil {
		return ecosystem.Environment{}, err
	}
	version, err := m.Ask(ctx, extra, filepath.Join(root, "bin", "rustc"), "-V")
	if err != nil {
		return ecosystem.Environment{}, err
	}
	b := ecosystem.NewBuilder(m)
	b.Show(root)
	b.Names(filepath.Join(root, "bin"), 1)
	b.Names(filepath.Join(root, "lib"), 1) // the compiler itself
	b.Set("PATH", filepath.Join(root, "bin"))
	home := cargoHome(m)
	b.Own(home, "cargo") // credentials lie in the user's own
	b.Cache(filepath.Join(home, "registry"), "cargo-registry")
	b.Cache(filepath.Join(home, "git"), "cargo-git")
	b.Set("CARGO_HOME", home)
	b.Names(filepath.Join(home, "registry", "src"), 2) // Cargo checks a crate once, when it unpacks it
	b.Names(filepath.Join(home, "registry", "cache"), 2)
	b.Names(filepath.Join(home, "git", "checkouts"), 2)
	b.Set("CARGO_NET_OFFLINE", "true")
	b.Set("CARGO_TERM_COLOR", "never")
	if m.Dir != "" && slices.ContainsFunc(ecosystem.Topmost(m.With("Cargo.toml")), func(d string) bool { return !m.IgnoresFolder(m.Dir, path.Join(d, "target")) }) {
		built := filepath.Join(home, "agency-target") // beside the checkout, where git would see it
		b.Own(built, "cargo-target")
		b.Set("CARGO_TARGET_DIR", built)
	}
	for _, tool := range []string{"cargo-nextest"} {
		if at, real, err := m.Look(tool); err == nil && !ecosystem.OfSystem(real) {
			b.Show(real)
			b.Program(real)
			b.Tools.Env[0] += ":" + filepath.Dir(at)
		}
	}
	b.Program(filepath.Join(home, "config.toml"))
	if config := filepath.Join(home, "config.toml"); !strings.Contains(ecosystem.FileText(config), "token") {
		b.Show(config)
	}
	b.Caches = []ecosystem.Cache{{Name: cargo, Env: []string{"CARGO_HOME={}"}}}
	b.Online = []string{"CARGO_NET_OFFLINE=false"}
	b.Version = version
	return b.Environment, nil
}

// channelOf is the toolchain that the repository asks for, and the file that does.
func channelOf(m *ecosystem.Machine) (channel, file string) {
	channel, file = strings.TrimSpace(m.Text("rust-toolchain")), "rust-toolchain"
	if of := rustChannel.FindStringSubmatch(m.Text("rust-toolchain.toml") + "\n" + channel); of != nil {
		channel = of[1]
		if m.Exists("rust-toolchain.toml") {
			file = "rust-toolchain.toml"
		}
	}
	return channel, file
}

// fetches is the toolchain that rustup would fetch.
func fetches(ctx context.Context, m *ecosystem.Machine, n ecosystem.Need) (what, mend string) {
	if n.Name != cargo && n.Name != "rustc" {
		return "", ""
	}
	channel, file := channelOf(m)
	bin, _, err := m.Look("rustc")
	if err != nil || !ecosystem.VersionName.MatchString(channel) {
		return "", ""
	}
	if _, err := m.Ask(ctx, []string{"RUSTUP_TOOLCHAIN=" + channel}, bin, "--print", "sysroot"); err == nil {
		return "", ""
	}
	return fmt.Sprintf("%s asks for Rust %s, which is not installed", file, channel), "rustup toolchain install " + channel
}

var cargoSparse = regexp.MustCompile(`sparse\+https://[^"]+`)

// sparse are the registries that a lockfile names.
func sparse(base string, text []byte) (part []byte, ok bool) {
	switch base {
	case "Cargo.toml":
		return nil, true // links to homepages
	case "Cargo.lock":
	default:
		return nil, false
	}
	for _, m := range cargoSparse.FindAll(text, -1) {
		part = append(append(part, m...), '\n')
	}
	return part, true
}

// registries are what Cargo has kept of the registries that it used: each index
// says where its crates are, and the index's folder is called by its host.
func registries(_ context.Context, m *ecosystem.Machine, _ string) string {
	var b strings.Builder
	files, _ := filepath.Glob(filepath.Join(cargoHome(m), "registry", "index", "*", "config.json")) // a bad pattern is none
	for _, f := range files {
		b.WriteString(ecosystem.FileText(f) + "\n")
		name := filepath.Base(filepath.Dir(f))
		if i := strings.LastIndexByte(name, '-'); i > 0 {
			b.WriteString("https://" + name[:i] + "\n")
		}
	}
	return b.String()
}

// thisPlatform leaves out what other systems than this one need: nobody has
// downloaded it.
const thisPlatform = `--filter-platform "$(rustc -vV | sed -n 's/^host: //p')"`

// cargoOffline is how Cargo says that it would have to download.
var (
	cargoOffline = regexp.MustCompile(`(?i)--offline|offline was specified|failed to download|no matching package|unable to update registry|failed to load source`)
	cargoPackage = regexp.MustCompile("(?m)(?:failed to download `([^`]+)`|no matching package named `([^`]+)`)")
)

// rustLacks names a crate of the lockfile that Cargo has not downloaded.
func rustLacks(m *ecosystem.Machine, p ecosystem.Part) (what, mend string) {
	home := cargoHome(m)
	for _, t := range lockedCrate.FindAllStringSubmatch(m.Text(path.Join(p.Dir, "Cargo.lock")), -1) {
		at, _ := filepath.Glob(filepath.Join(home, "registry", "cache", "*", t[1]+"-"+t[2]+".crate")) // a bad pattern is none
		if len(at) == 0 {
			return t[1] + " " + t[2] + " is not downloaded", ecosystem.InDir(p.Dir, "cargo fetch --locked")
		}
	}
	return "", ""
}

var lockedCrate = regexp.MustCompile(`(?m)^name = "([^"]+)"\nversion = "([^"]+)"\nsource = "registry\+`)
