package linters

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/regexp"
)

// Change is what analyzers may look at.
type Change struct {
	Files []string // that were changed, relative to the repository, sorted
	// Read reads a file of the tree on which they run; nil where there is none. Names are
	// the files of a folder of it.
	Read  func(p string) []byte
	Names func(dir string) []string
	// Lint is the project's own lint command: what that runs is not run twice.
	Lint string
}

// Call is one run of an analyzer.
type Call struct {
	Analyzer string
	Dir      string   // where, relative to the repository
	Files    []string // the changed files that it is asked about
	Left     int      // those beyond what a line holds
	// Program is looked for in PATH where the project has none of its own at one of Own,
	// relative to the repository; GoTool: it is one of the module.
	Program string
	Own     []string
	GoTool  bool

	of analyzer
}

// Bounds of a plan.
const (
	maxFolders = 8        // that an analyzer runs in
	maxWords   = 60 << 10 // bytes of what a line names
)

// Plan says which analyzers apply to a change, and how they are called. Whether they are
// there is found out where they run.
func Plan(c Change) (out []Call) {
	own := c.lintText()
	for _, a := range table {
		if word(a.name).MatchString(own) {
			continue
		}
		folders := map[string][]string{}
		var order []string
		for _, f := range c.Files {
			if !matches(a.files, f) {
				continue
			}
			dir, ok := c.folder(a, f)
			if !ok {
				continue
			}
			if folders[dir] == nil {
				order = append(order, dir)
			}
			folders[dir] = append(folders[dir], f)
		}
		for _, dir := range order[:min(len(order), maxFolders)] {
			call := Call{Analyzer: a.name, Dir: dir, Program: a.program(), of: a, GoTool: c.isGoTool(a, dir)}
			call.Files, call.Left = within(dir, folders[dir])
			for at := dir; ; at = path.Dir(at) {
				for _, o := range a.own {
					call.Own = append(call.Own, path.Join(at, o))
				}
				if at == "." {
					break
				}
			}
			out = append(out, call)
		}
	}
	return out
}

// within are the files that fit in a line, and how many do not.
func within(dir string, files []string) ([]string, int) {
	size := 0
	for i, f := range files {
		if size += len(f) - len(dir) + 8; size > maxWords {
			return files[:i], len(files) - i
		}
	}
	return files, 0
}

// folder is where an analyzer runs for a file; false where it does not.
func (c Change) folder(a analyzer, file string) (string, bool) {
	for dir := path.Dir(file); len(a.beside) > 0; dir = path.Dir(dir) {
		if slices.ContainsFunc(c.Names(dir), func(n string) bool { return matches(a.beside, n) }) {
			return dir, true
		}
		if dir == "." {
			break
		}
	}
	return ".", !a.needs
}

var goTools = regexp.MustCompile(`(?m)^\s*(?:tool\s+)?([\w./-]+/[\w.-]+)\s*(?://.*)?$`)

// isGoTool tells whether a module's tool directives name an analyzer.
func (c Change) isGoTool(a analyzer, dir string) bool {
	text := c.Read(path.Join(dir, "go.mod"))
	if a.tool == "" || !strings.Contains(string(text), "tool") {
		return false
	}
	return slices.ContainsFunc(goTools.FindAllStringSubmatch(string(text), -1), func(m []string) bool { return strings.HasSuffix(m[1], a.tool) })
}

// word finds a program's name in lines of shell.
func word(name string) *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[\s/;&|"'(@])` + regexp.QuoteMeta(name) + `(?:$|[\s;&|"')@:])`)
}

