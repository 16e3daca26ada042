// Package outbox takes what was decided in a transaction to the engine of the
// runs: the transaction writes a row, and a Relay delivers it as a signal once
// it is committed, after a restart too. So the engine needs no part in anyone's
// transaction, and may keep its runs elsewhere.
//
// A row is deleted when the engine has the signal. A crash between the two
// delivers it again, which its id makes no difference to.
package outbox

import (
	"context"
	"embed"
	"sync"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/store"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations is the schema of the outbox.
func Migrations() store.Set { return store.Set{Name: "outbox", FS: files} }

// sent wakes the relay.
func sent() store.Topic[agency.RunID] { return store.Topic[agency.RunID]{Name: "outbox"} }

// Send has a run sent a signal once the transaction is committed. The same id
// again changes nothing.
func Send[T any](tx *store.Tx, run agency.RunID, s flow.Signal[T], id string, v T) error {
	payload, err := flow.Encode(s, v)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(insertSignal, string(run), id, s.Name, string(payload)); err != nil {
		return err
	}
	store.Publish(tx, sent(), run)
	return nil
}

// DeleteRun removes what was to be sent to a run.
func DeleteRun(tx *store.Tx, run agency.RunID) error {
	_, err := tx.Exec(deleteRun, string(run))
	return err
}

// Relay delivers to an engine. It is safe for concurrent use.
type Relay struct {
	db     *store.DB
	fence  agency.Fence
	engine flow.Engine
	mu     sync.Mutex // one delivery at a time: signals arrive in order
}

// NewRelay makes a relay of the host that has the fence.
func NewRelay(db *store.DB, fence agency.Fence, engine flow.Engine) *Relay {
	return &Relay{db: db, fence: fence, engine: engine}
}

// signal is a row.
type signal struct {
	seq           int64
	run           agency.RunID
	id, name, doc string
}

func pending(q store.Querier, _ struct{}) ([]signal, error) {
	return store.All(q, func(row store.Scanner) (s signal, err error) {
		return s, row.Scan(&s.seq, &s.run, &s.id, &s.name, &s.doc)
	}, selectSignals)
}

// Deliver hands the engine what is committed by now, in order. After an error
// what is left stays for the next call.
func (r *Relay) Deliver(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	signals, err := store.Get(ctx, r.db, pending, struct{}{})
	if err != nil || len(signals) == 0 {
		return err
	}
	ctx = store.Needed(ctx) // what a person says finds room on a full disk
	for _, s := range signals {
		if err := r.engine.Signal(ctx, s.run, s.name, s.id, []byte(s.doc)); err != nil {
			return err
		}
	}
	return r.db.WriteFenced(ctx, r.fence, func(tx *store.Tx) error {
		_, err := tx.Exec(deleteDelivered, signals[len(signals)-1].seq)
		return err
	})
}

// Run delivers until the context ends, first what an earlier host left. It
// tells failed of each error; what it could not deliver goes with the next
// signal, or with a call of Deliver.
func (r *Relay) Run(ctx context.Context, failed func(error)) {
	ring := make(chan struct{}, 1)
	ring <- struct{}{}
	defer store.Subscribe(r.db, sent(), func([]agency.RunID) {
		select {
		case ring <- struct{}{}:
		default:
		}
	})()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ring:
		}
		if err := r.Deliver(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
	}
}
