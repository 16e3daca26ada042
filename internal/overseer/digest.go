package overseer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"unicode"

	"agency/internal/agency"
)

// Digest stands for a text in an event: two texts with one digest are the same.
func Digest(text []byte) string {
	if len(text) == 0 {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Shape is the digest of a text without what changes although nothing is new:
// white space, numbers, and names that are only hexadecimal digits.
func Shape(text []byte) string {
	var out bytes.Buffer
	for _, word := range bytes.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && (unicode.IsSpace(r) || r < 0x80)
	}) {
		if !counts(word) {
			out.Write(word)
			out.WriteByte(' ')
		}
	}
	if out.Len() == 0 {
		return Digest(bytes.TrimSpace(text))
	}
	return Digest(out.Bytes())
}

// counts tells whether a word says only which one of many: it begins with a digit,
// or is a long hexadecimal name.
func counts(word []byte) bool {
	if word[0] >= '0' && word[0] <= '9' {
		return true
	}
	for _, c := range word {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(word) >= 7
}

// Canonical is JSON with sorted keys and no white space between, so that the order
// in which a model wrote arguments does not tell two calls apart. What is no JSON
// stays as it is.
func Canonical(args []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return args
	}
	out, err := json.Marshal(v)
	if err != nil {
		return args
	}
	return out
}

// Digests are those of a call: its arguments, what it was answered, and for an edit
// the text that it took out and the one that it put in.
func Digests(args, answer []byte, removed, added string) agency.CallDigests {
	args = Canonical(args)
	return agency.CallDigests{
		Call: Digest(args), CallShape: Shape(args), Answer: Digest(answer), AnswerShape: Shape(answer),
		Removed: Digest([]byte(removed)), Added: Digest([]byte(added)),
	}
}
