package check

import (
	"context"
	"path/filepath"
	"sync"

	"agency/internal/sandbox"
)

// builds holds commands back while what all of them would build is built once: beside
// each other they would all build it.
type builds struct {
	mu   sync.Mutex
	n    int           // who hold
	held chan struct{} // closed when the last of them lets go; nil: nobody holds
}

// Hold has the commands that Run is asked for wait until release, which may be called
// again.
func (b *builds) Hold() (release func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n++; b.n == 1 {
		b.held = make(chan struct{})
	}
	return sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.n--; b.n == 0 {
			close(b.held)
			b.held = nil
		}
	})
}

// built waits until nothing is held back, or the context ends.
func (b *builds) built(ctx context.Context) error {
	b.mu.Lock()
	held := b.held
	b.mu.Unlock()
	if held == nil {
		return nil
	}
	select {
	case <-held:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Unbuilt tells whether there is a cache from which all commands may begin, and nothing in
// it yet.
func (c *packages) Unbuilt() bool {
	for _, o := range c.o.Tools.Overlays {
		if o.ByContent && c.o.Runner.Tier() == sandbox.TierFull && !sandbox.Sealed(c.warm(o)) {
			return true
		}
	}
	return false
}

// warm keeps what commands that are trusted have built in an overlay.
func (c *packages) warm(o sandbox.Overlay) string {
	return filepath.Join(c.o.LayerDir, warmDir, o.Name)
}
