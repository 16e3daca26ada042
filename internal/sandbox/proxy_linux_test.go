package sandbox

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"agency/internal/sandbox/proxy"
	"agency/internal/sandbox/proxy/proxytest"
	"agency/internal/supervisor"
)

// inWorld leads into the internet of a test.
type inWorld struct{ *proxytest.World }

func (w inWorld) Open(hosts []string) Outlet {
	p := proxy.New(hosts)
	p.Lookup, p.Dial = w.Lookup, w.World.Dial
	return p
}

func proxyAddr() string { return fmt.Sprintf("%s:%d", proxyHost, supervisor.ProxyPort) }

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
	if !strings.Contains(printed(res), "sandbox: proxy: proxy.golang.example: TLS names the host \"evil.example.org\"") {
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
