package codebase

import (
	"context"
	"fmt"
	"time"

	"agency/internal/code"
	"agency/internal/code/lsp"
)

// broughtTime is how long a change waits for what language servers say of it.
const broughtTime = 2 * time.Second

// Brought are the errors that files have with their new texts and had not with those before, as
// lines of an answer, where a language server runs and answers at once. One that does not run
// yet begins meanwhile. Before is nil of a new file.
func (t Tree) Brought(ctx context.Context, changes []FileChange) (out []string) {
	ctx, cancel := context.WithTimeout(ctx, broughtTime)
	defer cancel()
	for _, c := range changes {
		found, err := brought(ctx, t, c)
		if err != nil {
			continue // an answer that does not come at once is none
		}
		for i, f := range found {
			if len(out) == maxNotes {
				return append(out, fmt.Sprintf("and %d more in %s", len(found)-i, c.Path))
			}
			out = append(out, fmt.Sprintf("%s:%d: %s", c.Path, f.Line, f.What))
		}
	}
	return out
}

func brought(ctx context.Context, t Tree, c FileChange) (found []lsp.Fault, err error) {
	l := code.SyntaxOf(c.Path)
	if len(c.Before) > maxFile || len(c.After) > maxFile {
		return nil, lsp.ErrTooMuch
	}
	read := func(name string) []byte {
		if name == c.Path {
			return c.Before
		}
		return t.read(name)
	}
	err = t.servers.AskWarm(ctx, l, read, func(ctx context.Context, talk *lsp.Talk) error {
		if err := talk.Settled(ctx); err != nil {
			return err
		}
		was, err := faultsOf(ctx, talk, c.Path, c.Before)
		if err != nil {
			return err
		}
		is, err := faultsOf(ctx, talk, c.Path, c.After)
		found = newFaults(was, is)
		return err
	})
	return found, err
}

// faultsOf are the errors of a file with a text; of none, none.
func faultsOf(ctx context.Context, talk *lsp.Talk, p string, text []byte) ([]lsp.Fault, error) {
	if err := talk.Show(ctx, p, code.SyntaxOf(p), text); err != nil || text == nil {
		return nil, err
	}
	return talk.Faults(ctx, p)
}
