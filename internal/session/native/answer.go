package native

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"agency/internal/budget"
	"agency/internal/llm"
	"agency/internal/session"
	"agency/internal/session/record"
	"agency/internal/store"
	"agency/internal/tool"
)

// persist stores an answer and what it cost, before anything acts on it, also
// when the host is going down.
func (c *conversation) persist(ctx context.Context, a asked, took time.Duration) error {
	t := c.turn
	m, err := c.pack(c.sealed(c.tidy(a.Message)))
	if err != nil {
		return err
	}
	t.Phase, t.Stop, t.Model, t.Usage, t.call = record.Answered, a.Stop, a.By, a.Usage, m
	t.Said = len(m.Calls()) > 0 || m.Words() != ""
	x := executor{c}
	first := x.first(x.plan(m.Calls()))
	bill := c.Setup.Prices.Bill(a.By, a.Model, a.Usage)
	t.Cost, t.Unpriced = bill.Cost, bill.Unpriced
	st := c.st
	st.charge(a.Answer)
	var stored state
	wall := took + st.Carry
	st.Work, st.Carry, st.Limited = st.Work+took, 0, nil
	if t.Said {
		st.Bytes += llm.Bytes(llm.Request{Messages: []llm.Message{m.Message}})
	}
	err = c.Write(store.Needed(context.WithoutCancel(ctx)), func(tx *store.Tx) error {
		if err := budget.Settle(tx, c.Spec.Run, c.key(t), bill, wall); err != nil {
			return err
		}
		w := &draft{c: c, tx: tx, st: st}
		if err := w.switched(a.By); err != nil {
			return err
		}
		doc, err := json.Marshal(w.st)
		if err != nil {
			return err
		}
		if t.Said {
			if err := record.AppendMessage(tx, c.id, c.st.First+len(c.req.Messages), t.N, m.data, false); err != nil {
				return err
			}
		}
		if err := record.AnswerTurn(tx, c.id, t.Turn); err != nil {
			return err
		}
		if err := record.BeginCalls(tx, c.id, t.N, first); err != nil {
			return err
		}
		stored = w.st
		return record.Save(tx, c.id, doc, w.st.epoch(), c.Spec.Part-1)
	})
	if err != nil {
		return err
	}
	t.fresh, t.tries = true, map[int]int{}
	for _, i := range first {
		t.tries[i] = 1
	}
	c.st, c.turn = stored, t
	if t.Said {
		c.append(m.Message)
	}
	return c.r.o.between("answered")
}

// maxText is the most bytes of one text block that a transcript keeps.
const maxText = 256 << 10

// tidy makes an answer fit for the transcript: ids of calls are there and
// unique in the conversation, texts have a bound, empty ones are left out.
func (c *conversation) tidy(m llm.Message) llm.Message {
	seen := map[string]bool{}
	out := llm.Message{Role: llm.Assistant}
	for i, b := range m.Blocks {
		switch b := b.(type) {
		case llm.Text:
			if b.Text == "" {
				continue
			}
			b.Text = tool.Cap(b.Text, maxText)
			out.Blocks = append(out.Blocks, b)
		case llm.ToolUse:
			if b.ID == "" || c.used[b.ID] || seen[b.ID] {
				b.ID = fmt.Sprintf("call_%d_%d", c.turn.N, i)
			}
			seen[b.ID] = true
			out.Blocks = append(out.Blocks, b)
		default:
			out.Blocks = append(out.Blocks, b)
		}
	}
	return out
}

// end ends the part outside of a turn's commit: a request that is still open
// is charged.
func (c *conversation) end(ctx context.Context, out session.Outcome) (session.Outcome, error) {
	return c.endBy(ctx, func(*store.Tx) (*session.Outcome, error) { return &out, nil })
}

func (c *conversation) endBy(ctx context.Context, how func(*store.Tx) (*session.Outcome, error)) (session.Outcome, error) {
	var w *draft
	err := c.Write(store.Needed(context.WithoutCancel(ctx)), func(tx *store.Tx) (err error) {
		w = &draft{c: c, tx: tx, st: c.st, turn: c.turn}
		if w.end, err = how(tx); err != nil {
			return err
		}
		if c.turn.Phase == record.Asked {
			if err := budget.Charge(tx, c.Spec.Run, c.key(c.turn), budget.Bill{}); err != nil {
				return err
			}
		}
		return w.save()
	})
	if err != nil {
		return session.Outcome{}, err
	}
	return *w.end, nil
}

// heldSecret is why a stored call does not run: what is stored of its arguments
// is not what the model wrote.
const heldSecret = "the arguments contained a secret of the host"

// sealed marks the calls of an answer whose arguments hold a secret, before it
// is stored without it: neither now nor after a crash may a call run with other
// arguments than were asked for.
func (p *part) sealed(m llm.Message) llm.Message {
	for i, b := range m.Blocks {
		u, ok := b.(llm.ToolUse)
		if !ok || !p.holdsSecret(u.Args) {
			continue
		}
		u.Args, u.Invalid = p.DB.Redact(plainArgs(u.Args)), heldSecret
		if !json.Valid(u.Args) {
			u.Args = json.RawMessage("{}")
		}
		m.Blocks[i] = u
	}
	return m
}

// holdsSecret tells whether arguments hold a secret, however they are written.
func (p *part) holdsSecret(args json.RawMessage) bool {
	plain := plainArgs(args)
	return !bytes.Equal(p.DB.Redact(plain), plain)
}

// plainArgs writes arguments without the escapes that a model may choose. What
// is no JSON is refused as such.
func plainArgs(args json.RawMessage) json.RawMessage {
	var v any
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return args
	}
	plain, err := json.Marshal(v)
	if err != nil {
		return args
	}
	return plain
}
