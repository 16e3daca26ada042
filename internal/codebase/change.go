package codebase

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/code"
	"agency/internal/code/gotypes"
	"agency/internal/code/symbols"
)

// FileChange is a file's text before and after a change.
type FileChange struct {
	Path          string
	Before, After []byte
}

// Change is what becomes of a checkout's files; none is written yet.
type Change struct {
	Certainty Certainty
	Files     []FileChange
	Places    int      // that were changed
	Notes     []string // what the change breaks or does not reach
}

func changeOf(t Tree, after map[string][]byte) (out []FileChange) {
	for _, name := range slices.Sorted(maps.Keys(after)) {
		out = append(out, FileChange{name, t.read(name), after[name]})
	}
	return out
}

// Rename gives a definition another name at all of its references, or none: an error of
// KindConflict says why and at which places.
func (t Tree) Rename(ctx context.Context, symbol, file, to string) (Change, error) {
	f, text, err := t.source(ctx, file)
	if err != nil {
		return Change{}, err
	}
	d, err := definition(f, symbol)
	if err != nil {
		return Change{}, err
	}
	var out Change
	if f.Language == code.Go {
		after, refs, err := gotypes.Rename(ctx, t.e.others(), golang(ctx, t), file, d.NameStart, d.Name, to)
		if err != nil {
			return out, refused(d.Name, err)
		}
		out = Change{Certainty: Types, Files: changeOf(t, after), Places: len(refs)}
	} else if out, err = renameOther(ctx, t, f, text, d, to); err != nil {
		return out, refused(d.Name, err)
	}
	out.Notes, err = t.mentions(ctx, d.Name, out.Files)
	return out, err
}

// renameOther renames by a language server where one is of use, and else by syntax.
func renameOther(ctx context.Context, t Tree, f symbols.File, text []byte, d symbols.Definition, to string) (Change, error) {
	out, err := renameServed(ctx, t, f, d, to)
	if r := (*gotypes.Refused)(nil); err == nil || ctx.Err() != nil || errors.As(err, &r) {
		return out, err
	}
	note := noteOf(err)
	r := syntaxRename{t: t, file: f, text: text, d: d, to: to, after: map[string][]byte{}}
	err = r.run(ctx)
	if is := (*gotypes.Refused)(nil); note != "" && errors.As(err, &is) {
		is.Why += " (" + note + ")"
	}
	return Change{Certainty: Syntax, Files: changeOf(t, r.after), Places: r.places}, err
}

// refused puts what is not done into an error that whoever asked can act on.
func refused(name string, err error) error {
	if r := (*gotypes.Refused)(nil); errors.As(err, &r) {
		return agency.Errorf(agency.KindConflict, "%s is not renamed, nothing has changed: %s", name, r.Error())
	}
	if errors.Is(err, gotypes.ErrNotFound) || errors.Is(err, gotypes.ErrTooMuch) {
		return agency.Errorf(agency.KindConflict, "%s is not renamed, nothing has changed: %w", name, err)
	}
	return err
}

// maxNotes is how many places of words a change names.
const maxNotes = 10

// mentions are lines that still have the old name, in comments, strings and other files.
func (t Tree) mentions(ctx context.Context, name string, files []FileChange) (out []string, err error) {
	after := map[string][]byte{}
	for _, f := range files {
		after[f.Path] = f.After
	}
	more := 0
	err = t.walk(ctx, ".", func(p string) bool {
		text, ok := after[p]
		if !ok && code.SyntaxOf(p) != "" {
			return true // code that uses the name is known, or it is of another language
		}
		if !ok {
			text = t.read(p)
		}
		for at := hasWord(text, name, 0); at >= 0; at = hasWord(text, name, at+1) {
			if more++; len(out) < maxNotes {
				line, n := lineAt(text, at)
				out = append(out, p+":"+itoa(n)+": "+line)
			}
		}
		return true
	})
	if errors.Is(err, errTooMany) { // of what is only told
		out, err = append(out, err.Error()+": there may be more"), nil
	}
	if more > len(out) {
		out = append(out, "and "+itoa(more-len(out))+" more")
	}
	return out, err
}

