package session

import (
	"context"

	"agency/internal/budget"
	"agency/internal/llm"
	"agency/internal/store"
)

// hold reserves the worst case of a try and records it. bytes is the size of
// the request.
func (c *conversation) hold(tx *store.Tx, t turn, bytes int64) error {
	in, out := llm.EstimateTokens(bytes), maxOutput(c.req)
	err := budget.Reserve(tx, c.spec.Run, budget.Request{
		Key: c.key(t), Node: budget.SessionNode(c.id), Tokens: in + out, Money: c.setup.worst(in, out),
		Agent: c.spec.Agent, Role: c.spec.Role, Tier: c.spec.Tier, Model: c.setup.Models[0], Contract: c.spec.Contract,
	})
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO session_turn (session_id, turn, try, phase) VALUES (?, ?, ?, 'asked')
		ON CONFLICT (session_id, turn) DO UPDATE SET try = excluded.try, phase = 'asked'`, string(c.id), t.n, t.try)
	return err
}

// again pays for a try whose answer was lost after the provider may have
// counted it, and reserves the next one: a provider that breaks off every
// answer is as dear as one that ends them. Where nothing is left for another
// try the error wraps *budget.Exhausted.
func (c *conversation) again(ctx context.Context) error {
	t := c.turn
	t.try++
	err := c.write(ctx, func(tx *store.Tx) error {
		if err := budget.Charge(tx, c.spec.Run, c.key(c.turn)); err != nil {
			return err
		}
		return c.hold(tx, t, c.st.Bytes)
	})
	if err == nil {
		c.turn = t
	}
	return err
}
