package proxy

import (
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
)

// Serve answers the connections that next gives, each an open socket, until it
// fails. end, called after that, closes those that are open and waits for them.
func (p *Proxy) Serve(next func() (*os.File, error)) (end func()) {
	server := &http.Server{
		Handler: p, ReadHeaderTimeout: helloTimeout, IdleTimeout: proxyTimeout, MaxHeaderBytes: 64 << 10,
		ErrorLog: log.New(io.Discard, "", 0), // the command is told itself
	}
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(&listener{next: next, free: make(chan struct{}, maxOpen)}) })
	return func() {
		_ = server.Close()
		served.Wait()
	}
}

// maxOpen connections one command may have at one time, each of which is another
// to its host: the open files are this process's.
const maxOpen = 128

// listener is one whose connections come as open files. Of those beyond maxOpen
// it hangs up on.
type listener struct {
	next func() (*os.File, error)
	free chan struct{} // holds one for each that is open
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		f, err := l.next()
		if err != nil {
			return nil, err
		}
		select {
		case l.free <- struct{}{}:
		default:
			_ = f.Close()
			continue
		}
		c, err := net.FileConn(f)
		_ = f.Close()
		if err != nil {
			<-l.free
			continue // it has hung up
		}
		return &counted{Conn: c, done: sync.OnceFunc(func() { <-l.free })}, nil
	}
}

// Close leaves the end to who gives the connections.
func (*listener) Close() error { return nil }

func (*listener) Addr() net.Addr { return &net.UnixAddr{Net: "unix"} }

// counted is a connection that makes room when it is closed.
type counted struct {
	net.Conn
	done func()
}

func (c *counted) Close() error {
	defer c.done()
	return c.Conn.Close()
}