// Replace puts a new text in the place of a definition. A text with which the file is no
// syntax is refused, with the parser's place. Notes name what the change breaks.
func (t Tree) Replace(ctx context.Context, symbol, file, content string) (Change, error) {
	f, text, err := t.source(ctx, file)
	if err != nil {
		return Change{}, err
	}
	d, err := definition(f, symbol)
	if err != nil {
		return Change{}, err
	}
	content = strings.Trim(content, "\r\n")
	if strings.TrimSpace(content) == "" {
		return Change{}, agency.Errorf(agency.KindInvalid, "new_content is empty: to remove %s, use edit_file", d.Path())
	}
	from := replacedFrom(text, d, content)
	content = indented(text, from, content, f.Language)
	if strings.Contains(string(text), "\r\n") && !strings.Contains(content, "\r\n") {
		content = strings.ReplaceAll(content, "\n", "\r\n")
	}
	end := d.End
	if f.Language == code.Go && strings.HasSuffix(content, ";") {
		content = strings.TrimSuffix(content, ";")
	}
	after := slices.Concat(text[:from], []byte(content), text[end:])
	if string(after) == string(text) {
		return Change{}, agency.Errorf(agency.KindInvalid, "%s is exactly this already", d.Path())
	}
	g, err := t.symbols(ctx, file, after)
	if err != nil {
		if code.Skip(err) == nil {
			err = agency.Errorf(agency.KindInvalid, "%s could not be read any more: %w", file, err)
		}
		return Change{}, err
	}
	if g.Fault != nil {
		return Change{}, brokenSyntax(f, g, d, text, from)
	}
	out := Change{Certainty: Syntax, Files: []FileChange{{file, text, after}}, Places: 1}
	out.Notes, out.Certainty, err = t.breaks(ctx, f, g, d, after)
	return out, err
}

// brokenSyntax says where a new text is no syntax, in the lines of the text itself too.
func brokenSyntax(f, g symbols.File, d symbols.Definition, text []byte, from int) error {
	_, first := lineAt(text, from)
	where := ""
	if g.Fault.Line >= first {
		where = ", line " + itoa(g.Fault.Line-first+1) + " of new_content"
	}
	was := ""
	if f.Fault != nil {
		was = "; the file had a fault before, in line " + itoa(f.Fault.Line) + ": " + f.Fault.What
	}
	return agency.Errorf(agency.KindInvalid, "%s is not replaced: %s:%d:%d%s: %s%s", d.Path(), f.Path, g.Fault.Line, g.Fault.Column, where, g.Fault.What, was)
}

// replacedFrom is where a new text begins to replace a definition: with its comments where
// the text brings some, with decorators and the word export where it has them too.
func replacedFrom(text []byte, d symbols.Definition, content string) int {
	from := d.Start
	old := strings.TrimSpace(string(text[d.Start:d.Head]))
	first, _, _ := strings.Cut(content, "\n")
	first = strings.TrimSpace(first)
	mark := ""
	for _, m := range []string{"//", "#", "/*", "--"} {
		if strings.HasPrefix(first, m) && !strings.HasPrefix(first, "#[") {
			mark = m
		}
	}
	if mark == "" {
		if old != "" && !strings.HasPrefix(first, old[:min(len(old), 1)]) {
			return d.Head
		}
		return from
	}
	start := lineStart(text, from)
	for start > 0 {
		before := lineStart(text, start-1)
		line := strings.TrimSpace(string(text[before:start]))
		if mark == "/*" && !strings.HasPrefix(line, "*") && !strings.HasPrefix(line, "/*") || mark != "/*" && !strings.HasPrefix(line, mark) {
			break
		}
		start = before
	}
	for start < from && (text[start] == ' ' || text[start] == '\t') {
		start++ // what stands before the first line stays
	}
	return start
}

func lineStart(text []byte, at int) int {
	for at > 0 && text[at-1] != '\n' {
		at--
	}
	return at
}

// indented gives a text that begins at the margin the indentation of its place.
func indented(text []byte, at int, content string, l code.Language) string {
	margin := string(text[lineStart(text, at):at])
	if strings.TrimLeft(margin, " \t") != "" {
		return strings.TrimLeft(content, " \t")
	}
	content = strings.TrimLeft(content, " \t")
	if margin == "" {
		return content
	}
	lines := strings.Split(content, "\n")
	least := -1
	for _, line := range lines[1:] {
		if strings.TrimSpace(line) != "" {
			n := len(line) - len(strings.TrimLeft(line, " \t"))
			if least < 0 || n < least {
				least = n
			}
		}
	}
	if least < 0 || least > len(margin) || least == len(margin) && (l != code.Python || headAt(lines) == least) {
		return content
	}
	for i, line := range lines[1:] {
		if strings.TrimSpace(line) != "" {
			lines[i+1] = margin + line
		}
	}
	return strings.Join(lines, "\n")
}

