package preview

import (
	"context"
	"io/fs"
	"slices"

	"agency/internal/check"
	"agency/internal/check/detect"
	"agency/internal/code"
	"agency/internal/code/lsp"
	"agency/internal/codebase"
	"agency/internal/doctor"
)

// maxLooked bounds the entries of a checkout that are looked at for its languages.
const maxLooked = 20_000

// serversOf are the language servers of what a checkout is written in, each kind once, as
// far as servers are of use for it.
func serversOf(ctx context.Context, in detect.Input, c *check.Checker) (out []doctor.Server) {
	var kinds []string
	left := maxLooked
	_ = fs.WalkDir(in.Repo, ".", func(p string, e fs.DirEntry, err error) error { // what cannot be read has no language
		if left--; left < 0 || ctx.Err() != nil {
			return fs.SkipAll
		}
		if err == nil && e.IsDir() && codebase.Skipped(e.Name()) {
			return fs.SkipDir
		}
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		l := code.SyntaxOf(p)
		names := lsp.Programs(l)
		if len(names) == 0 || slices.Contains(kinds, names[0]) {
			return nil
		}
		kinds = append(kinds, names[0])
		out = append(out, serverOf(ctx, in, c, l, names))
		return nil
	})
	return out
}

func serverOf(ctx context.Context, in detect.Input, c *check.Checker, l code.Language, names []string) doctor.Server {
	s := doctor.Server{Language: string(l), Program: names[0]}
	for _, name := range names {
		if c.Has(name, []string{"node_modules/.bin/" + name, ".venv/bin/" + name}, false) {
			s.Program, s.At = name, name
			return s
		}
	}
	found := detect.FindBeside(ctx, in, names)
	for _, name := range names {
		if at := found.Links[name]; at != "" && s.At == "" {
			s.Program, s.At = name, at
		}
	}
	if len(found.Refused) > 0 {
		s.Why = found.Refused[0]
	}
	return s
}
