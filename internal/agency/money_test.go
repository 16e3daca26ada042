package agency

import "testing"

// A long prompt makes the whole request dearer, from the first token above.
func TestLongPromptPrice(t *testing.T) {
	p := Price{In: 1, CachedIn: 0.1, Out: 2, Long: &LongPrice{Above: 1000, In: 10, CachedIn: 1, Out: 20}}
	for in, want := range map[int64]Money{1000: USD(0.003), 1001: USD(0.03001)} {
		if got := p.Cost(Usage{In: in, Out: 1000}); got != want {
			t.Errorf("%d tokens in: %v, want %v", in, got, want)
		}
	}
}
