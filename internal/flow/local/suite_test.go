package local

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"testing"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/flow/flowtest"
	"agency/internal/store"
)

// machine is a store; flowtest makes engines over it.
type machine struct {
	*testing.T
	db *store.DB
}

func newMachine(t *testing.T) machine { return machine{t, openStore(t)} }

// TestEngine is the suite that every engine passes.
func TestEngine(t *testing.T) {
	flowtest.Run(t, func(t *testing.T) flowtest.Machine { return newMachine(t) })
}

func (m machine) Engine(o flowtest.Options) flow.Engine {
	e := New(Options{DB: m.db, Registry: o.Registry, Version: o.Version, Now: o.Now})
	if o.Write != nil {
		e.seams.beforeWrite = func() error { return o.Write(false) }
		e.seams.afterWrite = func() error { return o.Write(true) }
	}
	if o.Fate != nil {
		e.seams.choose = fate(*o.Fate)
	}
	return e
}

func (m machine) history(run agency.RunID) History {
	m.Helper()
	h, err := ReadHistory(context.Background(), m.db, run)
	if err != nil && agency.KindOf(err) != agency.KindNotFound {
		m.Fatal(err)
	}
	return h
}

func (m machine) History(run agency.RunID) (lines []string) {
	m.Helper()
	for _, r := range m.history(run).Records {
		b, err := json.Marshal(r)
		if err != nil {
			m.Fatal(err)
		}
		lines = append(lines, string(b))
	}
	return lines
}

func (m machine) Replay(version string, run agency.RunID, main func(flow.Ctx) error) error {
	return Replay(context.Background(), version, m.history(run), main)
}

// fate picks the next event from what the journal holds and a seed, never
// from time, so that an undisturbed and a restarted run meet the same fate.
func fate(seed uint64) func(*execution) (event, bool) {
	return func(x *execution) (event, bool) {
		awaitActivities(x)
		x.inbox.mu.Lock()
		defer x.inbox.mu.Unlock()
		slices.SortFunc(x.inbox.events, func(a, b event) int { return cmp.Compare(a.h.key, b.h.key) })
		options := slices.Clone(x.inbox.events)
		for _, one := range x.timers.sorted() {
			options = append(options, event{h: one.h, fired: true})
		}
		for _, name := range []string{"s", "t"} {
			if len(x.signals.receivers[name])+len(x.signals.peekers[name]) > 0 {
				id := fmt.Sprint(name, len(x.signals.delivered))
				options = append(options, event{signal: &Record{Kind: KindSignal, Key: id, Name: name, Data: []byte(`"` + id + `"`)}})
			}
		}
		if len(options) == 0 {
			return event{}, false
		}
		h := fnv.New64a()
		_, _ = fmt.Fprint(h, seed, x.journal.seq) // a hash never fails
		i := int(h.Sum64() % uint64(len(options)))
		if i < len(x.inbox.events) {
			x.inbox.events = slices.Delete(x.inbox.events, i, i+1)
		}
		return options[i], true
	}
}

func awaitActivities(x *execution) {
	for {
		x.inbox.mu.Lock()
		n := len(x.inbox.events)
		x.inbox.mu.Unlock()
		if n == x.calls.inflight {
			return
		}
		<-x.inbox.notify
	}
}
