package proxy

import (
	"bytes"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"agency/internal/sandbox/proxy/proxytest"
)

// helloOf is the first message of a TLS client, as one record.
func helloOf(t *testing.T, c *tls.Config) []byte {
	t.Helper()
	near, far := net.Pipe()
	defer func() { _ = far.Close() }()
	c.InsecureSkipVerify = true // without a name there is nothing to verify
	go func() {
		_ = tls.Client(near, c).Handshake()
		_ = near.Close()
	}()
	head := make([]byte, 5)
	if _, err := io.ReadFull(far, head); err != nil {
		t.Fatal(err)
	}
	body := make([]byte, binary.BigEndian.Uint16(head[3:]))
	if _, err := io.ReadFull(far, body); err != nil {
		t.Fatal(err)
	}
	return append(head, body...)
}

// inRecords cuts the one record of a message into records of n bytes.
func inRecords(record []byte, n int) []byte {
	var out []byte
	for body := record[5:]; len(body) > 0; {
		part := body[:min(n, len(body))]
		body = body[len(part):]
		out = append(out, record[:3]...)
		out = binary.BigEndian.AppendUint16(out, uint16(len(part)))
		out = append(out, part...)
	}
	return out
}

// withNames replaces the one name of a message by several, or by one of another
// kind.
func withNames(t *testing.T, record []byte, old string, names ...[]byte) []byte {
	t.Helper()
	var list []byte
	for _, n := range names {
		list = append(list, n...)
	}
	name := []byte(old)
	i := bytes.Index(record, name)
	if i < 0 {
		t.Fatal("no name")
	}
	start := i - 9 // type and length of the extension, length of the list, kind and length of the name
	ext := binary.BigEndian.AppendUint16([]byte{0, 0}, uint16(len(list)+2))
	ext = binary.BigEndian.AppendUint16(ext, uint16(len(list)))
	out := append(bytes.Clone(record[:start]), append(ext, list...)...)
	out = append(out, record[i+len(name):]...)
	grown := len(out) - len(record)
	binary.BigEndian.PutUint16(out[3:], uint16(len(out)-5))
	out[6], out[7], out[8] = 0, byte((len(out)-9)>>8), byte(len(out)-9)
	// The length of all extensions stands before the first.
	at := 9 + 2 + 32
	at += 1 + int(out[at])
	at += 2 + int(binary.BigEndian.Uint16(out[at:]))
	at += 1 + int(out[at])
	binary.BigEndian.PutUint16(out[at:], uint16(int(binary.BigEndian.Uint16(out[at:]))+grown))
	return out
}

func nameOf(kind byte, host string) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{kind}, uint16(len(host))), host...)
}

// encryptedName is a client's configuration that shows another name than it
// means.
func encryptedName(t *testing.T, inner, outer string) *tls.Config {
	t.Helper()
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	pub := key.PublicKey().Bytes()
	c := []byte{1, 0, 0x20} // id, X25519
	c = append(binary.BigEndian.AppendUint16(c, uint16(len(pub))), pub...)
	c = append(c, 0, 4, 0, 1, 0, 1, 32) // HKDF-SHA256 with AES-128-GCM; longest name
	c = append(append(c, byte(len(outer))), outer...)
	c = append(c, 0, 0)
	one := binary.BigEndian.AppendUint16([]byte{0xfe, 0x0d}, uint16(len(c)))
	one = append(one, c...)
	list := append(binary.BigEndian.AppendUint16(nil, uint16(len(one))), one...)
	return &tls.Config{ServerName: inner, EncryptedClientHelloConfigList: list, MinVersion: tls.VersionTLS13}
}

