package native

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"agency/internal/agency"
	"agency/internal/llm"
	"agency/internal/roster"
	"agency/internal/session"
	"agency/internal/session/briefing"
	"agency/internal/session/record"
	"agency/internal/store"
)

// part is what stays the same while a part of a session runs.
type part struct {
	*session.Part
	r  *Runner
	id agency.SessionID

	lineup   session.Lineup
	role     roster.Role
	kit      *kit
	tools    *session.Toolset
	criteria []agency.Criterion // of the contract
	window   window
}

// conversation is one session in memory while a part of it runs. What it holds
// is what is stored; it changes only after the commit that stores it.
type conversation struct {
	*part

	stored bool // the session's row exists
	st     state
	turn   turn // open, or the zero turn
	req    llm.Request
	used   map[string]bool // ids of tool calls

	pending []message // for the next commit
	// dear is a model that was to be asked in the place of the first and that the
	// budget did not hold.
	dear string
	// lost are the background commands of the part before, which the agent takes for going on.
	lost []string
	// replyID is the message that is shown as a call's result by the next commit.
	replyID agency.MessageID
}

// newConversation makes one of which nothing is known but its spec.
func newConversation(r *Runner, p *session.Part) *conversation {
	write := p.Write
	p.Write = func(ctx context.Context, fn func(*store.Tx) error) error {
		if err := r.o.between("commit"); err != nil {
			return err
		}
		return write(ctx, fn)
	}
	return &conversation{part: &part{Part: p, r: r, id: p.Spec.ID()}}
}

// turn is the open turn.
type turn struct {
	record.Turn
	out  int64   // tokens that the answer may have, in phase Asked
	call message // the model's answer, in phase Answered
	// tries is how often calls have begun and not ended, by their index; fresh
	// says that the first ones were counted with the answer just now.
	tries map[int]int
	fresh bool
}

// message is a message with the bytes under which it is stored.
type message struct {
	llm.Message
	data   []byte
	copied bool // another session's, with which this one goes on
}

// pack gives a message the form in which it is stored and sent: without
// secrets, equal to what a later process reads back, and with words in the place of
// pictures where no model sees them.
func (p *part) pack(m llm.Message) (message, error) {
	if !p.lineup.Sees {
		m = llm.Blind([]llm.Message{m})[0]
	}
	shown := map[agency.Hash][]byte{}
	for _, i := range m.Pictures() {
		shown[i.Hash] = i.Data
	}
	data, err := json.Marshal(m)
	if err != nil {
		return message{}, err
	}
	if clean := p.DB.Redact(data); !bytes.Equal(clean, data) {
		data = clean
		if err := json.Unmarshal(data, &m); err != nil {
			return message{}, fmt.Errorf("redacted message: %w", err)
		}
		if err := m.Fill(func(h agency.Hash) ([]byte, error) { return shown[h], nil }); err != nil {
			return message{}, err
		}
	}
	return message{Message: m, data: data}, nil
}

// join gets the models, as they are chosen now.
func join(ctx context.Context, c *conversation) (err error) {
	if c.lineup, err = c.r.o.Host.Lineup(ctx, c.Spec); err != nil {
		return err
	}
	c.dear, c.window = "", window{configured: c.lineup.Window, answer: cmp.Or(c.Setup.Limits.MaxOutput, c.lineup.Output)}
	if err := c.recall(ctx); err != nil {
		return err
	}
	if c.stored && c.req.Model != c.lineup.Names[0] { // it may take other lengths than the one before
		c.req.Model, c.req.MaxOutput = c.lineup.Names[0], c.window.output()
	}
	return nil
}

// rejoin gets the models anew where a person has chosen others: the next request is
// reserved for them.
func rejoin(ctx context.Context, c *conversation) error {
	if c.lineup.Stale == nil || !c.lineup.Stale() {
		return nil
	}
	return join(ctx, c)
}

