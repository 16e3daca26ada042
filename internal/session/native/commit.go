package native

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/llm"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/session/record"
	"agency/internal/store"
)

// draft is the conversation as a transaction will leave it. It becomes the
// conversation only after the commit.
type draft struct {
	c      *conversation
	tx     *store.Tx
	st     state
	turn   turn
	news   session.News  // mail that this commit shows
	out    []llm.Message // appended
	end    *session.Outcome
	edited []string // files that this commit makes known as changed
	// replied says that this commit shows the message that a call waited for.
	replied bool
}

// queue puts a message into the next commit.
func (c *conversation) queue(m message) { c.pending = append(c.pending, m) }

// commit settles the open turn, where d says what came of it, and opens the
// next one: its messages, the person's mail and the reservation are durable
// before the request is sent. An outcome means that the part ended instead.
func (c *conversation) commit(ctx context.Context, d *done) (*session.Outcome, error) {
	if d != nil && d.say != nil {
		m, err := c.pack(*d.say)
		if err != nil {
			return nil, err
		}
		c.queue(m)
	}
	if err := c.Account.Look(ctx); err != nil {
		return nil, err
	}
	var w *draft
	err := c.Write(ctx, func(tx *store.Tx) error {
		w = &draft{c: c, tx: tx, st: c.st, turn: c.turn}
		return w.fill(d)
	})
	if err != nil {
		return nil, err
	}
	c.adopt(w)
	return w.end, c.r.o.between("committed")
}

// adopt makes a committed draft the conversation.
func (c *conversation) adopt(w *draft) {
	c.stored, c.st, c.turn, c.pending = true, w.st, w.turn, nil
	c.Presence.Joined()
	c.Edits.Noted(w.edited)
	if w.replied {
		c.replyID = ""
	}
	c.lost = nil // told, or left to the next part
	for _, m := range w.out {
		c.append(m)
	}
}

