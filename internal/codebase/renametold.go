package codebase

import (
	"bytes"
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"agency/internal/code"
	"agency/internal/code/gotypes"
	"agency/internal/code/lsp"
	"agency/internal/code/symbols"
	"agency/internal/regexp"
)

// told finds the places of a name of Rust in the tests that comments hold, of which no server
// knows. They are renamed where nothing else of the checkout has the name and what stands
// before it leads to the definition; any other refuses the whole.
func (r *servedRename) told(ctx context.Context, known []gotypes.Ref) error {
	if r.file.Language != code.Rust {
		return nil
	}
	r.tests = map[lsp.Span]bool{}
	var in []gotypes.Ref
	sure := r.alone(known)
	for _, p := range slices.Sorted(maps.Keys(r.files)) {
		text := r.texts[p]
		all := toldIn(r.files[p], text, r.d.Name)
		sure = sure && (len(all) == 0 || len(toldIn(r.files[p], text, r.to)) == 0)
		for _, at := range all {
			end := at + len(r.d.Name)
			in = append(in, gotypes.Ref{Path: p, Start: at, End: end, Line: r.files[p].Line(at)})
			r.tests[lsp.Span{Path: p, Start: at, End: end}] = true
			sure = sure && r.leads(text, at)
		}
	}
	if !sure && len(in) > 0 {
		return &gotypes.Refused{Why: "rustdoc runs these lines of comments, of which " + r.Name() + " knows nothing", Places: r.lines(ctx, in)}
	}
	return r.prose(ctx)
}

// prose refuses a name in a file of prose whose examples are tests.
func (r *servedRename) prose(ctx context.Context) (err error) {
	walked := r.t.walk(ctx, ".", func(p string) bool {
		if code.SyntaxOf(p) != "" || !prose(p) {
			return true
		}
		text := r.t.read(p)
		if in := told(text, r.d.Name, nil); in != nil && included(ctx, r.t, r.file.Language, p) {
			line, n := lineAt(text, in[0])
			err = no("%s:%d is in a test of the crate's documentation: %s", p, n, line)
		}
		return err == nil
	})
	if err == nil {
		err = walked
	}
	return err
}

// alone tells whether whatever of the checkout has the name is a known reference.
func (r *servedRename) alone(known []gotypes.Ref) bool {
	is := map[lsp.Span]bool{}
	for _, k := range known {
		is[lsp.Span{Path: k.Path, Start: k.Start, End: k.End}] = true
	}
	for p, f := range r.files {
		for _, n := range f.Uses(r.d.Name) {
			if !is[lsp.Span{Path: p, Start: n.Start, End: n.End}] {
				return false
			}
		}
	}
	return true
}

var (
	segment   = regexp.MustCompile(`(\w+)\s*::\s*$`)
	crateName = regexp.MustCompile(`(?m)^\s*name\s*=\s*"([\w-]+)"`)
)

// leads tells whether the name at a place of a test stands for the definition: what is at the
// top of a file by itself or by a path from the crate, a member by its owner.
func (r *servedRename) leads(text []byte, at int) bool {
	line := text[bytes.LastIndexByte(text[:at], '\n')+1 : at]
	if bytes.Count(line, []byte{'"'})%2 == 1 {
		return false // in a string
	}
	owner := r.d.Container[strings.LastIndexByte(r.d.Container, '.')+1:]
	member := owner != "" && slices.ContainsFunc(r.file.Named(r.d.Container), func(d symbols.Definition) bool { return d.Kind != symbols.Module })
	m := segment.FindSubmatchIndex(line)
	if m == nil {
		before := bytes.TrimRight(line, " \t")
		return !member && !bytes.HasSuffix(before, []byte(".")) && !bytes.HasSuffix(before, []byte("::"))
	}
	if last := string(line[m[2]:m[3]]); member {
		return last == owner
	}
	head := ""
	for rest := line; m != nil; m = segment.FindSubmatchIndex(rest) {
		head, rest = string(rest[m[2]:m[3]]), rest[:m[2]]
	}
	return head == "crate" || head == "self" || head == "super" || slices.Contains(r.crates(), head)
}

// crates are the names by which tests know the crate that the definition is in.
func (r *servedRename) crates() (out []string) {
	for dir := path.Dir(r.file.Path); ; dir = path.Dir(dir) {
		for _, m := range crateName.FindAllSubmatch(r.t.read(path.Join(dir, "Cargo.toml")), -1) {
			out = append(out, strings.ReplaceAll(string(m[1]), "-", "_"))
		}
		if dir == "." || len(out) > 0 {
			return out
		}
	}
}

// ofFile refuses a module of Rust that is a file: it would have to move with the name.
func (r *servedRename) ofFile() error {
	text := r.texts[r.file.Path]
	if r.file.Language == code.Rust && r.d.Kind == symbols.Module && !bytes.ContainsRune(text[r.d.Start:r.d.End], '{') {
		return no("%s is the module of a file, which is called by it: move the file and change what names it", r.d.Name)
	}
	return nil
}
