package textmerge

import (
	"encoding/json"
	"io"
	"slices"
	"strings"

	"agency/internal/regexp"
)

// maxSlide bounds how far an insertion is moved to where it is whole.
const maxSlide = 64

// entry is one entry of a list; no two of both sides may have one key.
type entry struct{ key string }

// lists merges a region in which both sides only add entries to a list.
func (m merger) lists(text []lineInfo, base []string, r region) (patch, error) {
	if p, ok := m.lastEntry(text, base, r); ok {
		return p, nil
	}
	if r.a1 != r.a2 {
		return m.values(text, base, r)
	}
	ours, theirs := slides(base, r, r.ours), slides(base, r, r.theirs)
	err := doubt("both sides add different lines after line %d", r.a1)
	for _, o := range ours {
		for _, t := range theirs {
			if o.from != t.from {
				continue
			}
			var a, b []entry
			if a, err = m.entries(text, base, o); err == nil {
				b, err = m.entries(text, base, t)
			}
			if err == nil {
				err = distinct(a, b)
			}
			if err == nil {
				return patch{o.from, o.from, m.joined(o.lines, t.lines)}, nil
			}
		}
	}
	if m.lang == jsonText { // what comes out is read as a whole
		return patch{r.a1, r.a2, slices.Concat(r.ours, r.theirs)}, nil
	}
	return patch{}, err
}

// joined is ours before theirs. The sums of modules are sorted.
func (m merger) joined(ours, theirs []string) []string {
	out := slices.Concat(ours, theirs)
	if m.file == "go.sum" {
		slices.Sort(out)
	}
	return out
}

// entered tells where a side only adds entries.
func (m merger) entered(text []lineInfo, base []string, r region) (patch, error) {
	if r.a1 != r.a2 {
		return patch{}, doubt("lines are changed")
	}
	err := doubt("no entries")
	for _, p := range slides(base, r, r.ours) {
		if _, err = m.entries(text, base, p); err == nil {
			return p, nil
		}
	}
	return patch{}, err
}

func distinct(a, b []entry) error {
	for _, x := range a {
		if slices.Contains(b, x) {
			return doubt("both sides add %s", x.key)
		}
	}
	return nil
}

// slides are the places that an insertion can stand at for the same text, the
// nearest first.
func slides(base []string, r region, lines []string) []patch {
	out := []patch{{r.a1, r.a1, lines}}
	if len(lines) == 0 {
		return nil
	}
	up := slices.Clone(lines)
	for p := r.a1; p > r.lo && len(out) < maxSlide && base[p-1] == up[len(up)-1]; p-- {
		up = append([]string{base[p-1]}, up[:len(up)-1]...)
		out = append(out, patch{p - 1, p - 1, up})
	}
	down := slices.Clone(lines)
	for p := r.a1; p < r.hi && len(out) < 2*maxSlide && base[p] == down[0]; p++ {
		down = append(slices.Clone(down[1:]), base[p])
		out = append(out, patch{p + 1, p + 1, down})
	}
	return out
}

// lastEntry merges entries after the last one of a list, which both sides gave
// the comma that it had not.
func (m merger) lastEntry(text []lineInfo, base []string, r region) (patch, bool) {
	if r.a2-r.a1 != 1 || len(r.ours) < 2 || len(r.theirs) < 2 || m.lang.plain {
		return patch{}, false
	}
	last := base[r.a1] + ","
	if r.ours[0] != last || r.theirs[0] != last {
		return patch{}, false
	}
	ours, theirs := closed(r.ours[1:]), closed(r.theirs[1:])
	if ours == nil || theirs == nil {
		return patch{}, false
	}
	at := patch{r.a2, r.a2, ours}
	a, err := m.commaEntries(text, base, at, r.a1)
	if err != nil {
		return patch{}, false
	}
	b, err := m.commaEntries(text, base, patch{r.a2, r.a2, theirs}, r.a1)
	if err != nil || distinct(a, b) != nil {
		return patch{}, false
	}
	return patch{r.a1, r.a2, slices.Concat([]string{last}, ours, r.theirs[1:])}, true
}

// closed gives the last entry its comma; nil where it has one.
func closed(lines []string) []string {
	out := slices.Clone(lines)
	n := len(out) - 1
	if strings.HasSuffix(out[n], ",") {
		return nil
	}
	out[n] += ","
	return out
}

