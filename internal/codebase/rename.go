package codebase

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"agency/internal/code"
	"agency/internal/code/gotypes"
	"agency/internal/code/symbols"
	"agency/internal/regexp"
)

// syntaxRename renames what syntax alone can follow: something at the top of a file, the
// only one of its name in the repository, that each file which uses it imports by its name.
// Whatever else has the name, a member, a string, a local variable, refuses the whole.
type syntaxRename struct {
	t      Tree
	file   symbols.File
	text   []byte
	d      symbols.Definition
	to     string
	after  map[string][]byte
	places int
	told   int // of them, in tests that stand in comments
	bad    []string
}

// plainName is a name in every language here.
var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// isModule finds what tells a module of JavaScript from a script, whose names are all the
// page's.
var isModule = regexp.MustCompile(`(?m)^\s*(?:import|export)\b|\brequire\s*\(|\bmodule\.exports\b`)

func no(format string, args ...any) error {
	return &gotypes.Refused{Why: fmt.Sprintf(format, args...)}
}

func (r *syntaxRename) run(ctx context.Context) error {
	if err := r.may(); err != nil {
		return err
	}
	if err := computed(ctx, r.t, r.file, r.text, r.d); err != nil {
		return err
	}
	err := r.t.walk(ctx, ".", func(p string) bool {
		if r.d.Container != "" && p != r.file.Path {
			return true // where its module is not seen
		}
		text := r.t.read(p)
		if text == nil && family(p) == family(r.file.Path) { // code, larger than is read
			r.bad = append(r.bad, p+": it cannot be read, and may use the name")
		}
		if hasWord(text, r.d.Name, 0) >= 0 {
			r.visit(ctx, p, text)
		}
		return ctx.Err() == nil
	})
	if errors.Is(err, errTooMany) {
		return no("%v: not all that use it would be seen", err)
	}
	if err != nil {
		return err
	}
	if len(r.bad) > 0 {
		if len(r.bad) > maxNotes {
			r.bad = append(r.bad[:maxNotes], fmt.Sprintf("and %d more", len(r.bad)-maxNotes))
		}
		return &gotypes.Refused{Why: "only types could tell what these places mean, and there are none of this language here", Places: r.bad}
	}
	return r.check(ctx)
}

// may tells whether syntax can follow such a definition at all.
func (r *syntaxRename) may() error {
	d, at := r.d, r.file.Path
	switch r.file.Language {
	case code.Python, code.Rust:
	case code.JavaScript, code.TypeScript, code.TSX:
		if !isModule.Match(r.text) {
			return no("%s is no module: its names are those of every script beside it", at)
		}
	case code.C:
		if !strings.HasPrefix(d.Signature, "static ") {
			return no("%s is not static: what other files and libraries link to is not told by syntax", d.Name)
		}
	default:
		return no("the syntax of %s does not tell which uses of a name are of one definition", r.file.Language)
	}
	switch {
	case !plainName.MatchString(r.to):
		return no("%q is no name", r.to)
	case r.to == d.Name:
		return no("it has this name already")
	case d.Container != "" && !r.private() || d.Kind == symbols.Method || d.Kind == symbols.Field:
		return no("%s is a member: which uses of a member are of one type is not told by syntax", d.Path())
	case strings.HasPrefix(d.Name, "__") || d.Name == "main" || strings.HasPrefix(d.Name, "test") && r.file.Language == code.Python:
		return no("%s is called by its name", d.Name)
	case strings.HasPrefix(string(r.text[d.Start:d.Head]), "@"):
		return no("%s has a decorator, which may know it by its name", d.Name)
	case r.attributed():
		return no("%s has an attribute, which may know it by its name", d.Name)
	case r.file.Fault != nil:
		return no("%s has a fault in its syntax, in line %d", at, r.file.Fault.Line)
	}
	return nil
}

