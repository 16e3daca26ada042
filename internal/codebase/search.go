package codebase

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"agency/internal/agency"
	"agency/internal/code"
	"agency/internal/code/symbols"
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
	maxWaiting  = 64 << 20  // bytes of files that wait to be indexed
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
	text      []byte
}

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
	all, partial, err := t.sources(ctx, maxSearched)
	if err != nil {
		return Searched{}, err
	}
	out, err := t.among(ctx, all, query{text, terms}, most)
	out.Partial = partial
	return out, err
}

// sources are the files of a checkout that are searched, as far as they have so many bytes.
func (t Tree) sources(ctx context.Context, left int) (all []source, partial bool, err error) {
	err = t.walk(ctx, ".", func(p string) bool {
		if !searched(p) {
			return true
		}
		text := t.read(p)
		if text == nil {
			return true
		}
		if left -= len(text); left < 0 {
			partial = true
			return false
		}
		sum := sha256.Sum256(append([]byte(p+"\x00"), text...))
		all = append(all, source{p, hex.EncodeToString(sum[:16]), text})
		return true
	})
	if errors.Is(err, errTooMany) {
		return all, true, nil
	}
	return all, partial, err
}

// among is Search in these files.
func (t Tree) among(ctx context.Context, all []source, q query, most int) (Searched, error) {
	x := t.e.index
	if x == nil {
		return byText(all, q.terms, most), nil
	}
	keys, at := make([]string, len(all)), map[string]int{}
	for i, s := range all {
		keys[i], at[s.key] = s.key, i
	}
	missing, err := x.Missing(ctx, keys)
	if err == nil && len(missing) > maxInline {
		t.e.later(pick(all, at, missing))
		out := byText(all, q.terms, most)
		out.Indexing = true
		return out, nil
	}
	if err == nil {
		err = t.index(ctx, pick(all, at, missing))
	}
	if err != nil {
		if ctx.Err() != nil {
			return Searched{}, ctx.Err()
		}
		return byText(all, q.terms, most), nil // an index that cannot be kept is done without
	}
	byWords, byParts, err := x.Search(ctx, q.terms, fetched)
	if err != nil {
		return byText(all, q.terms, most), ctx.Err()
	}
	t.e.keep(ctx, at)
	lists := []ranking{{byWords, 1}, {byParts, partsWeight}}
	near, note := t.byMeaning(ctx, q.text, all, at)
	lists = append(lists, ranking{near, meaningWeight})
	return Searched{Certainty: Syntax, Passages: fused(lists, all, at, q.terms, most), Note: note}, nil
}

func pick(all []source, at map[string]int, keys []string) (out []source) {
	for _, k := range keys {
		out = append(out, all[at[k]])
	}
	return out
}

// keep has the index forget other states of files once it is large.
func (e *Engine) keep(ctx context.Context, at map[string]int) {
	now := make(map[string]bool, len(at))
	for k := range at {
		now[k] = true
	}
	_ = e.index.Keep(ctx, now) // it is larger than it need be, and thrown away at its bound
}

// later indexes files behind the answer, one lot at a time.
func (e *Engine) later(files []source) {
	left := maxWaiting
	for i, f := range files {
		if left -= len(f.text); left < 0 {
			files = files[:i]
			break
		}
	}
	e.behind.start(indexing, func(ctx context.Context) {
		for lot := range slices.Chunk(files, 100) {
			if err := (Tree{e: e}).index(ctx, lot); err != nil {
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
		if d.Kind == symbols.Variable || d.Kind == symbols.Constant || d.Kind == symbols.Field || d.Kind == symbols.Module || d.Start < at || d.Kind == symbols.Method && d.EndLine == d.Line && strings.Contains(d.Container, ".") {
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

// ranking is a list of what was found, the better the sooner, and how much it counts.
type ranking struct {
	hits   []fulltext.Hit
	weight float64
}

// fused makes one list of several by reciprocal ranks, of the files as they are now.
func fused(lists []ranking, all []source, at map[string]int, terms []string, most int) (out []Passage) {
	score := map[string]float64{}
	for _, list := range lists {
		rank := 0
		for _, h := range list.hits {
			k, now := at[h.Key]
			if !now {
				continue
			}
			rank++
			s := list.weight / float64(rankOf+rank)
			if isTest(all[k].path) && !slices.Contains(terms, "test") && !slices.Contains(terms, "tests") {
				s *= 0.8
			}
			score[h.Label] += s
		}
	}
	labels := make([]string, 0, len(score))
	for l := range score {
		labels = append(labels, l)
	}
	slices.SortFunc(labels, func(a, b string) int { return cmp.Or(cmp.Compare(score[b], score[a]), strings.Compare(a, b)) })
	of := map[string]int{}
	for _, l := range labels {
		p := ofLabel(l)
		if of[p.Path]++; of[p.Path] <= maxOfFile {
			out = append(out, p)
		}
		if len(out) == most {
			break
		}
	}
	return out
}

func isTest(p string) bool {
	base := path.Base(p)
	return strings.Contains(base, "_test.") || strings.Contains(base, ".test.") || strings.Contains(base, ".spec.") || strings.HasPrefix(base, "test_") ||
		strings.Contains(p, "testdata/")
}

// byText ranks files by the words that their text has, rare ones before frequent ones, and
// shows of each the line with the most.
func byText(all []source, terms []string, most int) Searched {
	lower := make([][]byte, len(all))
	count := make([]int, len(terms))
	for i, s := range all {
		lower[i] = bytes.ToLower(s.text)
		for k, w := range terms {
			if bytes.Contains(lower[i], []byte(w)) {
				count[k]++
			}
		}
	}
	type ranked struct {
		i     int
		score float64
	}
	var list []ranked
	for i := range all {
		r := ranked{i: i}
		for k, w := range terms {
			if bytes.Contains(lower[i], []byte(w)) {
				r.score += 1 / float64(count[k])
			}
		}
		if r.score > 0 {
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return cmp.Compare(b.score, a.score) })
	out := Searched{Certainty: Text}
	for _, r := range list[:min(len(list), most)] {
		best, at, n := -1.0, 0, 0
		for line := range bytes.Lines(lower[r.i]) {
			have := 0.0
			for k, w := range terms {
				if bytes.Contains(line, []byte(w)) {
					have += 1 / float64(count[k])
				}
			}
			if have > best {
				best, at = have, n
			}
			n += len(line)
		}
		text, line := lineAt(all[r.i].text, min(at, len(all[r.i].text)))
		out.Passages = append(out.Passages, Passage{Path: all[r.i].path, Line: line, End: line, Text: text})
	}
	return out
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
