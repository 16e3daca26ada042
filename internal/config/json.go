package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxJSON bounds a file of JSON in bytes: plans of ten thousand contracts are
// smaller.
const maxJSON = 6 << 20

// readJSON parses a file of JSON into the tree that YAML gives. It has none of
// the bounds that the YAML library needs.
func readJSON(src Source, c *collector) (*node, *lines) {
	t := &lines{path: src.Path}
	data := bytes.TrimPrefix(src.Data, []byte("\xef\xbb\xbf"))
	switch {
	case len(data) > maxJSON:
		c.add(t, 0, 0, "the file has %d bytes, more than %d", len(data), maxJSON)
		return nil, t
	case !utf8.Valid(data):
		c.add(t, 0, 0, "not UTF-8")
		return nil, t
	}
	t.lines = strings.Split(string(data), "\n")
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	r := &jsonReader{data: data, dec: d, text: t, faults: c}
	root := r.value(0)
	if root == nil {
		return nil, t
	}
	r.skip()
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		c.add(t, r.line, r.col, "more than one value: one file holds one document")
		return nil, t
	}
	if root.shape != isMap {
		c.add(t, root.line, root.col, "the file must hold a mapping, not %s", root.describe())
		return nil, t
	}
	return root, t
}

// jsonReader walks tokens and knows where each begins.
type jsonReader struct {
	data   []byte
	dec    *json.Decoder
	text   *lines
	faults *collector

	// at is an offset, line and col its place; they only go forward.
	at, line, col int
	failed        bool
}

// skip goes to where the next token begins.
func (r *jsonReader) skip() {
	end := int(r.dec.InputOffset())
	for end < len(r.data) && strings.IndexByte(" \t\r\n,:", r.data[end]) >= 0 {
		end++
	}
	r.forward(end)
}

func (r *jsonReader) forward(to int) {
	if r.line == 0 {
		r.line, r.col = 1, 1
	}
	for r.at < to && r.at < len(r.data) {
		_, n := utf8.DecodeRune(r.data[r.at:])
		if r.data[r.at] == '\n' {
			r.line, r.col = r.line+1, 1
		} else {
			r.col++
		}
		r.at += n
	}
}

// next is a token with its place; false after a fault.
func (r *jsonReader) next() (json.Token, node, bool) {
	r.skip()
	at := node{line: r.line, col: r.col}
	tok, err := r.dec.Token()
	if err == nil {
		return tok, at, true
	}
	if !r.failed {
		r.failed = true
		var bad *json.SyntaxError
		if errors.As(err, &bad) {
			r.forward(max(r.at, int(bad.Offset)-1))
		}
		what := err.Error()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			what = "the file ends in the middle"
		}
		r.faults.add(r.text, r.line, r.col, "not JSON: %s", what)
	}
	return nil, at, false
}

// value reads one value; nil after a fault.
func (r *jsonReader) value(depth int) *node {
	tok, at, ok := r.next()
	if !ok {
		return nil
	}
	if depth > maxDepth {
		r.failed = true
		r.faults.add(r.text, at.line, at.col, "nested deeper than %d", maxDepth)
		return nil
	}
	n := &at
	switch v := tok.(type) {
	case json.Delim:
		n.shape = isMap
		if v == '[' {
			n.shape = isList
		}
		return r.filled(n, depth)
	case string:
		n.shape, n.text = isText, v
	case bool:
		n.shape, n.bool, n.text = isBool, v, fmt.Sprint(v)
	case json.Number:
		n.number(v.String())
	}
	return n
}

// filled reads what stands in a mapping or list.
func (r *jsonReader) filled(n *node, depth int) *node {
	at := map[string]int{}
	for r.dec.More() {
		var key string
		var where node
		if n.shape == isMap {
			tok, place, ok := r.next()
			if !ok {
				return nil
			}
			key, where = tok.(string), place // the decoder lets nothing else stand here
		}
		v := r.value(depth + 1)
		if v == nil {
			return nil
		}
		if n.shape == isList {
			n.items = append(n.items, v)
			continue
		}
		if i, twice := at[key]; twice {
			r.faults.add(r.text, where.line, where.col, "%s twice: it stands already on line %d", clipKey(key), n.entries[i].line)
			continue
		}
		at[key] = len(n.entries)
		n.entries = append(n.entries, entry{key: key, line: where.line, col: where.col, value: v})
	}
	_, _, ok := r.next() // what closes it
	if !ok {
		return nil
	}
	return n
}

func (n *node) number(s string) {
	n.text = s
	n.float, _ = strconv.ParseFloat(s, 64) // out of range is infinite, and said where it is used
	n.shape = isFloat
	if strings.ContainsAny(s, ".eE") {
		return
	}
	n.shape = isInt
	var err error
	if n.int, err = strconv.ParseInt(s, 10, 64); err != nil {
		n.tooBig = true
	}
}
