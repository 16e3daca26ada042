package detect

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"agency/internal/check"
	"agency/internal/sandbox"
)

// retries is npm's setting of how often it asks a registry again, which without
// a network takes a minute to come to nothing.
const retries = "fetch_retries"

// nodeToolchain shows the installation that node itself names, the package
// managers beside it, and the user's caches of packages.
func nodeToolchain(ctx context.Context, in Input) (Found, error) {
	bin, _, err := look(in.Env, "node", "nodejs")
	if err != nil {
		return Found{}, err
	}
	out, err := ask(ctx, in.Env, nil, bin, "-p", "process.execPath + '\\n' + process.version")
	exe, version, ok := strings.Cut(out, "\n")
	if err != nil || !ok || !filepath.IsAbs(exe) {
		return Found{}, fmt.Errorf("%s does not tell where it lies: %q, %w", bin, out, err)
	}
	var b builder
	b.program(exe)
	b.packages(filepath.Join(filepath.Dir(filepath.Dir(exe)), "lib", "node_modules")) // npm, and what is installed for all
	dirs := []string{filepath.Dir(exe)}
	if !system(exe) {
		b.show(filepath.Dir(filepath.Dir(exe)))
	}
	for _, pm := range []string{"pnpm", "yarn", "npm"} {
		at, real, err := look(in.Env, pm)
		if err != nil || system(real) || strings.HasPrefix(real, filepath.Dir(filepath.Dir(exe))+"/") {
			continue
		}
		pkg := packageOf(real)
		b.packages(pkg)
		b.show(pkg)
		b.show(at)
		if filepath.Base(real) != pm { // a link on the host, and a copy of the program without its package inside
			dirs = append(dirs, b.alias(pm, real, pkg))
		}
		dirs = append(dirs, filepath.Dir(at))
	}
	b.env("PATH", strings.Join(dirs, ":"))
	b.env("CI", "true") // watchers and prompts would never end
	b.env("COREPACK_ENABLE_NETWORK", "0")
	b.env("COREPACK_ENABLE_DOWNLOAD_PROMPT", "0")
	for _, kv := range [][2]string{{"manage_package_manager_versions", "false"}, {"update_notifier", "false"}, {"audit", "false"}, {"fund", "false"}, {"logs_dir", "/tmp/npm-logs"}, {"prefer_offline", "true"}, {retries, "0"}} {
		b.env("npm_config_"+kv[0], kv[1])
	}
	if corepack := value(in, "COREPACK_HOME", home(in, ".cache", "node", "corepack")); exist(corepack) {
		b.show(corepack)
		b.names(corepack, 3) // a manager, and a version of it each
		b.env("COREPACK_HOME", corepack)
	}
	if npm := value(in, "npm_config_cache", home(in, ".npm")); exist(filepath.Join(npm, "_cacache")) {
		b.cache(filepath.Join(npm, "_cacache"), "npm")
		b.env("npm_config_cache", npm)
	}
	b.f.Online = []string{"COREPACK_ENABLE_NETWORK=1", "npm_config_" + retries + "=2"}
	b.f.Version = "node " + strings.TrimSpace(version)
	return b.f, nil
}

// alias shows a package once more, with its program under the name by which it
// is called, and gives the program's folder. Programs of JavaScript find their
// package by the folder that they lie in.
func (b *builder) alias(name, real, pkg string) (bin string) {
	at := filepath.Join("/run/agency", name)
	sub, err := filepath.Rel(pkg, filepath.Dir(real))
	if err != nil || pkg == real || strings.Contains(sub, "/") || sub == "." {
		return filepath.Dir(real)
	}
	show := func(host, inside string) {
		b.f.Tools.ReadOnly = append(b.f.Tools.ReadOnly, sandbox.Mount{Host: host, At: filepath.Join(at, inside)})
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
		if exist(filepath.Join(at, "package.json")) {
			return at
		}
	}
	return real
}

