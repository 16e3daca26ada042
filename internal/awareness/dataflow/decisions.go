package dataflow

import (
	"slices"
	"strings"

	"agency/internal/awareness"
	"agency/internal/regexp"
)

// Findings are what a file does for who runs it: where it ends the process, and, but
// for tests, where it decides.
func (an *Analysis) Findings(f *File) []awareness.Finding {
	out := an.model.Ends(an, f)
	if !f.Test {
		out = append(out, an.decisions(f)...)
	}
	return out
}

// decisions are the places where a file does something else for who runs it.
func (an *Analysis) decisions(f *File) (out []awareness.Finding) {
	for _, fn := range f.Funcs {
		an.at = fn
		j := judging{Analysis: an}
		j.teller = j.isTeller(fn)
		j.walk(fn.Body, true)
		out = append(out, j.out...)
	}
	return out
}

// judging looks at one function.
type judging struct {
	*Analysis
	teller bool
	gives  bool // within what is given back
	out    []awareness.Finding
}

// value is what an expression tells.
func (j *judging) value(s *Node) *trace { return j.seen(s) }

func (j *judging) found(s *Node, t *trace) {
	j.out = append(j.out, awareness.Finding{Word: "decides by " + display(t.what), Line: s.Line})
}

// display is a name as the source of its language has it.
func display(what string) string {
	if i := strings.LastIndexByte(what, '/'); i >= 0 && !strings.Contains(what, "(") {
		return what[i+1:] // an import path of Go
	}
	return what
}

// walk looks at conditions; told is false within one, where more than the whole
// says nothing new.
func (j *judging) walk(s *Node, told bool) {
	if s == nil {
		return
	}
	switch s.Op {
	case OpIf, OpLoop:
		t := j.value(s.Kids[0])
		if t != nil && !(t.Stream && j.looks(s)) && slices.ContainsFunc(s.Kids[1:], func(b *Node) bool { return !j.honest(b, t) }) {
			j.found(s, t)
		}
		j.walk(s.Kids[0], t == nil)
		for _, b := range s.Kids[1:] {
			j.walk(b, true)
		}
		return
	case OpSwitch:
		j.choice(s)
	case OpEach:
		if t := j.value(s.Kids[s.LHS]); t != nil && t.Number && !j.honest(s.Kids[len(s.Kids)-1], t) {
			j.found(s, t)
		}
	case OpIndex:
		for _, i := range s.Kids[1:] {
			if t := j.value(i); told && t != nil && j.value(s.Kids[0]) == nil {
				j.found(s, t)
			}
		}
	case OpBinary:
		if t := j.mixed(s); told && t != nil {
			j.found(s, t)
			told = false
		}
	case OpCall:
		if t := j.chosen(s); t != nil {
			j.found(s, t)
		}
	case OpReturn:
		j.gives = true
		defer func() { j.gives = false }()
	}
	for _, c := range s.Kids {
		j.walk(c, told)
	}
	if s.Func != nil {
		j.walk(s.Func.Body, true)
	}
}

// choice looks at a switch: what is compared, and with what.
func (j *judging) choice(s *Node) {
	tag := j.value(s.Kids[0])
	t := tag
	for _, c := range s.Kids[1:] {
		for _, p := range c.Kids[:len(c.Kids)-1] {
			t = stronger(t, j.value(p))
		}
	}
	if t == nil {
		return
	}
	for _, c := range s.Kids[1:] {
		if !j.honest(c.Kids[len(c.Kids)-1], t) {
			j.found(s, t)
			return
		}
	}
}

// mixed is what a result that is computed with other values tells.
func (j *judging) mixed(s *Node) *trace {
	if len(s.Kids) != 2 {
		return nil
	}
	t, other := j.value(s.Kids[0]), s.Kids[1]
	if t == nil {
		t, other = j.value(s.Kids[1]), s.Kids[0]
	}
	if t == nil || t.Grade != GradeStrong || j.value(other) != nil || !computes(other) {
		return nil
	}
	if t.Stream && s.Text == "&" && strings.Contains(other.Text, "Mode") {
		return nil // a bit of what kind of file it is
	}
	switch s.Text {
	case "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "&^":
		return t
	case "&&", "||":
		if !j.teller && (j.gives || !t.Stream) {
			return t
		}
	case "+":
		if t.Number {
			return t
		}
	}
	return nil
}

// computes tells of an expression that is no constant.
func computes(s *Node) (found bool) {
	s.Every(func(n *Node) bool { found = found || n.Op == OpName; return !found })
	return found
}

// choosers are methods that give one of several values by what they are called
// on.
var choosers = []string{"then", "then_some", "map_or", "map_or_else", "ifPresent", "ifPresentOrElse", "orElseGet"}

