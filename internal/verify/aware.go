package verify

import (
	"slices"
	"strings"
)

// Code that knows who runs it is found by what its conditions depend on. Sources
// of Go, Rust and Java are read into one small form (syn), in which what a name
// is imported as is resolved; then what a file knows of its process (a source
// of the language's lore) is followed through variables, fields, parameters and
// results of the changed product. Telling it is honest: returned, printed or
// wrapped into an error. That something else is done for it is not.

// synOp says what a part of a source does.
type synOp int

const (
	opOther  synOp = iota // parts in their order
	opLit                 // text: its value
	opName                // text: the name, with the path that it is imported by
	opMember              // of kids[0]; text: which
	opCall                // of kids[0] with the rest
	opIndex               // of kids[0] by the rest
	opBinary              // text: the operator
	opNot
	opAssign // lhs of kids get the rest; text: the operator
	opIf     // kids: condition, then, maybe else
	opSwitch // kids: what is compared, then opCase
	opCase   // kids: patterns, the body last
	opLoop   // kids: condition, body
	opEach   // lhs of kids get each of the next; then the body
	opReturn
	opJump
	opThrow
	opBlock
	opFunc // fn
)

// syn is a part of a source.
type syn struct {
	op   synOp
	text string
	kids []*syn
	lhs  int
	line int
	fn   *synFunc
	str  bool // a literal of text
}

// synFunc is a function, or a literal of one.
type synFunc struct {
	name, owner string // owner: the type that it is of
	hook        string // the trait that it is for, in Rust
	params      []synParam
	results     []string // types as written
	body        *syn
	line        int
	top         bool // it is where a program begins
	file        *synFile
}

type synParam struct{ name, typ string }

// synFile is a source.
type synFile struct {
	path string
	unit string // by what others name it: folder, module or class
	// program: it is of a program, whose own command line is its input.
	program bool
	text    string // the source
	funcs   []*synFunc
	bare    map[string]bool // types without contents
	marks   []aware         // what the reader itself found
}

// aware is a mark: a way in which code knows of its tests.
type aware struct {
	word string
	key  string // by what a mark of the other side is the same; the word where it is empty
	line int
}

func (m aware) id() string {
	if m.key != "" {
		return m.key
	}
	return m.word
}

// every visits a part and all in it, the outer first; of what visit refuses, no
// more.
func (s *syn) every(visit func(*syn) bool) {
	if s == nil || !visit(s) {
		return
	}
	for _, k := range s.kids {
		k.every(visit)
	}
	if s.fn != nil {
		s.fn.body.every(visit)
	}
}

// names tells whether a part has one of these names in it.
func (s *syn) names(of map[string]bool) (found bool) {
	s.every(func(n *syn) bool {
		found = found || n.op == opName && of[n.text]
		return !found
	})
	return found
}

// callee is the name that a call uses, with its path where it has one.
func (s *syn) callee() string {
	if s == nil || s.op != opCall {
		return ""
	}
	switch f := s.kids[0]; f.op {
	case opName, opMember:
		return f.text
	}
	return ""
}

// last is the part of a path behind its last separator.
func last(name string) string {
	if i := strings.LastIndexAny(name, ".:/"); i >= 0 {
		return name[i+1:]
	}
	return name
}

// constant folds literals that are joined by +.
func (s *syn) constant() (text string, ok bool) {
	switch {
	case s == nil:
		return "", false
	case s.op == opLit:
		return s.text, true
	case s.op == opBinary && s.text == "+" && len(s.kids) == 2:
		a, okA := s.kids[0].constant()
		b, okB := s.kids[1].constant()
		return a + b, okA && okB
	case s.op == opOther && s.text == "" && len(s.kids) == 1:
		return s.kids[0].constant()
	}
	return "", false
}

// texts are the literals of text in a part, those joined by + as one.
func (s *syn) texts(each func(text string, line int)) {
	s.every(func(n *syn) bool {
		if t, ok := n.constant(); ok {
			isText := false
			n.every(func(m *syn) bool { isText = isText || m.str; return true })
			if isText {
				each(t, n.line)
			}
			return false
		}
		return true
	})
}

// shape is a part as text, to tell whether two are the same.
func (s *syn) shape() string {
	if s == nil {
		return "-"
	}
	var b strings.Builder
	b.WriteByte(byte('a' + s.op))
	b.WriteString(s.text)
	b.WriteByte('(')
	for _, k := range s.kids {
		b.WriteString(k.shape())
		b.WriteByte(',')
	}
	if s.fn != nil {
		b.WriteString(s.fn.body.shape())
	}
	b.WriteByte(')')
	return b.String()
}

// freshOf are the marks of after that before has fewer times, with the lines of
// those that stand on a line which before does not have.
func freshOf(before, after []aware, was, is string) (out []aware) {
	left, most := map[string]int{}, map[string]int{}
	for _, m := range before {
		left[m.id()]++
	}
	for _, m := range after {
		most[m.id()]++
	}
	old := map[string]bool{}
	for line := range strings.Lines(was) {
		old[strings.TrimSpace(line)] = true
	}
	lines := strings.Split(is, "\n")
	slices.SortStableFunc(after, func(a, b aware) int { return a.line - b.line })
	for _, known := range []bool{false, true} { // new lines first
		for _, m := range after {
			stood := m.line > 0 && m.line <= len(lines) && old[strings.TrimSpace(lines[m.line-1])]
			if stood == known && most[m.id()] > left[m.id()] {
				most[m.id()]--
				out = append(out, m)
			}
		}
	}
	return out
}
