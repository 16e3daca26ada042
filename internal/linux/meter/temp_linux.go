package meter

import (
	"io/fs"
	"path/filepath"
	"syscall"
	"time"
)

// Temporary files may be in a folder on a disk of the machine's instead of one in
// memory that has a size: it is counted, which costs a look at each file.
const (
	tempPause = 200 * time.Millisecond
	// tempShare is how many times the cost of a count passes before the next.
	tempShare = 20
)

// Temp counts one command's temporary files; the zero value none.
type Temp struct {
	Dir   string
	Limit int64
	next  time.Time
	held  int64 // by files that are deleted and open (hidden)
}

// full says whether there are more of them than there may be.
func (t *Temp) full() bool {
	now := time.Now()
	if t.Dir == "" || now.Before(t.next) {
		return false
	}
	sum := t.held
	linked := map[uint64]bool{}
	_ = filepath.WalkDir(t.Dir, func(_ string, d fs.DirEntry, err error) error {
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
		if sum += st.Blocks * 512; sum > t.Limit {
			return fs.SkipAll
		}
		return nil
	})
	t.next = now.Add(max(tempPause, tempShare*time.Since(now)))
	return sum > t.Limit
}
