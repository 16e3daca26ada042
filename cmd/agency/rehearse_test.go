package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"agency/internal/ui/tui"
)

// A page of a browser cannot use the player, by whatever name it was led there:
// it needs a foreign host, an origin or a form. Clients can, by each name of
// loopback.
func TestRehearseRefusesPages(t *testing.T) {
	pr, pw := io.Pipe()
	a := &app{repository: repository{terminal: terminal{out: tui.NewScreen(pw, tui.Style{}), err: tui.NewScreen(io.Discard, tui.Style{})}}}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- a.rehearse(ctx, "", "127.0.0.1:0")
		_ = pw.Close()
	}()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	addr := ""
	said := bufio.NewScanner(pr)
	for addr == "" && said.Scan() {
		if m := regexp.MustCompile(`http://(127\.0\.0\.1:[0-9]+)`).FindStringSubmatch(said.Text()); m != nil {
			addr = m[1]
		}
	}
	go func() { _, _ = io.Copy(io.Discard, pr) }()
	_, port, _ := strings.Cut(addr, ":")
	for _, tt := range []struct {
		name, method, host string
		header             map[string]string
		status             int
	}{
		{"a client", "POST", addr, nil, 200},
		{"by name", "POST", "localhost:" + port, nil, 200},
		{"with a charset", "POST", addr, map[string]string{"Content-Type": "application/json; charset=utf-8"}, 200},
		{"models", "GET", addr, map[string]string{"Content-Type": ""}, 200},
		{"rebinding", "POST", "evil.example:" + port, nil, 403},
		{"rebinding looks", "GET", "evil.example:" + port, nil, 403},
		{"no port", "POST", "127.0.0.1", nil, 403},
		{"another port", "POST", "localhost:1", nil, 403},
		{"nearly", "POST", "localhost.evil.example:" + port, nil, 403},
		{"page", "POST", addr, map[string]string{"Origin": "https://evil.example"}, 403},
		{"page here", "POST", addr, map[string]string{"Origin": "http://" + addr}, 403},
		{"page without an origin", "GET", addr, map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{"form", "POST", addr, map[string]string{"Content-Type": "text/plain"}, 400},
		{"nothing said", "POST", addr, map[string]string{"Content-Type": ""}, 400},
		{"preflight", "OPTIONS", addr, map[string]string{"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}, 403},
	} {
		path, body := "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hello"}]}`
		if tt.method == "GET" {
			path, body = "/v1/models", ""
		}
		r, err := http.NewRequestWithContext(t.Context(), tt.method, "http://"+addr+path, bytes.NewBufferString(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = tt.host
		r.Header.Set("Content-Type", "application/json")
		for k, v := range tt.header {
			r.Header.Set(k, v)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != tt.status {
			t.Errorf("%s: %d %s", tt.name, resp.StatusCode, b)
		}
		if resp.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: a page is let in", tt.name)
		}
	}
}