func exist(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// versionName is what a version file may say.
var versionName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]*$`)

const askPython = "import sys; print(sys.executable); print(sys.base_prefix); print(sys.prefix); print('.'.join(map(str, sys.version_info[:3])))"

// pythonToolchain shows the interpreter that the user's python3 is, behind its
// version manager, and virtual environments: the one that is active and those
// in the checkout.
func pythonToolchain(ctx context.Context, in Input) (Found, error) {
	bin, _, err := look(in.Env, "python3", "python")
	if err != nil {
		return Found{}, err
	}
	var extra []string
	if v, _, _ := strings.Cut(text(in.Repo, ".python-version"), "\n"); versionName.MatchString(strings.TrimSpace(v)) {
		extra = []string{"PYENV_VERSION=" + strings.TrimSpace(v)}
	}
	out, err := ask(ctx, in.Env, extra, bin, "-I", "-S", "-c", askPython)
	if err != nil && extra != nil { // a version that is not installed
		out, err = ask(ctx, in.Env, nil, bin, "-I", "-S", "-c", askPython)
	}
	say := strings.Split(out, "\n")
	if err != nil || len(say) != 4 || !filepath.IsAbs(say[0]) {
		return Found{}, fmt.Errorf("%s does not tell where it lies: %q, %w", bin, out, err)
	}
	var b builder
	var dirs []string
	if in.Dir != "" {
		dirs = b.venvs(in)
	}
	if active := value(in, "VIRTUAL_ENV", ""); active != "" && exist(filepath.Join(active, "pyvenv.cfg")) && !strings.HasPrefix(active+"/", in.Dir+"/") {
		b.venv(active)
		b.show(active)
		b.packages(active)
		dirs = append(dirs, filepath.Join(active, "bin"))
	}
	b.program(say[0])
	b.sitePackages(say[1], say[3])
	b.show(say[1])
	if say[2] != say[1] {
		b.show(say[2])
	}
	b.env("PATH", strings.Join(append(dirs, filepath.Dir(say[0])), ":"))
	b.env("PYTHONDONTWRITEBYTECODE", "1") // a checkout without ignore rules would keep it
	b.env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
	b.env("PIP_NO_INPUT", "1")
	b.userPackages(in, say[3])
	b.uv(in)
	b.f.Version = "python " + say[3]
	return b.f, nil
}

// userPackages shows what pip installed for the user, where there is something.
func (b *builder) userPackages(in Input, version string) {
	minor := strings.Join(strings.SplitN(version, ".", 3)[:2], ".")
	if at := home(in, ".local", "lib", "python"+minor); exist(at) {
		b.show(at)
		b.packages(at)
		b.env("PYTHONUSERBASE", home(in, ".local"))
	}
}

func (b *builder) uv(in Input) {
	at, real, err := look(in.Env, "uv")
	if err != nil {
		return
	}
	b.program(real)
	if !system(real) {
		b.show(real)
		b.show(at)
		b.f.Tools.Env[0] += ":" + filepath.Dir(at)
	}
	for _, kv := range [][2]string{{"UV_OFFLINE", "1"}, {"UV_PYTHON_DOWNLOADS", "never"}, {"UV_NO_SYNC", "1"}} {
		b.env(kv[0], kv[1])
	}
	b.f.Online = append(b.f.Online, "UV_OFFLINE=0", "UV_NO_SYNC=0", "UV_LINK_MODE=copy")
	if cache := value(in, "UV_CACHE_DIR", home(in, ".cache", "uv")); exist(cache) {
		b.cache(cache, "uv")
		b.env("UV_CACHE_DIR", cache)
	}
}

// venvs shows the interpreters of the virtual environments of the checkout; the
// environments themselves are dependency folders. The one at the root is put
// into PATH, as its activation does.
func (b *builder) venvs(in Input) (dirs []string) {
	for dir := range survey(in.Repo).dirs {
		for _, name := range venvs {
			at := filepath.Join(in.Dir, filepath.FromSlash(dir), name)
			if !exist(filepath.Join(at, "pyvenv.cfg")) {
				continue
			}
			b.venv(at)
			if dir == "." && len(dirs) == 0 {
				dirs = append(dirs, filepath.Join(at, "bin"))
				b.env("VIRTUAL_ENV", at)
			}
		}
	}
	return dirs
}

var venvHome = regexp.MustCompile(`(?m)^\s*home\s*=\s*(\S.*?)\s*$`)

// venv shows the interpreter that a virtual environment was made from.
func (b *builder) venv(at string) {
	cfg, err := os.ReadFile(filepath.Join(at, "pyvenv.cfg"))
	if err != nil {
		return
	}
	m := venvHome.FindSubmatch(cfg)
	if m == nil || !filepath.IsAbs(string(m[1])) {
		return
	}
	real, err := filepath.EvalSymlinks(string(m[1]))
	if err == nil && filepath.Base(real) == "bin" && hasPython(real) {
		b.show(filepath.Dir(string(m[1])))
		b.show(filepath.Dir(real))
	}
}

// hasPython tells a folder of an interpreter: a file of the checkout names it,
// and nothing else may be shown for that.
func hasPython(bin string) bool {
	lib, err := filepath.Glob(filepath.Join(filepath.Dir(bin), "lib", "python*", "os.py"))
	return err == nil && len(lib) > 0
}

var rustChannel = regexp.MustCompile(`(?m)^\s*channel\s*=\s*"([^"]+)"`)

