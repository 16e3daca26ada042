package llm

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// HTTPOptions bound what a provider's server may do to us; the zero value is
// ready for use.
type HTTPOptions struct {
	FirstByte time.Duration // until the answer's header; default 10 min (local models read long prompts)
	Idle      time.Duration // between two bytes of the body; default 2 min
	Total     time.Duration // of the whole answer; default 30 min
	MaxBytes  int64         // of the body, unpacked; default 16 MiB
	// Proxy chooses a proxy for a request; nil is none, the environment is not
	// looked at.
	Proxy func(*http.Request) (*url.URL, error)
}

func (o HTTPOptions) withDefaults() HTTPOptions {
	o.FirstByte = cmp.Or(o.FirstByte, 10*time.Minute)
	o.Idle = cmp.Or(o.Idle, 2*time.Minute)
	o.Total = cmp.Or(o.Total, 30*time.Minute)
	o.MaxBytes = cmp.Or(o.MaxBytes, 16<<20)
	return o
}

// Endpoint is whom a client talks to, for the words of its faults.
type Endpoint struct {
	Provider string // configured name
	KeyEnv   string // environment variable that should hold the key, "" if unknown
	BaseURL  string // "" is the vendor's own
}

// errorBodyLimit is how much of an error page is read: enough for any JSON
// error and a title.
const errorBodyLimit = 64 << 10

// wireBuffer is the size of a connection's two buffers: there are as many
// connections as sessions that wait for an answer, an answer comes in small
// pieces, and a body that is larger than the buffer goes around it.
const wireBuffer = 2 << 10

// Options name the server of an adapter. BaseURL is what the vendor's own SDK
// takes; empty is the vendor's.
type Options struct {
	Name    string // the provider's configured name, for faults and reasoning blocks
	BaseURL string
	APIKey  string
	KeyEnv  string // environment variable named in the mending step of a refused key
	HTTP    HTTPOptions
}

// Client asks for an adapter; it is safe for concurrent use.
type Client struct {
	At   Endpoint
	HTTP *http.Client // made by NewHTTPClient
	// Base is the URL under which the paths of all requests are, as the vendors'
	// own clients take it: a slash at its end is optional, a query is dropped.
	Base   string
	Header http.Header // of every request
	bodies Bodies
	tools  Memo
}

// NewClient makes one for the server at a base; key is the header that holds the
// key, behind a prefix. It does no I/O and reads no environment.
func NewClient(opts Options, base, key, prefix string) *Client {
	at := Endpoint{Provider: opts.Name, KeyEnv: opts.KeyEnv, BaseURL: opts.BaseURL}
	c := &Client{At: at, HTTP: NewHTTPClient(at, opts.HTTP), Base: base, Header: http.Header{}}
	if opts.APIKey != "" {
		c.Header.Set(key, prefix+opts.APIKey)
	}
	return c
}

// Post sends a JSON body, written by encode as in Bodies.Set, to a path under
// the base, which may have a query.
func (c *Client) Post(ctx context.Context, path string, encode func(dst []byte) []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Base, nil)
	if err != nil {
		return nil, err
	}
	if r.URL.Path != "" && !strings.HasSuffix(r.URL.Path, "/") {
		r.URL.Path += "/"
	}
	if r.URL, err = r.URL.Parse(path); err != nil {
		return nil, err
	}
	maps.Copy(r.Header, c.Header)
	r.Header.Set("User-Agent", "agency")
	c.bodies.Set(r, encode)
	return c.HTTP.Do(r)
}

// Close drops idle connections; the client can be used again afterwards.
func (c *Client) Close() { c.HTTP.CloseIdleConnections() }

