package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"

	"agency/internal/agency"
	"agency/internal/brief"
	"agency/internal/llm"
	"agency/internal/tool"

	"golang.org/x/sync/errgroup"
)

// parallelReads is how many reads of a turn run beside each other.
const parallelReads = 8

// call is one tool call of the open turn.
type call struct {
	idx  int
	use  llm.ToolUse
	tool tool.Tool
	res  tool.Result
	ran  bool // res is set
}

// done is what came of the open turn, ready to be settled.
type done struct {
	calls []call
	// say is the next user message: results and reminders; empty where the
	// session ends or parks.
	say *llm.Message
	// end is how the part ends; nil where it goes on.
	end  *Outcome
	st   state
	tree agency.OID
	// known are the contracts that agents work on, where a manager leads them.
	known []agency.Contract
	// edited are the files that the turn may have changed, where others work
	// beside this session.
	edited []string
}

// act carries out the answer of the open turn.
func (c *conversation) act(ctx context.Context) (*done, error) {
	bounded, work := c.atWork(ctx)
	defer work.end()
	d := &done{st: c.st, tree: c.st.Tree}
	d.calls = c.plan(c.turn.call.Calls())
	err := c.work(bounded, d)
	if err == nil {
		err = c.r.o.between("acted")
	}
	outOfTime := errors.Is(context.Cause(bounded), errTime)
	took := work.end()
	d.st.Work += took
	d.st.Carry += took
	switch {
	case err == nil:
	case outOfTime && ctx.Err() == nil:
		// The calls were cut off; what they did to the files is unknown.
		d.tree, d.end = "", &Outcome{Kind: Incomplete, Cause: CauseTime, Reason: CauseTime.reason()}
	case ctx.Err() != nil:
		c.spared(ctx, d.calls)
		return nil, context.Cause(ctx)
	default:
		c.spared(ctx, d.calls)
		return nil, err
	}
	return d, nil
}

// plan finds each call's tool; calls that cannot run have their result at
// once.
func (c *conversation) plan(uses []llm.ToolUse) []call {
	calls := make([]call, len(uses))
	most := c.setup.Limits.CallsPerTurn
	for i, u := range uses {
		calls[i] = call{idx: i, use: u}
		t, offered := c.kit.find(u.Name)
		calls[i].tool = t
		switch {
		case most > 0 && i >= most:
			calls[i].refuse(tool.Refusal("not run: more than %d calls in one turn; ask again in the next", most))
		case !offered:
			calls[i].refuse(tool.Unknown(u.Name, c.kit.tools))
		case u.Invalid == heldSecret, c.holdsSecret(u.Args):
			calls[i].refuse(tool.SecretArgs())
		case c.unsure() && t.Access == tool.Write && t.Scope == tool.Workspace:
			calls[i].refuse(tool.Refusal("not run again: the host ended while this turn ran, and the files as they were before could not be recorded; the call may have run in part. Look at the files, then go on"))
		case u.Invalid != "":
			calls[i].refuse(t.Malformed(u.Invalid))
		}
	}
	return calls
}

// unsure tells whether the open turn may have acted before, on files that cannot
// be restored: what it appended once would be appended twice.
func (c *conversation) unsure() bool {
	return c.turn.phase == phaseAnswered && !c.turn.fresh && c.st.Tree == ""
}

func (k *call) refuse(r tool.Result) { k.res, k.ran = r, true }

// writes tells whether one of the calls may change the workspace.
func (c *conversation) writes(uses []llm.ToolUse) bool {
	for _, u := range uses {
		if t, ok := c.kit.find(u.Name); ok && t.Access == tool.Write && t.Scope == tool.Workspace {
			return true
		}
	}
	return false
}

