package symbol

import (
	"context"
	"fmt"
	"strings"

	"agency/internal/codebase"
	"agency/internal/tool"
)

// Bounds of what one answer shows.
const (
	mostSymbols = 300
	mostFound   = 50
	mostPlaces  = 150
	mostUnsure  = 30
)

type outlineArgs struct {
	Path  string `json:"path"`
	Depth int    `json:"depth,omitempty" jsonschema:"minimum=1,maximum=8" jsonschema_description:"2 where absent: types and their members."`
}

func outline() tool.Tool {
	return tool.Define(texts, "outline", tool.Read, func(ctx context.Context, env *tool.Env, a outlineArgs) (tool.Result, error) {
		if a.Depth < 0 || a.Depth > 8 {
			return tool.Refuse("depth is 1 to 8"), nil
		}
		if a.Depth == 0 {
			a.Depth = 2
		}
		rel, _, err := env.Files.Stat(a.Path)
		if err != nil {
			return tool.Result{}, err
		}
		out, err := codeOf(env).Outline(ctx, rel, a.Depth, mostSymbols)
		if err != nil {
			return tool.Result{}, err
		}
		text := listed(out.Symbols)
		for _, b := range out.Broken {
			text += "[its syntax has a fault, some may be missing: " + b + "]\n"
		}
		if len(out.Unread) > 0 {
			text += "[not read: " + strings.Join(out.Unread, ", ") + "]\n"
		}
		if out.More {
			text += "[more left out: name a file, or a smaller depth]\n"
		}
		if len(out.Symbols) == 0 {
			text = "nothing is defined there\n" + text
		}
		return tool.OK(text + sure(out.Certainty)), nil
	})
}

type symbolSearchArgs struct {
	Name string `json:"name"`
	Kind string `json:"kind,omitempty" jsonschema:"enum=function,enum=class,enum=method,enum=variable,enum=any" jsonschema_description:"A class is a struct, interface or type, too."`
}

func symbolSearch() tool.Tool {
	return tool.Define(texts, "symbol_search", tool.Read, func(ctx context.Context, env *tool.Env, a symbolSearchArgs) (tool.Result, error) {
		switch a.Kind {
		case "", "any", "function", "class", "method", "variable":
		default:
			return tool.Refuse("kind is function, class, method, variable or any"), nil
		}
		out, err := codeOf(env).Find(ctx, a.Name, codebase.Group(a.Kind), mostFound)
		if err != nil {
			return tool.Result{}, err
		}
		switch {
		case len(out.Symbols) == 0:
			return tool.OK("nothing of that name is defined in the repository's own files; search_files finds text\n" + sure(out.Certainty)), nil
		case out.Near:
			return tool.OK("nothing has exactly that name; these have it in theirs:\n" + listed(out.Symbols) + sure(out.Certainty)), nil
		case out.More:
			return tool.OK(listed(out.Symbols) + "[more left out: name a kind, or more of the path]\n" + sure(out.Certainty)), nil
		}
		return tool.OK(listed(out.Symbols) + sure(out.Certainty)), nil
	})
}

type referencesArgs struct {
	SymbolName string `json:"symbol_name" jsonschema_description:"Push, or Stack.Push."`
	FilePath   string `json:"file_path"`
}

func getSymbolReferences() tool.Tool {
	return tool.Define(texts, "get_symbol_references", tool.Read, func(ctx context.Context, env *tool.Env, a referencesArgs) (tool.Result, error) {
		rel, _, err := env.Files.Stat(a.FilePath)
		if err != nil {
			return tool.Result{}, err
		}
		out, err := codeOf(env).References(ctx, a.SymbolName, rel)
		if err != nil {
			return tool.Result{}, err
		}
		text := shown(out.Places, mostPlaces)
		if out.More {
			text += "[the repository has more files than were looked at; search_files sees all of them]\n"
		}
		if out.Note != "" {
			text += "[" + tool.Printable(out.Note) + "]\n"
		}
		if len(out.Unsure) > 0 {
			text += fmt.Sprintf("may be of something else, %d:\n", len(out.Unsure)) + shown(out.Unsure, mostUnsure)
		}
		return tool.OK(text + sure(out.Certainty)), nil
	})
}

type queryCodebaseArgs struct {
	Query      string `json:"query"`
	MaxResults int    `json:"max_results,omitempty" jsonschema:"minimum=1,maximum=50"`
}

const (
	mostPassages    = 50
	defaultPassages = 10
	longestQuery    = 2000
)

func queryCodebase() tool.Tool {
	return tool.Define(texts, "query_codebase", tool.Read, func(ctx context.Context, env *tool.Env, a queryCodebaseArgs) (tool.Result, error) {
		if a.MaxResults < 0 || a.MaxResults > mostPassages {
			return tool.Refuse(fmt.Sprintf("max_results is 1 to %d", mostPassages)), nil
		}
		if len(a.Query) > longestQuery {
			return tool.Refuse(fmt.Sprintf("the query is too long: the most is %d letters", longestQuery)), nil
		}
		if a.MaxResults == 0 {
			a.MaxResults = defaultPassages
		}
		out, err := codeOf(env).Search(ctx, a.Query, a.MaxResults)
		if err != nil {
			return tool.Result{}, err
		}
		var b strings.Builder
		for _, p := range out.Passages {
			fmt.Fprintf(&b, "%s:%d-%d %s\n", tool.Printable(p.Path), p.Line, p.End, p.Text)
		}
		if len(out.Passages) == 0 {
			b.WriteString("nothing has these words\n")
		}
		if out.Indexing {
			b.WriteString("[the index is being made: these are by the letters of the words; a later call answers better]\n")
		}
		if out.Note != "" {
			fmt.Fprintf(&b, "[%s]\n", tool.Printable(out.Note))
		}
		if out.Partial {
			b.WriteString("[the repository has more text than is searched; search_files sees all of it]\n")
		}
		return tool.OK(b.String() + sure(out.Certainty)), nil
	})
}
