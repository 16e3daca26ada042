package quality

import (
	"strings"

	"agency/internal/agency"
	"agency/internal/code"
	"agency/internal/regexp"
)

// The rules of Python.
var (
	pyUnverified = rule{goTLS.name, agency.IssueCritical, agency.Security, goTLS.says}
	pyYAML       = rule{"unsafe-load", agency.IssueCritical, agency.Security, "whoever writes this text has code run: use yaml.safe_load, or JSON"}
	pyTemp       = rule{"temp-race", agency.IssueMinor, agency.Security, "somebody else may make this file first: use tempfile.mkstemp"}
	pyUnbounded  = rule{goUnbounded.name, agency.IssueMajor, agency.Security, "the whole body of a request is read into memory, whatever its size"}
	pyPath       = rule{goPath.name, agency.IssueCritical, agency.Security, "a path is made of what a request says, and nothing keeps it within a folder"}
	pyDefault    = rule{"mutable-default", agency.IssueMajor, agency.Correctness, "all calls share this default, and a call changes it"}
	pyAssert     = rule{"assert-tuple", agency.IssueMajor, agency.Correctness, "an assertion of a tuple never fails"}
	pyRace       = rule{goRace.name, agency.IssueCritical, agency.Correctness, "threads change one variable without a lock"}
	pyIs         = rule{"is-literal", agency.IssueMajor, agency.Correctness, "whether a literal is the same object is up to the interpreter: compare by =="}
)

// pyRequest is what a request says, and pyFenced what keeps a path within a folder.
var (
	pyRequest = regexp.MustCompile(`\brequest\.(?:args|form|values|json|GET|POST|files|view_args|query_params|path_params|match_info|query)\b`)
	pyFenced  = regexp.MustCompile(`secure_filename|safe_join|basename|realpath|resolve\(|is_relative_to|commonpath|send_from_directory|fullmatch|\.match\(|\.isalnum|int\(`)
	pyFeeds   = regexp.MustCompile(`\brequest\.|\.recv\(`)
	pyClient  = regexp.MustCompile(`^(?:requests|httpx|session|self\.session)\.\w+$`)
	pyFast    = regexp.MustCompile(`^hashlib\.(?:md5|sha1|sha256|sha512)$`)
	pyBody    = regexp.MustCompile(`^(?:self\.rfile|request\.stream|request\.body_file|flask\.request\.stream)$`)
)

func (s *source) python(n code.Node) {
	switch {
	case n.Is("call"):
		s.pythonCall(n)
	case n.Is("except_clause"):
		s.pythonExcept(n)
	case n.Is("default_parameter", "typed_default_parameter"):
		if v := n.Field("value"); v.Is("list", "dictionary", "set") && s.changed(n, n.Field("name").Text()) {
			s.at(n, pyDefault)
		}
	case n.Is("assert_statement"):
		if all := n.Parts(); len(all) == 1 && all[0].Is("tuple") && len(all[0].Parts()) > 1 {
			s.at(n, pyAssert)
		}
	case n.Is("comparison_operator"):
		s.pythonComparison(n)
	case n.Is("augmented_assignment"):
		s.pythonRace(n)
	case n.Is("function_definition"):
		s.pythonDoc(n)
	}
}

// changed tells whether the function around a node changes a list, set or dictionary.
func (s *source) changed(n code.Node, name string) bool {
	return s.once(n, "changes "+name, func() bool {
		body := s.body(n)
		return len(body) <= maxFunction && changes(name).MatchString(body)
	})
}

// changes is a list, set or dictionary of a name being changed.
func changes(name string) *regexp.Regexp {
	q := regexp.QuoteMeta(name)
	return regexp.MustCompile(`\b` + q + `\.(?:append|add|update|extend|insert|setdefault|pop|remove|clear)\(|\b` + q + `\[[^\]]*\]\s*=[^=]`)
}

