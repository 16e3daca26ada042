package detect

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/sandbox"
)

// Servers that a user has below a home are found with what they need, and nothing else is;
// of the others a sentence says why they cannot be started.
func TestBesideBelowAHome(t *testing.T) {
	h := newHostile(t)
	elf, _ := os.ReadFile("/bin/true") // where there is none, its text is no script either
	h.write(h.home+"/.cargo/bin/rustup", string(elf))
	h.link(h.home+"/.cargo/bin/rustup", h.home+"/.cargo/bin/rust-analyzer")
	h.write(h.home+"/.local/bin/clangd", string(elf))
	h.write(h.home+"/.npm-global/lib/node_modules/pyright/langserver.index.js", "#!/usr/bin/env node\n")
	h.link(h.home+"/.npm-global/lib/node_modules/pyright/langserver.index.js", h.home+"/.npm-global/bin/pyright-langserver")
	h.write(h.home+"/.asdf-shims/jdtls", "#!/usr/bin/env bash\n")
	h.write(h.home+"/.hidden/bin/typescript-language-server", string(elf))
	h.write(h.repo+"/bin/basedpyright-langserver", string(elf))
	env := h.env(h.home+"/.cargo/bin", h.home+"/.local/bin", h.home+"/.npm-global/bin", h.home+"/.asdf-shims", h.home+"/.hidden/bin", h.repo+"/bin")
	found := FindBeside(t.Context(), Input{Dir: h.repo, Env: env}, []string{
		"rust-analyzer", "clangd", "pyright-langserver", "jdtls", "typescript-language-server", "basedpyright-langserver", "absent",
	})
	want := map[string]string{"clangd": h.home + "/.local/bin/clangd"}
	if _, err := exec.LookPath("node"); err == nil {
		want["pyright-langserver"] = h.home + "/.npm-global/lib/node_modules/pyright/langserver.index.js"
	}
	for name, at := range want {
		if found.Links[name] != at {
			t.Errorf("%s: %q", name, found.Links[name])
		}
	}
	if len(found.Links) != len(want) {
		t.Errorf("more is shown: %v", found.Links)
	}
	for _, m := range found.ReadOnly {
		if strings.HasPrefix(m.Host, h.home) && m.Host != h.home+"/.local/bin/clangd" && m.Host != h.home+"/.npm-global/lib/node_modules" {
			t.Errorf("%s is shown", m.Host)
		}
	}
	said := strings.Join(found.Refused, "\n")
	for _, why := range []string{"rust-analyzer cannot be started in the sandbox: it is a proxy, rustup", "jdtls cannot be started in the sandbox: it is a script of bash", "typescript-language-server cannot be started in the sandbox: commands do not see"} {
		if !strings.Contains(said, why) {
			t.Errorf("nothing says %q:\n%s", why, said)
		}
	}
}

func (h hostile) env(path ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		switch name {
		case "HOME":
			return h.home, true
		case "PATH":
			return strings.Join(path, ":"), true
		}
		return "", false
	}
}

// A real server below a home starts in the sandbox, which sees nothing else of the home.
func TestBesideStarts(t *testing.T) {
	real, err := exec.LookPath("/usr/local/bin/rust-analyzer")
	if err != nil {
		t.Skip("needs rust-analyzer in /usr/local/bin")
	}
	runner, err := sandbox.New(sandbox.Options{Mode: sandbox.ModeFull, StateDir: t.TempDir()})
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = runner.Close() }()
	h := newHostile(t)
	text, err := os.ReadFile(real)
	if err != nil {
		t.Fatal(err)
	}
	h.write(h.home+"/.cargo/bin/rust-analyzer", string(text))
	h.write(h.home+"/.local/lib/node_modules/ours/langserver.index.js", "#!/usr/bin/env node\nconsole.log(require('beside'))\n")
	h.write(h.home+"/.local/lib/node_modules/beside/index.js", "module.exports = 'served'\n")
	h.link(h.home+"/.local/lib/node_modules/ours/langserver.index.js", h.home+"/.local/bin/our-langserver")
	in := Input{Dir: h.repo, Env: h.env(h.home+"/.cargo/bin", h.home+"/.local/bin"), Sight: runner.Sight(h.repo)}
	found := FindBeside(t.Context(), in, []string{"rust-analyzer", "our-langserver"})
	within := t.TempDir()
	tools, release, err := found.Around(sandbox.Toolchain{Env: []string{"PATH=/usr/bin:/bin"}}, within)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	res, err := runner.Run(context.Background(), sandbox.Spec{
		Place: sandbox.Place{Root: home, At: home}, Tools: tools, Limits: sandbox.DefaultLimits(), LayerDir: filepath.Join(within, "layers"),
		Argv: []string{"/bin/sh", "-c", "command -v rust-analyzer; rust-analyzer --version && our-langserver; cat " + h.home + "/.ssh/key; ls -A " + h.home},
	})
	release()
	said := string(res.Output)
	if err != nil || !strings.Contains(said, "/rust-analyzer\nrust-analyzer ") || strings.Contains(said, planted) || strings.Contains(said, ".aws") {
		t.Errorf("%v: %s", err, said)
	}
	if _, err := exec.LookPath("node"); err == nil && !strings.Contains(said, "served") {
		t.Errorf("a program of node did not start: %s", said)
	}
	if left, _ := os.ReadDir(within); len(left) > 1 {
		t.Errorf("links are left: %v", left)
	}
}
