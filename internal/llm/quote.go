package llm

import "unicode/utf8"

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
