package dataflow

import (
	"slices"
	"strings"

	"agency/internal/regexp"
)

// trace is what a value tells of who runs the code.
type trace struct {
	what string
	Origin
}

// bare tells of a stream that nothing was asked of yet.
func (t *trace) bare() bool { return t != nil && t.Grade == GradeNone }

// asked is what a function tells of a stream; nil where it is no such function.
func (an *Analysis) asked(t *trace, by string) *trace {
	if !an.asks(by) || an.at.Entry || t.Input && an.commands(an.at, nil, nil) {
		return nil
	}
	return &trace{what: t.what + "." + Last(by), Origin: Origin{Grade: GradeStrong, Stream: true, Input: t.Input}}
}

// asks tells of a function that says of a stream who is at its other end.
func (an *Analysis) asks(name string) bool {
	return an.model.Askers != nil && an.model.Askers.MatchString(Last(name))
}

// seen is what an expression tells, and not what only could be asked.
func (an *Analysis) seen(s *Node) *trace {
	if t := an.value(s); !t.bare() {
		return t
	}
	return nil
}

func stronger(a, b *trace) *trace {
	if a == nil || b != nil && b.Grade > a.Grade {
		return b
	}
	return a
}

// Analysis follows what sources of one language know of who runs them.
type Analysis struct {
	model *Model
	files []*File
	// byName are the functions of the files by unit and name; vars what they keep.
	byName  map[string][]*Func
	callers map[*Func][]*Func
	vars    map[*Func]map[string]*trace
	kept    map[string]*trace // variables and fields, by unit and name
	gives   map[*Func][]*trace
	at      *Func
	literal int // how many literals of functions are around
	changed bool
}

// maxPasses bounds how far a value is followed from function to function.
const maxPasses = 6

// New follows what the files know, all of which are of the model's language.
func New(model *Model, files []*File) *Analysis {
	an := &Analysis{
		model: model, files: files, byName: map[string][]*Func{}, callers: map[*Func][]*Func{},
		vars: map[*Func]map[string]*trace{}, kept: map[string]*trace{}, gives: map[*Func][]*trace{},
	}
	for _, f := range files {
		for _, fn := range f.Funcs {
			fn.file = f
			key := f.Unit + "\x00" + fn.Name
			an.byName[key] = append(an.byName[key], fn)
			an.vars[fn] = map[string]*trace{}
		}
	}
	an.each(func(fn *Func) {
		fn.Body.Every(func(s *Node) bool {
			for _, called := range an.own(s.Callee()) {
				an.callers[called] = append(an.callers[called], fn)
			}
			return true
		})
	})
	for range maxPasses {
		an.changed = false
		an.each(func(fn *Func) { an.value(fn.Body) })
		if !an.changed {
			break
		}
	}
	return an
}

func (an *Analysis) each(do func(*Func)) {
	for _, f := range an.files {
		for _, fn := range f.Funcs {
			an.at = fn
			do(fn)
		}
	}
}

// own are the functions of the files that a name means.
func (an *Analysis) own(name string) []*Func {
	if name == "" {
		return nil
	}
	if fns := an.byName[an.at.file.Unit+"\x00"+Last(name)]; len(fns) > 0 {
		return fns
	}
	return an.byName[an.unitOf(name)+"\x00"+Last(name)]
}

// unitOf is the unit that a name with a path is of.
func (an *Analysis) unitOf(name string) string {
	stem := strings.TrimRight(strings.TrimSuffix(name, Last(name)), ".:/")
	for _, f := range an.files {
		if f.Unit != "" && (stem == f.Unit || strings.HasSuffix(stem, "/"+f.Unit) || strings.HasSuffix(stem, ":"+f.Unit) || strings.HasSuffix(stem, "."+f.Unit)) {
			return f.Unit
		}
	}
	return an.at.file.Unit
}

// keep notes that a variable tells something.
func (an *Analysis) keep(target *Node, t *trace) {
	if t == nil || target == nil {
		return
	}
	switch target.Op {
	case OpName:
		key, vars := target.Text, an.vars[an.at]
		if an.at.Name == "" { // a variable of the file
			an.mark(an.kept, an.at.file.Unit+"\x00"+key, t)
			return
		}
		an.mark(vars, key, t)
	case OpMember:
		an.mark(an.kept, an.at.file.Unit+"\x00."+target.Text, t)
	case OpIndex:
		an.keep(target.Kids[0], t)
	default:
		for _, c := range target.Kids {
			an.keep(c, t)
		}
	}
}

func (an *Analysis) mark(in map[string]*trace, key string, t *trace) {
	if was := in[key]; key != "" && key != "_" && (was == nil || t.Grade > was.Grade) {
		in[key] = t
		an.changed = true
	}
}

