package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Page is what a server answers.
type Page struct {
	URL    string // that answered, after redirects
	Status int
	Media  string // as the server names it, with parameters
	Body   []byte
	Cut    bool // there is more of it
}

const (
	getTimeout   = 45 * time.Second // of all of it
	maxRedirects = 5
)

// Get asks for an https address by the rules of the proxy, after each redirect too, with
// nothing of the user's: no cookie, no credentials. Most is how much of the body is read, in
// bytes.
func (p *Proxy) Get(ctx context.Context, address string, most int64) (Page, error) {
	ctx, cancel := context.WithTimeout(ctx, getTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return Page{}, fmt.Errorf("%q is no address", address)
	}
	r.Header.Set("Accept", "text/html, text/plain, application/json, text/*;q=0.9")
	r.Header.Set("User-Agent", "agency")
	client := http.Client{Transport: p.gate(), CheckRedirect: func(r *http.Request, via []*http.Request) error {
		r.Header.Del("Referer") // the address that led there is not for the next host
		if len(via) > maxRedirects {
			return fmt.Errorf("it redirects more than %d times", maxRedirects)
		}
		return nil
	}}
	defer client.CloseIdleConnections()
	res, err := client.Do(r)
	if err != nil {
		var plain *url.Error // it names the address, which whoever asked knows
		if errors.As(err, &plain) {
			err = plain.Err
		}
		return Page{}, err
	}
	defer func() { _ = res.Body.Close() }()
	out := Page{URL: res.Request.URL.String(), Status: res.StatusCode, Media: res.Header.Get("Content-Type")}
	out.Body, err = io.ReadAll(io.LimitReader(res.Body, most+1))
	if int64(len(out.Body)) > most {
		out.Body, out.Cut = out.Body[:most], true
	}
	return out, err
}

// gate lets a request out as the proxy would.
func (p *Proxy) gate() http.RoundTripper {
	return gate{p, &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			host, err := p.admit(address)
			if err != nil {
				return nil, err
			}
			return p.open(ctx, host)
		},
		TLSClientConfig:        &tls.Config{RootCAs: p.Roots, MinVersion: tls.VersionTLS12},
		MaxResponseHeaderBytes: maxAnswerHead, TLSHandshakeTimeout: helloTimeout, ResponseHeaderTimeout: proxyTimeout,
	}}
}

type gate struct {
	p    *Proxy
	next http.RoundTripper
}

func (g gate) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" || r.URL.User != nil {
		return nil, errors.New("only https, and without a name or a password")
	}
	authority := r.URL.Host
	if r.URL.Port() == "" {
		authority += ":" + proxyPort
	}
	if _, err := g.p.admit(authority); err != nil {
		return nil, err
	}
	return g.next.RoundTrip(r)
}
