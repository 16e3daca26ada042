package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"agency/internal/text"
)

// A tunnel goes to the one host that was asked for, but many hosts share an
// address, and which of them is meant stands in the first message of TLS. So
// that message must name the same host. It is read by the standard library, put
// together from however many pieces it comes in, and handed on as it came.
//
// A server may ask for that message again (RFC 8446 4.1.4), and whoever does not
// look may be shown another name then. So nothing more of the client is read
// before the server has answered, and what the client says after it was asked is
// read as the first was.
//
// What it cannot see is what is said inside TLS: a server that serves other
// names on the same connection (domain fronting) is the user's to trust.

// helloTimeout is how long a client may take to begin TLS after the tunnel is
// there, and a server to answer.
const helloTimeout = 10 * time.Second

// maxRetries bounds how often a server may ask: the RFC allows it once.
const maxRetries = 2

// encryptedHello is the extension that hides the name that is meant, and shows
// another (RFC 9849).
const encryptedHello = 0xfe0d

// Records of TLS: their kinds, and what they begin with.
const (
	recordChange    = 20 // of the cipher; means nothing since TLS 1.3
	recordAlert     = 21
	recordHandshake = 22
	recordData      = 23
	recordHead      = 5
)

// Messages of TLS.
const (
	messageHead     = 4
	serverHello     = 2
	beforeRandom    = messageHead + 2
	afterRandom     = beforeRandom + len(retryRandom)
	maxPlain        = 1<<14 + 2048 // what a record may hold, ever
	maxBeforeServer = 16           // records of a server before its first message
)

// retryRandom is what the hello of a server that asks again has in place of
// chance (RFC 8446 4.1.3).
var retryRandom = [...]byte{
	0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
	0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
}

// accessDenied is a fatal alert of TLS, in a record of its own: what a client
// can tell its user.
var accessDenied = [...]byte{21, 3, 3, 0, 2, 2, 49}

// errSeen ends a handshake that nobody wants to finish.
var errSeen = errors.New("seen")

// introduce carries the beginning of TLS between a client and its server, until
// no message can come any more that names a host. said is near with what it had
// sent already. A refusal is the client's; any other error is that somebody hung
// up.
func introduce(ctx context.Context, near net.Conn, said io.Reader, far net.Conn, host string) (refusal, err error) {
	for range maxRetries + 1 {
		if err := near.SetReadDeadline(time.Now().Add(helloTimeout)); err != nil {
			return nil, err
		}
		hello, refusal := greet(ctx, near, said, host)
		if refusal != nil {
			return refusal, nil
		}
		if _, err := far.Write(hello); err != nil {
			return nil, err
		}
		retry, err := answered(far, near)
		if err != nil {
			return nil, err
		}
		if !retry {
			return nil, errors.Join(near.SetReadDeadline(time.Time{}), far.SetReadDeadline(time.Time{}))
		}
		if err := near.SetReadDeadline(time.Now().Add(helloTimeout)); err != nil {
			return nil, err
		}
		if said, err = beforeHello(said, far); err != nil {
			return nil, err
		}
	}
	return fmt.Errorf("%s: the server asks for the name again and again", host), nil
}

// greet reads a client's hello, from said, and gives its bytes when it names the
// host.
func greet(ctx context.Context, near net.Conn, said io.Reader, host string) ([]byte, error) {
	heard := &ear{Conn: near, from: said}
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
	case !heard.oneMessage():
		return nil, fmt.Errorf("%s: the connection did not begin with TLS: more than one message at once", host)
	case slices.Contains(hello.Extensions, encryptedHello):
		return nil, fmt.Errorf("%s: the name that TLS is to reach is encrypted", host)
	case !strings.EqualFold(hello.ServerName, host):
		return nil, fmt.Errorf("%s: TLS names the host %q", host, text.Head(hello.ServerName, 100))
	}
	return heard.bytes.Bytes(), nil
}

// answered hands on what a server says up to its hello, and tells whether that
// asks the client for another.
func answered(far, near net.Conn) (retry bool, err error) {
	if err := far.SetReadDeadline(time.Now().Add(proxyTimeout)); err != nil {
		return false, err
	}
	var message []byte
	for range maxBeforeServer {
		record, err := readRecord(far)
		if err != nil {
			return false, err
		}
		if _, err := near.Write(record); err != nil {
			return false, err
		}
		switch record[0] {
		case recordAlert, recordChange:
			continue // a warning, or the echo of an older version
		case recordHandshake:
			message = append(message, record[recordHead:]...)
		default:
			return false, errors.New("the server does not speak TLS")
		}
		if len(message) > 0 && message[0] != serverHello {
			return false, errors.New("the server does not begin with its hello")
		}
		if len(message) >= afterRandom {
			return bytes.Equal(message[beforeRandom:afterRandom], retryRandom[:]), nil
		}
	}
	return false, errors.New("the server does not come to its hello")
}

// beforeHello hands on what a client may say between the two hellos: that its
// cipher changes, for the sake of what stands between, and data that it sent too
// early. What it gives begins with the hello.
func beforeHello(said io.Reader, far net.Conn) (io.Reader, error) {
	for {
		record, err := readRecord(said)
		if err != nil {
			return nil, err
		}
		if record[0] == recordHandshake {
			return io.MultiReader(bytes.NewReader(record), said), nil
		}
		if _, err := far.Write(record); err != nil {
			return nil, err
		}
	}
}

func readRecord(r io.Reader) ([]byte, error) {
	record := make([]byte, recordHead)
	if _, err := io.ReadFull(r, record); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint16(record[3:]))
	if record[0] < recordChange || record[0] > recordData || n > maxPlain {
		return nil, errors.New("no record of TLS")
	}
	record = append(record, make([]byte, n)...)
	_, err := io.ReadFull(r, record[recordHead:])
	return record, err
}

// ear hears one message of a client and says nothing. Who listens would read on
// and have what follows the message: so it gives no more than a record at a time.
type ear struct {
	net.Conn
	from  io.Reader
	bytes bytes.Buffer
	head  []byte // what has come of a record's head
	left  int    // of the record that is read
}

func (e *ear) Read(p []byte) (int, error) {
	most := e.left
	if most == 0 {
		most = recordHead - len(e.head)
	}
	n, err := e.from.Read(p[:min(len(p), most)])
	e.bytes.Write(p[:n])
	if e.left > 0 {
		e.left -= n
		return n, err
	}
	if e.head = append(e.head, p[:n]...); len(e.head) == recordHead {
		e.left, e.head = int(binary.BigEndian.Uint16(e.head[3:])), nil
	}
	return n, err
}

// oneMessage says whether the records that were read hold one message to its end
// and nothing else.
func (e *ear) oneMessage() bool {
	var message []byte
	for rest := e.bytes.Bytes(); len(rest) > 0; {
		if len(rest) < recordHead {
			return false
		}
		n := recordHead + int(binary.BigEndian.Uint16(rest[3:]))
		if rest[0] != recordHandshake || len(rest) < n {
			return false
		}
		message, rest = append(message, rest[recordHead:n]...), rest[n:]
	}
	return len(message) > messageHead && len(message) == messageHead+int(binary.BigEndian.Uint32(message)&0xffffff)
}

func (e *ear) Write(p []byte) (int, error) { return len(p), nil }

// Close leaves the connection to its owner.
func (e *ear) Close() error { return nil }
