package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"
)

// A tunnel goes to the one host that was asked for, but many hosts share an
// address, and which of them is meant stands in the first message of TLS. So
// that message must name the same host. It is read by the standard library, put
// together from however many pieces it comes in, and handed on as it came.
//
// What it cannot see is what is said inside TLS: a server that serves other
// names on the same connection (domain fronting) is the user's to trust.

// helloTimeout is how long a client may take to begin TLS after the tunnel is
// there.
const helloTimeout = 10 * time.Second

// encryptedHello is the extension that hides the name that is meant, and shows
// another (RFC 9849).
const encryptedHello = 0xfe0d

// accessDenied is a fatal alert of TLS, in a record of its own: what a client
// can tell its user.
var accessDenied = [...]byte{21, 3, 1, 0, 2, 2, 49}

// errSeen ends a handshake that nobody wants to finish.
var errSeen = errors.New("seen")

// greet reads a client's first message of TLS from first, which is near with
// what it had sent already, and gives its bytes when it names the host.
func greet(ctx context.Context, near net.Conn, first io.Reader, host string) ([]byte, error) {
	if err := near.SetReadDeadline(time.Now().Add(helloTimeout)); err != nil {
		return nil, err
	}
	heard := &ear{Conn: near, from: first}
	var hello *tls.ClientHelloInfo
	err := tls.Server(heard, &tls.Config{
		GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			hello = h
			return nil, errSeen
		},
	}).HandshakeContext(ctx)
	switch {
	case hello == nil:
		return nil, fmt.Errorf("%s: the connection did not begin with TLS: %w", host, err)
	case slices.Contains(hello.Extensions, encryptedHello):
		return nil, fmt.Errorf("%s: the name that TLS is to reach is encrypted", host)
	case !strings.EqualFold(hello.ServerName, host):
		return nil, fmt.Errorf("%s: TLS names the host %q", host, clipText(hello.ServerName))
	}
	return heard.bytes.Bytes(), near.SetReadDeadline(time.Time{})
}

// ear hears a client out and says nothing.
type ear struct {
	net.Conn
	from  io.Reader
	bytes bytes.Buffer
}

func (e *ear) Read(p []byte) (int, error) {
	n, err := e.from.Read(p)
	e.bytes.Write(p[:n])
	return n, err
}

func (e *ear) Write(p []byte) (int, error) { return len(p), nil }

// Close leaves the connection to its owner.
func (e *ear) Close() error { return nil }
