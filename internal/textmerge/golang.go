package textmerge

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// goParts takes a Go file into its declarations, exactly.
func goParts(text []string) ([]part, error) {
	fset, f, err := parseGo(text)
	if err != nil {
		return nil, err
	}
	line := func(p token.Pos) int { return fset.Position(p).Line - 1 }
	head := line(f.Name.End()) + 1
	var out []part
	var seen []string
	for _, d := range f.Decls {
		g, isGen := d.(*ast.GenDecl)
		end := line(d.End()) + 1
		if isGen && g.Tok == token.IMPORT {
			if len(out) > 0 {
				return nil, doubt("imports after declarations")
			}
			head = end
			continue
		}
		from := head
		if n := len(out); n > 0 {
			from = out[n-1].inner[1]
		}
		if line(d.Pos()) < from {
			return nil, doubt("two declarations on one line")
		}
		p := part{kind: declaration, lines: text[from:end], inner: [2]int{from, end}}
		p.key, p.names = goKey(d)
		if slices.Contains(seen, p.key) {
			return nil, doubt("%s is declared twice", p.key)
		}
		seen = append(seen, p.key)
		out = append(out, p)
	}
	tail := head
	if n := len(out); n > 0 {
		tail = out[n-1].inner[1]
	}
	out = append([]part{{kind: goHead, key: "the imports", lines: text[:head]}}, out...)
	if tail < len(text) {
		out = append(out, part{key: "the end", lines: text[tail:]})
	}
	return out, nil
}

func parseGo(text []string) (*token.FileSet, *ast.File, error) {
	fset := token.NewFileSet()
	// A line directive would name other lines than those of the text.
	for _, l := range text {
		if strings.HasPrefix(l, "//line ") || strings.Contains(l, "/*line ") {
			return nil, nil, doubt("a line directive")
		}
	}
	f, err := parser.ParseFile(fset, "", strings.Join(append(slices.Clone(text), ""), "\n"), parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, doubt("it does not parse: %v", err)
	}
	return fset, f, nil
}

// goKey names a declaration: a group is known by any of its names.
func goKey(d ast.Decl) (key string, names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || len(d.Recv.List) == 0 {
			return "func " + d.Name.Name, nil
		}
		return "method " + receiver(d.Recv.List[0].Type) + "." + d.Name.Name, nil
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, "type "+s.Name.Name)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.Name != "_" {
						names = append(names, d.Tok.String()+" "+n.Name)
					}
				}
			}
		}
		if len(names) > 0 {
			return names[0], names
		}
	}
	return "a declaration without a name", nil
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.ParenExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

// goImport is one import of a file.
type goImport struct {
	spec string // name and path as they stand there
	path string
	line int
}

// goImports lists the imports of the first lines of a file, and the other lines.
func goImports(head []string) (list []goImport, rest []string, err error) {
	fset, f, err := parseGo(head)
	if err != nil {
		return nil, nil, err
	}
	import1 := map[int]bool{}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT {
			return nil, nil, doubt("more than imports")
		}
		for _, s := range g.Specs {
			s := s.(*ast.ImportSpec)
			i := goImport{spec: s.Path.Value, line: fset.Position(s.Pos()).Line - 1}
			if i.path, err = strconv.Unquote(s.Path.Value); err != nil || i.path == "C" || import1[i.line] {
				return nil, nil, doubt("an import that is not plain")
			}
			if s.Name != nil {
				i.spec = s.Name.Name + " " + i.spec
			}
			if g.Lparen.IsValid() && fset.Position(g.Lparen).Line == fset.Position(s.Pos()).Line {
				return nil, nil, doubt("an import that is not plain")
			}
			import1[i.line] = true
			list = append(list, i)
		}
		for n := fset.Position(g.Pos()).Line - 1; n < fset.Position(g.End()).Line; n++ {
			code, _, _ := strings.Cut(head[n], "//")
			if !import1[n] && strings.TrimSpace(code) == "" && strings.TrimSpace(head[n]) != "" {
				return nil, nil, doubt("a comment between imports")
			}
			import1[n] = true
		}
	}
	for n, l := range head {
		if !import1[n] && strings.TrimSpace(l) != "" {
			rest = append(rest, l)
		}
	}
	return list, rest, nil
}

