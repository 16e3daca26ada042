package verify

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A program may ask whether a terminal shows its output, and colour it, draw a
// bar, or ask a question. That something else is computed for who reads it is not
// honest: a run of tests reads it, too.

// drawing are texts by which a terminal is drawn on.
var drawing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\x1b\[|\\(?:x1[bB]|033|u001[bB]|u\{1[bB]\}|e)\[|\x1b\]|^\r|\r$|\\r`)
})

// draws tells of a part that has such a text in it.
func draws(s *syn) (found bool) {
	s.texts(func(text string, _ int) { found = found || drawing().MatchString(text) })
	return found
}

// looks tells of a condition that decides how something looks: one side draws, and
// the other has nothing in it that this one has not. Where one side is what follows,
// the function gives back a text either way.
func (j *judging) looks(s *syn) bool {
	if s.op != opIf {
		return false
	}
	if j.paints() {
		return true
	}
	if len(s.kids) < 3 {
		return draws(s.kids[1]) && !j.computesIn(s.kids[1])
	}
	drawn, other := s.kids[1], s.kids[2]
	if !draws(drawn) {
		drawn, other = other, drawn
	}
	if !draws(drawn) || j.computesIn(drawn) {
		return false
	}
	of := namesOf(drawn)
	for name := range namesOf(other) {
		if !of[name] && !j.lore.tells(name) {
			return false
		}
	}
	return true
}

// paints tells of a function that gives a text back as it came, or drawn.
func (j *judging) paints() bool {
	fn := j.at
	if len(fn.results) != 1 || !slices.Contains([]string{"string", "String", "&str", "&'static str"}, fn.results[0]) {
		return false
	}
	any, all := false, true
	fn.body.every(func(s *syn) bool {
		if s.op == opReturn {
			for _, v := range s.kids {
				switch {
				case draws(v) && !j.computesIn(v):
					any = true
				case slices.ContainsFunc(fn.params, func(p synParam) bool { return p.name == asItCame(v) }):
				case plain(v):
				default:
					all = false
				}
			}
		}
		if s.op == opAssign && !j.tells(s) {
			all = false
		}
		return true
	})
	return any && all
}

// asItCame is the name of what an expression is, or is a copy of.
func asItCame(v *syn) string {
	if v.op == opCall && len(v.kids) == 1 && v.kids[0].op == opMember && slices.Contains([]string{"to_string", "to_owned", "clone", "into"}, v.kids[0].text) {
		v = v.kids[0].kids[0]
	}
	if v.op == opName {
		return v.text
	}
	return ""
}

// computesIn tells of sums other than of texts, and of calls that do more than
// put a text together or print it.
func (j *judging) computesIn(s *syn) (found bool) {
	s.every(func(n *syn) bool {
		switch n.op {
		case opBinary:
			found = found || n.text != "+" || !draws(n)
		case opCall:
			name := last(n.callee())
			found = found || !j.lore.tells(n.callee()) && !strings.HasPrefix(name, "Sprint") && name != "format!" && name != "len" && name != "Repeat" && name != "String" && j.seen(n) == nil
		case opAssign, opFunc:
			found = true
		}
		return !found
	})
	return found
}

// namesOf are the names that stand in a part.
func namesOf(s *syn) map[string]bool {
	out := map[string]bool{}
	s.every(func(n *syn) bool {
		if n.op == opName || n.op == opMember {
			out[n.text] = true
		}
		return true
	})
	return out
}

// shows tells of a part that a stream may govern: it prints texts of its own,
// reads from a stream, or notes for later what was told, where that is followed.
func (j *judging) shows(s *syn) bool {
	switch s.op {
	case opCall:
		return j.lore.tells(s.callee()) && !slices.ContainsFunc(s.kids[1:], func(a *syn) bool { return !plain(a) && !j.readsStream(a) })
	case opReturn:
		return len(s.kids) > 0 && slices.ContainsFunc(s.kids, j.readsStream) && !slices.ContainsFunc(s.kids, func(v *syn) bool { return !j.readsStream(v) && !plain(v) && !j.failure(v) })
	case opAssign:
		return !slices.ContainsFunc(s.kids[s.lhs:], func(v *syn) bool { return !plain(v) && !j.readsStream(v) })
	}
	return false
}

// readsStream tells of a part that is a stream, or a call that is handed nothing
// else.
func (j *judging) readsStream(s *syn) bool {
	if j.knower.value(s).bare() {
		return true
	}
	return s.op == opCall && len(s.kids) > 1 && !slices.ContainsFunc(s.kids[1:], func(a *syn) bool { return !j.readsStream(a) })
}

// governed notes that what is assigned under a condition of a stream tells of it,
// too.
func (k *knower) governed(s *syn, t *trace) {
	s.every(func(n *syn) bool {
		if n.op == opAssign {
			for i, target := range n.kids[:n.lhs] {
				if v := n.kids[min(n.lhs+i, len(n.kids)-1)]; plain(v) {
					k.keep(target, t)
				}
			}
		}
		return n.op != opFunc
	})
}
