package detect

import (
	"encoding/json"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"agency/internal/check"
)

// Aside is a part that stands beside the project, such as an example, a site of
// documentation or a benchmark: nothing of the project is made from it.
type Aside struct {
	Dir, Manifest, Language string
	// Lacks is what its commands need and this machine does not have; Mend is the
	// command that brings it.
	Lacks, Mend string
}

// String says that the part is left out, why, and how to have it checked.
func (a Aside) String() string {
	s := "left out: " + a.Manifest + ": its checks do not run, for " + a.Lacks
	if a.Mend != "" {
		s += "; to include it: " + a.Mend
	}
	return s
}

// Detected is what a repository's files show.
type Detected struct {
	Commands  check.Commands
	Languages []Language
	// Left are the parts beside the project whose commands cannot run here, and
	// which Commands therefore leaves out.
	Left []Aside
}

// Detect reads which commands a repository has, as Commands does, and leaves out
// parts beside the project that lack what they need: they would keep a run from
// starting that has nothing to do with them.
func Detect(in Input) Detected {
	var d Detected
	parts := findParts(in.Repo)
	if len(parts) == 0 {
		parts = fallback(in.Repo)
	}
	beside := besides(in.Repo, parts)
	var kept []part
	for i, p := range parts {
		if beside[i] {
			if what, mend := in.lacking(p); what != "" {
				d.Left = append(d.Left, Aside{Dir: p.dir, Manifest: p.manifest, Language: p.language, Lacks: what, Mend: mend})
				continue
			}
		}
		kept = append(kept, p)
	}
	d.Commands, d.Languages = commandsOf(kept)
	return d
}

// NotEntered are the parts of a checkout that have commands of their own which
// none of a run's commands starts; none where that is not certain.
func NotEntered(root fs.FS, cmds check.Commands) []Aside {
	starts := check.Starts(cmds, root)
	if len(starts) == 0 || slices.ContainsFunc(starts, func(s check.Start) bool { return !s.Known }) {
		return nil
	}
	var out []Aside
	for _, p := range findParts(root) {
		bare := p.cmds.Test == "" && p.cmds.Build == "" && p.cmds.Typecheck == "" && p.cmds.Lint == ""
		if p.dir == "." || bare || slices.ContainsFunc(starts, func(s check.Start) bool { return below(s.Dir, p.dir) }) || belongs(root, p) {
			continue
		}
		out = append(out, Aside{Dir: p.dir, Manifest: p.manifest, Language: p.language})
	}
	return out
}

// sideName are the usual names of folders for what stands beside a project: they
// tell where tests do not.
var sideName = regexp.MustCompile(`^(?:examples?|docs?|documentation|website|site|www|bench(?:es|marks?)?|demos?|samples?|playgrounds?|fuzz|tutorials?)$`)

// besides tells of each part whether it stands beside the project: no root, no
// member of a workspace, and nothing that other parts use. Where a repository has
// no part at its root, those with tests are the project, and a name such as
// examples says otherwise.
func besides(root fs.FS, parts []part) []bool {
	rooted := slices.ContainsFunc(parts, func(p part) bool { return p.dir == "." })
	named := func(p part) bool { return slices.ContainsFunc(strings.Split(p.dir, "/"), sideName.MatchString) }
	which := func(beside func(part) bool) []bool {
		out := make([]bool, len(parts))
		for i, p := range parts {
			out[i] = p.dir != "." && (rooted || beside(p)) && !belongs(root, p)
		}
		return out
	}
	out := which(func(p part) bool { return named(p) || !tested(root, p) })
	if !rooted && !slices.Contains(out, false) {
		out = which(named) // nothing has tests
	}
	if !rooted && !slices.Contains(out, false) {
		return make([]bool, len(parts)) // then they are all that there is
	}
	for changed := true; changed; {
		changed = false
		for i, p := range parts {
			if out[i] {
				continue
			}
			used := usedBy(root, p)
			for k, q := range parts {
				if out[k] && slices.ContainsFunc(used, func(u string) bool { return u == q.dir || below(u, q.dir) }) {
					out[k], changed = false, true
				}
			}
		}
	}
	return out
}

