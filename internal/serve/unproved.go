package serve

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
)

// mostUnproved is how many connections may be open that have not yet shown the
// token. An honest client shows it with its first bytes, so that the oldest of
// them is who holds room for nothing; those that have shown it are not counted,
// however many terminals follow a run.
const mostUnproved = 64

// unproved are the connections that have not shown the token, the oldest first.
type unproved struct {
	mu   sync.Mutex
	open []net.Conn
}

// unprovedKey is where a request finds its own connection.
type unprovedKey struct{}

// accepted is told of each new connection, and closes the oldest for it where
// there are too many.
func (u *unproved) accepted(ctx context.Context, c net.Conn) context.Context {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.open) >= mostUnproved {
		_ = u.open[0].Close() // it has proved nothing
		u.open = slices.Delete(u.open, 0, 1)
	}
	u.open = append(u.open, c)
	return context.WithValue(ctx, unprovedKey{}, func() { u.drop(c) })
}

// drop is for a connection that has ended, or has shown the token.
func (u *unproved) drop(c net.Conn) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if i := slices.Index(u.open, c); i >= 0 {
		u.open = slices.Delete(u.open, i, i+1)
	}
}

// proved tells that the connection of a request has shown the token.
func proved(r *http.Request) {
	if drop, ok := r.Context().Value(unprovedKey{}).(func()); ok {
		drop()
	}
}