// mergeGoHead gives the imports that theirs brings and takes to ours.
func mergeGoHead(base, ours, theirs []string) ([]string, error) {
	b, restB, err := goImports(base)
	if err != nil {
		return nil, err
	}
	o, restO, err := goImports(ours)
	if err != nil {
		return nil, err
	}
	t, restT, err := goImports(theirs)
	if err != nil {
		return nil, err
	}
	switch {
	case slices.Equal(restB, restT):
	case slices.Equal(restB, restO):
		ours, theirs, o, t = theirs, ours, t, o
	default:
		return nil, doubt("both sides change what is before the imports")
	}
	has := func(list []goImport, spec string) int {
		return slices.IndexFunc(list, func(i goImport) bool { return i.spec == spec })
	}
	out := slices.Clone(ours)
	var dropped []int
	for _, i := range b {
		if at := has(o, i.spec); has(t, i.spec) < 0 && at >= 0 {
			dropped = append(dropped, o[at].line)
		}
	}
	for _, i := range t {
		if has(b, i.spec) >= 0 || has(o, i.spec) >= 0 {
			continue
		}
		if slices.ContainsFunc(o, func(x goImport) bool { return x.path == i.path }) {
			return nil, doubt("both sides import %s", i.path)
		}
		at, err := place(out, o, i)
		if err != nil {
			return nil, err
		}
		line := theirs[i.line]
		if code := strings.TrimSpace(line); strings.HasPrefix(code, "import") {
			line = "\t" + strings.TrimSpace(strings.TrimPrefix(code, "import"))
		}
		out = slices.Insert(out, at, line)
		for k := range o {
			if o[k].line >= at {
				o[k].line++
			}
		}
		for k := range dropped {
			if dropped[k] >= at {
				dropped[k]++
			}
		}
		i.line = at
		o = append(o, i)
		slices.SortFunc(o, func(a, b goImport) int { return a.line - b.line })
	}
	slices.Sort(dropped)
	for _, n := range slices.Backward(dropped) {
		if strings.HasPrefix(strings.TrimSpace(out[n]), "import") {
			return nil, doubt("an import that stands alone")
		}
		out = slices.Delete(out, n, n+1)
	}
	return out, nil
}

// place is the line of the group of imports in which a new one belongs: after
// the last of its group that sorts before it.
func place(head []string, have []goImport, i goImport) (int, error) {
	best, score := -1, -1
	for k, h := range have {
		if strings.HasPrefix(strings.TrimSpace(head[h.line]), "import") {
			return 0, doubt("imports without a group")
		}
		s := likeness(h.path, i.path)
		if s > score || s == score && h.path < i.path {
			best, score = k, s
		}
	}
	if best < 0 {
		return 0, doubt("no group of imports")
	}
	at := have[best].line
	for at > 0 && importBefore(have, at-1) >= 0 && have[importBefore(have, at-1)].path > i.path {
		at--
	}
	if k := importBefore(have, at); k >= 0 && have[k].path < i.path {
		at++
	}
	return at, nil
}

func importBefore(have []goImport, line int) int {
	return slices.IndexFunc(have, func(i goImport) bool { return i.line == line })
}

// likeness tells the groups that gofmt's users keep apart: the standard
// library, whose first element has no dot, and each other host.
func likeness(a, b string) int {
	firstA, _, _ := strings.Cut(a, "/")
	firstB, _, _ := strings.Cut(b, "/")
	switch {
	case firstA == firstB && strings.Contains(firstA, "."):
		return 3
	case strings.Contains(firstA, ".") == strings.Contains(firstB, "."):
		return 2
	}
	return 1
}
