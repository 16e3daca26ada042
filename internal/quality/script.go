package quality

import (
	"strings"

	"agency/internal/agency"
	"agency/internal/code"
	"agency/internal/regexp"
)

// The rules of JavaScript and TypeScript.
var (
	jsPath      = rule{goPath.name, agency.IssueCritical, agency.Security, "a path is made of what a request says, and nothing keeps it within a folder"}
	jsRedirect  = rule{"open-redirect", agency.IssueMajor, agency.Security, "whoever makes the request says where its answer leads: compare with the places that are allowed"}
	jsHTML      = rule{goTemplate.name, agency.IssueMajor, agency.Security, "a text that is put together is taken for HTML: use textContent"}
	jsTLS       = rule{goTLS.name, agency.IssueCritical, agency.Security, goTLS.says}
	jsUnbounded = rule{goUnbounded.name, agency.IssueMajor, agency.Security, "the body of a request grows in memory without a limit"}
	jsRandom    = rule{goRandom.name, agency.IssueMajor, agency.Security, "a secret is drawn by Math.random, which can be guessed: use crypto"}
	jsForEach   = rule{"async-for-each", agency.IssueMajor, agency.Correctness, "nobody waits for what forEach calls here, nor hears of its errors"}
	jsRace      = rule{goRace.name, agency.IssueMajor, agency.Correctness, "the variable is read before the await and written after it: what others added meanwhile is lost"}
	jsNaN       = rule{"nan-comparison", agency.IssueMajor, agency.Correctness, "nothing equals NaN: use Number.isNaN"}
	jsAssign    = rule{"assigned-condition", agency.IssueMajor, agency.Correctness, "a condition assigns where it was to compare"}
)

// jsRequest is what a request says, and jsFenced what keeps a path within a folder.
var (
	jsRequest = regexp.MustCompile(`\b(?:req|request|ctx)\.(?:params|query|body|url|path|headers)\b|\breq\.param\(`)
	// wholeRequest is nothing but what a request says: behind a part of its own it leads nowhere else.
	wholeRequest = regexp.MustCompile(`^(?:req|request|ctx)\.(?:params|query|body)\.\w+$`)
	jsFenced     = regexp.MustCompile(`startsWith\(|basename\(|path\.relative|\.test\(|\.match\(|root:|includes\(|Number\(|parseInt\(|\.has\(`)
	jsGathers    = regexp.MustCompile(`\+=|\.push\(`)
	jsGrows      = regexp.MustCompile(`\.(?:length|byteLength)\b|destroy\(|limit|max|content-length`)
)

func (s *source) script(n code.Node) {
	switch {
	case n.Is("call_expression"):
		s.scriptCall(n)
	case n.Is("new_expression"):
		if first := argument(n, 0); n.Field("constructor").Text() == "Function" && first.OK() && !first.Is("string") {
			s.at(n, evaluates)
		}
	case n.Is("assignment_expression"):
		s.scriptAssignment(n)
	case n.Is("augmented_assignment_expression"):
		if right := n.Field("right"); right.Is("await_expression") && n.Field("left").Is("identifier") && s.shared(n) {
			s.at(n, jsRace)
		}
	case n.Is("pair"):
		if k := strings.Trim(n.Field("key").Text(), `"'`); k == "rejectUnauthorized" && n.Field("value").Text() == "false" {
			s.at(n, jsTLS)
		}
	case n.Is("catch_clause"):
		if body := n.Field("body"); strings.Trim(body.Text(), "{} \t\r\n;") == "" {
			s.at(n, emptyCatch)
		}
	case n.Is("binary_expression"):
		s.scriptComparison(n)
	}
}

// shared tells whether what a node assigns to is declared outside of its function.
func (s *source) shared(n code.Node) bool {
	name := n.Field("left").Text()
	return len(s.assigned[s.scope(n)+name]) == 0
}

