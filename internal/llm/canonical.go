package llm

import (
	"bytes"
	"encoding/json"
	"strings"
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
