package codebase

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"agency/internal/code"
	"agency/internal/code/gotypes"
	"agency/internal/codebase/questions"
	"agency/internal/store/fulltext"
)

// sets are the questions of a file.
func sets(t *testing.T, name string) []questions.Set {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	out, err := questions.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

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
	set := sets(t, "testdata/queries.txt")[0]
	if len(set.Questions) < 100 {
		t.Fatalf("%d questions", len(set.Questions))
	}
	ours, grep := judge(t, set, "../..")
	if ours.Recall() < 0.75 || ours.Recall() < grep.Recall()+0.2 || ours.MRR() < grep.MRR()+0.2 {
		t.Error("the search has become worse")
	}
}

// judge asks the questions of a set about the repository in a folder.
func judge(t *testing.T, set questions.Set, dir string) (ours, grep questions.Tally) {
	t.Helper()
	tr := indexed(t).Of(inMemory(t, New(nil, nil, nil).Of(os.DirFS(dir))))
	ready(t, tr)
	var list []questions.File
	if err := tr.walk(t.Context(), ".", func(p string) bool {
		list = append(list, questions.File{Path: p, Text: string(tr.read(p))})
		return true
	}); err != nil {
		t.Fatal(err)
	}
	of, err := set.Judge(func(q string) ([]string, error) {
		out, err := tr.Search(t.Context(), q, 10)
		return files(out.Passages), err
	})
	if err != nil {
		t.Fatal(err)
	}
	by, err := set.Judge(func(q string) ([]string, error) { return questions.Grep(list, q), nil })
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"tuned by", "held out"} {
		t.Logf("%s %s: search %v; grep %v", set.Name, name, of[i], by[i])
	}
	for i, q := range set.Questions {
		out, err := tr.Search(t.Context(), q.Text, 10)
		if rank := q.Rank(files(out.Passages)); err == nil && i%2 == 0 && (rank == 0 || rank > 5) {
			t.Logf("rank %d: %s: %v", rank, q.Text, files(out.Passages))
		}
	}
	return of.All(), by.All()
}

// TestPublicQuestions judges the search by questions about public repositories, whose clones
// lie in the folder that AGENCY_CLONES names, by their names.
func TestPublicQuestions(t *testing.T) {
	clones := os.Getenv("AGENCY_CLONES")
	all := sets(t, "testdata/public.txt")
	n := 0
	for _, set := range all {
		n += len(set.Questions)
	}
	if len(all) != 3 || n < 100 {
		t.Fatalf("%d questions about %d repositories", n, len(all))
	}
	if clones == "" {
		t.Skip("AGENCY_CLONES names no folder with clones of the repositories of testdata/public.txt")
	}
	for _, set := range all {
		ours, grep := judge(t, set, filepath.Join(clones, set.Name))
		t.Logf("%s: search %v; grep %v", set.Name, ours, grep)
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
