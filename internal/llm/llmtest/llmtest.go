// Package llmtest is the suite that every adapter of llm passes: against a
// server that plays rehearsal scripts over the adapter's own wire. The
// adapter's test gives both, so that this package knows neither.
package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/llm"
)

// Server plays one script.
type Server struct {
	URL    string          // as the adapter's base URL
	Bodies func() [][]byte // what it was sent so far
}

// Suite is an adapter and its server.
type Suite struct {
	// Serve starts a server that ends with the test.
	Serve func(t *testing.T, script string) Server
	// New makes the adapter, its provider named "test".
	New func(t *testing.T, url string, opts llm.HTTPOptions) llm.Model
	// Quirks are the oddities of servers that this wire can show.
	Quirks []string
	// NoCacheWrite says that the wire does not tell what was written to a cache.
	NoCacheWrite bool
	// Tellings are streams that tell, in the end or before it, of 7000 and 3000
	// tokens; Halves documents of the model "other" that hold a part of an answer
	// and the error that the server is overloaded.
	Tellings, Halves map[string]string
	// Unmark takes out of a body what may differ between two requests of one
	// conversation: the cache marks.
	Unmark func(body []byte) []byte
	// Brand writes a word into what a wire gives back of a reasoning block, and
	// says in which form a body shows it; nil is into the text.
	Brand func(r *llm.Reasoning, word string) string
}

// Run runs the suite.
func (s Suite) Run(t *testing.T) {
	t.Run("Answer", s.answer)
	t.Run("Said", s.said)
	t.Run("Quirks", s.quirks)
	t.Run("Usage", s.usage)
	t.Run("Counts", s.counts)
	t.Run("Uncounted", s.uncounted)
	t.Run("Faults", s.faults)
	t.Run("OddAnswers", s.odd)
	t.Run("RetryAfter", s.retryAfter)
	t.Run("Conversation", s.conversation)
	t.Run("Stored", s.stored)
	t.Run("Images", s.images)
	t.Run("Reasoning", s.reasoning)
	t.Run("Bounds", s.bounds)
	t.Run("Leaving", s.leaving)
	t.Run("Unreachable", s.unreachable)
	t.Run("Retried", s.retried)
	t.Run("Concurrent", s.concurrent)
}

// Ask is a request that every script of the suite answers.
func Ask() llm.Request {
	schema := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)
	return llm.Request{
		Model:  "rehearsal",
		System: "# Generalist (generalist)\nDo the work.",
		Tools: []llm.Tool{
			{Name: "write_file", Description: "writes", Schema: schema},
			{Name: "read_file", Description: "reads <&>", Schema: schema},
		},
		Messages: []llm.Message{{Role: llm.User, Blocks: []llm.Block{
			llm.Text{Text: "```json contract\n{\"id\":\"main\",\"title\":\"do it\",\"attempts\":1}\n```\nGo on."},
		}}},
		MaxOutput: 1000,
	}
}

// The answer that most scripts give: text and two calls, with what is hard to
// carry: quotes, line ends, HTML, several bytes a character, a NUL.
const (
	answerText = "Héllo <b>&amp;</b> \"wörld\"\n\t日本語 🙂 \\ end"
	firstArgs  = `{"content":"a\n\"b\" <c> 🙂 \u0000","path":"x/ü.go"}`
	secondArgs = `{"path":"y"}`
)

func script(extra string) string {
	text, _ := json.Marshal(answerText) // a JSON string is a YAML string
	return fmt.Sprintf(`
version: 1
seed: 3
rules:
  - name: only
    text: %s
    calls:
      - {tool: write_file, args: {path: x/ü.go, content: "a\n\"b\" <c> 🙂 \0"}}
      - {tool: read_file, args: {path: y}}
%s
`, text, extra)
}

func (s Suite) start(t *testing.T, script string) llm.Model {
	t.Helper()
	return s.New(t, s.Serve(t, script).URL, llm.HTTPOptions{})
}