// fill writes the draft's transaction.
func (w *draft) fill(d *done) error {
	if !w.c.stored {
		if err := w.create(); err != nil {
			return err
		}
	}
	if err := w.c.Presence.Join(w.tx); err != nil {
		return err
	}
	if d != nil {
		if err := w.settle(d); err != nil {
			return err
		}
	}
	for _, step := range []func() error{w.loseTry, w.reply, w.stopped, w.mail, w.warn, w.say, w.reserve, w.save} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// create inserts the session with its rendered prompt.
func (w *draft) create() error {
	req := w.c.req
	return record.Begin(w.tx, w.c.Part, record.Session{Model: req.Model, System: req.System, Tools: w.c.kit.json, MaxOutput: req.MaxOutput})
}

// settle closes the open turn with what came of it.
func (w *draft) settle(d *done) error {
	c, t := w.c, w.turn
	w.st = d.st
	w.st.Turn, w.st.Tree = t.N, d.Tree
	if w.st.Due == nil {
		w.st.Compactions = 0
	}
	if d.st.Open != nil {
		packed, err := c.pack(*d.st.Open)
		if err != nil {
			return err
		}
		w.st.Open = &packed.Message
		if err := record.KeepImages(w.tx, c.id, packed.Message); err != nil {
			return err
		}
	}
	if err := record.SettleTurn(w.tx, c.id, t.N); err != nil {
		return err
	}
	for _, k := range d.Calls {
		if err := c.LogCall(w.tx, t.N, k); err != nil {
			return err
		}
	}
	if err := c.Mail.Processed(w.tx, w.st.Mail); err != nil {
		return err
	}
	w.st.Mail = nil
	w.turn = turn{}
	w.end = d.End
	run, err := budget.Read(w.tx, c.Spec.Run, budget.Root)
	if err != nil {
		return err
	}
	err = c.Log(w.tx, agency.SeverityInfo, turnLine(t.Turn), agency.TurnCompleted{
		Session: c.id, Turn: t.N, In: t.Usage.In, Cached: t.Usage.Cached, Out: t.Usage.Out,
		CostUSD: t.Cost.Float(), Unpriced: t.Unpriced, Estimated: t.Usage.Estimated, Model: t.Model,
		Run: agency.Spent{USD: run.Money.Float(), Tokens: run.Tokens}, Tree: d.Tree, Files: d.gone,
	})
	if err != nil {
		return err
	}
	if err := c.Presence.Report(w.tx, t.Usage, d.Calls); err != nil {
		return err
	}
	w.edited, err = c.Edits.Note(w.tx, t.N, d.edited)
	return err
}

func turnLine(t record.Turn) string {
	cost := t.Cost.String()
	if t.Unpriced {
		cost = "unpriced"
	}
	line := fmt.Sprintf("turn %d: %d tokens in (%d cached), %d out, %s", t.N, t.Usage.In, t.Usage.Cached, t.Usage.Out, cost)
	if t.Usage.Estimated {
		line += ", estimated"
	}
	return line
}

// loseTry charges a request whose answer was lost: nobody knows what the
// provider counted.
func (w *draft) loseTry() error {
	if w.turn.Phase != record.Asked {
		return nil
	}
	return budget.Charge(w.tx, w.c.Spec.Run, w.c.key(w.turn), budget.Bill{})
}

// stopped looks at limits and at the run's control row.
func (w *draft) stopped() error {
	if w.end != nil {
		return nil
	}
	ctl, err := registry.ReadControl(w.tx, w.c.Spec.Run)
	if err != nil {
		return err
	}
	if ctl.Cancel {
		out := session.Cancelled(w.st.Tree)
		w.end = &out
		return nil
	}
	if order, err := w.c.Ordered(w.tx, w.st.Tree); err != nil || order != nil {
		w.end = order
		return err
	}
	if cause, over := w.st.over(w.c.Setup.Limits); over {
		w.overLimit(cause)
	}
	if ctl.Pause && w.end == nil {
		w.end = session.Paused(w.st.Tree)
	}
	return nil
}

// reserve holds the worst case of the next request. Where that is not to be had the
// session has no open turn and waits for others to settle, or parks.
func (w *draft) reserve() error {
	if w.end != nil {
		return nil
	}
	c := w.c
	if w.st.Due == nil && c.window.full(w.st.promptTokens()+maxOutput(c.req)) {
		w.st.Due = &due{Cause: dueNear}
	}
	if w.st.Due != nil {
		return nil // compact comes first
	}
	t := turn{Turn: record.Turn{N: w.st.Turn + 1, Phase: record.Asked, Try: w.turn.Try + 1}, out: maxOutput(c.req)}
	err := c.hold(w.tx, &t, w.st, c.first(), leastOutput)
	var spent *budget.Exhausted
	switch {
	case errors.As(err, &spent) && spent.Outstanding:
		w.turn = turn{Turn: record.Turn{Try: w.turn.Try}}
		return c.Account.Queue(w.tx, spent)
	case errors.As(err, &spent):
		w.end, err = c.Account.Spent(w.tx, spent, w.st.Tree)
		return err
	case err != nil:
		return err
	}
	w.turn, w.st.Short = t, t.out < maxOutput(c.req)
	return nil
}

// leastOutput is how short an answer is asked for where the budget holds no longer
// one: shorter ones are cut before they say anything.
const leastOutput = 1000

// first is the model that is reserved for: the first of the list, or the one after it
// that the budget did not hold.
func (c *conversation) first() string { return cmp.Or(c.dear, c.lineup.Names[0]) }

// key names a request in the budget; a repeated one has another.
func (c *conversation) key(t turn) string { return fmt.Sprintf("%s/turn-%d/try-%d", c.id, t.N, t.Try) }

func maxOutput(req llm.Request) int64 {
	if req.MaxOutput > 0 {
		return req.MaxOutput
	}
	return llm.DefaultMaxOutput
}

// reply marks the message as read whose words are the result that this commit
// stores.
func (w *draft) reply() error {
	id := w.c.replyID
	if id == "" {
		return nil
	}
	w.replied = true
	ok, err := w.c.Mail.Replied(w.tx, id)
	if ok {
		w.st.Mail = append(slices.Clone(w.st.Mail), id)
	}
	return err
}

// mail takes what waits for the agent into the request.
func (w *draft) mail() error {
	if w.end != nil || w.st.handsOver() {
		w.st.Background = append(slices.Clone(w.c.lost), w.st.Background...)
		return nil
	}
	var err error
	w.news, err = w.c.Mail.Take(w.tx, w.c.window.mailRoom(), w.c.Presence.Told())
	w.st.Mail = append(slices.Clone(w.st.Mail), w.news.IDs...)
	if err == nil && len(w.c.lost) > 0 {
		w.news.Text = strings.TrimSpace(fmt.Sprintf(lostCommands, strings.Join(w.c.lost, ", ")) + "\n\n" + w.news.Text)
	}
	return err
}

// lostCommands tells an agent that goes on what did not.
const lostCommands = "What went on in the background has ended meanwhile, and nothing of it runs: %s. Start again what you still need."

// say stores the messages that the commit appends. A part that ends still
// keeps them: the next part goes on from there.
func (w *draft) say() error {
	c := w.c
	packed, err := w.withNews()
	if err != nil {
		return err
	}
	for i, p := range packed {
		if err := record.KeepImages(w.tx, c.id, p.Message); err != nil {
			return err
		}
		if err := record.AppendMessage(w.tx, c.id, c.st.First+len(c.req.Messages)+i, w.st.Turn+1, p.data, p.copied); err != nil {
			return err
		}
		w.out = append(w.out, p.Message)
		w.st.Bytes += llm.Bytes(llm.Request{Messages: []llm.Message{p.Message}})
	}
	return nil
}

// withNews adds the mail to the user message that is about to be sent, which
// may hold results; where there is none, it is a message of its own.
func (w *draft) withNews() ([]message, error) {
	packed := slices.Clone(w.c.pending)
	if w.news.Text == "" {
		return packed, nil
	}
	m := llm.UserText(w.news.Text)
	m.Shows = w.news.Whole
	if last := len(packed) - 1; last >= 0 {
		m.Blocks = append(slices.Clone(packed[last].Blocks), m.Blocks...)
		packed = packed[:last]
	}
	p, err := w.c.pack(m)
	return append(packed, p), err
}

// save stores the state and, where the part ends, its outcome.
func (w *draft) save() error {
	doc, err := json.Marshal(w.st)
	if err != nil {
		return err
	}
	parts := w.c.Spec.Part - 1
	if w.end != nil {
		parts++
		w.counted()
		if err := w.c.Account.Leave(w.tx); err != nil {
			return err
		}
		out, err := record.End(w.tx, w.c.Part, *w.end)
		if err != nil {
			return err
		}
		w.end = &out
	}
	return record.Save(w.tx, w.c.id, doc, w.st.epoch(), parts)
}

// counted says at the end of a part how far an agent of a composition may still go.
func (w *draft) counted() {
	c := w.c
	if c.Spec.Post == nil {
		return
	}
	w.end.Turns = w.st.Turn
	if most := c.Setup.Limits.Turns; most > 0 {
		w.end.Left = max(0, most-w.st.Turn)
	}
	w.end.Room = max(0, (c.window.tokens()-c.window.output())*3-w.st.Bytes)
}

// hold reserves the worst case of a try and records it. The answer may be made as short
// as least.
func (c *conversation) hold(tx *store.Tx, t *turn, st state, model string, least int64) (err error) {
	if t.out, err = c.Account.Reserve(tx, c.key(*t), model, st.most(), t.out, least); err != nil {
		return err
	}
	return record.AskTurn(tx, c.id, t.Turn)
}
