package store

import (
	"errors"
	"os"
	"path/filepath"
)

// logRoom is how long the write-ahead log is made ahead of its use: as long as
// it becomes between two checkpoints of SQLite's 1000 pages, and a batch more.
const logRoom = 5 << 20

// logMargin is how many times that much must be free on the disk.
const logMargin = 16

// lengthenLog makes the write-ahead log as long as it will be, once: a sync of
// a file that has grown makes the file system write its own journal too, and
// takes twice as long as one of a file that was overwritten. The zeros are no
// frames to SQLite, as what is left of an older round is none. Only the holder
// of the write lock may do it, before it writes: nobody else's frames are
// behind the end of the file then. No room is no error: the log grows as it is
// used.
func (db *DB) lengthenLog() {
	if db.longLog {
		return
	}
	db.longLog = true
	if free, err := Room(filepath.Dir(db.path)); err != nil || free < logMargin*logRoom {
		return
	}
	f, err := os.OpenFile(db.path+"-wal", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return
	}
	_ = errors.Join(appendZeros(f), f.Close()) // what is there stays as it was
}

// appendZeros makes a file logRoom long, or leaves it as it was.
func appendZeros(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	zeros := make([]byte, 64<<10)
	for at := info.Size(); at < logRoom; {
		n, err := f.Write(zeros[:min(int64(len(zeros)), logRoom-at)])
		if err != nil {
			return errors.Join(err, f.Truncate(info.Size()))
		}
		at += int64(n)
	}
	return nil
}
