package verify

import (
	"path"
	"slices"
	"strings"

	"agency/internal/ecosystem"
	"agency/internal/regexp"
)

// How a source names other files of code. It is read from the text, and it may
// name too much: a dotted name or a path in a string counts as an import does.

// naming is what a source says of others.
type naming struct {
	lang ecosystem.Name
	from string
	text string // without its comments
	// loads are the modules that it names: paths without their ending, from the
	// root of the repository where exact, else in whatever folder of sources.
	loads []ecosystem.ImportedModule
	// words are all names in it.
	words map[string]bool
}

var (
	quoted   = regexp.MustCompile(`["'` + "`" + `]([\w./@-]+)["'` + "`" + `]`)
	nameWord = regexp.MustCompile(`[A-Za-z_]\w*`)
)

// namingOf reads a source.
func namingOf(from string, src []byte) naming {
	as := readAs(from)
	n := naming{lang: languageOf(from), from: from, text: as.Style.Uncommented(string(src)), words: map[string]bool{}}
	if as.Names.Loads != nil {
		n.add(as.Names.Loads(from, n.text, bareModule)...)
	}
	for _, m := range quoted.FindAllStringSubmatch(n.text, -1) {
		n.literal(m[1], as.Names.Dotted)
	}
	for _, w := range nameWord.FindAllString(n.text, -1) {
		n.words[w] = true
	}
	return n
}

func (n *naming) add(all ...ecosystem.ImportedModule) {
	for _, l := range all {
		if l.Path != "" && !slices.Contains(n.loads, l) {
			n.loads = append(n.loads, l)
		}
	}
}

// literal notes a string that can be a path, or a module by its dotted name.
func (n *naming) literal(s string, dotted bool) {
	switch code := languageOf(s) != ""; {
	case strings.HasPrefix(s, "."):
		n.add(ecosystem.ImportedModule{Path: path.Join(path.Dir(n.from), bareModule(s)), Exact: true})
		if code { // of a program that is started elsewhere
			n.add(ecosystem.ImportedModule{Path: bareModule(strings.TrimLeft(s, "./"))})
		}
	case code, strings.Contains(s, "/"):
		n.add(ecosystem.ImportedModule{Path: bareModule(s)})
	case dotted && strings.Contains(s, "."):
		n.add(ecosystem.Dotted(s)...)
	}
}

// bareModule is the path of a source without its ending.
func bareModule(p string) string {
	if languageOf(p) != "" {
		p = strings.TrimSuffix(p, path.Ext(p))
	}
	return strings.TrimSuffix(p, ".d")
}

// moduleOf is the path by which a source is loaded: that of its folder where it
// stands for that.
func moduleOf(p string) string {
	m := bareModule(p)
	if slices.Contains([]string{"__init__", "index", "mod"}, path.Base(m)) {
		return path.Dir(m)
	}
	return m
}

// stemOf is the name by which others speak of a source.
func stemOf(p string) string { return path.Base(moduleOf(p)) }

// uses tells whether the source names a file of its language. A file of Go is
// one with its package, of Rust and Java with its name.
func (n naming) uses(p string) bool {
	if languageOf(p) != n.lang && n.lang != "" {
		return n.loadsPath(bareModule(p), true)
	}
	switch readAs(n.from).Names.By {
	case ecosystem.ByFolder:
		dir := path.Dir(p)
		return slices.ContainsFunc(n.loads, func(l ecosystem.ImportedModule) bool { return l.Path == dir || strings.HasSuffix(l.Path, "/"+dir) })
	case ecosystem.ByStem:
		return n.words[stemOf(p)]
	}
	return n.loadsPath(moduleOf(p), false) || n.loadsPath(bareModule(p), false)
}

// loadsPath tells whether one of the names means a module. Where only whole
// paths count, a bare word is none.
func (n naming) loadsPath(m string, whole bool) bool {
	return slices.ContainsFunc(n.loads, func(l ecosystem.ImportedModule) bool {
		switch {
		case l.Path == m:
			return true
		case l.Exact, whole && !strings.Contains(l.Path, "/"):
			return false
		}
		return strings.HasSuffix(m, "/"+l.Path)
	})
}

var literalValue = regexp.MustCompile("[\"'`]|\\b\\d")

// asserts tells whether a source is there to assert: it uses a framework of
// tests, or holds assertions and gives nothing back.
func asserts(p string, src []byte) bool {
	as := readAs(p)
	if as.Tests.Framework.In(string(src)) {
		return true
	}
	if yields := as.Forms.Yields; yields.Regexp == nil || yields.In(as.Style.Bare(string(src))) {
		return false
	}
	return slices.ContainsFunc(units(p, src), func(u unit) bool { return u.Asserts > 0 })
}

// onlyData tells whether a source holds values and does nothing.
func onlyData(p string, src []byte) bool {
	as := readAs(p)
	bare := as.Style.Bare(string(src))
	if slices.Contains([]string{"__init__", "__main__", "index", "mod", "lib", "main", "setup"}, ecosystem.Stem(p)) || as.Forms.Does.Regexp == nil || as.Forms.Does.In(bare) {
		return false
	}
	for line := range strings.Lines(bare) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "import") || strings.HasPrefix(line, "from ") || strings.HasPrefix(line, "export * ") || strings.Contains(line, "require(") {
			continue
		}
		if strings.ContainsAny(line, "=:(,[{") && literalValue.MatchString(line) {
			return true
		}
	}
	return false
}
