package llmtest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/llm"
)

// counts: what a server tells stands, however oddly it tells it, and an answer
// that comes in one piece with an error is not free.
func (s Suite) counts(t *testing.T) {
	want := agency.Usage{In: 7000, Out: 3000}
	for name, body := range s.Tellings {
		m := s.New(t, Odd(t, http.StatusOK, "text/event-stream", body), llm.HTTPOptions{})
		a, err := llm.Collect(m.Ask(t.Context(), Ask()))
		if err != nil || a.Usage != want {
			t.Errorf("%s: %+v, %v; want %+v", name, a.Usage, err, want)
		}
	}
	for name, body := range s.Halves {
		told := s.broken(t, name, http.StatusOK, body, llm.Overloaded)
		if told == nil || told.Model != "other" || told.Usage != want && !(told.Usage.Estimated && told.Usage.Out > 0) {
			t.Errorf("%s: told %+v, want that an answer of the model other began", name, told)
		}
	}
	// Where nothing of an answer comes, what is told decides.
	usage := `,"usage":{"input_tokens":7000,"output_tokens":3000}`
	for name, c := range map[string]struct {
		status int
		more   string
		kind   llm.FaultKind
		begun  bool
	}{
		"an error alone":           {http.StatusOK, "", llm.Overloaded, false},
		"an error that counts":     {http.StatusOK, usage, llm.Overloaded, true},
		"a refusal":                {http.StatusTooManyRequests, "", llm.RateLimited, false},
		"a refusal that counts":    {http.StatusTooManyRequests, usage, llm.RateLimited, true},
		"a refusal that counts it": {http.StatusServiceUnavailable, `,"usageMetadata":{"promptTokenCount":7000,"totalTokenCount":10000}`, llm.Overloaded, true},
	} {
		told := s.broken(t, name, c.status, `{"type":"error","error":{"type":"overloaded_error","message":"busy"}`+c.more+`}`, c.kind)
		if (told != nil) != c.begun || told != nil && told.Usage != want {
			t.Errorf("%s: told %+v", name, told)
		}
	}
}

// broken asks a server that answers with a fault, and gives what it told
// before.
func (s Suite) broken(t *testing.T, name string, status int, body string, kind llm.FaultKind) (told *llm.Counted) {
	t.Helper()
	m := s.New(t, Odd(t, status, "application/json", body), llm.HTTPOptions{})
	for ev, err := range m.Ask(t.Context(), Ask()) {
		if err != nil {
			if f := asFault(t, err); f.Kind != kind {
				t.Errorf("%s: %v, want %s", name, err, kind)
			}
			return told
		}
		switch ev := ev.(type) {
		case llm.Counted:
			told = &ev
		case llm.Done:
			t.Errorf("%s: taken for an answer", name)
		}
	}
	return told
}

// uncounted: an answer that is longer than it was asked to be, and of which the
// server counts nothing, is counted as it came: whole or cut, streamed or in one
// piece, its thoughts and the arguments of its calls with it.
func (s Suite) uncounted(t *testing.T) {
	long := strings.Repeat("some words ", 20_000)
	for name, c := range map[string]struct{ answer, fault string }{
		"text":      {answer: fmt.Sprintf("text: %q", long)},
		"thoughts":  {answer: fmt.Sprintf("text: so\n    reasoning: %q", long)},
		"arguments": {answer: fmt.Sprintf("calls: [{tool: write_file, args: {path: x, content: %q}}]", long)},
		"cut":       {fmt.Sprintf("text: %q", long), "cut_text"},
	} {
		for _, quirks := range []string{"no_usage", "no_usage, no_stream"} {
			t.Run(name+", "+quirks, func(t *testing.T) {
				script := fmt.Sprintf("version: 1\nrules:\n  - name: only\n    %s\n    quirks: [%s]\n", c.answer, quirks)
				least := llm.EstimateTokens(int64(len(long)))
				if c.fault != "" {
					script += "    fault: " + c.fault + "\n"
					least /= 3 // it is cut in its middle
				}
				req, got := Ask(), agency.Usage{}
				for ev, err := range s.start(t, script).Ask(t.Context(), req) {
					switch ev := ev.(type) {
					case llm.Counted:
						got = ev.Usage
					case llm.Done:
						got = ev.Answer.Usage
					}
					if err != nil && c.fault == "" {
						t.Fatal(err)
					}
				}
				if got.Out < least || got.Out > 3*least || got.In < llm.EstimateTokens(llm.Bytes(req)) || !got.Estimated {
					t.Errorf("%+v of an answer of about %d tokens", got, least)
				}
			})
		}
	}
}
