package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"agency/internal/agency"
)

// busyTimeout is how long the writer waits for another process's lock before
// the clients see an error.
const busyTimeout = 15 * time.Second

// quickCheckMax is the largest file that is looked through after an unclean
// end; a larger one would delay the recovery of its runs, and agency doctor
// checks it.
const quickCheckMax = 32 << 20

// Open opens the store, creating and migrating it unless ReadOnly. Every
// refusal says what mends it: a network file system, a schema newer than this
// binary (KindInvalid), a damaged file (ErrCorrupt), a missing or older store
// with ReadOnly (KindNotFound, KindConflict).
func Open(ctx context.Context, o Options) (*DB, error) {
	if err := checkPlace(o); err != nil {
		return nil, err
	}
	zip, err := newCompressor()
	if err != nil {
		return nil, err
	}
	db := &DB{
		path: o.Path, readOnly: o.ReadOnly, now: o.Now, mono: o.Mono, zip: zip,
		topics: topics{lists: map[any]any{}},
	}
	if db.now == nil {
		db.now = time.Now
	}
	if db.mono == nil {
		begun := time.Now()
		db.mono = func() time.Duration { return time.Since(begun) }
	}
	for _, s := range o.Sets {
		db.named, db.hooks = append(db.named, s.Blobs...), append(db.hooks, s.Hooks...)
	}
	db.SetRedact(o.Redact)
	if err := db.open(ctx, o); err != nil {
		return nil, errors.Join(explain(o.Path, err), db.Close())
	}
	return db, nil
}

// open leaves half-opened parts to Close.
func (db *DB) open(ctx context.Context, o Options) error {
	unclean := fileSize(o.Path+"-wal") > 0
	if o.ReadOnly {
		return db.openReadOnly(ctx, o)
	}
	pool, err := sql.Open("sqlite", dsn(o.Path, true, 0))
	if err != nil {
		return err
	}
	db.readers = newReaders(pool, o.Path)
	if err := createFile(o.Path); err != nil {
		return err
	}
	if pool, err = sql.Open("sqlite", dsn(o.Path, false, o.seams.maxPages)); err != nil {
		return err
	}
	pool.SetMaxOpenConns(1)
	db.writer = newWriter(db, pool, o)
	if err := connect(ctx, pool); err != nil {
		return explain(o.Path, err)
	}
	// Before the tables, of which there are many by now: on a small disk they
	// would leave too little to keep anything back.
	db.reserve = newReserve(o.Path, o.Reserve)
	db.reserve.refill(db.mono())
	if err := prepareFile(ctx, pool, o, unclean); err != nil {
		return err
	}
	return db.writer.start(ctx)
}

// connect makes the writer's first connection. Of several hosts that give a new file its log
// at one time SQLite refuses all but one at once, without the wait that others have.
func connect(ctx context.Context, pool *sql.DB) error {
	for until := time.Now().Add(busyTimeout); ; {
		err := pool.PingContext(ctx)
		if err == nil || codeOf(err) != sqlite3.SQLITE_BUSY || time.Now().After(until) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(connectAgain):
		}
	}
}

// connectAgain is the time between two tries of the first connection.
const connectAgain = 5 * time.Millisecond

// prepareFile checks what is there and brings it up to date.
func prepareFile(ctx context.Context, db *sql.DB, o Options, unclean bool) error {
	if unclean && fileSize(o.Path) <= quickCheckMax {
		if err := integrity(ctx, db, o.Path, checkQuickly); err != nil {
			return err
		}
	}
	return migrate(ctx, db, append([]Set{ownSet()}, o.Sets...))
}

// openReadOnly opens for looking. Where the disk is full, or may not be
// written, SQLite's shared memory file cannot be made; a database that nobody
// has open and whose log is empty is then read as a file that does not change.
func (db *DB) openReadOnly(ctx context.Context, o Options) error {
	plain := dsn(o.Path, true, 0)
	// The shared memory of a live store has at least 32 KiB.
	rests := fileSize(o.Path+"-wal") == 0 && fileSize(o.Path+"-shm") < 32<<10
	if !rests || !Full(filepath.Dir(o.Path)) {
		err := db.look(ctx, o, plain)
		if !rests || agency.KindOf(err) != agency.KindTransient {
			return err
		}
		readers := db.readers
		db.readers = nil
		if cerr := readers.close(); cerr != nil {
			return errors.Join(err, cerr)
		}
	}
	return db.look(ctx, o, plain+"&immutable=1")
}

