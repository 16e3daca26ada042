package codebase

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"agency/internal/agency"
	"agency/internal/code"
	"agency/internal/code/gotypes"
	"agency/internal/code/symbols"
)

func itoa(n int) string { return strconv.Itoa(n) }

// Symbol is a definition with the file that it is in.
type Symbol struct {
	Path      string       `json:"path"`
	Line      int          `json:"line"`
	EndLine   int          `json:"end_line"`
	Name      string       `json:"name"`
	Container string       `json:"container,omitempty"`
	Kind      symbols.Kind `json:"kind"`
	Signature string       `json:"signature"`
}

func symbolOf(path string, d symbols.Definition) Symbol {
	return Symbol{path, d.Line, d.EndLine, d.Name, d.Container, d.Kind, d.Signature}
}

// Outlined is what a file or the files of a folder define.
type Outlined struct {
	Certainty Certainty `json:"certainty"`
	Symbols   []Symbol  `json:"symbols"`
	Broken    []string  `json:"broken,omitempty"` // files with a fault in their syntax, of which some may be missing
	Unread    []string  `json:"unread,omitempty"` // source files that could not be read in bounds
	More      bool      `json:"more,omitempty"`   // there are more than are listed
}

// Outline lists what the files at a path define, down to so many levels of containers. Of a
// folder it takes the files of the folder itself.
func (t Tree) Outline(ctx context.Context, at string, depth, most int) (Outlined, error) {
	out := Outlined{Certainty: Syntax}
	i, err := fs.Stat(t.fsys, at)
	if err != nil {
		return out, agency.Errorf(agency.KindNotFound, "%s does not exist", at)
	}
	files := []string{at}
	if i.IsDir() {
		if files, err = here(t, at); err != nil {
			return out, err
		}
	} else if code.SyntaxOf(at) == "" {
		return out, agency.Errorf(agency.KindInvalid, "the symbols of %s cannot be told: no syntax of its language is known", at)
	}
	for _, name := range files {
		f, _, err := t.source(ctx, name)
		switch {
		case err != nil && ctx.Err() != nil:
			return out, ctx.Err()
		case err != nil:
			out.Unread = append(out.Unread, name)
			continue
		case f.Fault != nil:
			out.Broken = append(out.Broken, fmt.Sprintf("%s:%d:%d: %s", name, f.Fault.Line, f.Fault.Column, f.Fault.What))
		}
		for _, d := range f.Definitions {
			if d.Container != "" && strings.Count(d.Container, ".")+2 > depth {
				continue
			}
			if len(out.Symbols) == most {
				out.More = true
				return out, nil
			}
			out.Symbols = append(out.Symbols, symbolOf(name, d))
		}
	}
	return out, nil
}

// here are the source files of a folder.
func here(t Tree, dir string) (out []string, err error) {
	entries, err := fs.ReadDir(t.fsys, dir)
	if err != nil {
		return nil, agency.Errorf(agency.KindInvalid, "%s cannot be read: %w", dir, err)
	}
	for _, e := range entries {
		if e.Type().IsRegular() && code.SyntaxOf(e.Name()) != "" {
			out = append(out, strings.TrimPrefix(dir+"/"+e.Name(), "./"))
		}
	}
	return out, nil
}

// Group is a set of kinds as whoever asks names it.
type Group string

// matches tells whether a kind is of a group: "function", "class", "method", "variable",
// "any" or "".
func (g Group) matches(k symbols.Kind) bool {
	switch g {
	case "", "any":
		return k != symbols.Key // there are as many as there are data
	case "class":
		return k == symbols.Class || k == symbols.Interface || k == symbols.Type || k == symbols.Module
	case "variable":
		return k == symbols.Variable || k == symbols.Constant || k == symbols.Field
	case "function":
		return k == symbols.Function || k == symbols.Macro
	default:
		return string(g) == string(k)
	}
}

// Located is where definitions of a name are.
type Located struct {
	Certainty Certainty `json:"certainty"`
	Symbols   []Symbol  `json:"symbols"`
	// Near: none has the name itself; these have it in theirs.
	Near bool `json:"near,omitempty"`
	More bool `json:"more,omitempty"`
}

// Find finds definitions by their name or the end of their path; where there is none, those
// whose names have it as a part, in any case.
func (t Tree) Find(ctx context.Context, name string, kind Group, most int) (Located, error) {
	out := Located{Certainty: Syntax}
	last := name[strings.LastIndexAny(name, ".:#")+1:]
	if last = strings.Trim(last, "()* "); last == "" {
		return out, agency.Errorf(agency.KindInvalid, "there is no name to look for")
	}
	var near []Symbol
	part := strings.ToLower(last)
	err := t.walk(ctx, ".", func(p string) bool {
		if code.SyntaxOf(p) == "" {
			return true
		}
		text := t.read(p)
		if exact := hasWord(text, last, 0) >= 0; !exact && (len(near) >= most || !bytes.Contains(bytes.ToLower(text), []byte(part))) {
			return true
		}
		f, err := t.symbols(ctx, p, text)
		if err != nil {
			return ctx.Err() == nil
		}
		for _, d := range f.Named(name) {
			if kind.matches(d.Kind) {
				out.Symbols = append(out.Symbols, symbolOf(p, d))
			}
		}
		for _, d := range f.Definitions {
			if kind.matches(d.Kind) && len(near) < most && strings.Contains(strings.ToLower(d.Name), part) {
				near = append(near, symbolOf(p, d))
			}
		}
		return len(out.Symbols) <= most
	})
	if out.More = errors.Is(err, errTooMany); err != nil && !out.More {
		return out, err
	}
	if len(out.Symbols) == 0 {
		out.Symbols, out.Near = near, len(near) > 0
	}
	if len(out.Symbols) > most {
		out.Symbols, out.More = out.Symbols[:most], true
	}
	return out, nil
}

