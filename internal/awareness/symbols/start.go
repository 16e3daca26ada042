package symbols

import (
	"slices"
	"strings"

	"agency/internal/code"
)

// starters are names of functions by which programs start.
var starters = Words(`main _main amain cli run_cli runCli entrypoint entry_point console_main`)

// readStart finds the functions that are part of how a program starts: those
// named so, those that are called from there only and give nothing back, and
// those that signals call.
func (r *Reader) readStart() map[int]bool {
	out := map[int]bool{}
	r.start = out
	for _, f := range r.Functions {
		inClass := f.Node.Is("method_definition")
		for a := range f.Node.Around() {
			inClass = inClass || a.Is("class_definition")
		}
		if starters[f.Name] && !inClass || r.handlesSignal(f) {
			out[f.Node.Start()] = true
		}
	}
	refs := map[string][]code.Node{}
	for n := range r.Root.All() {
		if n.Is("identifier", "shorthand_property_identifier", "property_identifier") {
			refs[n.Text()] = append(refs[n.Text()], n)
		}
	}
	for grew := true; grew; {
		grew = false
		for _, f := range r.Functions {
			if f.Name == "" || out[f.Node.Start()] || f.givesValue() {
				continue
			}
			uses, fits := 0, true
			for _, n := range refs[f.Name] {
				if n.Start() >= f.Node.Start() && n.End() <= f.Node.End() || n.End() <= f.Body.Start() && n.Parent().Start() == f.Node.Parent().Start() {
					continue
				}
				uses++
				fits = fits && r.Starts(n)
			}
			if uses > 0 && fits {
				out[f.Node.Start()], grew = true, true
			}
		}
	}
	return out
}

// handlesSignal tells of a function that is handed to what waits for signals.
func (r *Reader) handlesSignal(f Function) bool {
	call := f.Node.Parent().Parent()
	if f.Node.Parent().Is("arguments", "argument_list") && r.waits(call) {
		return true
	}
	for n := range r.Root.All() {
		if !n.Is("call", "call_expression") || f.Name == "" || !r.waits(n) {
			continue
		}
		for _, a := range n.Field("arguments").Parts() {
			if a.Text() == f.Name || strings.HasSuffix(a.Text(), "."+f.Name) {
				return true
			}
		}
	}
	return false
}

func (r *Reader) waits(call code.Node) bool {
	args := call.Field("arguments").Parts()
	if len(args) < 2 {
		return false
	}
	for _, p := range r.Paths(call.Field("function")) {
		switch p {
		case "signal.signal":
			return true
		case "process.on", "process.once":
			t, _ := r.TextOf(args[0], 0)
			return strings.HasPrefix(t, "SIG")
		}
	}
	return false
}

// Starts tells whether a node is part of how a program starts.
func (r *Reader) Starts(n code.Node) bool {
	inFunction := false
	for a := range n.Around() {
		if a.Is(functionKinds...) {
			if r.start[a.Start()] {
				return true
			}
			inFunction = true
		}
		if a.Is("if_statement") && r.Guards(a) {
			c := a.Field("consequence")
			return n.Start() >= c.Start() && n.End() <= c.End()
		}
	}
	return r.Options.Program && !inFunction
}

// Guards tells whether a statement asks if the module is the program.
func (r *Reader) Guards(n code.Node) bool {
	if Owner(n).OK() {
		return false
	}
	c := n.Field("condition")
	for c.Is("parenthesized_expression") && len(c.Parts()) == 1 {
		c = c.Parts()[0]
	}
	switch c.Kind() {
	case "comparison_operator":
		t := strings.NewReplacer(" ", "", "'", `"`).Replace(c.Text())
		return t == `__name__=="__main__"` || t == `"__main__"==__name__`
	case "binary_expression":
		return r.AsksMain(c)
	case "member_expression":
		return c.Text() == "import.meta.main"
	}
	return false
}

// AsksMain tells of `require.main === module` and what stands for it in modules
// of the newer kind.
func (r *Reader) AsksMain(c code.Node) bool {
	if op := c.Field("operator").Text(); op != "===" && op != "==" {
		return false
	}
	sides := []string{c.Field("left").Text(), c.Field("right").Text()}
	slices.Sort(sides)
	text := strings.Join(sides, " ")
	return text == "module require.main" ||
		strings.Contains(text, "process.argv[1]") && (strings.Contains(text, "import.meta") || strings.Contains(text, "__filename"))
}
