package fulltext

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// spread are directions of their own, by a seed.
func spread(seed uint64, dims int) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]float32, dims)
	for i := range out {
		out[i] = float32(r.NormFloat64())
	}
	return out
}

func withVectors(t testing.TB, i *Index, n, dims int) {
	t.Helper()
	vectors := map[string][]float32{}
	var sources []Source
	keys := map[string]bool{}
	for k := range n {
		key := fmt.Sprint("k", k)
		keys[key] = true
		sources = append(sources, Source{Key: key, Passages: []Passage{{Label: fmt.Sprint("p", k), Same: fmt.Sprint("s", k), Words: "x"}}})
		vectors[fmt.Sprint("s", k)] = spread(uint64(k), dims)
	}
	if err := i.Add(t.Context(), sources); err != nil {
		t.Fatal(err)
	}
	bare, err := i.Bare(t.Context(), "p/m", keys)
	if err != nil || len(bare) != n {
		t.Fatalf("%d, %v", len(bare), err)
	}
	if err := i.AddVectors(t.Context(), "p/m", vectors); err != nil {
		t.Fatal(err)
	}
}

// The nearest come first, as they would by the numbers that were handed in.
func TestNear(t *testing.T) {
	i := New(filepath.Join(t.TempDir(), "i.db"))
	defer func() { _ = i.Close() }()
	const n, dims = 300, 66
	withVectors(t, i, n, dims)
	want := spread(7, dims)
	for k, x := range spread(1000, dims) {
		want[k] += x / 4
	}
	exact := make([]float64, n)
	order := make([]int, n)
	for k := range n {
		order[k] = k
		for d, x := range unit(spread(uint64(k), dims)) {
			exact[k] += float64(x) * float64(unit(want)[d])
		}
	}
	slices.SortFunc(order, func(a, b int) int { return int(math.Copysign(1, exact[b]-exact[a])) })
	got, err := i.Near(t.Context(), "p/m", want, 5)
	if err != nil || len(got) != 5 || got[0].Label != "p7" {
		t.Fatalf("%v, %v", got, err)
	}
	for k, h := range got {
		if h.Label != fmt.Sprint("p", order[k]) {
			t.Errorf("place %d: %s, want p%d", k, h.Label, order[k])
		}
	}
	if got, err := i.Near(t.Context(), "p/m", want[:10], 5); err != nil || len(got) != 0 {
		t.Errorf("another space: %v, %v", got, err)
	}
}

// Vectors are of one model, shared by passages of one text, and go with their passages.
func TestVectorsOfOneModel(t *testing.T) {
	i := New(filepath.Join(t.TempDir(), "i.db"))
	defer func() { _ = i.Close() }()
	withVectors(t, i, 2, 4)
	all := map[string]bool{"k0": true, "k1": true, "again": true}
	if err := i.Add(t.Context(), []Source{{Key: "again", Passages: []Passage{{Label: "moved", Same: "s1"}, {Label: "never"}}}}); err != nil {
		t.Fatal(err)
	}
	if bare, err := i.Bare(t.Context(), "p/m", all); err != nil || len(bare) != 0 {
		t.Errorf("%v, %v", bare, err)
	}
	if got, err := i.Near(t.Context(), "p/m", spread(1, 4), 1); err != nil || !slices.Equal(labels(got), []string{"p1", "moved"}) {
		t.Errorf("%v, %v", got, err)
	}
	i.most = 1
	if err := i.Keep(t.Context(), map[string]bool{"k1": true}); err != nil {
		t.Fatal(err)
	}
	i.most = maxBytes
	if got, err := i.Near(t.Context(), "p/m", spread(0, 4), 5); err != nil || slices.Contains(labels(got), "p0") {
		t.Errorf("of a forgotten passage: %v, %v", got, err)
	}
	if got, err := i.Near(t.Context(), "p/other", spread(1, 4), 5); err != nil || len(got) != 0 {
		t.Errorf("of another model: %v, %v", got, err)
	}
	if bare, err := i.Bare(t.Context(), "p/other", all); err != nil || len(bare) != 1 || bare[0].Key != "k1" {
		t.Errorf("another model: %v, %v", bare, err)
	}
	if err := i.AddVectors(t.Context(), "p/m", map[string][]float32{"s1": spread(1, 4)}); err != nil {
		t.Fatal(err)
	}
	if got, err := i.Near(t.Context(), "p/m", spread(1, 4), 5); err != nil || len(got) != 0 {
		t.Errorf("of the model before: %v, %v", got, err)
	}
}

func BenchmarkNear(b *testing.B) {
	i := New(filepath.Join(b.TempDir(), "i.db"))
	defer func() { _ = i.Close() }()
	withVectors(b, i, 20_000, 1536)
	want := spread(7, 1536)
	for b.Loop() {
		if _, err := i.Near(b.Context(), "p/m", want, 400); err != nil {
			b.Fatal(err)
		}
	}
	if info, err := os.Stat(i.path); err == nil {
		b.ReportMetric(float64(info.Size())/20_000, "bytes/passage")
	}
}
