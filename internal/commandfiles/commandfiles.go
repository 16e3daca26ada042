// Package commandfiles finds the files that decide what commands do: it follows
// command lines through package scripts, makefiles and shell scripts. It runs nothing.
package commandfiles

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"agency/internal/check"
	"agency/internal/ecosystem"
	"agency/internal/languages"
	"agency/internal/regexp"
)

// Reader reads the files of one tree; it is made for one look.
type Reader struct {
	// Read gives a file; nil where there is none.
	Read func(name string) []byte
	// IsTest tells of tests, IsTestMatter of what belongs to tests by its path,
	// IsSource of code.
	IsTest, IsTestMatter, IsSource func(path string) bool

	named map[string]bool
	seen  map[string]bool
	all   bool // every word may be a file, however deep
}

// maxDepth bounds how deep recipes that call recipes are followed.
const maxDepth = 6

// OfAll are the paths that the commands name, as they stand and below the folders
// that the commands change to, and those that the recipes behind them name. Not all
// of them need be there.
func (r *Reader) OfAll(c check.Commands) map[string]bool {
	r.named, r.seen = map[string]bool{}, map[string]bool{}
	for _, line := range []string{c.Setup, c.Build, c.Typecheck, c.Lint, c.Test} {
		r.line(line, []string{"."}, 0)
	}
	delete(r.named, ".")
	return r.named
}

// Of are the files that are there and that a line names, sorted, be it through
// recipes and scripts.
func (r *Reader) Of(line string) (out []string) {
	r.named, r.seen, r.all = map[string]bool{}, map[string]bool{}, true
	r.line(line, []string{"."}, 0)
	for name := range r.named {
		if r.Read(name) != nil {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// line reads a line or script of shell that begins in one of dirs.
func (r *Reader) line(text string, dirs []string, depth int) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil || depth > maxDepth {
		return
	}
	asked := askedFor(file)
	type call struct {
		words []string
		asked bool
	}
	var calls []call
	syntax.Walk(file, func(n syntax.Node) bool {
		c, ok := n.(*syntax.CallExpr)
		if !ok {
			return true
		}
		words := make([]string, len(c.Args))
		for i, a := range c.Args {
			words[i] = ecosystem.WordText(a)
		}
		calls = append(calls, call{words, asked[c]})
		if len(words) > 1 && words[0] == "cd" {
			dirs = append(slices.Clone(dirs), path.Join(dirs[0], words[1]))
		}
		return true
	})
	for _, c := range calls {
		for _, d := range dirs {
			if depth > 0 && !r.all && r.isTested(c.words, c.asked, d) {
				continue
			}
			r.call(c.words, d, depth)
		}
	}
}

// askedFor are the calls of a script of which it reads what they say alone: in the $( )
// of another call, and before a pipe. Nobody hears how they end.
func askedFor(file *syntax.File) map[*syntax.CallExpr]bool {
	out := map[*syntax.CallExpr]bool{}
	below := func(n syntax.Node) {
		syntax.Walk(n, func(n syntax.Node) bool {
			if c, ok := n.(*syntax.CallExpr); ok {
				out[c] = true
			}
			return true
		})
	}
	piped := true
	syntax.Walk(file, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Lit); ok && w.Value == "pipefail" {
			piped = false
		}
		return true
	})
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			for _, w := range n.Args {
				below(w)
			}
		case *syntax.BinaryCmd:
			if piped && (n.Op == syntax.Pipe || n.Op == syntax.PipeAll) {
				below(n.X)
			}
		}
		return true
	})
	return out
}

// isTested tells whether a script of the tests runs a call on what it tests: it loads or
// looks at a file, or asks a program what it says, and none of them is one of the tests' own.
func (r *Reader) isTested(words []string, asked bool, dir string) bool {
	if len(words) > 1 && looks[words[0]] { // of a test the second word says what is asked
		words, asked = words[1:2], true
	}
	return asked && !slices.ContainsFunc(words, func(w string) bool { return r.toolOfTests(path.Join(dir, w)) })
}

