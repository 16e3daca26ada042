package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/budget"
	"agency/internal/event"
	"agency/internal/llm"
	"agency/internal/registry"
	"agency/internal/store"
)

// draft is the conversation as a transaction will leave it. It becomes the
// conversation only after the commit.
type draft struct {
	c    *conversation
	tx   *store.Tx
	st   state
	turn turn
	news string        // mail that this commit shows
	out  []llm.Message // appended
	end  *Outcome
	// joined says that this commit makes the agent known as at work.
	joined bool
	edited []string // files that this commit makes known as changed
	// replied says that this commit shows the message that a call waited for.
	replied bool
}

// queue puts a message into the next commit.
func (c *conversation) queue(m message) { c.pending = append(c.pending, m) }

// commit settles the open turn, where d says what came of it, and opens the
// next one: its messages, the person's mail and the reservation are durable
// before the request is sent. An outcome means that the part ended instead.
func (c *conversation) commit(ctx context.Context, d *done) (*Outcome, error) {
	if err := c.queueSay(d); err != nil {
		return nil, err
	}
	var w *draft
	err := c.write(ctx, func(tx *store.Tx) error {
		w = &draft{c: c, tx: tx, st: c.st, turn: c.turn}
		return w.fill(d)
	})
	if err != nil {
		return nil, err
	}
	settled := c.turn
	c.adopt(w)
	if d != nil {
		c.emit(TurnEnded{Turn: settled.n, Usage: settled.usage})
	}
	return w.end, c.r.o.between("committed")
}

func (c *conversation) queueSay(d *done) error {
	if d == nil || d.say == nil {
		return nil
	}
	m, err := c.pack(*d.say)
	if err == nil {
		c.queue(m)
	}
	return err
}

// write is a transaction under the run's fence.
func (c *conversation) write(ctx context.Context, fn func(*store.Tx) error) error {
	if err := c.r.o.between("commit"); err != nil {
		return err
	}
	return c.r.o.DB.WriteFenced(ctx, c.fence, fn)
}

