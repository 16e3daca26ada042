package store

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// The reserve is a file beside the database that holds room back. When the
// disk is full it is given up, so that what must not be lost can still be
// written: an answer that was paid for, the gate at which the run stops. It is
// made again when there is plenty of room.
type reserve struct {
	path string
	size int64

	mu    sync.Mutex
	held  bool
	tried time.Duration // on the monotonic clock: when room was last looked for
}

const (
	// reserveMargin is how many times its size must be free before the reserve
	// is made (again): taking the last room would fill the disk by itself.
	reserveMargin = 4
	// reserveEvery is how often room is looked for.
	reserveEvery = 5 * time.Second
)

func newReserve(database string, size int64) *reserve {
	return &reserve{path: database + ".reserve", size: size}
}

// refill makes the reserve where it is missing and there is room for it. No
// room is no error: the store works without it.
func (r *reserve) refill(now time.Duration) {
	if r == nil || r.size == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held || r.tried != 0 && now-r.tried < reserveEvery {
		return
	}
	r.tried = max(now, 1)
	if fileSize(r.path) == r.size {
		r.held = true
		return
	}
	if free, err := Room(filepath.Dir(r.path)); err != nil || free < reserveMargin*r.size {
		return
	}
	r.held = r.write() == nil
}

// write fills the file with noise: a file system that compresses or that
// leaves holes would hold no room for zeros.
func (r *reserve) write() error {
	var seed [32]byte
	noise := make([]byte, r.size)
	_, _ = rand.NewChaCha8(seed).Read(noise) // never fails
	err := os.WriteFile(r.path, noise, 0o600)
	if err != nil {
		_ = os.Remove(r.path) // half a reserve is none
	}
	return err
}

// release gives the room up and tells whether there was any. Some file systems
// refuse to remove a name on a full disk but let a file be cut.
func (r *reserve) release() bool {
	if r == nil || r.size == 0 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.held {
		return false
	}
	r.held = false
	return errors.Join(os.Truncate(r.path, 0), os.Remove(r.path)) == nil
}

// needed marks a context whose writes may use the reserve.
type needed struct{}

// Needed gives a context whose writes may use the room that the store keeps
// back (Options.Reserve): for what must not be lost when the disk is full.
func Needed(ctx context.Context) context.Context { return context.WithValue(ctx, needed{}, true) }

func isNeeded(ctx context.Context) bool { return ctx.Value(needed{}) != nil }

// IsFull tells whether an error says that a disk, or what a quota leaves of
// it, is full: the store's, git's and the operating system's.
func IsFull(err error) bool {
	return errors.Is(err, ErrDiskFull) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// noRoom is the free space in bytes below which a refusal that does not name
// its cause is taken for a full disk: less than SQLite's shared memory file,
// or a git object, takes.
const noRoom = 64 << 10

// Full tells whether the disk of a folder has no room worth the name.
func Full(dir string) bool {
	free, err := Room(dir)
	if errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		return Full(filepath.Dir(dir))
	}
	return err == nil && free < noRoom
}
