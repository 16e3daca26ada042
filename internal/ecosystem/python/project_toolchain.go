package python

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"agency/internal/agency"
	"agency/internal/ecosystem"
	"agency/internal/regexp"
)

// toolchain is the environment of an interpreter while it is made.
type toolchain struct{ *ecosystem.Builder }

const askPython = "import sys; print(sys.executable); print(sys.base_prefix); print(sys.prefix); print('.'.join(map(str, sys.version_info[:3])))"

// pythonToolchain shows the interpreter that the user's python3 is, behind its
// version manager, and virtual environments: the one that is active and those
// in the checkout.
func pythonToolchain(ctx context.Context, m *ecosystem.Machine) (ecosystem.Environment, error) {
	bin, _, err := m.Look("python3", "python")
	if err != nil {
		return ecosystem.Environment{}, err
	}
	var extra []string
	if v, _, _ := strings.Cut(m.Text(".python-version"), "\n"); ecosystem.VersionName.MatchString(strings.TrimSpace(v)) {
		extra = []string{"PYENV_VERSION=" + strings.TrimSpace(v)}
	}
	out, err := m.Ask(ctx, extra, bin, "-I", "-S", "-c", askPython)
	if err != nil && extra != nil { // a version that is not installed
		out, err = m.Ask(ctx, nil, bin, "-I", "-S", "-c", askPython)
	}
	say := strings.Split(out, "\n")
	if err != nil || len(say) != 4 || !filepath.IsAbs(say[0]) {
		return ecosystem.Environment{}, fmt.Errorf("%s does not tell where it lies: %q, %w", bin, out, err)
	}
	b := toolchain{ecosystem.NewBuilder(m)}
	var dirs []string
	if m.Dir != "" {
		b.venvs(m)
	}
	if active := m.Value("VIRTUAL_ENV", ""); active != "" && ecosystem.Exist(filepath.Join(active, "pyvenv.cfg")) && !ecosystem.LiesIn(ecosystem.Resolved(active), m.Sight.Repo) && b.Show(active) {
		b.venv(active, agency.NamedByTools)
		b.Packages(active)
		dirs = append(dirs, filepath.Join(active, "bin"))
	}
	b.Program(say[0])
	b.sitePackages(say[1], say[3])
	minor := "python" + strings.Join(strings.SplitN(say[3], ".", 3)[:2], ".")
	b.Prefix(say[1], say[0], filepath.Join(say[1], "lib", minor))
	if say[2] != say[1] {
		b.Show(say[2])
	}
	b.Set("PATH", strings.Join(append(dirs, filepath.Dir(say[0])), ":"))
	b.Set("PYTHONDONTWRITEBYTECODE", "1") // a checkout without ignore rules would keep it
	b.Set("PIP_DISABLE_PIP_VERSION_CHECK", "1")
	b.Set("PIP_NO_INPUT", "1")
	b.userPackages(m, say[3])
	b.uv(m)
	b.Version = "python " + say[3]
	return b.Environment, nil
}

// userPackages shows what pip installed for the user, where there is something.
func (b toolchain) userPackages(m *ecosystem.Machine, version string) {
	minor := strings.Join(strings.SplitN(version, ".", 3)[:2], ".")
	if at := m.Home(".local", "lib", "python"+minor); ecosystem.Exist(at) {
		b.Show(at)
		b.Packages(at)
		b.Set("PYTHONUSERBASE", m.Home(".local"))
	}
}

func (b toolchain) uv(m *ecosystem.Machine) {
	at, real, err := m.Look(uv)
	if err != nil {
		return
	}
	b.Program(real)
	if !ecosystem.OfSystem(real) {
		b.Show(real)
		b.Show(at)
		b.Tools.Env[0] += ":" + filepath.Dir(at)
	}
	for _, kv := range [][2]string{{"UV_OFFLINE", "1"}, {"UV_PYTHON_DOWNLOADS", "never"}, {"UV_NO_SYNC", "1"}} {
		b.Set(kv[0], kv[1])
	}
	b.Online = append(b.Online, "UV_OFFLINE=0", "UV_NO_SYNC=0", "UV_LINK_MODE=copy")
	if cache := m.Value("UV_CACHE_DIR", m.Home(".cache", "uv")); ecosystem.Exist(cache) {
		b.Cache(cache, "uv")
		b.Set("UV_CACHE_DIR", cache)
	}
}

// venvs shows the interpreters of the virtual environments of the checkout; the
// environments themselves are dependency folders, and used where they are shown.
func (b toolchain) venvs(m *ecosystem.Machine) {
	for dir := range m.Dirs() {
		for _, name := range venvs {
			if at := filepath.Join(m.Dir, filepath.FromSlash(dir), name); ecosystem.Exist(filepath.Join(at, "pyvenv.cfg")) {
				b.venv(at, agency.NamedByRepository)
			}
		}
	}
}

var venvHome = regexp.MustCompile(`(?m)^\s*home\s*=\s*(\S.*?)\s*$`)

// venv shows the interpreter that a virtual environment was made from. In the
// checkout anybody may have written what names it.
func (b toolchain) venv(at string, by agency.Naming) {
	cfg := filepath.Join(at, "pyvenv.cfg")
	m := venvHome.FindStringSubmatch(ecosystem.FileText(cfg))
	if m == nil || !filepath.IsAbs(m[1]) {
		return
	}
	real, err := filepath.EvalSymlinks(m[1])
	if err != nil || filepath.Base(real) != "bin" || !hasPython(real) {
		return
	}
	prefix := filepath.Dir(real)
	b.ShowAt(prefix, prefix, by, cfg)
	// Programs of the environment name it as it was written.
	if named := filepath.Dir(filepath.Clean(m[1])); named != prefix && ecosystem.Resolved(named) == prefix {
		b.ShowAt(prefix, named, by, cfg)
	}
}

// hasPython tells a folder of an interpreter: a file of the checkout names it,
// and nothing else may be shown for that.
func hasPython(bin string) bool {
	lib, err := filepath.Glob(filepath.Join(filepath.Dir(bin), "lib", "python*", "os.py"))
	return err == nil && len(lib) > 0
}

// sitePackages are the folders in which an interpreter finds what pip or the
// system installed for all.
func (b toolchain) sitePackages(prefix, version string) {
	minor := "python" + strings.Join(strings.SplitN(version, ".", 3)[:2], ".")
	for _, at := range []string{
		prefix + "/lib/" + minor + "/site-packages", prefix + "/lib/" + minor + "/dist-packages",
		"/usr/local/lib/" + minor + "/dist-packages", "/usr/lib/python3/dist-packages",
	} {
		if ecosystem.Exist(at) {
			b.Packages(at)
		}
	}
}
