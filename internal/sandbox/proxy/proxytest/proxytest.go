// Package proxytest is an internet for tests of the sandbox's proxy.
package proxytest

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync"
	"testing"
)

// World is names, and one server behind every address.
type World struct {
	Names  map[string][]string
	Server string
	Roots  *x509.CertPool // that vouch for it, as example.com

	mu     sync.Mutex
	dialed []string
}

// New serves over TLS; /away redirects to another host.
func New(t testing.TB) *World {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "https://evil.example.org/", http.StatusFound)
			return
		}
		_, _ = fmt.Fprintf(w, "hello from %s%s", r.Host, r.URL.Path) // who hangs up is no news
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return &World{Server: s.Listener.Addr().String(), Roots: roots, Names: map[string][]string{
		"proxy.golang.example": {"93.184.216.34"}, "evil.example.org": {"93.184.216.35"},
		"private.example": {"93.184.216.34", "10.0.0.1"}, "mapped.example": {"::ffff:127.0.0.1"}, "nat64.example": {"64:ff9b::7f00:1"},
		"metadata.example": {"169.254.169.254"}, "local.example": {"fd00::1"}, "shared.example": {"100.64.0.1"}, "zero.example": {"0.0.0.0"},
		"sixto4.example": {"2002:7f00:1::"}, "isatap.example": {"2606:4700::5efe:7f00:1"}, "translated.example": {"::ffff:0:7f00:1"},
		"xn--bcher-kva.example": {"93.184.216.34"},
	}}
}

// Lookup is the world's name server.
func (w *World) Lookup(_ context.Context, host string) ([]netip.Addr, error) {
	var out []netip.Addr
	for _, a := range w.Names[host] {
		out = append(out, netip.MustParseAddr(a))
	}
	if len(out) == 0 {
		return nil, errors.New("no such host")
	}
	return out, nil
}

// Dial reaches the one server, whatever the address.
func (w *World) Dial(_ context.Context, to netip.AddrPort) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dialed = append(w.dialed, to.String())
	return net.Dial("tcp", w.Server)
}

// Dialed are the addresses that were.
func (w *World) Dialed() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.dialed)
}
