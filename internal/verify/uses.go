package verify

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// How a source names other files of code. It is read from the text, and it may
// name too much: a dotted name or a path in a string counts as an import does.

// naming is what a source says of others.
type naming struct {
	lang language
	from string
	text string // without its comments
	// loads are the modules that it names: paths without their ending, from the
	// root of the repository where exact, else in whatever folder of sources.
	loads []loaded
	// words are all names in it.
	words map[string]bool
}

type loaded struct {
	path  string
	exact bool
}

var (
	pyFrom   = regexp.MustCompile(`(?m)(?:^|[;:])[ \t]*from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n;]*)`)
	pyImport = regexp.MustCompile(`(?m)(?:^|[;:])[ \t]*import[ \t]+([^\n;]+)`)
	jsLoads  = regexp.MustCompile(`(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire(?:\.resolve)?\s*\(\s*|\b(?:do)?[mM]ock\s*\(\s*)["'` + "`" + `]([^"'` + "`" + `\n]+)["'` + "`" + `]`)
	quoted   = regexp.MustCompile(`["'` + "`" + `]([\w./@-]+)["'` + "`" + `]`)
	nameWord = regexp.MustCompile(`[A-Za-z_]\w*`)
)

// namingOf reads a source.
func namingOf(from string, src []byte) naming {
	n := naming{lang: languageOf(from), from: from, words: map[string]bool{}}
	text := scrub(scrubbed(n.lang), string(src), false)
	n.text = text
	switch n.lang {
	case python:
		n.python(text)
	case javascript:
		for _, m := range jsLoads.FindAllStringSubmatch(text, -1) {
			n.module(m[1])
		}
	}
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		n.literal(m[1])
	}
	for _, w := range nameWord.FindAllString(text, -1) {
		n.words[w] = true
	}
	return n
}

// scrubbed is the language whose comments and strings look as those of another.
func scrubbed(lang language) language {
	switch lang {
	case golang, "":
		return javascript
	}
	return lang
}

func (n *naming) add(p string, exact bool) {
	if l := (loaded{p, exact}); p != "" && !slices.Contains(n.loads, l) {
		n.loads = append(n.loads, l)
	}
}

// dotted notes a module by its name, with the packages around it.
func (n *naming) dotted(name string) {
	parts := strings.Split(strings.Trim(name, "."), ".")
	for i := range parts {
		n.add(strings.Join(parts[:i+1], "/"), false)
	}
}

func (n *naming) python(text string) {
	for _, m := range pyFrom.FindAllStringSubmatch(text, -1) {
		base := strings.ReplaceAll(m[2], ".", "/")
		if m[1] != "" {
			dir := path.Dir(n.from)
			for range len(m[1]) - 1 {
				dir = path.Dir(dir)
			}
			base = path.Join(dir, base)
			n.add(base, true)
		} else {
			n.dotted(m[2])
		}
		for _, name := range strings.FieldsFunc(m[3], func(r rune) bool { return strings.ContainsRune("(), \t\n\\", r) }) {
			n.add(path.Join(base, name), m[1] != "")
		}
	}
	for _, m := range pyImport.FindAllStringSubmatch(text, -1) {
		for name := range strings.SplitSeq(m[1], ",") {
			if f := strings.Fields(name); len(f) > 0 {
				n.dotted(f[0])
			}
		}
	}
}

// module notes what an import of JavaScript names.
func (n *naming) module(spec string) {
	spec = bareModule(spec)
	if strings.HasPrefix(spec, ".") {
		n.add(path.Join(path.Dir(n.from), spec), true)
		return
	}
	n.add(strings.TrimLeft(spec, "@~#/"), false)
}

