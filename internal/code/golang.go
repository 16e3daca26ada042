package code

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"agency/internal/regexp"
)

// goFile is a Go file. Positions are those of the file itself: what //line says
// is not heeded.
type goFile struct {
	name   string
	src    []byte
	file   *ast.File
	pos    *token.File
	broken bool
	faults []int // bytes of errors, in order, that are left without what does not parse
}

func readGo(name string, src []byte) *goFile {
	f := &goFile{name: name, src: src}
	if f.parse(src); len(f.faults) > 0 {
		f.broken = true
		f.parse(withoutBroken(src))
	}
	return f
}

func (f *goFile) parse(src []byte) {
	set := token.NewFileSet()
	var err error
	f.faults = nil
	f.file, err = parser.ParseFile(set, f.name, src, parser.ParseComments|parser.SkipObjectResolution|parser.AllErrors)
	set.Iterate(func(p *token.File) bool { f.pos = p; return false })
	switch list := err.(type) {
	case nil:
	case scanner.ErrorList:
		for _, e := range list {
			f.faults = append(f.faults, e.Pos.Offset)
		}
		slices.Sort(f.faults)
	default:
		f.faults = []int{0}
	}
}

var goTop = regexp.MustCompile(`(?m)^(?:func|type|var|const|import)\b`)

// withoutBroken puts blanks in the place of the declarations that do not parse,
// as gofmt sets them: behind a first error the parser sees nothing more.
func withoutBroken(src []byte) []byte {
	out := slices.Clone(src)
	starts := goTop.FindAllIndex(src, -1)
	for i, at := range starts {
		end := len(src)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		part := append([]byte("package p\n"), src[at[0]:end]...)
		if _, err := parser.ParseFile(token.NewFileSet(), "", part, parser.SkipObjectResolution); err == nil {
			continue
		}
		for k := at[0]; k < end; k++ {
			if out[k] != '\n' {
				out[k] = ' '
			}
		}
	}
	return out
}

func (f *goFile) at(p token.Pos) int { return f.pos.Offset(p) }

func (f *goFile) functions() (fns []Function, broken bool) {
	for _, d := range f.declared() {
		fns = append(fns, f.function(d))
	}
	return fns, f.broken
}

// declared are the functions that are whole and have a body.
func (f *goFile) declared() (out []*ast.FuncDecl) {
	if f.file == nil || f.pos == nil {
		return nil
	}
	for _, d := range f.file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil || !fn.Body.Lbrace.IsValid() || !fn.Body.Rbrace.IsValid() {
			continue
		}
		from, to := f.at(fn.Pos()), f.at(fn.Body.Rbrace)
		next, _ := slices.BinarySearch(f.faults, from)
		if to >= len(f.src) || f.src[to] != '}' || next < len(f.faults) && f.faults[next] <= to {
			continue
		}
		out = append(out, fn)
	}
	return out
}

func (f *goFile) function(d *ast.FuncDecl) Function {
	out := Function{
		Name:      d.Name.Name,
		Start:     f.at(d.Pos()),
		End:       f.at(d.Body.Rbrace) + 1,
		BodyStart: f.at(d.Body.Lbrace) + 1,
		BodyEnd:   f.at(d.Body.Rbrace),
		Test:      f.isTest(d),
	}
	lines := f.pos.Lines()
	out.FromLine, out.ToLine = lineTable(lines).line(out.Start), lineTable(lines).line(out.BodyEnd)
	if d.Recv != nil && len(d.Recv.List) > 0 {
		out.Name = Receiver(d.Recv.List[0].Type) + "." + out.Name
	}
	return out
}

// definitions are the functions, types, constants and variables of the file.
func (f *goFile) definitions() (out []Definition, broken bool) {
	if f.file == nil || f.pos == nil {
		return nil, true
	}
	add := func(name string, n ast.Node) {
		out = append(out, Definition{name, Span{f.at(n.Pos()), min(f.at(n.End()), len(f.src))}})
	}
	for _, d := range f.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil && len(d.Recv.List) > 0 {
				name = Receiver(d.Recv.List[0].Type) + "." + name
			}
			add(name, d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					add(spec.Name.Name, spec)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						add(name.Name, spec)
					}
				}
			}
		}
	}
	return out, f.broken
}

// Receiver is the name of the type that a method of Go is of; empty where there is none.
func Receiver(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// isTest is the rule of go test (go help testfunc).
func (f *goFile) isTest(d *ast.FuncDecl) bool {
	if !f.tests() || d.Recv != nil || d.Type.Results.NumFields() > 0 {
		return false
	}
	for prefix, param := range map[string]string{"Test": "T", "Fuzz": "F", "Example": ""} {
		rest, ok := strings.CutPrefix(d.Name.Name, prefix)
		if first, _ := utf8.DecodeRuneInString(rest); !ok || unicode.IsLower(first) {
			continue
		}
		if param == "" {
			return d.Type.Params.NumFields() == 0
		}
		return d.Type.Params.NumFields() == 1 && f.isOfTesting(d.Type.Params.List[0].Type, param)
	}
	return false
}

func (f *goFile) isOfTesting(e ast.Expr, name string) bool {
	star, ok := e.(*ast.StarExpr)
	if !ok {
		return false
	}
	sel, ok := star.X.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	if !ok {
		return false
	}
	for _, i := range f.file.Imports {
		if i.Path.Value == `"testing"` {
			return i.Name == nil && pkg.Name == "testing" || i.Name != nil && i.Name.Name == pkg.Name
		}
	}
	return false
}

// tests tells whether the file belongs to the tests of its package.
func (f *goFile) tests() bool { return strings.HasSuffix(path.Base(f.name), "_test.go") }

func (f *goFile) testSpans() (all, top []Span) { return nil, nil }

// tokens are those of the scanner, without what gofmt may add or take away: a
// comma before a bracket that closes, the end of a last statement.
func (f *goFile) tokens(from, to int) (out []lexeme) {
	var sc scanner.Scanner
	set := token.NewFileSet()
	pos := set.AddFile(f.name, -1, to-from)
	sc.Init(pos, f.src[from:to], nil, 0)
	for {
		p, tok, lit := sc.Scan()
		if tok == token.EOF {
			return out
		}
		t := lexeme{text: lit, at: from + pos.Offset(p), form: word}
		switch {
		case tok == token.SEMICOLON:
			t.text, t.form = "\n", structure
		case tok == token.IDENT:
			t.form = name
		case lit == "":
			t.text = tok.String()
		}
		last := len(out) - 1
		if closes := tok == token.RPAREN || tok == token.RBRACE || tok == token.RBRACK; closes && last >= 0 &&
			(out[last].text == "," || out[last].form == structure) {
			out = out[:last]
		}
		out = append(out, t)
	}
}
