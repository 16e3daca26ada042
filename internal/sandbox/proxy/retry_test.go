package proxy

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"agency/internal/sandbox/proxy/proxytest"
)

const retryHost, retryOther = "proxy.golang.example", "evil.example.org"

// startsWith384 are curves of which the client guesses the first, and the server
// knows the second.
var startsWith384 = []tls.CurveID{tls.X25519, tls.CurveP384}

// TestRetry asks a real server, which makes a real client send its hello again,
// through the proxy.
func TestRetry(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello, again %v", r.TLS.HelloRetryRequest)
	}))
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS13, CurvePreferences: []tls.CurveID{tls.CurveP384}}
	s.StartTLS()
	defer s.Close()
	c, p := dialThrough(t, s.Listener.Addr().String())
	tc := tls.Client(c, &tls.Config{ServerName: retryHost, InsecureSkipVerify: true, CurvePreferences: startsWith384})
	if err := tc.Handshake(); err != nil {
		t.Fatalf("%v, refused: %v", err, p.Refused())
	}
	if !tc.ConnectionState().HelloRetryRequest {
		t.Fatal("the server did not ask again: nothing is tested")
	}
	fmt.Fprintf(tc, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", retryHost)
	b, err := io.ReadAll(tc)
	if err != nil || !strings.Contains(string(b), "hello, again true") {
		t.Fatalf("%q, %v", b, err)
	}
}

// TestRetryOther names another host where the server looks the second time, in
// each place where that could stand. The name never arrives.
func TestRetryOther(t *testing.T) {
	good := helloOf(t, &tls.Config{ServerName: retryHost, MinVersion: tls.VersionTLS13})
	evil := helloOf(t, &tls.Config{ServerName: retryOther, MinVersion: tls.VersionTLS13})
	hidden := helloOf(t, encryptedName(t, retryOther, retryHost))
	change, early := []byte{recordChange, 3, 3, 0, 1, 1}, append([]byte{recordData, 3, 3, 0, 9}, "too early"...)
	warning := []byte{recordAlert, 3, 3, 0, 2, 1, 112}
	both := append(bytes.Clone(good), evil[recordHead:]...)
	binary.BigEndian.PutUint16(both[3:], uint16(len(both)-recordHead))
	for _, c := range []struct {
		name   string
		hello  []byte // sent at once
		server []byte // before it asks
		then   []byte // sent when the server has asked
		want   string
	}{
		{"another name", good, nil, evil, "names the host"},
		{"after a change of cipher", good, nil, append(bytes.Clone(change), evil...), "names the host"},
		{"after early data", good, nil, bytes.Join([][]byte{early, change, early, evil}, nil), "names the host"},
		{"in many records", good, nil, inRecords(evil, 5), "names the host"},
		{"encrypted", good, nil, hidden, "is encrypted"},
		{"without waiting", append(bytes.Clone(good), evil...), nil, nil, "names the host"},
		{"in the same record", both, nil, nil, "more than one message"},
		{"after a warning of the server", good, warning, evil, "names the host"},
		{"the third time", good, nil, append(bytes.Clone(good), evil...), "names the host"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, arrived := askingServer(t, c.server)
			conn, p := dialThrough(t, server)
			if _, err := conn.Write(c.hello); err != nil {
				t.Fatal(err)
			}
			if c.then != nil {
				if _, err := io.ReadFull(conn, make([]byte, len(c.server)+len(retryRecord()))); err != nil {
					t.Fatal(err)
				}
				_, _ = conn.Write(c.then) // it may have heard enough
			}
			_, _ = io.Copy(io.Discard, conn)
			got := <-arrived
			if bytes.Contains(got, []byte(retryOther)) || bytes.Contains(got, hidden[recordHead:]) {
				t.Errorf("it arrived: %q", got)
			}
			if c.want != "more than one message" && !bytes.HasPrefix(got, good) {
				t.Errorf("the first hello did not arrive: %d bytes", len(got))
			}
			if err := p.Refused(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// TestRetryRewritten has a real client and a real server, and somebody between
// client and proxy who changes the name in the second hello alone.
func TestRetryRewritten(t *testing.T) {
	evil := strings.Repeat("e", len(retryHost)-len(".example")) + ".example"
	s := httptest.NewUnstartedServer(nil)
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS13, CurvePreferences: []tls.CurveID{tls.CurveP384}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	c, p := dialThrough(t, s.Listener.Addr().String())
	err := tls.Client(&rewriter{Conn: c, to: evil}, &tls.Config{
		ServerName: retryHost, InsecureSkipVerify: true, CurvePreferences: startsWith384,
	}).Handshake()
	if err == nil || !strings.Contains(err.Error(), "access denied") {
		t.Errorf("the client was told %v", err)
	}
	if err := p.Refused(); err == nil || !strings.Contains(err.Error(), "names the host \""+evil) {
		t.Errorf("refused: %v", err)
	}
}

// rewriter changes the name in every hello but the first.
type rewriter struct {
	net.Conn
	to   string
	seen int
}

func (r *rewriter) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(retryHost)) {
		if r.seen++; r.seen > 1 {
			_, err := r.Conn.Write(bytes.ReplaceAll(p, []byte(retryHost), []byte(r.to)))
			return len(p), err
		}
	}
	return r.Conn.Write(p)
}

// retryRecord is what a server says that asks for the hello again.
func retryRecord() []byte {
	body := append([]byte{3, 3}, retryRandom[:]...)
	body = append(body, 0, 0x13, 0x01, 0) // no session, AES-128-GCM, no compression
	body = append(body, 0, 12, 0, 43, 0, 2, 3, 4, 0, 51, 0, 2, 0, 24)
	message := append([]byte{serverHello, 0, 0, byte(len(body))}, body...)
	return append(binary.BigEndian.AppendUint16([]byte{recordHandshake, 3, 3}, uint16(len(message))), message...)
}

// askingServer asks again whenever it has heard anything, and gives all it has
// heard in the end.
func askingServer(t *testing.T, before []byte) (addr string, arrived <-chan []byte) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	all := make(chan []byte, 1)
	go func() {
		var heard []byte
		defer func() { all <- heard }()
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		b := make([]byte, 1<<16)
		for {
			n, err := c.Read(b)
			heard = append(heard, b[:n]...)
			if err != nil {
				return
			}
			if _, err := c.Write(append(bytes.Clone(before), retryRecord()...)); err != nil {
				return
			}
		}
	}()
	return l.Addr().String(), all
}

// dialThrough is a tunnel through a proxy to a server that stands for the one
// host that is allowed.
func dialThrough(t *testing.T, server string) (net.Conn, *Proxy) {
	t.Helper()
	p := New([]string{retryHost})
	attach(&proxytest.World{Names: map[string][]string{retryHost: {"93.184.216.34"}}, Server: server}, p)
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	fmt.Fprintf(c, "CONNECT %s:443 HTTP/1.1\r\nHost: x\r\n\r\n", retryHost)
	if _, err := io.ReadFull(c, make([]byte, len("HTTP/1.1 200 Connection established\r\n\r\n"))); err != nil {
		t.Fatal(err)
	}
	return c, p
}
