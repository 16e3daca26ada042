package detect

import (
	"context"
	"go/version"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"agency/internal/agency"
)

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

func wanted(root fs.FS, dirs []goDir) want {
	var w want
	read := func(name string) {
		b, err := readSmall(root, name)
		if err != nil {
			return
		}
		if m := goLine.FindSubmatch(b); m != nil && newer("go"+string(m[1]), w.language) {
			w.language, w.languageIn = "go"+string(m[1]), name
		}
		if m := toolchainLine.FindSubmatch(b); m != nil && newer(string(m[1]), w.toolchain) {
			w.toolchain, w.toolchainIn = string(m[1]), name
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
func chooseVersion(ctx context.Context, e goEnv, in Input) (goEnv, error) {
	w := wanted(in.Repo, in.modules())
	need, file := w.language, w.languageIn
	have, _, _ := strings.Cut(e.GOVERSION, " ")
	if newer(w.toolchain, need) && userSwitches(e, in.Env) {
		if root, ok := fetched(e, w.toolchain); ok && newer(w.toolchain, have) {
			return askGo(ctx, filepath.Join(root, "bin", "go"), withoutRoot(in.Env))
		}
	}
	if need == "" || !version.IsValid(have) || version.Compare(have, need) >= 0 {
		return e, nil
	}
	if root, ok := fetched(e, need); ok {
		return askGo(ctx, filepath.Join(root, "bin", "go"), withoutRoot(in.Env))
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
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
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
