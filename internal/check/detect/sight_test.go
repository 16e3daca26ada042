package detect

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agency/internal/sandbox"
)

// hostile is a checkout that wants folders of the host shown, beside a home with
// keys in it.
type hostile struct {
	t          *testing.T
	home, repo string
}

const planted = "planted-4d1c"

func newHostile(t *testing.T) hostile {
	t.Helper()
	h := hostile{t, filepath.Join(t.TempDir(), "home"), ""}
	h.repo = filepath.Join(h.home, "src", "repo")
	for _, dir := range []string{".ssh", ".aws", ".config/gh", "private/lib/python3.99", "private/bin", ".hidden/lib/python3.99", ".hidden/bin", ".local/state/agency", "src/other"} {
		h.write(filepath.Join(h.home, dir, "key"), planted)
	}
	for _, dir := range []string{"private", ".hidden"} {
		h.write(filepath.Join(h.home, dir, "lib/python3.99/os.py"), "")
	}
	return h
}

func (h hostile) write(path, text string) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		h.t.Fatal(err)
	}
}

func (h hostile) link(to, at string) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Symlink(to, at); err != nil {
		h.t.Fatal(err)
	}
}

// hostileRepositories are what each ecosystem lets a repository write of folders.
func hostileRepositories() map[string]func(h hostile, in map[string]string) {
	cfg := func(h hostile, home string) {
		h.write(h.repo+"/pyproject.toml", "")
		h.write(h.repo+"/.venv/pyvenv.cfg", "home = "+home+"\n")
	}
	return map[string]func(hostile, map[string]string){
		"python: an interpreter of nobody's":     func(h hostile, _ map[string]string) { cfg(h, h.home+"/private/bin") },
		"python: an interpreter in a hidden one": func(h hostile, _ map[string]string) { cfg(h, h.home+"/.hidden/bin") },
		"python: a name that leads elsewhere": func(h hostile, _ map[string]string) {
			// As a text it is ~/.ssh; followed, a folder of the checkout.
			depth := strings.Repeat("/x", strings.Count(h.home, "/")+4)
			h.write(h.repo+"/tree"+depth+"/key", "")
			h.write(h.repo+"/tree"+h.home+"/.ssh/lib/python3.99/os.py", "")
			h.write(h.repo+"/tree"+h.home+"/.ssh/bin/python3", "")
			h.link(h.repo+"/tree"+depth, h.repo+"/l")
			up := strings.Repeat("/..", strings.Count(depth, "/"))
			cfg(h, h.repo+"/l"+up+h.home+"/.ssh/bin")
		},
		"python: a linked interpreter": func(h hostile, _ map[string]string) {
			h.link(h.home+"/private", h.repo+"/py")
			cfg(h, h.repo+"/py/bin")
		},
		"python: an interpreter that is a folder of the checkout": func(h hostile, _ map[string]string) {
			h.write(h.repo+"/calc/lib/python3/os.py", "")
			h.write(h.repo+"/calc/bin/python3", "")
			h.write(h.repo+"/calc/.env", planted)
			cfg(h, h.repo+"/calc/bin")
		},
		"python: an interpreter behind a link of the checkout": func(h hostile, _ map[string]string) {
			h.write(h.home+"/.pyenv/versions/3.99/lib/python3.99/os.py", "")
			h.write(h.home+"/.pyenv/versions/3.99/bin/python3", "")
			h.link(h.home+"/.pyenv/versions/3.99", h.repo+"/calc")
			cfg(h, h.repo+"/calc/bin")
		},
		"go: caches in the checkout": func(h hostile, env map[string]string) {
			h.write(h.repo+"/go.mod", "module x\n\ngo 1.21\n")
			h.write(h.repo+"/calc/key", planted)
			env["GOCACHE"], env["GOMODCACHE"] = h.repo+"/calc", h.repo+"/calc"
		},
		"python: a version that is a path": func(h hostile, _ map[string]string) {
			h.write(h.repo+"/pyproject.toml", "")
			h.write(h.repo+"/.python-version", "../../../.ssh\n")
		},
		"python: a linked environment": func(h hostile, _ map[string]string) {
			h.write(h.repo+"/pyproject.toml", "")
			h.write(h.home+"/private/pyvenv.cfg", "home = "+h.home+"/.ssh\n")
			h.link(h.home+"/private", h.repo+"/.venv")
		},
		"python: a program of the checkout": func(h hostile, env map[string]string) {
			h.write(h.repo+"/pyproject.toml", "")
			h.write(h.repo+"/.venv/bin/python3", "#!/bin/sh\ntouch "+h.home+"/ran\nprintf '%s\\n' "+h.home+"/.ssh/key "+h.home+"/.ssh "+h.home+"/.aws 3.99.0\n")
			h.write(h.repo+"/.venv/pyvenv.cfg", "home = /usr/bin\n")
			env["PATH"] = h.repo + "/.venv/bin:" + env["PATH"]
			env["VIRTUAL_ENV"] = h.repo + "/.venv"
		},
		"node: a program of the checkout": func(h hostile, env map[string]string) {
			h.write(h.repo+"/package.json", "{}")
			h.write(h.repo+"/bin/node", "#!/bin/sh\ntouch "+h.home+"/ran\nprintf '"+h.home+"/.ssh/key\\nv20'\n")
			h.link(h.repo+"/bin", h.home+"/bin")
			env["PATH"] = h.home + "/bin:" + env["PATH"]
		},
		"node: linked packages": func(h hostile, _ map[string]string) {
			h.write(h.repo+"/package.json", "{}")
			h.link(h.home+"/.ssh", h.repo+"/node_modules")
		},
		"node: a package in a linked folder": func(h hostile, _ map[string]string) {
			h.write(h.home+"/private/package.json", "{}")
			h.write(h.home+"/private/node_modules/key", planted)
			h.write(h.repo+"/package.json", `{"workspaces":["p"]}`)
			h.link(h.home+"/private", h.repo+"/p")
		},
		"node: installed right in the home": func(h hostile, env map[string]string) {
			h.write(h.repo+"/package.json", "{}")
			h.write(h.home+"/bin/node", "#!/bin/sh\nprintf '"+h.home+"/bin/node\\nv20'\n")
			env["PATH"] = h.home + "/bin:" + env["PATH"]
		},
		"node: caches that lead to keys": func(h hostile, env map[string]string) {
			h.write(h.repo+"/package.json", "{}")
			h.link(h.home+"/.ssh", h.home+"/.npm/_cacache")
			env["COREPACK_HOME"] = h.home + "/.config"
		},
		"rust: a channel that is a path": func(h hostile, _ map[string]string) {
			h.write(h.repo+"/Cargo.toml", "[package]\nname='x'\n")
			h.write(h.repo+"/rust-toolchain.toml", "[toolchain]\npath = \""+h.home+"/.ssh\"\nchannel = \""+h.home+"/.ssh\"\n")
			h.write(h.repo+"/.cargo/config.toml", "[source.x]\ndirectory = \""+h.home+"/.ssh\"\n")
			h.link(h.home+"/.ssh", h.repo+"/target")
		},
		"rust: a home that leads to keys": func(h hostile, env map[string]string) {
			h.write(h.repo+"/Cargo.toml", "[package]\nname='x'\n")
			env["CARGO_HOME"] = h.home + "/.config"
		},
		"go: replaced, used and linked": func(h hostile, _ map[string]string) {
			h.write(h.repo+"/go.mod", "module x\n\ngo 1.21\n\nreplace y => "+h.home+"/.ssh\n")
			h.write(h.repo+"/go.work", "go 1.21\nuse (\n\t.\n\t../../.ssh\n\t"+h.home+"/.ssh\n)\n")
			h.link(h.home+"/.ssh", h.repo+"/vendor")
		},
		"go: caches that lead to keys": func(h hostile, env map[string]string) {
			h.write(h.repo+"/go.mod", "module x\n\ngo 1.21\n")
			h.link(h.home+"/.ssh", h.home+"/cache")
			env["GOCACHE"], env["GOMODCACHE"] = h.home+"/cache", h.home+"/.aws"
		},
		"java: a home that is keys": func(h hostile, env map[string]string) {
			h.write(h.repo+"/pom.xml", "<project/>")
			h.write(h.home+"/.ssh/bin/java", "")
			env["JAVA_HOME"] = h.home + "/.ssh"
			h.link(h.home+"/.aws", h.home+"/.m2/repository")
		},
		"tools named by a file": func(h hostile, _ map[string]string) {
			h.write(h.repo+"/package.json", `{"packageManager":"pnpm@../../../.ssh"}`)
			h.write(h.repo+"/.tool-versions", "nodejs path:"+h.home+"/.ssh\npython ref:../../.ssh\n")
			h.write(h.repo+"/.nvmrc", h.home+"/.ssh\n")
			h.write(h.repo+"/composer.json", "{}")
			h.link(h.home+"/.ssh", h.repo+"/deps")
		},
	}
}

