package detect

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/sandbox"
)

// Input is what Toolchain looks at.
type Input struct {
	// Repo is the user's checkout as files: manifests and lockfiles are read.
	Repo fs.FS
	// Dir is the user's checkout on the host; empty: its dependency folders and
	// virtual environments are left out.
	Dir string
	// Env is the environment of the user who started the run. Only variables
	// that name toolchains and caches are used, PATH and HOME.
	Env func(name string) (string, bool)
	// Commands are those of the run: modules that they do not enter ask for no
	// toolchain. None: all do.
	Commands check.Commands
}

// modules are those of Go that decide about the toolchain.
func (in Input) modules() []goDir {
	if in.Commands == (check.Commands{}) {
		return findModules(in.Repo)
	}
	return enteredModules(in.Repo, in.Commands)
}

// Found is what commands need around them, with what tells it from others at
// the same paths.
type Found struct {
	Tools   sandbox.Toolchain
	Version string // "go1.26.8 linux/amd64, node v20.20.2"; empty where nothing is needed
	GoRoot  string
	// Missing are the languages of the repository whose toolchain was not found,
	// with what was looked for. Go is never among them: without it there is an
	// error.
	Missing []string
	// Dependencies are the folders of the checkout that builds need and git
	// ignores.
	Dependencies []check.Dependency
	// Caches are what setup fills outside of the checkout; Online is the
	// environment in which package managers may ask their hosts.
	Caches []check.Cache
	Online []string
	// Loads are what of toolchains, caches and the system decides what commands
	// do: where it is another than before, no receipt from before counts.
	Loads []check.Load
}

// askTimeout bounds the questions to the go command; they take milliseconds.
const askTimeout = 30 * time.Second

// goEnv is the part of `go env -json` that is used.
type goEnv struct {
	GOROOT, GOMODCACHE, GOCACHE, GOVERSION, GOOS, GOARCH string
	GOFLAGS, CGO_ENABLED, CC, CXX, GOEXPERIMENT, GOAMD64 string
	GOARM64, GOPRIVATE, GOPROXY, GOSUMDB, GONOSUMDB      string
	GONOPROXY                                            string
}

// Toolchain finds the toolchains that the user's own builds of this repository
// use, one for each language in it, and describes them for the sandbox:
// programs and caches read-only or as overlays, no network (RELIABILITY 1).
// KindInvalid, with the command that mends it: no go command, or a newer Go
// than is installed; other toolchains that are not there are only named.
func Toolchain(ctx context.Context, in Input) (Found, error) {
	var f Found
	var k kit
	if len(findModules(in.Repo)) > 0 {
		g, err := goToolchain(ctx, in, in.modules())
		if err != nil {
			return Found{}, err
		}
		f.GoRoot = g.GoRoot
		k.take(g)
	}
	seen := survey(in.Repo)
	for _, l := range []struct {
		name  string
		files []string
		find  func(context.Context, Input) (Found, error)
	}{
		{"node", []string{"package.json"}, nodeToolchain},
		{"python3", []string{"pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", "pytest.ini", "tox.ini"}, pythonToolchain},
		{"rustc and cargo", []string{"Cargo.toml"}, rustToolchain},
		{"java", []string{"pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"}, javaToolchain},
	} {
		if len(seen.with(l.files...)) == 0 && (l.name != "python3" || !seen.any(".", func(_, n string) bool { return pyTestFile.MatchString(n) })) {
			continue
		}
		g, err := l.find(ctx, in)
		if ctx.Err() != nil {
			return Found{}, context.Cause(ctx)
		}
		if err != nil {
			f.Missing = append(f.Missing, fmt.Sprintf("%s: %v", l.name, err))
			continue
		}
		k.take(g)
	}
	f.Tools, f.Version, f.Caches, f.Online = k.tools(), strings.Join(k.versions, ", "), k.caches, k.online
	f.Loads = append(k.loads, systemLoads()...)
	if in.Dir != "" {
		f.Dependencies = dependencies(in.Dir, in.Repo, seen)
	}
	return f, nil
}

