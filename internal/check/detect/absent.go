package detect

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/sandbox"
)

// Base is a checkout of what a run starts from.
type Base struct {
	Checker *check.Checker
	Subject check.Subject
	Root    *os.Root // the checkout
	Repo    string   // the user's own, in which packages are installed
	// Commands are those of the run. Setup installs what is missing by itself.
	Commands check.Commands
	// Env is the environment of the user who started the run; Online tells that
	// commands reach hosts, and may fetch what is missing.
	Env    func(name string) (string, bool)
	Online bool
}

// AbsentPackages refuses a base whose tests cannot run because the packages of
// JavaScript, Python or Rust that its own manifests name are not installed, by
// the error that names the command which installs them. Only what the commands
// of the run use is looked at, and only what is certain is refused: packages
// for development can be missing.
func AbsentPackages(ctx context.Context, b Base) error {
	if b.Commands.Setup != "" {
		return nil
	}
	var named []string
	var units []check.Dependency
	all := (Finder{}).Units(b.Root.FS())
	starts := check.Starts(b.Commands, b.Root.FS())
	begun := time.Now()
	for _, u := range all {
		if time.Since(begun) > maxProbing {
			break // what nobody has told by now is no reason to wait
		}
		if !uses(starts, all, u) {
			continue
		}
		var missing []string
		var err error
		switch u.Manager {
		case byNPM, byPNPM, byYarn:
			missing = b.nodeAbsent(u)
		case byPip, byPoetry, byPDM, byPipenv, byUV, byCargo:
			missing, err = b.ask(ctx, u)
		}
		if err != nil {
			return err
		}
		if len(missing) > 0 {
			named, units = append(named, missing...), append(units, u)
		}
	}
	if len(units) == 0 {
		return nil
	}
	if len(named) > maxNamed {
		named = append(named[:maxNamed], fmt.Sprintf("%d more", len(named)-maxNamed))
	}
	return agency.Errorf(agency.KindInvalid, "packages that the tests need are not installed, and the sandbox has no network: %s", strings.Join(named, ", ")).
		WithMend("%s", mendBy(b.Root.FS(), b.Repo, units...))
}

// How long one question before a start may take, and all of them together.
const (
	maxProbe   = 2 * time.Minute
	maxProbing = 5 * time.Minute
)

// managed are the programs for which the packages of a manager are installed.
var managed = map[string]*regexp.Regexp{
	byNPM:   regexp.MustCompile(`^(?:npm|npx|node|pnpm|yarn|jest|vitest|mocha|tsc)$`),
	byPip:   regexp.MustCompile(`^(?:python[0-9.]*|pytest|mypy|uv|poetry|pdm|pipenv)$`),
	byCargo: regexp.MustCompile(`^cargo$`),
}

// uses tells whether commands start something of a unit: in its folder or one
// below that belongs to no other.
func uses(starts []check.Start, all []check.Dependency, u check.Dependency) bool {
	program := managed[kindOf(u)]
	return program != nil && slices.ContainsFunc(starts, func(s check.Start) bool {
		if !program.MatchString(s.Program) || !below(s.Dir, u.Dir) {
			return false
		}
		return !slices.ContainsFunc(all, func(o check.Dependency) bool {
			return kindOf(o) == kindOf(u) && o.Dir != u.Dir && below(o.Dir, u.Dir) && below(s.Dir, o.Dir)
		})
	})
}

// kindOf is the manager that stands for all of a unit's language.
func kindOf(u check.Dependency) string {
	switch u.Manager {
	case byPNPM, byYarn:
		return byNPM
	case byPoetry, byPDM, byPipenv, byUV:
		return byPip
	}
	return u.Manager
}

// runners are the packages of JavaScript without which a test script that calls
// them cannot run.
var runners = []string{"jest", "vitest", "mocha"}

// nodeAbsent names the packages that a manifest asks for and node would not
// find, or find in another version than the lockfile names.
func (b Base) nodeAbsent(u check.Dependency) []string {
	dir := u.Dir
	m := readManifestJS(b.Root.FS(), dir)
	want := map[string]string{}
	add := func(name string, spec json.RawMessage) {
		var text string
		if json.Unmarshal(spec, &text) == nil && !strings.HasPrefix(text, "workspace:") && !strings.HasPrefix(text, "link:") {
			want[name] = ""
		}
	}
	for name, spec := range m.Dependencies {
		add(name, spec)
	}
	for _, name := range runners {
		if spec, ok := m.DevDependencies[name]; ok && strings.Contains(m.Scripts["test"]+b.Commands.Test, name) {
			add(name, spec)
		}
	}
	if len(want) == 0 {
		return nil
	}
	for name, version := range lockedAt(b.Root.FS(), dir, m) {
		if _, ok := want[name]; ok {
			want[name] = version
		}
	}
	differs := changedFrom(b, u)
	var out []string
	for name, version := range want {
		switch have, ok := installedAt(b.Repo, dir, name); {
		case !ok, version != "" && have != "" && have != version:
			out = append(out, strings.TrimSuffix(name+" "+version, " "))
		case differs != "":
			out = append(out, name+" (node_modules is of another "+differs+")")
		}
	}
	slices.Sort(out)
	return out
}

