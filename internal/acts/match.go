package acts

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// pattern is one path of a row.
type pattern struct {
	segments []string
	root     bool // from the root
	beneath  bool // all that lies in it
	exact    bool // as written
	globs    []bool
	short    []dosName
}

func patternsOf(list string) (out []pattern) {
	for _, s := range strings.Fields(list) {
		var p pattern
		s, p.exact = strings.CutPrefix(s, "=")
		s, p.root = strings.CutPrefix(s, "/")
		s, p.beneath = strings.CutSuffix(s, "/")
		p.segments = strings.Split(s, "/")
		for _, seg := range p.segments {
			p.globs = append(p.globs, strings.ContainsAny(seg, "*?["))
			p.short = append(p.short, dosNameOf(seg))
		}
		out = append(out, p)
	}
	return out
}

// name is a path as written and as file systems may take it.
type name struct {
	written, folded []string
	dos             bool // a segment may be a short name of Windows
}

func nameOf(p string) name {
	return name{strings.Split(p, "/"), strings.Split(fold(p), "/"), strings.Contains(p, "~")}
}

func (p pattern) of(n name) []string {
	if p.exact {
		return n.written
	}
	return n.folded
}

// matches tells whether a path is one of the pattern.
func (p pattern) matches(n name) bool {
	segs := p.of(n)
	last := len(segs) - len(p.segments)
	for at := 0; at <= last && (at == 0 || !p.root); at++ {
		if (at == last && !p.beneath || at < last && p.beneath) && p.begins(segs[at:], len(p.segments), n.dos) {
			return true
		}
	}
	return false
}

// stands tells whether a link at a path stands for a folder of the pattern:
// what it points to takes effect then.
func (p pattern) stands(n name) bool {
	segs := p.of(n)
	most := len(p.segments)
	if !p.beneath {
		most--
	}
	for k := 1; k <= most && k <= len(segs); k++ {
		if (!p.root || k == len(segs)) && p.begins(segs[len(segs)-k:], k, n.dos) {
			return true
		}
	}
	return false
}

// begins tells whether a path begins with the first n segments of the pattern.
func (p pattern) begins(segs []string, n int, dos bool) bool {
	for i, s := range p.segments[:n] {
		if !p.globs[i] {
			if s != segs[i] && !(dos && !p.exact && p.short[i].matches(segs[i])) {
				return false
			}
			continue
		}
		if ok, err := path.Match(s, segs[i]); !ok || err != nil {
			return false
		}
	}
	return true
}

// dosName is the beginning and the ending of the short names that NTFS gives a
// name beside its own: who writes HUSKY~1 there writes to .husky.
type dosName struct{ base, ending string }

func dosNameOf(s string) dosName {
	clean := func(s string, most int) string {
		s = strings.Map(func(r rune) rune {
			switch {
			case r == '.' || r == ' ':
				return -1
			case strings.ContainsRune("+,;=[]", r):
				return '_'
			}
			return r
		}, s)
		return s[:min(len(s), most)]
	}
	base, ending := strings.TrimLeft(s, "."), ""
	if i := strings.LastIndexByte(base, '.'); i >= 0 {
		base, ending = base[:i], base[i+1:]
	}
	if len(base) <= 8 && len(ending) <= 3 && s[0] != '.' && !strings.ContainsAny(base, ".+,;=[] ") {
		return dosName{} // the name is its own
	}
	return dosName{clean(base, 6), clean(ending, 3)}
}

// matches tells whether a name is a short one of these: HUSKY~1, PRE-CO~2.YAM, or
// with four signs of a digest, PR1A2B~1.YAM.
func (d dosName) matches(s string) bool {
	base, ending, _ := strings.Cut(s, ".")
	base, number, ok := strings.Cut(base, "~")
	if d.base == "" || !ok || number == "" || strings.Trim(number, "0123456789") != "" || ending != d.ending {
		return false
	}
	hashed := len(base) == 6 && len(d.base) >= 2 && base[:2] == d.base[:2] && strings.Trim(base[2:], "0123456789abcdef") == ""
	return base == d.base[:min(len(d.base), 6, max(0, 7-len(number)))] || hashed
}

// fold is a path as a file system may take it that ignores case (NTFS; APFS also
// where it is more than letter by letter) and how signs are put together (APFS),
// signs without a width (HFS+), or dots, spaces and streams at an end (NTFS).
func fold(p string) string {
	segs := strings.Split(strings.ReplaceAll(p, `\`, "/"), "/")
	for i, s := range segs {
		s, _, _ = strings.Cut(s, "::$")
		s = foldName(s)
		if cut := strings.TrimRight(s, ". "); cut != "" {
			s = cut
		}
		segs[i] = s
	}
	return strings.Join(segs, "/")
}

func foldName(s string) string {
	ascii := true
	for i := range len(s) {
		ascii = ascii && s[i] < utf8.RuneSelf
	}
	if ascii {
		return strings.Map(small, s)
	}
	s = norm.NFD.String(cases.Fold().String(norm.NFD.String(s)))
	return strings.Map(foldRune, s)
}

// foldRune is the one letter that stands for all that differ by case alone, the
// small one; signs that file systems pass over are none.
func foldRune(r rune) rune {
	if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r) {
		return -1
	}
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return unicode.ToLower(least)
}
