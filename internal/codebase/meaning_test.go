package codebase

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"agency/internal/llm/openai"
)

// places is a server of embeddings: a text is where its words are of one of these meanings.
type places struct {
	mu    sync.Mutex
	texts []string
	fails int // status; 0: none
}

var meanings = [][]string{{"car", "automobile"}, {"river", "stream"}, {"bread", "loaf"}}

func (p *places) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Input []string `json:"input"`
		Model string   `json:"model"`
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || r.URL.Path != "/v1/embeddings" || p.fails > 0 {
		http.Error(w, `{"error":{"message":"out of order"}}`, max(p.fails, 400))
		return
	}
	p.texts = append(p.texts, req.Input...)
	var data []string
	for i, text := range req.Input {
		v := make([]float32, len(meanings)+1)
		v[len(meanings)] = 0.1
		for k, words := range meanings {
			for _, word := range words {
				v[k] += float32(strings.Count(strings.ToLower(text), word))
			}
		}
		b, _ := json.Marshal(v)
		data = append(data, fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":%s}`, i, b))
	}
	_, _ = fmt.Fprintf(w, `{"object":"list","model":%q,"data":[%s],"usage":{"prompt_tokens":%d,"total_tokens":%d}}`, req.Model, strings.Join(data, ","), len(data), len(data))
}

func (p *places) sent() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.texts, "\n")
}

// embedder asks a server by the adapter that runs have.
type embedder struct {
	m     *openai.Embedder
	model string
	keeps string // what holds it may not leave
}

func (e embedder) Model() string              { return e.model }
func (e embedder) May(path, text string) bool { return !strings.Contains(path+text, e.keeps) }
func (e embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out, _, err := e.m.Embed(ctx, texts)
	return out, err
}

func serve(t *testing.T, p *places) embedder {
	t.Helper()
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	m := openai.NewEmbedder(openai.Options{Name: "p", BaseURL: s.URL + "/v1", APIKey: "k"}, "m")
	t.Cleanup(m.Close)
	return embedder{m: m, model: "p/m", keeps: "hush"}
}

var garage = fstest.MapFS{
	"a.go": {Data: []byte("package a\n\n// Park leaves an automobile.\nfunc Park() {}\n\n// Row goes down a stream.\nfunc Row() {}\n")},
	"b.go": {Data: []byte("package a\n\n// Bake makes a loaf.\nfunc Bake() {}\n\n// Hide says hush of a loaf.\nfunc Hide() {}\n")},
}

// What has none of the question's words is found by its meaning, once it has a vector; and
// what may not leave the machine does not.
func TestByMeaning(t *testing.T) {
	p := &places{}
	e := indexed(t)
	tr := e.Of(garage).With(serve(t, p))
	out, err := tr.Search(t.Context(), "where is the car", 1)
	if err != nil || len(out.Passages) != 0 || out.Note == "" {
		t.Fatalf("before there are vectors: %+v, %v", out, err)
	}
	e.Wait()
	for question, want := range map[string]string{"where is the car": "Park", "river": "Row", "bread": "Bake"} {
		if out, err = tr.Search(t.Context(), question, 1); err != nil || len(out.Passages) != 1 || out.Passages[0].Symbol != want {
			t.Errorf("%s: %+v, %v", question, out, err)
		}
		e.Wait()
	}
	if all := p.sent(); strings.Contains(all, "hush") || !strings.Contains(all, "b.go\n// Bake makes") {
		t.Errorf("sent: %s", all)
	}
	if out, err = tr.Search(t.Context(), "hush", 5); err != nil || len(out.Passages) != 1 || !strings.Contains(out.Note, "not sent") {
		t.Errorf("a question that may not leave: %+v, %v", out, err)
	}
}

// An edit has vectors made of what it changed, and of nothing else; another model of all.
func TestVectorsFollowEdits(t *testing.T) {
	p := &places{}
	e := indexed(t)
	files := fstest.MapFS{"a.go": garage["a.go"], "b.go": garage["b.go"]}
	m := serve(t, p)
	ask := func() int {
		t.Helper()
		before := len(p.texts)
		if _, err := e.Of(files).With(m).Search(t.Context(), "car", 5); err != nil {
			t.Fatal(err)
		}
		e.Wait()
		return len(p.texts) - before - 1 // the question itself
	}
	if n := ask(); n != 5 { // three functions, and what is left of two files
		t.Errorf("at first %d", n)
	}
	files["a.go"] = &fstest.MapFile{Data: []byte(strings.Replace(string(garage["a.go"].Data), "a stream", "some stream", 1))}
	if n := ask(); n != 1 {
		t.Errorf("after an edit %d", n)
	}
	if n := ask(); n != 0 {
		t.Errorf("again %d", n)
	}
	m.model = "p/other"
	if n := ask(); n != 5 {
		t.Errorf("of another model %d", n)
	}
}

// A server that fails leaves an answer by full text, which says so.
func TestNoVectors(t *testing.T) {
	p := &places{fails: http.StatusInternalServerError}
	e := indexed(t)
	m := serve(t, p)
	out, err := e.Of(garage).With(m).Search(t.Context(), "automobile", 5)
	if err != nil || len(out.Passages) != 1 || out.Certainty != Syntax || !strings.Contains(out.Note, "full text alone") || !strings.Contains(out.Note, "out of order") {
		t.Errorf("%+v, %v", out, err)
	}
	e.Wait()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("gone"))
	if _, err := e.Of(garage).With(m).Search(ctx, "automobile", 5); err == nil {
		t.Error("a cancelled search answers")
	}
}
