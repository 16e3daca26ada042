package sandbox

import (
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// The sandbox has no network; what its commands say to the loopback address
// below is carried to the host's proxy connection by connection: PID 1 makes a
// pair of sockets for each, and hands one over through the channel that came
// with the request.

// proxyEnv tells programs of it in the spellings that they read.
func proxyEnv() []string {
	var env []string
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		env = append(env, name+"=http://"+proxyAddr)
	}
	return append(env, "NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1")
}

// handOver is the host's end of a channel: a listener whose connections come as
// open files.
type handOver struct {
	conn *net.UnixConn
}

// openProxy starts a proxy for one command; the file goes with the request. end
// closes all of it.
func openProxy(p *proxy) (theirs *os.File, end func(), err error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, nil, err
	}
	server := &http.Server{
		Handler: p, ReadHeaderTimeout: helloTimeout, IdleTimeout: proxyTimeout, MaxHeaderBytes: 64 << 10,
		ErrorLog: log.New(io.Discard, "", 0), // the command is told itself
	}
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(&handOver{ours}) })
	return theirs, func() {
		_ = server.Close()
		_ = ours.Close()
		served.Wait()
	}, nil
}

func (h *handOver) Accept() (net.Conn, error) {
	b, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(4*maxFiles))
	n, oobn, _, _, err := h.conn.ReadMsgUnix(b, oob)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, io.EOF
	}
	files, err := filesOf(oob[:oobn])
	if err != nil || len(files) != 1 {
		for _, fd := range files {
			_ = unix.Close(fd)
		}
		return nil, errors.Join(err, errors.New("no connection came"))
	}
	f := os.NewFile(uintptr(files[0]), "proxied")
	defer func() { _ = f.Close() }()
	return net.FileConn(f)
}

func (h *handOver) Close() error { return h.conn.Close() }

func (h *handOver) Addr() net.Addr { return h.conn.LocalAddr() }

// carrier is PID 1's end: it listens in the command's network.
type carrier struct {
	listener net.Listener
	channel  *net.UnixConn

	mu    sync.Mutex
	pairs map[net.Conn]net.Conn // near to far, of what is carried now
	done  bool
	all   sync.WaitGroup
}

// carry starts to listen in the network namespace of the calling thread.
func carry(channel int) (*carrier, error) {
	f := os.NewFile(uintptr(channel), "proxy")
	defer func() { _ = f.Close() }()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	conn, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(errors.New("the proxy's channel is no unix socket"), c.Close())
	}
	l, err := net.Listen("tcp4", proxyAddr)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	k := &carrier{listener: l, channel: conn, pairs: map[net.Conn]net.Conn{}}
	k.all.Go(k.accept)
	return k, nil
}

func (k *carrier) accept() {
	for {
		near, err := k.listener.Accept()
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
			join(near, near, far)
			k.forget(near)
		})
	}
}

// full says whether there are as many connections as there may be: PID 1's open
// files are also those by which it counts what a command uses.
func (k *carrier) full() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.pairs) >= maxProxied
}

// handOver makes a pair of sockets and gives one to the host.
func (k *carrier) handOver() (net.Conn, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirs.Close() }()
	if _, _, err := k.channel.WriteMsgUnix([]byte{0}, unix.UnixRights(int(theirs.Fd())), nil); err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	return ours, nil
}

func (k *carrier) keep(near, far net.Conn) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.done {
		k.pairs[near] = far
	}
	return !k.done
}

func (k *carrier) forget(near net.Conn) {
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