// of is the trace of a known Origin for who asks here.
func (an *Analysis) of(name string, o Origin) *trace {
	switch {
	case o.Loads && slices.ContainsFunc(ownPrefix.FindAllString(an.at.file.Text, -1), func(p string) bool { return !theirPrefix.MatchString(p) }):
		return nil
	case an.at.Entry && (o.Own || o.Grade == GradeArgs), o.Grade == GradeArgs && an.commands(an.at, nil, nil):
		return nil
	}
	return &trace{what: name, Origin: o}
}

// ownPrefix is how the settings of a program begin.
var ownPrefix = regexp.MustCompile(`"[A-Z][A-Z0-9]+_[A-Z0-9_]*=?"`)

// theirPrefix is how those of systems and of builds do.
var theirPrefix = regexp.MustCompile(`^"(?:LD|DYLD|GO|CARGO|RUST|RUSTC|NODE|JAVA|MAVEN|GRADLE|PYTEST|PYTHON|LC|TEST|CI|GITHUB|AGENCY)_`)

// value is what an expression tells, and follows what is in it.
func (an *Analysis) value(s *Node) *trace {
	if s == nil {
		return nil
	}
	switch s.Op {
	case OpLit, OpJump:
		return nil
	case OpName:
		return an.named(s)
	case OpMember:
		return an.member(s)
	case OpCall:
		return an.called(s)
	case OpAssign, OpEach:
		return an.assigned(s)
	case OpReturn:
		for i, v := range s.Kids {
			an.give(i, len(s.Kids), an.value(v))
		}
		return nil
	case OpIf:
		by := an.seen(s.Kids[0])
		var t *trace
		for _, b := range s.Kids[1:] {
			if by != nil && by.Stream {
				an.governed(b, by)
			}
			t = stronger(t, an.value(b))
		}
		return t
	case OpBlock:
		var t *trace
		for _, c := range s.Kids {
			t = an.value(c)
		}
		return t
	case OpFunc:
		an.literal++
		an.value(s.Func.Body)
		an.literal--
		return nil
	case OpThrow, OpLoop:
		for _, c := range s.Kids {
			an.value(c)
		}
		return nil
	}
	if t := an.first(s); t != nil {
		return t
	}
	var t *trace
	for i, c := range s.Kids {
		if v := an.value(c); s.Op != OpSwitch || i > 0 {
			t = stronger(t, v)
		}
	}
	return t
}

// first is what the first element of the command line Tells: the program's own
// name.
func (an *Analysis) first(s *Node) *trace {
	if s.Op != OpIndex || len(s.Kids) != 2 || s.Kids[0].Op != OpName || an.model.Origins[s.Kids[0].Text].Grade != GradeArgs {
		return nil
	}
	if i, ok := s.Kids[1].Constant(); !ok || i != "0" {
		return nil
	}
	return an.of(s.Kids[0].Text+"[0]", Origin{Grade: GradeStrong, Own: true})
}

func (an *Analysis) give(i, n int, t *trace) {
	if t == nil || an.literal > 0 {
		return
	}
	all := an.gives[an.at]
	for len(all) < n {
		all = append(all, nil)
	}
	if all[i] == nil || t.Grade > all[i].Grade {
		all[i], an.changed = t, true
	}
	an.gives[an.at] = all
}

func (an *Analysis) named(s *Node) *trace {
	if t := an.vars[an.at][s.Text]; t != nil {
		return t
	}
	if o, ok := an.model.Origins[s.Text]; ok {
		return an.of(s.Text, o)
	}
	if t := an.kept[an.at.file.Unit+"\x00"+s.Text]; t != nil {
		return t
	}
	if s.Text != Last(s.Text) {
		return an.kept[an.unitOf(s.Text)+"\x00"+Last(s.Text)]
	}
	return an.kept[an.at.file.Unit+"\x00."+s.Text] // a field by its bare name
}

func (an *Analysis) member(s *Node) *trace {
	t := an.value(s.Kids[0])
	switch {
	case t.bare():
		return an.asked(t, s.Text)
	case t != nil && slices.Contains(t.Silent, s.Text):
		return nil
	case t != nil:
		return t
	}
	if o, ok := an.model.Members[s.Text]; ok {
		return an.of(s.Text, o)
	}
	return an.kept[an.at.file.Unit+"\x00."+s.Text]
}

