package store

import (
	"errors"
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
func (db *DB) lengthenLog() {
	if free, err := Room(filepath.Dir(db.path)); err != nil || free < logMargin*logRoom {
		return
	}
	f, err := os.OpenFile(db.path+"-wal", os.O_WRONLY|os.O_APPEND, 0)
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
