package serve

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"agency/internal/api"
)

// TestUnprovedConnectionsAreBounded: of connections that show no token only so
// many stay open, each may send little, and whoever shows it gets in meanwhile.
func TestUnprovedConnectionsAreBounded(t *testing.T) {
	dir, err := os.MkdirTemp("", "s") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path, file := filepath.Join(dir, "h.sock"), filepath.Join(dir, "host.token")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	h := newHouse(1)
	go func() { done <- h.server(time.Second).Serve(ctx, l) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	if err := token.Write(file); err != nil {
		t.Fatal(err)
	}
	first := api.Dial(path, file)
	defer first.Close()
	if _, err := first.Hello(t.Context()); err != nil {
		t.Fatal(err)
	}
	const more = 40
	var silent []net.Conn
	for range mostUnproved + more {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if _, err := c.Write([]byte("GET /hello HTTP/1.1\r\nX: unfinished")); err != nil {
			t.Fatal(err)
		}
		silent = append(silent, c)
	}
	for _, c := range silent[:more] { // the oldest are closed at once, not after ten seconds
		if err := c.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("an old connection without the token stays open: %v", err)
		}
	}
	late := api.Dial(path, file)
	defer late.Close()
	for _, c := range []*api.Client{first, late} {
		if _, err := c.Hello(t.Context()); err != nil {
			t.Error(err)
		}
	}
	large, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = large.Close() }()
	go func() {
		_, _ = large.Write([]byte("GET /hello HTTP/1.1\r\nX: " + string(bytes.Repeat([]byte("a"), 60<<10))))
	}() // it is cut
	answer := make([]byte, 64)
	n, _ := large.Read(answer) // an answer, or the end
	if !bytes.Contains(answer[:n], []byte("431")) {
		t.Errorf("a large header: %q", answer[:n])
	}
}
