package detect

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"agency/internal/check"
)

// Language is one that a repository's manifests show.
type Language struct {
	Name     string // "Go"
	Manifest string // the file that shows it, relative to the repository
	// Note says what is missing: the language is recognised but this version
	// does not know its commands.
	Note string
}

// notYet is the note of a language that only later versions know.
const notYet = "not in this version: set commands in agency.yaml"

// manifests are the files that show a language, Go aside.
var manifests = []struct{ pattern, language string }{
	{"package.json", "JavaScript"},
	{"tsconfig.json", "TypeScript"},
	{"pyproject.toml", "Python"},
	{"setup.py", "Python"},
	{"requirements.txt", "Python"},
	{"Cargo.toml", "Rust"},
	{"pom.xml", "Java"},
	{"build.gradle", "Java"},
	{"build.gradle.kts", "Kotlin"},
	{"Gemfile", "Ruby"},
	{"composer.json", "PHP"},
	{"mix.exs", "Elixir"},
	{"CMakeLists.txt", "C or C++"},
	{"*.csproj", "C#"},
	{"*.sln", "C#"},
	{"Package.swift", "Swift"},
	{"build.zig", "Zig"},
	{"deno.json", "TypeScript"},
	{"Makefile", "make"},
}

// maxNested bounds how many nested modules get commands of their own: a
// repository with more has a runner of its own.
const maxNested = 12

// Commands reads which commands a repository has. Languages lists what was
// recognised, those of this version first; with none of them the commands are
// empty.
func Commands(root fs.FS) (check.Commands, []Language) {
	var languages []Language
	var cmds check.Commands
	if mods := findModules(root); len(mods) > 0 {
		languages = append(languages, Language{Name: "Go", Manifest: path.Join(mods[0].dir, mods[0].manifest())})
		cmds = goCommands(root, mods)
	}
	for _, m := range manifests {
		found, err := fs.Glob(root, m.pattern)
		if err != nil || len(found) == 0 || slices.ContainsFunc(languages, func(l Language) bool { return l.Name == m.language }) {
			continue
		}
		languages = append(languages, Language{Name: m.language, Manifest: found[0], Note: notYet})
	}
	return cmds, languages
}

// goDir is a folder in which the go command is started.
type goDir struct {
	dir  string   // relative to the repository, "." is its root
	uses []string // modules of a go.work there, relative to dir; nil: a module
}

func (g goDir) manifest() string {
	if g.uses != nil {
		return "go.work"
	}
	return "go.mod"
}

// goCommands are the three that every Go repository has, in each folder where
// the go command must be started.
func goCommands(root fs.FS, dirs []goDir) check.Commands {
	line := func(verb string) string {
		var parts []string
		for _, g := range dirs {
			call := "go " + verb + " " + g.patterns()
			if g.dir != "." {
				call = "(cd " + shellWord(g.dir) + " && " + call + ")"
			}
			parts = append(parts, call)
		}
		return strings.Join(parts, " && ")
	}
	return check.Commands{
		Test: line("test"), Lint: line("vet"), Build: line("build"),
		TimeoutSeconds: int(check.DefaultTimeout.Seconds()),
	}
}

// patterns are the packages of a folder: ./... does not reach the modules of a
// workspace that lie in folders of their own.
func (g goDir) patterns() string {
	if g.uses == nil {
		return "./..."
	}
	var out []string
	for _, u := range g.uses {
		p := "./" + path.Join(u, "...")
		if u == "." {
			p = "./..."
		}
		out = append(out, shellWord(p))
	}
	return strings.Join(out, " ")
}

// findModules lists where the go command must be started so that every module
// of the repository is seen once: at a go.work for the modules that it uses, in
// each other module. The root comes first.
func findModules(root fs.FS) []goDir {
	var found []string
	work := map[string][]string{}
	_ = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && d != nil && d.IsDir():
			return fs.SkipDir
		case err != nil:
			return nil
		case d.IsDir():
			if name != "." && goIgnores(d.Name()) {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		switch d.Name() {
		case "go.mod":
			found = append(found, path.Dir(name))
		case "go.work":
			work[path.Dir(name)] = workUses(root, name)
		}
		return nil
	})
	return startDirs(found, work)
}

func startDirs(modules []string, work map[string][]string) []goDir {
	var out []goDir
	used := map[string]bool{}
	for dir, uses := range work {
		var inside []string
		for _, u := range uses {
			if m := path.Join(dir, u); slices.Contains(modules, m) {
				used[m] = true
				inside = append(inside, u)
			}
		}
		if len(inside) > 0 {
			out = append(out, goDir{dir: dir, uses: inside})
		}
	}
	for _, m := range modules {
		if !used[m] {
			out = append(out, goDir{dir: m})
		}
	}
	slices.SortFunc(out, func(a, b goDir) int { return strings.Compare(depthKey(a.dir), depthKey(b.dir)) })
	return out[:min(len(out), maxNested)]
}

// depthKey orders folders by depth, then by name.
func depthKey(dir string) string {
	if dir == "." {
		return ""
	}
	return fmt.Sprintf("%04d %s", strings.Count(dir, "/")+1, dir)
}

// goIgnores tells the folders that the go command leaves out of ./..., and
// those that hold others' code.
func goIgnores(name string) bool {
	return name == "vendor" || name == "testdata" || name == "node_modules" ||
		strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

var (
	workBlock = regexp.MustCompile(`(?ms)^\s*use\s*\((.*?)\)`)
	workLine  = regexp.MustCompile(`(?m)^\s*use\s+([^\s(]+)`)
	comment   = regexp.MustCompile(`//[^\n]*`)
)

// workUses are the folders that a go.work uses inside of the repository.
func workUses(root fs.FS, name string) []string {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return nil
	}
	b = comment.ReplaceAll(b, nil)
	var out []string
	add := func(word string) {
		dir := path.Clean(strings.Trim(word, "\"`"))
		if dir != "" && fs.ValidPath(path.Join(path.Dir(name), dir)) && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	for _, m := range workBlock.FindAllSubmatch(b, -1) {
		for _, w := range strings.Fields(string(m[1])) {
			add(w)
		}
	}
	for _, m := range workLine.FindAllSubmatch(workBlock.ReplaceAll(b, nil), -1) {
		add(string(m[1]))
	}
	return out
}

func shellWord(s string) string {
	if q, err := syntax.Quote(s, syntax.LangPOSIX); err == nil {
		return q
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
