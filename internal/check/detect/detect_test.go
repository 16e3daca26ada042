package detect

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/ecosystem"
	"agency/internal/sandbox"
)

func files(names ...string) fstest.MapFS {
	out := fstest.MapFS{}
	for _, n := range names {
		name, text, _ := strings.Cut(n, "=")
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

func TestCommands(t *testing.T) {
	for name, tt := range map[string]struct {
		repo fstest.MapFS
		test string
	}{
		"one module": {files("go.mod=module x\n", "vendor/y/go.mod=", "testdata/go.mod=", ".x/go.mod=", "_y/go.mod="), "go test ./..."},
		"nested modules": {
			files("go.mod=module x\n", "tools/go.mod=module x/tools\n", "a b/go.mod=module y\n"),
			"go test ./... && (cd 'a b' && go test ./...) && (cd tools && go test ./...)",
		},
		"only a nested module": {files("svc/go.mod=module x\n"), "(cd svc && go test ./...)"},
		"workspace": {
			files("go.work=go 1.22\nuse (\n\t./a // first\n\t./b\n)\nuse ../outside\n", "a/go.mod=module a\n", "b/go.mod=module b\n", "c/go.mod=module c\n"),
			"go test ./a/... ./b/... && (cd c && go test ./...)",
		},
		"workspace with its root": {files("go.work=use .\nuse ./b\n", "go.mod=module r\n", "b/go.mod=module b\n"), "go test ./... ./b/..."},
		"nothing":                 {files("README.md=hi"), ""},
		"submodules": {
			files("go.mod=module r\n", "sub/go.mod=module s\n", "sub/.git=gitdir: x\n", "sub/deep/go.mod=module d\n", "own/go.mod=module o\n"),
			"go test ./... && (cd own && go test ./...)",
		},
	} {
		cmds, _ := Commands(tt.repo)
		if cmds.Test != tt.test {
			t.Errorf("%s: test is %q, want %q", name, cmds.Test, tt.test)
		}
		if want := strings.ReplaceAll(tt.test, "go test", "go vet"); cmds.Lint != want {
			t.Errorf("%s: lint is %q", name, cmds.Lint)
		}
		if tt.test != "" && !check.Named(cmds.Test, tt.repo) {
			t.Errorf("%s: %q is not read as go test", name, cmds.Test)
		}
	}
}

func TestLanguages(t *testing.T) {
	_, got := Commands(files("go.mod=module x\n", "package.json={}", "pyproject.toml=", "setup.py="))
	var names []string
	for _, l := range got {
		names = append(names, l.Name+":"+l.Manifest)
		if (l.Note == "") != (l.Name == "Go") {
			t.Errorf("%s has the note %q", l.Name, l.Note)
		}
	}
	if want := []string{"Go:go.mod", "JavaScript:package.json", "Python:pyproject.toml"}; !slices.Equal(names, want) {
		t.Errorf("got %v", names)
	}
}

func env(t sandbox.Toolchain, name string) string {
	for _, kv := range t.Env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// with is the process's environment with some variables changed.
func with(changes map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if v, ok := changes[name]; ok {
			return v, v != ""
		}
		return os.LookupEnv(name)
	}
}

func TestToolchain(t *testing.T) {
	cache := t.TempDir()
	in := Input{Repo: files("go.mod=module x\n\ngo 1.21\n"), Env: with(map[string]string{
		"GOCACHE": cache, "GOFLAGS": "-tags=x,y -mod=mod -toolexec=/evil", "GOTOOLCHAIN": "local",
	})}
	f, err := Toolchain(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(f.Version, "go1.") || !strings.HasSuffix(f.Version, runtime.GOOS+"/"+runtime.GOARCH) {
		t.Errorf("version %q", f.Version)
	}
	for name, want := range map[string]string{
		"GOPROXY": "off", "GOSUMDB": "off", "GOTOOLCHAIN": "local", "GOENV": "off", "GOCACHE": cache,
		"GOFLAGS": "-tags=x,y -mod=readonly -buildvcs=false",
	} {
		if got := env(f.Tools, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if want := (sandbox.Overlay{Lower: cache, At: cache, Name: "gocache", ByContent: true}); !slices.Contains(f.Tools.Overlays, want) {
		t.Errorf("overlays %+v", f.Tools.Overlays)
	}
	if root := env(f.Tools, "GOROOT"); !ecosystem.OfSystem(root) && !slices.Contains(f.Tools.ReadOnly, sandbox.Mount{Host: root, At: root}) {
		t.Errorf("GOROOT is not shown: %+v", f.Tools.ReadOnly)
	}
	in.Repo = files("go.mod=module x\n", "vendor/modules.txt=")
	if f, err = Toolchain(t.Context(), in); err != nil || strings.Contains(env(f.Tools, "GOFLAGS"), "-mod") {
		t.Errorf("vendored: GOFLAGS %q, %v", env(f.Tools, "GOFLAGS"), err)
	}
	if f, err = Toolchain(t.Context(), Input{Repo: files("README.md="), Env: in.Env}); err != nil || env(f.Tools, "GOROOT") != "" {
		t.Errorf("without Go: %+v, %v", f, err)
	}
}

func TestToolchainRefuses(t *testing.T) {
	empty := t.TempDir()
	for name, tt := range map[string]struct {
		repo fstest.MapFS
		env  map[string]string
		want string
	}{
		"newer go":             {files("go.mod=module x\n\ngo 1.999\n"), nil, "go.mod needs go1.999, and go1."},
		"newer go, nested":     {files("go.mod=module x\n", "b/go.mod=module b\ngo 1.999.1\n"), nil, "b/go.mod needs go1.999.1"},
		"newer in a workspace": {files("go.work=go 1.20\nuse ./a\n", "a/go.mod=module a\ngo 1.999\n"), nil, "a/go.mod needs go1.999"},
	} {
		if tt.env == nil {
			tt.env = map[string]string{}
		}
		_, err := Toolchain(t.Context(), Input{Repo: tt.repo, Env: with(tt.env)})
		if err == nil || !strings.Contains(err.Error(), tt.want) || agency.KindOf(err) != agency.KindInvalid || agency.MendOf(err) == "" {
			t.Errorf("%s: %v, mend %q", name, err, agency.MendOf(err))
		}
	}
	// A toolchain line alone keeps nothing from running.
	for _, setting := range []string{"local", "auto"} {
		in := Input{Repo: files("go.mod=module x\n\ngo 1.21\ntoolchain go1.999.0\n"), Env: with(map[string]string{"GOTOOLCHAIN": setting})}
		if f, err := Toolchain(t.Context(), in); err != nil || len(OtherVersions(in.Repo, f.Version)) != 1 {
			t.Errorf("a toolchain line with GOTOOLCHAIN=%s: %v", setting, err)
		}
	}
	if _, err := os.Stat("/usr/local/go/bin/go"); os.IsNotExist(err) {
		_, err := Toolchain(t.Context(), Input{Repo: files("go.mod=module x\n"), Env: with(map[string]string{"PATH": empty, "GOROOT": ""})})
		if agency.KindOf(err) != agency.KindInvalid || agency.MendOf(err) == "" {
			t.Errorf("no go command: %v", err)
		}
	}
}

// A toolchain that the go command has fetched is used as the go command would.
func TestFetchedToolchain(t *testing.T) {
	mod := t.TempDir()
	root := filepath.Join(mod, "golang.org", "toolchain@v0.0.1-go1.999.0."+runtime.GOOS+"-"+runtime.GOARCH)
	if err := os.MkdirAll(filepath.Join(root, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\necho '{\"GOROOT\":\"" + root + "\",\"GOMODCACHE\":\"" + mod + "\",\"GOCACHE\":\"" + t.TempDir() + "\",\"GOVERSION\":\"go1.999.0\",\"GOOS\":\"x\",\"GOARCH\":\"y\"}'\n"
	if err := os.WriteFile(filepath.Join(root, "bin", "go"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := Toolchain(t.Context(), Input{Repo: files("go.mod=module x\n\ngo 1.999\n"), Env: with(map[string]string{"GOMODCACHE": mod})})
	if err != nil || env(f.Tools, "GOROOT") != root || f.Version != "go1.999.0 x/y" {
		t.Errorf("got %+v, %v", f, err)
	}
}

func TestMissingModules(t *testing.T) {
	runner, err := sandbox.New(sandbox.Options{Mode: sandbox.ModeFull, StateDir: t.TempDir()})
	if err != nil {
		t.Skipf("no full sandbox here: %v", err)
	}
	for name, tt := range map[string]struct {
		files   map[string]string
		missing string
		mend    string
		quiet   bool // nobody is asked
	}{
		"needed and missing": {map[string]string{
			"go.mod": "module ex.com/p\n\ngo 1.21\n\nrequire example.com/gone v1.2.3\n",
			"go.sum": "example.com/gone v1.2.3 h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\nexample.com/gone v1.2.3/go.mod h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n",
			"p.go":   "package p\n\nimport _ \"example.com/gone\"\n",
		}, "example.com/gone@v1.2.3", "go mod download", false},
		"needed in a workspace": {map[string]string{
			"go.work": "go 1.21\n\nuse (\n\t.\n\t./q\n)\n", "go.mod": "module ex.com/p\n\ngo 1.21\n", "p.go": "package p\n",
			"q/go.mod": "module ex.com/q\n\ngo 1.21\n\nrequire example.com/gone v1.2.3\n",
			"q/go.sum": "example.com/gone v1.2.3 h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\nexample.com/gone v1.2.3/go.mod h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n",
			"q/q.go":   "package q\n\nimport _ \"example.com/gone\"\n",
		}, "example.com/gone@v1.2.3", "go mod download && (cd q && go mod download)", false},
		"nothing needed":       {map[string]string{"go.mod": "module ex.com/p\n\ngo 1.21\n", "p.go": "package p\n\nimport _ \"fmt\"\n"}, "", "", true},
		"broken in other ways": {map[string]string{"go.mod": "module ex.com/p\n\ngo 1.21\n", "p.go": "package p\n\nimport _ \"ex.com/p/none\"\nfunc {\n"}, "", "", true},
		"no manifest":          {map[string]string{"go.mod": "modul ex.com/p\n", "p.go": "package p\n"}, "", "", false},
	} {
		dir := t.TempDir()
		for n, text := range tt.files {
			at := filepath.Join(dir, n)
			if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		found, err := Toolchain(t.Context(), Input{Repo: os.DirFS(dir), Env: os.LookupEnv})
		if err != nil {
			t.Fatal(err)
		}
		asked := &askedRunner{Runner: runner}
		err = MissingModules(t.Context(), asked, sandbox.Spec{
			Place: sandbox.Place{Root: dir, At: dir}, Tools: found.Tools, LayerDir: t.TempDir(),
		}, os.DirFS(dir), check.Commands{Test: "go test ./..."})
		switch {
		case tt.missing == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tt.missing != "" && (err == nil || !strings.Contains(err.Error(), tt.missing) ||
			agency.KindOf(err) != agency.KindInvalid || agency.MendOf(err) != tt.mend):
			t.Errorf("%s: %v, mend %q", name, err, agency.MendOf(err))
		case asked.ran == tt.quiet:
			t.Errorf("%s: the go command was asked: %t", name, asked.ran)
		}
	}
}

// askedRunner notes whether anything ran.
type askedRunner struct {
	check.Runner
	ran bool
}

func (r *askedRunner) Run(ctx context.Context, s sandbox.Spec) (sandbox.Result, error) {
	r.ran = true
	return r.Runner.Run(ctx, s)
}