// work runs the calls: reads beside each other, writes in order, those that
// end or park the session last; and takes the snapshot before these.
func (c *conversation) work(ctx context.Context, d *done) error {
	for i := 0; i < len(d.calls); {
		n := c.together(d.calls[i:])
		if err := c.count(ctx, d.calls[:i], d.calls[i:i+n]); err != nil {
			return err
		}
		if err := c.runGroup(ctx, d.calls[i:i+n]); err != nil {
			return err
		}
		i += n
	}
	c.notes(d)
	problem, err := c.snapshot(ctx, d)
	if err == nil {
		err = c.findEdits(ctx, d)
	}
	if err != nil {
		return err
	}
	if err := c.runLast(ctx, d, problem); err != nil {
		return err
	}
	c.conclude(d, problem)
	return nil
}

// group is how many calls from the first on run beside each other.
func group(calls []call) int {
	n := 0
	for n < len(calls) && (calls[n].ran || calls[n].tool.Last || calls[n].tool.Access == tool.Read) {
		n++
	}
	return max(n, 1)
}

func (c *conversation) runGroup(ctx context.Context, calls []call) error {
	for i := range calls {
		if calls[i].waits() {
			c.emit(ToolStarted{Turn: c.turn.n, Index: calls[i].idx, Tool: calls[i].use.Name})
		}
	}
	var g errgroup.Group
	g.SetLimit(parallelReads)
	for i := range calls {
		if !calls[i].waits() {
			continue
		}
		if len(calls) == 1 {
			if err := c.run(ctx, &calls[i]); err != nil {
				return err
			}
			break
		}
		g.Go(func() error { return c.run(ctx, &calls[i]) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i := range calls {
		if calls[i].ran && !calls[i].tool.Last {
			c.emit(ToolEnded{Turn: c.turn.n, Index: calls[i].idx, Tool: calls[i].use.Name, Failed: calls[i].res.Failed})
		}
	}
	return nil
}

// waits tells whether the call is to run in its place, not last.
func (k *call) waits() bool { return !k.ran && !k.tool.Last }

// run runs one call. What only the host can mend is an error; what else goes
// wrong is told to the model, which may find another way.
func (c *conversation) run(ctx context.Context, k *call) error {
	if err := c.r.o.between("call"); err != nil {
		return err
	}
	res, err := c.guarded(ctx, k)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx) // a command that was killed is no result
	}
	switch {
	case err == nil:
		k.res = res
	case ctx.Err() != nil, agency.KindOf(err) == agency.KindTransient, errors.Is(err, context.Canceled):
		return err
	default:
		k.res = tool.Result{Text: "error: the tool itself failed: " + tool.Cap(err.Error(), 2<<10), Failed: true}
	}
	k.res.Text = string(c.r.o.DB.Redact([]byte(k.res.Text)))
	k.ran = true
	return nil
}

// guarded runs a call. One that panics is that call's failure: the host has
// other work.
func (c *conversation) guarded(ctx context.Context, k *call) (res tool.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			slog.Error("a tool call panicked", "session", c.id, "tool", k.use.Name, "panic", p, "stack", string(debug.Stack()))
			res, err = tool.Result{}, agency.Errorf(agency.KindInternal, "it panicked: %v", p)
		}
	}()
	return k.tool.Run(ctx, c.env(k.idx), k.use.Args)
}

// env is what a call may reach.
func (c *conversation) env(idx int) *tool.Env {
	return &tool.Env{
		Files: c.desk.Files, Commands: c.desk.Commands, Checks: c.desk.Checks, History: c.desk.History,
		Checkpoints: checkpoints{tree: c.desk.Tree, id: fmt.Sprintf("cp-%d-%d-%d", c.spec.Attempt, c.turn.n, idx+1)},
		Criteria:    c.criteria,
		Limits:      tool.ChangeLimits{Files: c.setup.Rules.MaxFiles, Lines: c.setup.Rules.MaxLines},
		Mail:        letters{c, idx},
		Redact:      c.r.o.DB.Redact,
		Features:    features{c},
		Team:        members{c},
		Questions:   questions{c},
		Changes:     changes{c},
		Handoffs:    handoffs{c},
	}
}

// checkpoints gives a call's checkpoint the same id when the call runs again.
type checkpoints struct {
	tree Tree
	id   string
}

func (p checkpoints) Create(ctx context.Context, label string) (tool.Checkpoint, error) {
	return p.tree.Checkpoint(ctx, p.id, label)
}

