package decision

import (
	"bytes"
	"strings"
	"unicode"

	"agency/internal/agency"
	"agency/internal/regexp"
	"agency/internal/store"
)

// named is a value behind a name that says that it is one, in prose.
var named = regexp.MustCompile(`(?i)(password|passwd|secret|token|api[-_ ]?key|access[-_ ]?key|private[-_ ]?key|bearer)["']?\s*(?:[:=]|\bis\b)?\s*["']?([^\s"',;@][^\s"',;]{7,})`)

// leastRandom is how long a word of small and capital letters and digits is that nobody reads.
const leastRandom = 20

// keyIn is what of a text looks like a key, or was one before it was taken out; empty where
// nothing does. Hashes and ids, which are of one case, are none.
func keyIn(tx *store.Tx, text string) (found string) {
	if strings.Contains(text, agency.Redacted) || !bytes.Equal(tx.Redact([]byte(text)), []byte(text)) {
		return agency.Redacted
	}
	if all := agency.SecretsIn("", []byte(text)); len(all) > 0 {
		return all[0].Text
	}
	for _, m := range named.FindAllStringSubmatch(text, -1) {
		if mixed(m[2]) && (agency.IsSecret(m[2]) || strings.HasPrefix(strings.ToLower(m[1]), "pass")) {
			return m[2]
		}
	}
	for _, w := range strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '+' && r != '=' && r != '_'
	}) {
		if len(w) >= leastRandom && mixed(w) && strings.ContainsFunc(w, unicode.IsUpper) && strings.ContainsFunc(w, unicode.IsLower) && agency.IsSecret(w) {
			return w
		}
	}
	return ""
}

// mixed tells whether a word has letters and digits.
func mixed(w string) bool {
	return strings.ContainsFunc(w, unicode.IsLetter) && strings.ContainsFunc(w, unicode.IsDigit)
}

// safe refuses to keep a decision in which a key stands, or stood: it would be told to all later
// runs, or tell them nothing.
func safe(tx *store.Tx, d agency.SharedDecision) error {
	for _, part := range []struct{ name, text string }{{"key", d.Key}, {"value", d.Value}, {"reason", d.Why}} {
		found := keyIn(tx, part.text)
		switch {
		case found == "":
			continue
		case found == agency.Redacted:
			return unsafe(d, "in its "+part.name+" a secret was taken out, and later runs would be told what is left")
		}
		return unsafe(d, "its "+part.name+" holds what looks like a key ("+found[:min(len(found), 4)]+"...), and all later runs would be told it")
	}
	return nil
}

func unsafe(d agency.SharedDecision, why string) error {
	return agency.Errorf(agency.KindInvalid, "%s is not kept, and nothing else: %s", d.Key, why).
		WithMend("agency decisions keep %s KEY... names others; a note for contributors says where the key is found: AGENTS.md", d.Run)
}
