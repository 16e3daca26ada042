package codebase

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agency/internal/code"
	"agency/internal/code/gotypes"
	"agency/internal/code/lsp"
	"agency/internal/code/symbols"
)

// renameServed renames by a language server. What it would change is not believed: its edits
// must be of all references and of nothing else, each place of the name must be told, and
// the server must find the same places under the new name, and no new error.
func renameServed(ctx context.Context, t Tree, f symbols.File, d symbols.Definition, to string) (out Change, err error) {
	if hash := strings.HasPrefix(d.Name, "#"); !plainName.MatchString(strings.TrimPrefix(to, "#")) || hash != strings.HasPrefix(to, "#") {
		return out, no("%q is no name of what is named %s", to, d.Name)
	}
	if to == d.Name {
		return out, no("it has this name already")
	}
	if byName(f.Language, d.Name, to) {
		return out, no("%s is called by its name", d.Name)
	}
	err = asking(ctx, t, f, d, func(ctx context.Context, q *asked) error {
		r := servedRename{asked: q, to: to, after: map[string][]byte{}}
		err := r.run(ctx)
		if refused := (*lsp.Refusal)(nil); errors.As(err, &refused) {
			return no("%s", refused)
		}
		out = Change{Certainty: Types, Files: changeOf(t, r.after), Places: r.places}
		return err
	})
	return out, err
}

// byName tells whether a language or a runner of tests calls what has such a name, and would not
// under the other: no reference shows that.
func byName(l code.Language, name, to string) bool {
	for _, test := range []string{"test", "Test"} {
		if l == code.Python && strings.HasPrefix(name, test) && !strings.HasPrefix(to, test) {
			return true
		}
	}
	special := strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__")
	return name == "main" || name == "constructor" || l == code.Python && special
}

type servedRename struct {
	*asked
	to     string
	after  map[string][]byte
	tests  map[lsp.Span]bool // the places of the name in tests that stand in comments
	now    map[lsp.Span]bool // the places of the new name that the server knows
	at     int               // where the definition has it
	places int
}

func (r *servedRename) run(ctx context.Context) error {
	found, err := r.references(ctx)
	if err != nil {
		return err
	}
	if len(found.Unresolved) > 0 {
		return &gotypes.Refused{Why: "the language server " + r.Name() + " cannot tell what these places mean", Places: r.lines(ctx, found.Unresolved)}
	}
	if err := cmp.Or(r.inherited(), r.ofFile(), r.loose(ctx, found.Refs), r.told(ctx, found.Refs), computed(ctx, r.t, r.file, r.texts[r.file.Path], r.d)); err != nil {
		return err
	}
	edits, err := r.Rename(ctx, r.file.Path, r.d.NameStart, r.to)
	if err != nil {
		return err
	}
	if len(edits) == 0 {
		return fmt.Errorf("the language server %s does not rename %s", r.Name(), r.d.Name)
	}
	for s := range r.tests {
		edits = append(edits, lsp.Edit{Span: s, Text: r.to})
	}
	if err := r.apply(ctx, found.Refs, edits); err != nil {
		return err
	}
	return r.check(ctx)
}

// inherited refuses a member of a class of Python that may override one, or be overridden:
// servers of it rename one of them and leave the others.
func (r *servedRename) inherited() error {
	if r.d.Container == "" || r.file.Language != code.Python {
		return nil
	}
	for _, p := range slices.Sorted(maps.Keys(r.files)) {
		f := r.files[p]
		for _, d := range f.Definitions {
			if d.Name != r.d.Name || d.Container == "" {
				continue
			}
			for _, class := range f.Named(d.Container) {
				if _, bases, _ := strings.Cut(class.Signature, "("); class.Kind == symbols.Class && strings.Trim(bases, "): ") != "" {
					return no("%s:%d: %s is a member of a class with bases: whether one overrides the other is not told", p, d.Line, d.Path())
				}
			}
		}
	}
	return nil
}

// loose refuses a member that others have without a reference to it: what a script of no types
// is given has members by their names alone, and one form of a type fits another by its names.
func (r *servedRename) loose(ctx context.Context, known []gotypes.Ref) error {
	if r.d.Container == "" || family(r.file.Path) != "script" || strings.HasPrefix(r.d.Name, "#") {
		return nil
	}
	form := slices.ContainsFunc(r.file.Definitions, func(d symbols.Definition) bool {
		return d.Path() == r.d.Container && d.Kind == symbols.Type
	})
	var others []gotypes.Ref
	for _, p := range slices.Sorted(maps.Keys(r.files)) {
		if f := r.files[p]; form || f.Language == code.JavaScript {
			for _, n := range f.Uses(r.d.Name) {
				if n.Role != symbols.Plain && n.Role != symbols.Binds && !slices.ContainsFunc(known, func(k gotypes.Ref) bool { return k.Path == p && k.Start == n.Start }) {
					others = append(others, gotypes.Ref{Path: p, Start: n.Start, End: n.End, Line: n.Line})
				}
			}
		}
	}
	if len(others) == 0 {
		return nil
	}
	return &gotypes.Refused{Why: "these have a member of that name too, and whether it has to be the same is not told by types", Places: r.lines(ctx, others)}
}

// lines are places as a refusal names them.
func (r *servedRename) lines(ctx context.Context, refs []gotypes.Ref) (out []string) {
	places := r.t.placesOf(ctx, refs)
	for i, p := range places {
		if i == maxNotes {
			return append(out, fmt.Sprintf("and %d more", len(places)-i))
		}
		out = append(out, fmt.Sprintf("%s:%d: %s", p.Path, p.Line, p.Text))
	}
	return out
}

