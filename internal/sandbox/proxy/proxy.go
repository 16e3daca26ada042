// Package proxy is the one way out of a sandbox to the hosts that the user
// named. It is apart from package sandbox because it needs HTTP and TLS: a
// sandbox is this program started again, and what it does not need must not
// prepare itself there (package supervisor).
package proxy

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"agency/internal/text"
)

// Proxy runs on the host, takes a connection's target as a name that must be
// one of those that are allowed to the letter, resolves and dials it itself on
// port 443, and never an address that is not of the public internet. What a
// server answers is between it and the command, redirects too.
type Proxy struct {
	allowed []string
	// The world, replaced in tests.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	Dial   func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
	Roots  *x509.CertPool // of what Get asks; nil: the system's

	mu      sync.Mutex
	refused error // the first tunnel that was
}

const (
	proxyPort    = "443"
	proxyTimeout = 30 * time.Second // to resolve and connect
	// maxAnswerHead bounds what a server may answer before its content, where
	// the proxy speaks TLS itself.
	maxAnswerHead = 256 << 10
)

// New makes the proxy of one command that may reach these hosts.
func New(hosts []string) *Proxy {
	return &Proxy{
		allowed: hosts,
		Lookup: func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		},
		Dial: func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", to.String())
		},
	}
}

// ServeHTTP answers CONNECT host:443, and absolute requests for https URLs,
// for which the proxy speaks TLS itself.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	authority := r.RequestURI
	if r.Method != http.MethodConnect {
		if r.URL.Scheme != "https" {
			http.Error(w, "sandbox: only https, by CONNECT", http.StatusForbidden)
			return
		}
		authority = r.URL.Host
		if !strings.Contains(authority, ":") {
			authority += ":" + proxyPort
		}
	}
	host, err := p.admit(authority)
	if err != nil {
		http.Error(w, "sandbox: "+err.Error(), http.StatusForbidden)
		return
	}
	if r.Method == http.MethodConnect {
		p.connect(w, r, host)
		return
	}
	p.forward(w, r, host)
}

// admit gives the host of a target that is allowed.
func (p *Proxy) admit(authority string) (string, error) {
	host, port, ok := strings.Cut(authority, ":")
	if !ok || port != proxyPort {
		return "", fmt.Errorf("%q: only port %s of a host by its name", text.Head(authority, 100), proxyPort)
	}
	if !slices.ContainsFunc(p.allowed, func(a string) bool { return strings.EqualFold(a, host) && plainName(host) }) {
		return "", fmt.Errorf("%q is none of the hosts that sandbox.allow_hosts names", text.Head(host, 100))
	}
	return strings.ToLower(host), nil
}

// plainName says whether a name is letters, digits, hyphens and dots and has a
// letter at its end: no address in any of its spellings, no escape, no other
// alphabet.
func plainName(host string) bool {
	labels := strings.Split(host, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || strings.Trim(l, "-") != l || strings.ContainsFunc(l, func(c rune) bool {
			return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-'
		}) {
			return false
		}
	}
	last := labels[len(labels)-1]
	return len(host) <= 253 && strings.ContainsFunc(last, func(c rune) bool { return c >= 'A' }) &&
		!strings.HasPrefix(strings.ToLower(last), "0x")
}

// open resolves once and dials what it was told, so that a second answer of a
// name server cannot lead elsewhere.
func (p *Proxy) open(ctx context.Context, host string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, proxyTimeout)
	defer cancel()
	addrs, err := p.Lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, a := range addrs {
		if !public(a) {
			return nil, fmt.Errorf("%s is at %s, which is not of the public internet", host, a)
		}
	}
	err = errors.New("no address")
	for _, a := range addrs {
		var c net.Conn
		if c, err = p.Dial(ctx, netip.AddrPortFrom(a.Unmap(), 443)); err == nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", host, err)
}

// closed are ranges that netip does not know to be none of the public internet,
// those that stand for other addresses among them.
func closedRanges() []string {
	return []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4", "::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32",
		"2002::/16", "3fff::/20", "5f00::/16", "fec0::/10",
	}
}

func public(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsValid() || a.Zone() != "" || !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() {
		return false
	}
	for _, r := range closedRanges() {
		if netip.MustParsePrefix(r).Contains(a) {
			return false
		}
	}
	return !throughTunnel(a)
}

// throughTunnel says whether an address carries one of IPv4 in its lower half
// (ISATAP), whatever its network. A network's own prefix for translation to IPv4
// cannot be told from any other network.
func throughTunnel(a netip.Addr) bool {
	b := a.As16()
	return a.Is6() && b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

func (p *Proxy) connect(w http.ResponseWriter, r *http.Request, host string) {
	far, err := p.open(r.Context(), host)
	if err != nil {
		http.Error(w, "sandbox: "+err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = far.Close() }()
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "sandbox: "+err.Error(), http.StatusInternalServerError)
		return
	}
	defer func() { _ = near.Close() }()
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	refusal, err := introduce(r.Context(), near, buffered, far, host)
	if refusal != nil {
		p.refuse(refusal)
		_, _ = near.Write(accessDenied[:])
	}
	if refusal == nil && err == nil {
		join(near, buffered, far)
	}
}

// refuse keeps the first reason why a tunnel was refused after it was there:
// TLS has no words to tell its client.
func (p *Proxy) refuse(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refused == nil {
		p.refused = err
	}
}

// Refused is the first reason why a tunnel was refused after it was there, nil
// for none.
func (p *Proxy) Refused() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused
}

// join carries bytes both ways until either side ends. first is read in place
// of near: it may hold what near has sent already.
func join(near net.Conn, first io.Reader, far net.Conn) {
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(far, first)
		_ = far.Close()
	})
	_, _ = io.Copy(near, far)
	_ = near.Close()
	both.Wait()
}

// forward asks for an https URL in the command's place. It follows no redirect.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, host string) {
	t := &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return p.open(ctx, host) },
		DisableKeepAlives: true, MaxResponseHeaderBytes: maxAnswerHead, TLSHandshakeTimeout: helloTimeout,
	}
	out := r.Clone(r.Context())
	out.RequestURI, out.Host, out.URL.Host = "", host, host
	for _, name := range []string{"Connection", "Proxy-Connection", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade"} {
		out.Header.Del(name)
	}
	res, err := t.RoundTrip(out)
	if err != nil {
		http.Error(w, "sandbox: "+err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = res.Body.Close() }()
	for name, values := range res.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(res.StatusCode)
	_, _ = io.Copy(w, res.Body)
}
