package store

import (
	"context"
	"fmt"
)

// A file is made smaller when so much of it is free, in bytes, and a share of
// it: below that the room is used again soon, and copying the file costs more
// than it gives back.
const (
	shrinkBytes = 1 << 20
	shrinkShare = 4 // one part in so many
)

// Shrink gives the room of deleted rows back to the disk where that is worth
// copying the file, and says how many bytes it gave. Writers wait meanwhile;
// it needs as much room again as the file keeps, and changes nothing where
// there is none.
func (db *DB) Shrink(ctx context.Context) (freed int64, err error) {
	err = db.submit(ctx, &request{alone: func() error {
		freed, err = db.shrink()
		return explain(db.path, err)
	}})
	return freed, err
}

// shrink runs on the writer's goroutine.
func (db *DB) shrink() (int64, error) {
	page, err := db.pragma("page_size")
	if err != nil {
		return 0, err
	}
	pages, err := db.pragma("page_count")
	if err != nil {
		return 0, err
	}
	free, err := db.pragma("freelist_count")
	if err != nil || free*page < shrinkBytes || free*shrinkShare < pages {
		return 0, err
	}
	if _, err := db.writer.exec("VACUUM"); err != nil {
		return 0, fmt.Errorf("making the file smaller: %w", err)
	}
	// The copy is in the write-ahead log until it is put in place.
	if _, err := db.pragma("wal_checkpoint(TRUNCATE)"); err != nil {
		return 0, err
	}
	if db.longLog {
		db.lengthenLog()
	}
	now, err := db.pragma("page_count")
	return (pages - now) * page, err
}

// pragma reads the first number that a pragma answers.
func (db *DB) pragma(name string) (n int64, err error) {
	rows, err := db.writer.query("PRAGMA " + name)
	if err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }() // what was read counts
	if !rows.Next() {
		return 0, rows.Err()
	}
	columns, err := rows.rows.Columns()
	if err != nil {
		return 0, err
	}
	rest := make([]any, len(columns))
	rest[0] = &n
	for i := 1; i < len(rest); i++ {
		rest[i] = new(int64)
	}
	return n, rows.Scan(rest...)
}