func (s Suite) answer(t *testing.T) {
	m := s.start(t, script(""))
	var done []llm.Answer
	for ev, err := range m.Ask(t.Context(), Ask()) {
		if err != nil {
			t.Fatal(err)
		}
		if len(done) > 0 {
			t.Fatalf("event %T after Done", ev)
		}
		if ev, ok := ev.(llm.Done); ok {
			done = append(done, ev.Answer)
		}
	}
	if len(done) != 1 {
		t.Fatalf("%d Done events, want 1", len(done))
	}
	check(t, done[0])
	if done[0].Model != "rehearsal" {
		t.Errorf("model %q", done[0].Model)
	}
}

// said tells of the answer what comes of it while it comes, in order and in pieces, and
// nothing of it after it.
func (s Suite) said(t *testing.T) {
	m := s.start(t, script("    reasoning: I thought about it for a good while before I said anything at all."))
	var heard []string
	pieces := map[llm.SaidKind]int{}
	var last llm.SaidKind
	var done llm.Answer
	for ev, err := range m.Ask(t.Context(), Ask()) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case llm.Said:
			if done.By+done.Model != "" {
				t.Fatalf("%q is said after Done", ev.Text)
			}
			pieces[ev.Kind]++
			if ev.Kind != last || ev.Kind == llm.SaidCall {
				heard = append(heard, string(ev.Kind)+" ")
			}
			last = ev.Kind
			heard[len(heard)-1] += ev.Text
		case llm.Done:
			done = ev.Answer
		}
	}
	var want []string
	for _, b := range done.Message.Blocks {
		switch b := b.(type) {
		case llm.Text:
			want = append(want, "text "+b.Text)
		case llm.Reasoning:
			if b.Text != "" {
				want = append(want, "thinking "+b.Text)
			}
		case llm.ToolUse:
			want = append(want, "call "+b.Name, "args "+string(b.Args))
		}
	}
	if diff := cmp.Diff(want, heard); diff != "" || len(want) != 6 {
		t.Errorf("said (-want +got):\n%s", diff)
	}
	if pieces[llm.SaidText] < 2 {
		t.Errorf("the text came in %d pieces: nobody can look on", pieces[llm.SaidText])
	}
}