func (p checkpoints) Rollback(ctx context.Context, id string) (tool.Checkpoint, error) {
	return p.tree.Rollback(ctx, id)
}

// snapshot takes one where a call may have changed files.
func (c *conversation) snapshot(ctx context.Context, d *done) (problem string, err error) {
	changed := false
	for _, k := range d.calls {
		changed = changed || (k.ran && !k.res.Refused && k.tool.Access == tool.Write && k.tool.Scope == tool.Workspace)
	}
	if !changed && (d.tree != "" || !c.claims(d)) {
		return "", nil
	}
	return c.take(ctx, d)
}

// take takes the workspace into a tree. One that cannot be is the model's to
// mend; problem says how.
func (c *conversation) take(ctx context.Context, d *done) (problem string, err error) {
	tree, err := c.desk.Tree.Snapshot(ctx)
	switch {
	case err == nil:
		d.tree = tree
		return "", nil
	case ctx.Err() == nil && agency.KindOf(err) == agency.KindInvalid:
		d.tree = ""
		return err.Error(), nil
	}
	return "", err
}

// claims tells whether a call of the turn wants to claim.
func (c *conversation) claims(d *done) bool {
	for _, k := range d.calls {
		if !k.ran && k.tool.Last {
			return true
		}
	}
	return false
}

// runLast runs the calls that end or park the session. The first that is
// accepted counts; a claim is refused beside a call that failed, over a
// workspace with a fault, and beside an open question.
func (c *conversation) runLast(ctx context.Context, d *done, problem string) error {
	if c.spec.Leads && c.claims(d) {
		var err error
		if d.known, err = c.team(ctx); err != nil {
			return err
		}
	}
	for i := range d.calls {
		k := &d.calls[i]
		if k.ran {
			continue
		}
		c.emit(ToolStarted{Turn: c.turn.n, Index: k.idx, Tool: k.use.Name})
		if d.end != nil && !(d.end.For == ForAgents && k.tool.Joins) {
			k.refuse(tool.Refusal("not run: the call before it already decided how this turn ends"))
		} else if err := c.run(ctx, k); err != nil {
			return err
		}
		switch e := k.res.Effect.(type) {
		case nil:
		case tool.ImplementationChange:
			if err := c.change(ctx, d, k, e, problem); err != nil {
				return err
			}
		case tool.Handoff:
			if err := c.handOff(ctx, d, k, e, problem); err != nil {
				return err
			}
		default:
			c.effect(d, k, problem)
		}
		c.emit(ToolEnded{Turn: c.turn.n, Index: k.idx, Tool: k.use.Name, Failed: k.res.Failed})
	}
	return nil
}

// effect is what an accepted call does to the session.
func (c *conversation) effect(d *done, k *call, problem string) {
	switch e := k.res.Effect.(type) {
	case tool.Complete:
		if why := notClaimable(d.calls, problem); why != "" {
			k.res = tool.Refusal("not accepted: %s", why)
			return
		}
		d.end = &Outcome{Kind: Claimed, Tree: d.tree, ToolUse: k.use.ID, Claim: &agency.Claim{
			Session: c.id, Contract: c.spec.Contract, Summary: e.Summary, Evidence: e.Evidence, Outputs: e.Outputs, Tree: d.tree,
		}}
	case tool.Plan:
		c.submit(d, k, e.Plan)
	case tool.Report:
		d.end = &Outcome{Kind: Reported, Report: e.Text, Tree: d.tree}
	case tool.Reviewed:
		c.reviewed(d, k, e.Review)
	case tool.Blocked:
		d.end = &Outcome{Kind: Blocked, Reason: e.Reason, Attempted: e.Attempted, Tree: d.tree}
	case tool.Question:
		d.end = &Outcome{Kind: Parked, For: ForHuman, Question: e.Text, Options: e.Options, ToolUse: k.use.ID, Tree: d.tree}
	case tool.Spawn:
		c.spawn(d, k, e)
	case tool.Amend:
		c.amend(d, k, e)
	case tool.Await:
		c.ofAgents(d, k, e.Agents, AgentsAsk{Wait: &Agents{e.Agents}})
	case tool.Collect:
		c.ofAgents(d, k, e.Agents, AgentsAsk{Collect: &Agents{e.Agents}})
	case tool.Clarification:
		d.end = &Outcome{Kind: Parked, For: ForInbox, Question: e.Text, Awaits: c.askID(k.idx), ToolUse: k.use.ID, Tree: d.tree}
	}
}

