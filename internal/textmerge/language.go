package textmerge

import (
	"path"
	"slices"
	"strings"

	"agency/internal/regexp"
)

// language is what is known of the files of one language.
type language struct {
	name      string
	plain     bool     // a text without brackets or strings
	comments  []string // what makes the rest of a line a comment
	blocks    bool     // /* */
	nested    bool     // those nest
	quotes    []string // the longer before the shorter
	templates bool     // `${}` and regular expressions
	lifetimes bool     // 'a is no string
	indented  bool     // blocks are told by indentation
	attribute *regexp.Regexp
	variant   *regexp.Regexp // an attribute that makes another declaration of the same name
	decls     []decl         // nil: none are told apart
	keywords  map[string]bool
	imports   []*regexp.Regexp // of one whole line; head, names and tail where it has names
}

// decl is a form of declarations at a level.
type decl struct {
	level  level
	kindOf string
	form   *regexp.Regexp // of the line's code
	name   *regexp.Regexp // of the line itself: its groups are the name
	box    bool
	within level
	call   bool // ends with a bracket
	key    string
}

func form(l level, kindOf, re string) decl {
	r := regexp.MustCompile(re)
	return decl{level: l, kindOf: kindOf, form: r, name: r}
}

func boxOf(l, within level, kindOf, re string) decl {
	d := form(l, kindOf, re)
	d.box, d.within = true, within
	return d
}

func languageOf(name string) *language {
	base := path.Base(name)
	if l, ok := byName[base]; ok {
		return l
	}
	if l, ok := byEnding[strings.ToLower(path.Ext(base))]; ok {
		return l
	}
	return plainText
}

var byName = map[string]*language{"go.mod": goMod, "go.work": goMod}

var byEnding = map[string]*language{
	".go": golang, ".py": python, ".pyi": python, ".rs": rust, ".java": java, ".json": jsonText,
	".js": script, ".jsx": script, ".mjs": script, ".cjs": script, ".ts": script, ".tsx": script, ".mts": script, ".cts": script,
}