// entries tells whether an insertion is entries of the list that it stands in.
func (m merger) entries(text []lineInfo, base []string, p patch) ([]entry, error) {
	if m.lang.plain {
		return m.plainEntries(base, p)
	}
	if p.from < len(text) && text[p.from].inText {
		return nil, doubt("within a string or comment")
	}
	if out, err := m.commaEntries(text, base, p, -1); err == nil {
		return out, nil
	}
	if out, err := m.groupEntries(text, base, p); err == nil {
		return out, nil
	}
	return m.calls(base, p)
}

// around is the innermost bracket that a line of the base stands in.
func around(text []lineInfo, at int) *opening {
	if at < len(text) {
		return text[at].open
	}
	return nil
}

// notLists are words before a bracket that make it none of a list.
var notLists = regexp.MustCompile(`(^|[^\w])(function|if|for|while|switch|catch|with|return|func|fn|match|else|do|try|def|case|select)$`)

// commaEntries are entries that each end with a comma, in brackets that are
// none of a call, of a function or of a statement. The line given is about to
// get its comma.
func (m merger) commaEntries(text []lineInfo, base []string, p patch, given int) ([]entry, error) {
	open := around(text, p.from)
	if open == nil {
		return nil, doubt("in no brackets")
	}
	before := strings.TrimSpace(open.before)
	if open.char == '(' && before != "" && (notLists.MatchString(before) || strings.HasSuffix(before, ")") || strings.HasSuffix(before, "]") || isWord(open.before[len(open.before)-1])) {
		return nil, doubt("arguments of a call")
	}
	for at := p.from - 1; at > open.line; at-- {
		if code := strings.TrimSpace(text[at].code); code != "" {
			if !strings.HasSuffix(code, ",") && at != given {
				return nil, doubt("what is before has no comma")
			}
			break
		}
	}
	info, err := m.lang.scan(p.lines)
	if err != nil {
		return nil, err
	}
	var out []entry
	first, begun := "", 0
	for i, line := range p.lines {
		code := strings.TrimSpace(info[i].code)
		ends := i+1 == len(p.lines) || info[i+1].depth == 0 && !info[i+1].inText
		if info[i].depth == 0 && !info[i].inText && code != "" && first == "" {
			first, begun = line, i
		}
		if code == "" || !ends {
			continue
		}
		if !strings.HasSuffix(code, ",") {
			return nil, doubt("%q ends no entry", line)
		}
		key := keyOf(strings.TrimSpace(first))
		if key == "{" || key == "[" || key == "(" { // the whole tells it apart
			key = strings.Join(p.lines[begun:i+1], "\n")
		}
		out = append(out, entry{key})
		first = ""
	}
	if len(out) == 0 || first != "" {
		return nil, doubt("no entries")
	}
	return out, uniform(base, p, open.line)
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// keyOf is what an entry is looked up by: what is before the first sign that
// gives it a value, or all of it.
func keyOf(line string) string {
	line = strings.TrimSuffix(line, ",")
	if i := strings.IndexAny(line, ":=("); i > 0 && !strings.HasPrefix(line, "{") && !strings.HasPrefix(line, "[") {
		return strings.TrimSpace(line[:i])
	}
	return line
}

// uniform tells whether the entries are indented as the list's first is.
func uniform(base []string, p patch, open int) error {
	indent := func(l string) string { return l[:len(l)-len(strings.TrimLeft(l, " \t"))] }
	var want string
	known := false
	for at := open + 1; at < p.from; at++ {
		if strings.TrimSpace(base[at]) != "" {
			want, known = indent(base[at]), true
			break
		}
	}
	for _, l := range p.lines {
		if strings.TrimSpace(l) == "" {
			continue
		}
		if !known {
			want, known = indent(l), true
		}
		if !strings.HasPrefix(l, want) {
			return doubt("%q is indented otherwise", l)
		}
	}
	return nil
}

var (
	groupOpens = regexp.MustCompile(`(^|\s)(const|var|require|replace|exclude|use|struct|interface)\s*$`)
	groupLine  = regexp.MustCompile(`^[\w./-]+(\s*,\s*\w+)*(\s.*|\(.*)?$`)
)

// groupEntries are lines of a Go group, of the fields of a type, of a list of
// modules: a line each.
func (m merger) groupEntries(text []lineInfo, base []string, p patch) ([]entry, error) {
	open := around(text, p.from)
	if open == nil || m.lang != golang && m.lang != goMod || !groupOpens.MatchString(open.before) {
		return nil, doubt("in no group")
	}
	info, err := m.lang.scan(p.lines)
	if err != nil {
		return nil, err
	}
	var out []entry
	for i, line := range p.lines {
		code := strings.TrimSpace(info[i].code)
		if info[i].depth > 0 || info[i].inText || code != "" && !groupLine.MatchString(code) {
			return nil, doubt("%q is more than a line", line)
		}
		if code != "" {
			out = append(out, entry{strings.Fields(strings.NewReplacer("(", " ", ",", " ", "=", " ").Replace(code))[0]})
		}
	}
	if len(out) == 0 {
		return nil, doubt("no entries")
	}
	return out, uniform(base, p, open.line)
}

var callLine = regexp.MustCompile(`^\s*([\w$]+(?:(?:\.|::|->)[\w$]+)*)(\(.*\)[;]?)$`)

// calls are registrations: lines that each call the same function, beside one
// of the base that does.
func (m merger) calls(base []string, p patch) ([]entry, error) {
	var like string
	for _, at := range []int{p.from - 1, p.from} {
		if at >= 0 && at < len(base) {
			if c := callLine.FindStringSubmatch(base[at]); c != nil {
				like = base[at][:strings.Index(base[at], c[1])] + c[1]
				break
			}
		}
	}
	var out []entry
	for _, line := range p.lines {
		c := callLine.FindStringSubmatch(line)
		if c == nil || like == "" || !strings.HasPrefix(line, like+"(") {
			return nil, doubt("%q registers nothing", line)
		}
		first, _, _ := strings.Cut(c[2], ",")
		out = append(out, entry{first})
	}
	return out, nil
}

var (
	lineFiles   = regexp.MustCompile(`(?i)^(\.[\w-]*ignore|requirements[\w.-]*\.txt|authors|contributors|go\.sum)(\.\w+)?$`)
	logFiles    = regexp.MustCompile(`(?i)^(changelog|changes|history|news|releases?)(\.\w+)?$`)
	listLine    = regexp.MustCompile(`^(\s*)([-*+]\s|\|.*\|$)`)
	requirement = regexp.MustCompile(`^[\w.-]*`)
	deeper      = regexp.MustCompile(`^\s+\S`)
)

// plainEntries are lines of files that are lists, paragraphs of changelogs, and
// items of lists and rows of tables in any text.
func (m merger) plainEntries(base []string, p patch) ([]entry, error) {
	var out []entry
	whole := lineFiles.MatchString(m.file)
	mark := ""
	for _, at := range []int{p.from - 1, p.from} {
		if at >= 0 && at < len(base) && mark == "" {
			if l := listLine.FindStringSubmatch(base[at]); l != nil {
				mark = l[1] + l[2][:1]
			}
		}
	}
	for _, line := range p.lines {
		blank := strings.TrimSpace(line) == ""
		switch {
		case blank && (whole || logFiles.MatchString(m.file)):
		case whole:
			if strings.HasPrefix(line, "!") {
				return nil, doubt("%q depends on its place", line)
			}
			out = append(out, entry{m.lineKey(line)})
		case logFiles.MatchString(m.file), mark != "" && strings.HasPrefix(line, mark) && listLine.MatchString(line):
			out = append(out, entry{itemKey(line)})
		case len(out) > 0 && mark != "" && deeper.MatchString(line):
		default:
			return nil, doubt("%q is no entry", line)
		}
	}
	if len(out) == 0 {
		return nil, doubt("no entries")
	}
	return out, nil
}

// lineKey is the package of a requirement, the line otherwise.
func (m merger) lineKey(line string) string {
	if strings.HasPrefix(strings.ToLower(m.file), "requirements") {
		return strings.ToLower(requirement.FindString(line))
	}
	return line
}

// itemKey is what an item is named by: a key before a colon, or all of it.
func itemKey(line string) string {
	key, _, ok := strings.Cut(line, ": ")
	if !ok || strings.Contains(strings.TrimLeft(key, "-*+ "), " ") {
		return line
	}
	return key
}

// validJSON tells whether a text is one JSON value without a name twice.
func validJSON(text []string) error {
	d := json.NewDecoder(strings.NewReader(strings.Join(text, "\n")))
	d.UseNumber()
	if err := value(d, 0); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return doubt("more than one JSON value")
	}
	return nil
}

func value(d *json.Decoder, depth int) error {
	t, err := d.Token()
	if err != nil || depth > 1000 {
		return doubt("no JSON: %v", err)
	}
	open, ok := t.(json.Delim)
	if !ok {
		return nil
	}
	names := map[string]bool{}
	for d.More() {
		if open == '{' {
			k, err := d.Token()
			name, ok := k.(string)
			if err != nil || !ok || names[name] {
				return doubt("JSON with the name %q twice", name)
			}
			names[name] = true
		}
		if err := value(d, depth+1); err != nil {
			return err
		}
	}
	if _, err = d.Token(); err != nil {
		return doubt("no JSON: %v", err)
	}
	return nil
}
