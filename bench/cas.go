package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"agency/internal/board/state"
	"agency/internal/store"
)

// casRow compares clients that swap one key with clients that swap each their
// own. Who comes late is told the version and swaps again in the same
// transaction.
func casRow() row {
	return row{figures: []string{"board/cas-hot-vs-cold"}, cheap: true, measure: func(ctx context.Context, b *bench) ([]figure, error) {
		s, err := b.rounds(
			ctx,
			contender{"cas-hot", func(ctx context.Context) (float64, error) {
				return b.casRate(ctx, func(int) string { return "hot" })
			}},
			contender{"cas-cold", func(ctx context.Context) (float64, error) { return b.casRate(ctx, strconv.Itoa) }},
		)
		if err != nil {
			return nil, err
		}
		raw := []string{s.raw("cas-hot", 1, "/s"), s.raw("cas-cold", 1, "/s")}
		return []figure{{"board/cas-hot-vs-cold", s.ratio("cas-hot", "cas-cold"), atLeast(0.5), raw}}, nil
	}}
}

// casRate is how many swaps a second succeed, each adding one to a number.
func (b *bench) casRate(ctx context.Context, key func(client int) string) (r float64, err error) {
	p, err := b.post(ctx, 0)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	seen := make([]state.Entry, crowdSenders)
	r, err = rate(ctx, crowdSenders, crowdMessages/8, func(ctx context.Context, i int, _ string) error {
		k := state.Key{Namespace: state.OfRun, Run: benchRun, Name: key(i)}
		return p.db.Write(ctx, func(tx *store.Tx) error {
			e, err := addOne(tx, k, seen[i])
			var late *state.VersionConflict
			if errors.As(err, &late) {
				e, err = addOne(tx, k, late.Current)
			}
			seen[i] = e
			return err
		})
	})
	return r, errors.Join(err, p.added(ctx, key))
}

func addOne(tx *store.Tx, k state.Key, now state.Entry) (state.Entry, error) {
	n := 0
	if len(now.Value) > 0 {
		if err := json.Unmarshal(now.Value, &n); err != nil {
			return now, err
		}
	}
	return state.Swap(tx, state.Write{Key: k, Type: state.TypeInteger, Value: []byte(strconv.Itoa(n + 1)), By: "bench"}, now.Version)
}

// added checks that no swap was lost.
func (p post) added(ctx context.Context, key func(int) string) error {
	return p.db.Read(ctx, func(q *store.Snapshot) error {
		var sum, versions int64
		counted := map[string]bool{}
		for i := range crowdSenders {
			k := state.Key{Namespace: state.OfRun, Run: benchRun, Name: key(i)}
			if counted[k.Name] {
				continue
			}
			counted[k.Name] = true
			e, err := state.Get(q, k)
			if err != nil {
				return err
			}
			n, err := strconv.ParseInt(string(e.Value), 10, 64)
			if err != nil {
				return err
			}
			sum, versions = sum+n, versions+e.Version
		}
		if want := int64(crowdSenders * (crowdMessages / 8)); sum != want || versions != want {
			return fmt.Errorf("%d swaps, the numbers say %d and the versions %d", want, sum, versions)
		}
		return nil
	})
}
