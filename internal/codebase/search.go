package codebase

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"agency/internal/agency"
	"agency/internal/code"
	"agency/internal/code/symbols"
	"agency/internal/regexp"
	"agency/internal/store/fulltext"
)

// Passage is a part of a file that was found: a definition, or the file's own words.
type Passage struct {
	Path   string       `json:"path"`
	Line   int          `json:"line"`
	End    int          `json:"end_line"`
	Symbol string       `json:"symbol,omitempty"`
	Kind   symbols.Kind `json:"kind,omitempty"`
	Text   string       `json:"text"` // its first line that says something
}

// Searched is what was found, the better the sooner.
type Searched struct {
	Certainty Certainty `json:"certainty"`
	Passages  []Passage `json:"passages"`
	// Indexing: the index is being made, so this is by the letters of the words alone.
	Indexing bool `json:"indexing,omitempty"`
	// Note is what stood in the way of an answer by meaning, where one was asked for.
	Note string `json:"note,omitempty"`
	// Partial: the checkout has more text than is searched; what comes later by path was not.
	Partial bool `json:"partial,omitempty"`
}

// Bounds of a search.
const (
	maxInline   = 64        // files that are indexed before an answer; more are indexed behind it
	maxSearched = 256 << 20 // bytes of a checkout
	maxData     = 64 << 10  // bytes of a file of data: a larger one was written by a program
	indexTime   = 10 * time.Minute
	fetched     = 400 // passages that are looked at for one answer, of any state of their files
	maxOfFile   = 2   // passages of one file in an answer
	maxPassage  = 16 << 10
	maxQuery    = 40 // words
	rankOf      = 60 // of reciprocal rank fusion
	partsWeight = 0.3
)

// query is what is looked for: as it was asked, and its words.
type query struct {
	text  string
	terms []string
}

// source is a file as it is searched.
type source struct {
	path, key string
	size      int
	text      []byte // nil: not read yet
}

func (s source) compare(path string) int { return strings.Compare(s.path, path) }

// searched tells whether a file is searched: code, and what people write about it.
func searched(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".rst", ".sql", ".proto", ".graphql":
		return true
	}
	return code.SyntaxOf(name) != ""
}

// Search finds the passages that a question in words is about. It never waits for an index
// of many files: it answers by their text then, and says so.
func (t Tree) Search(ctx context.Context, text string, most int) (Searched, error) {
	terms := termsOf(text)
	if len(terms) == 0 {
		return Searched{}, agency.Errorf(agency.KindInvalid, "the query has no word to look for")
	}
	all, err := t.list(ctx)
	if err != nil {
		return Searched{}, err
	}
	out, err := t.among(ctx, all, query{text, terms}, most)
	out.Partial = all.partial
	return out, err
}

// list is what is known of the checkout's files, brought up to date.
func (t Tree) list(ctx context.Context) (found, error) {
	if t.at == "" {
		return new(listing).look(ctx, t)
	}
	return t.e.listings.of(t.at).look(ctx, t)
}

// Texts are the files that are searched of a checkout, by their paths.
func (t Tree) Texts(ctx context.Context) (map[string]string, error) {
	all, err := t.list(ctx)
	out := make(map[string]string, len(all.sources))
	for _, s := range textsOf(t, all.sources) {
		out[s.path] = string(s.text)
	}
	return out, err
}

// textsOf gives the texts of those that were not read to tell them. One that is gone or changed
// meanwhile has none: it is another source.
func textsOf(t Tree, all []source) (out []source) {
	for _, s := range all {
		if s.text == nil {
			if s.text = t.read(s.path); s.text == nil || keyOf(s.path, s.text) != s.key {
				continue
			}
		}
		out = append(out, s)
	}
	return out
}

func keyOf(path string, text []byte) string {
	sum := sha256.Sum256(append([]byte(path+"\x00"), text...))
	return hex.EncodeToString(sum[:16])
}