// TestHostileRepositories reads all that a command of such a repository can see,
// and finds nothing of what was planted in the home.
func TestHostileRepositories(t *testing.T) {
	for name, set := range hostileRepositories() {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			h := newHostile(t)
			env := map[string]string{"HOME": h.home, "PATH": os.Getenv("PATH"), "GOCACHE": "", "GOMODCACHE": "", "VIRTUAL_ENV": "", "CARGO_HOME": "", "JAVA_HOME": ""}
			if err := os.MkdirAll(h.repo, 0o755); err != nil {
				t.Fatal(err)
			}
			set(h, env)
			f, err := Toolchain(t.Context(), Input{Repo: os.DirFS(h.repo), Dir: h.repo, Env: with(env)})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(h.home, "ran")); err == nil {
				t.Error("a program of the checkout was run outside of the sandbox")
			}
			roots := []string{}
			places := []string{}
			for _, m := range f.Tools.ReadOnly {
				roots, places = append(roots, m.Host), append(places, m.At)
			}
			for _, o := range f.Tools.Overlays {
				roots, places = append(roots, o.Lower), append(places, o.At)
			}
			for _, at := range places {
				if at == h.repo || strings.HasPrefix(at, h.repo+"/") {
					t.Errorf("%s lies over what the run has of the checkout", at)
				}
			}
			for _, d := range f.Dependencies {
				roots = append(roots, d.Host)
			}
			for _, r := range roots {
				if real, err := filepath.EvalSymlinks(r); err == nil && real != r {
					t.Errorf("%s is shown by a name that leads to %s", r, real)
				}
				if !strings.HasPrefix(r, h.home) {
					continue // what is planted is in the home
				}
				if out, err := exec.Command("grep", "-rlsF", planted, r).Output(); err == nil {
					t.Errorf("%s is shown, with %s", r, out)
				}
			}
			h.inside(f)
			t.Logf("%q", f.Refused)
		})
	}
}

