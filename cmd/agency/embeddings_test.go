//go:build unix

package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// meanings are the directions of the vectors that serveEmbeddings gives: words of one row mean
// the same.
var meanings = [][]string{{"money back", "reimburse"}, {"welcome", "greet"}, {"weather", "rain"}}

// vectors FILE serves vectors at $VECTORS, by what texts mean; what it is sent stands in the
// file. While there is a file $WORK/down, it answers that it cannot.
func serveEmbeddings(ts *testscript.TestScript, _ bool, args []string) {
	log, down := ts.MkAbs(args[0]), filepath.Join(ts.Getenv("WORK"), "down")
	var mu sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Input []string `json:"input"`
		}
		if _, err := os.Stat(down); err == nil || r.URL.Path != "/v1/embeddings" || json.NewDecoder(r.Body).Decode(&in) != nil {
			http.Error(w, `{"error": {"message": "no vectors today"}}`, http.StatusServiceUnavailable)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		defer func() { _ = f.Close() }()
		var out struct {
			Data  []vector       `json:"data"`
			Usage map[string]int `json:"usage"`
		}
		for i, text := range in.Input {
			_, _ = f.WriteString(text + "\n")
			out.Data = append(out.Data, vector{i, meaningOf(text)})
		}
		out.Usage = map[string]int{"prompt_tokens": 1000 * len(in.Input)}
		_ = json.NewEncoder(w).Encode(out)
	}))
	ts.Defer(s.Close)
	ts.Setenv("VECTORS", s.URL+"/v1")
}

type vector struct {
	Index     int       `json:"index"`
	Embedding []float32 `json:"embedding"`
}

func meaningOf(text string) []float32 {
	out := make([]float32, len(meanings)+1)
	out[len(meanings)] = 0.01
	for i, words := range meanings {
		for _, w := range words {
			if strings.Contains(strings.ToLower(text), w) {
				out[i] = 1
			}
		}
	}
	return out
}
