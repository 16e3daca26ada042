package resources

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/config"
	"agency/internal/event"
	"agency/internal/store"
)

// What a run's searches ask is booked in its budget, in a part of their own; a refusal at the
// door is free, what a server may have counted is not, and beyond their part nothing is sent.
func TestEmbeddingsAreBooked(t *testing.T) {
	const run = agency.RunID("run-1")
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "t.db"), Sets: []store.Set{event.Migrations(), budget.Migrations()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Write(t.Context(), func(tx *store.Tx) error {
		return budget.Open(tx, run, budget.Root, "", budget.Limits{Money: agency.USD(1), Tokens: 1_000_000})
	}); err != nil {
		t.Fatal(err)
	}
	status, asked := 200, 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.WriteHeader(status)
		if status != 200 {
			_, _ = io.WriteString(w, `{"error":{"message":"no"}}`)
			return
		}
		_, _ = io.WriteString(w, `{"data":[{"index":0,"embedding":[1,2]}],"usage":{"prompt_tokens":40,"total_tokens":40}}`)
	}))
	t.Cleanup(srv.Close)
	ref := config.ModelRef{Provider: "p", Name: "m"}
	c := config.Config{Providers: map[string]config.Provider{"p": {Type: "openai", BaseURL: srv.URL, APIKey: config.NoKey}}}
	e := embedder{
		ref: ref, model: Embeddings(c, ref, ""), run: run, write: db.Write,
		prices: func(string, string) (agency.Price, bool) { return agency.Price{In: 10}, true },
	}
	spent := func(node string) budget.State {
		t.Helper()
		s, err := store.Get(t.Context(), db, func(q store.Querier, run agency.RunID) (budget.State, error) { return budget.Read(q, run, node) }, run)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	text := strings.Repeat("x", 900)
	for _, tc := range []struct {
		status int
		tokens int64 // in all, after it
	}{{200, 40}, {429, 40}, {500, 940}} {
		status = tc.status
		if out, err := e.Embed(t.Context(), []string{text}); (err == nil) != (status == 200) || err == nil && len(out) != 1 {
			t.Fatalf("%d: %v, %v", status, out, err)
		}
		if s, all := spent(budget.StageNode("search")), spent(budget.Root); s.Tokens != tc.tokens || all.Tokens != tc.tokens || s.Money == 0 || all.Reserved != 0 {
			t.Errorf("after %d: %+v, %+v", status, s, all)
		}
	}
	status, asked = 200, 0
	if _, err := e.Embed(t.Context(), []string{strings.Repeat("x", 100_000)}); agency.KindOf(err) != agency.KindExhausted || asked != 0 {
		t.Errorf("beyond a tenth of the run's tokens: %v, asked %d times", err, asked)
	}
}

// Only what is committed leaves, and nothing in which a secret stands.
func TestLeaving(t *testing.T) {
	secret := "hunter2-" + strings.Repeat("q7", 8)
	l := Leaving{committed: map[string]bool{"a.go": true, "conf.yaml": true}, redact: agency.NewRedactor(secret).Bytes}
	for _, tc := range []struct {
		path, text string
		may        bool
	}{
		{"a.go", "func A() {}", true},
		{"", "where is the parser", true},
		{"ignored.go", "func B() {}", false},
		{"a.go", "key = " + secret, false},
		{"conf.yaml", fmt.Sprintf("token: ghp_%s\n", strings.Repeat("a1B2c3", 6)), false},
		{"", secret, false},
	} {
		if got := l.May(tc.path, tc.text); got != tc.may {
			t.Errorf("%q %q: %v", tc.path, tc.text, got)
		}
	}
}
