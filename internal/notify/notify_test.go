package notify

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
)

var told = Message{Key: "run-1.7.0", Event: "gate", Title: "shop: a merge gate waits", Lines: []string{"goal: <b>&", "agency approve run-1"}}

// What a webhook gets is signed with the time of sending, and is told by the same key again.
func TestWebhookIsSigned(t *testing.T) {
	var h http.Header
	var body string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		h, body = r.Header, string(b)
	}))
	defer s.Close()
	at := time.Unix(1_700_000_000, 0)
	err := Sender{Now: func() time.Time { return at }}.Send(t.Context(), Channel{Type: Webhook, URL: s.URL + "/hook", Secret: "shared"}, told)
	if err != nil {
		t.Fatal(err)
	}
	if h.Get(HeaderKey) != told.Key || h.Get(HeaderTimestamp) != "1700000000" || h.Get(HeaderSignature) != Sign("shared", "1700000000", []byte(body)) {
		t.Errorf("headers %v", h)
	}
	if Sign("other", "1700000000", []byte(body)) == h.Get(HeaderSignature) || Sign("shared", "1700000001", []byte(body)) == h.Get(HeaderSignature) {
		t.Error("the signature does not depend on the secret and the time")
	}
}

// Nothing of an address, which holds keys, stands in an error, and no redirect is followed.
func TestErrorsHideAddresses(t *testing.T) {
	const canary = "canary-token"
	elsewhere := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved/" + canary:
			http.Redirect(w, r, other.URL+"/"+canary, http.StatusTemporaryRedirect)
		case "/busy/" + canary:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	gone := httptest.NewServer(nil)
	gone.Close()
	defer s.Close()
	for name, tt := range map[string]struct {
		c    Channel
		kind agency.Kind
	}{
		"a redirect":             {Channel{Type: Webhook, URL: s.URL + "/moved/" + canary}, agency.KindInvalid},
		"busy":                   {Channel{Type: Slack, URL: s.URL + "/busy/" + canary}, agency.KindTransient},
		"not there":              {Channel{Type: Webhook, URL: s.URL + "/none/" + canary}, agency.KindInvalid},
		"nobody listens":         {Channel{Type: Webhook, URL: gone.URL + "/" + canary}, agency.KindTransient},
		"plain to another host":  {Channel{Type: Webhook, URL: "http://hooks.example.com/" + canary}, agency.KindInvalid},
		"no address":             {Channel{Type: Webhook, URL: "://" + canary}, agency.KindInvalid},
		"no such service":        {Channel{Type: "pigeon", URL: canary}, agency.KindInvalid},
		"mail without recipient": {Channel{Type: Email, URL: "smtp://user:" + canary + "@127.0.0.1:1"}, agency.KindInvalid},
	} {
		err := Sender{}.Send(t.Context(), tt.c, told)
		if err == nil || agency.KindOf(err) != tt.kind || strings.Contains(err.Error()+agency.MendOf(err), canary) {
			t.Errorf("%s: kind %v, %v", name, agency.KindOf(err), err)
		}
		if u, bad := url.Parse(tt.c.URL); bad == nil && u.Host != "" && err != nil && strings.Contains(err.Error(), u.Host) {
			t.Errorf("%s: the error names the host: %v", name, err)
		}
	}
	if elsewhere > 0 {
		t.Error("a redirect was followed")
	}
}
