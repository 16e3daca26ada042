package detect

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"agency/internal/agency"
	"agency/internal/check"
)

// AbsentPrograms refuses a base whose test or setup command starts a program
// that the sandbox does not have, by the error that says what to install, and
// which other commands cannot run. What is missing for the build, the types or
// the linter alone is a note each: such a command is red before and after.
func AbsentPrograms(ctx context.Context, b Base) (notes []string, err error) {
	needs := check.Needs(b.Commands, b.Root.FS())
	if !slices.ContainsFunc(needs, func(n check.Need) bool { return n.Name != "go" && !b.unjudged(n) }) {
		return nil, nil // without the go command there is no toolchain either
	}
	absent, err := b.probe(ctx, needs)
	if err != nil {
		return nil, err
	}
	var refused, noted []lack
	for i, n := range needs {
		if b.unjudged(n) {
			continue
		}
		if note := b.otherManager(ctx, n); note != "" && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
		l := lack{need: n}
		if l.what, l.mend = b.distribution(n); l.what == "" {
			l.what, l.mend = b.pinned(ctx, n)
		}
		if l.what == "" && certain(needs, absent, i) {
			l.what, l.mend = b.lacks(n)
		}
		switch {
		case l.what == "":
		case n.Command == agency.CheckTest || n.Command == agency.CheckSetup:
			refused = append(refused, l)
		default:
			noted = append(noted, l)
			notes = append(notes, fmt.Sprintf("%s cannot run, and is red before and after: %s; mend: %s", l.command(), l.what, l.mend))
		}
	}
	if len(refused) == 0 {
		return notes, nil
	}
	return nil, refusal(append(refused, noted...))
}

// lack is a need that is not met.
type lack struct {
	need       check.Need
	what, mend string
}

func (l lack) command() string { return fmt.Sprintf("commands.%s `%s`", l.need.Command, l.need.Line) }

// certain tells whether a need is missing and nothing that runs before it may
// have installed it.
func certain(needs []check.Need, absent []bool, i int) bool {
	return absent[i] && !slices.ContainsFunc(needs[i].After, func(by int) bool { return !absent[by] })
}

// refusal says all that is missing, each thing once, and which commands cannot
// run for it.
func refusal(lacks []lack) error {
	var says, mends []string
	for i, l := range lacks {
		said := slices.ContainsFunc(lacks[:i], func(o lack) bool { return o.need.Same(l.need) })
		switch {
		case i == 0:
			says = append(says, l.command()+" cannot run: "+l.what)
		case said && l.need.Command == lacks[0].need.Command:
		case said:
			says = append(says, "nor can "+l.command())
		case l.need.Command == lacks[0].need.Command:
			says = append(says, l.what)
		default:
			says = append(says, l.command()+" cannot run either: "+l.what)
		}
		if !said && !slices.Contains(mends, l.mend) {
			mends = append(mends, l.mend)
		}
	}
	return agency.Errorf(agency.KindInvalid, "%s", strings.Join(says, "; ")).WithMend("%s", strings.Join(mends, "; "))
}

// unjudged leaves out what may come from elsewhere than the packages that are
// installed: over the network, out of a package of the repository itself, or by
// a loader of yarn's.
func (b Base) unjudged(n check.Need) bool {
	if n.Kind != check.NeedBin {
		return false
	}
	if n.In != "" && b.Online {
		return true
	}
	root := b.Root.FS()
	for at := n.Dir; ; at = path.Dir(at) {
		if exist(filepath.Join(b.Repo, filepath.FromSlash(at), ".pnp.cjs")) || exist(filepath.Join(b.Repo, filepath.FromSlash(at), ".pnp.js")) ||
			strings.Contains(text(root, path.Join(at, "yarn.lock")), "__metadata:") && !strings.Contains(text(root, path.Join(at, ".yarnrc.yml")), "node-modules") {
			return true
		}
		if at == "." {
			return readManifestJS(root, n.Dir).brings(n.Name)
		}
	}
}

// brings tells whether a package itself has a program of a name.
func (m manifestJS) brings(name string) bool {
	if m.Name == name || strings.HasSuffix(m.Name, "/"+name) {
		return len(m.Bin) > 0
	}
	return strings.Contains(string(m.Bin), strconv.Quote(name))
}

// findModule ends with a code of its own where Python has no such module.
const findModule = `import importlib.util as u, sys; sys.exit(u.find_spec(sys.argv[1]) is None and 93)`

