package notify

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
)

func TestMain(m *testing.M) {
	Child()
	os.Exit(m.Run())
}

const canary = "canary-Zq81hhd72k"

// signedElsewhere is what another program makes of the same.
const signedElsewhere = "5d14063c7a09ecf05a15c3d503cf4eb671f62dfa0898e85c275be3c93132b34f"

var told = Message{Key: "run-1.7.0", Event: "gate", Title: "calc: a merge gate waits", Lines: []string{"goal: <!channel> & more", "agency approve run-1"}, Runs: []agency.RunID{"run-1"}}

// server answers all with one status and keeps what it was sent last.
func server(t *testing.T, code int, h http.Header) (url string, got func() (*http.Request, string)) {
	t.Helper()
	var last *http.Request
	var body string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		last, body = r, string(b)
		for k, v := range h {
			w.Header()[k] = v
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, strings.Repeat("x", 10*maxAnswer)) // more than is read
	}))
	t.Cleanup(s.Close)
	return s.URL + "/" + canary, func() (*http.Request, string) { return last, body }
}

func TestWebhookIsSignedAndNamesItsKey(t *testing.T) {
	url, got := server(t, 200, nil)
	at := time.Unix(1_800_000_000, 0)
	s := Sender{Now: func() time.Time { return at }}
	if err := s.Send(t.Context(), Channel{Type: Webhook, URL: url, Secret: "s3"}, told); err != nil {
		t.Fatal(err)
	}
	r, body := got()
	if r.Header.Get("Idempotency-Key") != "run-1.7.0" || r.Header.Get("X-Agency-Timestamp") != "1800000000" {
		t.Errorf("headers %v", r.Header)
	}
	if want := Sign("s3", "1800000000", []byte(body)); r.Header.Get("X-Agency-Signature") != want {
		t.Errorf("signature %q, want %q", r.Header.Get("X-Agency-Signature"), want)
	}
	// The signature as anybody computes it: echo -n '1800000000{}' | openssl dgst -sha256 -hmac s3
	if got := Sign("s3", "1800000000", []byte("{}")); got != "sha256="+signedElsewhere {
		t.Errorf("%s", got)
	}
	var m Message
	if err := json.Unmarshal([]byte(body), &m); err != nil || m.Title != told.Title || len(m.Lines) != 2 {
		t.Errorf("%v %s", err, body)
	}
}

func TestSlackGetsPlainText(t *testing.T) {
	url, got := server(t, 200, nil)
	if err := (Sender{}).Send(t.Context(), Channel{Type: Slack, URL: url}, told); err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if _, body := got(); json.Unmarshal([]byte(body), &m) != nil || m["mrkdwn"] != false || !strings.Contains(m["text"].(string), "&lt;!channel&gt; &amp; more") {
		t.Errorf("%v", m)
	}
}

