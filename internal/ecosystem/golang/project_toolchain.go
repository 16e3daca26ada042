package golang

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/version"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/ecosystem"
	"agency/internal/fingerprint"
	"agency/internal/regexp"
	"agency/internal/sandbox"
)

// goEnv is the part of `go env -json` that is used.
type goEnv struct {
	GOROOT, GOMODCACHE, GOCACHE, GOVERSION, GOOS, GOARCH string
	GOFLAGS, CGO_ENABLED, CC, CXX, GOEXPERIMENT, GOAMD64 string
	GOARM64, GOPRIVATE, GOPROXY, GOSUMDB, GONOSUMDB      string
	GONOPROXY                                            string
}

// goToolchain shows GOROOT and the module cache read-only; the build cache is
// an overlay over the user's own.
func goToolchain(ctx context.Context, m *ecosystem.Machine) (ecosystem.Environment, error) {
	dirs := findModules(m.Checkout)
	if m.Some {
		dirs = enteredModules(m.Checkout, m.Starts)
	}
	bin, err := lookGo(m.Env)
	if err != nil {
		return ecosystem.Environment{}, err
	}
	env, err := askGo(ctx, m, bin, m.Env)
	if err != nil {
		return ecosystem.Environment{}, err
	}
	env, err = chooseVersion(ctx, env, m, dirs)
	if err != nil {
		return ecosystem.Environment{}, err
	}
	f := describe(m, env, hasVendor(m.Checkout, dirs))
	f.Loads = goLoads(env, m.Checkout, dirs)
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
func askGo(ctx context.Context, m *ecosystem.Machine, bin string, env func(string) (string, bool)) (goEnv, error) {
	asked := []string{"GOTOOLCHAIN=local", "GOWORK=off", "GO111MODULE=on", "GOTELEMETRY=off"}
	for _, name := range passedOn {
		if v, ok := env(name); ok {
			asked = append(asked, name+"="+v)
		}
	}
	out, err := m.Run(ctx, asked, bin, "env", "-json")
	if agency.KindOf(err) == agency.KindTransient {
		return goEnv{}, err
	}
	if err != nil {
		return goEnv{}, agency.Errorf(agency.KindInvalid, "%s env: %w", bin, err).WithMend("run `go env` and mend what it says")
	}
	var e goEnv
	if err := json.Unmarshal([]byte(out), &e); err != nil {
		return goEnv{}, agency.Errorf(agency.KindInvalid, "%s env: %w", bin, err)
	}
	if e.GOROOT == "" || e.GOMODCACHE == "" || e.GOCACHE == "" || !filepath.IsAbs(e.GOCACHE) {
		return goEnv{}, agency.Errorf(agency.KindInvalid, "%s env: GOROOT %q, GOMODCACHE %q, GOCACHE %q: all three are needed",
			bin, e.GOROOT, e.GOMODCACHE, e.GOCACHE).WithMend("unset GOCACHE, GOMODCACHE and GOROOT")
	}
	return e, nil
}

// describe makes the sandbox's toolchain.
func describe(m *ecosystem.Machine, e goEnv, vendored bool) ecosystem.Environment {
	root, mod, cache := filepath.Clean(e.GOROOT), filepath.Clean(e.GOMODCACHE), filepath.Clean(e.GOCACHE)
	t := sandbox.Toolchain{
		Env: []string{
			"PATH=" + filepath.Join(root, "bin"),
			"GOROOT=" + root, "GOMODCACHE=" + mod, "GOCACHE=" + cache, "GOPATH=/tmp/home/go", "GOENV=off",
			"GOTOOLCHAIN=local", "GOPROXY=off", "GOSUMDB=off", "GOTELEMETRY=off",
			"GOFLAGS=" + flags(e.GOFLAGS, vendored), "CGO_ENABLED=" + cgo(e),
		},
	}
	b := ecosystem.NewBuilder(m)
	b.Show(root)
	b.Show(mod)
	b.CacheByContent(cache, "gocache")
	t.ReadOnly, t.Overlays = b.Tools.ReadOnly, b.Tools.Overlays
	t.Env = append(t.Env, set("GOEXPERIMENT", e.GOEXPERIMENT, "GOAMD64", e.GOAMD64, "GOARM64", e.GOARM64)...)
	if cgo(e) == "1" {
		t.Env = append(t.Env, set("CC", e.CC, "CXX", e.CXX)...)
	}
	return ecosystem.Environment{
		Tools: t, Refused: b.Refused, Version: e.GOVERSION + " " + e.GOOS + "/" + e.GOARCH,
		Caches: []ecosystem.Cache{{Name: "gomod", Env: []string{"GOMODCACHE={}"}, Fixed: true}},
		Online: online(e, flags(e.GOFLAGS, vendored)),
	}
}

// online lets the go command download what the user's module cache lacks from
// where the user has it downloaded. What the cache has is taken from it.
func online(e goEnv, flags string) []string {
	have := url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(e.GOMODCACHE, "cache", "download"))}
	env := []string{"GOPROXY=" + have.String() + "," + cmp.Or(e.GOPROXY, "direct"), "GOFLAGS=" + flags + " -modcacherw"}
	return append(env, set("GOSUMDB", e.GOSUMDB, "GOPRIVATE", e.GOPRIVATE, "GONOSUMDB", e.GONOSUMDB, "GONOPROXY", e.GONOPROXY)...)
}

