package detect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/check"
	"agency/internal/sandbox"
)

// systemPath is where programs lie that no toolchain brings.
const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// nowhere is a folder that does not exist: an overlay over it is a cache of its
// own.
const nowhere = "/nonexistent/agency"

// kit gathers toolchains into one.
type kit struct {
	path     []string
	all      sandbox.Toolchain
	versions []string
	caches   []check.Cache
	online   []string
	loads    []check.Load
}

// take adds a toolchain; PATH of its environment is put behind those before.
func (k *kit) take(f Found) {
	for _, kv := range f.Tools.Env {
		if p, ok := strings.CutPrefix(kv, "PATH="); ok {
			k.path = append(k.path, filepath.SplitList(p)...)
			continue
		}
		k.all.Env = append(k.all.Env, kv)
	}
	for _, m := range f.Tools.ReadOnly {
		if !slices.Contains(k.all.ReadOnly, m) {
			k.all.ReadOnly = append(k.all.ReadOnly, m)
		}
	}
	k.all.Overlays = append(k.all.Overlays, f.Tools.Overlays...)
	k.caches, k.online, k.loads = append(k.caches, f.Caches...), append(k.online, f.Online...), append(k.loads, f.Loads...)
	if f.Version != "" {
		k.versions = append(k.versions, f.Version)
	}
}

func (k *kit) tools() sandbox.Toolchain {
	if len(k.path) == 0 && len(k.all.Env) == 0 {
		return k.all
	}
	// The system's folders keep their place behind all others: one of them may
	// hold another version of what a toolchain brings.
	last := filepath.SplitList(systemPath)
	var path []string
	for _, p := range append(slices.DeleteFunc(k.path, func(p string) bool { return slices.Contains(last, p) }), last...) {
		if !slices.Contains(path, p) {
			path = append(path, p)
		}
	}
	k.all.Env = append([]string{"PATH=" + strings.Join(path, ":")}, k.all.Env...)
	return k.all
}

// builder makes one toolchain.
type builder struct{ f Found }

func (b *builder) env(name, value string) { b.f.Tools.Env = append(b.f.Tools.Env, name+"="+value) }

// show mounts a folder or file read-only at its own path, unless the system's
// folders hold it. What is not there is left out.
func (b *builder) show(path string) {
	path = filepath.Clean(path)
	if system(path) {
		return
	}
	if _, err := os.Stat(path); err == nil {
		b.f.Tools.ReadOnly = append(b.f.Tools.ReadOnly, sandbox.Mount{Host: path, At: path})
	}
}

// cache lays an overlay over a folder; where there is none it is a new one.
func (b *builder) cache(path, name string) {
	b.f.Tools.Overlays = append(b.f.Tools.Overlays, sandbox.Overlay{Lower: path, At: path, Name: name})
}

// own makes a folder writable that keeps nothing of the user's: secrets may lie
// in the one on the host.
func (b *builder) own(path, name string) {
	b.f.Tools.Overlays = append(b.f.Tools.Overlays, sandbox.Overlay{Lower: nowhere, At: path, Name: name})
}

// system tells whether every command sees a path anyway.
func system(path string) bool {
	return path == "/" || slices.ContainsFunc([]string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/nix/store", "/gnu/store"}, func(d string) bool {
		return path == d || strings.HasPrefix(path, d+"/")
	})
}

// look finds a program in the user's PATH: the file as it is named there, and
// where its links lead.
func look(env func(string) (string, bool), names ...string) (bin, real string, err error) {
	paths, _ := env("PATH")
	for _, name := range names {
		for _, d := range append(filepath.SplitList(paths), filepath.SplitList(systemPath)...) {
			bin := filepath.Join(d, name)
			info, err := os.Stat(bin)
			if !filepath.IsAbs(d) || err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
				continue
			}
			if real, err = filepath.EvalSymlinks(bin); err == nil {
				return bin, real, nil
			}
		}
	}
	return "", "", fmt.Errorf("%s is not in PATH: %w", strings.Join(names, " or "), fs.ErrNotExist)
}

// managers are the variables by which version managers and toolchains are
// told where they lie.
var managers = []string{
	"HOME", "PATH", "PYENV_ROOT", "PYENV_VERSION", "ASDF_DIR", "ASDF_DATA_DIR", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "CARGO_HOME",
	"NVM_DIR", "VOLTA_HOME", "FNM_DIR", "JAVA_HOME", "SDKMAN_DIR", "MISE_DATA_DIR",
}

// ask runs a toolchain's own program in an empty folder, so that no file of a
// repository is read, and gives its output.
func ask(ctx context.Context, env func(string) (string, bool), extra []string, bin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	dir, err := os.MkdirTemp("", "agency-ask-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }() // empty; the system sweeps /tmp
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PWD=" + dir, "RUSTUP_AUTO_INSTALL=0", "LANG=C.UTF-8", "COREPACK_ENABLE_NETWORK=0", "COREPACK_ENABLE_DOWNLOAD_PROMPT=0"}
	for _, name := range managers {
		if v, ok := env(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	cmd.Env = append(cmd.Env, extra...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%s: %w: %s", bin, err, bytes.TrimSpace(exit.Stderr))
	}
	return strings.TrimSpace(string(out)), err
}

// value is a variable of the user's, or what stands for it.
func value(in Input, name, otherwise string) string {
	if v, ok := in.Env(name); ok && filepath.IsAbs(v) {
		return filepath.Clean(v)
	}
	return otherwise
}

// home is a path below the user's home.
func home(in Input, parts ...string) string {
	h, _ := in.Env("HOME")
	if !filepath.IsAbs(h) {
		return nowhere
	}
	return filepath.Join(append([]string{h}, parts...)...)
}
