package backlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// node is a value of the file with where it stands: data[start:end].
type node struct {
	start, end int
	kind       byte // '{', '[', or 'v' for a text, number, truth or null
	value      any  // of a 'v'
	members    []member
	items      []*node
}

type member struct {
	key   string
	at    int // of the key
	value *node
}

func (n *node) get(key string) *node {
	for _, m := range n.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// maxDepth is far more than a backlog nests.
const maxDepth = 64

// reader builds the tree. encoding/json says what the tokens are and where
// each ends; where it begins is the next byte that is not between values.
type reader struct {
	data []byte
	dec  *json.Decoder
}

// syntaxError is a fault at a byte.
type syntaxError struct {
	at   int
	what string
}

func (e *syntaxError) Error() string { return e.what }

func readTree(data []byte) (*node, error) {
	r := &reader{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	r.dec.UseNumber()
	n, err := r.read(0)
	if err != nil {
		return nil, err
	}
	if _, err := r.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, &syntaxError{r.next(), "something follows the end of the list"}
	}
	return n, nil
}

// next is where the next token begins.
func (r *reader) next() int {
	at := int(r.dec.InputOffset())
	for at < len(r.data) && bytes.IndexByte([]byte(" \t\r\n,:"), r.data[at]) >= 0 {
		at++
	}
	return at
}

func (r *reader) token() (json.Token, int, error) {
	at := r.next()
	tok, err := r.dec.Token()
	if err == nil {
		return tok, at, nil
	}
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		at = max(at, int(syntax.Offset)-1)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, len(r.data), &syntaxError{len(r.data), "the file ends in the middle"}
	}
	return nil, at, &syntaxError{min(at, len(r.data)), "no valid JSON: " + err.Error()}
}

func (r *reader) read(depth int) (*node, error) {
	tok, at, err := r.token()
	if err != nil {
		return nil, err
	}
	n := &node{start: at, kind: 'v', value: tok}
	delim, ok := tok.(json.Delim)
	if !ok {
		n.end = int(r.dec.InputOffset())
		return n, nil
	}
	if depth == maxDepth {
		return nil, &syntaxError{at, "nested too deep"}
	}
	n.kind = byte(delim)
	for r.dec.More() {
		if err := r.child(n, depth); err != nil {
			return nil, err
		}
	}
	if _, _, err := r.token(); err != nil { // the closing one
		return nil, err
	}
	n.end = int(r.dec.InputOffset())
	return n, nil
}

func (r *reader) child(n *node, depth int) error {
	if n.kind == '[' {
		item, err := r.read(depth + 1)
		n.items = append(n.items, item)
		return err
	}
	tok, at, err := r.token()
	if err != nil {
		return err
	}
	key, _ := tok.(string)
	if n.get(key) != nil {
		return &syntaxError{at, fmt.Sprintf("%q twice", key)}
	}
	value, err := r.read(depth + 1)
	n.members = append(n.members, member{key, at, value})
	return err
}
