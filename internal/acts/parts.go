package acts

import (
	"crypto/sha256"
	"maps"
	"path"
	"slices"
	"strings"

	"agency/internal/ecosystem/python"
	"agency/internal/regexp"
)

// lineParts are the lines that match, under what they do.
func lineParts(does, form string) func(string) found {
	want := regexp.MustCompile(form)
	return func(src string) found {
		out := found{}
		for line := range strings.Lines(src) {
			if line = strings.TrimSpace(line); want.MatchString(line) {
				out.add(does+": "+shorten(line), line)
			}
		}
		return out
	}
}

// harmless are the lines of a setup.py that everyday edits change: versions and
// lists of plain names.
var harmless = regexp.MustCompile(`^\s*(?:(?:version|python_requires|__version__)\s*=\s*)?["'][A-Za-z0-9._\-\[\]<>=!~; *]*["'],?\s*$`)

// setupProgram is the text of a setup.py, a program that an installation runs.
func setupProgram(src string) found {
	var b strings.Builder
	for line := range strings.Lines(python.WithoutMetadata(src)) {
		if t := strings.TrimSpace(line); t != "" && !strings.HasPrefix(t, "#") && !harmless.MatchString(line) {
			b.WriteString(strings.TrimRight(line, " \t\r\n") + "\n")
		}
	}
	out := found{}
	out.add("runs at `pip install`", b.String())
	return out
}

// odd are addresses of submodules that make git run a program, read the disk of
// whoever clones, or leave the folder.
var odd = regexp.MustCompile(`^(-|/|~|file:|[\w+.-]+::|ssh://-|[a-z]:[\\/])|\.\.`)

// submodule is what git is told of one.
type submodule struct {
	text              strings.Builder
	url, update, path string
}

// submodules are those of a .gitmodules, each with what git is told of it.
func submodules(src string) found {
	sections := map[string]*submodule{}
	of := &submodule{}
	for line := range strings.Lines(src) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section, rest, _ := strings.Cut(line, "]")
			if of = sections[section]; of == nil {
				of = &submodule{}
				sections[section] = of
			}
			line = strings.TrimSpace(rest)
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		of.text.WriteString(line + "\n")
		key, value, _ := strings.Cut(line, "=")
		value = strings.Trim(strings.TrimSpace(value), `"`)
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "url":
			of.url = value
		case "update":
			of.update = value
		case "path":
			of.path = value
		}
	}
	out := found{}
	for _, name := range slices.Sorted(maps.Keys(sections)) {
		s := sections[name]
		does := "fetches code of another repository: " + shorten(s.url)
		switch {
		case s.text.Len() == 0:
			continue
		case strings.HasPrefix(s.update, "!"):
			does = "runs at `git submodule update`: " + shorten(s.update)
		case odd.MatchString(strings.ToLower(s.url)) || odd.MatchString(s.path):
			does = "fetches by an odd transport or path: " + shorten(s.url+" at "+s.path)
		}
		out.add(does, s.text.String())
	}
	return out
}

// builtin are drivers of git itself, which run nothing.
var builtin = strings.Fields(`ada bash bibtex cpp csharp css dts elixir fortran fountain golang html ini java kotlin markdown matlab
	objc pascal perl php python ruby rust scheme tex r typescript union binary text`)

// drivers are the programs that git is told to run on files.
func drivers(src string) found {
	out := found{}
	for line := range strings.Lines(src) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		var whole [sha256.Size]byte // once for all words of a line
		for _, word := range strings.Fields(line) {
			key, value, ok := strings.Cut(word, "=")
			if ok && (key == "filter" || (key == "diff" || key == "merge") && !slices.Contains(builtin, value)) {
				if whole == ([sha256.Size]byte{}) {
					whole = sha256.Sum256([]byte(strings.TrimSpace(line)))
				}
				out.add("has git run a program on files: "+shorten(word), string(whole[:]))
			}
		}
	}
	return out
}

// agentFile is a file that says who an agent is: Markdown with a head.
func agentFile(p, src string) found {
	out := found{}
	if path.Ext(p) == ".md" && strings.HasPrefix(strings.TrimPrefix(src, "\ufeff"), "---") {
		out.add("instructs an agent that answers here", src)
	}
	return out
}
