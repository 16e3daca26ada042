// Package board is what the agents of a run share: their mail, who of them is
// at work, which files they change and what they disagree on. board/state is
// their shared state; parts.go is what this package tells it of.
//
// The database is the record of all of it; memory only wakes those who wait.
// Each operation is a function of a transaction (store.Tx), so that a caller
// puts it into the commit of the fact that it belongs to: the turn that shows
// a message marks it read in the same commit. A Board adds what needs a
// process: what waits where, known from memory, and the limits of the configuration.
//
// Times to live, deadlines and holds count on the awake clock: time during
// which a host lived and the machine was awake.
//
// The package does not know what a role may do (the caller hands that in),
// runs no agent, and decides nothing by a message's words.
package board

import (
	"context"
	"embed"
	"errors"
	"time"

	"agency/internal/agency"
	"agency/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations is this package's schema. It needs those of event and lease.
func Migrations() store.Set {
	return store.Set{Name: "board", FS: migrations, Blobs: []string{blobsOfMessages}}
}

// Options are what the configuration and the roster say. A zero field means
// its default.
type Options struct {
	// MaxQueue is how many messages may be pending in one inbox; 1000.
	MaxQueue int
	// Retention is how long a run's mail is kept after the run's end; 24 h.
	Retention time.Duration
	// Cleanup is the longest time between two looks of Maintain; an hour.
	Cleanup time.Duration
	// After calls f once after d unless stopped; nil: the real clock.
	After func(d time.Duration, f func()) (stop func() bool)
	// MaySend tells whether one role may write to another; nil: any may. People
	// and the harness may write to anyone.
	MaySend func(from, to agency.RoleID) bool
	// Role tells whether there is such a role to write to; nil: any is one.
	Role func(agency.RoleID) bool
	// Answered is told of each reply to a question (see Question) in the reply's
	// own transaction, so that whoever waits for it is woken by the same commit.
	// It sees replies that are sent by this Board.
	Answered func(tx *store.Tx, reply agency.Message) error
	// Timed is what Maintain ends beside mail: that of board/state.
	Timed []Timed
}

// Board is the board of one store in this process. Its methods may be called
// by any goroutine.
type Board struct {
	db    *store.DB
	o     Options
	boxes *boxes
	sends *store.Together[agency.Message]
	timed []Timed
	stop  func()
	over  chan struct{} // closed by Close
}

// Open makes the board of a store and counts what waits there. There is one a
// process.
func Open(ctx context.Context, db *store.DB, o Options) (*Board, error) {
	if o.MaxQueue == 0 {
		o.MaxQueue = 1000
	}
	if o.Retention == 0 {
		o.Retention = 24 * time.Hour
	}
	if o.Cleanup == 0 {
		o.Cleanup = time.Hour
	}
	if o.After == nil {
		o.After = func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	}
	b := &Board{db: db, o: o, boxes: newBoxes(), timed: append([]Timed{{Due, Sweep}}, o.Timed...), over: make(chan struct{})}
	b.sends = store.NewTogether(db, func(tx *store.Tx, ms []agency.Message, errs []error) error { return sendAll(tx, b, ms, errs) })
	b.stop = store.Subscribe(db, moved(), b.boxes.feed)
	if err := db.Write(ctx, census); err != nil {
		b.stop()
		return nil, err
	}
	return b, nil
}

// ErrClosed is what those who wait get when the board is closed.
var ErrClosed = errors.New("the board is closed")

// Close ends Maintain. It is idempotent.
func (b *Board) Close() error {
	b.boxes.once.Do(func() {
		b.stop()
		close(b.over)
	})
	return nil
}
