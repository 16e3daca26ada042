package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agency/internal/bounded"
	"agency/internal/code"
	"agency/internal/code/gotypes"
	"agency/internal/codebase"
	"agency/internal/codebase/questions"
	"agency/internal/store/fulltext"
)

// clonesEnv names the folder with the clones that questionsRow asks about.
const clonesEnv = "AGENCY_CLONES"

// questionsRow is about how well questions on public repositories are answered.
func questionsRow() row {
	return row{figures: []string{"search/recall-vs-grep", "search/mrr-vs-grep"}, measure: measureQuestions}
}

func measureQuestions(ctx context.Context, b *bench) ([]figure, error) {
	clones := os.Getenv(clonesEnv)
	if clones == "" {
		say(b.err, "bench: search/recall-vs-grep: skipped, %s names no folder with clones of what internal/codebase/testdata/public.txt asks about\n", clonesEnv)
		return nil, nil
	}
	f, err := os.Open(filepath.Join("..", "internal", "codebase", "testdata", "public.txt"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	sets, err := questions.Read(f)
	if err != nil {
		return nil, err
	}
	var ours, grep questions.Tally
	var raw []string
	for _, set := range sets {
		mine, plain, err := b.judge(ctx, set, filepath.Join(clones, set.Name))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", set.Name, err)
		}
		raw = append(raw, fmt.Sprintf("%s: search %v; grep %v; held out: search %v; grep %v", set.Name, mine.All(), plain.All(), mine[1], plain[1]))
		ours, grep = ours.With(mine.All()), grep.With(plain.All())
	}
	return []figure{
		{"search/recall-vs-grep", ours.Recall() / grep.Recall(), atLeast(2), raw},
		{"search/mrr-vs-grep", ours.MRR() / grep.MRR(), atLeast(2), nil},
	}, nil
}

// judge asks the questions of a set of the search and of grep.
func (b *bench) judge(ctx context.Context, set questions.Set, dir string) (ours, grep questions.Halves, err error) {
	s, err := b.searched(dir)
	if err != nil {
		return ours, grep, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if _, err = s.tree.Search(ctx, "anything", 1); err != nil {
		return ours, grep, err
	}
	s.engine.Wait()
	if ours, err = set.Judge(func(q string) (paths []string, err error) {
		out, err := s.tree.Search(ctx, q, 10)
		for _, p := range out.Passages {
			if n := len(paths); n == 0 || paths[n-1] != p.Path {
				paths = append(paths, p.Path)
			}
		}
		return paths, err
	}); err != nil {
		return ours, grep, err
	}
	all, err := s.tree.Texts(ctx)
	if err != nil {
		return ours, grep, err
	}
	var files []questions.File
	for path, text := range all {
		files = append(files, questions.File{Path: path, Text: text})
	}
	grep, err = set.Judge(func(q string) ([]string, error) { return questions.Grep(files, q), nil })
	return ours, grep, err
}

// searching is an engine with an index of its own on a folder.
type searching struct {
	root   *os.Root
	syntax *code.Engine
	engine *codebase.Engine
	tree   codebase.Tree
}

func (b *bench) searched(dir string) (*searching, error) {
	at, err := b.folder()
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	s := &searching{root: root, syntax: code.New(code.Options{})}
	s.engine = codebase.New(s.syntax, func() gotypes.Place { return gotypes.FindPlace(os.Getenv) }, fulltext.New(filepath.Join(at, "search.db")))
	s.tree = s.engine.Of(bounded.FS(root)).At(dir)
	return s, nil
}

func (s *searching) close() error {
	return errors.Join(s.engine.Close(), s.syntax.Close(), s.root.Close())
}

// searchLargeRow is about a repository of 100 000 files and a million lines: an edit is found
// by the next search within 50 ms, the references of a name that is used everywhere within
// 300 ms, and the first answer comes while the index is being made: 10 s, the time to read
// all of it from a disk.
func searchLargeRow() row {
	return row{figures: []string{"search/first-answer", "search/edit", "search/references"}, long: true, measure: measureSearchLarge}
}

func measureSearchLarge(ctx context.Context, b *bench) (out []figure, err error) {
	dir, err := b.folder()
	if err != nil {
		return nil, err
	}
	if err := fillCode(dir, bigFiles); err != nil {
		return nil, err
	}
	s, err := b.searched(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	begun := time.Now()
	got, err := s.tree.Search(ctx, "where is zebra counted", 5)
	if err != nil || len(got.Passages) == 0 {
		return nil, errors.Join(err, fmt.Errorf("the first answer: %+v", got))
	}
	first := time.Since(begun)
	for got.Indexing {
		s.engine.Wait()
		if got, err = s.tree.Search(ctx, "where is zebra counted", 5); err != nil {
			return nil, err
		}
	}
	indexed := time.Since(begun)
	var edits, refs []float64
	var sure codebase.Certainty // by types only up to 20 000 files of Go
	for n := range b.n {
		word := fmt.Sprintf("Okapi%d", n)
		if err := os.WriteFile(filepath.Join(dir, "p7", "f7.go"), fmt.Appendf(nil, "package p7\n\nfunc %s() {}\n", word), 0o644); err != nil {
			return nil, err
		}
		begun = time.Now()
		got, err := s.tree.Search(ctx, word, 1)
		if err != nil || len(got.Passages) != 1 || got.Passages[0].Symbol != word {
			return nil, errors.Join(err, fmt.Errorf("after an edit: %+v", got))
		}
		edits = append(edits, float64(time.Since(begun)))
	}
	for range b.n + 1 {
		begun = time.Now()
		used, err := s.tree.References(ctx, "Count", "hot/hot.go")
		if n := len(used.Places) + len(used.Unsure); err != nil || n < bigFiles/100 {
			return nil, errors.Join(err, fmt.Errorf("references: %d", n))
		}
		sure = used.Certainty
		refs = append(refs, float64(time.Since(begun)))
	}
	ms := func(v []float64) string { return fmt.Sprintf("%.0f ms", median(v)/1e6) }
	return []figure{
		{"search/first-answer", float64(first) / float64(10*time.Second), atMost(1), []string{fmt.Sprintf("%v; the whole index %v", first.Round(time.Millisecond), indexed.Round(time.Second))}},
		{"search/edit", median(edits) / float64(50*time.Millisecond), atMost(1), []string{ms(edits)}},
		{"search/references", median(refs[1:]) / float64(300*time.Millisecond), atMost(1), []string{ms(refs[1:]) + " warm, " + ms(refs[:1]) + " cold, certain by " + string(sure)}},
	}, nil
}

// fillCode makes a module of so many files of ten lines in packages of fifty, of which every
// hundredth file uses one name.
func fillCode(root string, files int) error {
	write := func(name, text string) error {
		p := filepath.Join(root, filepath.FromSlash(name))
		return errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(text), 0o644))
	}
	err := errors.Join(write("go.mod", "module m\n\ngo 1.26\n"), write("hot/hot.go", "package hot\n\n// Count counts zebras.\nfunc Count(n int) int { return n + 1 }\n"))
	words := strings.Fields("queue lease budget parser socket branch ledger window plan gate")
	for n := range files {
		imports, call := "", "n"
		if n%100 == 0 {
			imports, call = "import \"m/hot\"\n", "hot.Count(n)"
		}
		w := words[n%len(words)]
		err = errors.Join(err, write(fmt.Sprintf("p%d/f%d.go", n%(files/50), n),
			fmt.Sprintf("package p%d\n\n%s\n// Step%d moves the %s on.\nfunc Step%d(n int) int {\n\tn += %d\n\tn *= 3\n\treturn %s\n}\n", n%(files/50), imports, n, w, n, n, call)))
	}
	return err
}
