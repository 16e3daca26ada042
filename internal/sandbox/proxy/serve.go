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
	served.Go(func() { _ = server.Serve(listener(next)) })
	return func() {
		_ = server.Close()
		served.Wait()
	}
}

// listener is one whose connections come as open files.
type listener func() (*os.File, error)

func (l listener) Accept() (net.Conn, error) {
	f, err := l()
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return net.FileConn(f)
}

// Close leaves the end to who gives the connections.
func (listener) Close() error { return nil }

func (listener) Addr() net.Addr { return &net.UnixAddr{Net: "unix"} }
