package verify

import (
	"regexp"
	"slices"
	"strings"
)

// grade is how much a source tells of who runs the code, and so what of it is
// honest.
type grade int

const (
	// gradeNone: what can be asked, and was not yet, as a stream of its own.
	gradeNone grade = iota
	// gradeArgs: the command line, which is the input of a command's own functions.
	gradeArgs
	// gradeWeak: folders, files and the build: what is not found may be told.
	gradeWeak
	// gradeStrong: callers, threads and the program's own name.
	gradeStrong
)

// origin is a way by which code can look at who runs it.
type origin struct {
	grade grade
	// results are the positions of the results that tell something; nil: all.
	results []int
	// silent are members of it that tell nothing.
	silent []string
	// number: it counts something.
	number bool
	// loads: it is read by everybody who takes settings of a prefix of their own.
	loads bool
	// own: it is the program's own name, which only its main may ask for.
	own bool
	// stream: it is a stream of the process, or tells who is at its other end, by
	// which a program may decide how its output looks.
	stream bool
	// input: it is what a command's own functions may ask about.
	input bool
}

// lore is what is known of a language.
type lore struct {
	// origins are by name with its path; members are methods of any object.
	origins map[string]origin
	members map[string]origin
	// asked tells of a call that looks for something by a constant.
	asked func(f *synFile, name, constant string) (origin, bool)
	// places tells of a call that writes where its caller stands into what it is
	// handed.
	places func(call *syn) bool
	// flows tells of functions of others whose result tells what they are given.
	flows func(name string) bool
	// askers are functions that tell of a stream who is at its other end, be they
	// handed it or called on it; nil where the language has no such.
	askers *regexp.Regexp
	// tells are functions that print, log or make errors.
	tells func(name string) bool
	// argType tells of types by which a command's own functions are called, with
	// what they give back.
	argType func(typ string) bool
	// free: functions without parameters may read the command line.
	free bool
}

// trace is what a value tells of who runs the code.
type trace struct {
	what string
	origin
}

// bare tells of a stream that nothing was asked of yet.
func (t *trace) bare() bool { return t != nil && t.grade == gradeNone }

// asked is what a function tells of a stream; nil where it is no such function.
func (k *knower) asked(t *trace, by string) *trace {
	if !k.lore.askers.MatchString(last(by)) || k.at.top || t.input && k.commands(k.at, nil) {
		return nil
	}
	return &trace{what: t.what + "." + last(by), origin: origin{grade: gradeStrong, stream: true, input: t.input}}
}

// seen is what an expression tells, and not what only could be asked.
func (k *knower) seen(s *syn) *trace {
	if t := k.value(s); !t.bare() {
		return t
	}
	return nil
}

func stronger(a, b *trace) *trace {
	if a == nil || b != nil && b.grade > a.grade {
		return b
	}
	return a
}

// knower follows what sources of one language know of who runs them.
type knower struct {
	lore  *lore
	files []*synFile
	// byName are the functions of the files by unit and name; vars what they keep.
	byName  map[string][]*synFunc
	callers map[*synFunc][]*synFunc
	vars    map[*synFunc]map[string]*trace
	kept    map[string]*trace // variables and fields, by unit and name
	gives   map[*synFunc][]*trace
	at      *synFunc
	literal int // how many literals of functions are around
	changed bool
}

// maxPasses bounds how far a value is followed from function to function.
const maxPasses = 6

func newKnower(l *lore, files []*synFile) *knower {
	k := &knower{
		lore: l, files: files, byName: map[string][]*synFunc{}, callers: map[*synFunc][]*synFunc{},
		vars: map[*synFunc]map[string]*trace{}, kept: map[string]*trace{}, gives: map[*synFunc][]*trace{},
	}
	for _, f := range files {
		for _, fn := range f.funcs {
			fn.file = f
			key := f.unit + "\x00" + fn.name
			k.byName[key] = append(k.byName[key], fn)
			k.vars[fn] = map[string]*trace{}
		}
	}
	k.each(func(fn *synFunc) {
		fn.body.every(func(s *syn) bool {
			for _, called := range k.own(s.callee()) {
				k.callers[called] = append(k.callers[called], fn)
			}
			return true
		})
	})
	for range maxPasses {
		k.changed = false
		k.each(func(fn *synFunc) { k.value(fn.body) })
		if !k.changed {
			break
		}
	}
	return k
}

func (k *knower) each(do func(*synFunc)) {
	for _, f := range k.files {
		for _, fn := range f.funcs {
			k.at = fn
			do(fn)
		}
	}
}

// own are the functions of the files that a name means.
func (k *knower) own(name string) []*synFunc {
	if name == "" {
		return nil
	}
	if fns := k.byName[k.at.file.unit+"\x00"+last(name)]; len(fns) > 0 {
		return fns
	}
	return k.byName[k.unitOf(name)+"\x00"+last(name)]
}

