package codebase

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"agency/internal/code"
	"agency/internal/code/gotypes"
	"agency/internal/store/fulltext"
)

// question is one of testdata/queries.txt.
type question struct {
	text  string
	files []string // one of which answers it; a folder with a slash at its end
}

func questions(t *testing.T) (out []question) {
	t.Helper()
	f, err := os.Open("testdata/queries.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for s := bufio.NewScanner(f); s.Scan(); {
		if text, files, ok := strings.Cut(s.Text(), "|"); ok {
			out = append(out, question{strings.TrimSpace(text), strings.Fields(files)})
		}
	}
	return out
}

// rank is the place of the first path that answers a question, from 1; 0: none does.
func (q question) rank(paths []string) int {
	for i, p := range paths {
		for _, want := range q.files {
			if p == want || strings.HasSuffix(want, "/") && strings.HasPrefix(p, want) {
				return i + 1
			}
		}
	}
	return 0
}

// tally is how well questions were answered.
type tally struct{ n, five, reciprocal float64 }

func (y *tally) add(rank int) {
	y.n++
	if rank > 0 {
		y.reciprocal += 1 / float64(rank)
	}
	if rank > 0 && rank <= 5 {
		y.five++
	}
}

func (y tally) recall() float64 { return y.five / y.n }
func (y tally) mrr() float64    { return y.reciprocal / y.n }

func files(passages []Passage) (out []string) {
	for _, p := range passages {
		if n := len(out); n == 0 || out[n-1] != p.Path {
			out = append(out, p.Path)
		}
	}
	return out
}

// indexed is an engine with an index of its own.
func indexed(t *testing.T) *Engine {
	t.Helper()
	e := New(code.New(code.Options{}), func() gotypes.Place { return gotypes.Place{} }, fulltext.New(filepath.Join(t.TempDir(), "i.db")))
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// inMemory are the files that are searched of a checkout, read once for all questions.
func inMemory(t *testing.T, tr Tree) fstest.MapFS {
	t.Helper()
	out := fstest.MapFS{}
	if err := tr.walk(t.Context(), ".", func(p string) bool {
		if text := tr.read(p); searched(p) && text != nil {
			out[p] = &fstest.MapFile{Data: text}
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestQuestions judges the search by the questions of testdata: how many have an answer among
// the first five files, and the mean reciprocal rank, beside grep with the question's words.
func TestQuestions(t *testing.T) {
	if testing.Short() {
		t.Skip("reads this whole repository")
	}
	all := questions(t)
	if len(all) < 100 {
		t.Fatalf("%d questions", len(all))
	}
	e := indexed(t)
	tr := e.Of(inMemory(t, New(nil, nil, nil).Of(os.DirFS("../.."))))
	ready(t, tr)
	var ours, grep tally
	for _, q := range all {
		out, err := tr.Search(t.Context(), q.text, 10)
		if err != nil || out.Certainty != Syntax {
			t.Fatalf("%s: %+v, %v", q.text, out, err)
		}
		rank := q.rank(files(out.Passages))
		ours.add(rank)
		if rank == 0 || rank > 5 {
			t.Logf("rank %d: %s: %v", rank, q.text, files(out.Passages))
		}
	}
	for _, q := range all {
		grep.add(q.rank(grepped(t, tr, q.text)))
	}
	t.Logf("search: recall@5 %.2f, MRR %.2f", ours.recall(), ours.mrr())
	t.Logf("grep:   recall@5 %.2f, MRR %.2f", grep.recall(), grep.mrr())
	if ours.recall() < 0.75 || ours.recall() < grep.recall()+0.2 || ours.mrr() < grep.mrr()+0.2 {
		t.Error("the search has become worse")
	}
}

// ready waits until the index is made.
func ready(t *testing.T, tr Tree) {
	t.Helper()
	out, err := tr.Search(t.Context(), "anything", 1)
	if err != nil || !out.Indexing || out.Certainty != Text {
		t.Fatalf("the first answer: %+v, %v", out, err)
	}
	tr.e.Wait()
}

// grepped are the files in which most of a question's words stand, as grep -c would say.
func grepped(t *testing.T, tr Tree, query string) []string {
	t.Helper()
	var list []source
	if err := tr.walk(t.Context(), ".", func(p string) bool {
		if searched(p) {
			list = append(list, source{path: p, text: tr.read(p)})
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return files(plainly(list, strings.Fields(strings.ToLower(query))))
}

// plainly ranks by how many lines hold one of the words: the files that grep names most.
func plainly(list []source, words []string) (out []Passage) {
	best := map[string]int{}
	for _, s := range list {
		for line := range strings.Lines(strings.ToLower(string(s.text))) {
			for _, w := range words {
				if !contains(little, w) && strings.Contains(line, w) {
					best[s.path]++
					break
				}
			}
		}
	}
	for range 10 {
		top := ""
		for p, n := range best {
			if top == "" || n > best[top] || n == best[top] && p < top {
				top = p
			}
		}
		if top == "" {
			return out
		}
		out = append(out, Passage{Path: top})
		delete(best, top)
	}
	return out
}

func contains(list []string, w string) bool {
	for _, l := range list {
		if l == w {
			return true
		}
	}
	return false
}

// The first answer over many files is by text and says so; the index answers from then on,
// follows edits at once, and is found again by the next engine.
func TestSearchNeverWaits(t *testing.T) {
	many := fstest.MapFS{"queue.go": {Data: []byte("package q\n\n// Bisect halves a red batch.\nfunc Bisect() {}\n\nfunc Other() {}\n")}}
	for i := range 2 * maxInline {
		many[fmt.Sprintf("f%03d.go", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, "package q\n\nfunc F%d() {}\n", i)}
	}
	path := filepath.Join(t.TempDir(), "i.db")
	e := New(code.New(code.Options{}), func() gotypes.Place { return gotypes.Place{} }, fulltext.New(path))
	tr := e.Of(many)
	out, err := tr.Search(t.Context(), "who halves batches?", 3)
	if err != nil || !out.Indexing || out.Certainty != Text || len(out.Passages) != 1 || out.Passages[0].Path != "queue.go" {
		t.Fatalf("%+v, %v", out, err)
	}
	e.Wait()
	out, err = tr.Search(t.Context(), "who halves batches?", 3)
	if err != nil || out.Indexing || out.Certainty != Syntax || len(out.Passages) == 0 || out.Passages[0].Symbol != "Bisect" || out.Passages[0].Line != 3 {
		t.Fatalf("%+v, %v", out, err)
	}
	many["f000.go"] = &fstest.MapFile{Data: []byte("package q\n\n// Zebra is new.\nfunc Zebra() {}\n")}
	if out, err = tr.Search(t.Context(), "zebra", 3); err != nil || len(out.Passages) == 0 || out.Passages[0].Symbol != "Zebra" {
		t.Errorf("after an edit: %+v, %v", out, err)
	}
	delete(many, "f000.go")
	if out, err = tr.Search(t.Context(), "zebra", 3); err != nil || len(out.Passages) != 0 {
		t.Errorf("after a deletion: %+v, %v", out, err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	next := New(code.New(code.Options{}), func() gotypes.Place { return gotypes.Place{} }, fulltext.New(path))
	defer func() { _ = next.Close() }()
	if out, err = next.Of(many).Search(t.Context(), "halves batches", 3); err != nil || out.Certainty != Syntax {
		t.Errorf("the next engine: %+v, %v", out, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tr.Search(ctx, "zebra", 3); err == nil {
		t.Error("a cancelled search answers")
	}
}