// adopt makes a committed draft the conversation.
func (c *conversation) adopt(w *draft) {
	c.stored, c.st, c.turn, c.pending = true, w.st, w.turn, nil
	c.joined = c.joined || w.joined
	c.knowEdits(w.edited)
	if w.replied {
		c.replyID = ""
	}
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
	if err := w.join(); err != nil {
		return err
	}
	if d != nil {
		if err := w.settle(d); err != nil {
			return err
		}
	}
	report := func() error { return w.report(d) }
	edits := func() error { return w.noteEdits(d) }
	for _, step := range []func() error{report, edits, w.loseTry, w.reply, w.stopped, w.mail, w.say, w.reserve, w.save} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// create inserts the session with its rendered prompt.
func (w *draft) create() error {
	c := w.c
	system, err := w.tx.PutBlob([]byte(c.req.System))
	if err != nil {
		return err
	}
	tools, err := w.tx.PutBlob(c.kit.json)
	if err != nil {
		return err
	}
	_, err = w.tx.Exec(`INSERT INTO session (id, run_id, contract_id, attempt, role, agent, tier, model, system, tools, max_output, state, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '{}', ?)`,
		string(c.id), string(c.spec.Run), string(c.spec.Contract), c.spec.Attempt, string(c.spec.Role), string(c.spec.Agent),
		c.spec.Tier, c.req.Model, string(system), string(tools), c.req.MaxOutput, store.Micros(w.tx.Now))
	if err != nil {
		return err
	}
	parent := c.setup.Parent
	switch parent {
	case "":
		parent = budget.Root
	case budget.ContractNode(c.spec.Contract):
		if err := budget.Open(w.tx, c.spec.Run, parent, budget.Root, budget.Limits{}); err != nil {
			return err
		}
	}
	if err := budget.Open(w.tx, c.spec.Run, budget.SessionNode(c.id), parent, budget.Limits{}); err != nil {
		return err
	}
	return w.log(agency.SeverityInfo, fmt.Sprintf("%s begins attempt %d with %s", c.spec.Agent, c.spec.Attempt, c.req.Model),
		agency.Spawned{Session: c.id, Attempt: c.spec.Attempt, Model: c.req.Model})
}

// settle closes the open turn with what came of it.
func (w *draft) settle(d *done) error {
	c, t := w.c, w.turn
	w.st = d.st
	w.st.Turn, w.st.Tree = t.n, d.tree
	if w.st.Due == nil {
		w.st.Folds = 0
	}
	if d.st.Open != nil {
		packed, err := c.pack(*d.st.Open)
		if err != nil {
			return err
		}
		w.st.Open = &packed.Message
	}
	if _, err := w.tx.Exec(`UPDATE session_turn SET phase = 'settled', tree = ? WHERE session_id = ? AND turn = ?`,
		string(d.tree), string(c.id), t.n); err != nil {
		return err
	}
	if err := forgetTries(w.tx, c.id); err != nil {
		return err
	}
	for _, k := range d.calls {
		if err := w.called(k, d.end); err != nil {
			return err
		}
	}
	if err := board.MarkProcessed(w.tx, c.recipient(), w.st.Mail...); err != nil {
		return err
	}
	w.st.Mail = nil
	w.turn = turn{}
	w.end = d.end
	run, err := budget.Read(w.tx, c.spec.Run, budget.Root)
	if err != nil {
		return err
	}
	return w.log(agency.SeverityInfo, turnLine(t), agency.TurnCompleted{
		Session: c.id, Turn: t.n, In: t.usage.In, Cached: t.usage.Cached, Out: t.usage.Out,
		CostUSD: t.cost.Float(), Unpriced: t.unpriced, Estimated: t.usage.Estimated, Model: t.model,
		Run: agency.Spent{USD: run.Money.Float(), Tokens: run.Tokens},
	})
}

func turnLine(t turn) string {
	cost := t.cost.String()
	if t.unpriced {
		cost = "unpriced"
	}
	line := fmt.Sprintf("turn %d: %d tokens in (%d cached), %d out, %s", t.n, t.usage.In, t.usage.Cached, t.usage.Out, cost)
	if t.usage.Estimated {
		line += ", estimated"
	}
	return line
}

// called records a call and tells it.
func (w *draft) called(k call, end *Outcome) error {
	c, status := w.c, "ok"
	switch {
	case k.res.Refused:
		status = "refused"
	case k.res.Failed:
		status = "failed"
	case end.awaits(k.use.ID):
		status = "waiting"
	case !k.ran:
		status = "failed" // cut off when time was up
	}
	if _, err := w.tx.Exec(`INSERT INTO session_call (session_id, turn, idx, use_id, tool, status) VALUES (?, ?, ?, ?, ?, ?)`,
		string(c.id), w.turn.n, k.idx, k.use.ID, k.use.Name, status); err != nil {
		return err
	}
	if status == "refused" {
		return w.log(agency.SeverityWarning, clip(k.use.Name+": "+k.res.Text, 200),
			agency.ToolRefused{Session: c.id, Turn: w.turn.n, Tool: clip(k.use.Name, 64), Reason: clip(k.res.Text, 500)})
	}
	failed := ""
	if status == "failed" {
		failed = clip(k.res.Text, 500)
	}
	return w.log(agency.SeverityInfo, k.use.Name+gist(k.use.Args),
		agency.ToolCalled{Session: c.id, Turn: w.turn.n, Tool: k.use.Name, Error: failed})
}

func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// loseTry charges a request whose answer was lost: nobody knows what the
// provider counted.
func (w *draft) loseTry() error {
	if w.turn.phase != phaseAsked {
		return nil
	}
	return budget.Charge(w.tx, w.c.spec.Run, w.c.key(w.turn), budget.Bill{})
}

// stopped looks at limits and at the run's control row.
func (w *draft) stopped() error {
	if w.end != nil {
		return nil
	}
	ctl, err := registry.ReadControl(w.tx, w.c.spec.Run)
	if err != nil {
		return err
	}
	if ctl.Cancel {
		w.end = &Outcome{Kind: Stopped, Reason: "the run was cancelled", Tree: w.st.Tree}
		return nil
	}
	if cause, over := w.st.over(w.c.setup.Limits); over {
		w.give(cause, "")
		return nil
	}
	if ctl.Pause {
		w.end = &Outcome{Kind: Parked, For: ForPause, Reason: "the run is paused", Tree: w.st.Tree}
	}
	return nil
}

func (w *draft) give(cause Cause, detail string) {
	w.end = &Outcome{Kind: Incomplete, Cause: cause, Reason: because(cause, detail), Tree: w.st.Tree}
}

// reserve holds the worst case of the next request, or parks the session where
// that is not to be had.
func (w *draft) reserve() error {
	if w.end != nil {
		return nil
	}
	c := w.c
	if w.st.Due == nil && c.full(w.st.promptTokens()+maxOutput(c.req)) {
		w.st.Due = &due{Cause: dueNear}
	}
	if w.st.Due != nil {
		return nil // compact comes first
	}
	t := turn{n: w.st.Turn + 1, phase: phaseAsked, try: w.turn.try + 1}
	err := c.hold(w.tx, t, w.st, c.setup.Models[0])
	var spent *budget.Exhausted
	switch {
	case errors.As(err, &spent):
		w.end = &Outcome{Kind: Parked, For: ForBudget, Reason: spent.Error(), Exhausted: spent, Tree: w.st.Tree}
		return nil
	case err != nil:
		return err
	}
	w.turn = t
	return nil
}

// key names a request in the budget; a repeated one has another.
func (c *conversation) key(t turn) string { return fmt.Sprintf("%s/turn-%d/try-%d", c.id, t.n, t.try) }

func maxOutput(req llm.Request) int64 {
	if req.MaxOutput > 0 {
		return req.MaxOutput
	}
	return llm.DefaultMaxOutput
}

// say stores the messages that the commit appends. A part that ends still
// keeps them: the next part goes on from there.
func (w *draft) say() error {
	c := w.c
	packed, err := w.withNews()
	if err != nil {
		return err
	}
	for i, p := range packed {
		if err := insertMessage(w.tx, c.id, c.st.First+len(c.req.Messages)+i, w.st.Turn+1, p, false); err != nil {
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
	if w.news == "" {
		return packed, nil
	}
	m := userText(w.news)
	if last := len(packed) - 1; last >= 0 {
		m.Blocks = append(slices.Clone(packed[last].Blocks), m.Blocks...)
		packed = packed[:last]
	}
	p, err := w.c.pack(m)
	return append(packed, p), err
}

func insertMessage(tx *store.Tx, id agency.SessionID, seq, turn int, m message, copied bool) error {
	blob, err := tx.PutBlob(m.data)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO session_message (session_id, seq, turn, blob, copied) VALUES (?, ?, ?, ?, ?)`,
		string(id), seq, turn, string(blob), copied)
	return err
}

// save stores the state and, where the part ends, its outcome.
func (w *draft) save() error {
	doc, err := json.Marshal(w.st)
	if err != nil {
		return err
	}
	parts := w.c.spec.Part - 1
	if w.end != nil {
		parts++
		if err := w.ended(); err != nil {
			return err
		}
	}
	_, err = w.tx.Exec(`UPDATE session SET state = ?, parts = ? WHERE id = ?`, string(doc), parts, string(w.c.id))
	return err
}

// ended stores how the part ended and tells it.
func (w *draft) ended() error {
	c, o := w.c, *w.end
	doc, err := json.Marshal(o)
	if err != nil {
		return err
	}
	// What the caller gets is what a later process would read.
	doc = w.tx.Redact(doc)
	w.end = &Outcome{}
	if err := json.Unmarshal(doc, w.end); err != nil {
		return err
	}
	if err := w.ask(); err != nil {
		return err
	}
	if err := w.left(); err != nil {
		return err
	}
	if _, err := w.tx.Exec(`INSERT INTO session_part (session_id, part, outcome, ended_at) VALUES (?, ?, ?, ?)`,
		string(c.id), c.spec.Part, string(doc), store.Micros(w.tx.Now)); err != nil {
		return err
	}
	switch o.Kind {
	case Claimed:
		return w.log(agency.SeverityInfo, "claims to be complete: "+clip(o.Claim.Summary, 120), agency.Claimed{Session: c.id, Summary: o.Claim.Summary})
	case Planned:
		if len(o.Faults) > 0 {
			return w.log(agency.SeverityWarning, fmt.Sprintf("the plan is faulty to the end: %s", clip(o.Faults[0].String(), 200)),
				agency.Failed{Session: c.id, Reason: o.Faults[0].String()})
		}
		return w.log(agency.SeverityInfo, planLine(o.Plan), agency.PlanSubmitted{Contracts: len(o.Plan), RetryBudgetMultiplier: o.Multiplier})
	case Parked:
		return w.log(agency.SeverityInfo, "waits for "+string(o.For), agency.SessionParked{Session: c.id, For: string(o.For)})
	case Blocked:
		return w.log(agency.SeverityWarning, "blocked: "+clip(o.Reason, 200), agency.Escalated{Reason: clip(o.Reason, 1000)})
	case Incomplete:
		return w.log(agency.SeverityWarning, "incomplete: "+clip(o.Reason, 200), agency.Failed{Session: c.id, Reason: o.Reason})
	default:
		return w.log(agency.SeverityInfo, "session ended: "+string(o.Kind), agency.Completed{Session: c.id, Outcome: string(o.Kind)})
	}
}

func planLine(plan []agency.Contract) string {
	if len(plan) == 1 {
		c := plan[0]
		return fmt.Sprintf("%s, %s: %s", c.ID, agency.Things(len(c.AcceptanceCriteria), "criterion", "criteria"), clip(c.Title, 80))
	}
	names := make([]string, len(plan))
	for i, c := range plan {
		names[i] = string(c.ID)
	}
	return clip(fmt.Sprintf("%d contracts: %s", len(plan), strings.Join(names, ", ")), 400)
}

func (w *draft) log(s agency.Severity, summary string, d agency.Detail) error {
	ev := agency.NewEvent(w.c.spec.Run, s, summary, d)
	ev.AgentID, ev.Role, ev.Tier, ev.ContractID = w.c.spec.Agent, w.c.spec.Role, w.c.spec.Tier, w.c.spec.Contract
	_, err := event.Append(w.tx, ev)
	return err
}