// unitOf is the unit that a name with a path is of.
func (k *knower) unitOf(name string) string {
	stem := strings.TrimRight(strings.TrimSuffix(name, last(name)), ".:/")
	for _, f := range k.files {
		if f.unit != "" && (stem == f.unit || strings.HasSuffix(stem, "/"+f.unit) || strings.HasSuffix(stem, ":"+f.unit) || strings.HasSuffix(stem, "."+f.unit)) {
			return f.unit
		}
	}
	return k.at.file.unit
}

// keep notes that a variable tells something.
func (k *knower) keep(target *syn, t *trace) {
	if t == nil || target == nil {
		return
	}
	switch target.op {
	case opName:
		key, vars := target.text, k.vars[k.at]
		if k.at.name == "" { // a variable of the file
			k.mark(k.kept, k.at.file.unit+"\x00"+key, t)
			return
		}
		k.mark(vars, key, t)
	case opMember:
		k.mark(k.kept, k.at.file.unit+"\x00."+target.text, t)
	case opIndex:
		k.keep(target.kids[0], t)
	default:
		for _, c := range target.kids {
			k.keep(c, t)
		}
	}
}

func (k *knower) mark(in map[string]*trace, key string, t *trace) {
	if was := in[key]; key != "" && key != "_" && (was == nil || t.grade > was.grade) {
		in[key] = t
		k.changed = true
	}
}

// of is the trace of a known origin for who asks here.
func (k *knower) of(name string, o origin) *trace {
	switch {
	case o.loads && slices.ContainsFunc(ownPrefix.FindAllString(k.at.file.text, -1), func(p string) bool { return !theirPrefix.MatchString(p) }):
		return nil
	case k.at.top && (o.own || o.grade == gradeArgs), o.grade == gradeArgs && k.commands(k.at, nil):
		return nil
	}
	return &trace{what: name, origin: o}
}

// ownPrefix is how the settings of a program begin.
var ownPrefix = regexp.MustCompile(`"[A-Z][A-Z0-9]+_[A-Z0-9_]*=?"`)

// theirPrefix is how those of systems and of builds do.
var theirPrefix = regexp.MustCompile(`^"(?:LD|DYLD|GO|CARGO|RUST|RUSTC|NODE|JAVA|MAVEN|GRADLE|PYTEST|PYTHON|LC|TEST|CI|GITHUB|AGENCY)_`)

// value is what an expression tells, and follows what is in it.
func (k *knower) value(s *syn) *trace {
	if s == nil {
		return nil
	}
	switch s.op {
	case opLit, opJump:
		return nil
	case opName:
		return k.named(s)
	case opMember:
		return k.member(s)
	case opCall:
		return k.called(s)
	case opAssign, opEach:
		return k.assigned(s)
	case opReturn:
		for i, v := range s.kids {
			k.give(i, len(s.kids), k.value(v))
		}
		return nil
	case opIf:
		by := k.seen(s.kids[0])
		var t *trace
		for _, b := range s.kids[1:] {
			if by != nil && by.stream {
				k.governed(b, by)
			}
			t = stronger(t, k.value(b))
		}
		return t
	case opBlock:
		var t *trace
		for _, c := range s.kids {
			t = k.value(c)
		}
		return t
	case opFunc:
		k.literal++
		k.value(s.fn.body)
		k.literal--
		return nil
	case opThrow, opLoop:
		for _, c := range s.kids {
			k.value(c)
		}
		return nil
	}
	if t := k.first(s); t != nil {
		return t
	}
	var t *trace
	for i, c := range s.kids {
		if v := k.value(c); s.op != opSwitch || i > 0 {
			t = stronger(t, v)
		}
	}
	return t
}

// first is what the first element of the command line tells: the program's own
// name.
func (k *knower) first(s *syn) *trace {
	if s.op != opIndex || len(s.kids) != 2 || s.kids[0].op != opName || k.lore.origins[s.kids[0].text].grade != gradeArgs {
		return nil
	}
	if i, ok := s.kids[1].constant(); !ok || i != "0" {
		return nil
	}
	return k.of(s.kids[0].text+"[0]", origin{grade: gradeStrong, own: true})
}

func (k *knower) give(i, n int, t *trace) {
	if t == nil || k.literal > 0 {
		return
	}
	all := k.gives[k.at]
	for len(all) < n {
		all = append(all, nil)
	}
	if all[i] == nil || t.grade > all[i].grade {
		all[i], k.changed = t, true
	}
	k.gives[k.at] = all
}

func (k *knower) named(s *syn) *trace {
	if t := k.vars[k.at][s.text]; t != nil {
		return t
	}
	if o, ok := k.lore.origins[s.text]; ok {
		return k.of(s.text, o)
	}
	if t := k.kept[k.at.file.unit+"\x00"+s.text]; t != nil {
		return t
	}
	if s.text != last(s.text) {
		return k.kept[k.unitOf(s.text)+"\x00"+last(s.text)]
	}
	return k.kept[k.at.file.unit+"\x00."+s.text] // a field by its bare name
}

