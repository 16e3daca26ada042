package local

import (
	"context"
	"encoding/json"
	"slices"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/store"
)

// signals are what a run was sent, and the operations that want it, by name.
type signals struct {
	run       agency.RunID
	arrived   map[string][]json.RawMessage // delivered and not received
	receivers map[string][]*handle
	peekers   map[string][]*handle
	delivered map[string]bool // ids
	seq       int64           // of the last that was read
}

// read gives those that have come since the last look, in order of arrival.
func (g *signals) read(ctx context.Context, db *store.DB) (found []event, err error) {
	return found, db.Read(ctx, func(s *store.Snapshot) error {
		last := g.seq
		err := store.Each(s, func(row store.Scanner) error {
			var id, name, payload string
			if err := row.Scan(&last, &id, &name, &payload); err != nil {
				return err
			}
			if !g.delivered[id] {
				found = append(found, event{signal: &Record{Kind: KindSignal, Key: id, Name: name, Data: json.RawMessage(payload)}})
			}
			return nil
		}, selectSignals, string(g.run), g.seq)
		if err == nil {
			g.seq = last
		}
		return err
	})
}

// want takes in an operation that receives or peeks.
func (g *signals) want(h *handle) {
	if h.kind == flow.OpPeek {
		g.peekers[h.name] = append(g.peekers[h.name], h)
		return
	}
	g.receivers[h.name] = append(g.receivers[h.name], h)
	g.serve(h.name)
}

// drop takes an operation out.
func (g *signals) drop(h *handle) {
	of := g.receivers
	if h.kind == flow.OpPeek {
		of = g.peekers
	}
	of[h.name] = slices.DeleteFunc(of[h.name], func(o *handle) bool { return o == h })
}

// wanted tells whether any operation waits for a signal.
func (g *signals) wanted() bool {
	for _, m := range []map[string][]*handle{g.receivers, g.peekers} {
		for _, hs := range m {
			if len(hs) > 0 {
				return true
			}
		}
	}
	return false
}

// deliver takes a signal in.
func (g *signals) deliver(r Record) {
	g.delivered[r.Key] = true
	g.arrived[r.Name] = append(g.arrived[r.Name], r.Data)
	g.serve(r.Name)
}

// serve hands signals to those who want them, in both orders of arrival.
func (g *signals) serve(name string) {
	for len(g.arrived[name]) > 0 && len(g.receivers[name]) > 0 {
		h, payload := g.receivers[name][0], g.arrived[name][0]
		g.receivers[name], g.arrived[name] = g.receivers[name][1:], g.arrived[name][1:]
		h.settle(payload, nil)
	}
	if len(g.arrived[name]) > 0 {
		for _, h := range g.peekers[name] {
			h.notify()
		}
	}
}
