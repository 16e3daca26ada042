package verify

import (
	"slices"
	"strings"
)

// marks are the places where a file does something else for who runs it.
func (k *knower) marks(f *synFile) (out []aware) {
	for _, fn := range f.funcs {
		k.at = fn
		j := judging{knower: k, teller: k.isTeller(fn)}
		j.walk(fn.body, true)
		out = append(out, j.out...)
	}
	return out
}

// judging looks at one function.
type judging struct {
	*knower
	teller bool
	gives  bool // within what is given back
	out    []aware
}

// value is what an expression tells.
func (j *judging) value(s *syn) *trace { return j.seen(s) }

func (j *judging) found(s *syn, t *trace) {
	j.out = append(j.out, aware{word: "decides by " + display(t.what), line: s.line})
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
func (j *judging) walk(s *syn, told bool) {
	if s == nil {
		return
	}
	switch s.op {
	case opIf, opLoop:
		t := j.value(s.kids[0])
		if t != nil && !(t.stream && j.looks(s)) && slices.ContainsFunc(s.kids[1:], func(b *syn) bool { return !j.honest(b, t) }) {
			j.found(s, t)
		}
		j.walk(s.kids[0], t == nil)
		for _, b := range s.kids[1:] {
			j.walk(b, true)
		}
		return
	case opSwitch:
		j.choice(s)
	case opEach:
		if t := j.value(s.kids[s.lhs]); t != nil && t.number && !j.honest(s.kids[len(s.kids)-1], t) {
			j.found(s, t)
		}
	case opIndex:
		for _, i := range s.kids[1:] {
			if t := j.value(i); told && t != nil && j.value(s.kids[0]) == nil {
				j.found(s, t)
			}
		}
	case opBinary:
		if t := j.mixed(s); told && t != nil {
			j.found(s, t)
			told = false
		}
	case opCall:
		if t := j.chosen(s); t != nil {
			j.found(s, t)
		}
	case opReturn:
		j.gives = true
		defer func() { j.gives = false }()
	}
	for _, c := range s.kids {
		j.walk(c, told)
	}
	if s.fn != nil {
		j.walk(s.fn.body, true)
	}
}

// choice looks at a switch: what is compared, and with what.
func (j *judging) choice(s *syn) {
	tag := j.value(s.kids[0])
	t := tag
	for _, c := range s.kids[1:] {
		for _, p := range c.kids[:len(c.kids)-1] {
			t = stronger(t, j.value(p))
		}
	}
	if t == nil {
		return
	}
	for _, c := range s.kids[1:] {
		if !j.honest(c.kids[len(c.kids)-1], t) {
			j.found(s, t)
			return
		}
	}
}

// mixed is what a result that is computed with other values tells.
func (j *judging) mixed(s *syn) *trace {
	if len(s.kids) != 2 {
		return nil
	}
	t, other := j.value(s.kids[0]), s.kids[1]
	if t == nil {
		t, other = j.value(s.kids[1]), s.kids[0]
	}
	if t == nil || t.grade != gradeStrong || j.value(other) != nil || !computes(other) {
		return nil
	}
	if t.stream && s.text == "&" && strings.Contains(other.text, "Mode") {
		return nil // a bit of what kind of file it is
	}
	switch s.text {
	case "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "&^":
		return t
	case "&&", "||":
		if !j.teller && (j.gives || !t.stream) {
			return t
		}
	case "+":
		if t.number {
			return t
		}
	}
	return nil
}

// computes tells of an expression that is no constant.
func computes(s *syn) (found bool) {
	s.every(func(n *syn) bool { found = found || n.op == opName; return !found })
	return found
}

// choosers are methods that give one of several values by what they are called
// on.
var choosers = []string{"then", "then_some", "map_or", "map_or_else", "ifPresent", "ifPresentOrElse", "orElseGet"}

func (j *judging) chosen(s *syn) *trace {
	f := s.kids[0]
	if f.op != opMember || !slices.Contains(choosers, f.text) {
		return nil
	}
	t := j.value(f.kids[0])
	if t == nil {
		return nil
	}
	for _, a := range s.kids[1:] {
		if a.op == opFunc {
			a = a.fn.body
		}
		if _, ok := a.constant(); (!ok || t.grade == gradeStrong) && !j.honest(a, t) {
			return t
		}
	}
	return nil
}

// isTeller tells of a function that only says what it knows: all that it gives
// back is that, or a constant in its place.
func (k *knower) isTeller(fn *synFunc) bool {
	told, other := false, false
	var look func(s *syn)
	look = func(s *syn) {
		if s == nil || s.op == opFunc {
			return
		}
		if s.op == opReturn {
			for _, v := range s.kids {
				switch {
				case k.tells(v):
					told = true
				case !plain(v) && !k.failure(v):
					other = true
				}
			}
		}
		for _, c := range s.kids {
			look(c)
		}
	}
	look(fn.body)
	return told && !other
}

// tells tells of an expression that gives on what is known of who runs the code,
// and computes nothing from it.
func (k *knower) tells(s *syn) bool {
	if s == nil || k.seen(s) == nil {
		return false
	}
	sums := false
	s.every(func(n *syn) bool {
		sums = sums || n.op == opBinary && slices.Contains([]string{"-", "*", "/", "%"}, n.text)
		return !sums
	})
	return !sums
}

// plain tells of a literal, or of nothing.
func plain(s *syn) bool {
	if _, ok := s.constant(); ok {
		return true
	}
	return s.op == opName && slices.Contains([]string{"nil", "null", "None", "true", "false"}, s.text) || s.op == opOther && len(s.kids) == 0
}

// failure tells of an expression that is an error.
func (k *knower) failure(s *syn) bool {
	name := s.callee()
	if s.op == opName {
		name = s.text
	}
	name = strings.ToLower(last(name))
	return name == "err" || name == "errorf" || strings.HasPrefix(name, "err") || strings.HasSuffix(name, "error") ||
		strings.HasSuffix(name, "exception") || s.op == opCall && strings.HasPrefix(s.callee(), "errors.")
}

// honest tells of what a condition may govern: it tells what is known, and does
// nothing else. Of folders, files and the build it may fail or say so, too.
func (j *judging) honest(s *syn, t *trace) bool {
	if s == nil {
		return true
	}
	weak := t.grade < gradeStrong || t.stream
	if t.stream && j.shows(s) {
		return true
	}
	switch s.op {
	case opBlock:
		return !slices.ContainsFunc(s.kids, func(c *syn) bool { return !j.honest(c, t) })
	case opIf:
		return !slices.ContainsFunc(s.kids[1:], func(c *syn) bool { return !j.honest(c, t) })
	case opLoop, opEach:
		return j.honest(s.kids[len(s.kids)-1], t)
	case opSwitch:
		return !slices.ContainsFunc(s.kids[1:], func(c *syn) bool { return !j.honest(c.kids[len(c.kids)-1], t) })
	case opJump:
		return j.teller || len(j.at.results) == 0 && j.at.name != ""
	case opThrow:
		return weak || slices.ContainsFunc(s.kids, j.tells)
	case opAssign:
		return j.honestAssign(s)
	case opReturn:
		failed := false
		for _, v := range s.kids {
			if j.tells(v) || weak && j.failure(v) {
				failed = true
			} else if !plain(v) {
				return false
			}
		}
		return failed || j.teller || len(s.kids) == 0 && len(j.at.results) == 0 && weak && (!t.stream || draws(j.at.body))
	case opCall:
		if j.lore.tells(s.callee()) {
			return weak && !t.stream || slices.ContainsFunc(s.kids[1:], func(a *syn) bool { return j.value(a) != nil })
		}
	}
	return j.tells(s) || j.teller && plain(s) || s.op == opOther && len(s.kids) == 1 && j.honest(s.kids[0], t)
}

func (j *judging) honestAssign(s *syn) bool {
	for i, v := range s.kids[s.lhs:] {
		if j.tells(v) {
			continue
		}
		// What already told something may be put right.
		if i >= s.lhs || !plain(v) || j.value(s.kids[i]) == nil {
			return false
		}
	}
	return true
}