// called is what a call gives back; what is handed to functions of the files
// goes into their parameters, and what an Origin is handed is filled by it.
func (an *Analysis) called(s *Node) *trace {
	name, args := s.Callee(), s.Kids[1:]
	t := an.value(s.Kids[0])
	if t != nil {
		for _, a := range args {
			an.fill(a, t)
		}
	}
	if an.model.Asked != nil && len(args) > 0 {
		if text, ok := args[0].Constant(); ok {
			if o, ok := an.model.Asked(an.at.file, name, text); ok {
				t = stronger(t, an.of(Last(name)+`("`+text+`")`, o))
				for _, a := range args[1:] {
					an.fill(a, t)
				}
			}
		}
	}
	if an.model.Places != nil && an.model.Places(s) {
		t = stronger(t, an.of(Last(name), Origin{Grade: GradeStrong}))
		an.fill(args[0], t)
	}
	fns := an.own(name)
	for i, a := range args {
		v := an.value(a)
		for _, fn := range fns {
			if v != nil && i < len(fn.Params) {
				an.mark(an.vars[fn], fn.Params[i].Name, v)
			}
		}
		switch {
		case v == nil || len(fns) > 0:
		case v.Stream && an.asks(name):
			t = stronger(t, an.asked(v, name))
		case !v.bare() && an.model.Flows(name):
			t = stronger(t, v)
		}
	}
	for _, fn := range fns {
		for _, g := range an.gives[fn] {
			t = stronger(t, g)
		}
	}
	return t
}

// fill notes what a call that looks at who runs the code is handed: a buffer to
// write to, a function to call.
func (an *Analysis) fill(a *Node, t *trace) {
	switch {
	case a.Op == OpFunc:
		for _, p := range a.Func.Params {
			an.keep(&Node{Op: OpName, Text: p.Name}, t)
		}
	case a.Op == OpName && a.Text == Last(a.Text):
		an.keep(a, t)
	default:
		for _, c := range a.Kids {
			an.fill(c, t)
		}
	}
}

// assigned gives each target what it gets.
func (an *Analysis) assigned(s *Node) *trace {
	targets, values := s.Kids[:s.LHS], s.Kids[s.LHS:]
	if len(values) == 0 {
		return nil
	}
	if s.Op == OpAssign && len(values) == len(targets) {
		for i, v := range values {
			an.keep(targets[i], an.value(v))
		}
		return nil
	}
	t := an.value(values[0])
	for i, target := range targets {
		switch each := an.partOf(values[0], i); {
		case t != nil && t.Results != nil && s.Op == OpAssign && values[0].Op == OpCall && !slices.Contains(t.Results, i):
		case each != nil:
			an.keep(target, *each)
		default:
			an.keep(target, t)
		}
	}
	for _, body := range values[1:] {
		an.value(body)
	}
	return nil
}

// partOf is what one result of a function of the files tells; nil where the
// value is no call of one.
func (an *Analysis) partOf(v *Node, i int) **trace {
	fns := an.own(v.Callee())
	if len(fns) == 0 {
		return nil
	}
	var t *trace
	for _, fn := range fns {
		if g := an.gives[fn]; i < len(g) {
			t = stronger(t, g[i])
		}
	}
	return &t
}

// MayExit tells of a function that may end the process with a code, whatever kind of
// file it is in: it is of a command line, and the code says a failure.
func (an *Analysis) MayExit(fn *Func, code *Node) bool {
	return an.commands(fn, fn.file, nil) && fails(code)
}

// fails tells of an exit code that is not zero, or not known to be.
func fails(code *Node) bool {
	text, ok := code.Constant()
	return ok && strings.Trim(text, "0") != "" || !ok && (code.Op == OpName || code.Op == OpCall)
}

// commands tells whether a function is of a command line: it is where a program
// begins, or takes nothing but what such a function has to hand on and is called
// by such functions alone. That its file is of a program says so, too, but for one.
func (an *Analysis) commands(fn *Func, but *File, seen []*Func) bool {
	if fn.Entry || fn.file.Program && fn.file != but || slices.Contains(seen, fn) {
		return true
	}
	if fn.Name == "" || fn.Name == "init" {
		return false
	}
	// A number is an exit code where it is all that a function takes.
	code := len(fn.Params) == 1 && len(fn.Results) == 0 && slices.Contains([]string{"int", "i32"}, fn.Params[0].Type)
	for _, p := range fn.Params {
		if !code && (!an.model.ArgType(p.Type) || slices.Contains([]string{"int", "i32"}, p.Type)) {
			return false
		}
	}
	for _, r := range fn.Results {
		if !an.model.ArgType(r) && (!an.model.Free || len(fn.Params) > 0) {
			return false
		}
	}
	for _, c := range an.callers[fn] {
		if !an.commands(c, but, append(seen, fn)) {
			return false
		}
	}
	return true
}