// call names the words of one call that can be files, and follows it.
func (r *Reader) call(words []string, dir string, depth int) {
	for i, w := range words {
		if r.all && i > 0 && words[i-1] == "-m" { // a module of Python
			m := path.Join(dir, strings.ReplaceAll(w, ".", "/"))
			r.named[m+".py"], r.named[m+"/__main__.py"] = true, true
		}
		option := i > 0 && strings.HasPrefix(words[i-1], "-")
		r.word(w, dir, depth, option)
		if _, value, ok := strings.Cut(w, "="); ok {
			r.word(value, dir, depth, true)
		}
	}
	if len(words) == 0 {
		return
	}
	base := path.Base(words[0])
	for _, l := range languages.All() {
		if slices.Contains(l.Launchers.Starters, base) {
			for _, w := range words[1:] {
				r.script(l.Launchers, w, dir, depth)
			}
		}
	}
	if base == "make" || base == "gmake" {
		targets := slices.DeleteFunc(slices.Clone(words[1:]), func(w string) bool { return strings.HasPrefix(w, "-") || strings.Contains(w, "=") })
		r.makefile(targets, dir, depth)
	}
}

// looks are words of a shell that run a file as a part of the script, or only look
// whether it is there and what it says.
var looks = map[string]bool{".": true, "source": true, "test": true, "[": true, "grep": true, "egrep": true, "fgrep": true, "wc": true}

// toolOfTests tells whether a file is called or lies like one of the tests' own.
func (r *Reader) toolOfTests(p string) bool {
	return r.IsTestMatter(p) || ecosystem.UnderFolder(p, toolFolders...)
}

// toolFolders hold what is made to run.
var toolFolders = []string{"scripts", "script", "tools", "ci", ".ci", "hack", "build"}

// word names a file. Behind the user's own line only such that are settings or
// programs of the tests by what they are called: not the code that is tested.
func (r *Reader) word(w, dir string, depth int, option bool) {
	name := path.Join(dir, w)
	if depth == 0 || option || r.all || r.isTool(name) {
		if depth == 0 || r.all || !r.IsTest(name) {
			r.named[name] = true
		}
	}
	switch path.Ext(name) {
	case ".sh", ".bash", "":
		if src := r.Read(name); len(src) > 0 && !r.seen[name] && (path.Ext(name) != "" || strings.HasPrefix(string(src), "#!")) {
			r.seen[name] = true
			r.named[name] = true
			r.line(string(src), []string{dir, path.Dir(name)}, depth+1)
		}
	}
}

// isTool tells files that are made to run or to configure something else.
func (r *Reader) isTool(p string) bool {
	return slices.Contains([]string{".sh", ".bash", ".json", ".yml", ".yaml", ".toml", ".ini", ".cfg", ".conf", ".mk", ".xml", ".rc"}, path.Ext(p)) ||
		r.IsSource(p) && (ecosystem.UnderFolder(p, toolFolders...) || ecosystem.UnderFolder(p, "config", "bin"))
}

// script follows a script of the package file.
func (r *Reader) script(of ecosystem.Launchers, name, dir string, depth int) {
	file := path.Join(dir, of.Manifest)
	if r.seen[file+" "+name] {
		return
	}
	r.seen[file+" "+name] = true
	scripts := of.Scripts(r.Read(file))
	for _, s := range of.Around("", name) {
		if scripts[s] != "" {
			r.line(scripts[s], []string{dir}, depth+1)
		}
	}
}

var makeRule = regexp.MustCompile(`^([^\s:#=][^:=]*):(?:[^=]|$)`)

// makefile follows the recipes of targets and of what they need; without a
// target the first.
func (r *Reader) makefile(targets []string, dir string, depth int) {
	for _, base := range []string{"Makefile", "makefile", "GNUmakefile"} {
		src := string(r.Read(path.Join(dir, base)))
		if src == "" || depth > maxDepth {
			continue
		}
		active := false
		for line := range strings.Lines(src) {
			line = strings.TrimRight(line, "\n")
			if m := makeRule.FindStringSubmatch(line); m != nil {
				names := strings.Fields(m[1])
				first := len(targets) == 0 && !strings.HasPrefix(names[0], ".")
				active = first || slices.ContainsFunc(names, func(n string) bool { return slices.Contains(targets, n) })
				if first {
					targets = names
				}
				if key := path.Join(dir, base) + " " + m[1]; active && !r.seen[key] {
					r.seen[key] = true
					if needs := strings.Fields(line[len(m[1])+1:]); len(needs) > 0 {
						r.makefile(needs, dir, depth+1)
					}
				}
			}
			if active && strings.HasPrefix(line, "\t") {
				r.line(strings.TrimLeft(line, "\t@-+ "), []string{dir}, depth+1)
			}
		}
	}
}
