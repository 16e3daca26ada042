package sandbox

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"agency/internal/sandbox/proxy"
	"agency/internal/sandbox/proxy/proxytest"
)

// inWorld leads into the internet of a test.
type inWorld struct{ *proxytest.World }

func (w inWorld) Open(hosts []string) Outlet {
	p := proxy.New(hosts)
	p.Lookup, p.Dial = w.Lookup, w.World.Dial
	return p
}

func proxyAddr() string { return fmt.Sprintf("%s:%d", proxyHost, proxyPort) }

// fetch asks for a URL as the environment says, and prints the answer.
func fetch(url string) error {
	c := &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // the server is a test's
	}}
	res, err := c.Get(url)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	fmt.Printf("%s\n", b)
	return err
}

// TestHosts reaches what was named from inside either form, and nothing else.
func TestHosts(t *testing.T) {
	w := proxytest.New(t)
	eachForm(t, func(t *testing.T, shared *Runner) {
		r := *shared
		r.outlets = inWorld{w}
		ws := newWorkspace(t)
		ws.spec.Hosts = []string{"proxy.golang.example"}
		ask := func(want int, says string, argv ...string) {
			t.Helper()
			ws.spec.Argv = append([]string{attackerAt, attackerArg}, argv...)
			res := run(t, &r, ws.spec)
			if res.ExitCode != want || !strings.Contains(string(res.Output), says) {
				t.Errorf("%v: %d %s", argv, res.ExitCode, res.Output)
			}
		}
		const through, stopped = 1, 0
		ask(through, "hello from proxy.golang.example/mod", "fetch", "https://proxy.golang.example/mod")
		ask(stopped, "Forbidden", "fetch", "https://evil.example.org/")
		ask(stopped, "Forbidden", "fetch", "https://proxy.golang.example/away") // follows the redirect itself
		ask(through, "only https", "fetch", "http://proxy.golang.example/")     // an answer, the proxy's
		ask(stopped, "unreachable", "dial", "tcp", "93.184.216.34:443")
		ws.spec.Hosts = nil
		ask(stopped, "stopped", "fetch", "https://proxy.golang.example/mod")
		ask(stopped, "refused", "dial", "tcp", proxyAddr())
	})
}

// TestHostsEnds ends a connection that is open with its command.
func TestHostsEnds(t *testing.T) {
	w := proxytest.New(t)
	r := warm(t)
	r.outlets = inWorld{w}
	ws := newWorkspace(t)
	ws.spec.Hosts = []string{"proxy.golang.example"}
	for range 3 {
		ws.spec.Argv = []string{attackerAt, attackerArg, "hang on the proxy"}
		res, err := r.Run(testContext(), ws.spec)
		if err != nil || res.Cause != CauseExited {
			t.Fatalf("%v %s %s", err, res.Cause, res.Output)
		}
	}
	if n := len(r.waiting()); n != 1 {
		t.Errorf("%d wait", n)
	}
}

// TestCarrierCap opens more connections than there may be: the one beyond is
// closed at once and never reaches the host, and there is room again when one
// has ended.
func TestCarrierCap(t *testing.T) {
	ours, theirs, err := socketPair()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = theirs.Close() }()
	channel, err := unix.Dup(int(theirs.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	far, err := newSocket(channel)
	if err != nil {
		t.Fatal(err)
	}
	l, err := listenOn([4]byte{127, 0, 0, 1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	k := newCarrier(l, far)
	k.all.Go(k.accept)
	defer k.close()
	defer func() { _ = ours.Close() }()
	port, err := l.port()
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
		far, err := ours.receiveFile()
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
		c, err := ours.receiveFile()
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

// TestProxyTold ends a command whose TLS names another host than its tunnel with
// the reason in its output.
func TestProxyTold(t *testing.T) {
	w := proxytest.New(t)
	r := *full(t, Options{})
	r.outlets = inWorld{w}
	ws := newWorkspace(t, attackerAt, attackerArg, "front")
	ws.spec.Hosts = []string{"proxy.golang.example"}
	res := run(t, &r, ws.spec)
	wantStopped(t, res)
	if !strings.Contains(text(res), "sandbox: proxy: proxy.golang.example: TLS names the host \"evil.example.org\"") {
		t.Errorf("%s", res.Output)
	}
}

// front asks for one host, and for another in TLS.
func front() error {
	c, err := net.Dial("tcp", proxyAddr())
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_, _ = io.WriteString(c, "CONNECT proxy.golang.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")
	if _, err := io.ReadFull(c, make([]byte, len("HTTP/1.1 200 Connection established\r\n\r\n"))); err != nil {
		return err
	}
	return tls.Client(c, &tls.Config{ServerName: "evil.example.org", InsecureSkipVerify: true}).Handshake()
}
