package proxy

import (
	"strings"
	"testing"

	"agency/internal/sandbox/proxy/proxytest"
)

// TestGet asks by the same rules as a command: hosts by name, the public internet alone, and
// after a redirect again.
func TestGet(t *testing.T) {
	w := proxytest.New(t)
	w.Names["example.com"] = []string{"93.184.216.34"}
	p := New([]string{"example.com", "private.example", "mapped.example", "metadata.example", "zero.example", "127.0.0.1"})
	attach(w, p)
	p.Roots = w.Roots
	page, err := p.Get(t.Context(), "https://Example.com/a?b=c", 100)
	if err != nil || page.Status != 200 || string(page.Body) != "hello from Example.com/a" && string(page.Body) != "hello from example.com/a" || page.Cut {
		t.Fatalf("%+v, %v", page, err)
	}
	if page, err = p.Get(t.Context(), "https://example.com/a", 5); err != nil || string(page.Body) != "hello" || !page.Cut {
		t.Errorf("%+v, %v", page, err)
	}
	dialed := len(w.Dialed())
	for address, want := range map[string]string{
		"https://evil.example.org/":         "none of the hosts",
		"https://127.0.0.1/":                "none of the hosts",
		"https://private.example/":          "not of the public internet",
		"https://mapped.example/":           "not of the public internet",
		"https://metadata.example/":         "not of the public internet",
		"https://zero.example/":             "not of the public internet",
		"https://example.com:8443/":         "only port 443",
		"http://example.com/":               "only https",
		"https://me:word@example.com/":      "only https, and without",
		"file:///etc/passwd":                "only https",
		"example.com":                       "only https",
		"https://example.com\x00/":          "is no address",
		"https://example.com.evil.example/": "none of the hosts",
	} {
		if page, err := p.Get(t.Context(), address, 100); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %s", address, page, err, want)
		}
	}
	if n := len(w.Dialed()); n != dialed {
		t.Errorf("what is refused was dialed: %v", w.Dialed()[dialed:])
	}
	if page, err := p.Get(t.Context(), "https://example.com/away", 100); err == nil || !strings.Contains(err.Error(), "none of the hosts") {
		t.Errorf("a redirect is followed elsewhere: %+v, %v", page, err)
	}
	p.Roots = nil
	if page, err := p.Get(t.Context(), "https://example.com/", 100); err == nil {
		t.Errorf("a server that nobody vouches for is believed: %+v", page)
	}
}