// What a server answers decides whether the same is tried again, and no error holds a
// piece of the address.
func TestErrorsSayWhyAndNotWhere(t *testing.T) {
	elsewhere, hit := server(t, 200, nil)
	moved, _ := server(t, 307, http.Header{"Location": {elsewhere}})
	cannot, _ := server(t, 503, nil)
	gone, _ := server(t, 404, nil)
	tls := httptest.NewTLSServer(http.NotFoundHandler())
	defer tls.Close()
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1") // what the library sends far goes nowhere
	for name, tt := range map[string]struct {
		c    Channel
		kind agency.Kind
		want string
	}{
		"redirect":        {Channel{Type: Webhook, URL: moved}, agency.KindInvalid, "redirects"},
		"later":           {Channel{Type: Webhook, URL: cannot}, agency.KindTransient, "status 503"},
		"gone":            {Channel{Type: Slack, URL: gone}, agency.KindInvalid, "status 404"},
		"closed":          {Channel{Type: Webhook, URL: "http://127.0.0.1:1/" + canary}, agency.KindTransient, "refused"},
		"certificate":     {Channel{Type: Webhook, URL: tls.URL + "/" + canary}, agency.KindInvalid, "not trusted"},
		"plain":           {Channel{Type: Webhook, URL: "http://192.0.2.1/" + canary}, agency.KindInvalid, "http:// to another machine"},
		"address":         {Channel{Type: Slack, URL: "://" + canary}, agency.KindInvalid, "no address"},
		"mail":            {Channel{Type: Email, URL: "smtp://u:" + canary + "@127.0.0.1:1", To: []string{"a@b"}}, agency.KindTransient, "refused"},
		"no service":      {Channel{Type: Shoutrrr, URL: "none://" + canary}, agency.KindInvalid, "no such service"},
		"library":         {Channel{Type: Shoutrrr, URL: strings.Replace(cannot, "http://", "generic://", 1) + "?disabletls=yes"}, agency.KindTransient, "status 503"},
		"library far":     {Channel{Type: Shoutrrr, URL: strings.Replace(moved, "http://", "generic://", 1) + "?disabletls=yes"}, agency.KindInvalid, "redirects"},
		"library own far": {Channel{Type: Shoutrrr, URL: strings.Replace(moved, "http://", "ntfy://", 1) + "?scheme=http"}, agency.KindInvalid, "redirects"},
		"library closed":  {Channel{Type: Shoutrrr, URL: "ntfy://127.0.0.1:1/" + canary + "?scheme=http"}, agency.KindTransient, "connection was refused"},
		"library plain":   {Channel{Type: Shoutrrr, URL: "ntfy://192.0.2.1/" + canary + "?scheme=http"}, agency.KindInvalid, "without encryption"},
		"library quiet":   {Channel{Type: Shoutrrr, URL: "telegram://110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDs" + canary[:3] + "@telegram?chats=@c"}, agency.KindTransient, "connection was refused"},
		"library tls":     {Channel{Type: Shoutrrr, URL: "generic://192.0.2.1/" + canary + "?disabletls=yes"}, agency.KindInvalid, "check of certificates"},
	} {
		err := (Sender{}).Send(t.Context(), tt.c, told)
		if err == nil || agency.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v (%v)", name, err, agency.KindOf(err))
			continue
		}
		if text := err.Error() + agency.MendOf(err); strings.Contains(text, canary) || strings.Contains(text, "127.0.0.1") {
			t.Errorf("%s shows the address: %s", name, text)
		}
	}
	if r, _ := hit(); r != nil {
		t.Error("a redirect to another host was followed")
	}
}

func TestShoutrrrSends(t *testing.T) {
	url, got := server(t, 200, nil)
	c := Channel{Type: Shoutrrr, URL: strings.Replace(url, "http://", "generic://", 1) + "?disabletls=yes&template=json"}
	if err := (Sender{}).Send(t.Context(), c, told); err != nil {
		t.Fatal(err)
	}
	if _, body := got(); !strings.Contains(body, "agency approve run-1") {
		t.Errorf("sent %q", body)
	}
}

// Whether a service of the library can be reached is seen without sending anything.
func TestShoutrrrIsLookedFor(t *testing.T) {
	url, got := server(t, 200, nil)
	here := strings.TrimPrefix(url, "http://")
	for _, c := range []string{"ntfy://" + here + "?scheme=http", "generic://" + here + "?disabletls=yes"} {
		if err := (Sender{}).Reach(t.Context(), Channel{Type: Shoutrrr, URL: c}); err != nil {
			t.Errorf("%s: %v", c, err)
		}
	}
	if r, _ := got(); r != nil {
		t.Error("something was sent")
	}
	for _, c := range []string{"ntfy://127.0.0.1:1/a?scheme=http", "generic://127.0.0.1:1/?disabletls=yes", "gotify://127.0.0.1:1/AzyoeNS.D4iJLVa?disabletls=yes", "mattermost://127.0.0.1:1/token?disabletls=yes"} {
		err := (Sender{}).Reach(t.Context(), Channel{Type: Shoutrrr, URL: c})
		if err == nil || !strings.Contains(err.Error(), "connection was refused") {
			t.Errorf("%s: %v", c, err)
		}
	}
}

