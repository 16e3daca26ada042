package sandbox

import (
	"errors"
	"io"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// The sandbox has no network; what its commands say to the loopback address
// below is carried to the host's proxy connection by connection: PID 1 makes a
// pair of sockets for each, and hands one over through the channel that came
// with the request.

// maxProxied connections a command may have open at one time: package managers
// use fifty. Each is two open files on either side.
const maxProxied = 128

// proxyEnv tells programs of it in the spellings that they read.
func proxyEnv(port int) []string {
	var env []string
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		env = append(env, name+"=http://"+proxyHost+":"+strconv.Itoa(port))
	}
	return append(env, "NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1")
}

// openChannel starts the way out of one command; the file goes with the request.
// end closes all of it.
func openChannel(way Outlet) (theirs *os.File, end func(), err error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, nil, err
	}
	served := way.Serve(ours.receiveFile)
	return theirs, func() {
		_ = ours.Close()
		served()
	}, nil
}

// openDoor is openChannel in the landlock tier, where the command's loopback
// address is the host's.
func openDoor(way Outlet, door *socket) (end func()) {
	served := way.Serve(func() (*os.File, error) {
		for {
			c, err := door.accept()
			if err == nil {
				return c.File, nil
			}
			if !errors.Is(err, unix.ECONNABORTED) {
				return nil, err
			}
		}
	})
	return func() {
		_ = door.Close()
		served()
	}
}

// carrier is PID 1's end: it listens in the command's network.
type carrier struct {
	listener *socket
	channel  *socket

	mu    sync.Mutex
	pairs map[*socket]*socket // near to far, of what is carried now
	done  bool
	all   sync.WaitGroup
}

// carry starts to listen in the network namespace of the calling thread.
func carry(channel int) (*carrier, error) {
	conn, err := newSocket(channel)
	if err != nil {
		return nil, err
	}
	l, err := listenOn([4]byte{127, 0, 0, 1}, proxyPort)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	k := newCarrier(l, conn)
	k.all.Go(k.accept)
	return k, nil
}

func newCarrier(listener, channel *socket) *carrier {
	return &carrier{listener: listener, channel: channel, pairs: map[*socket]*socket{}}
}

func (k *carrier) accept() {
	for {
		near, err := k.listener.accept()
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
func join(near, far *socket) {
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(far, near)
		_ = far.Close()
	})
	_, _ = io.Copy(near, far)
	_ = near.Close()
	both.Wait()
}

// full says whether there are as many connections as there may be: PID 1's open
// files are also those by which it counts what a command uses.
func (k *carrier) full() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.pairs) >= maxProxied
}

// handOver makes a pair of sockets and gives one to the host.
func (k *carrier) handOver() (*socket, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirs.Close() }()
	if err := k.channel.sendFiles([]byte{0}, int(theirs.Fd())); err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	return ours, nil
}

func (k *carrier) keep(near, far *socket) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.done {
		k.pairs[near] = far
	}
	return !k.done
}

func (k *carrier) forget(near *socket) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.pairs, near)
}

// close ends every connection and waits until nothing is carried any more.
func (k *carrier) close() {
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
