package failover_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agency/internal/llm"
	"agency/internal/llm/failover"
)

// scripted is a working model that meets its faults first.
type scripted struct {
	faults []error
	asked  []llm.Request
}

func (s *scripted) Ask(_ context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		n := len(s.asked)
		s.asked = append(s.asked, req)
		if !yield(llm.Counted{}, nil) {
			return
		}
		if n < len(s.faults) {
			yield(nil, s.faults[n])
			return
		}
		yield(llm.Done{Answer: llm.Answer{Model: req.Model}}, nil)
	}
}

func faults(n int, f llm.Fault) []error {
	out := make([]error, n)
	for i := range out {
		out[i] = &f
	}
	return out
}

// clock is a clock that only sleeping moves.
type clock struct {
	now   time.Time
	waits []time.Duration
}

func (c *clock) options() failover.RetryOptions {
	return failover.RetryOptions{
		Random: func() float64 { return 0 },
		Now:    func() time.Time { return c.now },
		Sleep: func(ctx context.Context, d time.Duration) error {
			c.now, c.waits = c.now.Add(d), append(c.waits, d)
			return ctx.Err()
		},
	}
}

func TestRetry(t *testing.T) {
	const half = time.Second / 2
	for name, tc := range map[string]struct {
		faults []error
		want   []time.Duration
		ok     bool
	}{
		"passes":              {faults(2, llm.Fault{Kind: llm.Server}), []time.Duration{half, 2 * half}, true},
		"stays":               {faults(9, llm.Fault{Kind: llm.Server}), []time.Duration{half, 2 * half, 4 * half, 8 * half, 16 * half}, false},
		"retry-after":         {faults(1, llm.Fault{Kind: llm.RateLimited, RetryAfter: 42 * time.Second}), []time.Duration{42 * time.Second}, true},
		"a long limit":        {faults(2, llm.Fault{Kind: llm.RateLimited, RetryAfter: 30 * time.Minute}), []time.Duration{30 * time.Minute, 30 * time.Minute}, true},
		"limit too far":       {faults(9, llm.Fault{Kind: llm.RateLimited, RetryAfter: 25 * time.Minute}), []time.Duration{25 * time.Minute, 25 * time.Minute}, false},
		"limits count apart":  {append(faults(20, llm.Fault{Kind: llm.RateLimited, RetryAfter: time.Minute}), faults(2, llm.Fault{Kind: llm.Server})...), append(slices.Repeat([]time.Duration{time.Minute}, 20), half, 2*half), true},
		"retry-after too far": {faults(1, llm.Fault{Kind: llm.Overloaded, RetryAfter: time.Hour}), nil, false},
		"refused connection":  {faults(9, llm.Fault{Kind: llm.RefusedConnection}), []time.Duration{half, 2 * half}, false},
		"not this protocol":   {faults(9, llm.Fault{Kind: llm.BadAnswer}), []time.Duration{half, 2 * half}, false},
		"auth":                {faults(1, llm.Fault{Kind: llm.Auth}), nil, false},
		"invalid":             {faults(1, llm.Fault{Kind: llm.InvalidRequest}), nil, false},
		"overflow":            {faults(1, llm.Fault{Kind: llm.ContextOverflow}), nil, false},
		"quota":               {faults(1, llm.Fault{Kind: llm.Quota}), nil, false},
		"not a fault":         {[]error{errors.New("other")}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := &clock{now: time.Unix(0, 0)}
			m := &scripted{faults: tc.faults}
			_, err := llm.Collect(failover.Retry(m, c.options()).Ask(t.Context(), llm.Request{}))
			if (err == nil) != tc.ok {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff(tc.want, c.waits); diff != "" {
				t.Errorf("waits (-want +got):\n%s", diff)
			}
			if len(m.asked) != len(c.waits)+1 {
				t.Errorf("asked %d times", len(m.asked))
			}
		})
	}
}