// A server that takes the connection and then says nothing holds nobody up for longer than
// the caller waits.
func TestSilentServers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for _, c := range []Channel{
		{Type: Webhook, URL: "http://" + l.Addr().String()},
		{Type: Email, URL: "smtp://" + l.Addr().String(), To: []string{"a@b"}},
		{Type: Shoutrrr, URL: "generic://" + l.Addr().String() + "?disabletls=yes"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		if err := (Sender{}).Send(ctx, c, told); err == nil || agency.KindOf(err) != agency.KindTransient {
			t.Errorf("%s: %v", c.Type, err)
		}
		cancel()
		if err := (Sender{}).Reach(t.Context(), c); err != nil { // it can be connected to
			t.Errorf("%s: %v", c.Type, err)
		}
	}
}

// takeMail takes one mail, with the answers of a real one, and gives what it was told.
func takeMail(t *testing.T, reply string) (addr string, heard <-chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	out := make(chan string, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		var all strings.Builder
		in, data := bufio.NewScanner(conn), false
		_, _ = fmt.Fprint(conn, "220 mail.test ESMTP\r\n")
		for in.Scan() {
			line := in.Text()
			all.WriteString(line + "\n")
			switch word, _, _ := strings.Cut(line, " "); {
			case data && line == ".":
				data = false
				_, _ = fmt.Fprint(conn, reply+"\r\n")
			case data:
			case word == "EHLO":
				_, _ = fmt.Fprint(conn, "250-mail.test\r\n250 AUTH PLAIN\r\n")
			case word == "AUTH":
				_, _ = fmt.Fprint(conn, "235 ok\r\n")
			case word == "DATA":
				data = true
				_, _ = fmt.Fprint(conn, "354 go on\r\n")
			case word == "QUIT":
				_, _ = fmt.Fprint(conn, "221 bye\r\n")
				out <- all.String()
				return
			default:
				_, _ = fmt.Fprint(conn, "250 ok\r\n")
			}
		}
		out <- all.String()
	}()
	return l.Addr().String(), out
}

func TestMail(t *testing.T) {
	addr, heard := takeMail(t, "250 taken")
	m := told
	m.Title = "calc: gäte\r\nBcc: all@example.org"
	c := Channel{Type: Email, URL: "smtp://me%40example.org:" + canary + "@" + addr, To: []string{"a@example.org", "b@example.org"}}
	if err := (Sender{}).Send(t.Context(), c, m); err != nil {
		t.Fatal(err)
	}
	got := <-heard
	for _, want := range []string{
		"MAIL FROM:<me@example.org>", "RCPT TO:<a@example.org>", "RCPT TO:<b@example.org>", "Message-ID: <run-1.7.0@example.org>", "Auto-Submitted: auto-generated", "agency approve run-1",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "\nBcc:") {
		t.Errorf("a title became a header:\n%s", got)
	}
	addr, _ = takeMail(t, "550 no "+canary)
	err := (Sender{}).Send(t.Context(), Channel{Type: Email, URL: "smtp://" + addr, To: []string{"a@example.org"}}, m)
	if err == nil || agency.KindOf(err) != agency.KindInvalid || strings.Contains(err.Error(), canary) {
		t.Errorf("%v", err)
	}
}

// The program gets the texts as arguments and no shell sees them.
func TestDesktop(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no such program")
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if err := (Sender{}).Reach(t.Context(), Channel{Type: Desktop}); agency.KindOf(err) != agency.KindInvalid || err == nil {
		t.Errorf("no program: %v", err)
	}
	name := "notify-send"
	if runtime.GOOS == "darwin" {
		name = "osascript"
	}
	script := "#!/bin/sh\nprintf '%s|' \"$@\" > " + filepath.Join(dir, "out") + "\n"
	if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	m := told
	m.Title = "$(touch " + filepath.Join(dir, "owned") + ")"
	if err := (Sender{}).Send(t.Context(), Channel{Type: Desktop}, m); err != nil {
		t.Fatal(err)
	}
	out, err := os.ReadFile(filepath.Join(dir, "out"))
	if err != nil || !strings.Contains(string(out), m.Title+"|goal: ") {
		t.Errorf("%v %q", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "owned")); err == nil {
		t.Error("a shell ran the title")
	}
}
