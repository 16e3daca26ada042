package board

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"agency/internal/agency"
)

// Path is a file of the repository or a symbol of it. Files whose names differ
// only in case are one file on some machines, and so to all locks.
type Path struct {
	Shown  string // cleaned, with the symbol
	File   string // folded
	Symbol string
}

// ParsePath reads a file, or path#Symbol. KindInvalid for what is no file inside
// of the repository.
func ParsePath(s string) (Path, error) {
	file, symbol, hasSymbol := strings.Cut(s, "#")
	clean := path.Clean(file)
	switch {
	case file == "" || len(s) > 4096 || !utf8.ValidString(s) || strings.ContainsAny(s, "\\\x00"),
		hasSymbol && symbol == "", strings.HasSuffix(file, "/"), clean == ".":
		return Path{}, agency.Errorf(agency.KindInvalid, "lock of %.80q: want a file of the repository, or path#Symbol", s)
	case path.IsAbs(clean), slices.Contains(strings.Split(file, "/"), ".."):
		return Path{}, agency.Errorf(agency.KindInvalid, "lock of %.80q: the path leads out of the repository", s)
	}
	p := Path{Shown: clean, File: strings.ToLower(strings.ToUpper(clean)), Symbol: symbol}
	if hasSymbol {
		p.Shown += "#" + symbol
	}
	return p, nil
}