// goToolchain shows GOROOT and the module cache read-only; the build cache is
// an overlay over the user's own.
func goToolchain(ctx context.Context, in Input, dirs []goDir) (Found, error) {
	bin, err := lookGo(in.Env)
	if err != nil {
		return Found{}, err
	}
	env, err := askGo(ctx, bin, in.Env)
	if err != nil {
		return Found{}, err
	}
	env, err = chooseVersion(ctx, env, in)
	if err != nil {
		return Found{}, err
	}
	f := describe(env, hasVendor(in.Repo, dirs))
	f.Loads = goLoads(env, in.Repo, dirs)
	return f, nil
}

// lookGo finds the go command in the user's PATH, else where its installer
// puts it.
func lookGo(env func(string) (string, bool)) (string, error) {
	paths, _ := env("PATH")
	dirs := filepath.SplitList(paths)
	if root, ok := env("GOROOT"); ok && root != "" {
		dirs = append([]string{filepath.Join(root, "bin")}, dirs...)
	}
	for _, d := range append(dirs, "/usr/local/go/bin", "/usr/lib/go/bin") {
		bin := filepath.Join(d, "go")
		if info, err := os.Stat(bin); filepath.IsAbs(d) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return bin, nil
		}
	}
	return "", agency.Errorf(agency.KindInvalid, "this repository needs Go, and no go command is in PATH").
		WithMend("install Go (https://go.dev/dl) or add its bin folder to PATH")
}

// passedOn are the user's variables that the go command may see when it is
// asked about itself.
var passedOn = []string{
	"HOME", "PATH", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "GOROOT", "GOPATH", "GOCACHE", "GOMODCACHE", "GOENV",
	"GOFLAGS", "CGO_ENABLED", "CC", "CXX", "GOEXPERIMENT", "GOAMD64", "GOARM64",
	"GOPROXY", "GOSUMDB", "GOPRIVATE", "GONOSUMDB", "GONOPROXY",
}