// tested tells whether a part has tests that its command runs.
func tested(root fs.FS, p part) bool {
	if p.language != "Go" {
		return p.cmds.Test != ""
	}
	found := false
	_ = fs.WalkDir(root, p.dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case found:
			return fs.SkipAll
		case err != nil && d == nil, err == nil && d.IsDir() && name != p.dir && goIgnores(d.Name()):
			return fs.SkipDir
		}
		found = strings.HasSuffix(name, "_test.go")
		return nil
	})
	return found
}

// belongs tells whether a part of JavaScript is a member of a workspace above it.
// Those of other languages are not parts of their own.
func belongs(root fs.FS, p part) bool {
	if !exists(root, path.Join(p.dir, "package.json")) {
		return false
	}
	for at := p.dir; at != "."; {
		at = path.Dir(at)
		in := false
		for _, pattern := range workspacesOf(root, at) {
			not := strings.HasPrefix(pattern, "!")
			pattern = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(pattern, "!"), "./"), "/")
			if matchesFolder(pattern, strings.TrimPrefix(strings.TrimPrefix(p.dir, at), "/")) {
				in = !not
			}
		}
		if in {
			return true
		}
	}
	return false
}

// workspacesOf are the patterns of the folders of a workspace's members.
func workspacesOf(root fs.FS, dir string) []string {
	var m struct {
		Workspaces json.RawMessage `json:"workspaces"`
	}
	_ = json.Unmarshal([]byte(text(root, path.Join(dir, "package.json"))), &m) // a broken one has none
	var list []string
	var full struct {
		Packages []string `json:"packages" yaml:"packages"`
	}
	if json.Unmarshal(m.Workspaces, &list) != nil {
		_ = json.Unmarshal(m.Workspaces, &full) // likewise
		list = full.Packages
	}
	full.Packages = nil
	if y := text(root, path.Join(dir, "pnpm-workspace.yaml")); y != "" && yaml.Unmarshal([]byte(y), &full) == nil {
		list = append(list, full.Packages...)
	}
	return list
}

// matchesFolder tells whether a pattern of folders names one; ** is any depth.
func matchesFolder(pattern, dir string) bool {
	want, have := strings.Split(pattern, "/"), strings.Split(dir, "/")
	for i, w := range want {
		if w == "**" {
			return len(have) > i || i == len(want)-1
		}
		if i >= len(have) {
			return false
		}
		if ok, err := path.Match(w, have[i]); !ok || err != nil {
			return false
		}
	}
	return len(want) == len(have)
}

var (
	goReplace  = regexp.MustCompile(`=>\s+(\.\.?/\S*|\.\.?)`)
	jsFile     = regexp.MustCompile(`"(?:file|link|portal):([^"]+)"`)
	pyFile     = regexp.MustCompile(`(?m)^\s*(?:-e\s+|--editable[ =])?(\.\.?/[^\s#;\[]*)`)
	tomlFolder = regexp.MustCompile(`path\s*=\s*"([^"]+)"`)
	jsDir      = regexp.MustCompile(`(?:\bcd|--prefix|--cwd|-C)[ =]+["']?([\w./-]+)`)
)

// usedBy are the folders that the manifests of a part name, relative to the
// repository.
func usedBy(root fs.FS, p part) []string {
	var out []string
	for name, form := range map[string]*regexp.Regexp{
		"go.mod": goReplace, "package.json": jsFile, "requirements.txt": pyFile, "pyproject.toml": tomlFolder, "Cargo.toml": tomlFolder,
	} {
		for _, m := range form.FindAllStringSubmatch(text(root, path.Join(p.dir, name)), -1) {
			out = append(out, path.Join(p.dir, m[1]))
		}
	}
	for _, script := range readManifestJS(root, p.dir).Scripts { // what the commands of a part enter
		for _, m := range jsDir.FindAllStringSubmatch(script, -1) {
			out = append(out, path.Join(p.dir, m[1]))
		}
	}
	return out
}

// lacking is what a part needs and this machine does not have, as far as files
// tell it.
func (in Input) lacking(p part) (what, mend string) {
	program := map[string]string{"Go": "go", "Python": "python3", "Rust": "cargo", "JavaScript": "node", "TypeScript": "node"}[p.language]
	if p.language == "JavaScript" || p.language == "TypeScript" {
		if pm, _, _ := strings.Cut(p.cmds.Test+p.cmds.Build+p.cmds.Lint, " "); pm == byPNPM || pm == byYarn {
			program = pm
		}
	}
	if program != "" && program != "go" {
		if _, _, err := look(in.Env, program); err != nil {
			return program + " is not in PATH", installs[program]
		}
	}
	switch p.language {
	case "Go":
		what = in.goLacks(p)
		mend = inDir(p.dir, "go mod download")
	case "JavaScript", "TypeScript":
		what, mend = in.nodeLacks(p)
	case "Python":
		what, mend = in.pythonLacks(p)
	case "Rust":
		what, mend = in.rustLacks(p), inDir(p.dir, "cargo fetch --locked")
	}
	return what, mend
}

