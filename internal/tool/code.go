package tool

import (
	"context"
	"strings"

	"agency/internal/codebase"
)

// Code is files as what answers for their symbols sees them.
func Code(f *Files) codebase.Tree {
	return f.Symbols.Of(f.FS()).At(f.at).With(f.Embedder).Asking(f.Servers)
}

// Brought is what the answer to a change ends with: the errors that it brought, as far as they
// are known at once. Before is nil of a new file.
func Brought(ctx context.Context, f *Files, changes ...codebase.FileChange) string {
	if f.Servers == nil {
		return ""
	}
	all := Code(f).Brought(ctx, changes)
	if len(all) == 0 {
		return ""
	}
	return "\nerrors that this brought:\n" + strings.Join(all, "\n") + "\n"
}
