package symbols

import (
	"slices"
	"strings"

	"agency/internal/code"
	"agency/internal/regexp"
)

// State is what a source of the product leaves to others to decide, and what a
// source of tests decides for it.
type State struct {
	// Reads are things beside its arguments that code decides by.
	Reads []Place
	// Sets are such things that code changes.
	Sets []Place
	// Texts are the texts that stand in it.
	Texts []string
	// Stubs are functions that do nothing but say that they are not there yet.
	Stubs []Place
	// Hollow are functions that give the same whatever they are given.
	Hollow []Place
	// Defines are its own functions that do work by themselves: "add" and
	// "Calc.op".
	Defines []string
	// Calls are methods that its classes call on themselves: "Calc.op".
	Calls []string
	// Replaces are functions in whose place something else is put, by the module as
	// it is imported: "shop.calc.add", "../src/calc.js.add".
	Replaces []Place
	// Overrides are methods of classes of others that its own classes define anew.
	Overrides []Place
	// Refusals tells that it expects to hear that something is not implemented.
	Refusals bool
}

// Place is a name of a kind and the line, from 1, that it stands in.
type Place struct {
	Kind Kind
	Name string
	Line int
}

// Kind says what a Place names.
type Kind int

// The kinds of places.
const (
	OfCode    Kind = iota // something of the code, by its path: "sub.exact"
	OfProcess             // a setting of the whole process, in words: "the level of a logger"
	OfTime                // a clock that is compared with constants alone, or what takes its place
	OfFile                // a file that is asked for
)

func (p Place) String() string {
	if p.Kind == OfFile {
		return "the file " + p.Name
	}
	return p.Name
}

// settings are things of the whole process that one part of the code can set
// and another can read.
type setting struct {
	word       string
	read, sets *regexp.Regexp
}

func settings() []setting {
	re := regexp.MustCompile
	return []setting{
		{"the level of a logger", re(`^logging\.(?:getLogger\(\)|root)\.(?:level|getEffectiveLevel\(\))$`), re(`^logging\.(?:getLogger\(\)|root)\.(?:level|setLevel\(\))$|^logging\.disable\(\)$`)},
		{"the name of a thread", re(`^threading\.(?:current_thread|currentThread|main_thread)\(\)\.(?:name|getName\(\))$`), re(`^threading\.(?:\w+\(\)\.(?:name|setName\(\))|Thread\(\))$`)},
		{"the name of a process", re(`^multiprocessing\.current_process\(\)\.name$`), re(`^multiprocessing\.(?:current_process\(\)\.name|Process\(\))$`)},
		{"the name of a task", re(`^asyncio\.current_task\(\)\.get_name\(\)$`), re(`^asyncio\.(?:current_task\(\)\.set_name\(\)|create_task\(\))$`)},
		{"the limit of recursion", re(`^sys\.getrecursionlimit\(\)$`), re(`^sys\.setrecursionlimit\(\)$`)},
		{"the switch interval", re(`^sys\.getswitchinterval\(\)$`), re(`^sys\.setswitchinterval\(\)$`)},
		{"the limit of digits", re(`^sys\.get_int_max_str_digits\(\)$`), re(`^sys\.set_int_max_str_digits\(\)$`)},
		{"the state of the collector", re(`^gc\.(?:isenabled|get_threshold|get_debug)\(\)$`), re(`^gc\.(?:enable|disable|set_threshold|set_debug)\(\)$`)},
		{"the default timeout of sockets", re(`^socket\.getdefaulttimeout\(\)$`), re(`^socket\.setdefaulttimeout\(\)$`)},
		{"the context of decimals", re(`^decimal\.getcontext\(\)\.\w+$`), re(`^decimal\.(?:getcontext\(\)\.\w+|localcontext\(\)|setcontext\(\))$`)},
		{"the locale", re(`^locale\.(?:getlocale|localeconv|nl_langinfo)\(\)$`), re(`^locale\.setlocale\(\)$`)},
		{"the time zone", re(`^time\.(?:tzname|timezone|altzone|daylight)$`), re(`^time\.tzset\(\)$`)},
		{"the mask of new files", re(`^os\.umask\(\)$`), re(`^os\.umask\(\)$`)},
		{"the handler of a signal", re(`^signal\.getsignal\(\)$`), re(`^signal\.signal\(\)$`)},
		{"the handler of faults", re(`^faulthandler\.is_enabled\(\)$`), re(`^faulthandler\.(?:enable|disable)\(\)$`)},
		{"the number of listeners", re(`^process\.(?:listenerCount|listeners)\(\)$`), re(`^process\.(?:on|once|addListener)\(\)$`)},
		{"the title of the process", re(`^process\.title$`), re(`^process\.title$`)},
		{"the mask of files", re(`^process\.umask\(\)$`), re(`^process\.umask\(\)$`)},
		{"the depth of stacks", re(`^Error\.stackTraceLimit$`), re(`^Error\.stackTraceLimit$`)},
		{"the greatest number of listeners", re(`^node:events\.defaultMaxListeners$`), re(`^node:events\.defaultMaxListeners$`)},
	}
}

