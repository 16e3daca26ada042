package rehearsal

import (
	"context"
	"iter"
	"time"

	"agency/internal/llm"
)

// Model is the player as an in-process llm.Model.
type Model struct {
	name   string
	player *Player
	opts   ModelOptions
}

// ModelOptions tune Model; the zero value is ready for use.
type ModelOptions struct {
	// Idle is how long a hang lasts before it is a timeout; default 2 min.
	Idle time.Duration
	// Sleep waits or returns the context's error; default a timer.
	Sleep func(context.Context, time.Duration) error
}

// NewModel wraps a player; name is the provider's configured name.
func NewModel(name string, p *Player, opts ModelOptions) *Model {
	if opts.Idle <= 0 {
		opts.Idle = 2 * time.Minute
	}
	if opts.Sleep == nil {
		opts.Sleep = llm.Sleep
	}
	return &Model{name: name, player: p, opts: opts}
}

// Ask plays one answer, with the script's latency; the context ends it.
func (m *Model) Ask(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		t := m.player.Play(req)
		said := t.said()
		first, each := t.Pace(len(said))
		if t.Fault != nil && t.Fault.Kind == FaultDrip {
			each += t.Fault.Over / time.Duration(max(1, len(said)))
			t.Fault = nil
		}
		if t.Fault != nil {
			yield(nil, m.fail(ctx, t))
			return
		}
		if err := m.opts.Sleep(ctx, first); err != nil {
			yield(nil, err)
			return
		}
		for i, s := range said {
			if i > 0 && each > 0 {
				if err := m.opts.Sleep(ctx, each); err != nil {
					yield(nil, err)
					return
				}
			}
			if !yield(s, nil) {
				return
			}
		}
		yield(llm.Done{Answer: m.answer(req, t)}, nil)
	}
}

// said is the answer in the pieces in which it is streamed.
func (t Take) said() (out []llm.Said) {
	say := func(kind llm.SaidKind, text string) {
		for _, piece := range t.Split(text) {
			out = append(out, llm.Said{Kind: kind, Text: piece})
		}
	}
	say(llm.SaidThinking, t.Reasoning)
	say(llm.SaidText, t.Text)
	for _, c := range t.Calls {
		out = append(out, llm.Said{Kind: llm.SaidCall, Text: c.Name})
		say(llm.SaidArgs, c.Args)
	}
	return out
}

// fail is a fault; of an answer that is cut nothing is seen here.
func (m *Model) fail(ctx context.Context, t Take) error {
	wait := t.Latency
	if t.Fault.Kind == FaultHang {
		wait = m.opts.Idle
	}
	if err := m.opts.Sleep(ctx, wait); err != nil {
		return err
	}
	f := &llm.Fault{Provider: m.name, Model: t.Model, Detail: "played by rule " + t.Rule, RetryAfter: t.Fault.RetryAfter}
	f.Kind, f.Status = t.Fault.Kind.canonical()
	return f
}

// canonical is what a fault is for llm, and the status it has over HTTP.
func (k FaultKind) canonical() (llm.FaultKind, int) {
	switch k {
	case FaultRateLimited:
		return llm.RateLimited, 429
	case FaultQuota:
		return llm.Quota, 429
	case FaultOverloaded:
		return llm.Overloaded, 529
	case FaultServer:
		return llm.Server, 500
	case FaultHang:
		return llm.Timeout, 0
	case FaultReset:
		return llm.Network, 0
	case FaultCutText, FaultCutCall:
		return llm.StreamCut, 0
	case FaultAuth:
		return llm.Auth, 401
	case FaultNoModel:
		return llm.ModelNotFound, 404
	case FaultOverflow:
		return llm.ContextOverflow, 400
	case FaultInvalid:
		return llm.InvalidRequest, 400
	}
	return llm.BadAnswer, 200
}

func (m *Model) answer(req llm.Request, t Take) llm.Answer {
	out := llm.Answer{Usage: t.Usage, CacheKnown: true, Model: t.Model}
	out.Message.Role = llm.Assistant
	if t.Reasoning != "" {
		out.Message.Blocks = append(out.Message.Blocks, llm.Reasoning{Provider: m.name, Model: req.Model, Text: t.Reasoning})
	}
	if t.Text != "" {
		out.Message.Blocks = append(out.Message.Blocks, llm.Text{Text: t.Text})
	}
	for _, u := range llm.FinishCalls(req, t.Calls) {
		out.Message.Blocks = append(out.Message.Blocks, u)
	}
	out.Stop = llm.FinishStop(t.Stop, out.Message.Blocks)
	return out
}
