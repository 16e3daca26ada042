package llm

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// CanonicalJSON is the one form in which JSON of a model or provider is kept:
// compact, and with the characters written out that json.Marshal escapes for
// the sake of HTML. So the bytes are the same before and after they were
// stored, whoever encoded the message around them. What is no JSON comes back
// as a JSON string.
func CanonicalJSON(raw []byte) json.RawMessage {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(Clean(string(raw)))); err != nil {
		return quoteJSON(string(raw))
	}
	return unescapeHTML(b.Bytes())
}

// htmlEscapes are what json.Marshal writes for <, >, & and the two line ends
// of JavaScript.
var htmlEscapes = map[string]string{"003c": "<", "003e": ">", "0026": "&", "2028": "\u2028", "2029": "\u2029"}

func unescapeHTML(in []byte) []byte {
	if !bytes.Contains(in, []byte(`\u`)) {
		return in
	}
	out := make([]byte, 0, len(in))
	for i := 0; i < len(in); i++ {
		if in[i] != '\\' || i+1 == len(in) {
			out = append(out, in[i])
			continue
		}
		if in[i+1] == 'u' && i+6 <= len(in) {
			if c, ok := htmlEscapes[strings.ToLower(string(in[i+2:i+6]))]; ok {
				out = append(out, c...)
				i += 5
				continue
			}
		}
		out = append(out, in[i], in[i+1]) // another escape: its second byte is no beginning
		i++
	}
	return out
}

// quoteJSON is a text as a JSON string in canonical form.
func quoteJSON(s string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(Clean(s)) // a string always encodes
	return unescapeHTML(bytes.TrimRight(b.Bytes(), "\n"))
}

// AppendText appends what people and models write as a JSON string, cleaned
// (see Clean).
func AppendText(dst []byte, s string) []byte {
	if !utf8.ValidString(s) { // it asks much faster than Clean looks
		s = Clean(s)
	}
	return AppendQuoted(dst, s)
}

const hexDigits = "0123456789abcdef"

// AppendQuoted appends s as a JSON string, with the escapes of encoding/json where
// those for HTML are off.
func AppendQuoted[S ~string | ~[]byte](dst []byte, s S) []byte {
	dst = append(dst, '"')
	done := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			dst = appendEscape(append(dst, s[done:i]...), c)
			i++
			done = i
			continue
		}
		r, size := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(append(dst, s[done:i]...), `\ufffd`...)
			done = i + size
		case r == '\u2028', r == '\u2029': // line ends for JavaScript
			dst = append(append(dst, s[done:i]...), '\\', 'u', '2', '0', '2', hexDigits[r&15])
			done = i + size
		}
		i += size
	}
	dst = append(dst, s[done:]...)
	return append(dst, '"')
}

// appendEscape appends a character that may not stand in a JSON string.
func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}