// stateReader reads what a source leaves to others to decide, or decides for them.
type stateReader struct {
	*Reader
	State
}

func (s *stateReader) read() {
	all := settings()
	for _, p := range s.puts {
		s.Sets = append(s.Sets, Place{OfCode, p.name, p.at.Line()})
		for _, st := range all {
			if st.sets.MatchString(p.name) {
				s.Sets = append(s.Sets, Place{OfProcess, st.word, p.at.Line()})
			}
		}
	}
	for n := range s.Root.All() {
		if s.Stands(n) {
			for _, p := range s.Paths(n) {
				s.setting(all, n, p)
				s.property(n, p)
				s.clockState(n, p)
			}
		}
		switch n.Kind() {
		case "call", "call_expression":
			s.sentinel(n)
			s.replaces(n)
		case "string", "template_string":
			if t, ok := s.TextOf(n, 0); ok && t != "" && !n.Parent().Is("expression_statement") {
				s.Texts = append(s.Texts, t)
				s.Refusals = s.Refusals || refusal.MatchString(t)
			}
		case "regex":
			s.Refusals = s.Refusals || refusal.MatchString(n.Text())
		case "identifier":
			s.Refusals = s.Refusals || n.Text() == "NotImplementedError" && !n.Parent().Is("raise_statement") && !n.Parent().Parent().Is("raise_statement")
		case "class_definition", "class_declaration", "class":
			s.class(n)
		}
	}
	s.clockReplaced()
	for _, f := range s.Functions {
		s.defines(f)
	}
}

var refusal = regexp.MustCompile(`(?i)not[\s_-]*(?:yet[\s_-]*)?(?:implemented|supported yet)|\bto[\s_-]?do\b`)

// setting notes a thing of the process that is compared with something, or that
// a call sets.
func (s *stateReader) setting(all []setting, n code.Node, p string) {
	for _, st := range all {
		if st.read.MatchString(p) && !Written(n) && n.Parent().Is("comparison_operator", "binary_expression", "if_statement", "conditional_expression", "ternary_expression", "not_operator", "unary_expression", "parenthesized_expression", "boolean_operator", "argument_list", "arguments", "assignment", "variable_declarator") {
			s.Reads = append(s.Reads, Place{OfProcess, st.word, n.Line()})
		}
		if n.Is("call", "call_expression") && st.sets.MatchString(p) {
			s.Sets = append(s.Sets, Place{OfProcess, st.word, n.Line()})
		}
	}
}

// plainMembers are members that every function and class has.
var plainMembers = Words(`name length prototype call apply bind constructor toString caller default displayName`)

// property notes what the file reads of its own function, and of what all code
// has, without ever giving it a value.
func (s *stateReader) property(n code.Node, p string) {
	if n.Is("identifier", "call_expression", "new_expression") || Written(n) || n.Parent().Is("call", "call_expression") && n.Parent().Field("function").Start() == n.Start() {
		return
	}
	name := Last(p)
	switch {
	case strings.HasPrefix(p, "=") && strings.Count(p, ".") == 1 && !strings.ContainsAny(p, "()[]?") && !strings.HasPrefix(name, "__") && !plainMembers[name]:
	case s.lang.Global != nil:
		own, ok := s.lang.Global(n.Text())
		if !ok {
			return
		}
		name = own
	default:
		return
	}
	if !s.gives(name) {
		s.Reads = append(s.Reads, Place{OfCode, strings.TrimPrefix(p, "="), n.Line()})
	}
}

