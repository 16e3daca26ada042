package reservation

import (
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"agency/internal/agency"
	"agency/internal/code"
)

// MaxName is the longest name in bytes: that of a deep path with a symbol. One letter or
// digit alone is none, for it stands in any change.
const (
	MaxName = 200
	minName = 2
)

// Name is a name as it is compared: of a file or a folder, of a symbol of a file, or any
// other word.
type Name struct {
	shown  string
	path   string // of a file or a folder, whose ends with a slash; empty for a word
	symbol string // of the file
}

// fileEndings are those of files that package code does not read, by which a name is taken
// for a file's: a name of another form, such as user.created, is a word.
var fileEndings = []string{
	".bash", ".c", ".cc", ".cfg", ".conf", ".cpp", ".cs", ".css", ".csv", ".env", ".ex", ".exs", ".go.tmpl", ".gradle", ".graphql",
	".h", ".hpp", ".html", ".ini", ".json", ".kt", ".less", ".lock", ".lua", ".md", ".mod", ".php", ".pl", ".properties", ".proto", ".rb",
	".rst", ".sass", ".scala", ".scss", ".sh", ".sql", ".sum", ".svelte", ".svg", ".swift", ".tf", ".tmpl", ".toml", ".txt", ".vue",
	".xml", ".yaml", ".yml", ".zig",
}

// Parse reads a name: blanks around it and repeated ones do not count, and neither does ./
// before a path. KindInvalid says what is wrong.
func Parse(s string) (Name, error) {
	clean := spelled(s)
	switch {
	case !utf8.ValidString(s) || strings.ContainsFunc(strings.TrimSpace(s), func(r rune) bool {
		return unicode.In(r, unicode.C) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
	}):
		return Name{}, agency.Errorf(agency.KindInvalid, "name %.40q: want one line of printable text", s)
	case len(clean) < minName || len(clean) > MaxName || !strings.ContainsFunc(clean, isWord):
		return Name{}, agency.Errorf(agency.KindInvalid, "name %.40q: want %d to %d bytes with a letter or a digit", s, minName, MaxName)
	}
	n, rooted := Name{shown: clean}, strings.HasPrefix(clean, "./")
	if what := common(clean); !rooted && what != "" {
		return Name{}, agency.Errorf(agency.KindInvalid, "name %q %s: a name tells one thing apart, such as 0042, 8080, /v1/users, user.created, file#Symbol or a file (./NAME where that has no ending)", clean, what)
	}
	file, symbol, hasSymbol := strings.Cut(clean, "#")
	if strings.Contains(file, " ") || strings.HasPrefix(file, "/") {
		return n, nil
	}
	hasSymbol = hasSymbol && file != "" && symbol != "" && !strings.ContainsAny(symbol, " #/")
	if !hasSymbol {
		file, symbol = clean, ""
	}
	if !hasSymbol && !rooted && !isFile(file) {
		return n, nil
	}
	if err := agency.CheckRelPath(file); err != nil {
		return Name{}, err
	}
	at := path.Clean(file)
	if strings.HasSuffix(file, "/") {
		if at == "." || hasSymbol {
			return Name{}, agency.Errorf(agency.KindInvalid, "name %q: want a folder of the repository, a file or a file#Symbol", s)
		}
		at += "/"
	}
	n.path, n.symbol, n.shown = at, symbol, at
	switch {
	case hasSymbol:
		n.shown += "#" + symbol
	case !isFile(at): // as it is read once more
		n.shown = "./" + at
	}
	return n, nil
}

// spelled is a name without what only some write: blanks, the method of a route, the colon
// before a port.
func spelled(s string) string {
	words := strings.Fields(s)
	if len(words) == 2 && strings.HasPrefix(words[1], "/") && slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "ANY"}, strings.ToUpper(words[0])) {
		words = words[1:]
	}
	clean := strings.Join(words, " ")
	if port := strings.TrimPrefix(clean, ":"); port != "" && strings.Trim(port, "0123456789") == "" {
		return port
	}
	return clean
}

// mostDigits is up to how many digits a bare number stands in any text: 42, 200. One that
// begins with a zero is counted by somebody, such as a migration.
const mostDigits = 3

