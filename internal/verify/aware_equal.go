package verify

import (
	"slices"
	"strings"
)

// comparing is a method by which others compare a value, with the names that it
// has for its own side and the other.
type comparing struct {
	fn          *synFunc
	self, other string
	both        bool // its result must depend on its own side, too
	fields      bool // its own side may be named by bare fields
}

// maxAtoms bounds the parts of a comparison that are tried with both truths.
const maxAtoms = 10

// maxAliases bounds through how many variables the other side is followed.
const maxAliases = 4

// hollowEqual tells whether the result does not depend on what is compared: it is
// the same for all, or for all that are of a type.
func (c comparing) hollowEqual() bool {
	b := boolean{known: map[string]*syn{}}
	alias := c.aliases()
	f := b.body(c.fn.body)
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
		if !slices.ContainsFunc(b.atoms, func(a *syn) bool { return f.dependsOn(slices.Index(b.atoms, a), len(b.atoms)) }) && !f(0) {
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
	return !other || c.both && !self
}

// isSame tells of a comparison of who the two sides are.
func (c comparing) isSame(a *syn, alias map[string]bool) bool {
	if a.op != opBinary || a.text != "==" || a.kids[0].op != opName || a.kids[1].op != opName {
		return false
	}
	l, r := a.kids[0].text, a.kids[1].text
	return l == c.self && alias[r] || r == c.self && alias[l]
}

// aliases are the names by which the body has the other side, or a part of it.
func (c comparing) aliases() map[string]bool {
	alias := map[string]bool{c.other: true}
	for range maxAliases {
		c.fn.body.every(func(s *syn) bool {
			if (s.op != opAssign && s.op != opEach) || len(s.kids) <= s.lhs {
				return true
			}
			for i, t := range s.kids[:s.lhs] {
				if v := s.kids[min(s.lhs+i, len(s.kids)-1)]; t.op == opName && v.names(alias) {
					alias[t.text] = true
				}
			}
			return true
		})
	}
	return alias
}

// looks tells which sides' contents a part of a comparison looks at.
func (c comparing) looks(a *syn, alias map[string]bool) (self, other bool) {
	if !c.both {
		return true, a.names(alias)
	}
	if a.op == opBinary && (a.text == "==" || a.text == "!=") && a.kids[0].shape() == a.kids[1].shape() {
		return false, false
	}
	var look func(s *syn)
	look = func(s *syn) {
		switch {
		case s == nil:
		case s.op == opOther && s.text == "instanceof":
			return // only of its type
		case s.op == opName && alias[s.text]:
			other = true
		case s.op == opName && s.text == c.self:
			self = true
		case s.op == opName && c.fields && !strings.ContainsAny(s.text, ".") && s.text != "null" && s.text != strings.ToUpper(s.text[:1])+s.text[1:]:
			self = true
		case s.op == opCall && (s.callee() == "getClass" || s.callee() == "as_any" || s.callee() == "type_id"):
			return
		default:
			if s.op == opCall && c.fields && s.kids[0].op == opName && s.kids[0].text == last(s.kids[0].text) {
				self = true // a method of its own
			}
			for _, k := range s.kids {
				look(k)
			}
		}
	}
	if a.op == opBinary && len(a.kids) == 2 && (a.text == "==" || a.text == "!=") {
		for _, k := range a.kids {
			if k.op == opName && (k.text == "null" || k.text == "nil") {
				return false, false
			}
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

// boolean makes formulas of a method's body.
type boolean struct {
	known map[string]*syn // variables with the value that they got
	atoms []*syn
	depth int
}

// body is the result of statements, of which the last need not be a return.
func (b *boolean) body(s *syn) formula {
	if s == nil {
		return func(uint) bool { return false }
	}
	if s.op != opBlock {
		return b.of(s)
	}
	for i, c := range s.kids {
		switch c.op {
		case opAssign:
			if c.lhs == 1 && len(c.kids) == 2 && c.kids[0].op == opName {
				b.known[c.kids[0].text] = c.kids[1]
			}
		case opReturn:
			if len(c.kids) == 1 {
				return b.of(c.kids[0])
			}
		case opIf:
			if i == len(s.kids)-1 {
				return b.of(c)
			}
			cond, then := b.of(c.kids[0]), b.body(c.kids[1])
			if !returns(c.kids[1]) {
				continue
			}
			rest := b.body(&syn{op: opBlock, kids: append(append([]*syn{}, c.kids[2:]...), s.kids[i+1:]...)})
			return func(t uint) bool {
				if cond(t) {
					return then(t)
				}
				return rest(t)
			}
		case opBlock:
			if returns(c) {
				return b.body(c)
			}
		case opOther, opCall, opBinary, opName, opNot, opLit, opMember, opIndex:
			if i == len(s.kids)-1 {
				return b.of(c)
			}
		default:
			return b.atom(&syn{op: opOther, kids: s.kids[i:]}) // a loop, a switch: by what it names
		}
	}
	return func(uint) bool { return false }
}

func returns(s *syn) bool {
	if s == nil || len(s.kids) == 0 || s.op != opBlock {
		return s != nil && s.op == opReturn
	}
	l := s.kids[len(s.kids)-1]
	return l.op == opReturn || l.op == opBlock && returns(l)
}

// of is the truth of an expression.
func (b *boolean) of(s *syn) formula {
	if b.depth++; b.depth > 200 {
		return b.atom(s)
	}
	defer func() { b.depth-- }()
	switch s.op {
	case opLit, opName:
		switch {
		case s.text == "true":
			return func(uint) bool { return true }
		case s.text == "false":
			return func(uint) bool { return false }
		case b.known[s.text] != nil:
			v := b.known[s.text]
			delete(b.known, s.text)
			f := b.of(v)
			b.known[s.text] = v
			return f
		}
	case opNot:
		f := b.of(s.kids[0])
		return func(t uint) bool { return !f(t) }
	case opBinary:
		if len(s.kids) != 2 {
			break
		}
		switch s.text {
		case "&&", "||", "&", "|":
			l, r := b.of(s.kids[0]), b.of(s.kids[1])
			if s.text[0] == '&' {
				return func(t uint) bool { return l(t) && r(t) }
			}
			return func(t uint) bool { return l(t) || r(t) }
		case "==":
			if s.kids[0].shape() == s.kids[1].shape() {
				return func(uint) bool { return true }
			}
		case "!=":
			f := b.of(&syn{op: opBinary, text: "==", kids: s.kids})
			return func(t uint) bool { return !f(t) }
		}
	case opIf:
		if len(s.kids) == 3 {
			c, then, other := b.of(s.kids[0]), b.body(s.kids[1]), b.body(s.kids[2])
			return func(t uint) bool {
				if c(t) {
					return then(t)
				}
				return other(t)
			}
		}
	case opBlock:
		return b.body(s)
	case opReturn:
		if len(s.kids) == 1 {
			return b.of(s.kids[0])
		}
	case opOther:
		if len(s.kids) == 1 && s.text == "" {
			return b.of(s.kids[0])
		}
	case opSwitch:
		if all, same := b.arms(s); same {
			return all
		}
	}
	return b.atom(s)
}

// arms is the truth of a switch all of whose cases say the same.
func (b *boolean) arms(s *syn) (f formula, same bool) {
	var value string
	for i, c := range s.kids[1:] {
		body := c.kids[len(c.kids)-1]
		if i > 0 && body.shape() != value {
			return nil, false
		}
		value, f = body.shape(), b.body(body)
	}
	return f, f != nil
}

// atom is a part that may be either; the same part is always the same.
func (b *boolean) atom(s *syn) formula {
	at := -1
	for i, a := range b.atoms {
		if a.shape() == s.shape() {
			at = i
		}
	}
	if at < 0 {
		at = len(b.atoms)
		b.atoms = append(b.atoms, s)
	}
	return func(t uint) bool { return t>>at&1 == 1 }
}
