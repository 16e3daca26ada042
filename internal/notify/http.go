package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"agency/internal/agency"
)

// The headers of a webhook's message.
const (
	HeaderKey       = "Idempotency-Key"
	HeaderTimestamp = "X-Agency-Timestamp"
	HeaderSignature = "X-Agency-Signature"
)

// Sign is the signature of a body sent at a time, in seconds since 1970 as the header says
// it: HMAC-SHA256 with the channel's secret over the time's digits and then the body. A
// receiver that compares the time with its own clock takes no old message once more.
func Sign(secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = io.WriteString(mac, timestamp) // a hash takes every write
	_, _ = mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// webhook posts a message as JSON of our own.
func (s Sender) webhook(ctx context.Context, c Channel, m Message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	stamp := strconv.FormatInt(s.now().Unix(), 10)
	h := http.Header{HeaderKey: {m.Key}, HeaderTimestamp: {stamp}}
	if c.Secret != "" {
		h.Set(HeaderSignature, Sign(c.Secret, stamp, body))
	}
	return post(ctx, c, h, body)
}

// slack posts a message to an incoming webhook of Slack, or of what speaks like it. What
// agents wrote is text there, too: nothing of it is a link, a mention or markup.
func slack(ctx context.Context, c Channel, m Message) error {
	plain := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	body, err := json.Marshal(struct {
		Text   string `json:"text"`
		Markup bool   `json:"mrkdwn"`
		Parse  string `json:"parse"`
		Links  bool   `json:"unfurl_links"`
		Media  bool   `json:"unfurl_media"`
	}{Text: plain.Replace(m.Text()), Parse: "none"})
	if err != nil {
		return err
	}
	return post(ctx, c, http.Header{HeaderKey: {m.Key}}, body)
}

// Text is a message for those who have one field for it.
func (m Message) Text() string { return m.Title + "\n" + strings.Join(m.Lines, "\n") }

// post sends JSON to the channel's url and to no other: a redirect is not followed, since
// the one who answers could send keys and work elsewhere by it.
func post(ctx context.Context, c Channel, h http.Header, body []byte) error {
	if len(body) > maxBody {
		return agency.Errorf(agency.KindInternal, "the message has %d bytes, more than %d", len(body), maxBody)
	}
	u, err := address(c)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return refused("its url is no address").WithMend("agency config validate")
	}
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "agency")
	r.Header = h
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, DisableKeepAlives: true, MaxResponseHeaderBytes: maxAnswer}
	client := http.Client{Transport: t, Timeout: Timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	if err != nil {
		return reason(err)
	}
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer) // what it says is nobody's business, and may be endless
	_ = res.Body.Close()
	return status(res.StatusCode)
}

// address is the url of a channel over HTTP, where it may be used.
func address(c Channel) (*url.URL, error) {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, refused("its url is no address").WithMend("write one that begins with https://")
	case u.Scheme == "http" && !c.Insecure && !loopback(u.Hostname()):
		return nil, refused("its url is http:// to another machine").WithMend("write https://, or insecure: true")
	}
	return u, nil
}

// loopback tells whether a host is this machine, by its words alone.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// reachHTTP connects, over TLS where the messages will.
func reachHTTP(ctx context.Context, c Channel) error {
	u, err := address(c)
	if err != nil {
		return err
	}
	return reason(reachURL(ctx, u))
}

// reachURL connects to where requests to an address go.
func reachURL(ctx context.Context, u *url.URL) error {
	if p, err := http.ProxyFromEnvironment(&http.Request{URL: u}); err == nil && p != nil {
		u = p // it alone can be reached from here
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return connect(ctx, net.JoinHostPort(u.Hostname(), port), u.Hostname(), u.Scheme == "https")
}

func connect(ctx context.Context, addr, host string, secure bool) error {
	var d interface {
		DialContext(context.Context, string, string) (net.Conn, error)
	} = &net.Dialer{}
	if secure {
		d = &tls.Dialer{Config: &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}}
	}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	return conn.Close()
}