// set are the variables among names and values by turns that have a value.
func set(pairs ...string) (env []string) {
	for kv := range slices.Chunk(pairs, 2) {
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
func hasVendor(c *ecosystem.Checkout, dirs []goDir) bool {
	for _, d := range dirs {
		name := filepath.ToSlash(filepath.Join(d.dir, "vendor", "modules.txt"))
		if info, err := fs.Stat(c.FS, name); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// goLoads are the programs of a Go installation, and which of the modules that
// the repository names are in the module cache: there the go command keeps what
// go.sum's hashes name, and keeps it from being written.
func goLoads(e goEnv, c *ecosystem.Checkout, dirs []goDir) []fingerprint.Load {
	var b ecosystem.Builder
	b.Program(filepath.Join(e.GOROOT, "VERSION"))
	b.Names(filepath.Join(e.GOROOT, "bin"), 1)
	b.Names(filepath.Join(e.GOROOT, "pkg", "tool"), 2)
	var sums []string
	for _, d := range dirs {
		sums = append(sums, filepath.ToSlash(filepath.Join(d.dir, "go.sum")), filepath.ToSlash(filepath.Join(d.dir, "go.work.sum")))
		for _, u := range d.uses {
			sums = append(sums, filepath.ToSlash(filepath.Join(d.dir, u, "go.sum")))
		}
	}
	var modules []string
	for _, name := range sums {
		for _, m := range sumEntry.FindAllStringSubmatch(c.Text(name), -1) {
			modules = append(modules, escaped(m[1])+"@"+escaped(m[2]))
		}
	}
	slices.Sort(modules)
	for _, m := range slices.Compact(modules) {
		b.Names(filepath.Join(e.GOMODCACHE, filepath.FromSlash(m)), 1)
	}
	return b.Loads
}

var capital = regexp.MustCompile(`[A-Z]`)

// escaped is a module's path as the module cache writes it.
func escaped(name string) string {
	return capital.ReplaceAllStringFunc(name, func(s string) string { return "!" + strings.ToLower(s) })
}

var (
	goLine        = regexp.MustCompile(`(?m)^\s*go\s+([0-9][^\s/]*)`)
	toolchainLine = regexp.MustCompile(`(?m)^\s*toolchain\s+(go[^\s/]+)`)
)

// want is the newest version that a repository's go.mod and go.work files ask
// for, and the file that does.
type want struct {
	language, languageIn   string // go line: no older Go builds the module
	toolchain, toolchainIn string // toolchain line: what the go command would fetch
}

func wanted(c *ecosystem.Checkout, dirs []goDir) want {
	var w want
	read := func(name string) {
		text := c.Text(name)
		if m := goLine.FindStringSubmatch(text); m != nil && newer("go"+m[1], w.language) {
			w.language, w.languageIn = "go"+m[1], name
		}
		if m := toolchainLine.FindStringSubmatch(text); m != nil && newer(m[1], w.toolchain) {
			w.toolchain, w.toolchainIn = m[1], name
		}
	}
	for _, d := range dirs {
		read(path.Join(d.dir, d.manifest()))
		for _, u := range d.uses {
			read(path.Join(d.dir, u, "go.mod"))
		}
	}
	return w
}

// newer tells whether version a is valid and newer than b; any is newer than
// none.
func newer(a, b string) bool {
	return version.IsValid(a) && (b == "" || version.Compare(a, b) > 0)
}

// chooseVersion takes the installed Go where it is new enough, else one that
// the user's go command has fetched before. The toolchain line counts as it
// does for the user: not with GOTOOLCHAIN=local, and where its Go is not there
// commands run without, as the module allows.
func chooseVersion(ctx context.Context, e goEnv, m *ecosystem.Machine, dirs []goDir) (goEnv, error) {
	w := wanted(m.Checkout, dirs)
	need, file := w.language, w.languageIn
	have, _, _ := strings.Cut(e.GOVERSION, " ")
	if newer(w.toolchain, need) && userSwitches(e, m.Env) {
		if root, ok := fetched(e, w.toolchain); ok && newer(w.toolchain, have) {
			return askGo(ctx, m, filepath.Join(root, "bin", "go"), withoutRoot(m.Env))
		}
	}
	if need == "" || !version.IsValid(have) || version.Compare(have, need) >= 0 {
		return e, nil
	}
	if root, ok := fetched(e, need); ok {
		return askGo(ctx, m, filepath.Join(root, "bin", "go"), withoutRoot(m.Env))
	}
	return goEnv{}, agency.Errorf(agency.KindInvalid, "%s needs %s, and %s is installed", file, need, have).
		WithMend("GOTOOLCHAIN=auto go version, in the repository, fetches it; or install %s from https://go.dev/dl", need)
}

// userSwitches tells whether the user's go command follows toolchain lines.
func userSwitches(e goEnv, env func(string) (string, bool)) bool {
	setting, ok := env("GOTOOLCHAIN")
	if !ok || setting == "" {
		setting = settingOf(e, env)
	}
	return setting == "" || strings.HasSuffix(setting, "auto") || strings.HasSuffix(setting, "path")
}

// settingOf reads GOTOOLCHAIN from the user's file of `go env -w`, then from
// that of the installation.
func settingOf(e goEnv, env func(string) (string, bool)) string {
	var files []string
	if f, ok := env("GOENV"); ok && f != "" {
		files = append(files, f)
	} else if c, ok := env("XDG_CONFIG_HOME"); ok && c != "" {
		files = append(files, filepath.Join(c, "go", "env"))
	} else if h, ok := env("HOME"); ok && h != "" {
		files = append(files, filepath.Join(h, ".config", "go", "env"))
	}
	for _, f := range append(files, filepath.Join(e.GOROOT, "go.env")) {
		for line := range strings.Lines(ecosystem.FileText(f)) {
			if v, ok := strings.CutPrefix(strings.TrimSpace(line), "GOTOOLCHAIN="); ok {
				return v
			}
		}
	}
	return ""
}

// fetched finds a toolchain that the go command has put into the module cache.
func fetched(e goEnv, need string) (string, bool) {
	for _, name := range []string{need, need + ".0"} {
		root := filepath.Join(e.GOMODCACHE, "golang.org", "toolchain@v0.0.1-"+name+"."+e.GOOS+"-"+e.GOARCH)
		if info, err := os.Stat(filepath.Join(root, "bin", "go")); err == nil && info.Mode().IsRegular() {
			return root, true
		}
	}
	return "", false
}

// withoutRoot hides GOROOT, which names the installed toolchain.
func withoutRoot(env func(string) (string, bool)) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if name == "GOROOT" {
			return "", false
		}
		return env(name)
	}
}

// note is on a toolchain that a module names and that is newer than what is there.
func note(c *ecosystem.Checkout, have string) string {
	var w want
	for _, d := range findModules(c) {
		if m := toolchainLine.FindStringSubmatch(c.Text(path.Join(d.dir, d.manifest()))); m != nil && newer(m[1], w.toolchain) {
			w.toolchain, w.toolchainIn = m[1], path.Join(d.dir, d.manifest())
		}
	}
	if have == "" || w.toolchain == "" || !newer(w.toolchain, "go"+have) {
		return ""
	}
	return fmt.Sprintf("%s names the toolchain %s, and commands run with go%s; mend: GOTOOLCHAIN=auto go version, in the repository, fetches it", w.toolchainIn, w.toolchain, have)
}
