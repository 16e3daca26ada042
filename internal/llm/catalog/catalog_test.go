package catalog_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/llm/catalog"
)

func load(t *testing.T) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Every entry must be usable: a wrong number here is money.
func TestEntries(t *testing.T) {
	c := load(t)
	if _, err := time.Parse(time.DateOnly, c.AsOf); err != nil {
		t.Errorf("as_of: %v", err)
	}
	for provider, list := range c.Providers {
		seen := map[string]bool{}
		for _, m := range list {
			if seen[m.ID] {
				t.Errorf("%s/%s stands twice", provider, m.ID)
			}
			seen[m.ID] = true
			p := m.Price
			if p.In <= 0 || p.CachedIn <= 0 || p.CachedIn > p.In || p.Out < p.In || m.Context < m.MaxOutput || m.MaxOutput <= 0 {
				t.Errorf("%s/%s: implausible %+v", provider, m.ID, m)
			}
			if m.LongAbove > 0 && (m.LongPrice.In <= p.In || m.LongPrice.Out <= p.Out || m.LongPrice.CachedIn <= p.CachedIn) {
				t.Errorf("%s/%s: a long prompt is not dearer: %+v", provider, m.ID, m)
			}
			if m.Fictive != (provider == "rehearsal") {
				t.Errorf("%s/%s: fictive %v", provider, m.ID, m.Fictive)
			}
		}
		for _, l := range catalog.Levels() {
			id := c.Defaults(provider)[l]
			if _, ok := c.Lookup(provider, id); id == "" || !ok {
				t.Errorf("%s has no default for %s", provider, l)
			}
		}
	}
}

func TestDefaults(t *testing.T) {
	c := load(t)
	want := map[catalog.Level]string{
		catalog.ReasoningHeavy: "claude-opus-4-1", catalog.Capable: "claude-sonnet-4-5", catalog.FastCheap: "claude-haiku-4-5",
	}
	if diff := cmp.Diff(want, c.Defaults("anthropic")); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	if c.Defaults("nobody") != nil {
		t.Error("an unknown type has defaults")
	}
}

func TestLookup(t *testing.T) {
	c := load(t)
	for _, tc := range []struct {
		provider, model string
		want            float64
		found           bool
	}{
		{"anthropic", "claude-sonnet-4-5", 3, true},
		{"anthropic", "claude-sonnet-4-5-20250929", 3, true},
		{"openai", "gpt-4o-2024-05-13", 5, true},
		{"openai", "gpt-4o-2024-11-20", 2.5, true},
		{"openai", "gpt-5-mini", 0.25, true},
		{"openai", "qwen3-coder:30b", 0, false},
		{"openai", "claude-sonnet-4-5", 0, false},
		{"nobody", "gpt-5", 0, false},
		{"rehearsal", "demo", 1, true},
	} {
		m, ok := c.Lookup(tc.provider, tc.model)
		if ok != tc.found || m.Price.In != tc.want {
			t.Errorf("%s/%s: found %v, price %v, want %v, %v", tc.provider, tc.model, ok, m.Price.In, tc.found, tc.want)
		}
	}
}

func TestPricing(t *testing.T) {
	m, _ := load(t).Lookup("anthropic", "claude-haiku-5-5")
	if got := m.Pricing().For(100_000); got != m.Price {
		t.Errorf("at the limit: %+v", got)
	}
	want := agency.Price{In: 0.5, CachedIn: 0.05, Out: 2.5}
	if diff := cmp.Diff(want, m.Pricing().For(100_001)); diff != "" {
		t.Errorf("above it (-want +got):\n%s", diff)
	}
}