// headAt is how deep the head of a definition of Python stands below the decorators and comments
// with which its text begins, which stand as deep; -1: it begins with its head.
func headAt(lines []string) int {
	if !strings.HasPrefix(lines[0], "@") && !strings.HasPrefix(lines[0], "#") {
		return -1
	}
	for _, line := range lines[1:] {
		head := strings.TrimLeft(line, " \t")
		for _, word := range []string{"def ", "class ", "async "} {
			if strings.HasPrefix(head, word) {
				return len(line) - len(head)
			}
		}
	}
	return -1
}

// breaks names what no longer holds after a definition was replaced.
func (t Tree) breaks(ctx context.Context, before, after symbols.File, d symbols.Definition, text []byte) (notes []string, sure Certainty, err error) {
	var lost, changed []string
	for _, o := range before.Definitions {
		now := after.Named(o.Path())
		switch {
		case len(now) == 0:
			lost = append(lost, o.Name)
		case o.Path() == d.Path() && !slices.ContainsFunc(now, func(n symbols.Definition) bool { return n.Signature == o.Signature }):
			changed = append(changed, o.Name)
		}
	}
	if before.Language == code.Go {
		names := append([]string{d.Name}, lost...)
		if notes, err = goBreaks(ctx, t, before.Path, text, names); err == nil || ctx.Err() != nil {
			return notes, Types, err
		}
		return []string{"what it breaks is not known: " + err.Error()}, Syntax, nil
	}
	for _, name := range slices.Concat(lost, changed) {
		what := "its head has changed, look at this use: "
		if slices.Contains(lost, name) {
			what = name + " is defined there no more, but used: "
		}
		refs, unsure, err := t.bySyntax(ctx, before.Path, name)
		if err != nil && !errors.Is(err, errTooMany) {
			return nil, Syntax, err
		}
		for _, p := range t.placesOf(ctx, slices.Concat(refs, unsure)) {
			if !p.Defines && len(notes) < maxNotes && !(p.Path == before.Path && before.Line(d.Start) <= p.Line && p.Line <= d.EndLine) {
				notes = append(notes, what+p.Path+":"+itoa(p.Line)+": "+p.Text)
			}
		}
	}
	return notes, Syntax, nil
}

// goBreaks is what the compiler would say of the changed file and of whoever uses the names
// that it did not say before.
func goBreaks(ctx context.Context, t Tree, file string, text []byte, names []string) (notes []string, err error) {
	q := gotypes.Query{Names: names, Folders: []string{folder(file)}, Reach: folder(file)}
	files := golang(ctx, t)
	was, err := gotypes.Load(ctx, t.e.others(), files, q)
	if err != nil {
		return nil, err
	}
	defer was.Close()
	files.Changed = map[string][]byte{file: text}
	now, err := gotypes.Load(ctx, t.e.others(), files, q)
	if err != nil {
		return nil, err
	}
	defer now.Close()
	all := now.NewFaults(was)
	for i, f := range all {
		if i == 2*maxNotes {
			notes = append(notes, "and "+itoa(len(all)-i)+" more")
			break
		}
		notes = append(notes, f.String())
	}
	return notes, nil
}

// Extract takes lines of a function out into one of their own.
func (t Tree) Extract(ctx context.Context, file string, from, to int, name string) (Change, error) {
	f, text, err := t.source(ctx, file)
	if err != nil {
		return Change{}, err
	}
	if f.Language != code.Go {
		return Change{}, agency.Errorf(agency.KindConflict, "functions are extracted of Go alone: what lines of %s need and change is not told by syntax", file)
	}
	after, err := gotypes.Extract(ctx, t.e.others(), golang(ctx, t), file, from, to, name)
	if r := (*gotypes.Refused)(nil); errors.As(err, &r) {
		return Change{}, agency.Errorf(agency.KindConflict, "nothing is extracted: %s", r.Error())
	}
	if err != nil {
		return Change{}, err
	}
	return Change{Certainty: Types, Files: []FileChange{{file, text, after}}, Places: 1}, nil
}