// apply makes the texts that the edits come to.
func (r *servedRename) apply(ctx context.Context, refs []gotypes.Ref, edits []lsp.Edit) error {
	by := map[string][]lsp.Edit{}
	for _, e := range edits {
		text := r.texts[e.Path]
		switch {
		case others(e.Path):
			return no("it would change a file outside of the checkout's own code")
		case text == nil:
			return no("it would change %s, which does not have the name", e.Path)
		case hasWord(text[e.Start:e.End], r.d.Name, 0) < 0 || hasWord([]byte(e.Text), r.to, 0) < 0 || len(e.Text) > len(r.d.Name)+len(r.to)+64:
			return no("it would change more than the name: %s", r.lines(ctx, []gotypes.Ref{{Path: e.Path, Start: e.Start, End: e.End}}))
		}
		by[e.Path] = append(by[e.Path], e)
	}
	var missed []gotypes.Ref
	for _, ref := range refs {
		text := r.t.read(ref.Path)
		if string(text[min(ref.Start, len(text)):min(ref.End, len(text))]) == r.d.Name &&
			!slices.ContainsFunc(by[ref.Path], func(e lsp.Edit) bool { return e.Start <= ref.Start && ref.End <= e.End }) {
			missed = append(missed, ref)
		}
	}
	if len(missed) > 0 {
		return &gotypes.Refused{Why: "the language server " + r.Name() + " would leave out these references", Places: r.lines(ctx, missed)}
	}
	r.now = map[lsp.Span]bool{}
	for p, all := range by {
		if err := r.write(p, all); err != nil {
			return err
		}
	}
	return nil
}

// write makes the new text of one file.
func (r *servedRename) write(p string, all []lsp.Edit) error {
	slices.SortFunc(all, func(a, b lsp.Edit) int { return a.Start - b.Start })
	text := r.texts[p]
	var out []byte
	at := 0
	for i, e := range all {
		if i > 0 && e.Span == all[i-1].Span && e.Text == all[i-1].Text {
			continue // the same once more
		}
		if e.Start < at {
			return no("its changes of %s overlap", p)
		}
		out = append(out, text[at:e.Start]...)
		for n := hasWord([]byte(e.Text), r.to, 0); n >= 0 && !r.tests[e.Span]; n = hasWord([]byte(e.Text), r.to, n+1) {
			r.now[lsp.Span{Path: p, Start: len(out) + n, End: len(out) + n + len(r.to)}] = true
			if p == r.file.Path && e.Start <= r.d.NameStart && r.d.NameStart < e.End {
				r.at = len(out) + n
			}
		}
		out = append(out, e.Text...)
		at = e.End
		r.places++
	}
	r.after[p] = append(out, text[at:]...)
	return nil
}

// check asks the server what it makes of the new texts.
func (r *servedRename) check(ctx context.Context) (err error) {
	was := map[string][]lsp.Fault{}
	for _, p := range r.changed() {
		f, err := r.t.symbols(ctx, p, r.after[p])
		if err != nil {
			return err
		}
		if f.Fault != nil && r.files[p].Fault == nil {
			return no("with it %s:%d:%d would be no syntax: %s", p, f.Fault.Line, f.Fault.Column, f.Fault.What)
		}
	}
	looked := slices.Sorted(maps.Keys(r.files)) // with those that have the name and keep it
	for _, p := range looked {
		if was[p], err = r.Faults(ctx, p); err != nil {
			return err
		}
	}
	for _, p := range r.changed() {
		if err := r.Show(ctx, p, r.files[p].Language, r.after[p]); err != nil {
			return err
		}
	}
	for _, p := range looked {
		is, err := r.Faults(ctx, p)
		if err != nil {
			return err
		}
		for i := range was[p] {
			was[p][i].What = strings.ReplaceAll(was[p][i].What, r.d.Name, r.to)
		}
		if bad := newFaults(was[p], is); len(bad) > 0 {
			return no("with it %s:%d would have an error: %s", p, bad[0].Line, bad[0].What)
		}
	}
	return r.same(ctx)
}

func (r *servedRename) changed() []string { return slices.Sorted(maps.Keys(r.after)) }

// same tells whether the new name has the references of the old one: what it captures, or is
// captured by, is others'.
func (r *servedRename) same(ctx context.Context) error {
	spans, err := r.References(ctx, r.file.Path, r.at)
	if err != nil {
		return err
	}
	seen := map[lsp.Span]bool{}
	for _, s := range spans {
		text := r.after[s.Path]
		if text == nil {
			text = r.t.read(s.Path)
		}
		switch {
		case others(s.Path), string(text[min(s.Start, len(text)):min(s.End, len(text))]) != r.to:
			continue // under another name
		case !r.now[s]:
			line, n := lineAt(text, s.Start)
			return no("there is another %s: %s:%d: %s", r.to, s.Path, n, line)
		}
		seen[s] = true
	}
	for s := range r.now {
		if !seen[s] {
			line, n := lineAt(r.after[s.Path], s.Start)
			return no("%s would mean something else there: %s:%d: %s", r.to, s.Path, n, line)
		}
	}
	return nil
}

// newFaults are those of a file that it did not have before, wherever they stood.
func newFaults(was, is []lsp.Fault) (out []lsp.Fault) {
	had := map[string]int{}
	for _, f := range was {
		had[f.What]++
	}
	for _, f := range is {
		if had[f.What]--; had[f.What] < 0 {
			out = append(out, f)
		}
	}
	return out
}