// check compares with the common answer, but for the calls' ids.
func check(t *testing.T, a llm.Answer) {
	t.Helper()
	calls := a.Message.Calls()
	if len(calls) != 2 {
		t.Fatalf("%d calls, want 2: %+v", len(calls), a.Message)
	}
	if calls[0].ID == "" || calls[0].ID == calls[1].ID {
		t.Errorf("ids %q and %q, want two", calls[0].ID, calls[1].ID)
	}
	want := llm.Message{Role: llm.Assistant, Blocks: []llm.Block{
		llm.Text{Text: answerText},
		llm.ToolUse{ID: calls[0].ID, Name: "write_file", Args: json.RawMessage(firstArgs)},
		llm.ToolUse{ID: calls[1].ID, Name: "read_file", Args: json.RawMessage(secondArgs)},
	}}
	got := a.Message
	got.Blocks = slices.DeleteFunc(slices.Clone(got.Blocks), func(b llm.Block) bool {
		r, ok := b.(llm.Reasoning) // what the wire attaches to a block and nobody thought
		return ok && r.Text == ""
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	if a.Stop != llm.StopToolUse {
		t.Errorf("stop %q, want %q", a.Stop, llm.StopToolUse)
	}
}

func (s Suite) quirks(t *testing.T) {
	sets := append([]string{strings.Join(s.Quirks, ", ")}, s.Quirks...)
	for _, q := range s.Quirks {
		if q != "no_stream" {
			sets = append(sets, "no_stream, "+q, "no_id, "+q)
		}
	}
	for _, q := range sets {
		t.Run(q, func(t *testing.T) {
			a, err := llm.Collect(s.start(t, script("    quirks: ["+q+"]")).Ask(t.Context(), Ask()))
			if err != nil {
				t.Fatal(err)
			}
			check(t, a)
			if strings.Contains(q, "no_usage") != a.Usage.Estimated {
				t.Errorf("usage %+v", a.Usage)
			}
		})
	}
}

func (s Suite) usage(t *testing.T) {
	m := s.start(t, script("    usage: {in: 1000, cached: 600, cache_write: 300, out: 77}"))
	a, err := llm.Collect(m.Ask(t.Context(), Ask()))
	if err != nil {
		t.Fatal(err)
	}
	want := agency.Usage{In: 1000, Cached: 600, CacheWrite: 300, Out: 77}
	if s.NoCacheWrite {
		want.CacheWrite = 0
	}
	if diff := cmp.Diff(want, a.Usage); diff != "" || !a.CacheKnown {
		t.Errorf("usage (-want +got), cache known %v:\n%s", a.CacheKnown, diff)
	}
	m = s.start(t, script("    usage: {in: 1000, cached: 600, out: 77}\n    quirks: [no_cache_usage]"))
	if a, err = llm.Collect(m.Ask(t.Context(), Ask())); err != nil {
		t.Fatal(err)
	}
	if a.CacheKnown || a.Usage.Cached != 0 || a.Usage.In != 1000 {
		t.Errorf("without cache figures: known %v, usage %+v", a.CacheKnown, a.Usage)
	}
}

// faults are the scripts' faults of the exchange and what they end as.
func (s Suite) faults(t *testing.T) {
	for kind, want := range map[string]llm.FaultKind{
		"rate_limited": llm.RateLimited, "overloaded": llm.Overloaded, "server": llm.Server, "hang": llm.Timeout,
		"reset": llm.Network, "cut_text": llm.StreamCut, "cut_call": llm.StreamCut, "html": llm.BadAnswer,
		"auth": llm.Auth, "model_not_found": llm.ModelNotFound, "context_overflow": llm.ContextOverflow,
		"quota": llm.Quota, "invalid": llm.InvalidRequest,
	} {
		t.Run(kind, func(t *testing.T) {
			url := s.Serve(t, script("    fault: "+kind)).URL
			m := s.New(t, url, llm.HTTPOptions{FirstByte: 300 * time.Millisecond})
			_, err := llm.Collect(m.Ask(t.Context(), Ask()))
			f := asFault(t, err)
			if f.Kind != want {
				t.Errorf("fault %q, want %q: %v", f.Kind, want, err)
			}
			if f.Provider != "test" || f.Model != "rehearsal" || strings.Contains(err.Error(), "\n") {
				t.Errorf("provider %q, model %q, words %q", f.Provider, f.Model, err)
			}
			wantKind := agency.KindTransient
			switch want {
			case llm.Auth, llm.ModelNotFound, llm.ContextOverflow, llm.InvalidRequest:
				wantKind = agency.KindInvalid
			}
			if agency.KindOf(err) != wantKind {
				t.Errorf("kind %v, want %v", agency.KindOf(err), wantKind)
			}
			if (want == llm.Auth || want == llm.ModelNotFound || want == llm.Quota) && agency.MendOf(err) == "" {
				t.Errorf("%v names no mending step", err)
			}
		})
	}
	t.Run("drip", func(t *testing.T) {
		m := s.start(t, script("    fault: {kind: drip, over: 100ms}"))
		a, err := llm.Collect(m.Ask(t.Context(), Ask()))
		if err != nil {
			t.Fatal(err)
		}
		check(t, a)
	})
}

func asFault(t *testing.T, err error) *llm.Fault {
	t.Helper()
	var f *llm.Fault
	if !errors.As(err, &f) {
		t.Fatalf("error %v (%T), want a fault", err, err)
	}
	return f
}

// odd are answers that arrive whole and are not what one hopes for.
func (s Suite) odd(t *testing.T) {
	for kind, want := range map[string]func(llm.Answer) error{
		"bad_args": func(a llm.Answer) error {
			c := a.Message.Calls()
			if len(c) != 2 || c[0].Invalid == "" || !json.Valid(c[0].Args) || c[0].Args[0] != '"' || c[1].Invalid != "" {
				return fmt.Errorf("calls %+v", c)
			}
			return stopped(a, llm.StopToolUse)
		},
		"unknown_tool": func(a llm.Answer) error {
			if c := a.Message.Calls(); len(c) != 2 || c[0].Name != "no_such_tool" || c[0].Invalid != "" {
				return fmt.Errorf("calls %+v", c)
			}
			return stopped(a, llm.StopToolUse)
		},
		"wrong_types": func(a llm.Answer) error {
			if c := a.Message.Calls(); len(c) != 2 || c[0].Invalid != "" || !strings.Contains(string(c[0].Args), "[42,true]") {
				return fmt.Errorf("calls %+v", c)
			}
			return stopped(a, llm.StopToolUse)
		},
		"duplicate_ids": func(a llm.Answer) error {
			if c := a.Message.Calls(); len(c) != 2 || c[0].ID == c[1].ID || c[1].Name != "read_file" {
				return fmt.Errorf("calls %+v", c)
			}
			return stopped(a, llm.StopToolUse)
		},
		"length": func(a llm.Answer) error {
			if c := a.Message.Calls(); len(c) != 2 || c[0].Invalid != "" || c[1].Invalid == "" {
				return fmt.Errorf("calls %+v", c)
			}
			return stopped(a, llm.StopLength)
		},
		"huge": func(a llm.Answer) error {
			if n := len(a.Message.Words()); n != 10<<20 {
				return fmt.Errorf("%d bytes", n)
			}
			return stopped(a, llm.StopEndTurn)
		},
		"empty":   func(a llm.Answer) error { return stopped(a, llm.StopEmpty) },
		"refusal": func(a llm.Answer) error { return stopped(a, llm.StopRefusal) },
	} {
		t.Run(kind, func(t *testing.T) {
			a, err := llm.Collect(s.start(t, script("    fault: "+kind)).Ask(t.Context(), Ask()))
			if err != nil {
				t.Fatal(err)
			}
			if err := want(a); err != nil {
				t.Error(err)
			}
		})
	}
}

func stopped(a llm.Answer, want llm.StopReason) error {
	if a.Stop != want {
		return fmt.Errorf("stop %q, want %q", a.Stop, want)
	}
	return nil
}

func (s Suite) retryAfter(t *testing.T) {
	for _, form := range []string{"seconds", "date", "ms"} {
		t.Run(form, func(t *testing.T) {
			m := s.start(t, script("    fault: {kind: rate_limited, retry_after: 90s, form: "+form+"}"))
			_, err := llm.Collect(m.Ask(t.Context(), Ask()))
			f := asFault(t, err)
			if f.RetryAfter > 90*time.Second || f.RetryAfter < 80*time.Second {
				t.Errorf("retry after %v, want 90s", f.RetryAfter)
			}
		})
	}
}

func (s Suite) unreachable(t *testing.T) {
	for name, url := range map[string]string{
		"refused": "http://127.0.0.1:1/v1", "unknown host": "http://no-such-host.invalid/v1",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			_, err := llm.Collect(s.New(t, url, llm.HTTPOptions{}).Ask(ctx, Ask()))
			if f := asFault(t, err); f.Kind != llm.RefusedConnection {
				t.Errorf("fault %q: %v", f.Kind, err)
			}
			if agency.KindOf(err) != agency.KindTransient || agency.MendOf(err) == "" {
				t.Errorf("kind %v, mend %q", agency.KindOf(err), agency.MendOf(err))
			}
		})
	}
}
