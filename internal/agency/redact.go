package agency

import (
	"bytes"
	"slices"
)

// redacted stands where a secret stood.
const redacted = "[redacted]"

// minSecret is the shortest secret that is looked for: shorter ones, such as
// the word none as the key of a local server, occur in ordinary text.
const minSecret = 8

// Redactor takes secrets out of text before it is stored, shown or sent.
type Redactor struct{ secrets [][]byte }

// NewRedactor makes a redactor of these secrets, longest first, so that a
// secret that contains another is replaced whole.
func NewRedactor(secrets ...string) *Redactor {
	r := &Redactor{}
	for _, s := range secrets {
		if len(s) >= minSecret && s != redacted {
			r.secrets = append(r.secrets, []byte(s))
		}
	}
	slices.SortFunc(r.secrets, func(a, b []byte) int { return len(b) - len(a) })
	return r
}

// Bytes gives b without secrets; b itself where there are none.
func (r *Redactor) Bytes(b []byte) []byte {
	if r == nil {
		return b
	}
	for _, s := range r.secrets {
		if bytes.Contains(b, s) {
			b = bytes.ReplaceAll(b, s, []byte(redacted))
		}
	}
	return b
}