// rustToolchain shows the toolchain that rustup would choose, without rustup:
// its proxies read the repository and would fetch what is missing.
func rustToolchain(ctx context.Context, in Input) (Found, error) {
	bin, _, err := look(in.Env, "rustc")
	if err != nil {
		return Found{}, err
	}
	var extra []string
	channel := strings.TrimSpace(text(in.Repo, "rust-toolchain"))
	if m := rustChannel.FindStringSubmatch(text(in.Repo, "rust-toolchain.toml") + "\n" + channel); m != nil {
		channel = m[1]
	}
	if versionName.MatchString(channel) {
		extra = []string{"RUSTUP_TOOLCHAIN=" + channel}
	}
	root, err := ask(ctx, in.Env, extra, bin, "--print", "sysroot")
	if err != nil {
		return Found{}, err
	}
	version, err := ask(ctx, in.Env, extra, filepath.Join(root, "bin", "rustc"), "-V")
	if err != nil {
		return Found{}, err
	}
	var b builder
	b.show(root)
	b.names(filepath.Join(root, "bin"), 1)
	b.names(filepath.Join(root, "lib"), 1) // the compiler itself
	b.env("PATH", filepath.Join(root, "bin"))
	cargo := value(in, "CARGO_HOME", home(in, ".cargo"))
	b.own(cargo, "cargo") // credentials lie in the user's own
	b.cache(filepath.Join(cargo, "registry"), "cargo-registry")
	b.cache(filepath.Join(cargo, "git"), "cargo-git")
	b.env("CARGO_HOME", cargo)
	b.names(filepath.Join(cargo, "registry", "src"), 2) // Cargo checks a crate once, when it unpacks it
	b.names(filepath.Join(cargo, "registry", "cache"), 2)
	b.names(filepath.Join(cargo, "git", "checkouts"), 2)
	b.env("CARGO_NET_OFFLINE", "true")
	b.env("CARGO_TERM_COLOR", "never")
	if in.Dir != "" && slices.ContainsFunc(topmost(survey(in.Repo).with("Cargo.toml")), func(d string) bool { return !ignoredFolder(in.Repo, in.Dir, path.Join(d, "target")) }) {
		built := filepath.Join(cargo, "agency-target") // beside the checkout, where git would see it
		b.own(built, "cargo-target")
		b.env("CARGO_TARGET_DIR", built)
	}
	for _, tool := range []string{"cargo-nextest"} {
		if at, real, err := look(in.Env, tool); err == nil && !system(real) {
			b.show(real)
			b.program(real)
			b.f.Tools.Env[0] += ":" + filepath.Dir(at)
		}
	}
	b.program(filepath.Join(cargo, "config.toml"))
	if config := filepath.Join(cargo, "config.toml"); !strings.Contains(fileText(config), "token") {
		b.show(config)
	}
	b.f.Caches = []check.Cache{{Name: cacheCargo, Env: []string{"CARGO_HOME={}"}}}
	b.f.Online = []string{"CARGO_NET_OFFLINE=false"}
	b.f.Version = version
	return b.f, nil
}

