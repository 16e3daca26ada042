package tool

import (
	"strings"

	"agency/internal/agency"
)

// An agent is never shown a secret of the host: where a file or an output holds
// one, it reads agency.Redacted in its place. What it writes is written as it
// is, so a text that carries the mark back must not take the secret's place.

// SecretArgs is the answer to a call whose arguments hold a secret: taking it
// out would run another call than the one that was asked for.
func SecretArgs() Result {
	return Refuse("not run: the text contains a secret of the host, such as a key of its configuration; " +
		"secrets are written nowhere and used in no command. Do without it: leave it out, or read it at run time from the environment")
}

// Hide takes the host's secrets out of a text.
func (e *Env) Hide(s string) string {
	if e.Redact == nil {
		return s
	}
	return string(e.Redact([]byte(s)))
}

// holds tells whether a secret stands in a text.
func (e *Env) holds(text string) bool { return e.Hide(text) != text }

// Overwrites tells whether a file's new text would have the mark where its old
// text has a secret.
func (e *Env) Overwrites(content, before, after string) bool {
	return strings.Count(after, agency.Redacted) > strings.Count(before, agency.Redacted) && e.holds(content)
}
