package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// logPages is how long a long write-ahead log becomes before the commit that
// passes it brings its pages into the database: four times SQLite's 1000, since
// senders wait meanwhile, and a page that was written often is brought over
// once. Its index is one block up to 4062.
const logPages = 4000

// logRoom is how long it is made ahead of its use: as long as it becomes, and a
// large batch more.
const logRoom = logPages*(4096+24) + 1<<20

// logMargin is how many times that much must be free on the disk.
const logMargin = 8

// lengthenLog makes the write-ahead log as long as it will be: a sync of a file
// that has grown makes the file system write its own journal too, and takes
// twice as long as one of a file that was overwritten. Zeros are no frames to
// SQLite, as what is left of an older round is none. They are appended, so that
// they overwrite nothing that another process may write. No room is no error:
// the log grows as it is used.
func lengthenLog(path string) {
	if free, err := Room(filepath.Dir(path)); err != nil || free < logMargin*logRoom {
		return
	}
	f, err := os.OpenFile(path+"-wal", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return
	}
	_ = errors.Join(appendZeros(f), f.Close()) // the log is as long as it got
}

// appendZeros makes a file as long as the log will be. The next commit syncs it.
func appendZeros(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	zeros := make([]byte, 256<<10)
	for at := info.Size(); at < logRoom; {
		n, err := f.Write(zeros[:min(int64(len(zeros)), logRoom-at)])
		if err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
}

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
		freed, err = db.writer.shrink()
		return explain(db.path, err)
	}})
	return freed, err
}

// shrink runs on the writer's goroutine.
func (w *writer) shrink() (int64, error) {
	page, err := w.conn.pragma("page_size")
	if err != nil {
		return 0, err
	}
	pages, err := w.conn.pragma("page_count")
	if err != nil {
		return 0, err
	}
	free, err := w.conn.pragma("freelist_count")
	if err != nil || free*page < shrinkBytes || free*shrinkShare < pages {
		return 0, err
	}
	if _, err := w.conn.exec(vacuum); err != nil {
		return 0, fmt.Errorf("making the file smaller: %w", err)
	}
	// The copy is in the write-ahead log until it is put in place.
	if _, err := w.conn.pragma("wal_checkpoint(TRUNCATE)"); err != nil {
		return 0, err
	}
	if w.longLog {
		lengthenLog(w.db.path)
	}
	now, err := w.conn.pragma("page_count")
	return (pages - now) * page, err
}

// pragma reads the first number that a pragma answers.
func (c *conn) pragma(name string) (n int64, err error) {
	rows, err := c.query("PRAGMA " + name)
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
