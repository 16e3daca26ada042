package fulltext

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func sample(n int) (out []Source) {
	for i := range n {
		out = append(out, Source{Key: fmt.Sprint("k", i), Passages: []Passage{
			{Label: fmt.Sprint("a", i), Title: fmt.Sprintf("queue number%d", i), Words: fmt.Sprintf("waits until a slot is free number%d", i)},
		}})
	}
	return out
}

func labels(hits []Hit) (out []string) {
	for _, h := range hits {
		out = append(out, h.Label)
	}
	return out
}

// Words are found in any of their forms, parts of titles by their letters; what is about
// something comes before what only has the word.
func TestSearch(t *testing.T) {
	i := New(filepath.Join(t.TempDir(), "sub", "i.db"))
	defer func() { _ = i.Close() }()
	if err := i.Add(t.Context(), []Source{
		{Key: "1", Passages: []Passage{{"holds", "", "Sandbox", "", "it schedules contracts"}, {"about", "", "schedule contracts", "", "some text"}}},
		{Key: "2", Passages: []Passage{{"part", "", "reservation", "", "x"}}},
	}); err != nil {
		t.Fatal(err)
	}
	words, parts, err := i.Search(t.Context(), []string{"scheduling", `a"b`, "NEAR"}, 10)
	if err != nil || !slices.Equal(labels(words), []string{"about", "holds"}) || len(parts) != 0 {
		t.Errorf("%v, %v, %v", words, parts, err)
	}
	if words, parts, err = i.Search(t.Context(), []string{"reserv"}, 10); err != nil || !slices.Equal(labels(parts), []string{"part"}) {
		t.Errorf("%v, %v, %v", words, parts, err)
	}
	if missing, err := i.Missing(t.Context(), []string{"1", "3"}); err != nil || !slices.Equal(missing, []string{"3"}) {
		t.Errorf("%v, %v", missing, err)
	}
}

// A second process finds what the first has indexed.
func TestShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "i.db")
	a, b := New(path), New(path)
	defer func() { _, _ = a.Close(), b.Close() }()
	if err := a.Add(t.Context(), sample(3)); err != nil {
		t.Fatal(err)
	}
	if err := b.Add(t.Context(), sample(4)); err != nil {
		t.Fatal(err)
	}
	words, _, err := a.Search(t.Context(), []string{"number3", "number0"}, 10)
	if got := labels(words); err != nil || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	if i, err := os.Stat(path); err != nil || i.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", i.Mode(), err)
	}
}

// A damaged file, one of another version and one that is too large are made anew, whether
// that is seen as it is opened or later.
func TestMadeAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "i.db")
	fresh := func(when string) {
		t.Helper()
		i := New(path)
		defer func() { _ = i.Close() }()
		if err := i.Add(t.Context(), sample(2)); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if words, _, err := i.Search(t.Context(), []string{"slot"}, 10); err != nil || len(words) != 2 {
			t.Errorf("%s: %v, %v", when, words, err)
		}
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	fresh("no database")
	i := New(path)
	db, err := i.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	_ = i.Close()
	fresh("another version")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for k := 4096; k < len(b); k++ {
		b[k] = 0xff
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	fresh("damaged behind its first page")
	i = New(path)
	if err := i.Add(t.Context(), sample(500)); err != nil {
		t.Fatal(err)
	}
	_ = i.Close()
	small := New(path)
	small.most = 1 << 12
	defer func() { _ = small.Close() }()
	if missing, err := small.Missing(t.Context(), []string{"k400"}); err != nil || len(missing) != 1 {
		t.Errorf("too large: %v, %v", missing, err)
	}
}

// What is no longer asked for goes when the file has grown.
func TestKeep(t *testing.T) {
	i := New(filepath.Join(t.TempDir(), "i.db"))
	defer func() { _ = i.Close() }()
	if err := i.Add(t.Context(), sample(300)); err != nil {
		t.Fatal(err)
	}
	if err := i.Keep(t.Context(), map[string]bool{"k1": true}); err != nil {
		t.Fatal(err)
	}
	if missing, err := i.Missing(t.Context(), []string{"k1", "k2"}); err != nil || len(missing) != 0 {
		t.Errorf("a small index forgets: %v, %v", missing, err)
	}
	i.most = 1
	if err := i.Keep(t.Context(), map[string]bool{"k1": true}); err != nil {
		t.Fatal(err)
	}
	i.most = maxBytes
	if missing, err := i.Missing(t.Context(), []string{"k1", "k2"}); err != nil || !slices.Equal(missing, []string{"k2"}) {
		t.Errorf("%v, %v", missing, err)
	}
	if words, _, err := i.Search(t.Context(), []string{"slot"}, 10); err != nil || !slices.Equal(labels(words), []string{"a1"}) {
		t.Errorf("%v, %v", words, err)
	}
}