// visit looks at a file with the name in it.
func (r *syntaxRename) visit(ctx context.Context, p string, text []byte) {
	refuse := func(at int, why string) {
		line, n := lineAt(text, at)
		r.bad = append(r.bad, fmt.Sprintf("%s:%d (%s): %s", p, n, why, line))
	}
	if code.SyntaxOf(p) == "" {
		switch in := told(text, r.d.Name, nil); {
		case !prose(p):
			refuse(hasWord(text, r.d.Name, 0), "in a file of another kind")
		case in != nil && included(ctx, r.t, r.file.Language, p):
			refuse(in[0], "in a test of its crate's documentation")
		}
		return
	}
	f, err := r.t.symbols(ctx, p, text)
	if err != nil || family(p) != family(r.file.Path) {
		if at := inCode(f, text, r.d.Name); at >= 0 || err != nil {
			refuse(max(at, 0), "in another language, or unread")
		}
		return
	}
	imported := p == r.file.Path
	for _, n := range f.Uses(r.d.Name) {
		if n.Role == symbols.Imports && r.from(n.From) {
			imported = true
		}
	}
	names := map[int]bool{}
	var refs []gotypes.Ref
	for _, n := range f.Uses(r.d.Name) {
		names[n.Start] = true
		switch why := r.doubt(p, n, imported); why {
		case "":
			refs = append(refs, gotypes.Ref{Path: p, Start: n.Start, End: n.End})
		default:
			refuse(n.Start, why)
		}
	}
	for at := hasWord(text, r.d.Name, 0); at >= 0; at = hasWord(text, r.d.Name, at+1) {
		if !names[at] && !within(f.Comments, at) {
			refuse(at, "in a string")
		}
	}
	for _, at := range toldIn(f, text, r.d.Name) {
		if at > 0 && text[at-1] == '.' {
			refuse(at, "a member of what is not known, in a test in a comment")
			continue
		}
		refs = append(refs, gotypes.Ref{Path: p, Start: at, End: at + len(r.d.Name)})
		r.told++
	}
	inOrder(refs)
	if at := inCode(f, text, r.to); at >= 0 && len(refs) > 0 {
		refuse(at, "has the new name already")
	}
	if len(refs) > 0 {
		r.after[p] = renamed(text, refs, r.to)
		r.places += len(refs)
	}
}

// doubt says why a place may not be of the definition; "" where it is.
func (r *syntaxRename) doubt(p string, n symbols.Name, imported bool) string {
	switch n.Role {
	case symbols.Defines:
		if p != r.file.Path || n.Start != r.d.NameStart {
			return "another definition"
		}
	case symbols.Binds:
		return "another thing in its scope"
	case symbols.Member:
		return "a member of what is not known"
	case symbols.Imports:
		if !r.from(n.From) {
			return "imported from elsewhere"
		}
	default:
		if !imported {
			return "not imported there by its name"
		}
	}
	if m, ok := r.module(); ok && (n.Start < m.Start || n.Start >= m.End) {
		return "not in its module"
	}
	return ""
}

// from tells whether an import names the module that the definition is in.
func (r *syntaxRename) from(module string) bool {
	if r.file.Language == code.Rust {
		parts := strings.Split(strings.Trim(module, "{} "), "::")
		module = parts[max(0, len(parts)-2)]
		if len(parts) == 1 || module == "crate" || module == "super" || module == "self" {
			return len(parts) > 1
		}
	}
	stem := strings.TrimSuffix(path.Base(r.file.Path), path.Ext(r.file.Path))
	if stem == "index" || stem == "__init__" || stem == "mod" || stem == "lib" {
		stem = path.Base(path.Dir(r.file.Path))
	}
	last := strings.TrimRight(module, "/")
	if family(r.file.Path) == "script" {
		if !strings.HasPrefix(last, ".") {
			return false // a package of others
		}
		last = path.Base(last)
		if ext := path.Ext(last); code.SyntaxOf(last) != "" {
			last = strings.TrimSuffix(last, ext)
		}
		return last == stem || last == "." || last == "index"
	}
	return last[strings.LastIndexByte(last, '.')+1:] == stem
}

// inCode is where a file's code has a name, or -1.
func inCode(f symbols.File, text []byte, name string) int {
	for at := hasWord(text, name, 0); at >= 0; at = hasWord(text, name, at+1) {
		if !within(f.Comments, at) {
			return at
		}
	}
	return -1
}

func within(spans [][2]int, at int) bool {
	for _, s := range spans {
		if s[0] <= at && at < s[1] {
			return true
		}
	}
	return false
}

// prose tells whether a file is for people: a name in it calls nothing.
func prose(p string) bool {
	switch strings.ToLower(path.Ext(p)) {
	case ".md", ".txt", ".rst", ".adoc", "":
		return true
	}
	return false
}

func renamed(text []byte, refs []gotypes.Ref, to string) (out []byte) {
	at := 0
	for _, ref := range refs {
		out = append(append(out, text[at:ref.Start]...), to...)
		at = ref.End
	}
	return append(out, text[at:]...)
}

// check reads what was renamed again.
func (r *syntaxRename) check(ctx context.Context) error {
	places := 0
	for p, text := range r.after {
		f, err := r.t.symbols(ctx, p, text)
		if err != nil {
			return err
		}
		if f.Fault != nil {
			return no("with it %s:%d:%d would be no syntax: %s", p, f.Fault.Line, f.Fault.Column, f.Fault.What)
		}
		places += len(f.Uses(r.to))
	}
	if places != r.places-r.told || places == 0 {
		return no("%s is a word of the language", r.to)
	}
	return nil
}
