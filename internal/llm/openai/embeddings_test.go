package openai

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// The embedder sends what the SDK sends, and both understand the answer.
func TestEmbeddingsAsTheSDK(t *testing.T) {
	var bodies [][]byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		bodies = append(bodies, b)
		if r.URL.Path != "/v1/embeddings" || r.Header.Get("Authorization") != "Bearer k" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object":"list","model":"m","data":[{"object":"embedding","index":1,"embedding":[0.5,1]},{"object":"embedding","index":0,"embedding":[1,0]}],"usage":{"prompt_tokens":7,"total_tokens":7}}`)
	}))
	t.Cleanup(srv.Close)
	texts := []string{"a <b> & \"c\"", "zwei\n"}
	m := NewEmbedder(Options{Name: "p", BaseURL: srv.URL + "/v1", APIKey: "k"}, "m")
	t.Cleanup(m.Close)
	got, used, err := m.Embed(t.Context(), texts)
	if err != nil || len(got) != 2 || got[0][0] != 1 || got[1][1] != 1 || used.In != 7 || used.Estimated {
		t.Fatalf("%v, %+v, %v", got, used, err)
	}
	service := sdk.NewEmbeddingService(option.WithBaseURL(srv.URL+"/v1/"), option.WithAPIKey("k"), option.WithMaxRetries(0))
	res, err := service.New(t.Context(), sdk.EmbeddingNewParams{Model: "m", Input: sdk.EmbeddingNewParamsInputUnion{OfArrayOfStrings: texts}})
	if err != nil || len(res.Data) != 2 || res.Usage.PromptTokens != 7 {
		t.Fatalf("%+v, %v", res, err)
	}
	if !bytes.Equal(bodies[0], bodies[1]) {
		t.Errorf("sent\n%s, the SDK\n%s", bodies[0], bodies[1])
	}
}

// What is no vector for each text is a fault, and so is a refusal, which is free.
func TestEmbeddingsFaults(t *testing.T) {
	answer, status := "", 200
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(srv.Close)
	m := NewEmbedder(Options{Name: "p", BaseURL: srv.URL}, "m")
	t.Cleanup(m.Close)
	for _, tc := range []struct {
		status       int
		answer, want string
		free         bool
	}{
		{200, `<html>`, "no JSON", false},
		{200, `{"data":[]}`, "no vector for text 1", false},
		{200, `{"data":[{"index":4,"embedding":[1]}]}`, "vector 4", false},
		{200, `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}]}`, "vector 1", false},
		{401, `{"error":{"message":"bad key"}}`, "bad key", true},
		{500, `{"error":{"message":"oops"}}`, "oops", false},
	} {
		answer, status = tc.answer, tc.status
		if _, _, err := m.Embed(t.Context(), []string{"a", "b"}); err == nil || !strings.Contains(err.Error(), tc.want) || Free(err) != tc.free {
			t.Errorf("%d %s: %v, free %v", tc.status, tc.answer, err, Free(err))
		}
	}
	answer, status = `{"data":[{"index":0,"embedding":[1]}]}`, 200
	if _, used, err := m.Embed(t.Context(), []string{"twelve bytes"}); err != nil || used.In != 4 || !used.Estimated {
		t.Errorf("without a count: %+v, %v", used, err)
	}
}