// gives tells whether the file itself gives a value to something of that name.
func (s *stateReader) gives(name string) bool {
	for _, p := range s.puts {
		if Last(p.name) == name {
			return true
		}
	}
	for n := range s.Root.All() {
		own := n.Field("name")
		switch n.Kind() {
		case "pair":
			own = n.Field("key")
		case "assignment":
			own = n.Field("left")
		case "field_definition", "public_field_definition":
			own = n.Field("property")
		case "method_definition", "function_definition":
		default:
			continue
		}
		if strings.Trim(own.Text(), `"'`) == name {
			return true
		}
	}
	return false
}

// asking are calls by which code asks whether a file is there.
var asking = Words(`os.path.exists os.path.isfile os.path.isdir os.path.lexists os.access os.stat node:fs.existsSync node:fs.statSync node:fs.lstatSync node:fs.accessSync`)

// sentinel notes a file that is asked for and never read.
func (s *stateReader) sentinel(n code.Node) {
	args := n.Field("arguments").Parts()
	name := ""
	for _, f := range s.Paths(n.Field("function")) {
		switch {
		case asking[f] && len(args) > 0:
			name, _ = s.TextOf(args[0], 0)
		case strings.HasPrefix(f, "pathlib.Path().") && (Last(f) == "exists" || strings.HasPrefix(Last(f), "is_")):
			if made := n.Field("function").Field("object").Field("arguments").Parts(); len(made) > 0 {
				name, _ = s.TextOf(made[len(made)-1], 0)
			}
		}
	}
	if name == "" {
		return
	}
	uses := 0
	for c := range s.Root.All() {
		if c.Is("string") {
			if t, ok := s.TextOf(c, 0); ok && t == name {
				uses++
			}
		}
	}
	if uses == 1 {
		s.Reads = append(s.Reads, Place{OfFile, name, n.Line()})
	}
}

// mocking are calls that put something in the place of a member of their first
// argument; the text of the second names it.
var mocking = Words(`unittest.mock.patch.object monkeypatch.setattr mocker.patch.object setattr node:test.mock.method sinon.stub sinon.replace`)

// patching are calls that do so by a text.
var patching = Words(`unittest.mock.patch mocker.patch monkeypatch.setattr`)

// replaces notes a function in whose place a test puts something else.
func (s *stateReader) replaces(n code.Node) {
	args := n.Field("arguments").Parts()
	if len(args) == 0 || strings.Contains(n.Text(), "wraps=") {
		return
	}
	add := func(p string) { s.Replaces = append(s.Replaces, Place{OfCode, p, n.Line()}) }
	for _, f := range s.Paths(n.Field("function")) {
		f = strings.Replace(f, "mock.patch", "unittest.mock.patch", 1)
		f = strings.Replace(f, "unittest.unittest.", "unittest.", 1)
		calls := f == "t.mock.method" || f == "node:test.mock.method" || strings.HasPrefix(f, "sinon.") && len(args) < 3
		switch t, isText := s.TextOf(args[0], 0); {
		case isText && patching[f]:
			add(t)
		case (mocking[f] || f == "t.mock.method") && len(args) > 1:
			if calls && len(args) < 3 && !strings.HasPrefix(f, "sinon.") {
				continue
			}
			if name, ok := s.TextOf(args[1], 0); ok {
				for _, p := range s.Paths(args[0]) {
					add(p + "." + name)
				}
			}
		case (f == "jest.spyOn" || f == "vi.spyOn") && len(args) > 1:
			if name, ok := s.TextOf(args[1], 0); ok && strings.HasPrefix(n.Parent().Field("property").Text(), "mock") {
				for _, p := range s.Paths(args[0]) {
					add(p + "." + name)
				}
			}
		case isText && (f == "jest.mock" || f == "vi.mock" || f == "jest.doMock" || f == "vi.doMock" || f == "node:test.mock.module"):
			add(t + ".*")
		}
	}
}

// class notes what a class defines anew of another's, and what it calls on
// itself.
func (s *stateReader) class(n code.Node) {
	own := n.Field("name").Text()
	var bases []code.Node
	bases = append(bases, n.Field("superclasses").Parts()...)
	if h := n.Child("class_heritage"); h.OK() {
		bases = append(bases, h.Parts()...)
	}
	for c := range n.Field("body").All() {
		if c.Is("function_definition", "method_definition") {
			for _, b := range bases {
				for _, p := range s.Paths(b) {
					s.Overrides = append(s.Overrides, Place{OfCode, p + "." + c.Field("name").Text(), c.Line()})
				}
			}
		}
		f := c.Field("function")
		if c.Is("call", "call_expression") && f.Field("object").Text() == s.lang.Self {
			s.Calls = append(s.Calls, own+"."+f.Field("attribute").Text()+f.Field("property").Text())
		}
	}
}