func fileText(name string) string {
	b, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(b)
}

// javaToolchain shows the JDK that the user's java belongs to, Maven and Gradle
// where they are, and their caches; never their settings, which hold passwords.
func javaToolchain(_ context.Context, in Input) (Found, error) {
	jdk := value(in, "JAVA_HOME", "")
	if jdk == "" || !exist(filepath.Join(jdk, "bin", "java")) {
		_, real, err := look(in.Env, "java")
		if err != nil {
			return Found{}, err
		}
		jdk = filepath.Dir(filepath.Dir(real))
		if filepath.Base(jdk) == "jre" {
			jdk = filepath.Dir(jdk)
		}
	}
	var b builder
	b.show(jdk)
	b.names(filepath.Join(jdk, "bin"), 1)
	b.names(filepath.Join(jdk, "lib"), 1)
	etc, err := filepath.Glob("/etc/java-*") // where Debian's JDKs keep their configuration
	if err == nil {
		for _, e := range etc {
			b.show(e)
		}
	}
	dirs := []string{filepath.Join(jdk, "bin")}
	for _, tool := range []string{"mvn", "gradle"} {
		at, real, err := look(in.Env, tool)
		if err != nil {
			continue
		}
		b.names(filepath.Dir(filepath.Dir(real)), 2)
		b.show("/etc/maven")
		b.show("/etc/m2.conf")
		if !system(real) {
			b.show(filepath.Dir(filepath.Dir(real)))
			dirs = append(dirs, filepath.Dir(real))
		} else {
			dirs = append(dirs, filepath.Dir(at))
		}
	}
	b.env("PATH", strings.Join(dirs, ":"))
	b.env("JAVA_HOME", jdk)
	m2 := home(in, ".m2", "repository")
	b.cache(m2, "m2")
	b.packages(m2) // an artifact can be installed again under its name
	b.cache(home(in, ".m2", "wrapper"), "m2-wrapper")
	b.env("MAVEN_OPTS", "-Dmaven.repo.local="+m2)
	b.env("MAVEN_ARGS", "-o -B")
	gradle := value(in, "GRADLE_USER_HOME", home(in, ".gradle"))
	b.own(gradle, "gradle")
	b.cache(filepath.Join(gradle, "caches"), "gradle-caches")
	b.cache(filepath.Join(gradle, "wrapper"), "gradle-wrapper")
	b.env("GRADLE_USER_HOME", gradle)
	b.names(filepath.Join(gradle, "caches", "modules-2", "files-2.1"), 4) // down to the hash of each artifact
	b.names(filepath.Join(gradle, "wrapper", "dists"), 3)
	b.f.Caches = []check.Cache{
		{Name: cacheMaven, Env: []string{"MAVEN_OPTS=-Dmaven.repo.local={} " + sandbox.JavaProxy}},
		{Name: cacheGradle, Env: []string{"GRADLE_USER_HOME={}"}},
	}
	b.f.Online = []string{"MAVEN_ARGS=-B", "GRADLE_OPTS=" + sandbox.JavaProxy}
	b.f.Version = "java " + filepath.Base(jdk) + " " + javaRelease(jdk)
	return b.f, nil
}

var javaVersion = regexp.MustCompile(`(?m)^JAVA_VERSION="([^"]+)"`)

func javaRelease(jdk string) string {
	if m := javaVersion.FindStringSubmatch(fileText(filepath.Join(jdk, "release"))); m != nil {
		return m[1]
	}
	return ""
}