// among is Search in these files.
func (t Tree) among(ctx context.Context, in found, q query, most int) (Searched, error) {
	all := in.sources
	x := t.e.index
	if x == nil {
		return byText(textsOf(t, all), q.terms, most), nil
	}
	missing, err := x.Missing(ctx, in.keys)
	if err == nil && len(missing) > maxInline {
		indexLater(t, pick(all, setOf(missing)))
		out := byText(textsOf(t, all), q.terms, most)
		out.Indexing = true
		return out, nil
	}
	if err == nil {
		err = t.index(ctx, textsOf(t, pick(all, setOf(missing))))
	}
	if err != nil {
		if ctx.Err() != nil {
			return Searched{}, ctx.Err()
		}
		return byText(textsOf(t, all), q.terms, most), nil // an index that cannot be kept is done without
	}
	byWords, byParts, err := x.Search(ctx, q.terms, fetched)
	if err != nil {
		return byText(textsOf(t, all), q.terms, most), ctx.Err()
	}
	if x.Large() {
		_ = x.Keep(ctx, keysOf(all)) // it is larger than it need be, and thrown away at its bound
	}
	lists := []ranking{{byWords, 1}, {byParts, partsWeight}}
	near, note := byMeaning(ctx, t, q.text, all)
	lists = append(lists, ranking{near, meaningWeight})
	return Searched{Certainty: Syntax, Passages: fused(lists, all, q.terms, most), Note: note}, nil
}

// pick are the files of these keys.
func pick(all []source, keys map[string]bool) (out []source) {
	if len(keys) == 0 {
		return nil
	}
	for _, s := range all {
		if keys[s.key] {
			out = append(out, s)
		}
	}
	return out
}

func setOf(keys []string) map[string]bool {
	out := make(map[string]bool, len(keys))
	for _, k := range keys {
		out[k] = true
	}
	return out
}

func keysOf(all []source) map[string]bool {
	out := make(map[string]bool, len(all))
	for _, s := range all {
		out[s.key] = true
	}
	return out
}

// indexLater indexes files behind the answer, one lot at a time.
func indexLater(t Tree, files []source) {
	for i := range files {
		files[i].text = nil // is read again in its turn
	}
	t.e.behind.start(indexing, func(ctx context.Context) {
		for lot := range slices.Chunk(files, 100) {
			if err := t.index(ctx, textsOf(t, lot)); err != nil {
				return // the next search begins again where this one ended
			}
		}
	})
}

// Wait waits until nothing is done behind answers.
func (e *Engine) Wait() { e.behind.wait() }

// Close ends what is done behind answers, and closes the index.
func (e *Engine) Close() error {
	e.behind.close()
	e.listings.close()
	if e.index == nil {
		return nil
	}
	return e.index.Close()
}

func (t Tree) index(ctx context.Context, files []source) error {
	if len(files) == 0 {
		return nil
	}
	var out []fulltext.Source
	for _, f := range files {
		parts, err := t.parts(ctx, f)
		if err != nil {
			return err
		}
		s := fulltext.Source{Key: f.key}
		for _, p := range parts {
			s.Passages = append(s.Passages, p.Passage)
		}
		out = append(out, s)
	}
	return t.e.index.Add(ctx, out)
}

// part is a passage with the text that it was made of.
type part struct {
	fulltext.Passage
	path string
	text []byte
}

func partOf(path string, text []byte, p fulltext.Passage) part {
	if len(bytes.TrimSpace(text)) > 0 {
		p.Same = sameOf(path, text)
	}
	return part{p, path, text}
}