func (in Input) nodeLacks(p part) (what, mend string) {
	m := readManifestJS(in.Repo, p.dir)
	var names []string
	for _, list := range []map[string]json.RawMessage{m.Dependencies, m.DevDependencies} {
		for name, raw := range list {
			var spec string
			if json.Unmarshal(raw, &spec) == nil && !strings.Contains(spec, ":") {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if _, ok := installedAt(in.Dir, p.dir, name); !ok {
			return name + " is not installed", in.setupOf(p.dir, "node_modules")
		}
	}
	return "", ""
}

// setupOf is the command that installs what the unit of a folder asks for.
func (in Input) setupOf(dir, folder string) string {
	var best *check.Dependency
	for _, u := range (Finder{}).Units(in.Repo) {
		if below(dir, u.Dir) && (folder == "" || path.Base(u.Folder) == folder) && (best == nil || len(u.Dir) > len(best.Dir)) {
			best = &u
		}
	}
	if best == nil {
		return ""
	}
	return mendBy(in.Repo, in.Dir, *best)
}

func (in Input) pythonLacks(p part) (what, mend string) {
	want := map[string]string{}
	for _, name := range []string{"requirements.txt", "pyproject.toml"} {
		list := plainRequirements(text(in.Repo, path.Join(p.dir, name)))
		if name == "pyproject.toml" {
			list = plainRequirements(ownDependencies(text(in.Repo, path.Join(p.dir, name))))
		}
		for n := range requirements(list) {
			want[n] = n
		}
	}
	if strings.Contains(p.cmds.Test, "pytest") {
		want["pytest"] = "pytest"
	}
	have := in.distributions(p.dir)
	var names []string
	for n := range want {
		if !have[n] {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return "", ""
	}
	return slices.Min(names) + " is not installed", in.setupOf(p.dir, "")
}

// distributions are the names of what is installed where an interpreter that a
// part may run on looks.
func (in Input) distributions(dir string) map[string]bool {
	var sites []string
	for _, at := range []string{dir, "."} {
		for _, venv := range venvs {
			sites = append(sites, filepath.Join(in.Dir, filepath.FromSlash(at), venv, "lib", "python3*", "site-packages"))
		}
	}
	sites = append(sites, value(in, "VIRTUAL_ENV", nowhere)+"/lib/python3*/site-packages", home(in, ".local", "lib", "python3*", "site-packages"),
		value(in, "PYENV_ROOT", home(in, ".pyenv"))+"/versions/*/lib/python3*/site-packages",
		"/usr/lib/python3/dist-packages", "/usr/local/lib/python3*/dist-packages", "/usr/local/lib/python3*/site-packages", "/usr/lib/python3*/site-packages")
	out := map[string]bool{}
	for _, s := range sites {
		found, _ := filepath.Glob(filepath.Join(s, "*.*-info")) // a bad pattern is none
		for _, f := range found {
			name, _, _ := strings.Cut(filepath.Base(f), "-")
			out[pythonName(strings.TrimSuffix(strings.TrimSuffix(name, ".dist"), ".egg"))] = true
		}
	}
	return out
}

// rustLacks names a crate of the lockfile that Cargo has not downloaded.
func (in Input) rustLacks(p part) string {
	cargo := value(in, "CARGO_HOME", home(in, ".cargo"))
	for _, t := range lockedCrate.FindAllStringSubmatch(text(in.Repo, path.Join(p.dir, "Cargo.lock")), -1) {
		at, _ := filepath.Glob(filepath.Join(cargo, "registry", "cache", "*", t[1]+"-"+t[2]+".crate")) // a bad pattern is none
		if len(at) == 0 {
			return t[1] + " " + t[2] + " is not downloaded"
		}
	}
	return ""
}

var lockedCrate = regexp.MustCompile(`(?m)^name = "([^"]+)"\nversion = "([^"]+)"\nsource = "registry\+`)