// defines notes a function of the file that does work, or one that only says
// that it does not.
func (s *stateReader) defines(f Function) {
	if f.Name == "" || f.Node.Is("lambda") {
		return
	}
	name, depth, bases := f.Name, 0, true
	for a := range f.Node.Around() {
		if a.Is("class_definition", "class_declaration", "class") {
			name = a.Field("name").Text() + "." + name
			bases = s.derivedFrom(a.Field("name").Text())
			break
		}
		if a.Is(functionKinds...) {
			depth++
		}
	}
	if depth > 0 {
		return
	}
	body := statements(f)
	switch {
	case len(body) == 1 && body[0].Is("raise_statement", "throw_statement"):
		text := body[0].Text()
		if strings.Contains(text, "NotImplementedError") || refusal.MatchString(text) {
			if name == f.Name || !bases {
				s.Stubs = append(s.Stubs, Place{OfCode, name, f.Node.Line()})
			}
		}
	case len(body) == 0 || len(body) == 1 && body[0].Is("pass_statement", "comment") || len(body) == 1 && body[0].Text() == "...":
	case len(body) == 1 && name == f.Name && ignores(f, body[0]):
		s.Hollow = append(s.Hollow, Place{OfCode, name, f.Node.Line()})
	case s.asksOutside(f):
	default:
		s.Defines = append(s.Defines, name)
	}
}

// ignores tells of a function that returns a constant and has parameters that it
// does not even name as left aside.
func ignores(f Function, only code.Node) bool {
	if len(f.Params) == 0 || slices.ContainsFunc(f.Params, func(p string) bool { return strings.HasPrefix(p, "_") }) || strings.HasPrefix(f.Name, "_") {
		return false
	}
	value := only
	if p := only.Parts(); only.Is("return_statement") && len(p) == 1 {
		value = p[0]
	} else if only.Is("return_statement") {
		return false
	}
	return IsConstant(value) && !value.Is("none", "null", "undefined") && value.Text() != "undefined"
}

// statements are those of a body without its documentation.
func statements(f Function) []code.Node {
	if !f.Body.Is("block", "statement_block") {
		return []code.Node{f.Body}
	}
	out := f.Body.Parts()
	if len(out) > 0 && out[0].Is("expression_statement") && len(out[0].Parts()) == 1 && out[0].Parts()[0].Is("string") {
		out = out[1:]
	}
	return out
}

// derivedFrom tells whether the file makes other classes of a class.
func (s *stateReader) derivedFrom(name string) bool {
	for n := range s.Root.All() {
		if n.Is("class_definition") && strings.Contains(n.Field("superclasses").Text(), name) || n.Is("class_heritage") && strings.Contains(n.Text(), name) {
			return true
		}
	}
	return false
}

// outside are modules by which code asks what no test can know: the clock,
// chance, the network, other programs, a person.
var outside = Words(`time datetime random secrets uuid urllib http socket ssl subprocess requests httpx aiohttp sqlite3 psycopg2 boto3 smtplib ftplib getpass input
	node:http node:https node:net node:child_process node:crypto node:dns axios fetch Date Math.random performance platform`)

// asksOutside tells whether what a function gives comes from outside: tests put
// something in the place of such, as everybody does.
func (s *stateReader) asksOutside(f Function) bool {
	from := map[string]bool{}
	asks := func(n code.Node) bool {
		for c := range n.All() {
			if !c.Is("call", "call_expression", "new_expression") || !s.Stands(c) {
				continue
			}
			for _, p := range s.Paths(c) {
				p = strings.TrimPrefix(p, "new ")
				if first := RootOf(p); outside[first] || outside[strings.TrimSuffix(p, "()")] {
					return true
				}
			}
		}
		return Mentions(n, from)
	}
	for range 2 {
		for n := range f.Body.All() {
			to := n.Field("left")
			if n.Is("variable_declarator") {
				to = n.Field("name")
			}
			if n.Is("assignment", "assignment_expression", "variable_declarator", "for_statement") && asks(n.Field("right")) || n.Is("variable_declarator") && asks(n.Field("value")) {
				from[to.Text()] = true
			}
			if p := n.Parts(); n.Is("as_pattern") && len(p) == 2 && asks(p[0]) {
				from[p[1].Text()] = true
			}
		}
	}
	return slices.ContainsFunc(Results(f), asks)
}