// lintText is the project's lint command with the scripts and recipes that it may run.
func (c Change) lintText() string {
	text := c.Lint
	first, _, _ := strings.Cut(strings.TrimSpace(c.Lint), " ")
	switch first {
	case "npm", "pnpm", "yarn", "bun":
		var m struct {
			Scripts map[string]string `json:"scripts"`
		}
		if json.Unmarshal(c.Read("package.json"), &m) == nil {
			for _, line := range m.Scripts {
				text += "\n" + line
			}
		}
	case "make", "gmake":
		text += "\n" + string(c.Read("Makefile"))
	case "just", "task":
		text += "\n" + string(c.Read("justfile")) + "\n" + string(c.Read("Taskfile.yml"))
	}
	for _, w := range strings.Fields(c.Lint) {
		if p := strings.Trim(w, `"'`); c.Lint != "" && strings.ContainsAny(p, "./") {
			text += "\n" + string(c.Read(path.Clean(p)))
		}
	}
	return text
}

// missing is what a line exits with where the analyzer is not there, as a shell does.
const missing = 127

// Line is the line of shell of a call, for the folder that it runs in.
func (c Call) Line() string {
	var b strings.Builder
	b.WriteString("set --")
	for _, w := range c.words() {
		b.WriteString(" " + quoted(w))
	}
	b.WriteString("\n")
	if c.GoTool {
		fmt.Fprintf(&b, "run() { go tool %s \"$@\"; }\n", c.Analyzer)
	} else {
		fmt.Fprintf(&b, "tool=%s\n", c.Program)
		if len(c.Own) > 0 {
			b.WriteString("for at in")
			for _, o := range c.Own {
				b.WriteString(" " + quoted(below(c.Dir, o)))
			}
			b.WriteString("; do if [ -x \"$at\" ]; then tool=$at; break; fi; done\n")
		}
		fmt.Fprintf(&b, "command -v \"$tool\" >/dev/null || exit %d\nrun() { \"$tool\" \"$@\"; }\n", missing)
	}
	return b.String() + c.of.line + "\n"
}

// words are the files or folders that it is told.
func (c Call) words() (out []string) {
	for _, f := range c.Files {
		w := below(c.Dir, f)
		switch c.of.told {
		case wholeFolder:
			continue
		case theirFolders:
			w = below(c.Dir, path.Dir(f))
		}
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// below is a path of the repository as it is named from a folder of it.
func below(dir, p string) string {
	if dir == "." {
		return "./" + p
	}
	if rest, ok := strings.CutPrefix(p+"/", dir+"/"); ok {
		return strings.TrimSuffix("./"+rest, "/")
	}
	return strings.Repeat("../", strings.Count(dir, "/")+1) + p
}

// quoted is a word of shell that stands for itself.
func quoted(w string) string { return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'" }

// Of are the dimensions that an analyzer looks at.
func (c Call) Of() []agency.Dimension { return c.of.of }

// Loads tells whether an analyzer may run code of the change.
func (c Call) Loads() bool { return c.of.loads }

// On is the call for those of its files that another tree has; false where that has none.
func (c Call) On(has func(file string) bool) (Call, bool) {
	c.Files = slices.DeleteFunc(slices.Clone(c.Files), func(f string) bool { return !has(f) })
	return c, len(c.Files) > 0
}

// Without leaves out the calls of analyzers that others run, which gave something.
func Without(calls []Call, gave Call) []Call {
	return slices.DeleteFunc(slices.Clone(calls), func(c Call) bool { return c.Dir == gave.Dir && slices.Contains(gave.of.covers, c.Analyzer) })
}

var relative = regexp.MustCompile(`["'](\.\.?/[^"'\n]{1,200})["']`)

// Loads are the files that settings, or what they load, may load in turn: paths as they
// are written, with the endings that may be left out.
func Loads(setting string, text []byte) (out []string) {
	for _, m := range relative.FindAllSubmatch(text, 200) {
		p := path.Join(path.Dir(setting), string(m[1]))
		out = append(out, p)
		for _, end := range []string{".js", ".cjs", ".mjs", ".ts", ".json", ".yml", ".yaml", "/index.js", "/index.cjs", "/index.mjs", "/index.ts"} {
			out = append(out, p+end)
		}
	}
	return out
}