// open gets the models and the toolset; a new session gets its brief.
func (c *conversation) open(ctx context.Context) error {
	var err error
	if err = join(ctx, c); err != nil {
		return err
	}
	if c.role, err = roster.Find(c.Spec.Role); err != nil {
		return err
	}
	if c.tools, err = c.r.o.Host.Toolset(ctx, c.Spec); err != nil {
		return err
	}
	c.kit, err = kitOf(c)
	if err == nil {
		if c.stored {
			err = c.resume(ctx)
		} else {
			err = c.begin(ctx)
		}
	}
	if err != nil {
		c.tools.Close()
	}
	return err
}

// briefing is what the agent is told from the store.
func (c *conversation) briefing() briefing.Briefing {
	return briefing.Briefing{Part: c.Part, Role: c.role, Tools: c.tools, MailRoom: int(c.window.tokens()) / 4}
}

// room is how many bytes the messages may have with which a conversation begins or
// goes on: half of what the window leaves, and half again for each compaction that was
// not enough.
func (c *conversation) room() int64 {
	left := (c.window.tokens()-c.window.output())*3 - llm.Bytes(llm.Request{System: c.req.System, Tools: c.req.Tools})
	return max(0, left/2>>c.st.Compactions)
}

// begin renders the prompt; the first commit stores it.
func (c *conversation) begin(ctx context.Context) error {
	b := c.briefing()
	system, err := b.System()
	if err != nil {
		return err
	}
	c.req = llm.Request{
		Model: c.lineup.Names[0], System: system, Tools: c.kit.shown, MaxOutput: c.window.output(), Session: string(c.id),
	}
	before, err := c.former(ctx)
	if err != nil {
		return err
	}
	said, facts, tree, err := b.Begin(ctx, c.room())
	if err != nil {
		return err
	}
	fits := false
	if before != nil {
		if fits, err = before.begin(c, said); err == nil && !fits {
			said, err = b.Learnt(ctx, facts, before.learnt, c.room())
		}
	}
	if err == nil && !fits {
		var first message
		first, err = c.pack(said)
		c.queue(first)
	}
	if err != nil {
		return err
	}
	c.criteria, c.Account.Priority, c.st.Tree = facts.Contract.AcceptanceCriteria, facts.Contract.Priority, tree
	c.st.Bytes = llm.Bytes(c.req)
	c.used = map[string]bool{}
	return nil
}

// loop is the session: ask, persist, act, settle, until a commit says that the
// part has ended.
func (c *conversation) loop(ctx context.Context) (session.Outcome, error) {
	for {
		if err := rejoin(ctx, c); err != nil {
			return session.Outcome{}, err
		}
		var d *done
		if c.turn.Phase == record.Answered {
			var err error
			if d, err = (executor{c}).act(ctx); err != nil {
				return session.Outcome{}, err
			}
		}
		next := c.Account.Bell.Next()
		out, err := c.commit(ctx, d)
		if err != nil || out != nil {
			return orZero(out), err
		}
		if c.st.Due != nil {
			if out, err := (compactor{c}).compact(ctx); err != nil || out != nil {
				return orZero(out), err
			}
			continue
		}
		if c.turn.Phase != record.Asked {
			if err := c.Account.Wait(ctx, next); err != nil {
				return session.Outcome{}, err
			}
			continue
		}
		if out, err = (asker{c}).ask(ctx); err != nil || out != nil {
			return orZero(out), err
		}
	}
}

// interrupted turns the end of a context into what it means. Everything else
// stays an error: the same part goes on later.
func (c *conversation) interrupted(ctx context.Context, err error) (session.Outcome, error) {
	switch cancelled := errors.Is(context.Cause(ctx), session.ErrCancelled); {
	case cancelled && c.stored:
		return c.end(ctx, session.Cancelled(""))
	case cancelled:
		return session.Cancelled(""), nil
	case ctx.Err() != nil:
		return session.Outcome{}, context.Cause(ctx)
	}
	return session.Outcome{}, err
}

// incomplete ends the part with a named cause.
func (c *conversation) incomplete(ctx context.Context, cause session.Cause, detail string) (*session.Outcome, error) {
	out, err := c.end(ctx, *session.Unfinished(cause, detail, c.st.Tree))
	return &out, err
}