var (
	plainText = &language{name: "text", plain: true}
	golang    = &language{name: "Go", comments: []string{"//"}, blocks: true, quotes: []string{`"`, "`", "'"}}
	goMod     = &language{name: "go.mod", comments: []string{"//"}, quotes: []string{`"`}}
	jsonText  = &language{name: "JSON", quotes: []string{`"`}}

	python = &language{
		name: "Python", comments: []string{"#"}, quotes: []string{`"""`, "'''", `"`, "'"}, indented: true,
		attribute: regexp.MustCompile(`^@[\w.]+`),
		variant:   regexp.MustCompile(`^\s*@[\w.]+\.(setter|getter|deleter)\s*$`),
		decls: []decl{
			form(outside, "def", `^(?:async\s+)?def\s+(\w+)`), form(members, "def", `^(?:async\s+)?def\s+(\w+)`),
			boxOf(outside, members, "class", `^class\s+(\w+)`), boxOf(members, members, "class", `^class\s+(\w+)`),
		},
		imports: []*regexp.Regexp{
			regexp.MustCompile(`^(from\s+[\w.]+\s+import\s+)(\w+(?:\s+as\s+\w+)?(?:\s*,\s*\w+(?:\s+as\s+\w+)?)*)()$`),
			regexp.MustCompile(`^import\s+[\w.]+(?:\s+as\s+\w+)?$`),
		},
	}

	rust = &language{
		name: "Rust", comments: []string{"//"}, blocks: true, nested: true, quotes: []string{`"`, "'"}, lifetimes: true,
		attribute: regexp.MustCompile(`^#\[`),
		decls: []decl{
			form(outside, "fn", rustPub+rustFn), form(members, "fn", rustPub+rustFn),
			form(outside, "type", rustPub+`(?:struct|enum|union|type)\s+(\w+)`),
			form(outside, "macro", `^macro_rules!\s+(\w+)`),
			boxOf(outside, members, "trait", rustPub+`(?:unsafe\s+)?trait\s+(\w+)`),
			boxOf(outside, members, "impl", `^(?:unsafe\s+)?impl\b(.*)\{$`),
			boxOf(outside, outside, "mod", rustPub+`mod\s+(\w+)\s*\{$`),
		},
		imports: []*regexp.Regexp{
			regexp.MustCompile(`^(` + rustUse + `[\w:]+::\{)([\w:]+(?:\s*,\s*[\w:]+)*)(\};)$`),
			regexp.MustCompile(`^` + rustUse + `[\w:*]+(?:\s+as\s+\w+)?;$`),
			regexp.MustCompile(`^(?:pub(?:\([\w:]+\))?\s+)?mod\s+\w+;$`),
		},
	}

	java = &language{
		name: "Java", comments: []string{"//"}, blocks: true, quotes: []string{`"""`, `"`, "'"},
		attribute: regexp.MustCompile(`^@[\w.]+(\(.*\))?$`),
		decls: []decl{
			form(outside, "enum", `^(?:[\w@]+\s+)*enum\s+(\w+)`), form(members, "enum", `^(?:[\w@]+\s+)*enum\s+(\w+)`),
			boxOf(outside, members, "type", javaType), boxOf(members, members, "type", javaType),
			form(members, "method", `^(?:[\w.<>\[\],?@]+\s+)*(\w+\s*\([^()]*\))\s*(?:throws\s+[\w.,\s]+)?[{;]?$`),
		},
		keywords: words("if for while switch return catch synchronized new throw try do else super this"),
		imports:  []*regexp.Regexp{regexp.MustCompile(`^import\s+(?:static\s+)?[\w.*]+;$`)},
	}

	script = &language{
		name: "JavaScript", comments: []string{"//"}, blocks: true, quotes: []string{`"`, "'", "`"}, templates: true,
		attribute: regexp.MustCompile(`^@[\w.]+(\(.*\))?$`),
		decls: []decl{
			form(outside, "function", scriptOut+`(?:async\s+)?function\s*\*?\s*(\w+)`),
			form(outside, "const", scriptOut+`(?:const|let|var)\s+(\w+)(?:\s*:[^=]*)?\s*=\s*(?:async\s+)?(?:function\b|\([^()]*\)(?:\s*:[^=]*)?\s*=>|\w+\s*=>)\s*.*\{$`),
			boxOf(outside, members, "class", scriptOut+`(?:abstract\s+)?class\s+(\w+)`),
			form(outside, "type", scriptOut+`(?:declare\s+)?(?:interface|enum|const\s+enum)\s+(\w+)`),
			form(members, "method", `^(?:(?:public|private|protected|static|override|async|abstract|readonly)\s+)*((?:get\s+|set\s+)?\*?\s*#?\w+)\s*(?:<[^()]*>)?\([^()]*\)(?:\s*:[^{]*)?\s*\{$`),
			suite(true, "suite", `describe|context|suite`), suite(false, "test", `it|test|specify`),
		},
		keywords: words("if for while switch return catch with new throw await else do"),
		imports: []*regexp.Regexp{
			regexp.MustCompile(`^(import\s+(?:type\s+)?\{\s*)([\w$]+(?:\s+as\s+[\w$]+)?(?:\s*,\s*[\w$]+(?:\s+as\s+[\w$]+)?)*)(\s*\}\s+from\s+(?:"[^"]+"|'[^']+');?)$`),
			regexp.MustCompile(`^(?:import|export)\s+[\w$*{},\s]+\s+from\s+(?:"[^"]+"|'[^']+');?$`),
			regexp.MustCompile(`^import\s+(?:"[^"]+"|'[^']+');?$`),
			regexp.MustCompile(`^(?:const|var|let)\s+[\w$]+\s*=\s*require\((?:"[^"]+"|'[^']+')\);?$`),
		},
	}
)

const (
	rustPub   = `^(?:pub(?:\([\w:\s]+\))?\s+)?`
	rustFn    = `(?:(?:default|const|async|unsafe|extern|"[^"]*"|"")\s+)*fn\s+(\w+)`
	rustUse   = `(?:pub(?:\([\w:]+\))?\s+)?use\s+`
	javaType  = `^(?:[\w@]+\s+)*(?:class|interface|record|@interface)\s+(\w+)`
	scriptOut = `^(?:export\s+)?(?:default\s+)?`
)