// literal notes a string that can be a path, or a module by its dotted name.
func (n *naming) literal(s string) {
	switch code := languageOf(s) != ""; {
	case strings.HasPrefix(s, "."):
		n.add(path.Join(path.Dir(n.from), bareModule(s)), true)
		if code { // of a program that is started elsewhere
			n.add(bareModule(strings.TrimLeft(s, "./")), false)
		}
	case code, strings.Contains(s, "/"):
		n.add(bareModule(s), false)
	case n.lang == python && strings.Contains(s, "."):
		n.dotted(s)
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
	switch path.Base(m) {
	case "__init__", "index", "mod":
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
	switch n.lang {
	case golang:
		dir := path.Dir(p)
		return slices.ContainsFunc(n.loads, func(l loaded) bool { return l.path == dir || strings.HasSuffix(l.path, "/"+dir) })
	case rust, java:
		return n.words[stemOf(p)]
	}
	return n.loadsPath(moduleOf(p), false) || n.loadsPath(bareModule(p), false)
}

// loadsPath tells whether one of the names means a module. Where only whole
// paths count, a bare word is none.
func (n naming) loadsPath(m string, whole bool) bool {
	return slices.ContainsFunc(n.loads, func(l loaded) bool {
		switch {
		case l.path == m:
			return true
		case l.exact, whole && !strings.Contains(l.path, "/"):
			return false
		}
		return strings.HasSuffix(m, "/"+l.path)
	})
}

// frameworks are how a source uses what tests are made of.
var frameworks = sync.OnceValue(func() map[language]*regexp.Regexp {
	return map[language]*regexp.Regexp{
		golang:     regexp.MustCompile(`"(?:testing|github\.com/(?:stretchr/testify/\w+|onsi/\w+))"`),
		python:     regexp.MustCompile(`(?m)^[ \t]*(?:import|from)[ \t]+(?:unittest|_?pytest|nose2?|hypothesis|hamcrest|testtools|django\.test|twisted\.trial)\b|\.assert[A-Z]\w+\(`),
		javascript: regexp.MustCompile(`(?:\brequire\(\s*|\bfrom\s*|\bimport\(?\s*)['"](?:node:test|vitest|mocha|jest|@jest/globals|chai|ava|tape|tap|expect|sinon|supertest|cypress|@playwright/test|@testing-library/[\w-]+)['"]`),
		rust:       regexp.MustCompile(`\b(?:proptest|quickcheck|rstest|mockall|pretty_assertions)::`),
		java:       regexp.MustCompile(`(?m)^[ \t]*import[ \t]+(?:static[ \t]+)?(?:org\.(?:junit|testng|mockito|assertj|hamcrest)|io\.kotest|kotlin\.test|com\.google\.common\.truth)\b`),
	}
})

// shapes are how a language writes what gives something back, and what does
// something.
type shapes struct{ yields, does *regexp.Regexp }

var shapesOf = sync.OnceValue(func() map[language]shapes {
	return map[language]shapes{
		golang:     {does: regexp.MustCompile(`\bfunc\b`)},
		python:     {yields: regexp.MustCompile(`\b(?:return|yield)\b[ \t]*[^\s;]`), does: regexp.MustCompile(`\b(?:def|lambda)\b`)},
		javascript: {yields: regexp.MustCompile(`\b(?:return|yield)\b[ \t]*[^\s;}]`), does: regexp.MustCompile(`\bfunction\b|=>|\bclass\b|\)\s*\{`)},
		rust:       {yields: regexp.MustCompile(`->`), does: regexp.MustCompile(`\bfn\b|\bmacro_rules\b`)},
		java:       {yields: regexp.MustCompile(`\breturn\b[ \t]*[^\s;]`), does: regexp.MustCompile(`\)\s*(?:throws\s+[\w.,\s]+)?\{|->|\bfun\b`)},
	}
})

var literalValue = regexp.MustCompile("[\"'`]|\\b\\d")

// asserts tells whether a source is there to assert: it uses a framework of
// tests, or holds assertions and gives nothing back.
func asserts(lang language, src []byte) bool {
	if form := frameworks()[lang]; form != nil && form.Match(src) {
		return true
	}
	form := shapesOf()[lang].yields
	if form == nil || form.MatchString(bareText(lang, src)) {
		return false
	}
	return slices.ContainsFunc(units(lang, src), func(u unit) bool { return u.asserts > 0 })
}

// onlyData tells whether a source holds values and does nothing.
func onlyData(p string, src []byte) bool {
	lang := languageOf(p)
	form := shapesOf()[lang].does
	switch stem := strings.TrimSuffix(path.Base(p), path.Ext(p)); stem {
	case "__init__", "__main__", "index", "mod", "lib", "main", "setup":
		return false
	}
	bare := bareText(lang, src)
	if form == nil || form.MatchString(bare) {
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
