package dataflow

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
func draws(s *Node) (found bool) {
	s.Texts(func(text string, _ int) { found = found || drawing().MatchString(text) })
	return found
}

// looks tells of a condition that decides how something looks: one side draws, and
// the other has nothing in it that this one has not. Where one side is what follows,
// the function gives back a text either way.
func (j *judging) looks(s *Node) bool {
	if s.Op != OpIf {
		return false
	}
	if j.paints() {
		return true
	}
	if len(s.Kids) < 3 {
		return draws(s.Kids[1]) && !j.computesIn(s.Kids[1])
	}
	drawn, other := s.Kids[1], s.Kids[2]
	if !draws(drawn) {
		drawn, other = other, drawn
	}
	if !draws(drawn) || j.computesIn(drawn) {
		return false
	}
	of := namesOf(drawn)
	for name := range namesOf(other) {
		if !of[name] && !j.model.Tells(name) {
			return false
		}
	}
	return true
}

// paints tells of a function that gives a text back as it came, or drawn.
func (j *judging) paints() bool {
	fn := j.at
	if len(fn.Results) != 1 || !slices.Contains([]string{"string", "String", "&str", "&'static str"}, fn.Results[0]) {
		return false
	}
	any, all := false, true
	fn.Body.Every(func(s *Node) bool {
		if s.Op == OpReturn {
			for _, v := range s.Kids {
				switch {
				case draws(v) && !j.computesIn(v):
					any = true
				case slices.ContainsFunc(fn.Params, func(p Param) bool { return p.Name == asItCame(v) }):
				case plain(v):
				default:
					all = false
				}
			}
		}
		if s.Op == OpAssign && !j.tells(s) {
			all = false
		}
		return true
	})
	return any && all
}

// asItCame is the name of what an expression is, or is a copy of.
func asItCame(v *Node) string {
	if v.Op == OpCall && len(v.Kids) == 1 && v.Kids[0].Op == OpMember && slices.Contains([]string{"to_string", "to_owned", "clone", "into"}, v.Kids[0].Text) {
		v = v.Kids[0].Kids[0]
	}
	if v.Op == OpName {
		return v.Text
	}
	return ""
}

// computesIn tells of sums other than of texts, and of calls that do more than
// put a text together or print it.
func (j *judging) computesIn(s *Node) (found bool) {
	s.Every(func(n *Node) bool {
		switch n.Op {
		case OpBinary:
			found = found || n.Text != "+" || !draws(n)
		case OpCall:
			name := Last(n.Callee())
			found = found || !j.model.Tells(n.Callee()) && !strings.HasPrefix(name, "Sprint") && name != "format!" && name != "len" && name != "Repeat" && name != "String" && j.seen(n) == nil
		case OpAssign, OpFunc:
			found = true
		}
		return !found
	})
	return found
}

// namesOf are the names that stand in a part.
func namesOf(s *Node) map[string]bool {
	out := map[string]bool{}
	s.Every(func(n *Node) bool {
		if n.Op == OpName || n.Op == OpMember {
			out[n.Text] = true
		}
		return true
	})
	return out
}

// shows tells of a part that a stream may govern: it prints texts of its own,
// reads from a stream, or notes for later what was told, where that is followed.
func (j *judging) shows(s *Node) bool {
	switch s.Op {
	case OpCall:
		return j.model.Tells(s.Callee()) && !slices.ContainsFunc(s.Kids[1:], func(a *Node) bool { return !plain(a) && !j.readsStream(a) })
	case OpReturn:
		return len(s.Kids) > 0 && slices.ContainsFunc(s.Kids, j.readsStream) && !slices.ContainsFunc(s.Kids, func(v *Node) bool { return !j.readsStream(v) && !plain(v) && !j.failure(v) })
	case OpAssign:
		return !slices.ContainsFunc(s.Kids[s.LHS:], func(v *Node) bool { return !plain(v) && !j.readsStream(v) })
	}
	return false
}

// readsStream tells of a part that is a stream, or a call that is handed nothing
// else.
func (j *judging) readsStream(s *Node) bool {
	if j.Analysis.value(s).bare() {
		return true
	}
	return s.Op == OpCall && len(s.Kids) > 1 && !slices.ContainsFunc(s.Kids[1:], func(a *Node) bool { return !j.readsStream(a) })
}

// governed notes that what is assigned under a condition of a stream tells of it,
// too.
func (an *Analysis) governed(s *Node, t *trace) {
	s.Every(func(n *Node) bool {
		if n.Op == OpAssign {
			for i, target := range n.Kids[:n.LHS] {
				if v := n.Kids[min(n.LHS+i, len(n.Kids)-1)]; plain(v) {
					an.keep(target, t)
				}
			}
		}
		return n.Op != OpFunc
	})
}
