package code

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// In Go the switch is a statement behind the brace, and what it asks stands at
// the end of the file, so that a file is whole by itself under any build
// constraint. It needs two imports, which are put behind the package clause
// under names of their own.
//
// Zero is what variables of the results' types hold. Other is known of the
// predeclared types and of error. Where a parameter hides the name of a
// result's type, and where a type takes several lines, every cut panics; main
// only returns, however it is cut.

func (f *goFile) switched(cuts []SwitchedFunction, n switchNames) (Switched, error) {
	out := Switched{Source: slices.Clone(f.src)}
	ids := map[int]string{}
	for _, c := range cuts {
		ids[c.Start] = c.ID
	}
	why := f.unfit()
	linked := f.linknamed()
	var edits []edit
	for _, d := range f.declared() {
		id, ok := ids[f.at(d.Pos())]
		switch {
		case !ok:
			continue
		case why != "":
			out.Skipped = append(out.Skipped, Skipped{id, why})
			continue
		case linked[d.Name.Name]:
			out.Skipped = append(out.Skipped, Skipped{id, "linked to by name"})
			continue
		case bare(d.Doc):
			out.Skipped = append(out.Skipped, Skipped{id, "a function that must not call others"})
			continue
		}
		at := f.at(d.Body.Lbrace) + 1
		edits = append(edits, edit{at: at, end: at, text: f.switchText(d, id, n)})
	}
	if len(edits) == 0 {
		return out, nil
	}
	at := f.at(f.file.Name.End())
	imports := fmt.Sprintf(`; import (agencyOs_%s "os"; agencySync_%[1]s "sync")`, n.mark)
	edits = append(edits, edit{at: at, end: at, text: imports}, epilogue(f.src, goHelper(n)))
	out.Source = apply(f.src, edits)
	return out, nil
}

// unfit says why none of the file's functions gets a switch; "" where they may.
func (f *goFile) unfit() string {
	if f.tests() {
		return "a file of tests"
	}
	for _, i := range f.file.Imports {
		if i.Path.Value == `"C"` {
			return "a file with C in it"
		}
	}
	return ""
}

// linknamed are the functions that //go:linkname names.
func (f *goFile) linknamed() map[string]bool {
	out := map[string]bool{}
	for _, g := range f.file.Comments {
		for _, c := range g.List {
			if rest, ok := strings.CutPrefix(c.Text, "//go:linkname "); ok {
				if words := strings.Fields(rest); len(words) > 0 {
					out[words[0]] = true
				}
			}
		}
	}
	return out
}

// bare tells whether a function runs where no other may be called.
func bare(doc *ast.CommentGroup) bool {
	if doc == nil {
		return false
	}
	for _, c := range doc.List {
		switch word, _, _ := strings.Cut(c.Text, " "); word {
		case "//go:nosplit", "//go:systemstack", "//go:nowritebarrier", "//go:nowritebarrierrec":
			return true
		}
	}
	return false
}

// switchText is the statement at the body's start.
func (f *goFile) switchText(d *ast.FuncDecl, id string, n switchNames) string {
	ask := func(mode int) string { return fmt.Sprintf(` switch %s("%s", %d) { `, n.fn(), id, mode) }
	results := d.Type.Results
	switch {
	case d.Recv == nil && d.Name.Name == "main" && f.file.Name.Name == "main":
		return ask(modeNever) + `case 1: return }; `
	case results.NumFields() == 0:
		return ask(modeAll) + `case 1, 2, 3: return }; `
	}
	isZero, isOther := "case 1, 3: ", "case 2: "
	if maybe(results) {
		isZero, isOther = "case 1: ", "case 2, 3: "
	}
	if len(results.List[0].Names) > 0 {
		return ask(modeAll) + isZero + `return; ` + isOther + f.named(results, n) + `return }; `
	}
	hidden := parameters(d)
	var zeros, zero, others, other string
	for i, r := range results.List {
		text := string(f.src[f.at(r.Type.Pos()):f.at(r.Type.End())])
		if strings.Contains(text, "\n") || mentions(r.Type, hidden) {
			return ask(modePanic) + `}; `
		}
		v := fmt.Sprintf("agencyZero%d_%s", i, n.mark)
		declared := "var " + v + " " + text + "; "
		zeros, zero = zeros+declared, zero+", "+v
		if o := goOther(r.Type, n); o != "" {
			v, declared = o, ""
		}
		others, other = others+declared, other+", "+v
	}
	return ask(modeAll) + isZero + zeros + "return " + zero[2:] + "; " + isOther + others + "return " + other[2:] + " }; "
}

// maybe tells of a value that comes with whether it is there.
func maybe(results *ast.FieldList) bool {
	last, ok := results.List[len(results.List)-1].Type.(*ast.Ident)
	return ok && last.Name == "bool" && results.NumFields() > 1
}

// named assigns to the results that have names, which hold zero by themselves.
func (f *goFile) named(results *ast.FieldList, n switchNames) string {
	var b strings.Builder
	for _, r := range results.List {
		for _, name := range r.Names {
			if v := goOther(r.Type, n); v != "" && name.Name != "_" {
				fmt.Fprintf(&b, "%s = %s; ", name.Name, v)
			}
		}
	}
	return b.String()
}

// parameters are the names that a function's signature declares.
func parameters(d *ast.FuncDecl) map[string]bool {
	out := map[string]bool{}
	for _, list := range []*ast.FieldList{d.Recv, d.Type.Params} {
		if list == nil {
			continue
		}
		for _, p := range list.List {
			for _, name := range p.Names {
				out[name.Name] = true
			}
		}
	}
	return out
}

func mentions(e ast.Expr, names map[string]bool) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && names[id.Name] {
			found = true
		}
		return !found
	})
	return found
}

// goOther is an expression of a type that is not its zero value; "" where none
// is known. It uses no name that the file could have given another meaning.
func goOther(e ast.Expr, n switchNames) string {
	switch x := e.(type) {
	case *ast.Ident:
		switch x.Name {
		case "bool":
			return "0 == 0"
		case "string", "any":
			return `"taken out"`
		case "error":
			return "agencyCutError_" + n.mark + "{}"
		case "int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16", "uint32", "uint64", "uintptr",
			"byte", "rune", "float32", "float64", "complex64", "complex128":
			return "1"
		}
	case *ast.InterfaceType:
		if x.Methods.NumFields() == 0 {
			return `"taken out"`
		}
	}
	return ""
}

// goHelper is what a file's switches ask. The variable is read when the first
// one does, which can be before the package's own variables are set.
func goHelper(n switchNames) string {
	return strings.NewReplacer("MARK", n.mark, "ENV", n.env).Replace(`
var (
	agencyOnce_MARK  agencySync_MARK.Once
	agencyValue_MARK string
)

type agencyCutError_MARK struct{}

func (agencyCutError_MARK) Error() string { return "taken out" }

func agencyCut_MARK(id string, mode int) int {
	agencyOnce_MARK.Do(func() { agencyValue_MARK = agencyOs_MARK.Getenv("ENV") })
	switch agencyValue_MARK {
	case "":
		return 0
	case "zero:" + id, "zero:*":
		if mode < 2 {
			return 1
		}
	case "there:" + id, "there:*":
		if mode < 2 {
			return 3
		}
	case "other:" + id, "other:*":
		if mode < 1 {
			return 2
		}
	case "panic:" + id, "panic:*":
	default:
		return 0
	}
	if mode == 3 {
		return 1
	}
	panic("taken out")
}
`)
}
