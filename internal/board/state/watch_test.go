package state

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/store"
)

// TestWatchersMissNothing has watchers of keys and of all keys, some begun in
// the midst of it, while writers write.
func TestWatchersMissNothing(t *testing.T) {
	d := newDesk(t)
	b := NewWatcher(d.DB)
	t.Cleanup(b.Close)
	const keys, each = 4, 100
	var wg sync.WaitGroup
	watch := func(n int) {
		k := key(fmt.Sprint("k", n))
		wg.Go(func() {
			var next int64
			for e, err := range b.Watch(t.Context(), k, 0) {
				if next++; err != nil || e.Version != next || e.Name != k.Name {
					t.Errorf("%+v, %v; want version %d of %s", e, err, next, k.Name)
					return
				}
				if next == each {
					return
				}
			}
		})
	}
	wg.Go(func() {
		seen, last := map[string]int64{}, int64(0)
		for e, err := range b.WatchAll(t.Context(), key("k"), 0) {
			seen[e.Name]++
			if err != nil || e.Version != seen[e.Name] || e.ID <= last {
				t.Errorf("%+v, %v", e, err)
				return
			}
			if last = e.ID; len(seen) == keys && seen["k0"]+seen["k1"]+seen["k2"]+seen["k3"] == keys*each {
				return
			}
		}
	})
	var writers sync.WaitGroup
	for n := range keys {
		watch(n)
		writers.Go(func() {
			for i := range each {
				w := value(fmt.Sprint("k", n), "1")
				if err := d.Write(context.Background(), func(tx *store.Tx) error { _, err := Put(tx, w); return err }); err != nil {
					t.Error(err)
				}
				if i == each/2 {
					watch(n)
				}
			}
		})
	}
	writers.Wait()
	wg.Wait()
	if len(b.in) != 0 {
		t.Errorf("watchers are left: %v", b.in)
	}
}

func TestAWatchEnds(t *testing.T) {
	d := newDesk(t)
	b := NewWatcher(d.DB)
	t.Cleanup(b.Close)
	end := func(ctx context.Context, k Key) (last error) {
		for _, err := range b.Watch(ctx, k, 0) {
			last = err
		}
		return last
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := end(ctx, key("k")); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	if err := end(t.Context(), Key{Namespace: "odd"}); agency.KindOf(err) != agency.KindInvalid {
		t.Errorf("got %v", err)
	}
	b.Close()
	if err := end(t.Context(), key("k")); !errors.Is(err, board.ErrClosed) {
		t.Errorf("got %v", err)
	}
}
