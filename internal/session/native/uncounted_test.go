package native

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"agency/internal/budget"
	"agency/internal/llm"
	"agency/internal/session"
)

// endless is a server that does not keep to the length that it is asked for and
// counts nothing: one long piece of text, and then it ends as it is told.
type endless struct {
	wire, text, end string
	served          atomic.Int32
}

func (s *endless) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	s.served.Add(1)
	w.Header().Set("Content-Type", "text/event-stream")
	piece, end := `{"choices":[{"index":0,"delta":{"content":%s}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	if s.wire == "anthropic" {
		piece, end = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`
	}
	_, _ = io.WriteString(w, sse(piece, quoted(s.text)))
	_ = http.NewResponseController(w).Flush()
	switch s.end {
	case "cut":
		panic(http.ErrAbortHandler)
	case "cancelled":
		<-r.Context().Done()
	default:
		_, _ = fmt.Fprintf(w, "data: %s\n\n", end)
	}
}

// cancelling ends its context once something of an answer came.
type cancelling struct {
	llm.Model
	cancel context.CancelFunc
}

func (m cancelling) Ask(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for ev, err := range m.Model.Ask(ctx, req) {
			if _, ok := ev.(llm.Counted); ok {
				m.cancel()
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// What came of an answer that nobody counted is booked whole, far above the
// reservation, whether the answer ends, is cut or is given up; and the limit that
// it passed holds the next request.
func TestAnUncountedAnswerIsBookedAsItCame(t *testing.T) {
	text := strings.Repeat("some words ", 10_000)
	came := llm.EstimateTokens(int64(len(text)))
	for _, wire := range []string{"openai", "anthropic"} {
		for _, end := range []string{"whole", "cut", "cancelled"} {
			t.Run(wire+", "+end, func(t *testing.T) {
				server := &endless{wire: wire, text: text, end: end}
				web := httptest.NewServer(server)
				defer web.Close()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				k := newKit(t, budget.Limits{Tokens: came})
				k.lineup.Model = overWire(wire, web.URL, llm.HTTPOptions{})
				if end == "cancelled" {
					k.lineup.Model = cancelling{k.lineup.Model, cancel}
				}
				out, err := k.do(ctx, spec())
				if (err != nil) != (end != "whole") {
					t.Fatal(out, err)
				}
				if err != nil { // whoever goes on asks the budget first
					k.takeOver()
					out = k.must(spec())
				}
				if out.Kind != session.Parked || out.For != session.ForBudget || server.served.Load() != 1 {
					t.Errorf("%+v after %d requests", out, server.served.Load())
				}
				if s := k.spent(); s.Tokens < came || s.Reserved != 0 {
					t.Errorf("%d tokens are booked and %v reserved, %d came", s.Tokens, s.Reserved, came)
				}
			})
		}
	}
}
