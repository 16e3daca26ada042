package store

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	"agency/internal/agency"
)

var errTxDone = errors.New("the transaction's closure has ended")

// Tx is a closure's view of the write transaction it runs in. It is valid
// until the closure returns and belongs to the closure's goroutine.
type Tx struct {
	// Now is the wall time of the transaction: UTC, whole microseconds, so that
	// what is stored reads back equal.
	Now time.Time
	// Mono is the host's monotonic clock at Now: time since the store was
	// opened, without the time that the machine was asleep. It is comparable
	// only between transactions of one epoch.
	Mono time.Duration
	// Fence is the token of the run that writes, zero outside WriteFenced.
	Fence agency.Fence

	batch *batch
	hooks []func()
	undo  []func()
	dead  error // set by an error after which SQLite may have rolled back all
	done  bool
}

func (tx *Tx) ready(query string) error {
	switch {
	case tx.done:
		return errTxDone
	case tx.dead != nil:
		return tx.dead
	}
	return checkQuery(query)
}

func (tx *Tx) note(err error) error {
	if err == nil {
		return nil
	}
	err = explain(tx.batch.w.db.path, err)
	if fatal(err) {
		tx.dead = err
	}
	return err
}

// Exec runs a statement that returns no rows. Strings and byte slices among
// args are redacted.
func (tx *Tx) Exec(query string, args ...any) (sql.Result, error) {
	if err := tx.ready(query); err != nil {
		return nil, err
	}
	args, err := redactArgs(tx.batch.redact, args)
	if err != nil {
		return nil, err
	}
	res, err := tx.batch.w.conn.exec(query, args...)
	return res, tx.note(err)
}

// Insert is Exec of an INSERT, and gives the number that the store gave to its last
// row.
func (tx *Tx) Insert(query string, args ...any) (last int64, err error) {
	res, err := tx.Exec(query, args...)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// Query runs a statement that returns rows, an INSERT ... RETURNING too; args
// are redacted as those of Exec, so that a lookup finds what was stored.
func (tx *Tx) Query(query string, args ...any) (*Rows, error) {
	if err := tx.ready(query); err != nil {
		return nil, err
	}
	args, err := redactArgs(tx.batch.redact, args)
	if err != nil {
		return nil, err
	}
	rows, err := tx.batch.w.conn.query(query, args...)
	return rows, tx.note(err)
}

// QueryRow is Query for at most one row.
func (tx *Tx) QueryRow(query string, args ...any) *Row {
	rows, err := tx.Query(query, args...)
	return &Row{rows: rows, err: err}
}

// Redact is the store's redaction, for an owner that hands on what it stores.
func (tx *Tx) Redact(b []byte) []byte {
	if tx.batch.redact == nil {
		return b
	}
	return tx.batch.redact(b)
}

// Epoch is the store's epoch: the number of hosts that have taken it.
func (tx *Tx) Epoch() (int64, error) { return tx.batch.currentEpoch() }

// AfterCommit has fn run when the transaction is durable, in the order of the
// calls and before Write returns. It is dropped when the closure fails. fn
// runs on the writer's goroutine: it must be quick and must not write.
func (tx *Tx) AfterCommit(fn func()) { tx.hooks = append(tx.hooks, fn) }

// OnAbort has fn run when nothing of the transaction is kept: the closure has
// failed, or the commit. It is for what the closure has changed in memory, and
// runs as AfterCommit does.
func (tx *Tx) OnAbort(fn func()) { tx.undo = append(tx.undo, fn) }

// abort runs what was to be run when nothing is kept.
func (tx *Tx) abort() {
	for _, undo := range tx.undo {
		guard("an abort hook", undo)
	}
	tx.undo = nil
}

// Micros is a time as it is stored.
func Micros(t time.Time) int64 { return t.UnixMicro() }

// Time is the inverse of Micros, in UTC.
func Time(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// memory is what owners remember of the database from one transaction to the
// next. It is true as long as nobody else has written: version is SQLite's own
// for what this connection has seen.
type memory struct {
	values  map[any]any
	version uint32
}

// Memory is what owners remember of the database from one transaction to the
// next, each under a key of its own. What their own statements change they
// forget themselves. The store forgets all of it when another process has
// written, when a closure is undone and when a commit fails, so that nobody
// remembers what is not there.
func (tx *Tx) Memory() map[any]any { return tx.batch.w.memory.values }

// forget is called where something was, or may have been, undone.
func (m *memory) forget() { clear(m.values) }

// begin looks, in a transaction that has begun, whether others have written.
func (m *memory) begin(s *conn) {
	if v, err := s.version(); err != nil || v != m.version {
		m.forget()
	}
}

// commit notes what this process itself has written.
func (m *memory) commit(s *conn) {
	v, err := s.version()
	if err != nil {
		m.forget()
	}
	m.version = v
}

// version changes with each commit to the database, of whichever process.
func (c *conn) version() (v uint32, err error) {
	err = c.sql.Raw(func(driverConn any) error {
		d, ok := driverConn.(interface {
			FileControlDataVersion(db string) (uint32, error)
		})
		if !ok {
			return fmt.Errorf("%T tells no version of the data", driverConn)
		}
		v, err = d.FileControlDataVersion("main")
		return err
	})
	return v, err
}
