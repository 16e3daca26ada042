package daemon

import (
	"errors"
	"io/fs"
	"os"
	"sync"

	"agency/internal/agency"
)

// logCap bounds the host's log; the one before it is kept as host.log.1.
const logCap = 4 << 20

// capped is a log file that starts anew when it is full.
type capped struct {
	mu   sync.Mutex
	f    *os.File
	path string
	size int64
	cap  int64
	// redact takes keys out of each line; nil until a host can have any.
	redact func([]byte) []byte
}

// hide sets what takes keys out of what is written from now on.
func (c *capped) hide(redact func([]byte) []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.redact = redact
}

func openLog(path string) (*capped, error) {
	c := &capped{path: path, cap: logCap}
	return c, c.open()
}

func (c *capped) open() error {
	f, err := os.OpenFile(c.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return agency.Errorf(agency.KindTransient, "the host's log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	c.f, c.size = f, info.Size()
	return nil
}

func (c *capped) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	whole := len(b)
	if c.redact != nil {
		b = c.redact(b)
	}
	if c.size+int64(len(b)) > c.cap && c.size > 0 {
		if err := c.turn(); err != nil {
			return 0, err
		}
	}
	n, err := c.f.Write(b)
	c.size += int64(n)
	if err != nil {
		return n, err
	}
	return whole, nil
}

func (c *capped) turn() error {
	if err := os.Rename(c.path, c.path+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := c.f.Close(); err != nil {
		return err
	}
	return c.open()
}
