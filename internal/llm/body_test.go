package llm_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"agency/internal/llm"
)

// Concurrent requests through shared buffers arrive as they were encoded, with
// their length known, and a body that was closed gives nothing away.
func TestBodies(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.ContentLength != int64(len(body)) || r.Header.Get("Content-Type") != "application/json" {
			http.Error(w, "length or type", http.StatusBadRequest)
			return
		}
		_, _ = w.Write(body)
	}))
	defer srv.Close()
	defer srv.Client().CloseIdleConnections()
	var bodies llm.Bodies
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			want := bytes.Repeat([]byte{byte('a' + i)}, 1+i*5000)
			for range 4 {
				if got := send(t, srv, &bodies, want); !bytes.Equal(got, want) {
					t.Errorf("body %d arrives as %d bytes of %.10q", i, len(got), got)
				}
			}
		})
	}
	all.Wait()
}

func send(t *testing.T, srv *httptest.Server, bodies *llm.Bodies, want []byte) []byte {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL, nil)
	if err != nil {
		t.Error(err)
		return nil
	}
	bodies.Set(req, func(dst []byte) []byte { return append(dst, want...) })
	first := req.Body
	res, err := srv.Client().Do(req)
	if err != nil {
		t.Error(err)
		return nil
	}
	got, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if n, err := first.Read(make([]byte, 8)); n != 0 || err == nil {
		t.Errorf("a sent body gives %d bytes more", n)
	}
	again, err := req.GetBody()
	if err != nil {
		t.Error(err)
		return nil
	}
	if second, _ := io.ReadAll(again); !bytes.Equal(second, want) {
		t.Errorf("a second body is %d bytes, want %d", len(second), len(want))
	}
	_ = again.Close()
	return got
}
