package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds of a file. The size is a promise of the manual; the others keep the
// YAML library, whose time grows with the square of each, well below a second
// on files that are made to hurt.
const (
	maxFile     = 1 << 20
	maxTokens   = 20_000
	maxBlank    = 30 // blank lines in a row
	maxDepth    = 32
	maxLine     = 16 << 10
	maxExpanded = 10_000 // entries that merge keys may add
)

type shape uint8

const (
	isNull shape = iota
	isBool
	isInt
	isFloat
	isText
	isMap
	isList
)

var shapeNames = [...]string{"nothing", "true or false", "a whole number", "a number", "text", "a mapping", "a list"}

// node is a YAML value with aliases, anchors and merge keys resolved.
type node struct {
	shape     shape
	line, col int
	text      string // a scalar as written, text unquoted
	bool      bool
	int       int64
	tooBig    bool // an integer that is no int64
	float     float64
	entries   []entry
	items     []*node
}

type entry struct {
	key       string
	line, col int
	value     *node
}

// readTree parses one file. It returns nil when there is nothing in it or
// nothing that can be read; faults go to c.
func readTree(src Source, c *collector) (*node, *lines) {
	t := &lines{path: src.Path}
	if src.Data == nil {
		return nil, t
	}
	data, ok := clean(src.Data, t, c)
	if !ok {
		return nil, t
	}
	file, ok := parse(data, t, c)
	if !ok {
		return nil, t
	}
	b := &builder{text: t, faults: c, anchors: map[string]*node{}}
	return b.file(file), t
}

// clean checks the text before the YAML library sees it.
func clean(data []byte, t *lines, c *collector) ([]byte, bool) {
	if len(data) > maxFile {
		c.add(t, 0, 0, "the file has %d bytes, more than 1 MiB", len(data))
		return nil, false
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	t.lines = strings.Split(string(data), "\n")
	blank := 0
	for i, line := range t.lines {
		if what, col := badLine(line); what != "" {
			c.add(t, i+1, col, "%s", what)
			return nil, false
		}
		if strings.TrimSpace(line) != "" {
			blank = 0
		} else if blank++; blank > maxBlank {
			c.add(t, i+1, 1, "more than %d blank lines in a row", maxBlank)
			return nil, false
		}
	}
	return data, true
}

func badLine(line string) (string, int) {
	if len(line) > maxLine {
		return fmt.Sprintf("the line has %d bytes, more than %d", len(line), maxLine), 1
	}
	col := 0
	indent := true
	for i, r := range line {
		col++
		if r == utf8.RuneError && !strings.HasPrefix(line[i:], "\uFFFD") {
			return "not UTF-8", col
		}
		if r == '\t' && indent {
			return "a tab: indent with spaces", col
		}
		if r < ' ' && r != '\t' || r == 0x7f || r == 0xFEFF {
			return fmt.Sprintf("the control character %U", r), col
		}
		indent = indent && r == ' '
	}
	return "", 0
}

// parse runs the YAML library behind bounds; a panic of it is a fault.
func parse(data []byte, t *lines, c *collector) (file *ast.File, ok bool) {
	defer func() {
		if p := recover(); p != nil {
			c.add(t, 0, 0, "not YAML that can be read: %v", p)
			file, ok = nil, false
		}
	}()
	tokens := joinColons(lexer.Tokenize(string(data)))
	if !bounded(tokens, t, c) || !oneDocument(tokens, t, c) {
		return nil, false
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		var ye yaml.Error
		if errors.As(err, &ye) && ye.GetToken() != nil {
			p := ye.GetToken().Position
			c.add(t, p.Line, p.Column, "%s", ye.GetMessage())
		} else {
			what, _, _ := strings.Cut(err.Error(), "\n")
			c.add(t, 0, 0, "%s", what)
		}
		return nil, false
	}
	return file, true
}

// oneDocument refuses a second document here, because the parser drops what
// follows an empty one without a word.
func oneDocument(tokens token.Tokens, t *lines, c *collector) bool {
	content, header, ended := false, false, false
	for _, tk := range tokens {
		second := false
		switch tk.Type {
		case token.CommentType:
		case token.DocumentEndType:
			ended = true
		case token.DocumentHeaderType:
			second = content || header || ended
			header = true
		default:
			second = ended
			content = true
		}
		if second {
			c.add(t, tk.Position.Line, tk.Position.Column, "a second document: one file holds one configuration")
			return false
		}
	}
	return true
}

// joinColons mends the lexer, which below a brace splits [server/model:7b] at
// the colon: between brackets a colon that a word follows at once is part of
// the word.
func joinColons(in token.Tokens) token.Tokens {
	var out token.Tokens
	var open []token.Type
	for i := 0; i < len(in); i++ {
		tk := in[i]
		switch tk.Type {
		case token.SequenceStartType, token.MappingStartType:
			open = append(open, tk.Type)
		case token.SequenceEndType, token.MappingEndType:
			open = open[:max(len(open)-1, 0)]
		case token.MappingValueType:
			inList := len(open) > 0 && open[len(open)-1] == token.SequenceStartType
			if inList && i+1 < len(in) && len(out) > 0 && touch(out[len(out)-1], tk) && touch(tk, in[i+1]) {
				word, rest := out[len(out)-1], in[i+1]
				word.Type = token.StringType
				word.Value += ":" + rest.Value
				word.Origin += ":" + rest.Origin
				i++
				continue
			}
		}
		out.Add(tk)
	}
	if len(out) > 0 {
		out[len(out)-1].Next = nil
	}
	return out
}

// touch tells whether b follows a with nothing between, and neither is quoted
// or a sign other than the colon.
func touch(a, b *token.Token) bool {
	plain := func(tk *token.Token) bool {
		return tk.Type == token.MappingValueType ||
			tk.CharacterType == token.CharacterTypeMiscellaneous && tk.Indicator == token.NotIndicator
	}
	return plain(a) && plain(b) && a.Position.Line == b.Position.Line &&
		a.Position.Column+utf8.RuneCountInString(a.Value) == b.Position.Column
}

// bounded refuses token streams on which the parser's recursion or time would
// run away.
func bounded(tokens token.Tokens, t *lines, c *collector) bool {
	if len(tokens) > maxTokens {
		c.add(t, 0, 0, "the file has more than %d words and signs", maxTokens)
		return false
	}
	flow, chain, line := 0, 0, 0
	var indents []int
	for _, tk := range tokens {
		p := tk.Position
		if p.Line != line {
			line, chain = p.Line, 0
			for len(indents) > 0 && indents[len(indents)-1] >= p.Column {
				indents = indents[:len(indents)-1]
			}
			indents = append(indents, p.Column)
		}
		switch tk.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType, token.TagType, token.AnchorType:
			chain++
		}
		if flow > maxDepth || chain > maxDepth || len(indents) > maxDepth {
			c.add(t, p.Line, p.Column, "nested deeper than %d", maxDepth)
			return false
		}
	}
	return true
}