func (k *knower) member(s *syn) *trace {
	t := k.value(s.kids[0])
	switch {
	case t.bare():
		return k.asked(t, s.text)
	case t != nil && slices.Contains(t.silent, s.text):
		return nil
	case t != nil:
		return t
	}
	if o, ok := k.lore.members[s.text]; ok {
		return k.of(s.text, o)
	}
	return k.kept[k.at.file.unit+"\x00."+s.text]
}

// called is what a call gives back; what is handed to functions of the files
// goes into their parameters, and what an origin is handed is filled by it.
func (k *knower) called(s *syn) *trace {
	name, args := s.callee(), s.kids[1:]
	t := k.value(s.kids[0])
	if t != nil {
		for _, a := range args {
			k.fill(a, t)
		}
	}
	if k.lore.asked != nil && len(args) > 0 {
		if text, ok := args[0].constant(); ok {
			if o, ok := k.lore.asked(k.at.file, name, text); ok {
				t = stronger(t, k.of(last(name)+`("`+text+`")`, o))
				for _, a := range args[1:] {
					k.fill(a, t)
				}
			}
		}
	}
	if k.lore.places != nil && k.lore.places(s) {
		t = stronger(t, k.of(last(name), origin{grade: gradeStrong}))
		k.fill(args[0], t)
	}
	fns := k.own(name)
	for i, a := range args {
		v := k.value(a)
		for _, fn := range fns {
			if v != nil && i < len(fn.params) {
				k.mark(k.vars[fn], fn.params[i].name, v)
			}
		}
		switch {
		case v == nil || len(fns) > 0:
		case v.stream && k.lore.askers.MatchString(last(name)):
			t = stronger(t, k.asked(v, name))
		case !v.bare() && k.lore.flows(name):
			t = stronger(t, v)
		}
	}
	for _, fn := range fns {
		for _, g := range k.gives[fn] {
			t = stronger(t, g)
		}
	}
	return t
}

// fill notes what a call that looks at who runs the code is handed: a buffer to
// write to, a function to call.
func (k *knower) fill(a *syn, t *trace) {
	switch {
	case a.op == opFunc:
		for _, p := range a.fn.params {
			k.keep(&syn{op: opName, text: p.name}, t)
		}
	case a.op == opName && a.text == last(a.text):
		k.keep(a, t)
	default:
		for _, c := range a.kids {
			k.fill(c, t)
		}
	}
}

// assigned gives each target what it gets.
func (k *knower) assigned(s *syn) *trace {
	targets, values := s.kids[:s.lhs], s.kids[s.lhs:]
	if len(values) == 0 {
		return nil
	}
	if s.op == opAssign && len(values) == len(targets) {
		for i, v := range values {
			k.keep(targets[i], k.value(v))
		}
		return nil
	}
	t := k.value(values[0])
	for i, target := range targets {
		switch each := k.partOf(values[0], i); {
		case t != nil && t.results != nil && s.op == opAssign && values[0].op == opCall && !slices.Contains(t.results, i):
		case each != nil:
			k.keep(target, *each)
		default:
			k.keep(target, t)
		}
	}
	for _, body := range values[1:] {
		k.value(body)
	}
	return nil
}

// partOf is what one result of a function of the files tells; nil where the
// value is no call of one.
func (k *knower) partOf(v *syn, i int) **trace {
	fns := k.own(v.callee())
	if len(fns) == 0 {
		return nil
	}
	var t *trace
	for _, fn := range fns {
		if g := k.gives[fn]; i < len(g) {
			t = stronger(t, g[i])
		}
	}
	return &t
}

// commands tells whether a function is of a command line: it is where a program
// begins, or takes nothing but what such a function has to hand on and is called
// by such functions alone.
func (k *knower) commands(fn *synFunc, seen []*synFunc) bool {
	if fn.top || fn.file.program || slices.Contains(seen, fn) {
		return true
	}
	if fn.name == "" || fn.name == "init" {
		return false
	}
	// A number is an exit code where it is all that a function takes.
	code := len(fn.params) == 1 && len(fn.results) == 0 && slices.Contains([]string{"int", "i32"}, fn.params[0].typ)
	for _, p := range fn.params {
		if !code && (!k.lore.argType(p.typ) || slices.Contains([]string{"int", "i32"}, p.typ)) {
			return false
		}
	}
	for _, r := range fn.results {
		if !k.lore.argType(r) && (!k.lore.free || len(fn.params) > 0) {
			return false
		}
	}
	for _, c := range k.callers[fn] {
		if !k.commands(c, append(seen, fn)) {
			return false
		}
	}
	return true
}
