package detect

import (
	"archive/zip"
	"context"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"agency/internal/check"
)

// Hosts are the names from which packages come, as files name them: at the
// base, which the user has, and in a claim.
type Hosts struct{ Base, Claim []string }

// HostFiles are the files of a unit that can name hosts.
func HostFiles(u check.Dependency) []string {
	out := slices.Clone(u.Locks)
	for _, n := range []string{".npmrc", ".yarnrc", ".yarnrc.yml", "pip.conf", "uv.toml", ".cargo/config.toml", "settings.gradle", "settings.gradle.kts"} {
		if at := path.Join(u.Dir, n); !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	return out
}

var (
	hostURL = regexp.MustCompile(`https://(?:[^/\s"'@]*@)?([A-Za-z0-9.-]+)`)
	// npmSource are the lines of a lockfile of npm that say where a package is;
	// others name sponsors.
	npmSource = regexp.MustCompile(`"resolved"\s*:\s*"[^"]*"`)
)

// HostsIn are the hosts that a lockfile or a package manager's file names.
func HostsIn(name string, text []byte) []string {
	switch path.Base(name) {
	case "package-lock.json", "npm-shrinkwrap.json":
		var lines []byte
		for _, m := range npmSource.FindAll(text, -1) {
			lines = append(append(lines, m...), '\n')
		}
		text = lines
	case "package.json", "pyproject.toml", "setup.py", "setup.cfg", "go.mod", "go.sum", "go.work", "Cargo.toml", "composer.json":
		return nil // links to homepages
	case "pom.xml":
		text = repositories(text)
	case "Cargo.lock":
		text = sparse(text)
	}
	var out []string
	for _, m := range hostURL.FindAllSubmatch(text, -1) {
		if h := strings.ToLower(string(m[1])); !slices.Contains(out, h) && strings.Contains(h, ".") {
			out = append(out, h)
		}
	}
	return out
}

var (
	pomRepository = regexp.MustCompile(`(?s)<(?:repository|pluginRepository|mirror)>.*?</(?:repository|pluginRepository|mirror)>`)
	cargoSparse   = regexp.MustCompile(`sparse\+https://[^"]+`)
)

func repositories(text []byte) []byte {
	var out []byte
	for _, m := range pomRepository.FindAll(text, -1) {
		out = append(out, m...)
	}
	return out
}

func sparse(text []byte) []byte {
	var out []byte
	for _, m := range cargoSparse.FindAll(text, -1) {
		out = append(append(out, m...), '\n')
	}
	return out
}

// HostsOfTools are the hosts that the user's own package managers name, each
// asked itself in an empty folder: no list of registries is kept here, and a
// mirror counts as the user has it. One that does not tell adds nothing.
func HostsOfTools(ctx context.Context, units []check.Dependency, env func(string) (string, bool)) []string {
	var out []string
	ctx, cancel := context.WithTimeout(ctx, askTimeout) // all of them together
	defer cancel()
	asked := map[string]bool{}
	for _, u := range units {
		if asked[u.Manager] {
			continue
		}
		asked[u.Manager] = true
		for _, m := range hostURL.FindAllStringSubmatch(told(ctx, u.Manager, env), -1) {
			if h := strings.ToLower(m[1]); !slices.Contains(out, h) {
				out = append(out, h)
			}
		}
	}
	return out
}

// told is what a package manager says of where it downloads from.
func told(ctx context.Context, manager string, env func(string) (string, bool)) string {
	in := Input{Env: env}
	askOf := func(program string, args ...string) string {
		bin, _, err := look(env, program)
		if err != nil {
			return ""
		}
		out, err := ask(ctx, env, nil, bin, args...)
		if err != nil {
			return ""
		}
		return out
	}
	switch manager {
	case byNPM, byPNPM, byYarn:
		if r, ok := env("npm_config_registry"); ok && r != "" {
			return r
		}
		if manager == byYarn {
			if r := askOf(byYarn, "config", "get", "registry"); strings.Contains(r, "https://") {
				return r
			}
		}
		return askOf(byNPM, "config", "get", "registry")
	case byPip, byPipenv, byPoetry, byPDM, byUV:
		if r, ok := env("PIP_INDEX_URL"); ok && r != "" {
			return r
		}
		if r := askOf("pip", "config", "get", "global.index-url"); strings.Contains(r, "https://") {
			return r
		}
		return askOf("python3", "-I", "-c", askIndex)
	case byGo:
		e := "GOPROXY"
		out := askOf("go", "env", e, "GOSUMDB")
		if sum := lastLine(out); sum != "" && sum != "off" && !strings.Contains(sum, "://") {
			name, _, _ := strings.Cut(sum, "+")
			out += " https://" + name
		}
		return out
	case byCargo:
		return indexTold(value(in, "CARGO_HOME", home(in, ".cargo")))
	case byMaven:
		return superPOM(in)
	}
	return ""
}

// askIndex is how pip says which index it has built in.
const askIndex = `from pip._internal.models.index import PyPI
print("https://%s https://%s" % (PyPI.netloc, PyPI.file_storage_domain))`

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// indexTold is what Cargo has kept of the registries that it used: each index
// says where its crates are, and the index's folder is called by its host.
func indexTold(cargo string) string {
	var b strings.Builder
	files, _ := filepath.Glob(filepath.Join(cargo, "registry", "index", "*", "config.json")) // a bad pattern is none
	for _, f := range files {
		b.WriteString(fileText(f) + "\n")
		name := filepath.Base(filepath.Dir(f))
		if i := strings.LastIndexByte(name, '-'); i > 0 {
			b.WriteString("https://" + name[:i] + "\n")
		}
	}
	return b.String()
}

// superPOM is what Maven has built in: the repository of every project.
func superPOM(in Input) string {
	_, real, err := look(in.Env, byMaven)
	if err != nil {
		return ""
	}
	for _, lib := range []string{filepath.Join(filepath.Dir(filepath.Dir(real)), "lib"), "/usr/share/maven/lib"} {
		jars, _ := filepath.Glob(filepath.Join(lib, "maven-model-builder*.jar")) // a bad pattern is none
		for _, j := range jars {
			if text := inZip(j, "org/apache/maven/model/pom-4.0.0.xml"); text != "" {
				return string(repositories([]byte(text)))
			}
		}
	}
	return ""
}

func inZip(archive, name string) string {
	if _, err := os.Stat(archive); err != nil {
		return ""
	}
	z, err := zip.OpenReader(archive)
	if err != nil {
		return ""
	}
	defer func() { _ = z.Close() }() // only read
	f, err := z.Open(name)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // only read
	b, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return ""
	}
	return string(b)
}
