package sandbox

import (
	"io/fs"
	"path/filepath"
	"syscall"
	"time"
)

// In the landlock tier temporary files are in a folder on a disk of the
// machine's. It may grow as large as the one in memory that the full tier has;
// it is counted, which costs a look at each file.
const (
	tempPause = 200 * time.Millisecond
	// tempShare is how many times the cost of a count passes before the next.
	tempShare = 20
)

// temp counts one command's temporary files; the zero value none.
type temp struct {
	dir   string
	limit int64
	next  time.Time
}

// full says whether there are more of them than there may be. Files that are
// deleted and still open are not seen: the room that a disk must keep bounds
// them.
func (t *temp) full() bool {
	now := time.Now()
	if t.dir == "" || now.Before(t.next) {
		return false
	}
	var sum int64
	linked := map[uint64]bool{}
	_ = filepath.WalkDir(t.dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // gone, or closed by the command itself
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok || linked[st.Ino] {
			return nil
		}
		if st.Nlink > 1 {
			linked[st.Ino] = true
		}
		if sum += st.Blocks * 512; sum > t.limit {
			return fs.SkipAll
		}
		return nil
	})
	t.next = now.Add(max(tempPause, tempShare*time.Since(now)))
	return sum > t.limit
}