// suite is a call that holds tests, or one of them.
func suite(holds bool, kindOf, names string) decl {
	return decl{
		level: outside, kindOf: kindOf, box: holds, within: cases, call: true,
		form: regexp.MustCompile(`^(?:` + names + `)(?:\.\w+)?\((?:""|''|` + "``" + `)\s*,.*\{$`),
		name: regexp.MustCompile(`^(?:` + names + `)(?:\.\w+)?\(\s*("[^"]*"|'[^']*'|` + "`[^`$]*`" + `)`),
	}
}

func words(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(s) {
		out[w] = true
	}
	return out
}

// statement is an import: one line, or the names that it takes from one place.
type statement struct {
	head, tail string
	names      []string
}

func (l *language) parseImport(line string) (statement, bool) {
	for _, re := range l.imports {
		m := re.FindStringSubmatch(line)
		switch {
		case m == nil:
			continue
		case len(m) < 4:
			return statement{head: line}, true
		}
		s := statement{head: m[1], tail: m[3]}
		for n := range strings.SplitSeq(m[2], ",") {
			s.names = append(s.names, strings.Join(strings.Fields(n), " "))
		}
		return s, true
	}
	return statement{}, false
}

// imports merges lines that are all imports: the union, in order where both
// sides keep one.
func (m merger) imports(text []lineInfo, base []string, r region) (patch, error) {
	p := patch{from: r.a1, to: r.a2}
	var sides [3][]statement
	for i, lines := range [][]string{base[r.a1:r.a2], r.ours, r.theirs} {
		for _, line := range lines {
			s, ok := m.lang.parseImport(line)
			if !ok || strings.Contains(line, "__future__") {
				return p, doubt("%q is no import", line)
			}
			sides[i] = append(sides[i], s)
		}
	}
	if r.a1 < len(text) && (text[r.a1].depth > 0 || text[r.a1].inText) {
		return p, doubt("within brackets")
	}
	merged, err := uniteStatements(sides[0], sides[1], sides[2])
	if err != nil {
		return p, err
	}
	for _, s := range merged {
		p.lines = append(p.lines, s.head+strings.Join(s.names, ", ")+s.tail)
	}
	if slices.IsSorted(r.ours) && slices.IsSorted(r.theirs) {
		slices.Sort(p.lines)
	}
	return p, nil
}

func uniteStatements(base, ours, theirs []statement) ([]statement, error) {
	keys := func(s []statement) (out []string) {
		for _, x := range s {
			out = append(out, x.head+"\x00"+x.tail)
		}
		return out
	}
	find := func(s []statement, key string) []string {
		for _, x := range s {
			if x.head+"\x00"+x.tail == key {
				return x.names
			}
		}
		return nil
	}
	for _, side := range [][]statement{base, ours, theirs} {
		if k := keys(side); len(k) != len(slices.Compact(slices.Sorted(slices.Values(k)))) {
			return nil, doubt("an import stands there twice")
		}
	}
	var out []statement
	bound := map[string]string{}
	for _, key := range unite(keys(base), keys(ours), keys(theirs)) {
		head, tail, _ := strings.Cut(key, "\x00")
		o, t := find(ours, key), find(theirs, key)
		s := statement{head: head, tail: tail, names: unite(find(base, key), o, t)}
		if slices.IsSorted(o) && slices.IsSorted(t) {
			slices.Sort(s.names)
		}
		if len(s.names) == 0 && len(o)+len(t) > 0 {
			return nil, doubt("nothing is left of an import")
		}
		for _, n := range s.names {
			name := n[strings.LastIndexByte(n, ' ')+1:]
			if bound[name] != "" && bound[name] != key {
				return nil, doubt("%s is imported from two places", name)
			}
			bound[name] = key
		}
		out = append(out, s)
	}
	return out, nil
}

// unite is what either side has, without what either took away.
func unite(base, ours, theirs []string) []string {
	var out []string
	for i, side := range [][]string{ours, theirs} {
		other := [][]string{theirs, ours}[i]
		for _, x := range side {
			taken := slices.Contains(base, x) && !slices.Contains(other, x)
			if !taken && !slices.Contains(out, x) {
				out = append(out, x)
			}
		}
	}
	return out
}