// changedFrom is the lockfile of a unit in which the user's own checkout is not
// the base: then what is installed is not shown.
func changedFrom(b Base, u check.Dependency) string {
	u.Repo = b.Repo
	for _, name := range u.Changed(b.Root) {
		if slices.Contains(nodeLocks, path.Base(name)) {
			return name
		}
	}
	return ""
}

// installedAt finds a package as node does, from a folder upward.
func installedAt(repo, dir, name string) (version string, ok bool) {
	if !fs.ValidPath(name) {
		return "", true // no name of a package; not ours to judge
	}
	for at := dir; ; at = path.Dir(at) {
		folder := filepath.Join(repo, filepath.FromSlash(at), "node_modules", filepath.FromSlash(name))
		if b, err := readSmall(os.DirFS(folder), "package.json"); err == nil {
			var m struct {
				Version string `json:"version"`
			}
			_ = json.Unmarshal(b, &m) // without a version it is there all the same
			return m.Version, true
		}
		if exist(folder) {
			return "", true
		}
		if at == "." {
			return "", false
		}
	}
}

// ask asks the package manager or interpreter itself, in the sandbox.
func (b Base) ask(ctx context.Context, u check.Dependency) ([]string, error) {
	line := Probe(b.Root.FS(), u, b.wanted(u))
	if line == "" || line == "true" {
		return nil, nil
	}
	spec, err := b.Checker.Spec(ctx, b.Subject, check.Command{Kind: agency.CheckCommand, Line: line, Timeout: maxProbe})
	if err != nil {
		return nil, err
	}
	res, err := b.Checker.Exec(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("packages of the base: %w", err)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	out := strings.TrimSpace(string(res.Output))
	switch {
	case res.Cause == sandbox.CauseTimeout:
		return nil, nil
	case Answered(u, res.ExitCode, out):
		return nil, nil
	case u.Manager == byCargo:
		return []string{firstOf(cargoPackage, out, "crates of "+strings.Join(u.Locks, ", "))}, nil
	case notInstalled.MatchString(out):
		return []string{lastLine(out)}, nil
	}
	return nil, nil // the interpreter itself could not say
}

var (
	notInstalled = regexp.MustCompile(`(?m)^[\w.-]+ (?:\S+ is|is not) installed$`)
	cargoPackage = regexp.MustCompile("(?m)(?:failed to download `([^`]+)`|no matching package named `([^`]+)`)")
)

func firstOf(form *regexp.Regexp, text, otherwise string) string {
	if m := form.FindStringSubmatch(text); m != nil {
		return m[1] + m[2]
	}
	return otherwise
}

// wanted are the distributions that a project of Python needs to run at all.
func (b Base) wanted(u check.Dependency) []Package {
	var out []Package
	for _, l := range u.Locks {
		var have map[string]string
		switch path.Base(l) {
		case "requirements.txt":
			have = requirements(plainRequirements(text(b.Root.FS(), l)))
		case "pyproject.toml":
			have = requirements(plainRequirements(ownDependencies(text(b.Root.FS(), l))))
		}
		for name, version := range have {
			if !besideTests[strings.ToLower(name)] {
				out = append(out, Package{Name: name, To: version})
			}
		}
	}
	slices.SortFunc(out, func(a, b Package) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// besideTests are tools that a project lists with what it needs and that no test
// does.
var besideTests = map[string]bool{
	"flake8": true, "black": true, "isort": true, "mypy": true, "pylint": true, "ruff": true, "tox": true, "nox": true, "pre-commit": true,
	"sphinx": true, "twine": true, "build": true, "wheel": true, "bumpversion": true, "bump2version": true, "codecov": true, "coveralls": true,
}

// ownDependencies are the entries of [project] dependencies, one a line.
func ownDependencies(toml string) string {
	var b strings.Builder
	for _, t := range tablesOf(toml) {
		for _, list := range projectList.FindAllStringSubmatch(t.body, -1) {
			if t.name == "project" && strings.HasPrefix(list[0], "dependencies") {
				for _, q := range quoted.FindAllStringSubmatch(list[1], -1) {
					b.WriteString(q[1] + "\n")
				}
			}
		}
	}
	return b.String()
}

// plainRequirements leaves out what depends on the machine or lies elsewhere.
func plainRequirements(all string) []byte {
	var b strings.Builder
	for line := range strings.Lines(all) {
		if line = strings.TrimSpace(line); !strings.ContainsAny(line, ";@") && !strings.Contains(line, "://") && !strings.HasPrefix(line, ".") && !strings.HasPrefix(line, "/") {
			b.WriteString(line + "\n")
		}
	}
	return []byte(b.String())
}
