// Package symbol is what an agent does with the symbols of its checkout: looking at what
// files define, finding definitions and references, and editing by names instead of by
// lines. Every answer says how sure it is.
package symbol

import (
	"embed"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/codebase"
	"agency/internal/tool"
)

//go:embed *.md
var texts embed.FS

// Tools are those of this package.
func Tools() []tool.Tool {
	return []tool.Tool{extractFunction(), getSymbolReferences(), outline(), queryCodebase(), renameSymbol(), smartEdit(), symbolSearch()}
}

// codeOf answers for the checkout of a call.
func codeOf(env *tool.Env) codebase.Tree { return tool.CodeOf(env.Files) }

// sure is how an answer says its certainty.
func sure(c codebase.Certainty) string {
	switch c {
	case codebase.Types:
		return "certainty: types"
	case codebase.Syntax:
		return "certainty: syntax (names are not resolved)"
	default:
		return "certainty: text"
	}
}

// listed shows symbols, those of a file under its name.
func listed(all []codebase.Symbol) string {
	var b strings.Builder
	at := ""
	for _, s := range all {
		if s.Path != at {
			at = s.Path
			fmt.Fprintln(&b, tool.Printable(at))
		}
		indent := "  "
		if s.Container != "" {
			indent += strings.Repeat("  ", 1+strings.Count(s.Container, "."))
		}
		fmt.Fprintf(&b, "%s%d-%d %s %s\n", indent, s.Line, s.EndLine, s.Kind, s.Signature)
	}
	return b.String()
}

// shown shows places, at most so many, with what is around them.
func shown(places []codebase.Place, most int) string {
	var b strings.Builder
	for i, p := range places {
		if i == most {
			fmt.Fprintf(&b, "[%s left out]\n", agency.Things(len(places)-i, "more place is", "more places are"))
			break
		}
		in := ""
		switch {
		case p.Defines:
			in = " [definition]"
		case p.In != "":
			in = " [in " + p.In + "]"
		}
		fmt.Fprintf(&b, "%s:%d:%s %s\n", tool.Printable(p.Path), p.Line, in, p.Text)
	}
	return b.String()
}