func (db *DB) look(ctx context.Context, o Options, source string) error {
	pool, err := sql.Open("sqlite", source)
	if err != nil {
		return err
	}
	db.readers = newReaders(pool, o.Path)
	return explain(o.Path, db.checkReadOnly(ctx, o))
}

func (db *DB) checkReadOnly(ctx context.Context, o Options) error {
	found, err := readSchema(ctx, db.readers.db)
	if err != nil {
		return err
	}
	todo, err := found.behind(append([]Set{ownSet()}, o.Sets...))
	if err != nil || len(todo) == 0 {
		return err
	}
	return agency.Errorf(agency.KindConflict, "%s has an older schema (%s)", o.Path, todo[0].Name).
		WithMend("start the host of this version once, for example with agency resume: it brings the store up to date")
}

// checkPlace looks at the folder and the file before SQLite does.
func checkPlace(o Options) error {
	dir := filepath.Dir(o.Path)
	if _, err := os.Stat(dir); err != nil {
		return agency.Errorf(agency.KindNotFound, "the folder of the store: %w", err).WithMend("mkdir -p -m 700 %s", dir)
	}
	probe := o.seams.fsType
	if probe == nil {
		probe = fsType
	}
	name, network, err := probe(dir)
	if err != nil {
		return fmt.Errorf("look at the file system of %s: %w", dir, err)
	}
	if network {
		return agency.Errorf(agency.KindTransient,
			"%s is on a network file system (%s), whose locks cannot be trusted with a database", dir, name).
			WithMend("set XDG_STATE_HOME to a folder on a local disk")
	}
	if o.ReadOnly {
		if _, err := os.Stat(o.Path); errors.Is(err, fs.ErrNotExist) {
			return agency.Errorf(agency.KindNotFound, "no store at %s: nothing has been run here yet", o.Path).
				WithMend("start a run with agency run")
		}
	}
	return nil
}

// createFile makes the file private before SQLite gives its mode to the log
// and the shared memory file.
func createFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return agency.Errorf(agency.KindTransient, "the store: %w", err).
			WithMend("make %s writable for this user", filepath.Dir(path))
	}
	return f.Close()
}

func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// dsn names the file for the driver. Pragmas run in this order on each new
// connection.
func dsn(path string, readOnly bool, maxPages int) string {
	q := url.Values{}
	q.Set("_dqs", "0")
	q.Set("_error_rc", "1")
	q.Set("_time_format", "sqlite")
	q.Set("_timezone", "UTC")
	q.Add("_pragma", "busy_timeout("+strconv.FormatInt(busyTimeout.Milliseconds(), 10)+")")
	if readOnly {
		q.Set("mode", "ro")
		q.Add("_pragma", "query_only(1)")
		q.Add("_pragma", "cache_size(-2000)")
	} else {
		q.Set("_txlock", "immediate")
		q.Add("_pragma", "journal_mode(WAL)")
		q.Add("_pragma", "synchronous(FULL)")
		q.Add("_pragma", "foreign_keys(1)")
		q.Add("_pragma", "cache_size(-8000)")
		// Cut the log back after a burst, instead of keeping its largest size.
		q.Add("_pragma", "journal_size_limit("+strconv.Itoa(logRoom)+")")
		if maxPages > 0 {
			q.Add("_pragma", "max_page_count("+strconv.Itoa(maxPages)+")")
		}
	}
	q.Add("_pragma", "temp_store(MEMORY)")
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}
	return u.String()
}

// integrity runs one of SQLite's own checks.
func integrity(ctx context.Context, db *sql.DB, path, pragma string) error {
	rows, err := db.QueryContext(ctx, pragma)
	if err != nil {
		return explain(path, err)
	}
	var faults []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return errors.Join(err, rows.Close())
		}
		if line != "ok" {
			faults = append(faults, line)
		}
	}
	if err := rows.Err(); err != nil {
		return explain(path, err)
	}
	if len(faults) > 0 {
		return corrupt(path, strings.Join(faults, "; "))
	}
	return nil
}

// Check looks through the whole file, for doctor: SQLite's integrity_check
// and foreign keys. It reads beside the writer.
func (db *DB) Check(ctx context.Context) error {
	if err := integrity(ctx, db.readers.db, db.path, checkAll); err != nil {
		return err
	}
	var table string
	err := db.readers.db.QueryRowContext(ctx, selectBrokenKey).Scan(&table)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return explain(db.path, err)
	}
	return corrupt(db.path, "a row of "+table+" refers to a row that does not exist")
}
