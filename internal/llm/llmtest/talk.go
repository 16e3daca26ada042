package llmtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agency/internal/llm"
	"agency/internal/llm/failover"
)

// conversation plays a conversation with everything that must be sent back in
// a form that the wire accepts; the server refuses what the vendors refuse.
// Each request must repeat the bytes of the one before up to its last message.
func (s Suite) conversation(t *testing.T) {
	server := s.Serve(t, `
version: 1
rules:
  - {name: bad, when: {turn: 1}, text: one, calls: [{tool: read_file, args: {path: a}}], fault: bad_args}
  - {name: unknown, when: {turn: 2}, calls: [{tool: read_file, args: {path: a}}], fault: unknown_tool}
  - {name: twins, when: {turn: 3}, calls: [{tool: read_file, id: same, args: {path: a}}, {tool: read_file, id: same, args: {path: b}}]}
  - {name: again, when: {turn: 4}, calls: [{tool: "odd name!", id: same, args: {}}, {tool: read_file, id: "functions.read:0/x", raw: "[1]"}]}
  - {name: silent, when: {turn: 5}, fault: empty}
  - {name: think, when: {turn: 6}, reasoning: hm, text: two, calls: [{tool: read_file, args: {path: a}}]}
  - {name: end, text: three}
`)
	m := s.New(t, server.URL, llm.HTTPOptions{})
	req := Ask()
	seen := map[string]bool{}
	for turn := 1; turn <= 7; turn++ {
		a, err := llm.Collect(m.Ask(t.Context(), req))
		if err != nil {
			t.Fatalf("turn %d: %v", turn, err)
		}
		answer := llm.Message{Role: llm.User}
		for i, c := range a.Message.Calls() {
			if seen[c.ID] {
				t.Errorf("turn %d: id %q came before", turn, c.ID)
			}
			seen[c.ID] = true
			answer.Blocks = append(answer.Blocks, llm.ToolResult{ID: c.ID, Text: []string{"done", ""}[i%2], IsError: c.Invalid != ""})
		}
		if turn%2 == 0 || len(answer.Blocks) == 0 {
			answer.Blocks = append(answer.Blocks, llm.Text{Text: "Go on."})
		}
		req.Messages = append(req.Messages, a.Message, answer)
	}
	s.prefixes(t, server.Bodies())
}

func (s Suite) prefixes(t *testing.T, bodies [][]byte) {
	t.Helper()
	var before []byte
	for i, b := range bodies {
		b = s.Unmark(b)
		head := untilMessagesEnd(t, before)
		if !bytes.HasPrefix(b, head) {
			t.Errorf("request %d does not repeat request %d:\n%.2000s\n%.2000s", i+1, i, head, b)
		}
		before = b
	}
	if len(bodies) != 7 {
		t.Errorf("%d requests, want 7", len(bodies))
	}
}

// untilMessagesEnd is a body up to the end of its last message.
func untilMessagesEnd(t *testing.T, body []byte) []byte {
	t.Helper()
	if body == nil {
		return nil
	}
	at := -1
	for _, name := range []string{`"messages":[`, `"contents":[`, `"input":[`} {
		if i := bytes.Index(body, []byte(name)); at < 0 && i >= 0 {
			at = i + len(name) - 1
		}
	}
	if at < 0 {
		t.Fatalf("no messages in %.200s", body)
	}
	depth, inString := 0, false
	for i := at; i < len(body); i++ {
		switch c := body[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			if depth--; depth == 0 {
				return body[:i]
			}
		}
	}
	t.Fatal("messages do not end")
	return nil
}

