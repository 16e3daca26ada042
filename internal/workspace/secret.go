package workspace

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/git"
)

// secretFile is a file that may hold a secret, and what speaks for it.
type secretFile struct {
	path string
	line int // 0: its name tells
	what string
}

// refuseSecrets names the files. A person who commits one has decided; nobody
// has who only asked for local edits.
func refuseSecrets(files []secretFile) error {
	lines := make([]string, len(files))
	for i, f := range files {
		at := f.path
		if f.line > 0 {
			at = fmt.Sprintf("%s:%d", f.path, f.line)
		}
		lines[i] = fmt.Sprintf("%s (%s)", at, f.what)
	}
	return agency.Errorf(agency.KindDenied, "local edits that may hold a secret do not go into a run: %s", strings.Join(lines, ", ")).
		WithMend("leave an untracked file out of --include-untracked; for a file of git: git stash push -- %s; or commit it yourself where it is no secret", files[0].path)
}

func secretNames(paths []string) (out []secretFile) {
	for _, p := range paths {
		if what := agency.SecretName(p); what != "" {
			out = append(out, secretFile{p, 0, what})
		}
	}
	return out
}

// maxSearched bounds what is looked through of one file, in bytes.
const maxSearched = 32 << 20

// secretIn looks for a secret in what a change brings in; what the commit below
// it has already is no news.
func secretIn(ctx context.Context, d git.Dir, c git.Change) (secretFile, error) {
	if c.Status == 'D' || c.New.Mode == git.ModeGitlink {
		return secretFile{}, nil
	}
	now, err := d.Content(ctx, c.New.ID, maxSearched)
	if git.IsTooLong(err) {
		return secretFile{c.Path, 0, "too much in it to be looked through"}, nil
	}
	if err != nil {
		return secretFile{}, err
	}
	var was []byte
	for _, f := range agency.SecretsIn(c.Path, now) {
		if was == nil && c.Old.Mode != 0 {
			if was, err = d.Content(ctx, c.Old.ID, maxSearched); err != nil && !git.IsTooLong(err) {
				return secretFile{}, err
			}
		}
		if !bytes.Contains(was, []byte(f.Text)) {
			return secretFile{c.Path, f.Line, f.What + " in it"}, nil
		}
	}
	return secretFile{}, nil
}