// Place is a line at which a name stands.
type Place struct {
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Text    string `json:"text"`
	In      string `json:"in,omitempty"` // the function or type around it
	Defines bool   `json:"defines,omitempty"`
}

// Used is where a symbol is used.
type Used struct {
	Certainty Certainty `json:"certainty"`
	Symbol    Symbol    `json:"symbol"`
	Places    []Place   `json:"places"`
	// Unsure are places of the name that may be of something else.
	Unsure []Place `json:"unsure,omitempty"`
	// More: there are more files than were looked at.
	More bool `json:"more,omitempty"`
	// Note says why there is no better answer, where there might have been one.
	Note string `json:"note,omitempty"`
}

// References finds the places of what a file defines under a symbol, which is a name or the
// end of a path such as "Stack.Push".
func (t Tree) References(ctx context.Context, symbol, file string) (Used, error) {
	f, _, err := t.source(ctx, file)
	if err != nil {
		return Used{}, err
	}
	d, err := definition(f, symbol)
	if err != nil {
		return Used{}, err
	}
	out := Used{Certainty: Types, Symbol: symbolOf(file, d)}
	if f.Language == code.Go {
		found, err := t.goReferences(ctx, file, d)
		if err == nil {
			out.Places, out.Unsure = t.placesOf(ctx, found.Refs), t.placesOf(ctx, found.Unresolved)
			return out, nil
		}
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
	}
	found, err := served(ctx, t, f, d)
	if err == nil {
		out.Places, out.Unsure = t.placesOf(ctx, found.Refs), t.placesOf(ctx, found.Unresolved)
		return out, nil
	}
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	out.Certainty, out.Note = Syntax, noteOf(err)
	sure, unsure, err := t.bySyntax(ctx, file, d.Name)
	out.Places, out.Unsure = t.placesOf(ctx, sure), t.placesOf(ctx, unsure)
	if out.More = errors.Is(err, errTooMany); out.More {
		err = nil
	}
	return out, err
}

func (t Tree) goReferences(ctx context.Context, file string, d symbols.Definition) (gotypes.Found, error) {
	p, err := gotypes.Load(ctx, t.e.others(), golang(ctx, t), gotypes.Query{Names: []string{d.Name}, Folders: []string{folder(file)}, Reach: folder(file)})
	if err != nil {
		return gotypes.Found{}, err
	}
	defer p.Close()
	return p.References(file, d.NameStart, d.Name)
}

// placesOf adds to places the lines that they are in.
func (t Tree) placesOf(ctx context.Context, refs []gotypes.Ref) (out []Place) {
	var text []byte
	var f symbols.File
	at := ""
	for _, r := range refs {
		if r.Path != at {
			at, text = r.Path, t.read(r.Path)
			var err error
			if f, err = t.symbols(ctx, r.Path, text); err != nil {
				f = symbols.File{}
			}
		}
		if r.Start > len(text) {
			continue
		}
		p := Place{Path: r.Path, Defines: r.Defines}
		p.Text, p.Line = lineAt(text, r.Start)
		if d, ok := f.Within(r.Start); ok && !r.Defines {
			p.In = d.Path()
		}
		if n := len(out); n == 0 || out[n-1].Path != p.Path || out[n-1].Line != p.Line {
			out = append(out, p)
		}
	}
	return out
}

// bySyntax finds the places of a name among files of the same languages. Those at which it
// is bound to something else in its scope are left out; those behind a dot are not sure.
func (t Tree) bySyntax(ctx context.Context, file, name string) (sure, unsure []gotypes.Ref, err error) {
	var faults []error
	err = t.walk(ctx, ".", func(p string) bool {
		if family(p) != family(file) {
			return true
		}
		text := t.read(p)
		if hasWord(text, name, 0) < 0 {
			return true
		}
		f, err := t.symbols(ctx, p, text)
		if err != nil {
			faults = append(faults, ctx.Err())
			return ctx.Err() == nil
		}
		for _, n := range f.Uses(name) {
			r := gotypes.Ref{Path: p, Start: n.Start, End: n.End, Line: n.Line, Defines: n.Role == symbols.Defines}
			switch {
			case n.Role == symbols.Binds:
			case n.Role == symbols.Member, r.Defines && p != file:
				r.Defines = false
				unsure = append(unsure, r)
			default:
				sure = append(sure, r)
			}
		}
		return true
	})
	return sure, unsure, cmp.Or(err, errors.Join(faults...))
}

// Callers are the functions in which a symbol is used, each once.
func (u Used) Callers() (out []Place) {
	for _, p := range u.Places {
		if p.Defines || p.In == "" || slices.ContainsFunc(out, func(o Place) bool { return o.Path == p.Path && o.In == p.In }) {
			continue
		}
		out = append(out, p)
	}
	return out
}
