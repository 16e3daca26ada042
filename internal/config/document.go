package config

import (
	"slices"
)

// Document is the YAML of a file that is no configuration, such as the head of an
// agent file. It is read within the same bounds, and what is wrong with it is said
// in the same form.
type Document struct {
	root   *node
	text   *lines
	faults collector
}

// Datum is a value of a Document.
type Datum struct{ n *node }

// Pair is a key of a mapping with its place, and its value.
type Pair struct {
	Key       string
	Line, Col int
	Value     Datum
}

// ReadDocument reads YAML that begins with the first line of its file. The lines are
// all of the file's, by which faults show what they are about; example is a key
// as the file may have it.
func ReadDocument(src Source, fileLines []string, example string) *Document {
	d := &Document{text: &lines{path: src.Path, lines: fileLines}}
	read := &lines{path: src.Path}
	if data, ok := clean(src.Data, read, &d.faults); ok {
		if file, ok := parse(data, read, &d.faults); ok {
			b := &builder{text: d.text, faults: &d.faults, anchors: map[string]*node{}, example: example}
			d.root = b.file(file)
		}
	}
	return d
}

// At is a fault at a place of the file; line 0 is the file as a whole.
func (d *Document) At(line, col int, format string, args ...any) Fault {
	var c collector
	c.add(d.text, line, col, format, args...)
	return c.faults[0]
}

// Fault keeps a fault.
func (d *Document) Fault(line, col int, format string, args ...any) {
	d.faults.add(d.text, line, col, format, args...)
}

// Faults are those that were kept, of the YAML itself too.
func (d *Document) Faults() Faults { return d.faults.faults }

// Pairs are the keys of the document, none where it could not be read.
func (d *Document) Pairs() []Pair {
	if d.root == nil {
		return nil
	}
	return d.root.pairs()
}

func (n *node) pairs() []Pair {
	out := make([]Pair, 0, len(n.entries))
	for _, e := range n.entries {
		out = append(out, Pair{e.key, e.line, e.col, Datum{e.value}})
	}
	return out
}

// Place is where the value begins.
func (v Datum) Place() (line, col int) { return v.n.line, v.n.col }

// Empty tells whether nothing is written for the value.
func (v Datum) Empty() bool { return v.n.shape == isNull }

// IsList tells a list from all else.
func (v Datum) IsList() bool { return v.n.shape == isList }

// IsMap tells a mapping from all else.
func (v Datum) IsMap() bool { return v.n.shape == isMap }

// Text is a scalar as it is written, lines and tabs included. Another shape, and
// what does not print, is a fault and false.
func (d *Document) Text(v Datum, key string) (string, bool) {
	if slices.Contains([]shape{isNull, isMap, isList}, v.n.shape) {
		return "", d.want(v, isText, key)
	}
	if r := unprintable(v.n.text, true); r != 0 {
		d.Fault(v.n.line, v.n.col, "%s contains the character %U, which does not print", key, r)
		return "", false
	}
	return v.n.text, true
}

// Whole is a whole number within bounds; a fault and false for all else.
func (d *Document) Whole(v Datum, key string, low, high int64) (int64, bool) {
	if !d.want(v, isInt, key) {
		return 0, false
	}
	if v.n.tooBig || v.n.int < low || v.n.int > high {
		d.Fault(v.n.line, v.n.col, "%s must be from %d to %d, not %s", key, low, high, clip(v.n.text))
		return 0, false
	}
	return v.n.int, true
}

// Bool is true or false, and then whether it is either; a fault where it is neither.
func (d *Document) Bool(v Datum, key string) (is, ok bool) {
	return v.n.bool, d.want(v, isBool, key)
}

// List are the items of a list; a fault and false for all else.
func (d *Document) List(v Datum, key string) ([]Datum, bool) {
	if !d.want(v, isList, key) {
		return nil, false
	}
	out := make([]Datum, 0, len(v.n.items))
	for _, n := range v.n.items {
		out = append(out, Datum{n})
	}
	return out, true
}

// Map are the keys of a mapping; a fault and false for all else.
func (d *Document) Map(v Datum, key string) ([]Pair, bool) {
	if !d.want(v, isMap, key) {
		return nil, false
	}
	return v.n.pairs(), true
}

func (d *Document) want(v Datum, s shape, key string) bool {
	switch v.n.shape {
	case s:
		return true
	case isNull:
		d.Fault(v.n.line, v.n.col, "%s has no value: want %s", key, shapeNames[s])
	default:
		d.Fault(v.n.line, v.n.col, "%s must be %s, not %s", key, shapeNames[s], v.n.describe())
	}
	return false
}

// Quoted is what somebody wrote, as a fault shows it: short, and without keys.
func Quoted(s string) string { return clip(s) }

// KeyName is a key as a fault names it.
func KeyName(s string) string { return clipKey(s) }
