// Package secretscan finds the host's secrets in a change. What lands is what an
// agent wrote, so a secret that it wrote would land, too, and leave the machine
// with the next push. Agents are never shown one, but a repository may hold it, and
// a command may copy it. What is a secret by its look, whoever's it is, the rules of
// gitleaks tell (Leaks).
package secretscan

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/git"
)

// Scanner looks for secrets; Redact puts agency.Redacted in the place of each.
type Scanner struct {
	Blobs  *git.Reader
	Redact func([]byte) []byte
}

// Fault says which files hold more secrets on the new side of the changes than on
// the old one, in their content or name; empty where none does. One that was there
// before may stay and be moved.
func (s Scanner) Fault(ctx context.Context, changes []git.Change) (string, error) {
	const maxNamed = 12 // files
	sum := 0
	var named []string
	for _, c := range changes {
		was, err := s.count(ctx, c.Old)
		if err != nil {
			return "", err
		}
		is, err := s.count(ctx, c.New)
		if err != nil {
			return "", err
		}
		if sum += is - was; is > was && len(named) < maxNamed {
			named = append(named, string(s.Redact([]byte(c.Path))))
		}
	}
	if sum <= 0 {
		return "", nil
	}
	return fmt.Sprintf("the change holds a secret of the host, such as a key of its configuration, in %s: take it out of content and name", strings.Join(named, ", ")), nil
}

// count counts the secrets of one side of a change.
func (s Scanner) count(ctx context.Context, e git.Entry) (int, error) {
	if e.Mode == 0 || e.Mode == git.ModeGitlink {
		return 0, nil
	}
	f := &finder{redact: s.Redact}
	f.look([]byte(e.Path))
	if err := s.Blobs.ContentTo(ctx, e.ID, f); err != nil {
		return 0, err
	}
	f.look(f.part)
	return f.found, nil
}

// finder counts secrets in a content of any size: in pieces that end between
// lines, where there are any.
type finder struct {
	redact func([]byte) []byte
	part   []byte
	found  int
}

// maxPiece is how much of a content is looked at at once, in bytes.
const maxPiece = 256 << 10

func (f *finder) Write(p []byte) (int, error) {
	if f.part = append(f.part, p...); len(f.part) < maxPiece {
		return len(p), nil
	}
	to := bytes.LastIndexByte(f.part, '\n') + 1
	if to == 0 {
		to = len(f.part)
	}
	f.look(f.part[:to])
	f.part = append(f.part[:0], f.part[to:]...)
	return len(p), nil
}

func (f *finder) look(b []byte) {
	mark := []byte(agency.Redacted)
	f.found += bytes.Count(f.redact(b), mark) - bytes.Count(b, mark)
}
