package git

import (
	"context"
	"errors"
	"strings"

	"agency/internal/agency"
)

// Mentions are the files of a tree that hold a text, as it stands. Binary files
// are passed over.
func (d Dir) Mentions(ctx context.Context, tree agency.OID, text string) ([]string, error) {
	if err := checkOID(tree); err != nil {
		return nil, err
	}
	if text == "" || strings.ContainsAny(text, "\n\x00") {
		return nil, agency.Errorf(agency.KindInvalid, "%q cannot be looked for", text)
	}
	out, err := d.run(ctx, "grep", "-l", "-z", "-I", "-F", "--no-textconv", "-e", text, string(tree), "--")
	if f := (*Failure)(nil); errors.As(err, &f) && f.Status == 1 {
		return nil, nil // it stands nowhere
	}
	if err != nil {
		return nil, err
	}
	files := fields(out)
	for i, f := range files { // each is TREE:PATH
		files[i] = strings.TrimPrefix(f, string(tree)+":")
	}
	return files, nil
}
