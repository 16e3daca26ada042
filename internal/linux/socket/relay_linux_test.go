package socket

import (
	"fmt"
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRelayCap opens more connections than there may be: the one beyond is
// closed at once and never reaches the host, and there is room again when one
// has ended.
func TestRelayCap(t *testing.T) {
	ours, theirs, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = theirs.Close() }()
	channel, err := unix.Dup(int(theirs.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	far, err := New(channel)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Listen([4]byte{127, 0, 0, 1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	k := newRelay(l, far)
	k.all.Go(k.accept)
	defer k.Close()
	defer func() { _ = ours.Close() }()
	port, err := l.Port()
	if err != nil {
		t.Fatal(err)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	dial := func() net.Conn {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	var first *os.File
	for range maxProxied {
		dial()
		far, err := ours.ReceiveFile()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = far.Close() })
		if first == nil {
			first = far
		}
	}
	if n, err := dial().Read(make([]byte, 1)); err == nil {
		t.Fatalf("one beyond the cap was told %d bytes", n)
	}
	_ = first.Close()
	came := make(chan error, 1)
	go func() {
		c, err := ours.ReceiveFile()
		if err == nil {
			_, err = c.Write([]byte{1})
			_ = c.Close()
		}
		came <- err
	}()
	for {
		if _, err := dial().Read(make([]byte, 1)); err == nil {
			break
		}
	}
	if err := <-came; err != nil {
		t.Fatal(err)
	}
}