// probe asks a shell in the sandbox, on the base, for what is not there: of each
// need whether it is missing.
func (b Base) probe(ctx context.Context, needs []check.Need) ([]bool, error) {
	first := make([]int, len(needs)) // of those that are the same
	var script strings.Builder
	for i, n := range needs {
		if first[i] = slices.IndexFunc(needs, n.Same); first[i] == i && !b.unjudged(n) {
			fmt.Fprintf(&script, "(cd %s >/dev/null 2>&1 || exit 0; %s) || echo absent:%d:\n", shellWord("./"+n.Dir), there(n), i)
		}
	}
	spec, err := b.Checker.Spec(ctx, b.Subject, check.Command{Kind: agency.CheckCommand, Line: script.String(), Timeout: maxProbe})
	if err != nil {
		return nil, err
	}
	res, err := b.Checker.Exec(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("programs of the commands: %w", err)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	absent := make([]bool, len(needs))
	for i := range needs {
		absent[i] = strings.Contains("\n"+string(res.Output), fmt.Sprintf("\nabsent:%d:\n", first[i]))
	}
	return absent, nil
}

// there is the shell that tells whether a need is met.
func there(n check.Need) string {
	name := shellWord(n.Name)
	found := "command -v " + name + " >/dev/null 2>&1"
	if strings.Contains(n.Name, "/") {
		found = "test -x " + name
	}
	switch n.Kind {
	case check.NeedModule:
		return shellWord(n.In) + " -c " + shellWord(findModule) + " " + name + " >/dev/null 2>&1; test $? -ne 93"
	case check.NeedBin:
		for at, up := n.Dir, "."; ; at, up = path.Dir(at), up+"/.." {
			found += " || test -e " + up + "/node_modules/.bin/" + name
			if n.In != "" { // a package whose program has another name
				found += " || test -e " + up + "/node_modules/" + name
			}
			if at == "." {
				break
			}
		}
		if n.In != "" { // npx also takes what npm has stored
			found += " || npm cache ls 2>/dev/null | grep -q /" + name + "$"
		}
	}
	return found
}

// lacks says what is missing, and how to mend it.
func (b Base) lacks(n check.Need) (what, mend string) {
	by := ""
	if n.Script != "" {
		by = ", which " + n.Script + " starts,"
	}
	switch {
	case n.Kind == check.NeedModule:
		return fmt.Sprintf("%s has no module %s%s", n.In, n.Name, b.inVenv(n.Dir)), b.orSetup(b.pip(n))
	case strings.Contains(n.Name, "/"):
		if exists(b.Root.FS(), path.Join(n.Dir, n.Name)) {
			return n.Name + " is not executable", "git update-index --chmod=+x " + shellWord(path.Join(n.Dir, n.Name)) + ", and commit"
		}
		return fmt.Sprintf("%s is not there in %s", n.Name, placeName(n.Dir)), b.orSetup("install what brings it")
	}
	if at, _, err := look(b.Env, n.Name); err == nil {
		return fmt.Sprintf("%s%s is %s, which the sandbox does not show", n.Name, by, at),
			fmt.Sprintf("set sandbox.read: [%s] and call it by its path in commands.%s, or install it in /usr/local/bin", filepath.Dir(at), n.Command)
	}
	if n.Kind == check.NeedBin && installs[n.Name] == "" {
		what = fmt.Sprintf("%s%s is neither in node_modules/.bin of %s nor in PATH", n.Name, by, placeName(n.Dir))
		if n.In == "npx" || n.In == "npm" {
			what += ", and " + n.In + " would want to download it"
		}
		return what, b.orSetup(b.npm(n))
	}
	if venvTools[n.Name] {
		return fmt.Sprintf("%s%s is not in PATH%s", n.Name, by, b.inVenv(n.Dir)), b.orSetup(b.pip(n))
	}
	how := installs[n.Name]
	if how == "" {
		how = "install " + n.Name + " or add its folder to PATH"
	}
	return fmt.Sprintf("%s%s is not in PATH", n.Name, by), fmt.Sprintf("%s, or set commands.%s in agency.yaml to what this machine can run", how, n.Command)
}

var distributionURL = regexp.MustCompile(`(?m)^distributionUrl\s*=.*/([\w.+-]+)\.zip\s*$`)

// distribution is what a wrapper of Gradle or Maven would download, where it is
// not on this machine.
func (b Base) distribution(n check.Need) (what, mend string) {
	file, store := "gradle/wrapper/gradle-wrapper.properties", ""
	in := Input{Env: b.Env}
	switch path.Base(n.Name) {
	case "gradlew":
		store = filepath.Join(value(in, "GRADLE_USER_HOME", home(in, ".gradle")), "wrapper", "dists")
	case "mvnw":
		file, store = ".mvn/wrapper/maven-wrapper.properties", home(in, ".m2", "wrapper", "dists")
	}
	settings := text(b.Root.FS(), path.Join(n.Dir, path.Dir(n.Name), file))
	m := distributionURL.FindStringSubmatch(settings)
	if store == "" || m == nil || b.Online || b.Commands.Setup != "" || strings.Contains(settings, "Base=PROJECT") {
		return "", ""
	}
	if exist(filepath.Join(store, m[1])) || exist(filepath.Join(store, strings.TrimSuffix(m[1], "-bin"))) {
		return "", ""
	}
	return fmt.Sprintf("%s, which %s would download, is not in %s, and the sandbox has no network", m[1], n.Name, store), inDir(n.Dir, n.Name+" --version")
}

// venvTools are programs that pip installs into a virtual environment.
var venvTools = map[string]bool{
	"pytest": true, "py.test": true, "coverage": true, "mypy": true, "ruff": true, "flake8": true, "pylint": true, "black": true, "isort": true, "tox": true, "nox": true,
}

// installs says how toolchains and package managers come onto a machine.
var installs = map[string]string{
	"cargo": "install Rust (https://rustup.rs)", "mvn": "install Maven (https://maven.apache.org)", "gradle": "install Gradle (https://gradle.org), or commit its wrapper",
	"node": "install Node.js (https://nodejs.org)", "npm": "install Node.js with npm (https://nodejs.org)", "npx": "install Node.js with npm (https://nodejs.org)",
	byPNPM: "npm install -g pnpm", byYarn: "npm install -g yarn", byUV: "install uv (https://docs.astral.sh/uv)", byPoetry: "pipx install poetry",
	byPDM: "pipx install pdm", byPipenv: "pipx install pipenv", "cargo-nextest": "cargo install cargo-nextest --locked",
	"cargo-clippy": "rustup component add clippy", "cargo-fmt": "rustup component add rustfmt",
}

func placeName(dir string) string {
	if dir == "." {
		return "the repository"
	}
	return dir
}

// inVenv names the virtual environment in which a module was looked for.
func (b Base) inVenv(dir string) string {
	if venv := b.venv(dir); venv != "" {
		return " in " + venv
	}
	return ""
}

func (b Base) venv(dir string) string {
	for _, name := range venvs {
		if exist(filepath.Join(b.Repo, filepath.FromSlash(dir), name, "pyvenv.cfg")) {
			return path.Join(dir, name)
		}
	}
	return ""
}

// pip is the command that installs a module where the commands look for it.
func (b Base) pip(n check.Need) string {
	root := b.Root.FS()
	venv := b.venv(n.Dir)
	for _, u := range (Finder{}).Units(root) {
		switch {
		case u.Dir != n.Dir:
		case u.Manager == byUV || u.Manager == byPoetry || u.Manager == byPDM || u.Manager == byPipenv:
			return mendBy(root, b.Repo, u)
		case venv == "" && slices.ContainsFunc(u.Locks, func(l string) bool { return strings.Contains(text(root, l), n.Name) && strings.HasSuffix(l, ".txt") }):
			return mendBy(root, b.Repo, u)
		}
	}
	if venv != "" {
		return venv + "/bin/pip install " + n.Name
	}
	return b.unseen(path.Join(n.Dir, venvs[0]), inDir(n.Dir, "python3 -m venv "+venvs[0]+" && "+venvs[0]+"/bin/pip install "+n.Name))
}

// unseen has git leave out the folder that a command makes.
func (b Base) unseen(folder, line string) string {
	if ignoredFolder(b.Root.FS(), b.Repo, folder) {
		return line
	}
	return exclude(folder) + " && " + line
}

// npm is the command that installs what the manifest of a folder names, or the
// program where it names nothing.
func (b Base) npm(n check.Need) string {
	root := b.Root.FS()
	var unit *check.Dependency
	for _, u := range (Finder{}).Units(root) {
		if path.Base(u.Folder) == "node_modules" && (u.Dir == "." || n.Dir == u.Dir || strings.HasPrefix(n.Dir, u.Dir+"/")) && (unit == nil || len(u.Dir) > len(unit.Dir)) {
			unit = &u
		}
	}
	if m := readManifestJS(root, n.Dir); unit == nil || len(m.DevDependencies)+len(m.Dependencies) == 0 && unit.Dir == n.Dir {
		return b.unseen(path.Join(n.Dir, "node_modules"), inDir(n.Dir, "npm install --no-save --no-package-lock "+n.Name))
	}
	return mendBy(root, b.Repo, *unit)
}

// orSetup adds the way that leaves it to the run.
func (b Base) orSetup(mend string) string {
	return mend + ", or have the run do it: commands.setup in agency.yaml"
}
