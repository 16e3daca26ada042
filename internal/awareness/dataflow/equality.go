package dataflow

import (
	"slices"
	"strings"

	"agency/internal/awareness"
)

// Comparison is a method by which others compare a value, with the names that it
// has for its own side and the other.
type Comparison struct {
	Func        *Func
	Self, Other string
	Both        bool // its result must depend on its own side, too
	Fields      bool // its own side may be named by bare fields
}

// Hollow is the finding of a comparison whose result does not depend on what is
// compared; none of another, and of a type of the file that has nothing to compare.
func (c Comparison) Hollow(file *File) []awareness.Finding {
	if file.Bare[c.Func.Owner] || !c.hollow() {
		return nil
	}
	return []awareness.Finding{{Word: c.Func.Owner + "." + c.Func.Name + " gives the same whatever it is compared with", Line: c.Func.Line}}
}

// maxAtoms bounds the parts of a comparison that are tried with both truths.
const maxAtoms = 10

// maxAliases bounds through how many variables the other side is followed.
const maxAliases = 4

// hollow tells whether the result does not depend on what is compared: it is
// the same for all, or for all that are of a type.
func (c Comparison) hollow() bool {
	b := boolean{known: map[string]*Node{}}
	alias := c.aliases()
	f := b.body(c.Func.Body)
	if len(b.atoms) > maxAtoms {
		return false
	}
	var same uint // where both sides are one and the same
	for i, a := range b.atoms {
		if c.isSame(a, alias) {
			same |= 1 << i
		}
	}
	if whole := f; same != 0 {
		f = func(truth uint) bool { return whole(truth &^ same) }
		if !slices.ContainsFunc(b.atoms, func(a *Node) bool { return f.dependsOn(slices.Index(b.atoms, a), len(b.atoms)) }) && !f(0) {
			return false // it compares who they are
		}
	}
	var self, other bool
	for i, a := range b.atoms {
		if !f.dependsOn(i, len(b.atoms)) {
			continue
		}
		s, o := c.looks(a, alias)
		self, other = self || s, other || o
	}
	return !other || c.Both && !self
}

// isSame tells of a comparison of who the two sides are.
func (c Comparison) isSame(a *Node, alias map[string]bool) bool {
	if a.Op != OpBinary || a.Text != "==" || a.Kids[0].Op != OpName || a.Kids[1].Op != OpName {
		return false
	}
	l, r := a.Kids[0].Text, a.Kids[1].Text
	return l == c.Self && alias[r] || r == c.Self && alias[l]
}

// aliases are the names by which the body has the other side, or a part of it.
func (c Comparison) aliases() map[string]bool {
	alias := map[string]bool{c.Other: true}
	for range maxAliases {
		c.Func.Body.Every(func(s *Node) bool {
			if (s.Op != OpAssign && s.Op != OpEach) || len(s.Kids) <= s.LHS {
				return true
			}
			for i, t := range s.Kids[:s.LHS] {
				if v := s.Kids[min(s.LHS+i, len(s.Kids)-1)]; t.Op == OpName && v.Names(alias) {
					alias[t.Text] = true
				}
			}
			return true
		})
	}
	return alias
}

// looks tells which sides' contents a part of a comparison looks at.
func (c Comparison) looks(a *Node, alias map[string]bool) (self, other bool) {
	if !c.Both {
		return true, a.Names(alias)
	}
	if a.Op == OpBinary && (a.Text == "==" || a.Text == "!=") && a.Kids[0].shape() == a.Kids[1].shape() {
		return false, false
	}
	var look func(s *Node)
	look = func(s *Node) {
		switch {
		case s == nil:
		case s.Op == OpOther && s.Text == "instanceof":
			return // only of its type
		case s.Op == OpName && alias[s.Text]:
			other = true
		case s.Op == OpName && s.Text == c.Self:
			self = true
		case s.Op == OpName && c.Fields && !strings.ContainsAny(s.Text, ".") && s.Text != "null" && s.Text != strings.ToUpper(s.Text[:1])+s.Text[1:]:
			self = true
		case s.Op == OpCall && (s.Callee() == "getClass" || s.Callee() == "as_any" || s.Callee() == "type_id"):
			return
		default:
			if s.Op == OpCall && c.Fields && s.Kids[0].Op == OpName && s.Kids[0].Text == Last(s.Kids[0].Text) {
				self = true // a method of its own
			}
			for _, k := range s.Kids {
				look(k)
			}
		}
	}
	if a.Op == OpBinary && len(a.Kids) == 2 && (a.Text == "==" || a.Text == "!=") {
		if slices.ContainsFunc(a.Kids, func(k *Node) bool { return k.Op == OpName && (k.Text == "null" || k.Text == "nil") }) {
			return false, false
		}
	}
	look(a)
	return self, other
}

// formula is a result by the truth of its parts.
type formula func(truth uint) bool