// common says why a word would be found in what has nothing to do with it; "" where it would not.
func common(s string) string {
	digits := strings.Trim(s, "0123456789") == ""
	switch {
	case len(strings.Fields(s)) > 2:
		return "is a sentence"
	case !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsDigit(r) || strings.ContainsRune("/._-:#@", r) }):
		return "is a plain word, which any change may hold"
	case digits && len(s) <= mostDigits && s[0] != '0':
		return "is a small number, which any change may hold"
	}
	return ""
}

// entry is a path as a contract declares what it may change.
func (n Name) entry() string {
	switch {
	case n.symbol != "":
		return n.path + "#" + n.symbol
	case strings.HasSuffix(n.path, "/"):
		return n.path + "**"
	}
	return n.path
}

func isFile(s string) bool {
	return strings.HasSuffix(s, "/") || code.LanguageOf(s) != "" || slices.Contains(fileEndings, strings.ToLower(path.Ext(s)))
}

// key is what two spellings of one name have in common. Files whose names differ only in
// case are one file on some machines; the slash at the end of a route says nothing.
func (n Name) key() string {
	switch {
	case n.path == "":
		return "word:" + n.word()
	case n.symbol != "":
		return "symbol:" + fold(n.path) + "#" + n.symbol
	}
	return "path:" + fold(n.path)
}

// word is the name as it is looked for in text.
func (n Name) word() string {
	if len(n.shown) > 1 {
		return strings.TrimSuffix(n.shown, "/")
	}
	return n.shown
}

func fold(s string) string { return strings.ToLower(strings.ToUpper(s)) }

// touches tells whether who has the one name has something of the other.
func (n Name) touches(o Name) bool {
	switch {
	case n.path == "" && o.path == "":
		return n.word() == o.word()
	case n.path == "":
		return o.symbol == "" && stands(n.word(), o.path)
	case o.path == "":
		return o.touches(n)
	case n.symbol != "" && o.symbol != "":
		return fold(n.path) == fold(o.path) && (within(n.symbol, o.symbol) || within(o.symbol, n.symbol))
	}
	return holds(n.path, o.path) || holds(o.path, n.path)
}

// holds tells whether a file is the other path, or a folder has it.
func holds(entry, p string) bool {
	entry, p = fold(entry), fold(p)
	return entry == p || strings.HasSuffix(entry, "/") && (strings.HasPrefix(p, entry) || p+"/" == entry)
}

// within tells whether a symbol is the other or a part of it.
func within(symbol, of string) bool { return symbol == of || strings.HasPrefix(symbol, of+".") }

// names tells whether a definition is what the name's symbol names: by its whole name, by
// its last word where the symbol has no other, or as a part of it.
func (n Name) names(definition string) bool {
	return within(definition, n.symbol) || definition[strings.LastIndexByte(definition, '.')+1:] == n.symbol
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// stands tells whether a name stands in a text as a whole word. Beside a digit of its edge an
// underscore is no part of the word: 0042_users.sql has the number 0042. A route does
// not stand in a longer one.
func stands(word, text string) bool {
	first, _ := utf8.DecodeRuneInString(word)
	last, _ := utf8.DecodeLastRuneInString(word)
	route := first == '/'
	for from := 0; ; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after := text[at+len(word):]
		if !joins(before, first, route) && !joins(firstRune(after), last, route) && !(route && longer(after)) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		from = at + size
	}
}

func firstRune(s string) rune { r, _ := utf8.DecodeRuneInString(s); return r }

// joins tells whether a rune beside the edge of a word makes it a part of a longer one.
func joins(r, edge rune, route bool) bool {
	switch {
	case r == utf8.RuneError: // nothing is there, or no text
		return false
	case route:
		return isWord(r) || r == '-' || r == '}'
	case r == '_':
		return !unicode.IsDigit(edge) && isWord(edge)
	}
	return isWord(r) && isWord(edge)
}

// longer tells whether a route goes on.
func longer(after string) bool {
	rest, ok := strings.CutPrefix(after, "/")
	r := firstRune(rest)
	return ok && r != utf8.RuneError && (isWord(r) || strings.ContainsRune("-{:*<[$", r))
}
