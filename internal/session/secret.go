package session

import (
	"bytes"
	"encoding/json"

	"agency/internal/llm"
)

// heldSecret is why a stored call does not run: what is stored of its arguments
// is not what the model wrote.
const heldSecret = "the arguments contained a secret of the host"

// sealed marks the calls of an answer whose arguments hold a secret, before it
// is stored without it: neither now nor after a crash may a call run with other
// arguments than were asked for.
func (c *conversation) sealed(m llm.Message) llm.Message {
	for i, b := range m.Blocks {
		u, ok := b.(llm.ToolUse)
		if !ok || !c.holdsSecret(u.Args) {
			continue
		}
		u.Args, u.Invalid = c.r.o.DB.Redact(plainArgs(u.Args)), heldSecret
		if !json.Valid(u.Args) {
			u.Args = json.RawMessage("{}")
		}
		m.Blocks[i] = u
	}
	return m
}

// holdsSecret tells whether arguments hold a secret, however they are written.
func (c *conversation) holdsSecret(args json.RawMessage) bool {
	plain := plainArgs(args)
	return !bytes.Equal(c.r.o.DB.Redact(plain), plain)
}

// plainArgs writes arguments without the escapes that a model may choose. What
// is no JSON is refused as such.
func plainArgs(args json.RawMessage) json.RawMessage {
	var v any
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return args
	}
	plain, err := json.Marshal(v)
	if err != nil {
		return args
	}
	return plain
}