// reasoning must come back unchanged, and that of others not at all.
func (s Suite) reasoning(t *testing.T) {
	server := s.Serve(t, `
version: 1
rules:
  - {name: think, when: {turn: 1}, reasoning: "deep <thought> 🙂", text: one, calls: [{tool: read_file, args: {path: a}}]}
  - {name: end, text: two}
`)
	m := s.New(t, server.URL, llm.HTTPOptions{})
	req := Ask()
	a, err := llm.Collect(m.Ask(t.Context(), req))
	if err != nil {
		t.Fatal(err)
	}
	r, ok := a.Message.Blocks[0].(llm.Reasoning)
	if !ok || r.Text != "deep <thought> 🙂" || r.Provider != "test" {
		t.Fatalf("first block %+v", a.Message.Blocks[0])
	}
	req.Messages = append(req.Messages, a.Message, llm.Message{Role: llm.User, Blocks: []llm.Block{
		llm.ToolResult{ID: a.Message.Calls()[0].ID, Text: "done"},
	}})
	if _, err := llm.Collect(m.Ask(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	if bodies := server.Bodies(); !bytes.Contains(bodies[1], []byte("thought")) {
		t.Errorf("own reasoning is not given back: %s", bodies[1])
	}
	rapid.Check(t, func(t *rapid.T) { s.owners(t, m, server, a.Message) })
}

// owners plays a conversation in which several models took turns: each is
// given back what it thought itself and nothing that another one did, be it of
// another provider or of its own. What was said and called stays.
func (s Suite) owners(t *rapid.T, m llm.Model, server Server, answer llm.Message) {
	models := rapid.SampledFrom([]string{"rehearsal", "rehearsal-2", "rehearsal-2-dated"})
	req := Ask()
	req.Model = models.Draw(t, "asked")
	own := map[string]bool{}
	for turn := range rapid.IntRange(1, 6).Draw(t, "turns") {
		by := llm.Reasoning{
			Provider: rapid.SampledFrom([]string{"test", "test", "other"}).Draw(t, "provider"),
			Model:    rapid.OneOf(models, rapid.Just("")).Draw(t, "by"),
		}
		word, id := fmt.Sprintf("mark-%d-", turn), fmt.Sprintf("c%d", turn)
		mine := by.Provider == "test" && by.Model == req.Model
		said := llm.Message{Role: llm.Assistant}
		for _, b := range answer.Blocks {
			switch b := b.(type) {
			case llm.Reasoning:
				b.Provider, b.Model = by.Provider, by.Model
				own[s.brand(&b, word)] = mine
				said.Blocks = append(said.Blocks, b)
			case llm.ToolUse:
				b.ID = id
				said.Blocks = append(said.Blocks, b)
			default:
				said.Blocks = append(said.Blocks, b)
			}
		}
		req.Messages = append(req.Messages, said, llm.Message{Role: llm.User, Blocks: []llm.Block{llm.ToolResult{ID: id, Text: "done"}}})
	}
	if _, err := llm.Collect(m.Ask(context.Background(), req)); err != nil {
		t.Fatal(err)
	}
	bodies := server.Bodies()
	body := bodies[len(bodies)-1]
	for word, want := range own {
		if bytes.Contains(body, []byte(word)) != want {
			t.Fatalf("%s: own %v, asked %s: %s", word, want, req.Model, body)
		}
	}
	if n := bytes.Count(body, []byte(`"done"`)); n != len(req.Messages)/2 {
		t.Fatalf("%d results are sent: %s", n, body)
	}
}

func (s Suite) brand(r *llm.Reasoning, word string) string {
	if s.Brand != nil {
		return s.Brand(r, word)
	}
	r.Text = strings.ReplaceAll(r.Text, "<thought>", word)
	r.Opaque = bytes.ReplaceAll(r.Opaque, []byte("<thought>"), []byte(word))
	return word
}

// bounds are those of HTTPOptions.
func (s Suite) bounds(t *testing.T) {
	slow := script("    fault: {kind: drip, over: 60s}")
	for name, c := range map[string]struct {
		script string
		opts   llm.HTTPOptions
		want   llm.FaultKind
	}{
		"size":  {script("    fault: huge"), llm.HTTPOptions{MaxBytes: 1 << 20}, llm.BadAnswer},
		"total": {slow, llm.HTTPOptions{Total: 300 * time.Millisecond}, llm.Timeout},
		"idle":  {script("    latency: 60s"), llm.HTTPOptions{Idle: 100 * time.Millisecond, FirstByte: 300 * time.Millisecond}, llm.Timeout},
	} {
		t.Run(name, func(t *testing.T) {
			m := s.New(t, s.Serve(t, c.script).URL, c.opts)
			_, err := llm.Collect(m.Ask(t.Context(), Ask()))
			if f := asFault(t, err); f.Kind != c.want {
				t.Errorf("fault %q, want %q: %v", f.Kind, c.want, err)
			}
		})
	}
}

// leaving: the caller's context and the caller's break both end the exchange.
func (s Suite) leaving(t *testing.T) {
	t.Run("context in a hang", func(t *testing.T) {
		m := s.start(t, script("    fault: hang"))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := llm.Collect(m.Ask(ctx, Ask())); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the context's", err)
		}
	})
	t.Run("context in a stream", func(t *testing.T) {
		m := s.start(t, script("    fault: {kind: drip, over: 4s}"))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var err error
		for _, err = range m.Ask(ctx, Ask()) {
			cancel()
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want the context's", err)
		}
	})
	t.Run("break", func(t *testing.T) {
		m := s.start(t, script("    fault: {kind: drip, over: 4s}"))
		for _, err := range m.Ask(t.Context(), Ask()) {
			if err != nil {
				t.Error(err)
			}
			break
		}
	})
}

// concurrent: one adapter serves many sessions.
func (s Suite) concurrent(t *testing.T) {
	m := s.start(t, script("    latency: 1ms"))
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			req := Ask()
			req.System += strings.Repeat(" ", i)
			a, err := llm.Collect(m.Ask(t.Context(), req))
			if err != nil {
				t.Error(err)
				return
			}
			check(t, a)
		})
	}
	wg.Wait()
}

// retried: each fault that may pass is met twice and then answered; the
// provider's wish is honoured and each try announced.
func (s Suite) retried(t *testing.T) {
	for _, kind := range []string{"rate_limited", "overloaded", "server", "reset", "cut_text", "cut_call", "html", "hang"} {
		t.Run(kind, func(t *testing.T) {
			server := s.Serve(t, script("    fault: {kind: "+kind+", times: 2, retry_after: 7s}"))
			var waits []time.Duration
			m := failover.Retry(s.New(t, server.URL, llm.HTTPOptions{FirstByte: 200 * time.Millisecond}), failover.RetryOptions{
				Random: func() float64 { return 0.5 },
				Sleep:  func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil },
			})
			announced := 0
			for ev, err := range m.Ask(t.Context(), Ask()) {
				if err != nil {
					t.Fatal(err)
				}
				switch ev := ev.(type) {
				case llm.Retrying:
					announced++
				case llm.Done:
					check(t, ev.Answer)
				}
			}
			want := []time.Duration{750 * time.Millisecond, 1500 * time.Millisecond}
			if kind == "rate_limited" || kind == "overloaded" || kind == "server" {
				want = []time.Duration{7 * time.Second, 7 * time.Second}
			}
			if diff := cmp.Diff(want, waits); diff != "" || announced != 2 || len(server.Bodies()) != 3 {
				t.Errorf("%d announced, %d requests, waits (-want +got):\n%s", announced, len(server.Bodies()), diff)
			}
			if !bytes.Equal(server.Bodies()[0], server.Bodies()[2]) {
				t.Error("the third try sends other bytes than the first")
			}
		})
	}
}
