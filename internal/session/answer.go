package session

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"agency/internal/budget"
	"agency/internal/llm"
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
	t.phase, t.stop, t.model, t.usage, t.call = phaseAnswered, a.Stop, a.By, a.Usage, m
	t.said = len(m.Calls()) > 0 || m.Words() != ""
	first := c.first(c.plan(m.Calls()))
	bill := c.setup.Prices.Bill(a.By, a.Model, a.Usage)
	t.cost, t.unpriced = bill.Cost, bill.Unpriced
	st := c.st
	st.charge(a.Answer)
	var stored state
	wall := took + st.Carry
	st.Work, st.Carry = st.Work+took, 0
	if t.said {
		st.Bytes += llm.Bytes(llm.Request{Messages: []llm.Message{m.Message}})
	}
	err = c.write(store.Needed(context.WithoutCancel(ctx)), func(tx *store.Tx) error {
		if err := budget.Settle(tx, c.spec.Run, c.key(t), bill, wall); err != nil {
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
		if t.said {
			if err := insertMessage(tx, c.id, c.st.First+len(c.req.Messages), t.n, m, false); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(`UPDATE session_turn SET phase = 'answered', stop = ?, said = ?, model = ?, tokens_in = ?, tokens_cached = ?,
			tokens_write = ?, tokens_out = ?, cost = ?, unpriced = ?, estimated = ? WHERE session_id = ? AND turn = ?`,
			string(t.stop), t.said, t.model, t.usage.In, t.usage.Cached, t.usage.CacheWrite, t.usage.Out, int64(t.cost), t.unpriced, t.usage.Estimated,
			string(c.id), t.n); err != nil {
			return err
		}
		if err := begun(tx, c.id, t.n, first); err != nil {
			return err
		}
		stored = w.st
		_, err = tx.Exec(`UPDATE session SET state = ? WHERE id = ?`, string(doc), string(c.id))
		return err
	})
	if err != nil {
		return err
	}
	t.fresh, t.tries = true, map[int]int{}
	for _, i := range first {
		t.tries[i] = 1
	}
	c.st, c.turn = stored, t
	if t.said {
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
				b.ID = fmt.Sprintf("call_%d_%d", c.turn.n, i)
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
func (c *conversation) end(ctx context.Context, out Outcome) (Outcome, error) {
	var w *draft
	err := c.write(store.Needed(context.WithoutCancel(ctx)), func(tx *store.Tx) error {
		w = &draft{c: c, tx: tx, st: c.st, turn: c.turn, end: &out}
		if c.turn.phase == phaseAsked {
			if err := budget.Charge(tx, c.spec.Run, c.key(c.turn), budget.Bill{}); err != nil {
				return err
			}
		}
		return w.save()
	})
	if err != nil {
		return Outcome{}, err
	}
	return *w.end, nil
}