// TestProxyHello begins a tunnel to the allowed host in every way; only what
// names that host arrives, and arrives as it was sent.
func TestProxyHello(t *testing.T) {
	const host, other = "proxy.golang.example", "evil.example.org"
	plain := helloOf(t, &tls.Config{ServerName: host})
	for _, c := range []struct {
		name  string
		hello []byte
		want  string // of the reason; empty: it goes through
	}{
		{"one record", plain, ""},
		{"upper case", helloOf(t, &tls.Config{ServerName: "PROXY.golang.Example"}), ""},
		{"old version", helloOf(t, &tls.Config{ServerName: host, MaxVersion: tls.VersionTLS12}), ""},
		{"many records", inRecords(plain, 7), ""},
		{"records of one byte", inRecords(plain, 1), ""},
		{"empty records between", append([]byte{22, 3, 1, 0, 0}, plain...), "did not begin with TLS"},
		{"another name", helloOf(t, &tls.Config{ServerName: other}), "names the host \"" + other},
		{"another name in many records", inRecords(helloOf(t, &tls.Config{ServerName: other}), 3), "names the host \"" + other},
		{"a longer name", helloOf(t, &tls.Config{ServerName: host + "." + other}), "names the host"},
		{"a dot at the end", withNames(t, plain, host, nameOf(0, host+".")), "did not begin with TLS"},
		{"no name", helloOf(t, &tls.Config{}), "names the host \"\""},
		{"an address", helloOf(t, &tls.Config{ServerName: "93.184.216.34"}), "names the host \"\""},
		{"two names", withNames(t, plain, host, nameOf(0, host), nameOf(0, other)), "did not begin with TLS"},
		{"two names, the other first", withNames(t, plain, host, nameOf(0, other), nameOf(0, host)), "did not begin with TLS"},
		{"a name of another kind", withNames(t, plain, host, nameOf(1, host)), "names the host \"\""},
		{"null in the name", withNames(t, plain, host, nameOf(0, host+"\x00."+other)), "names the host"},
		{"encrypted name", helloOf(t, encryptedName(t, other, host)), "is encrypted"},
		{"http", []byte("GET / HTTP/1.1\r\nHost: " + other + "\r\n\r\n"), "did not begin with TLS"},
		{"ssh", []byte("SSH-2.0-x\r\n"), "did not begin with TLS"},
		{"an alert", []byte{21, 3, 1, 0, 2, 1, 0}, "did not begin with TLS"},
		{"a message that is too long", append([]byte{22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff}, make([]byte, 0x4000-4)...), "did not begin with TLS"},
		{"the end", nil, "did not begin with TLS"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, said, refused := tunnel(t, host, c.hello)
			switch {
			case c.want == "":
				if !bytes.Equal(got, c.hello) || refused != nil {
					t.Errorf("%d of %d bytes arrived, %v", len(got), len(c.hello), refused)
				}
			case len(got) != 0 || refused == nil || !strings.Contains(refused.Error(), c.want):
				t.Errorf("%d bytes arrived, %v, want %s", len(got), refused, c.want)
			case !bytes.Equal(said, accessDenied[:]):
				t.Errorf("the client was told %x", said)
			}
		})
	}
}

// tunnel says hello through a proxy, two bytes at a time, and gives what
// arrived, what came back and why it was refused.
func tunnel(t *testing.T, host string, hello []byte) (arrived, back []byte, refused error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan []byte, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			got <- nil
			return
		}
		b, _ := io.ReadAll(io.LimitReader(c, int64(len(hello)))) // less where it is refused
		got <- b
		_ = c.Close()
	}()
	p := New([]string{host})
	w := &proxytest.World{Names: map[string][]string{host: {"93.184.216.34"}}, Server: l.Addr().String()}
	attach(w, p)
	s := httptest.NewServer(p)
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "CONNECT %s:443 HTTP/1.1\r\nHost: x\r\n\r\n", host)
	const answer = "HTTP/1.1 200 Connection established\r\n\r\n"
	if _, err := io.ReadFull(c, make([]byte, len(answer))); err != nil {
		t.Fatal(err)
	}
	for rest := hello; len(rest) > 0; {
		n, err := c.Write(rest[:min(2, len(rest))])
		if err != nil {
			break // it has heard enough
		}
		rest = rest[n:]
	}
	_ = c.(*net.TCPConn).CloseWrite()
	arrived = <-got
	back = readUntilReset(c)
	_, _ = c.Close(), l.Close()
	s.Close()
	return arrived, back, p.Refused()
}

// readUntilReset reads what came before the other side closed, which may not
// have read all.
func readUntilReset(c net.Conn) []byte {
	b := make([]byte, 64)
	n, err := io.ReadFull(c, b)
	if err != nil && n == 0 {
		return nil
	}
	return b[:n]
}
