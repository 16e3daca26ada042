package store

import (
	"errors"
	"fmt"
	"path/filepath"

	"agency/internal/agency"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// The causes that callers ask for with errors.Is.
var (
	// ErrFenced: the writer belongs to a host that another host has replaced.
	ErrFenced = errors.New("superseded: another host has taken the store")
	// ErrClosed: the store has been closed.
	ErrClosed = errors.New("the store is closed")
	// ErrDiskFull: there is no room for the write; nothing of it was kept and
	// the store goes on working as soon as there is room again.
	ErrDiskFull = errors.New("disk full")
	// ErrCorrupt: the file is not a sound database.
	ErrCorrupt = errors.New("damaged store")
)

var errGoexit = errors.New("the transaction's closure ended its goroutine instead of returning")

// codeOf is the primary SQLite result code in the chain, 0 if there is none.
func codeOf(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// IsConstraint tells whether a statement was refused by a constraint of the
// schema, such as a UNIQUE key. Its closure may go on.
func IsConstraint(err error) bool { return codeOf(err) == sqlite3.SQLITE_CONSTRAINT }

// fatal tells whether SQLite may have rolled back the whole transaction, not
// only the statement (https://sqlite.org/lang_transaction.html, section 3.2).
func fatal(err error) bool {
	switch codeOf(err) {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT,
		sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_BUSY:
		return true
	}
	return false
}

// explain gives the conditions that a person can mend their kind, place and
// mending step; other errors pass unchanged.
func explain(path string, err error) error {
	if err == nil || errors.Is(err, ErrDiskFull) || errors.Is(err, ErrCorrupt) {
		return err
	}
	switch codeOf(err) {
	case sqlite3.SQLITE_FULL:
		return diskFull(path, err)
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN:
		// SQLite says this too where its log or its shared memory cannot grow.
		if Full(filepath.Dir(path)) {
			return diskFull(path, err)
		}
	}
	switch codeOf(err) {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return agency.Errorf(agency.KindTransient, "%s is locked by another process: %w", path, err).
			WithMend("end the program that holds %s open (fuser %s names it), then try again", path, path)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return corrupt(path, err.Error())
	case sqlite3.SQLITE_IOERR:
		return agency.Errorf(agency.KindTransient, "%s: the disk refused: %w", path, err).
			WithMend("look at the kernel's log for the disk of %s, then try again", path)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return agency.Errorf(agency.KindTransient, "%s cannot be opened: %w", path, err).
			WithMend("make %s and its folder readable and writable for this user", path)
	}
	return err
}

func diskFull(path string, err error) error {
	return agency.Errorf(agency.KindTransient, "%w: writing %s: %w", ErrDiskFull, path, err).
		WithMend("free space on the file system of %s, then agency resume RUN", path)
}

func corrupt(path, detail string) error {
	return agency.Errorf(agency.KindTransient, "%w: %s: %s", ErrCorrupt, path, detail).
		WithMend("move %s and its -wal and -shm files away to begin anew, or put back a copy; agency doctor shows what is damaged", path)
}

// panicError is what a closure that panicked returns to its caller.
func panicError(what string, value any, stack []byte) error {
	return fmt.Errorf("panic in %s: %v\n%s", what, value, stack)
}
