package native

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"agency/internal/agency"
	"agency/internal/brief"
	"agency/internal/llm"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/session/record"
	"agency/internal/store"
	"agency/internal/tool"
)

// load reads what is stored. A part that has ended gives its outcome.
func (c *conversation) load(ctx context.Context) (*session.Outcome, error) {
	var ended *session.Outcome
	err := c.DB.Read(ctx, func(s *store.Snapshot) (err error) {
		var row record.Session
		row, ended, c.stored, err = record.Resume(s, c.Spec)
		if err != nil || ended != nil || !c.stored {
			return err
		}
		if err := json.Unmarshal(row.State, &c.st); err != nil {
			return fmt.Errorf("state: %w", err)
		}
		if o := c.st.Open; o != nil {
			if err := o.Fill(s.Blob); err != nil {
				return err
			}
		}
		c.lost, c.st.Background = c.st.Background, nil
		c.req = llm.Request{Model: row.Model, System: row.System, MaxOutput: row.MaxOutput, Session: string(c.id)}
		return errors.Join(json.Unmarshal(row.Tools, &c.req.Tools), c.loadMessages(s), c.loadTurn(s))
	})
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", c.id, err)
	}
	return ended, nil
}

func (c *conversation) loadMessages(s *store.Snapshot) error {
	all, err := record.Messages(s, c.id, c.st.First)
	c.used = map[string]bool{}
	for _, m := range all {
		c.append(m)
	}
	return err
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
	t, ok, err := record.ReadTurn(s, c.id, c.st.Turn+1)
	if err != nil || !ok {
		return err
	}
	c.turn.Turn = t
	if t.Phase != record.Answered {
		return nil
	}
	if t.Said {
		c.turn.call.Message = c.req.Messages[len(c.req.Messages)-1]
	}
	c.turn.tries, err = record.Tries(s, c.id, t.N)
	return err
}

// resume makes the workspace what it was before the open turn acted on it, and
// puts the answer of a parked session into its place.
func (c *conversation) resume(ctx context.Context) error {
	if stored, err := json.Marshal(c.req.Tools); err == nil && bytes.Equal(stored, c.kit.json) {
		c.req.Tools = c.kit.shown // shared with the other sessions
	}
	var contract agency.Contract
	err := c.DB.Read(ctx, func(s *store.Snapshot) error {
		var err error
		contract, err = registry.Contract(s, c.Spec.Run, c.Spec.Contract)
		return err
	})
	if err != nil {
		return err
	}
	c.criteria, c.Account.Priority = contract.AcceptanceCriteria, contract.Priority
	if c.turn.Phase == record.Answered && c.st.Tree != "" && (executor{c}).writes(c.turn.call.Calls()) {
		if err := c.tools.Tree.Restore(ctx, c.st.Tree); err != nil {
			return err
		}
	}
	if a := c.Spec.Answer; a != nil && a.Moved && c.st.Open != nil {
		if c.st.Tree, err = c.tools.Tree.Snapshot(ctx); err != nil && agency.KindOf(err) != agency.KindInvalid {
			return err
		}
	}
	return c.takeAnswer()
}

// former is a session of another contract, as far as it is gone on with.
type former struct {
	messages []llm.Message
	open     llm.Message // the results of its claim
	tools    []byte
	learnt   string // in the place of its words
}

// former reads the session that a person wants to go on; nil where there is none, or none
// that ended with a claim.
func (p *part) former(ctx context.Context) (f *former, err error) {
	id := p.Spec.GoesOn
	if id == "" {
		return nil, nil
	}
	err = p.DB.Read(ctx, func(s *store.Snapshot) error {
		row, ok, err := record.Find(s, id)
		if err != nil || !ok {
			return err
		}
		var st state
		if err := json.Unmarshal(row.State, &st); err != nil || st.Open == nil || len(st.Asks) > 0 {
			return err
		}
		f = &former{open: *st.Open, tools: row.Tools}
		if err := f.open.Fill(s.Blob); err != nil {
			return err
		}
		if f.messages, err = record.Messages(s, id, st.First); err != nil {
			return err
		}
		before, err := record.Summary(s, id)
		f.learnt = extract(before, f.messages)
		return err
	})
	return f, err
}

// wanted tells a conversation that goes on what a person wants now.
const wanted = "That contract has ended. A person has looked at it and wants it otherwise, or more: a new contract follows, which says what became of your work. Files may have changed since you saw them: read again what you edit."

// begin has a session begin with all that was said in the former one, where the half of the
// window holds it and the tools are the same.
func (f *former) begin(c *conversation, told llm.Message) (fits bool, err error) {
	say := f.open
	say.Blocks = append(slices.Clone(say.Blocks), llm.Text{Text: wanted})
	say.Blocks = append(say.Blocks, told.Blocks[1:min(2, len(told.Blocks))]...) // its contract: what comes before that it knows
	all := append(slices.Clone(f.messages), say)
	if !bytes.Equal(f.tools, c.kit.json) || llm.Bytes(llm.Request{Messages: all}) > c.room() {
		return false, nil
	}
	for i, m := range all {
		p, err := c.pack(m)
		if err != nil {
			return false, err
		}
		p.copied = i < len(all)-1
		c.queue(p)
	}
	return true, nil
}

const noAnswer = "No answer was given. Go on with your own judgement, and say in your evidence what you assumed."

// takeAnswer completes the results of the turn that parked the session.
func (c *conversation) takeAnswer() error {
	if c.st.Open == nil {
		return nil
	}
	text := noAnswer
	if a := c.Spec.Answer; a != nil && (a.ToolUse == c.st.Waits || a.ToolUse == "") {
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
	say := ""
	if a := c.Spec.Answer; a != nil {
		say = a.Say
	}
	for i, b := range m.Blocks {
		r, ok := b.(llm.ToolResult)
		switch {
		case ok && len(c.st.Asks) > 0:
			m.Blocks[i] = c.replied(r)
		case ok && r.ID == c.st.Waits && say == "":
			r.Text = text
			m.Blocks[i] = r
		}
	}
	switch {
	case say != "":
		m.Blocks = append(m.Blocks, llm.Text{Text: tool.Cap(say, tool.MaxResult)})
	case len(m.Blocks) == 0: // it claimed without a call, whose result this would be
		m.Blocks = append(m.Blocks, llm.Text{Text: text})
	}
	packed, err := c.pack(m)
	if err != nil {
		return err
	}
	c.st.Open, c.st.Waits, c.st.Asks = nil, "", nil
	c.queue(packed)
	return nil
}

// replied is the result of a call for which the session was parked; the draft of
// a contract that was started is forgotten.
func (c *conversation) replied(r llm.ToolResult) llm.ToolResult {
	at := slices.IndexFunc(c.st.Asks, func(a session.AgentsAsk) bool { return a.ToolUse == r.ID })
	if at < 0 {
		return r
	}
	r.Text = noAnswer
	if c.Spec.Answer == nil {
		return r
	}
	for _, reply := range c.Spec.Answer.Replies {
		if reply.ToolUse != r.ID {
			continue
		}
		r.Text, r.IsError = tool.Cap(reply.Text, tool.MaxResult), reply.Refused
		if started := c.st.Asks[at].Spawn; started != nil && !reply.Refused {
			c.st.Drafts = slices.DeleteFunc(slices.Clone(c.st.Drafts), func(o agency.Contract) bool { return o.ID == started.ID })
		}
	}
	return r
}
