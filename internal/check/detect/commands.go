package detect

import (
	"fmt"
	"io"
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
	// Note says what is missing: no command is known, or tests count by the exit
	// code of their command only.
	Note string
}

// maxNested bounds how many parts of one language get commands of their own: a
// repository with more has a runner of its own.
const maxNested = 12

// part is a folder with a manifest, and the commands that belong to it.
type part struct {
	language, manifest, dir string
	cmds                    check.Commands
	note                    string
}

// Commands reads which commands a repository has: those of each of its parts,
// each started in the part's own folder. Languages lists what was recognised;
// with none the commands are empty.
func Commands(root fs.FS) (check.Commands, []Language) {
	parts := findParts(root)
	if len(parts) == 0 {
		parts = fallback(root)
	}
	return commandsOf(parts)
}

func commandsOf(parts []part) (check.Commands, []Language) {
	var languages []Language
	var cmds check.Commands
	for _, p := range parts {
		if p.cmds.Test == "" {
			p.note = noTests
		}
		if !slices.ContainsFunc(languages, func(l Language) bool { return l.Name == p.language }) {
			languages = append(languages, Language{Name: p.language, Manifest: p.manifest, Note: p.note})
		}
		for _, c := range []struct{ to, line *string }{
			{&cmds.Test, &p.cmds.Test}, {&cmds.Lint, &p.cmds.Lint}, {&cmds.Typecheck, &p.cmds.Typecheck}, {&cmds.Build, &p.cmds.Build},
		} {
			*c.to = join(*c.to, inDir(p.dir, *c.line))
		}
	}
	if cmds != (check.Commands{}) {
		cmds.TimeoutSeconds = int(check.DefaultTimeout.Seconds())
	}
	return cmds, languages
}

// noTests is the note of a part of which no test command is known.
const noTests = "no test command is known: set commands in agency.yaml"

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " && " + b
}

func inDir(dir, line string) string {
	if dir == "." || line == "" {
		return line
	}
	return "(cd " + shellWord(dir) + " && " + line + ")"
}

// findParts finds the parts of a repository, by language, the root first.
func findParts(root fs.FS) []part {
	var parts []part
	for _, g := range findModules(root) {
		pat := g.patterns()
		parts = append(parts, part{
			language: "Go", manifest: path.Join(g.dir, g.manifest()), dir: g.dir,
			// A single program would be written into the folder: it is linked, and thrown away.
			cmds: check.Commands{Test: "go test " + pat, Lint: "go vet " + pat, Build: "go build -o /dev/null " + pat},
		})
	}
	f := survey(root)
	parts = append(parts, nodeParts(root, f)...)
	parts = append(parts, pythonParts(root, f)...)
	parts = append(parts, rustParts(root, f)...)
	return append(parts, javaParts(root, f)...)
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
			if name != "." && (goIgnores(d.Name()) || foreign(root, name)) {
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

// maxSmall bounds a file that decides how a repository is built, in bytes: an
// agent may have made it.
const maxSmall = 1 << 20

// readSmall reads the beginning of a file.
func readSmall(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	return io.ReadAll(io.LimitReader(f, maxSmall))
}

// workUses are the folders that a go.work uses inside of the repository.
func workUses(root fs.FS, name string) []string {
	b, err := readSmall(root, name)
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
