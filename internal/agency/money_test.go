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

// An absurd count costs more than any budget holds, and is still a number of
// which a run can have hundreds.
func TestCostOfAnAbsurdCount(t *testing.T) {
	p := Price{In: 1_000_000, CachedIn: 1, Out: 1_000_000}
	one := p.Cost(Usage{In: 1 << 40, Out: 1 << 40})
	if sum := 1000 * one; one < USD(1_000_000) || sum/1000 != one {
		t.Errorf("one costs %d, a thousand %d", one, sum)
	}
	if got := p.Cost(Usage{In: -5, Out: 1}); got != USD(1) {
		t.Errorf("a negative count costs %v", got)
	}
}

// The most that a request costs holds whatever of it a cache reads or writes.
func TestMost(t *testing.T) {
	for _, p := range []Price{{In: 1, CachedIn: 0.1, Out: 2}, {In: 1, CachedIn: 3, Out: 2}} {
		most := p.Most(1000, 10)
		for cached := int64(0); cached <= 1000; cached += 100 {
			for write := int64(0); write <= 1000-cached; write += 100 {
				if got := p.Cost(Usage{In: 1000, Cached: cached, CacheWrite: write, Out: 10}); got > most {
					t.Errorf("%+v: %d cached and %d written cost %v, the most is %v", p, cached, write, got, most)
				}
			}
		}
	}
}
