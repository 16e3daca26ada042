package failover

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"agency/internal/llm"
)

// Named is one entry of a fallback list.
type Named struct {
	Name     string // provider/model, as configured
	Provider string // configured name of the provider
	ID       string // the provider's own name of the model; put in Request.Model. Reasoning of others is dropped
	Model    llm.Model
	Sees     bool // it is sent pictures; else words in their place
}

// FallbackOptions tune Fallback; the zero value is ready for use.
type FallbackOptions struct {
	// Rest is how long a model that failed is passed over; default 10 min, so
	// that a provider that is down costs its tries once and not every turn.
	Rest time.Duration
	Now  func() time.Time // default time.Now
}

// Fallback asks the first model of the list and, when it ends in a fault of
// any kind, the next. Each is usually wrapped in Retry. When all fail, the
// error is the last fault. Asking says who is asked, also where a model that
// rests is passed over, and Answer.By who answered.
func Fallback(models []Named, opts FallbackOptions) (llm.Model, error) {
	if len(models) == 0 {
		return nil, fmt.Errorf("fallback list is empty")
	}
	if opts.Rest <= 0 {
		opts.Rest = 10 * time.Minute
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &fallback{models: models, opts: opts, until: make([]time.Time, len(models))}, nil
}

type fallback struct {
	models []Named
	opts   FallbackOptions
	mu     sync.Mutex
	until  []time.Time // when a rested model may be asked again
}

func (f *fallback) Ask(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		order := f.order()
		var fault, first *llm.Fault
		for n, i := range order {
			m := f.models[i]
			if !yield(llm.Asking{Model: m.Name, After: fault}, nil) {
				return
			}
			asked := m.adapt(req)
			var done bool
			if fault, done = forward(m.Model.Ask(ctx, asked), m.sign(yield)); done {
				return
			}
			if fault.Kind == llm.InvalidRequest && llm.Pictured(asked.Messages) {
				// A picture that this model cannot read would end the conversation that it is in.
				if !yield(llm.Asking{Model: m.Name, After: fault}, nil) {
					return
				}
				asked.Messages = llm.Blind(asked.Messages)
				if fault, done = forward(m.Model.Ask(ctx, asked), m.sign(yield)); done {
					return
				}
			}
			if fault.Kind != llm.ContextOverflow { // the request is at fault, not the model
				f.rest(i)
			}
			if n == len(order)-1 {
				yield(nil, after(first, *fault))
				return
			}
			if first == nil {
				first = fault
			}
		}
	}
}

// after is the fault of the last model, which says first why it was asked at all.
func after(first *llm.Fault, last llm.Fault) *llm.Fault {
	if first != nil {
		last.After, last.Mend = first, cmp.Or(first.Mend, last.Mend)
	}
	return &last
}

// order lists the models at hand in the order of the list, then the resting
// ones: a bad chance is better than none.
func (f *fallback) order() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.opts.Now()
	var fresh, resting []int
	for i := range f.models {
		if f.until[i].After(now) {
			resting = append(resting, i)
		} else {
			fresh = append(fresh, i)
		}
	}
	return append(fresh, resting...)
}

func (f *fallback) rest(i int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.until[i] = f.opts.Now().Add(f.opts.Rest)
}

// sign puts the entry's name to what says who is asked and who answered.
func (n Named) sign(yield func(llm.Event, error) bool) func(llm.Event, error) bool {
	return func(ev llm.Event, err error) bool {
		switch e := ev.(type) {
		case llm.Asking:
			e.Model = n.Name
			ev = e
		case llm.Done:
			e.Answer.By = n.Name
			ev = e
		}
		return yield(ev, err)
	}
}

// adapt is the request as this model may see it.
func (n Named) adapt(req llm.Request) llm.Request {
	if n.ID != "" {
		req.Model = n.ID
	}
	req.Messages = dropForeign(req.Messages, n.Provider, req.Model)
	if !n.Sees {
		req.Messages = llm.Blind(req.Messages)
	}
	return req
}

// dropForeign leaves out the reasoning blocks of other models, which would be
// refused. It copies only where there is something to leave out.
func dropForeign(messages []llm.Message, provider, model string) []llm.Message {
	foreign := func(b llm.Block) bool {
		r, ok := b.(llm.Reasoning)
		return ok && !r.By(provider, model)
	}
	out, copied := messages, false
	for i, m := range messages {
		if !slices.ContainsFunc(m.Blocks, foreign) {
			continue
		}
		if !copied {
			out, copied = slices.Clone(messages), true
		}
		out[i].Blocks = slices.DeleteFunc(slices.Clone(m.Blocks), foreign)
	}
	return out
}