func (f formula) dependsOn(atom, n int) bool {
	for truth := range uint(1) << n {
		if f(truth) != f(truth^1<<atom) {
			return true
		}
	}
	return false
}

// choose is one of two results by the truth of f.
func (f formula) choose(then, other formula) formula {
	return func(truth uint) bool {
		if f(truth) {
			return then(truth)
		}
		return other(truth)
	}
}

// boolean makes formulas of a method's body.
type boolean struct {
	known map[string]*Node // variables with the value that they got
	atoms []*Node
	depth int
}

// body is the result of statements, of which the last need not be a return.
func (b *boolean) body(s *Node) formula {
	if s == nil {
		return func(uint) bool { return false }
	}
	if s.Op != OpBlock {
		return b.of(s)
	}
	for i, c := range s.Kids {
		switch c.Op {
		case OpAssign:
			if c.LHS == 1 && len(c.Kids) == 2 && c.Kids[0].Op == OpName {
				b.known[c.Kids[0].Text] = c.Kids[1]
			}
		case OpReturn:
			if len(c.Kids) == 1 {
				return b.of(c.Kids[0])
			}
		case OpIf:
			if i == len(s.Kids)-1 {
				return b.of(c)
			}
			cond, then := b.of(c.Kids[0]), b.body(c.Kids[1])
			if !returns(c.Kids[1]) {
				continue
			}
			rest := b.body(&Node{Op: OpBlock, Kids: append(append([]*Node{}, c.Kids[2:]...), s.Kids[i+1:]...)})
			return cond.choose(then, rest)
		case OpBlock:
			if returns(c) {
				return b.body(c)
			}
		case OpOther, OpCall, OpBinary, OpName, OpNot, OpLit, OpMember, OpIndex:
			if i == len(s.Kids)-1 {
				return b.of(c)
			}
		default:
			return b.atom(&Node{Op: OpOther, Kids: s.Kids[i:]}) // a loop, a switch: by what it names
		}
	}
	return func(uint) bool { return false }
}

func returns(s *Node) bool {
	if s == nil || len(s.Kids) == 0 || s.Op != OpBlock {
		return s != nil && s.Op == OpReturn
	}
	l := s.Kids[len(s.Kids)-1]
	return l.Op == OpReturn || l.Op == OpBlock && returns(l)
}

// of is the truth of an expression.
func (b *boolean) of(s *Node) formula {
	if b.depth++; b.depth > 200 {
		return b.atom(s)
	}
	defer func() { b.depth-- }()
	switch s.Op {
	case OpLit, OpName:
		switch {
		case s.Text == "true":
			return func(uint) bool { return true }
		case s.Text == "false":
			return func(uint) bool { return false }
		case b.known[s.Text] != nil:
			v := b.known[s.Text]
			delete(b.known, s.Text)
			f := b.of(v)
			b.known[s.Text] = v
			return f
		}
	case OpNot:
		f := b.of(s.Kids[0])
		return func(t uint) bool { return !f(t) }
	case OpBinary:
		if len(s.Kids) != 2 {
			break
		}
		switch s.Text {
		case "&&", "||", "&", "|":
			l, r := b.of(s.Kids[0]), b.of(s.Kids[1])
			if s.Text[0] == '&' {
				return func(t uint) bool { return l(t) && r(t) }
			}
			return func(t uint) bool { return l(t) || r(t) }
		case "==":
			if s.Kids[0].shape() == s.Kids[1].shape() {
				return func(uint) bool { return true }
			}
		case "!=":
			f := b.of(&Node{Op: OpBinary, Text: "==", Kids: s.Kids})
			return func(t uint) bool { return !f(t) }
		}
	case OpIf:
		if len(s.Kids) == 3 {
			c, then, other := b.of(s.Kids[0]), b.body(s.Kids[1]), b.body(s.Kids[2])
			return c.choose(then, other)
		}
	case OpBlock:
		return b.body(s)
	case OpReturn:
		if len(s.Kids) == 1 {
			return b.of(s.Kids[0])
		}
	case OpOther:
		if len(s.Kids) == 1 && s.Text == "" {
			return b.of(s.Kids[0])
		}
	case OpSwitch:
		if all, same := b.arms(s); same {
			return all
		}
	}
	return b.atom(s)
}

// arms is the truth of a switch all of whose cases say the same.
func (b *boolean) arms(s *Node) (f formula, same bool) {
	var value string
	for i, c := range s.Kids[1:] {
		body := c.Kids[len(c.Kids)-1]
		if i > 0 && body.shape() != value {
			return nil, false
		}
		value, f = body.shape(), b.body(body)
	}
	return f, f != nil
}

// atom is a part that may be either; the same part is always the same.
func (b *boolean) atom(s *Node) formula {
	at := slices.IndexFunc(b.atoms, func(a *Node) bool { return a.shape() == s.shape() })
	if at < 0 {
		at = len(b.atoms)
		b.atoms = append(b.atoms, s)
	}
	return func(t uint) bool { return t>>at&1 == 1 }
}
