package session

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"agency/internal/agency"
	"agency/internal/brief"
	"agency/internal/llm"
	"agency/internal/registry"
	"agency/internal/store"
	"agency/internal/tool"
)

// load reads what is stored. A part that has ended gives its outcome.
func (c *conversation) load(ctx context.Context) (*Outcome, error) {
	var ended *Outcome
	err := c.r.o.DB.Read(ctx, func(s *store.Snapshot) error {
		var system, tools agency.Hash
		var doc string
		var parts int
		err := s.QueryRow(`SELECT system, tools, max_output, model, state, parts FROM session WHERE id = ?`, string(c.id)).
			Scan(&system, &tools, &c.req.MaxOutput, &c.req.Model, &doc, &parts)
		if errors.Is(err, sql.ErrNoRows) {
			return c.missing()
		}
		if err != nil {
			return err
		}
		if ended, err = c.outcome(s, parts); err != nil || ended != nil {
			return err
		}
		c.stored = true
		if err := json.Unmarshal([]byte(doc), &c.st); err != nil {
			return fmt.Errorf("state: %w", err)
		}
		return errors.Join(c.loadPrompt(s, system, tools), c.loadMessages(s), c.loadTurn(s))
	})
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", c.id, err)
	}
	return ended, nil
}

// missing is a session without a row: fine for its first part only.
func (c *conversation) missing() error {
	if c.spec.Part > 1 {
		return agency.Errorf(agency.KindConflict, "part %d before part 1", c.spec.Part)
	}
	return nil
}

// outcome is how the part ended, nil where it did not.
func (c *conversation) outcome(s *store.Snapshot, parts int) (*Outcome, error) {
	if c.spec.Part > parts+1 {
		return nil, agency.Errorf(agency.KindConflict, "part %d, but only %d parts have ended", c.spec.Part, parts)
	}
	last := min(c.spec.Part, parts)
	if last == 0 {
		return nil, nil
	}
	var doc string
	err := s.QueryRow(`SELECT outcome FROM session_part WHERE session_id = ? AND part = ?`, string(c.id), last).Scan(&doc)
	if err != nil {
		return nil, err
	}
	var out Outcome
	if err := json.Unmarshal([]byte(doc), &out); err != nil {
		return nil, err
	}
	if last == c.spec.Part {
		return &out, nil
	}
	if out.Kind != Parked && (out.Kind != Claimed || c.spec.Answer == nil) {
		return nil, agency.Errorf(agency.KindConflict, "part %d, but part %d ended as %s", c.spec.Part, last, out.Kind)
	}
	return nil, nil
}

// loadPrompt reads the prompt as it was rendered; tools that are those of this
// version are shared with the other sessions.
func (c *conversation) loadPrompt(s *store.Snapshot, system, tools agency.Hash) error {
	text, err := s.Blob(system)
	if err != nil {
		return err
	}
	c.req.System, c.req.Session = string(text), string(c.id)
	raw, err := s.Blob(tools)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, &c.req.Tools)
}

func (c *conversation) loadMessages(s *store.Snapshot) error {
	rows, err := s.Query(`SELECT blob FROM session_message WHERE session_id = ? AND seq >= ? ORDER BY seq`, string(c.id), c.st.First)
	if err != nil {
		return err
	}
	var blobs []agency.Hash
	for rows.Next() {
		var h agency.Hash
		if err := rows.Scan(&h); err != nil {
			return errors.Join(err, rows.Close())
		}
		blobs = append(blobs, h)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	c.used = map[string]bool{}
	for _, h := range blobs {
		data, err := s.Blob(h)
		if err != nil {
			return err
		}
		var m llm.Message
		if err := json.Unmarshal(data, &m); err != nil {
			return err
		}
		c.append(m)
	}
	return nil
}

// append adds a message to the request in memory.
func (c *conversation) append(m llm.Message) {
	c.req.Messages = append(c.req.Messages, m)
	for _, u := range m.Calls() {
		c.used[u.ID] = true
	}
}

// loadTurn reads the open turn.
func (c *conversation) loadTurn(s *store.Snapshot) error {
	t := turn{n: c.st.Turn + 1}
	var write int64
	err := s.QueryRow(`SELECT try, phase, stop, said, model, tokens_in, tokens_cached, tokens_write, tokens_out, cost, unpriced, estimated
		FROM session_turn WHERE session_id = ? AND turn = ?`, string(c.id), t.n).
		Scan(&t.try, &t.phase, &t.stop, &t.said, &t.model, &t.usage.In, &t.usage.Cached, &write, &t.usage.Out, &t.cost, &t.unpriced, &t.usage.Estimated)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	t.usage.CacheWrite = write
	if t.phase == phaseAnswered && t.said {
		t.call.Message = c.req.Messages[len(c.req.Messages)-1]
	}
	if err == nil && t.phase == phaseAnswered {
		t.tries, err = c.loadTries(s, t.n)
	}
	c.turn = t
	return err
}

// resume makes the workspace what it was before the open turn acted on it, and
// puts the answer of a parked session into its place.
func (c *conversation) resume(ctx context.Context) error {
	if string(c.kit.json) == string(mustJSON(c.req.Tools)) {
		c.req.Tools = c.kit.shown
	}
	var contract agency.Contract
	err := c.r.o.DB.Read(ctx, func(s *store.Snapshot) error {
		var err error
		contract, err = registry.Contract(s, c.spec.Run, c.spec.Contract)
		return err
	})
	if err != nil {
		return err
	}
	c.criteria = ids(contract)
	if c.turn.phase == phaseAnswered && c.st.Tree != "" && c.writes(c.turn.call.Calls()) {
		if err := c.desk.Tree.Restore(ctx, c.st.Tree); err != nil {
			return err
		}
	}
	if a := c.spec.Answer; a != nil && a.Moved && c.st.Open != nil {
		if c.st.Tree, err = c.desk.Tree.Snapshot(ctx); err != nil && agency.KindOf(err) != agency.KindInvalid {
			return err
		}
	}
	return c.takeAnswer()
}

func mustJSON(v []llm.Tool) []byte {
	b, err := json.Marshal(v)
	if err != nil { // came from JSON
		return nil
	}
	return b
}

const noAnswer = "No answer was given. Go on with your own judgement, and say in your evidence what you assumed."

// takeAnswer completes the results of the turn that parked the session.
func (c *conversation) takeAnswer() error {
	if c.st.Open == nil {
		return nil
	}
	text := noAnswer
	if a := c.spec.Answer; a != nil && (a.ToolUse == c.st.Waits || a.ToolUse == "") {
		text, c.replyID = a.Text, a.Message
		if a.Message != "" {
			text = tool.Cap(text, tool.MaxResult)
		}
		if a.Review != nil {
			var err error
			if text, err = brief.ReviewFeedback(*a.Review, a.Left); err != nil {
				return err
			}
		}
	}
	m := *c.st.Open
	for i, b := range m.Blocks {
		r, ok := b.(llm.ToolResult)
		switch {
		case ok && len(c.st.Asks) > 0:
			m.Blocks[i] = c.replied(r)
		case ok && r.ID == c.st.Waits:
			r.Text = text
			m.Blocks[i] = r
		}
	}
	packed, err := c.pack(m)
	if err != nil {
		return err
	}
	c.st.Open, c.st.Waits, c.st.Asks = nil, "", nil
	c.queue(packed)
	return nil
}
