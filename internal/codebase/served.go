package codebase

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"agency/internal/code/gotypes"
	"agency/internal/code/lsp"
	"agency/internal/code/symbols"
)

// Bounds of what language servers are asked.
const (
	servedTime = 60 * time.Second // for one answer
	maxAsked   = 400              // places of one name that are looked up one by one
)

// noteOf says in words why a language server was of no use; "" where there is none.
func noteOf(err error) string {
	if err == nil || errors.Is(err, lsp.ErrAbsent) {
		return ""
	}
	return err.Error()
}

// served is what a language server says of a definition. Each place of the name that is none
// of its references is looked up by itself: one of which the server cannot say what it
// stands for is not resolved.
func served(ctx context.Context, t Tree, f symbols.File, d symbols.Definition) (found gotypes.Found, err error) {
	err = asking(ctx, t, f, d, func(ctx context.Context, q *asked) error {
		found, err = q.references(ctx)
		return err
	})
	return found, err
}

// asked is a question about a definition, to a server that sees the files which have its name.
type asked struct {
	*lsp.Talk
	t     Tree
	file  symbols.File
	d     symbols.Definition
	files map[string]symbols.File
	texts map[string][]byte
}

// asking puts a question to the server of a file's language.
func asking(ctx context.Context, t Tree, f symbols.File, d symbols.Definition, do func(context.Context, *asked) error) error {
	if t.servers == nil {
		return lsp.ErrAbsent
	}
	ctx, cancel := context.WithTimeoutCause(ctx, servedTime, fmt.Errorf("no answer of a language server within %s", servedTime))
	defer cancel()
	return t.servers.Ask(ctx, f.Language, t.read, func(ctx context.Context, talk *lsp.Talk) error {
		q := &asked{talk, t, f, d, map[string]symbols.File{}, map[string][]byte{}}
		if err := q.show(ctx); err != nil {
			return err
		}
		return do(ctx, q)
	})
}

// show gives the server each file that has the name as it is now.
func (q *asked) show(ctx context.Context) error {
	seen := map[string][sha256.Size]byte{}
	var failed error
	err := q.t.walk(ctx, ".", func(p string) bool {
		if family(p) != family(q.file.Path) {
			return true
		}
		text := q.t.read(p)
		seen[p] = sha256.Sum256(text)
		if hasWord(text, q.d.Name, 0) < 0 {
			return true
		}
		f, err := q.t.symbols(ctx, p, text)
		if err != nil {
			failed = fmt.Errorf("%s cannot be read: %w", p, err)
			return false
		}
		q.files[p], q.texts[p] = f, text
		return true
	})
	if err := cmp.Or(failed, err); err != nil {
		return err
	}
	keep := map[string]bool{}
	for p := range q.files {
		keep[p] = true
	}
	if err := cmp.Or(q.Room(ctx, keep), q.Saw(ctx, seen)); err != nil {
		return err
	}
	for _, p := range slices.Sorted(maps.Keys(q.files)) {
		if err := q.Show(ctx, p, q.files[p].Language, q.texts[p]); err != nil {
			return err
		}
	}
	return q.Settled(ctx)
}

// others tells whether a file is none of the checkout's own.
func others(p string) bool {
	return p == "" || slices.ContainsFunc(strings.Split(path.Dir(p), "/"), Skipped)
}

// references are those of the server, with the places of the name that it cannot tell.
func (q *asked) references(ctx context.Context) (found gotypes.Found, err error) {
	spans, err := q.References(ctx, q.file.Path, q.d.NameStart)
	if err != nil {
		return found, err
	}
	known := map[lsp.Span]bool{}
	var defines []lsp.Span
	for _, s := range spans {
		if others(s.Path) || known[s] {
			continue
		}
		if s.End == 0 {
			return found, fmt.Errorf("the language server %s names a place in %s, which is not read", q.Name(), s.Path)
		}
		known[s] = true
		ref := gotypes.Ref{Path: s.Path, Start: s.Start, End: s.End}
		for _, n := range q.files[s.Path].Uses(q.d.Name) {
			ref.Defines = ref.Defines || n.Start == s.Start && n.Role == symbols.Defines
		}
		if ref.Defines {
			defines = append(defines, s)
		}
		found.Refs = append(found.Refs, ref)
	}
	own := lsp.Span{Path: q.file.Path, Start: q.d.NameStart, End: q.d.NameStart + len(q.d.Name)}
	if !known[own] {
		return found, fmt.Errorf("the language server %s does not know %s", q.Name(), q.d.Name)
	}
	found.Unresolved, err = q.unresolved(ctx, known, append(defines, own))
	inOrder(found.Refs)
	return found, err
}

func inOrder(refs []gotypes.Ref) {
	slices.SortFunc(refs, func(a, b gotypes.Ref) int { return cmp.Or(cmp.Compare(a.Path, b.Path), a.Start-b.Start) })
}

// unresolved are the places of the name that are no known reference, and of which the server
// does not say that they are of another definition.
func (q *asked) unresolved(ctx context.Context, known map[lsp.Span]bool, defines []lsp.Span) (out []gotypes.Ref, err error) {
	looked := 0
	for _, p := range slices.Sorted(maps.Keys(q.files)) {
		for _, n := range q.files[p].Uses(q.d.Name) {
			if known[lsp.Span{Path: p, Start: n.Start, End: n.End}] {
				continue
			}
			var at []lsp.Span
			if looked++; looked <= maxAsked {
				if at, err = q.Definitions(ctx, p, n.Start); err != nil && !errors.As(err, new(*lsp.Refusal)) {
					return nil, err
				}
			}
			ours := slices.ContainsFunc(at, func(s lsp.Span) bool {
				return slices.ContainsFunc(defines, func(d lsp.Span) bool { return s.Path == d.Path && s.Start <= d.Start && d.End <= s.End })
			})
			if len(at) == 0 || ours {
				out = append(out, gotypes.Ref{Path: p, Start: n.Start, End: n.End, Line: n.Line})
			}
		}
	}
	return out, nil
}
