package acts

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"agency/internal/agency"
	"agency/internal/git"
)

// Modes of git's entries.
const (
	modeLink   = 0o120000
	modeModule = 0o160000
)

// class is a row, ready to be compared.
type class struct {
	row
	patterns []pattern
}

// rules are the table, ready to be compared.
type rules struct{ classes []class }

func newRules() rules {
	var r rules
	for _, one := range table {
		r.classes = append(r.classes, class{one, patternsOf(one.paths)})
	}
	return r
}

// of is the class of a path; nil: it has none. Other tells whether the path is
// of it only where a file system takes the name for another.
func (r rules) of(p string) (c *class, other bool) {
	n := nameOf(p)
	for i := range r.classes {
		for _, pat := range r.classes[i].patterns {
			if pat.matches(n) {
				usual := name{n.written, strings.Split(strings.Map(small, p), "/"), false}
				return &r.classes[i], !pat.matches(usual)
			}
		}
	}
	return nil, false
}

// stands is what a link or a submodule at a path stands for.
func (r rules) stands(p string) *class {
	n := nameOf(p)
	if i := slices.IndexFunc(r.classes, func(c class) bool { return c.holds(n) }); i >= 0 {
		return &r.classes[i]
	}
	return nil
}

// holds tells whether a folder is one that files of the class lie in.
func (c class) holds(n name) bool {
	return slices.ContainsFunc(c.patterns, func(p pattern) bool { return p.stands(n) })
}

// sides are a changed file's contents, nil where it is absent or no plain file.
type sides struct {
	before, after []byte
	unread        bool   // too large to be looked at
	target        string // of a link
	tree          *links // of the new side
}

// judge says what a change does on others' machines; "" where it does nothing.
// The path is the one at which the file takes effect.
func (r rules) judge(p string, c git.Change, s sides) string {
	if does := r.pointing(c, s); does != "" {
		return does
	}
	if c.New.Mode == modeLink || c.New.Mode == modeModule {
		if of := r.stands(p); of != nil {
			return "stands for a folder that acts: " + of.what()
		}
	}
	of, other := r.of(p)
	if of == nil {
		return ""
	}
	does := of.judge(p, c, s)
	if does != "" && other {
		does += "; under a name that some file systems take for it"
	}
	return does
}

// pointing is what is special about links and submodules wherever they lie.
func (r rules) pointing(c git.Change, s sides) string {
	switch {
	case c.New.Mode == modeModule:
		return "fetches code of another repository at `git submodule update`"
	case c.New.Mode == modeLink && s.unread:
		return unfollowed
	case c.New.Mode == modeLink:
		if why := s.tree.follow(c.Path, s.target).why; why != "" {
			return why + ": " + shorten(s.target)
		}
	}
	return ""
}

// what a class does, in a few words.
func (c class) what() string {
	if c.does == "" {
		return strings.Fields(c.paths)[0]
	}
	return c.does
}

// partsAt are the parts by which a file acts at a path; nil: all of it does.
func (c class) partsAt(p string) func(string) found {
	if c.at == nil {
		return c.parts
	}
	return func(src string) found { return c.at(p, src) }
}

func (c class) judge(p string, change git.Change, s sides) string {
	parts := c.partsAt(p)
	switch {
	case change.Status == 'D' && parts == nil:
		if c.guards {
			return c.does + ", and is deleted"
		}
		return ""
	case parts == nil:
		return c.does
	case s.unread:
		return "is too large to be looked at"
	case change.New.Mode == modeLink:
		return "acts by a part of it, and is a link"
	}
	return changed(parts, c.guards, s.before, s.after)
}

// reads tells whether a change is judged by its contents.
func (r rules) reads(p string, c git.Change) bool {
	if c.New.Mode == modeLink {
		return true
	}
	of, _ := r.of(p)
	return of != nil && of.partsAt(p) != nil
}

// Declares tells whether an entry of a contract's writes names a file that acts:
// by its path, or by a glob whose last name has no wildcard or whose folder acts
// itself. "**" and a folder of sources allow the files that lie there, and say
// nothing of what takes effect by lying there.
//
// Only what acts by its path is declared by it. Of a file that is anything else
// (a link that leaves the repository, a script that sets hooks, the target of
// another link) the path says nothing.
func Declares(writes []string, act agency.Act) bool {
	p := act.Path
	of, _ := newRules().of(p)
	if of == nil || act.Became {
		return false
	}
	for _, w := range writes {
		if strings.HasSuffix(w, "/") {
			w += "**"
		}
		file, _, _ := strings.Cut(w, "#")
		file = strings.TrimPrefix(path.Clean("/"+file), "/")
		if file == p {
			return true
		}
		if strings.ContainsAny(p, "*?[") || !agency.MatchPath(file, p) {
			continue
		}
		folder, last, literal := "", path.Base(file), true
		for _, s := range strings.Split(file, "/") {
			if literal = literal && !strings.ContainsAny(s, "*?["); literal {
				folder = path.Join(folder, s)
			}
		}
		if !strings.ContainsAny(last, "*?[") || folder != "" && of.holds(nameOf(folder)) {
			return true
		}
	}
	return false
}

// more is the entry for what is not listed one by one.
func more(n int, what string) agency.Act {
	return agency.Act{Path: agency.Things(n, "more file", "more files"), Does: what}
}

// small is a letter of ASCII written small.
func small(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}

func printable(r rune) rune {
	if !unicode.IsPrint(r) || r == '`' {
		return '?'
	}
	return r
}