func notClaimable(calls []call, problem string) string {
	if problem != "" {
		return problem
	}
	var failed []string
	for _, k := range calls {
		if k.ran && k.res.Failed && !k.tool.Last {
			failed = append(failed, k.use.Name)
		}
	}
	if len(failed) > 0 {
		return "another call of this turn failed (" + strings.Join(failed, ", ") + "); look at its result first"
	}
	return ""
}

// conclude makes the next message and counts what went wrong.
func (c *conversation) conclude(d *done, problem string) {
	say := llm.Message{Role: llm.User}
	refused := 0
	for _, k := range d.calls {
		say.Blocks = append(say.Blocks, llm.ToolResult{ID: k.use.ID, Text: k.res.Text, IsError: k.res.Failed})
		if k.res.Refused {
			refused++
		}
	}
	if problem != "" && d.end == nil {
		say.Blocks = append(say.Blocks, llm.Text{Text: "The workspace cannot be recorded as it is: " + problem + ". Mend this next."})
	}
	d.st.Barren++
	if refused < len(d.calls) {
		d.st.Barren, d.st.Empty, d.st.Cut = 0, 0, 0
	}
	say = c.fitted(say)
	switch {
	case d.end == nil:
		c.remind(d, &say)
	case d.end.Kind == Parked, d.end.Kind == Claimed:
		// A claim's conversation may go on, with what a review says of it.
		d.st.Open, d.st.Waits, d.st.Asks = &say, d.end.ToolUse, d.end.Asks
		return
	}
	if d.end == nil && len(say.Blocks) > 0 {
		d.say = &say
	}
}

// remind adds what the harness has to say to an answer that does not go on by
// itself, or ends the session where it said so before.
func (c *conversation) remind(d *done, say *llm.Message) {
	var r brief.Reminder
	stop, calls := c.turn.stop, len(d.calls)
	switch {
	case stop == llm.StopRefusal:
		d.give(CauseRefusal)
	case stop == llm.StopContext:
		d.st.Due = &due{Cause: dueOverflow}
		if calls == 0 {
			r = brief.Length
		}
	case stop == llm.StopLength:
		if d.st.Cut++; d.st.Cut > 1 {
			d.give(CauseLength)
		}
		r = brief.Length
	case calls > 0, stop == llm.StopPause && c.turn.said:
	case stop == llm.StopEmpty, !c.turn.said:
		if d.st.Empty++; d.st.Empty > 1 {
			d.give(CauseEmpty)
		}
		r = brief.Empty
	case d.st.Reminded:
		d.give(CauseNoEnding)
	default:
		d.st.Reminded = true
		r = brief.NoEnding
	}
	if r == "" || d.end != nil {
		return
	}
	text, err := r.Text(c.role)
	if err != nil { // an embedded text that a test reads
		text = string(r)
	}
	say.Blocks = append(say.Blocks, llm.Text{Text: text})
}

func (d *done) give(cause Cause) {
	d.end = &Outcome{Kind: Incomplete, Cause: cause, Reason: cause.reason(), Tree: d.tree}
}

// gist is a call in a few words for the log.
func gist(raw json.RawMessage) string {
	var args map[string]any
	if json.Unmarshal(raw, &args) != nil {
		return ""
	}
	for _, name := range []string{"path", "command", "pattern", "target", "label", "checkpoint_id", "id", "subcontract_id", "question", "reason"} {
		if s, ok := args[name].(string); ok && s != "" {
			s = strings.Join(strings.Fields(s), " ")
			if r := []rune(s); len(r) > 80 {
				s = string(r[:79]) + "…"
			}
			return " " + s
		}
	}
	return ""
}