func (s *source) scriptCall(n code.Node) {
	name, first := n.Field("function").Text(), s.value(argument(n, 0))
	last := name[strings.LastIndex(name, ".")+1:]
	switch {
	case (name == "eval" || name == "vm.runInThisContext" || name == "vm.runInNewContext") && first.OK() && (!first.Is("string", "template_string") || len(parts(first)) > 0):
		s.at(n, evaluates)
	case (last == "exec" || last == "execSync") && mixes(first) && strings.Contains(s.text, "child_process") && !strings.HasPrefix(name, "/"):
		s.at(n, shellLine)
	case (last == "query" || last == "execute" || last == "raw" || last == "$queryRawUnsafe" || last == "run" || last == "all") && sql(first):
		s.at(n, sqlText)
	case name == "document.write" && mixes(first), last == "insertAdjacentHTML" && mixes(s.value(argument(n, 1))):
		s.at(n, jsHTML)
	case last == "forEach" && strings.HasPrefix(first.Text(), "async"):
		s.at(n, jsForEach)
	case name == "Math.random":
		s.scriptRandom(n)
	case last == "update" && strings.Contains(name, "createHash(") && password.MatchString(first.Text()):
		s.at(n, fastHash)
	case last == "on" && first.Text() == "'data'" || last == "on" && first.Text() == `"data"`:
		s.scriptBody(n)
	case last == "redirect" && wholeRequest.MatchString(s.value(argument(n, len(arguments(n))-1)).Text()) && !s.quiet(n, jsFenced):
		s.at(n, jsRedirect)
	case strings.HasPrefix(name, "fs.") || name == "path.join" || name == "path.resolve" || last == "sendFile" || last == "download":
		s.scriptPath(n)
	}
}

func (s *source) scriptRandom(n code.Node) {
	for p := range n.Around() {
		if p.Is("variable_declarator") && secretName.MatchString(p.Field("name").Text()) || isFunction(p) && secretName.MatchString(p.Field("name").Text()) {
			s.at(n, jsRandom)
			return
		}
	}
}

// scriptBody tells of chunks of a request that are gathered without a look at how much it is.
func (s *source) scriptBody(n code.Node) {
	from := n.Field("function").Field("object").Text()
	if from != "req" && from != "request" && from != "ctx.req" {
		return
	}
	if text := argument(n, 1).Text(); jsGathers.MatchString(text) && !s.quiet(n, jsGrows) {
		s.at(n, jsUnbounded)
	}
}

func (s *source) scriptPath(n code.Node) {
	if s.quiet(n, jsFenced) {
		return
	}
	for _, a := range arguments(n) {
		text := s.value(a).Text()
		if jsRequest.MatchString(text) && !strings.Contains(text, "path.") && !a.Is("arrow_function", "function_expression", "object") {
			s.at(n, jsPath)
			return
		}
	}
}

func (s *source) scriptAssignment(n code.Node) {
	left, right := n.Field("left"), n.Field("right")
	switch {
	case left.Is("member_expression") && left.Field("property").Text() == "innerHTML" && mixes(s.value(right)) && !strings.Contains(s.value(right).Text(), "escape"):
		s.at(n, jsHTML)
	case n.Parent().Is("parenthesized_expression") && n.Parent().Parent().Is("if_statement") && right.Is("string", "number", "true", "false", "null"):
		s.at(n, jsAssign)
	}
}

func (s *source) scriptComparison(n code.Node) {
	op, left, right := n.Field("operator").Text(), n.Field("left"), n.Field("right")
	switch op {
	case "==", "===", "!=", "!==":
		switch {
		case left.Text() == "NaN" || right.Text() == "NaN":
			s.at(n, jsNaN)
		case left.Is("member_expression") && left.Text() == right.Text():
			s.at(n, sameSides)
		}
	case "&&", "||", "<", ">", "<=", ">=":
		if left.Is("member_expression", "identifier") && left.Text() == right.Text() {
			s.at(n, sameSides)
		}
	}
}
