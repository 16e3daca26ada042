package proxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"agency/internal/sandbox/proxy/proxytest"
)

// attach puts the proxy into a world.
func attach(w *proxytest.World, p *Proxy) { p.Lookup, p.Dial = w.Lookup, w.Dial }

// TestProxyRefuses tries each trick to reach what was not named, or what was
// named and is somewhere else than on the internet.
func TestProxyRefuses(t *testing.T) {
	w := proxytest.New(t)
	p := New([]string{
		"proxy.golang.example", "private.example", "mapped.example", "nat64.example", "metadata.example", "local.example", "shared.example",
		"zero.example", "sixto4.example", "isatap.example", "translated.example", "xn--bcher-kva.example", "127.0.0.1", "2130706433", "0x7f.1", "gone.example",
	})
	attach(w, p)
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
	for _, to := range w.Dialed() {
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
