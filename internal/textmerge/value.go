package textmerge

import (
	"slices"
	"strings"

	"agency/internal/regexp"
)

// settings are files that hold a key and its value on a line.
var settings = regexp.MustCompile(`(?i)\.(ya?ml|toml|ini|cfg|conf|properties|env)$`)

// values merges a region in which each side gave other values to keys that the
// other left alone: neighbours in a list, a group or a file of settings. Lines
// see a conflict there only because nothing stands between them.
func (m merger) values(text []lineInfo, base []string, r region) (patch, error) {
	n := r.a2 - r.a1
	both := doubt("both sides change the lines %d to %d", r.a1+1, r.a2)
	if len(r.ours) != n || len(r.theirs) != n {
		return patch{}, both
	}
	merged := slices.Clone(r.ours)
	for i := range n {
		at := r.a1 + i
		if merged[i] == base[at] {
			merged[i] = r.theirs[i]
		} else if r.theirs[i] != base[at] {
			return patch{}, both
		}
		if merged[i] != base[at] && !m.otherValue(text, base, at, merged[i]) {
			return patch{}, both
		}
	}
	return patch{r.a1, r.a2, merged}, nil
}

// onlyValues tells whether a side gave other values to keys and did nothing
// else in a region of a declaration: its parts are then entries, no statements.
func (m merger) onlyValues(text []lineInfo, base []string, r region) bool {
	if len(r.ours) != r.a2-r.a1 {
		return false
	}
	for i, line := range r.ours {
		at := r.a1 + i
		if text[at].open == nil || line != base[at] && !m.otherValue(text, base, at, line) {
			return false
		}
	}
	return true
}

// otherValue tells whether a line of the base is a key with a value, whole by
// itself, and the other line the same key with another.
func (m merger) otherValue(text []lineInfo, base []string, at int, line string) bool {
	before, ok := m.lang.keyed(base[at])
	after, too := m.lang.keyed(line)
	if !ok || !too || before != after || text[at].inText {
		return false
	}
	if m.lang.plain {
		return settings.MatchString(m.file)
	}
	open := text[at].open
	if open == nil {
		return before == strings.TrimLeft(before, " \t") // a statement of a block is indented
	}
	if (m.lang == golang || m.lang == goMod) && groupOpens.MatchString(open.before) {
		return true
	}
	opener := strings.TrimSpace(open.before)
	if opener == "" || notLists.MatchString(opener) || open.char != '[' && strings.HasSuffix(opener, ")") {
		return m.lang == jsonText
	}
	return m.lang.entryEnds(text, at, base[at]) && m.lang.entryEnds(text, at, line)
}

// entryEnds tells whether a line ends an entry: by a comma, or as the last of
// its list.
func (l *language) entryEnds(text []lineInfo, at int, line string) bool {
	info, err := l.scan([]string{line})
	if err != nil {
		return false
	}
	if strings.HasSuffix(strings.TrimSpace(info[0].code), ",") {
		return true
	}
	return at+1 < len(text) && strings.IndexAny(strings.TrimSpace(text[at+1].code), ")]}") == 0
}

var keyLine = regexp.MustCompile(`^(\s*[^:=({\[]*[^:=({\[\s!<>+*/%&|^-])\s*(:|=)\s*[^=:\s]`)

// keyed is the key of a line with the indentation before it; false where it has
// none, or where the line is not whole.
func (l *language) keyed(line string) (string, bool) {
	if _, err := l.scan([]string{line}); err != nil {
		return "", false
	}
	k := keyLine.FindStringSubmatch(line)
	if k == nil {
		return "", false
	}
	return k[1] + k[2], true
}
