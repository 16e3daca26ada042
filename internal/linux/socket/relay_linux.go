package socket

import (
	"errors"
	"io"
	"sync"

	"golang.org/x/sys/unix"
)

// maxProxied connections may be open at one time: package managers use fifty. Each
// is two open files on either side.
const maxProxied = 128

// Relay listens in one network and carries each connection into another: it makes
// a pair of sockets for it, and hands one over through a channel to who is there.
type Relay struct {
	listener *Socket
	channel  *Socket

	mu    sync.Mutex
	pairs map[*Socket]*Socket // near to far, of what is carried now
	done  bool
	all   sync.WaitGroup
}

// Carry starts to listen on a port of the loopback address, in the network namespace
// of the calling thread. The channel is an open socket, which is the relay's then.
func Carry(channel, port int) (*Relay, error) {
	conn, err := New(channel)
	if err != nil {
		return nil, err
	}
	l, err := Listen([4]byte{127, 0, 0, 1}, port)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	k := newRelay(l, conn)
	k.all.Go(k.accept)
	return k, nil
}

func newRelay(listener, channel *Socket) *Relay {
	return &Relay{listener: listener, channel: channel, pairs: map[*Socket]*Socket{}}
}

func (k *Relay) accept() {
	for {
		near, err := k.listener.Accept()
		if errors.Is(err, unix.ECONNABORTED) {
			continue
		}
		if err != nil {
			return
		}
		if k.full() {
			_ = near.Close()
			continue
		}
		far, err := k.handOver()
		if err != nil {
			_ = near.Close()
			continue
		}
		if !k.keep(near, far) {
			_, _ = near.Close(), far.Close()
			continue
		}
		k.all.Go(func() {
			join(near, far)
			k.forget(near)
		})
	}
}

// join carries bytes both ways until either side ends.
func join(near, far *Socket) {
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(far, near)
		_ = far.Close()
	})
	_, _ = io.Copy(near, far)
	_ = near.Close()
	both.Wait()
}

// full says whether there are as many connections as there may be: who carries has
// other uses for its open files, too.
func (k *Relay) full() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.pairs) >= maxProxied
}

// handOver makes a pair of sockets and gives one to the host.
func (k *Relay) handOver() (*Socket, error) {
	ours, theirs, err := Pair()
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirs.Close() }()
	if err := k.channel.SendFiles([]byte{0}, int(theirs.Fd())); err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	return ours, nil
}

func (k *Relay) keep(near, far *Socket) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.done {
		k.pairs[near] = far
	}
	return !k.done
}

func (k *Relay) forget(near *Socket) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.pairs, near)
}

// Close ends every connection and waits until nothing is carried any more.
func (k *Relay) Close() {
	if k == nil {
		return
	}
	_, _ = k.listener.Close(), k.channel.Close()
	k.mu.Lock()
	k.done = true
	for near, far := range k.pairs {
		_, _ = near.Close(), far.Close()
	}
	k.mu.Unlock()
	k.all.Wait()
}
