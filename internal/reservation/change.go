package reservation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/changeset"
	"agency/internal/code"
	"agency/internal/git"
)

// Change is what a landing puts on the head of its run's branch.
type Change struct {
	Dir           git.Dir
	Before, After agency.OID
	Syntax        *code.Engine // nil: symbols are told by the words of lines
}

// Taking is a name that a change takes, and where.
type Taking struct {
	agency.Reservation
	Place string // a file, and a line where one says it
}

// sought is a name that is looked for, and where it was found: on added lines and in added
// paths, and how often the change also takes it away there.
type sought struct {
	agency.Reservation
	name           Name
	lines          bool // its file's or all lines are looked at
	added, newPath string
	gone, gonePath bool
	place          string // where it is certain
}

// Takes are those of the names that the change takes, in their order.
func (c Change) Takes(ctx context.Context, names []agency.Reservation) ([]Taking, error) {
	if len(names) == 0 {
		return nil, nil
	}
	all := make([]*sought, len(names))
	for i, r := range names {
		n, err := Parse(r.Name)
		if err != nil {
			return nil, err
		}
		all[i] = &sought{Reservation: r, name: n, lines: n.path == ""}
	}
	changes, err := c.Dir.Diff().Changes(ctx, c.Before, c.After)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if err := c.byPath(ctx, s, changes); err != nil {
			return nil, err
		}
	}
	if slices.ContainsFunc(all, func(s *sought) bool { return s.lines && s.place == "" }) {
		if err := changeset.EachLine(ctx, c.Dir, c.Before, c.After, func(l changeset.Line) { byLine(all, l) }); err != nil {
			return nil, err
		}
	}
	var out []Taking
	for _, s := range all {
		switch {
		case s.place != "":
		case s.newPath != "" && !s.gonePath:
			s.place = s.newPath
		case s.added != "" && !s.gone:
			s.place = s.added
		default:
			continue
		}
		out = append(out, Taking{s.Reservation, s.place})
	}
	return out, nil
}

// byPath looks at the files of the change for a name.
func (c Change) byPath(ctx context.Context, s *sought, changes []git.Change) error {
	for _, ch := range changes {
		switch n := s.name; {
		case n.path == "" && fold(ch.Path) == fold(n.word()), n.path != "" && n.symbol == "" && holds(n.path, ch.Path):
			s.place = ch.Path
			return nil
		case n.path == "" && stands(n.word(), ch.Path):
			if ch.Status == 'A' {
				s.newPath = ch.Path
			} else if ch.Status == 'D' {
				s.gonePath = true
			}
		case n.symbol != "" && fold(ch.Path) == fold(n.path):
			known, defines, err := c.defines(ctx, n, ch)
			if err != nil {
				return err
			}
			if s.lines = !known; defines {
				s.place = ch.Path
			}
		}
	}
	return nil
}

// byLine looks at a line of the change for all names that may stand there.
func byLine(all []*sought, l changeset.Line) {
	line := string(l.Text)
	for _, s := range all {
		word := s.name.word()
		if s.name.symbol != "" {
			word = s.name.symbol
		}
		if !s.lines || s.name.symbol != "" && l.Added && fold(l.File) != fold(s.name.path) || !strings.Contains(line, word) || !stands(word, line) {
			continue
		}
		switch {
		case !l.Added:
			s.gone = s.gone || s.name.symbol == "" // a symbol's line that is another now is altered
		case s.added == "":
			s.added = fmt.Sprintf("%s:%d", l.File, l.At)
		}
	}
}

// maxSource bounds the file in which a symbol is looked for, in bytes.
const maxSource = code.MaxSize

// defines tells whether a changed file adds, alters or takes away a symbol; known is false
// where the file cannot be read as its language.
func (c Change) defines(ctx context.Context, n Name, ch git.Change) (known, defines bool, err error) {
	if c.Syntax == nil || code.LanguageOf(ch.Path) == "" {
		return false, false, nil
	}
	var sides [2][]string
	for i, e := range []git.Entry{ch.Old, ch.New} {
		if e.ID == "" || e.Mode != git.ModeFile && e.Mode != git.ModeExec {
			continue
		}
		src, err := c.Dir.Objects().Content(ctx, e.ID, maxSource)
		if git.IsTooLong(err) {
			return false, false, nil
		}
		if err != nil {
			return false, false, err
		}
		all, broken, err := c.Syntax.Definitions(ctx, ch.Path, src)
		if err != nil || broken {
			return false, false, code.Skip(err)
		}
		for _, d := range all {
			if n.names(d.Name) {
				sides[i] = append(sides[i], d.Name+" "+string(src[d.Start:d.End]))
			}
		}
		slices.Sort(sides[i])
	}
	return true, !slices.Equal(sides[0], sides[1]), nil
}
