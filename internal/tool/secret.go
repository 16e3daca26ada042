package tool

import (
	"fmt"
	"strings"

	"agency/internal/agency"
)

// An agent is never shown a secret of the host: where a file or an output holds
// one, it reads agency.Redacted in its place. What it writes is written as it
// is, so a text that carries the mark back must not take the secret's place.

// SecretArgs is the answer to a call whose arguments hold a secret: taking it
// out would run another call than the one that was asked for.
func SecretArgs() Result {
	return refuse("not run: the text contains a secret of the host, such as a key of its configuration; " +
		"secrets are written nowhere and used in no command. Do without it: leave it out, or read it at run time from the environment")
}

// hide takes the host's secrets out of a text.
func (e *Env) hide(s string) string {
	if e.Redact == nil {
		return s
	}
	return string(e.Redact([]byte(s)))
}

// holds tells whether a secret stands in a text.
func (e *Env) holds(text string) bool { return e.hide(text) != text }

// notShown is the answer to an edit whose old_text is nowhere because it was
// copied from where a secret was hidden.
func notShown(p string) Result {
	return fail("%s: old_text contains %s, which stands in what you are shown for a secret of the host and is not in the file; choose an old_text beside it", p, agency.Redacted)
}

// overwrites tells whether a file's new text would have the mark where its old
// text has a secret.
func (e *Env) overwrites(content, before, after string) bool {
	return strings.Count(after, agency.Redacted) > strings.Count(before, agency.Redacted) && e.holds(content)
}

func notOver(p string) Result {
	return refuse(fmt.Sprintf("%s: the file holds a secret of the host, which you are shown as %s; the new text would put that mark in its place. Change the lines around it with edit_file, or leave the line out", p, agency.Redacted))
}