// A refused connection is given up within 20 s, however long a try takes.
func TestRetryRefusedWithinTwentySeconds(t *testing.T) {
	c := &clock{now: time.Unix(0, 0)}
	opts := c.options()
	opts.Base = 15 * time.Second
	opts.Random = func() float64 { return 1 }
	_, err := llm.Collect(failover.Retry(&scripted{faults: faults(9, llm.Fault{Kind: llm.RefusedConnection})}, opts).Ask(t.Context(), llm.Request{}))
	if err == nil || c.now.Sub(time.Unix(0, 0)) > 20*time.Second {
		t.Errorf("error %v after %v", err, c.now.Sub(time.Unix(0, 0)))
	}
}

// What is told of a wait says until when it lasts, and how many tries there are in all.
func TestRetryTellsHowLong(t *testing.T) {
	c := &clock{now: time.Unix(1000, 0)}
	m := &scripted{faults: append(faults(2, llm.Fault{Kind: llm.RateLimited, RetryAfter: 20 * time.Minute}), faults(1, llm.Fault{Kind: llm.Server})...)}
	var told []string
	for ev, err := range failover.Retry(m, c.options()).Ask(t.Context(), llm.Request{}) {
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := ev.(llm.Retrying); ok {
			told = append(told, fmt.Sprintf("%d of %d, until %d", r.Attempt+1, r.Of, r.Until.Unix()-1000))
		}
	}
	want := []string{"2 of 4, until 1200", "3 of 4, until 2400", "4 of 8, until 2400"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestRetryEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := &clock{}
	_, err := llm.Collect(failover.Retry(&scripted{faults: faults(9, llm.Fault{Kind: llm.Server})}, c.options()).Ask(ctx, llm.Request{}))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestRetryStopsWhenTheCallerLeaves(t *testing.T) {
	m := &scripted{faults: faults(9, llm.Fault{Kind: llm.Server})}
	for ev, err := range failover.Retry(m, (&clock{}).options()).Ask(t.Context(), llm.Request{}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := ev.(llm.Retrying); ok {
			break
		}
	}
	if len(m.asked) != 1 {
		t.Errorf("asked %d times", len(m.asked))
	}
}

func TestFallback(t *testing.T) {
	now := time.Unix(0, 0)
	first := &scripted{faults: faults(1, llm.Fault{Kind: llm.Auth})}
	second := &scripted{}
	m, err := failover.Fallback([]failover.Named{
		{Name: "a/one", Provider: "a", ID: "one", Model: first},
		{Name: "b/two", Provider: "b", ID: "two", Model: second},
	}, failover.FallbackOptions{Now: func() time.Time { return now }, Rest: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	req := llm.Request{Messages: []llm.Message{{Role: llm.Assistant, Blocks: []llm.Block{
		llm.Reasoning{Provider: "a", Model: "one"},
		llm.Text{Text: "x"},
		llm.Reasoning{Provider: "b", Model: "two"},
		llm.Reasoning{Provider: "b", Model: "one"},
		llm.Reasoning{Provider: "b"},
	}}}}
	var switched []llm.Asking
	for ev, err := range m.Ask(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := ev.(llm.Asking); ok {
			switched = append(switched, s)
		}
	}
	if len(switched) != 2 || switched[0].Model != "a/one" || switched[0].After != nil || switched[1].Model != "b/two" || switched[1].After.Kind != llm.Auth {
		t.Fatalf("switched %+v", switched)
	}
	want := []llm.Block{llm.Text{Text: "x"}, llm.Reasoning{Provider: "b", Model: "two"}}
	if diff := cmp.Diff(want, second.asked[0].Messages[0].Blocks); diff != "" || second.asked[0].Model != "two" {
		t.Errorf("second was asked for %q, blocks (-want +got):\n%s", second.asked[0].Model, diff)
	}
	if len(req.Messages[0].Blocks) != 5 {
		t.Error("the caller's request was changed")
	}
	// The first rests, then gets its chance again.
	for range 2 {
		a, err := llm.Collect(m.Ask(t.Context(), req))
		if err != nil || a.Model != map[bool]string{false: "two", true: "one"}[now.After(time.Unix(0, 0))] {
			t.Errorf("at %v: %q, %v", now, a.Model, err)
		}
		now = now.Add(2 * time.Minute)
	}
}

// Whoever is asked is named before, also where a resting model is passed over,
// and so is who answered.
func TestFallbackSaysWhoAnswers(t *testing.T) {
	server := llm.Fault{Kind: llm.Server}
	c := &clock{now: time.Unix(0, 0)}
	m, err := failover.Fallback([]failover.Named{
		{Name: "a/one", Model: failover.Retry(&scripted{faults: faults(2, server)}, failover.RetryOptions{Tries: 2, Random: c.options().Random, Sleep: c.options().Sleep})},
		{Name: "b/two", Model: &scripted{}},
	}, failover.FallbackOptions{Now: func() time.Time { return c.now }})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range [][]string{{"a/one", "a/one", "b/two after server"}, {"b/two"}} {
		var got []string
		by := ""
		for ev, err := range m.Ask(t.Context(), llm.Request{}) {
			if err != nil {
				t.Fatal(err)
			}
			switch ev := ev.(type) {
			case llm.Asking:
				said := ev.Model
				if ev.After != nil {
					said += " after " + string(ev.After.Kind)
				}
				got = append(got, said)
			case llm.Done:
				by = ev.Answer.By
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || by != "b/two" {
			t.Errorf("%q answered; asked (-want +got):\n%s", by, diff)
		}
	}
}

// A request that is refused for a picture is asked again in words: a broken file that was read
// does not end the conversation. A model that does not see is told in words at once.
func TestBrokenPicture(t *testing.T) {
	picky, blind := &scripted{faults: faults(1, llm.Fault{Kind: llm.InvalidRequest})}, &scripted{}
	req := llm.Request{Messages: []llm.Message{{Role: llm.User, Blocks: []llm.Block{llm.Image{Name: "x.png", Media: "image/png", Data: []byte("no")}}}}}
	for _, m := range []failover.Named{{Model: picky, Sees: true}, {Model: blind}} {
		f, err := failover.Fallback([]failover.Named{m}, failover.FallbackOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := llm.Collect(f.Ask(t.Context(), req)); err != nil {
			t.Error(err)
		}
	}
	if len(picky.asked) != 2 || !llm.Pictured(picky.asked[0].Messages) || llm.Pictured(picky.asked[1].Messages) || llm.Pictured(blind.asked[0].Messages) || !llm.Pictured(req.Messages) {
		t.Errorf("%+v, %+v", picky.asked, blind.asked)
	}
	words := &scripted{faults: faults(2, llm.Fault{Kind: llm.InvalidRequest})}
	f, err := failover.Fallback([]failover.Named{{Model: words, Sees: true}}, failover.FallbackOptions{})
	if _, aerr := llm.Collect(f.Ask(t.Context(), llm.Request{})); err != nil || aerr == nil || len(words.asked) != 1 {
		t.Errorf("without a picture: %d, %v, %v", len(words.asked), err, aerr)
	}
}

func TestFallbackEndsInTheLastFault(t *testing.T) {
	m, err := failover.Fallback([]failover.Named{
		{Model: &scripted{faults: faults(1, llm.Fault{Kind: llm.Auth})}},
		{Model: &scripted{faults: faults(1, llm.Fault{Kind: llm.Server})}},
	}, failover.FallbackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var f *llm.Fault
	if _, err := llm.Collect(m.Ask(t.Context(), llm.Request{})); !errors.As(err, &f) || f.Kind != llm.Server {
		t.Errorf("error %v", err)
	}
	if _, err := failover.Fallback(nil, failover.FallbackOptions{}); err == nil {
		t.Error("an empty list is taken")
	}
}
