package resources

import (
	"testing"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/llm/catalog"
)

// What answered is paid by its own price: the user's word on it or on what was
// asked, and the catalogue's likewise. What nobody knows has none.
func TestTariff(t *testing.T) {
	known, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	cents := 0.5
	c := config.Config{
		Providers: map[string]config.Provider{"vendor": {Type: "anthropic"}, "proxy": {Type: "anthropic"}},
		Prices: map[string]config.Price{
			"proxy/claude-sonnet-4-5": {In: 1, CachedIn: cents, Out: 2}, "vendor/house": {In: 9, CachedIn: 9, Out: 9},
		},
	}
	of := tariff(known, c)
	sonnet, haiku := agency.Price{In: 3, CachedIn: 0.3, Out: 15}, agency.Price{In: 1, CachedIn: 0.1, Out: 5}
	for _, tc := range []struct {
		model, reported string
		want            agency.Price
		priced          bool
	}{
		{"vendor/claude-sonnet-4-5", "", sonnet, true},
		{"vendor/claude-sonnet-4-5", "claude-sonnet-4-5-20250929", sonnet, true},
		{"vendor/claude-haiku-4-5", "claude-sonnet-4-5-20250929", sonnet, true},
		{"vendor/claude-sonnet-4-5", "claude-haiku-4-5", haiku, true},
		{"vendor/claude-sonnet-4-5", "house", agency.Price{In: 9, CachedIn: 9, Out: 9}, true},
		{"vendor/auto", "claude-haiku-4-5", haiku, true},
		{"vendor/claude-haiku-4-5", "who-is-that", haiku, true},
		{"vendor/auto", "who-is-that", agency.Price{}, false},
		{"vendor/auto", "", agency.Price{}, false},
		{"proxy/claude-sonnet-4-5", "claude-haiku-4-5", agency.Price{In: 1, CachedIn: cents, Out: 2}, true},
	} {
		got, priced := of(tc.model, tc.reported)
		if got.In != tc.want.In || got.CachedIn != tc.want.CachedIn || got.Out != tc.want.Out || priced != tc.priced {
			t.Errorf("%s, answered by %q: %+v %v, want %+v %v", tc.model, tc.reported, got, priced, tc.want, tc.priced)
		}
	}
}