// askGo runs `go env` in an empty folder, so that no file of a repository is
// read, and with the toolchain that is installed.
func askGo(ctx context.Context, bin string, env func(string) (string, bool)) (goEnv, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	dir, err := os.MkdirTemp("", "agency-go-")
	if err != nil {
		return goEnv{}, agency.Errorf(agency.KindTransient, "temporary folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // empty; the system sweeps /tmp
	cmd := exec.CommandContext(ctx, bin, "env", "-json")
	cmd.Dir = dir
	cmd.Env = []string{"GOTOOLCHAIN=local", "GOWORK=off", "GO111MODULE=on", "GOTELEMETRY=off", "PWD=" + dir}
	for _, name := range passedOn {
		if v, ok := env(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	if err != nil {
		return goEnv{}, agency.Errorf(agency.KindInvalid, "%s env: %w", bin, err).WithMend("run `go env` and mend what it says")
	}
	var e goEnv
	if err := json.Unmarshal(out, &e); err != nil {
		return goEnv{}, agency.Errorf(agency.KindInvalid, "%s env: %w", bin, err)
	}
	if e.GOROOT == "" || e.GOMODCACHE == "" || e.GOCACHE == "" || !filepath.IsAbs(e.GOCACHE) {
		return goEnv{}, agency.Errorf(agency.KindInvalid, "%s env: GOROOT %q, GOMODCACHE %q, GOCACHE %q: all three are needed",
			bin, e.GOROOT, e.GOMODCACHE, e.GOCACHE).WithMend("unset GOCACHE, GOMODCACHE and GOROOT")
	}
	return e, nil
}

// describe makes the sandbox's toolchain.
func describe(e goEnv, vendored bool) Found {
	root, mod, cache := filepath.Clean(e.GOROOT), filepath.Clean(e.GOMODCACHE), filepath.Clean(e.GOCACHE)
	t := sandbox.Toolchain{
		Env: []string{
			"PATH=" + filepath.Join(root, "bin"),
			"GOROOT=" + root, "GOMODCACHE=" + mod, "GOCACHE=" + cache, "GOPATH=/tmp/home/go", "GOENV=off",
			"GOTOOLCHAIN=local", "GOPROXY=off", "GOSUMDB=off", "GOTELEMETRY=off",
			"GOFLAGS=" + flags(e.GOFLAGS, vendored), "CGO_ENABLED=" + cgo(e),
		},
		ReadOnly: []sandbox.Mount{{Host: root, At: root}},
		Overlays: []sandbox.Overlay{{Lower: cache, At: cache, Name: "gocache"}},
	}
	if info, err := os.Stat(mod); err == nil && info.IsDir() {
		t.ReadOnly = append(t.ReadOnly, sandbox.Mount{Host: mod, At: mod})
	}
	for _, kv := range [][2]string{{"GOEXPERIMENT", e.GOEXPERIMENT}, {"GOAMD64", e.GOAMD64}, {"GOARM64", e.GOARM64}} {
		if kv[1] != "" {
			t.Env = append(t.Env, kv[0]+"="+kv[1])
		}
	}
	if cgo(e) == "1" {
		for _, kv := range [][2]string{{"CC", e.CC}, {"CXX", e.CXX}} {
			if kv[1] != "" {
				t.Env = append(t.Env, kv[0]+"="+kv[1])
			}
		}
	}
	return Found{
		Tools: t, Version: e.GOVERSION + " " + e.GOOS + "/" + e.GOARCH, GoRoot: root,
		Caches: []check.Cache{{Name: cacheGo, Env: []string{"GOMODCACHE={}"}, Fixed: true}},
		Online: online(e, flags(e.GOFLAGS, vendored)),
	}
}

// online lets the go command download what the user's module cache lacks from
// where the user has it downloaded. What the cache has is taken from it.
func online(e goEnv, flags string) []string {
	have := url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(e.GOMODCACHE, "cache", "download"))}
	env := []string{"GOPROXY=" + have.String() + "," + cmp.Or(e.GOPROXY, "direct"), "GOFLAGS=" + flags + " -modcacherw"}
	for _, kv := range [][2]string{{"GOSUMDB", e.GOSUMDB}, {"GOPRIVATE", e.GOPRIVATE}, {"GONOSUMDB", e.GONOSUMDB}, {"GONOPROXY", e.GONOPROXY}} {
		if kv[1] != "" {
			env = append(env, kv[0]+"="+kv[1])
		}
	}
	return env
}

// keptFlags are those of the user's GOFLAGS that change what is built and can
// name no program or file.
var keptFlags = []string{"-tags", "-race", "-trimpath", "-short", "-p", "-gcflags", "-asmflags", "-msan", "-asan", "-vet", "-shuffle", "-timeout"}

// flags is GOFLAGS inside: module files are never changed by a build, a vendor
// folder is used where there is one, and no version control is asked, because
// the one inside has another HEAD.
func flags(users string, vendored bool) string {
	var out []string
	for _, f := range strings.Fields(users) {
		name, _, _ := strings.Cut(f, "=")
		if slices.Contains(keptFlags, "-"+strings.TrimLeft(name, "-")) {
			out = append(out, f)
		}
	}
	if !vendored {
		out = append(out, "-mod=readonly")
	}
	return strings.Join(append(out, "-buildvcs=false"), " ")
}

// cgo is CGO_ENABLED inside: as the user has it, if the compiler is one of the
// system's, which the sandbox shows.
func cgo(e goEnv) string {
	cc, _, _ := strings.Cut(strings.TrimSpace(e.CC), " ")
	if e.CGO_ENABLED != "1" || cc == "" {
		return "0"
	}
	dirs := []string{"/usr/local/bin", "/usr/bin", "/bin"}
	if filepath.IsAbs(cc) {
		dirs = []string{filepath.Dir(cc)}
	}
	for _, d := range dirs {
		real, err := filepath.EvalSymlinks(filepath.Join(d, filepath.Base(cc)))
		if err == nil && strings.HasPrefix(real, "/usr/") {
			return "1"
		}
	}
	return "0"
}

// hasVendor tells whether a module or workspace that is built has a vendor
// folder that the go command uses by itself.
func hasVendor(root fs.FS, dirs []goDir) bool {
	for _, d := range dirs {
		name := filepath.ToSlash(filepath.Join(d.dir, "vendor", "modules.txt"))
		if info, err := fs.Stat(root, name); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}