func (j *judging) chosen(s *Node) *trace {
	f := s.Kids[0]
	if f.Op != OpMember || !slices.Contains(choosers, f.Text) {
		return nil
	}
	t := j.value(f.Kids[0])
	if t == nil {
		return nil
	}
	for _, a := range s.Kids[1:] {
		if a.Op == OpFunc {
			a = a.Func.Body
		}
		if _, ok := a.Constant(); (!ok || t.Grade == GradeStrong) && !j.honest(a, t) {
			return t
		}
	}
	return nil
}

// isTeller tells of a function that only says what it knows: all that it gives
// back is that, or a constant in its place.
func (j *judging) isTeller(fn *Func) bool {
	told, other := false, false
	fn.Body.Every(func(s *Node) bool {
		if s.Op == OpReturn {
			for _, v := range s.Kids {
				switch {
				case j.tells(v):
					told = true
				case !plain(v) && !j.failure(v):
					other = true
				}
			}
		}
		return s.Op != OpFunc
	})
	return told && !other
}

// tells tells of an expression that gives on what is known of who runs the code,
// and computes nothing from it.
func (j *judging) tells(s *Node) bool {
	if s == nil || j.seen(s) == nil {
		return false
	}
	sums := false
	s.Every(func(n *Node) bool {
		sums = sums || n.Op == OpBinary && slices.Contains([]string{"-", "*", "/", "%"}, n.Text)
		return !sums
	})
	return !sums
}

// plain tells of a literal, or of nothing.
func plain(s *Node) bool {
	if _, ok := s.Constant(); ok {
		return true
	}
	return s.Op == OpName && slices.Contains([]string{"nil", "null", "None", "true", "false"}, s.Text) || s.Op == OpOther && len(s.Kids) == 0
}

// failure tells of an expression that is an error.
func (j *judging) failure(s *Node) bool {
	name := s.Callee()
	if s.Op == OpName {
		name = s.Text
	}
	name = strings.ToLower(Last(name))
	return name == "err" || name == "errorf" || strings.HasPrefix(name, "err") || strings.HasSuffix(name, "error") ||
		strings.HasSuffix(name, "exception") || s.Op == OpCall && strings.HasPrefix(s.Callee(), "errors.")
}

// honest tells of what a condition may govern: it tells what is known, and does
// nothing else. Of folders, files and the build it may fail or say so, too.
func (j *judging) honest(s *Node, t *trace) bool {
	if s == nil {
		return true
	}
	weak := t.Grade < GradeStrong || t.Stream
	if t.Stream && j.shows(s) {
		return true
	}
	switch s.Op {
	case OpBlock:
		return !slices.ContainsFunc(s.Kids, func(c *Node) bool { return !j.honest(c, t) })
	case OpIf:
		return !slices.ContainsFunc(s.Kids[1:], func(c *Node) bool { return !j.honest(c, t) })
	case OpLoop, OpEach:
		return j.honest(s.Kids[len(s.Kids)-1], t)
	case OpSwitch:
		return !slices.ContainsFunc(s.Kids[1:], func(c *Node) bool { return !j.honest(c.Kids[len(c.Kids)-1], t) })
	case OpJump:
		return j.teller || len(j.at.Results) == 0 && j.at.Name != ""
	case OpThrow:
		return weak || slices.ContainsFunc(s.Kids, j.tells)
	case OpAssign:
		return j.honestAssign(s)
	case OpReturn:
		failed := false
		for _, v := range s.Kids {
			if j.tells(v) || weak && j.failure(v) {
				failed = true
			} else if !plain(v) {
				return false
			}
		}
		return failed || j.teller || len(s.Kids) == 0 && len(j.at.Results) == 0 && weak && (!t.Stream || draws(j.at.Body))
	case OpCall:
		if j.model.Tells(s.Callee()) {
			return weak && !t.Stream || slices.ContainsFunc(s.Kids[1:], func(a *Node) bool { return j.value(a) != nil })
		}
	}
	return j.tells(s) || j.teller && plain(s) || s.Op == OpOther && len(s.Kids) == 1 && j.honest(s.Kids[0], t)
}

func (j *judging) honestAssign(s *Node) bool {
	for i, v := range s.Kids[s.LHS:] {
		if j.tells(v) {
			continue
		}
		// What already told something may be put right.
		if i >= s.LHS || !plain(v) || j.value(s.Kids[i]) == nil {
			return false
		}
	}
	return true
}

// A program may ask whether a terminal shows its output, and colour it, draw a
// bar, or ask a question. That something else is computed for who reads it is not
// honest: a run of tests reads it, too.

// drawing are texts by which a terminal is drawn on.
var drawing = regexp.MustCompile(`\x1b\[|\\(?:x1[bB]|033|u001[bB]|u\{1[bB]\}|e)\[|\x1b\]|^\r|\r$|\\r`)

// draws tells of a part that has such a text in it.
func draws(s *Node) (found bool) {
	s.Texts(func(text string, _ int) { found = found || drawing.MatchString(text) })
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