// inside looks from within the sandbox.
func (h hostile) inside(f Found) {
	h.t.Helper()
	h.t.Setenv("HOME", h.home)
	r, err := sandbox.New(sandbox.Options{Mode: sandbox.ModeFull, Idle: -1})
	if err != nil {
		h.t.Logf("no full sandbox here: %v", err)
		return
	}
	defer func() { _ = r.Close() }()
	tree := h.t.TempDir()
	res, err := r.Run(h.t.Context(), sandbox.Spec{
		Place: sandbox.Place{Root: tree, At: h.repo}, Tools: f.Tools, LayerDir: h.t.TempDir(),
		Argv: []string{"/bin/sh", "-c", "grep -rlsF " + planted + " " + h.home + " /opt /srv /run 2>/dev/null; true"},
	})
	if err != nil || strings.TrimSpace(string(res.Output)) != "" {
		h.t.Errorf("seen inside: %s, %v", res.Output, err)
	}
}

// TestRefusedIsTold names what was not shown.
func TestRefusedIsTold(t *testing.T) {
	h := newHostile(t)
	hostileRepositories()["python: an interpreter of nobody's"](h, nil)
	f, err := Toolchain(t.Context(), Input{Repo: os.DirFS(h.repo), Dir: h.repo, Env: with(map[string]string{"HOME": h.home})})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(f.Refused, func(s string) bool {
		return strings.Contains(s, h.home+"/private") && strings.Contains(s, "pyvenv.cfg") && strings.Contains(s, "sandbox.read")
	}) {
		t.Errorf("%q", f.Refused)
	}
}

// TestKnownToolchainsAreShown shows what version managers keep in a home.
func TestKnownToolchainsAreShown(t *testing.T) {
	h := newHostile(t)
	at := h.home + "/.pyenv/versions/3.99.1"
	h.write(at+"/lib/python3.99/os.py", "")
	h.write(at+"/bin/python3", "")
	h.write(h.repo+"/pyproject.toml", "")
	h.write(h.repo+"/.venv/pyvenv.cfg", "home = "+at+"/bin\n")
	f, err := Toolchain(t.Context(), Input{Repo: os.DirFS(h.repo), Dir: h.repo, Env: with(map[string]string{"HOME": h.home})})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(f.Tools.ReadOnly, sandbox.Mount{Host: at, At: at}) {
		t.Errorf("%+v %q", f.Tools.ReadOnly, f.Refused)
	}
	if len(f.Dependencies) != 1 {
		t.Errorf("%+v", f.Dependencies)
	}
}
