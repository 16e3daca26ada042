package acts

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"agency/internal/bounded"
)

// Bounds of what is read of a document. One beyond them counts as one that
// cannot be read.
const (
	maxDepth = 100     // tables in tables
	maxKey   = 250     // bytes of a key of settings with those in front of it
	maxNodes = 150_000 // of a YAML document: each costs some 200 bytes
)

var (
	errDeep = errors.New("too many tables in tables")
	errMany = errors.New("too many values")
	errForm = errors.New("not in a form that every reader takes alike")
)

// visit is told each value of a document with the keys in front of it; an item
// of a list in JSON or YAML has an empty key. A list or table without anything
// is the value "[]" or "{}". The keys are the reader's: they change.
type visit func(keys []string, value string)

// reader reads a document from its beginning to its end, whatever is in it.
type reader func(src string, each visit) error

// parts are those that a look at each value finds; all of a file that cannot be
// read is one.
func (read reader) parts(src string, look func(out found) visit) found {
	out := found{}
	if read(src, look(out)) != nil {
		return opaque(src)
	}
	return out
}

// joined are keys with dots between, without those of items; false: they are too
// long for a file of settings.
func joined(keys []string) (string, bool) {
	size := 0
	for _, k := range keys {
		size += len(k) + 1
	}
	if size > maxKey {
		return "", false
	}
	if !slices.Contains(keys, "") {
		return strings.Join(keys, "."), true
	}
	return strings.Join(slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == "" }), "."), true
}

// readJSON reads JSON piece by piece, so that it costs no more than its text.
// Where a key is there twice, both count.
func readJSON(src string, each visit) error {
	return bounded.JSON(strings.NewReader(src), math.MaxInt, func(keys []string, value json.Token) error {
		switch value {
		case nil:
			value = "null"
		case json.Delim('{'):
			value = "{}"
		case json.Delim('['):
			value = "[]"
		}
		each(keys, fmt.Sprint(value))
		return nil
	})
}

// readJSONC reads JSON with comments and with commas behind what is last.
func readJSONC(src string, each visit) error {
	var b strings.Builder
	b.Grow(len(src))
	comma := false // was read, and not written yet
	for i := 0; i < len(src); {
		end := i + 1
		switch c := src[i]; {
		case strings.HasPrefix(src[i:], "//"):
			if n := strings.IndexAny(src[i:], "\r\n"); n >= 0 {
				i += n
				continue
			}
			return endJSONC(&b, comma, each)
		case strings.HasPrefix(src[i:], "/*"):
			n := strings.Index(src[i+2:], "*/")
			if n < 0 {
				return errForm
			}
			i += n + 4
			continue
		case strings.IndexByte(" \t\r\n", c) >= 0:
		case c == ',' && !comma:
			comma = true
			i = end
			continue
		default:
			if comma && c != ']' && c != '}' {
				b.WriteByte(',')
			}
			comma = false
			for end = i + 1; c == '"'; end++ {
				if end >= len(src) {
					return errForm
				}
				if src[end] == '\\' {
					end++
				} else if src[end] == '"' {
					end++
					break
				}
			}
		}
		b.WriteString(src[i:min(end, len(src))])
		i = end
	}
	return endJSONC(&b, comma, each)
}

func endJSONC(b *strings.Builder, comma bool, each visit) error {
	if comma {
		return errForm
	}
	return readJSON(b.String(), each)
}

// breaks are ends of lines that not every reader of YAML takes for one.
var breaks = strings.NewReplacer("\r\n", "\n")

// readYAML reads all documents of a file, links to anchors as what they stand
// for. What readers of YAML 1.1 and 1.2 read differently is not read.
func readYAML(src string, each visit) error {
	src = breaks.Replace(src)
	if strings.ContainsAny(src, "\r\u0085\u2028\u2029\ufeff") || strings.HasPrefix(src, "%") || strings.Contains(src, "\n%") {
		return errForm
	}
	nodes := 0 // no more than these
	for i := range len(src) {
		switch src[i] {
		case ':':
			nodes += 2
		case ',', '[', '{', '?':
			nodes++
		case '-':
			if i+1 < len(src) && strings.IndexByte(" \t\n", src[i+1]) >= 0 {
				nodes++
			}
		}
	}
	if nodes > maxNodes {
		return errMany
	}
	d := yaml.NewDecoder(strings.NewReader(src))
	for left := 2 * maxNodes; ; {
		var n yaml.Node
		if err := d.Decode(&n); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		w := yamlWalk{each: each, left: left}
		if err := w.node(&n, 0); err != nil {
			return err
		}
		left = w.left
	}
}

type yamlWalk struct {
	keys []string
	each visit
	left int // nodes that may still be told, those of links again
}

func (w *yamlWalk) node(n *yaml.Node, depth int) error {
	if w.left--; w.left < 0 {
		return errMany
	}
	if depth > maxDepth {
		return errDeep
	}
	if n.Style&yaml.TaggedStyle != 0 {
		return errForm
	}
	switch n.Kind {
	case yaml.AliasNode:
		return w.node(n.Alias, depth+1)
	case yaml.ScalarNode:
		w.each(w.keys, n.Value)
		return nil
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if err := w.entry(n.Content[i], n.Content[i+1], depth); err != nil {
				return err
			}
		}
	case yaml.SequenceNode:
		for _, c := range n.Content {
			if err := w.under("", c, depth); err != nil {
				return err
			}
		}
	case yaml.DocumentNode:
		for _, c := range n.Content {
			if err := w.node(c, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	if len(n.Content) == 0 {
		w.each(w.keys, map[bool]string{true: "{}", false: "[]"}[n.Kind == yaml.MappingNode])
	}
	return nil
}

// entry is a key with its value; "<<" puts the value's own keys in its place.
func (w *yamlWalk) entry(key, value *yaml.Node, depth int) error {
	if key.Kind == yaml.AliasNode {
		key = key.Alias
	}
	switch {
	case key.Kind != yaml.ScalarNode || key.Style&yaml.TaggedStyle != 0:
		return errForm
	case key.Value != "<<":
		return w.under(key.Value, value, depth)
	case value.Kind != yaml.SequenceNode:
		return w.node(value, depth+1)
	}
	for _, c := range value.Content {
		if err := w.node(c, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (w *yamlWalk) under(key string, n *yaml.Node, depth int) error {
	w.keys = append(w.keys, key)
	err := w.node(n, depth+1)
	w.keys = w.keys[:len(w.keys)-1]
	return err
}