// parts parts a file by its functions and types, each with the comment before it; what is
// left is a passage of its own.
func (t Tree) parts(ctx context.Context, s source) ([]part, error) {
	var f symbols.File
	if code.SyntaxOf(s.path) != "" {
		var err error
		if f, err = symbols.Read(ctx, t.e.syntax, s.path, s.text); code.Skip(err) != nil {
			return nil, err
		}
	}
	var out []part
	place := words(strings.TrimSuffix(s.path, path.Ext(s.path)))
	rest, at := []byte(nil), 0
	for _, d := range f.Definitions {
		if d.Kind == symbols.Variable || d.Kind == symbols.Constant || d.Kind == symbols.Field || d.Kind == symbols.Module || d.Kind == symbols.Key && d.Container != "" || d.Start < at || d.Kind == symbols.Method && d.EndLine == d.Line && strings.Contains(d.Container, ".") {
			continue
		}
		from := commentBefore(s.text, d.Start, at)
		rest = append(rest, s.text[at:from]...)
		at = d.End
		_, line := lineAt(s.text, from)
		text := s.text[from:min(d.End, from+maxPassage)]
		out = append(out, partOf(s.path, text, fulltext.Passage{
			Label: label(Passage{Path: s.path, Line: line, End: d.EndLine, Symbol: d.Path(), Kind: d.Kind, Text: d.Signature}),
			Title: place + " " + words(d.Path()), About: words(string(s.text[from:d.Start])), Words: words(string(text)),
		}))
	}
	rest = append(rest, s.text[at:]...)
	head, _ := lineAt(bytes.TrimLeft(rest, "\r\n\t #/*-"), 0)
	about := rest[:min(len(rest), 2000)]
	out = append(out, partOf(s.path, rest, fulltext.Passage{
		Label: label(Passage{Path: s.path, Line: 1, End: 1 + bytes.Count(s.text, []byte("\n")), Text: head}),
		Title: place, About: words(comments(string(about))), Words: words(string(rest[:min(len(rest), 2*maxPassage)])),
	}))
	return out, nil
}

// commentBefore is where the comment right before a definition begins.
func commentBefore(text []byte, at, least int) int {
	start := lineStart(text, at)
	for start > least {
		before := lineStart(text, start-1)
		line := bytes.TrimSpace(text[before:start])
		if len(line) == 0 || before < least || !bytes.ContainsAny(line[:1], "/#*-@;%") {
			break
		}
		start = before
	}
	return max(start, least)
}

var commentLine = regexp.MustCompile(`(?m)^\s*(?://|#|\*|/\*|--|"""|''').*$`)

func comments(text string) string { return strings.Join(commentLine.FindAllString(text, -1), "\n") }

func label(p Passage) string {
	return strings.Join([]string{p.Path, strconv.Itoa(p.Line), strconv.Itoa(p.End), p.Symbol, string(p.Kind), p.Text}, "\x00")
}

func ofLabel(s string) (p Passage) {
	f := strings.SplitN(s, "\x00", 6)
	if len(f) != 6 {
		return p
	}
	p = Passage{Path: f[0], Symbol: f[3], Kind: symbols.Kind(f[4]), Text: f[5]}
	p.Line, _ = strconv.Atoi(f[1]) // were written by label
	p.End, _ = strconv.Atoi(f[2])
	return p
}

// words are those of a text, lower, parts of compound names beside the whole.
func words(text string) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/4)
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		parts := camel(w)
		for _, p := range parts {
			b.WriteString(strings.ToLower(p))
			b.WriteByte(' ')
		}
		if len(parts) > 1 {
			b.WriteString(strings.ToLower(w))
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// camel parts a compound name: HTTPServer2 is HTTP, Server, 2.
func camel(w string) (parts []string) {
	rs := []rune(w)
	from := 0
	for i := 1; i < len(rs); i++ {
		up, before := unicode.IsUpper(rs[i]), unicode.IsUpper(rs[i-1])
		next := i+1 < len(rs) && unicode.IsLower(rs[i+1])
		if up && !before || up && before && next || unicode.IsDigit(rs[i]) != unicode.IsDigit(rs[i-1]) {
			parts = append(parts, string(rs[from:i]))
			from = i
		}
	}
	return append(parts, string(rs[from:]))
}

// little are words that say nothing of what is looked for.
var little = strings.Fields("a an and are as at be but by can do does for from has have how i if in into is it its not of on one only or other so some " +
	"such that the their them then there these this to up was what when where which who whom whose why will with within without we you")

// termsOf are the words of a query that say something, each once.
func termsOf(query string) (out []string) {
	for w := range strings.FieldsSeq(words(query)) {
		if !slices.Contains(little, w) && len(out) < maxQuery && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	if len(out) == 0 {
		for w := range strings.FieldsSeq(words(query)) {
			out = append(out, w)
		}
	}
	return out[:min(len(out), maxQuery)]
}
