package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
)

// world is the internet of a test: names, and one server behind every address.
type world struct {
	names  map[string][]string
	server string

	mu     sync.Mutex
	dialed []string
}

func (w *world) attach(p *proxy) {
	p.lookup = func(_ context.Context, host string) ([]netip.Addr, error) {
		var out []netip.Addr
		for _, a := range w.names[host] {
			out = append(out, netip.MustParseAddr(a))
		}
		if len(out) == 0 {
			return nil, errors.New("no such host")
		}
		return out, nil
	}
	p.dial = func(_ context.Context, to netip.AddrPort) (net.Conn, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.dialed = append(w.dialed, to.String())
		return net.Dial("tcp", w.server)
	}
}

// newWorld serves over TLS; /away redirects to another host.
func newWorld(t *testing.T) *world {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "https://evil.example.org/", http.StatusFound)
			return
		}
		fmt.Fprintf(w, "hello from %s%s", r.Host, r.URL.Path)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // who hangs up is no news
	s.StartTLS()
	t.Cleanup(s.Close)
	return &world{server: s.Listener.Addr().String(), names: map[string][]string{
		"proxy.golang.example": {"93.184.216.34"}, "evil.example.org": {"93.184.216.35"},
		"private.example": {"93.184.216.34", "10.0.0.1"}, "mapped.example": {"::ffff:127.0.0.1"}, "nat64.example": {"64:ff9b::7f00:1"},
		"metadata.example": {"169.254.169.254"}, "local.example": {"fd00::1"}, "shared.example": {"100.64.0.1"}, "zero.example": {"0.0.0.0"},
		"sixto4.example": {"2002:7f00:1::"}, "isatap.example": {"2606:4700::5efe:7f00:1"}, "translated.example": {"::ffff:0:7f00:1"},
		"xn--bcher-kva.example": {"93.184.216.34"},
	}}
}

// TestProxyRefuses tries each trick to reach what was not named, or what was
// named and is somewhere else than on the internet.
func TestProxyRefuses(t *testing.T) {
	w := newWorld(t)
	p := newProxy([]string{
		"proxy.golang.example", "private.example", "mapped.example", "nat64.example", "metadata.example", "local.example", "shared.example",
		"zero.example", "sixto4.example", "isatap.example", "translated.example", "xn--bcher-kva.example", "127.0.0.1", "2130706433", "0x7f.1", "gone.example",
	})
	w.attach(p)
	s := httptest.NewServer(p)
	defer s.Close()
	for line, want := range map[string]string{
		"CONNECT proxy.golang.example:443":                       "200",
		"CONNECT PROXY.Golang.example:443":                       "200",
		"CONNECT evil.example.org:443":                           "403",
		"CONNECT proxy.golang.example:80":                        "403",
		"CONNECT proxy.golang.example:22":                        "403",
		"CONNECT proxy.golang.example":                           "40",
		"CONNECT proxy.golang.example.:443":                      "403",
		"CONNECT proxy.golang.example.evil.example.org:443":      "403",
		"CONNECT evil.example.org#proxy.golang.example:443":      "40",
		"CONNECT evil.example.org/proxy.golang.example:443":      "40",
		"CONNECT proxy.golang.example@evil.example.org:443":      "40",
		"CONNECT proxy.golang.example%00.evil.example.org:443":   "40",
		"CONNECT proxy.golang.example\x00.evil.example.org:443":  "40",
		"CONNECT proxy%2egolang.example:443":                     "40",
		"CONNECT proxy.golang.example:443:443":                   "40",
		"CONNECT proxy.golang.example:0443":                      "403",
		"CONNECT \u24dfroxy.golang.example:443":                  "40",
		"CONNECT 127.0.0.1:443":                                  "403",
		"CONNECT 2130706433:443":                                 "403",
		"CONNECT 0x7f.1:443":                                     "403",
		"CONNECT [::1]:443":                                      "403",
		"CONNECT localhost:443":                                  "403",
		"CONNECT private.example:443":                            "502",
		"CONNECT mapped.example:443":                             "502",
		"CONNECT nat64.example:443":                              "502",
		"CONNECT metadata.example:443":                           "502",
		"CONNECT local.example:443":                              "502",
		"CONNECT shared.example:443":                             "502",
		"CONNECT zero.example:443":                               "502",
		"CONNECT sixto4.example:443":                             "502",
		"CONNECT isatap.example:443":                             "502",
		"CONNECT translated.example:443":                         "502",
		"CONNECT xn--bcher-kva.example:443":                      "200",
		"CONNECT b\u00fccher.example:443":                        "40",
		"CONNECT [::ffff:93.184.216.34]:443":                     "403",
		"CONNECT 0177.0.0.1:443":                                 "403",
		"CONNECT proxy.golang.example :443":                      "40",
		"CONNECT proxy_golang.example:443":                       "403",
		"CONNECT gone.example:443":                               "502",
		"GET http://proxy.golang.example/":                       "403",
		"GET https://evil.example.org/":                          "403",
		"GET https://proxy.golang.example:8443/":                 "403",
		"GET https://proxy.golang.example@evil.example.org/":     "403",
		"GET https://evil.example.org/?x=//proxy.golang.example": "403",
		"GET /":                       "403",
		"GET //proxy.golang.example/": "403",
	} {
		if got := status(t, s.Listener.Addr().String(), line); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
	for _, to := range w.dialed {
		if to != "93.184.216.34:443" {
			t.Errorf("dialed %s", to)
		}
	}
}

// status sends one request line and gives what the status line says.
func status(t *testing.T, to, line string) string {
	t.Helper()
	c, err := net.Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: proxy.golang.example:443\r\nConnection: close\r\n\r\n", line)
	answer, err := bufio.NewReader(c).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err.Error()
	}
	_, code, _ := strings.Cut(answer, " ")
	return code
}

func TestPublic(t *testing.T) {
	for addr, want := range map[string]bool{
		"93.184.216.34": true, "2606:4700::1111": true, "::ffff:93.184.216.34": true,
		"10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "127.0.0.1": false, "169.254.169.254": false, "0.1.2.3": false,
		"100.64.0.1": false, "198.18.0.1": false, "224.0.0.1": false, "255.255.255.255": false, "240.0.0.1": false, "192.0.2.1": false,
		"::": false, "::1": false, "::7f00:1": false, "::ffff:127.0.0.1": false, "fe80::1": false, "fe80::1%eth0": false, "fc00::1": false,
		"64:ff9b::a00:1": false, "2002:a00:1::": false, "2001::1": false, "ff02::1": false,
		"::ffff:0:a00:1": false, "2606:4700::5efe:a00:1": false, "2606:4700::200:5efe:a00:1": false, "2606:4700::5efe": true,
	} {
		if got := public(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: %v", addr, got)
		}
	}
}