func (s *source) pythonCall(n code.Node) {
	name, first := n.Field("function").Text(), s.value(argument(n, 0))
	named := func(key string) string {
		for _, a := range n.Field("arguments").Parts() {
			if a.Is("keyword_argument") && a.Field("name").Text() == key {
				return a.Field("value").Text()
			}
		}
		return ""
	}
	last := name[strings.LastIndex(name, ".")+1:]
	switch {
	case (name == "eval" || name == "exec") && first.OK() && !(first.Is("string") && len(parts(first)) == 0):
		s.at(n, evaluates)
	case (name == "os.system" || name == "os.popen") && mixes(first),
		strings.HasPrefix(name, "subprocess.") && named("shell") == "True" && mixes(first):
		s.at(n, shellLine)
	case (last == "execute" || last == "executemany" || last == "executescript" || last == "raw" || name == "text") && sql(first):
		s.at(n, sqlText)
	case name == "yaml.load" && !strings.Contains(n.Text(), "Safe") && !strings.Contains(n.Text(), "CLoader"),
		(name == "pickle.loads" || name == "pickle.load" || name == "marshal.loads") && pyFeeds.MatchString(first.Text()):
		s.at(n, pyYAML)
	case name == "tempfile.mktemp":
		s.at(n, pyTemp)
	case named("verify") == "False" && pyClient.MatchString(name):
		s.at(n, pyUnverified)
	case pyFast.MatchString(name) && password.MatchString(first.Text()):
		s.at(n, fastHash)
	case last == "read" && len(arguments(n)) == 0 && pyBody.MatchString(strings.TrimSuffix(name, ".read")):
		s.at(n, pyUnbounded)
	case name == "random.choice" || name == "random.randint" || name == "random.choices" || name == "random.random":
		if f := functionOf(n); secretName.MatchString(f.Field("name").Text()) {
			s.at(n, rule{goRandom.name, goRandom.severity, goRandom.of, "a secret is drawn by the module random, which can be guessed: use secrets"})
		}
	case name == "open" || last == "send_file" || name == "os.path.join" || name == "os.remove" || name == "Path":
		s.pythonPath(n)
	}
}

func (s *source) pythonPath(n code.Node) {
	if s.quiet(n, pyFenced) {
		return
	}
	for _, a := range arguments(n) {
		if pyRequest.MatchString(s.value(a).Text()) && !strings.Contains(s.value(a).Text(), "os.path.join") {
			s.at(n, pyPath)
			return
		}
	}
}

// pythonExcept tells of a clause that takes every error and does nothing, without a word why.
func (s *source) pythonExcept(n code.Node) {
	head, _, _ := strings.Cut(n.Text(), ":")
	what := strings.TrimSpace(strings.TrimPrefix(head, "except"))
	body := n.Child("block")
	if what != "" && what != "Exception" && what != "BaseException" || strings.Contains(n.Text(), "#") {
		return
	}
	if all := body.Parts(); len(all) == 1 && all[0].Is("pass_statement") {
		s.at(n, emptyCatch)
	}
}

func (s *source) pythonComparison(n code.Node) {
	all := n.Parts()
	if len(all) != 2 {
		return
	}
	op := strings.TrimSpace(string(s.file.After[all[0].End():all[1].Start()]))
	switch {
	case (op == "is" || op == "is not") && (all[1].Is("integer", "float") || all[1].Is("string")):
		s.at(n, pyIs)
	case all[0].Text() == all[1].Text() && all[0].Is("attribute") && op != "is":
		s.at(n, sameSides)
	}
}

// pythonRace tells of a global that a thread's function changes without a lock.
func (s *source) pythonRace(n code.Node) {
	f, name := functionOf(n), n.Field("left").Text()
	races := f.OK() && s.once(n, "races "+name, func() bool {
		body := f.Text()
		if len(body) > maxFunction || strings.Contains(body, "lock") || strings.Contains(body, "Lock") {
			return false
		}
		global := regexp.MustCompile(`(?m)^\s*global\s.*\b` + regexp.QuoteMeta(name) + `\b`)
		return global.MatchString(body) && s.once(n, "thread", func() bool {
			return regexp.MustCompile(`Thread\([^)]*target\s*=\s*` + regexp.QuoteMeta(f.Field("name").Text()) + `\b`).MatchString(s.text)
		})
	})
	if races {
		s.at(n, pyRace)
	}
}

// pythonDoc tells of a new function of a module's own without documentation, where the
// module has most of them documented.
func (s *source) pythonDoc(n code.Node) {
	name := n.Field("name").Text()
	if strings.HasPrefix(name, "_") || !topLevel(n) || documented(n) {
		return
	}
	with, without := s.documents()
	if with > 1 && with > 2*(without-1) { // but for this one
		s.at(n, rule{undocumented.name, undocumented.severity, undocumented.of, name + " has no documentation, as the others here have"})
	}
}

// documents counts a module's own functions that are documented, and those that are not.
type documents struct{ with, without int }

func (s *source) documents() (with, without int) {
	if s.docs == nil {
		s.docs = &documents{}
		for o := range s.root.All() {
			switch {
			case !o.Is("function_definition") || !topLevel(o) || strings.HasPrefix(o.Field("name").Text(), "_"):
			case documented(o):
				s.docs.with++
			default:
				s.docs.without++
			}
		}
	}
	return s.docs.with, s.docs.without
}

func topLevel(n code.Node) bool {
	p := n.Parent()
	return p.Is("module") || p.Is("decorated_definition") && p.Parent().Is("module")
}

func documented(n code.Node) bool {
	all := n.Field("body").Parts()
	return len(all) > 0 && all[0].Is("expression_statement") && len(all[0].Parts()) == 1 && all[0].Parts()[0].Is("string")
}
