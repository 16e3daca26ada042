package failover

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"strings"
	"time"

	"agency/internal/llm"
)

// RetryOptions tune Retry; the zero value is ready for use.
type RetryOptions struct {
	Tries int           // per request; default 6. A limited rate is waited out by time alone
	Base  time.Duration // first wait, doubled each time; default 1 s
	// Patience is how long a request waits in all while the provider limits the rate, as long
	// as it wishes each time; default an hour. What it has Waited by this Name counts.
	Patience time.Duration
	Name     string
	// Random gives numbers in [0,1) for the jitter; default math/rand/v2.
	Random func() float64
	// Sleep waits or returns the context's error; default a timer.
	Sleep func(context.Context, time.Duration) error
	Now   func() time.Time // default time.Now
}

const (
	longestWait = time.Minute     // of our own
	longestWish = 5 * time.Minute // a longer retry-after of who is not limiting ends the tries
)

// A refused connection is a server that is down or an address that is wrong;
// waiting long for it helps nobody (docs/design.md, Sessions).
const (
	refusedTries  = 3
	refusedWithin = 20 * time.Second
)

// badAnswerTries bounds the tries after an answer that is not the protocol: a
// proxy's hiccup passes, a wrong address does not.
const badAnswerTries = 3

// Retry asks again after faults that may pass: with doubled waits and jitter,
// or as long as the provider wished. Each try after the first is announced by
// a Retrying event, and by an Asking once the wait is over.
func Retry(m llm.Model, opts RetryOptions) llm.Model {
	opts.Tries, opts.Base, opts.Patience = cmp.Or(opts.Tries, 6), cmp.Or(opts.Base, time.Second), cmp.Or(opts.Patience, time.Hour)
	if opts.Random == nil {
		opts.Random = rand.Float64
	}
	if opts.Sleep == nil {
		opts.Sleep = llm.Sleep
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &retrying{next: m, opts: opts}
}

type retrying struct {
	next llm.Model
	opts RetryOptions
}

func (r *retrying) Ask(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		begin := r.opts.Now()
		tries := map[llm.FaultKind]int{}
		before := req.Waited[r.opts.Name]
		waited := before // because the rate is limited
		if left := req.Left[r.opts.Name]; left > 0 {
			limited := &llm.Fault{Kind: llm.RateLimited, Provider: providerOf(r.opts.Name), RetryAfter: left}
			waited += left
			if !r.rest(ctx, yield, llm.Retrying{Attempt: 1, Wait: left, Of: 2, Cause: limited}) {
				return
			}
		}
		for attempt := 1; ; attempt++ {
			fault, done := forward(r.next.Ask(ctx, req), yield)
			if done {
				return
			}
			tries[fault.Kind]++
			var wait time.Duration
			var again bool
			of := r.opts.Tries + tries[llm.RateLimited]
			if fault.Kind == llm.RateLimited {
				wait, again = r.limited(fault, tries[fault.Kind], waited)
				waited += wait
				of = attempt + 1 + int((r.opts.Patience-waited)/max(wait, time.Second))
			} else {
				wait, again = r.wait(fault, attempt-tries[llm.RateLimited], tries[fault.Kind], r.opts.Now().Sub(begin)-(waited-before))
			}
			if !again {
				yield(nil, fault)
				return
			}
			if !r.rest(ctx, yield, llm.Retrying{Attempt: attempt, Wait: wait, Of: of, Cause: fault}) {
				return
			}
		}
	}
}

// rest tells of a wait, waits, and tells that it is over; false ends the request.
func (r *retrying) rest(ctx context.Context, yield func(llm.Event, error) bool, ev llm.Retrying) bool {
	ev.Until = r.opts.Now().Add(ev.Wait)
	if !yield(ev, nil) {
		return false
	}
	if err := r.opts.Sleep(ctx, ev.Wait); err != nil {
		yield(nil, err)
		return false
	}
	return yield(llm.Asking{}, nil)
}

// forward hands an answer's events on. It returns the fault that the answer
// ended in, or done where there is nothing more to do: it succeeded, the
// caller left, or the error is no fault.
func forward(seq iter.Seq2[llm.Event, error], yield func(llm.Event, error) bool) (fault *llm.Fault, done bool) {
	for ev, err := range seq {
		if err == nil {
			if !yield(ev, nil) {
				return nil, true
			}
			continue
		}
		if errors.As(err, &fault) {
			return fault, false
		}
		yield(nil, err)
		return nil, true
	}
	return nil, true
}

// wait decides whether to try again after the attempt-th try, and when.
func (r *retrying) wait(f *llm.Fault, attempt, same int, spent time.Duration) (time.Duration, bool) {
	if !f.Retryable() || attempt >= r.opts.Tries || f.Kind == llm.BadAnswer && same >= badAnswerTries {
		return 0, false
	}
	if f.RetryAfter > 0 {
		return f.RetryAfter, f.RetryAfter <= longestWish
	}
	wait := r.backoff(attempt)
	if f.Kind == llm.RefusedConnection && (same >= refusedTries || spent+wait > refusedWithin) {
		return 0, false
	}
	return wait, true
}

// limited is how long to wait for a provider that limits the rate, the n-th time in this
// request, and whether that is still within patience.
func (r *retrying) limited(f *llm.Fault, n int, waited time.Duration) (time.Duration, bool) {
	wait := f.RetryAfter
	if wait <= 0 {
		wait = r.backoff(n)
	}
	return wait, waited+wait <= r.opts.Patience
}

// backoff is a wait of our own, the n-th: doubled, with jitter.
func (r *retrying) backoff(n int) time.Duration {
	wait := longestWait
	if shift := n - 1; shift < 30 {
		wait = min(longestWait, r.opts.Base<<shift)
	}
	return wait/2 + time.Duration(r.opts.Random()*float64(wait/2))
}

// providerOf is the provider of a model that is named with it.
func providerOf(model string) string {
	name, _, _ := strings.Cut(model, "/")
	return name
}