// NewHTTPClient makes the client that all adapters use. Every way in
// which the exchange can go wrong comes back as a *Fault: statuses from 300 up
// (redirects are not followed, they would carry the key elsewhere), silence
// before or within the body, too many bytes, a broken connection. The end of
// the caller's own context stays the context's error.
func NewHTTPClient(at Endpoint, opts HTTPOptions) *http.Client {
	opts = opts.withDefaults()
	base := &http.Transport{
		Proxy:                 opts.Proxy,
		DialContext:           (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   15 * time.Second,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          64,
		MaxIdleConnsPerHost:   32,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
		WriteBufferSize:       wireBuffer,
		ReadBufferSize:        wireBuffer,
	}
	return &http.Client{
		Transport:     &guard{at: at, opts: opts, next: base},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// guard is the RoundTripper around the real one.
type guard struct {
	at   Endpoint
	opts HTTPOptions
	next *http.Transport
}

// CloseIdleConnections lets http.Client.CloseIdleConnections reach the
// transport.
func (g *guard) CloseIdleConnections() { g.next.CloseIdleConnections() }

var (
	errFirstByte = errors.New("no header came")
	errIdle      = errors.New("the answer fell silent")
	errTotal     = errors.New("the answer took too long in all")
)

func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	total := time.AfterFunc(g.opts.Total, func() { cancel(errTotal) })
	first := time.AfterFunc(g.opts.FirstByte, func() { cancel(errFirstByte) })
	res, err := g.next.RoundTrip(req.WithContext(ctx))
	first.Stop()
	if err != nil {
		total.Stop()
		err = g.fault(req, ctx, err, false)
		cancel(nil)
		return nil, err
	}
	body := &guardedBody{
		g: g, req: req, ctx: ctx, rc: res.Body, left: g.opts.MaxBytes,
		idle:  time.AfterFunc(g.opts.Idle, func() { cancel(errIdle) }),
		close: func() { total.Stop(); cancel(nil) },
	}
	res.Body = body
	if res.StatusCode < 300 {
		return res, nil
	}
	page, _ := io.ReadAll(io.LimitReader(body, errorBodyLimit))
	_ = body.Close()
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	return nil, FromStatus(g.at, res.StatusCode, res.Header, page)
}

// fault names what a failed exchange was. begun says that a part of the body
// had come.
func (g *guard) fault(req *http.Request, ctx context.Context, err error, begun bool) error {
	if e := req.Context().Err(); e != nil {
		return e
	}
	switch cause := context.Cause(ctx); cause {
	case errFirstByte:
		return g.timeout(cause, g.opts.FirstByte)
	case errIdle:
		return g.timeout(cause, g.opts.Idle)
	case errTotal:
		return g.timeout(cause, g.opts.Total)
	}
	f := FromError(g.at, err)
	if begun && f.Kind == Network {
		f.Kind = StreamCut
	}
	return f
}

func (g *guard) timeout(cause error, after time.Duration) *Fault {
	return &Fault{Kind: Timeout, Provider: g.at.Provider, Detail: fmt.Sprintf("%v within %v", cause, after), cause: cause}
}

// guardedBody counts bytes and silence.
type guardedBody struct {
	g     *guard
	req   *http.Request
	ctx   context.Context //nolint:containedctx // the life of one response
	rc    io.ReadCloser
	left  int64
	begun bool
	idle  *time.Timer
	close func()
	once  sync.Once
}

func (b *guardedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, &Fault{
			Kind: BadAnswer, Provider: b.g.at.Provider,
			Detail: fmt.Sprintf("larger than %d bytes", b.g.opts.MaxBytes),
		}
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.rc.Read(p)
	b.left -= int64(n)
	if n > 0 {
		b.begun = true
		b.idle.Reset(b.g.opts.Idle)
	}
	if err != nil && err != io.EOF {
		err = b.g.fault(b.req, b.ctx, err, b.begun)
	}
	return n, err
}

func (b *guardedBody) Close() error {
	err := b.rc.Close()
	b.once.Do(func() {
		b.idle.Stop()
		b.close()
	})
	return err
}

// LooksLikeHTML recognises the page that a proxy or a wrong address answers.
func LooksLikeHTML(head []byte) bool {
	head = bytes.ToLower(bytes.TrimSpace(head[:min(len(head), 256)]))
	return bytes.HasPrefix(head, []byte("<!doctype html")) || bytes.HasPrefix(head, []byte("<html")) ||
		bytes.HasPrefix(head, []byte("<head")) || bytes.HasPrefix(head, []byte("<body"))
}

// isTLS says that the connection failed because the two ends do not agree on
// who they are: trying for minutes does not mend that.
func isTLS(err error) bool {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
		verify    *tls.CertificateVerificationError
	)
	return errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid) ||
		errors.As(err, &record) || errors.As(err, &verify)
}

// safeURL leaves out a password.
func safeURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "its base_url"
	}
	return u.Redacted()
}
