package native

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"agency/internal/agency"
	"agency/internal/brief"
	"agency/internal/llm"
	"agency/internal/session"
	"agency/internal/session/record"
	"agency/internal/store"
	"agency/internal/text"
	"agency/internal/tool"

	"golang.org/x/sync/errgroup"
)

// executor carries out the answer of the open turn: its calls, and what is said
// of them.
type executor struct{ *conversation }

// parallelReads is how many reads of a turn run beside each other.
const parallelReads = 8

// done is what came of the open turn, ready to be settled.
type done struct {
	session.Effects
	// say is the next user message: results and reminders; empty where the
	// session ends or parks.
	say *llm.Message
	st  state
	// edited are the files that the turn may have changed, where others work
	// beside this session.
	edited []string
	gone   agency.FilesGone
	beside *beside
}

// act carries out the answer of the open turn.
func (c executor) act(ctx context.Context) (*done, error) {
	bounded, work := c.atWork(ctx)
	defer work.end()
	d := &done{st: c.st, beside: newBeside(bounded, work)}
	d.Effects = session.Effects{
		Member: c.Member, Mail: c.Mail, Tools: c.tools, Rules: c.Setup.Rules, N: c.turn.N, Calls: c.plan(c.turn.call.Calls()),
		Criteria: c.criteria, Notes: &d.st.Notes, Noted: c.st.Drafts, Tree: c.st.Tree,
	}
	err := c.work(d.beside.in(bounded), d)
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
		d.Tree, d.End = "", session.Unfinished(session.CauseTime, "", "")
	case ctx.Err() != nil:
		c.spared(ctx, d.Calls)
		return nil, context.Cause(ctx)
	default:
		c.spared(ctx, d.Calls)
		return nil, err
	}
	return d, nil
}

// plan finds each call's tool; calls that cannot run have their result at
// once.
func (c executor) plan(uses []llm.ToolUse) []session.Call {
	calls := make([]session.Call, len(uses))
	most := c.Setup.Limits.CallsPerTurn
	for i, u := range uses {
		calls[i] = session.Call{Index: i, Use: u}
		t, offered := c.kit.find(u.Name)
		calls[i].Tool = t
		switch {
		case most > 0 && i >= most:
			calls[i].Refuse(tool.Refusal("not run: more than %d calls in one turn; ask again in the next", most))
		case !offered:
			calls[i].Refuse(tool.Unknown(u.Name, c.kit.tools))
		case u.Invalid == heldSecret, c.holdsSecret(u.Args):
			calls[i].Refuse(tool.SecretArgs())
		case c.unsure() && t.Access == tool.Write && t.Scope == tool.Workspace:
			calls[i].Refuse(tool.Refusal("not run again: the host ended while this turn ran, and the files as they were before could not be recorded; the call may have run in part. Look at the files, then go on"))
		case t.Scope == tool.Elsewhere && c.turn.tries[i] > 0 && !c.turn.fresh:
			calls[i].Refuse(tool.Refusal("not run again: the host ended while this call ran, and what it has done elsewhere is not known; look, then go on"))
		case u.Invalid != "":
			calls[i].Refuse(t.Malformed(u.Invalid))
		}
	}
	return calls
}

// unsure tells whether the open turn may have acted before, on files that cannot
// be restored: what it appended once would be appended twice.
func (c executor) unsure() bool {
	return c.turn.Phase == record.Answered && !c.turn.fresh && c.st.Tree == ""
}

// writes tells whether one of the calls may change the workspace.
func (c executor) writes(uses []llm.ToolUse) bool {
	return slices.ContainsFunc(uses, func(u llm.ToolUse) bool {
		t, ok := c.kit.find(u.Name)
		return ok && t.Access == tool.Write && t.Scope == tool.Workspace
	})
}

// work runs the calls: reads beside each other, writes in order, those that
// end or park the session last; and takes the snapshot before these.
func (c executor) work(ctx context.Context, d *done) error {
	before := c.files()
	for i := 0; i < len(d.Calls); {
		n := c.together(d.Calls[i:])
		if err := c.count(ctx, d.Calls[:i], d.Calls[i:i+n]); err != nil {
			return err
		}
		if err := c.runGroup(ctx, d, d.Calls[i:i+n]); err != nil {
			return err
		}
		i += n
	}
	err := d.Gather(ctx)
	if err == nil && d.Tree != "" && d.Tree != c.st.Tree {
		d.edited, err = c.Edits.Find(ctx, c.tools, d.Calls)
		if after := c.files(); 0 <= after && after < before {
			d.gone = agency.FilesGone{Before: before, Gone: before - after}
		}
	}
	if err != nil {
		return err
	}
	if err := c.runLast(ctx, d); err != nil {
		return err
	}
	if len(d.Calls) == 0 && c.turn.Stop == llm.StopEndTurn && c.turn.Said {
		if err := c.said(ctx, d, c.turn.call.Words()); err != nil {
			return err
		}
	}
	c.conclude(d)
	return nil
}

// said is what a last word without a call comes to: a claim; and of who was reminded of the tool
// by which it answers, and says its answer again, that answer.
func (c executor) said(ctx context.Context, d *done, words string) error {
	if _, claims := c.kit.find("signal_complete"); claims {
		return session.Said(ctx, &d.Effects, words, c.Setup.Commands)
	}
	if _, answers := c.kit.find("final_report"); answers && d.st.Reminded && d.End == nil && (!c.Setup.Persona.JSON || json.Valid([]byte(words))) {
		d.End = &session.Outcome{Kind: session.Reported, Report: words, Tree: d.Tree}
	}
	return nil
}

// files is how many there are in the workspace; less than none: unknown.
func (c executor) files() int {
	if c.tools.Count == nil {
		return -1
	}
	return c.tools.Count()
}

// waits tells whether a call is to run in its place, not last.
func waits(k *session.Call) bool { return !k.Ran && !k.Tool.Last }

// group is how many calls from the first on run beside each other.
func group(calls []session.Call) int {
	n := 0
	for n < len(calls) && (calls[n].Ran || calls[n].Tool.Last || calls[n].Tool.Access == tool.Read) {
		n++
	}
	return max(n, 1)
}

func (c executor) runGroup(ctx context.Context, d *done, calls []session.Call) error {
	var g errgroup.Group
	g.SetLimit(parallelReads)
	for i := range calls {
		if waits(&calls[i]) {
			g.Go(func() error { return c.run(ctx, d, &calls[i]) })
		}
	}
	return g.Wait()
}

func (c executor) run(ctx context.Context, d *done, k *session.Call) error {
	if err := c.r.o.between("call"); err != nil {
		return err
	}
	defer d.beside.begin()()
	return d.Run(ctx, k)
}

// runLast runs the calls that end or park the session. The first that is
// accepted counts; a claim is refused beside a call that failed, over a
// workspace with a fault, and beside an open question.
func (c executor) runLast(ctx context.Context, d *done) error {
	for i := range d.Calls {
		k := &d.Calls[i]
		if k.Ran {
			continue
		}
		if err := c.run(ctx, d, k); err != nil {
			return err
		}
		if err := d.Apply(ctx, k); err != nil {
			return err
		}
	}
	return nil
}

// longestRefusal is how much of a refused call's answer an ended session tells, in bytes.
const longestRefusal = 300

// conclude makes the next message and counts what went wrong.
func (c executor) conclude(d *done) {
	say := llm.Message{Role: llm.User}
	refused := 0
	for _, k := range d.Calls {
		say.Blocks = append(say.Blocks, llm.ToolResult{ID: k.Use.ID, Text: k.Result.Text, IsError: k.Result.Failed, Outcome: k.Result.Outcome})
		if k.Result.Refused {
			refused++
			d.st.Refused = text.OneLine(k.Result.Text, longestRefusal)
		}
	}
	if d.Problem != "" && d.End == nil {
		say.Blocks = append(say.Blocks, llm.Text{Text: "The workspace cannot be recorded as it is: " + d.Problem + ". Mend this next."})
	}
	c.show(d.Calls, &say)
	d.st.Barren++
	if refused < len(d.Calls) {
		d.st.Barren, d.st.Empty, d.st.Cut, d.st.Refused, d.st.Reminded = 0, 0, 0, "", false
	}
	say = c.fitted(say)
	switch {
	case d.End == nil:
		c.remind(d, &say)
	case d.End.Kind == session.Parked, d.End.Kind == session.Claimed, d.End.Kind == session.Reported && c.Spec.Post != nil:
		// A claim's conversation may go on, with what a review says of it, and that of an
		// agent which has answered with what it is asked more.
		d.st.Open, d.st.Waits, d.st.Asks = &say, d.End.ToolUse, d.End.Asks
		return
	}
	if d.End == nil && len(say.Blocks) > 0 {
		d.say = &say
	}
}

// remind adds what the harness has to say to an answer that does not go on by
// itself, or ends the session where it said so before.
func (c executor) remind(d *done, say *llm.Message) {
	var r brief.Reminder
	stop, calls := c.turn.Stop, len(d.Calls)
	switch {
	case stop == llm.StopRefusal:
		d.give(session.CauseRefusal)
	case stop == llm.StopContext:
		d.st.Due = &due{Cause: dueOverflow}
		if calls == 0 {
			r = brief.Length
		}
	case stop == llm.StopLength:
		if !d.st.Short { // else it was the budget that cut it
			d.st.Cut++
		}
		if d.st.Cut > 1 {
			d.give(session.CauseLength)
		}
		r = brief.Length
	case calls > 0, stop == llm.StopPause && c.turn.Said:
	case stop == llm.StopEmpty, !c.turn.Said:
		if d.st.Empty++; d.st.Empty > 1 {
			d.give(session.CauseEmpty)
		}
		r = brief.Empty
	case d.st.Reminded:
		d.give(session.CauseNoEnding)
	default:
		d.st.Reminded = true
		r = brief.NoEnding
	}
	if r == "" || d.End != nil {
		return
	}
	text, err := r.Text(c.role, c.Setup.Persona)
	if err != nil { // an embedded text that a test reads
		text = string(r)
	}
	say.Blocks = append(say.Blocks, llm.Text{Text: text})
}

func (d *done) give(cause session.Cause) {
	d.End = session.Unfinished(cause, "", d.Tree)
}

// maxTries is how often a call may end the host before it is not run again: a
// call that exhausts the machine would do so for ever.
const maxTries = 2

// first are the calls of an answer that run first. They are counted by the
// commit that stores the answer.
func (c executor) first(calls []session.Call) []int {
	if len(calls) == 0 {
		return nil
	}
	return waiting(calls[:group(calls)])
}

// waiting are the indices of the calls that are to run in their place.
func waiting(calls []session.Call) (idx []int) {
	for i := range calls {
		if waits(&calls[i]) {
			idx = append(idx, calls[i].Index)
		}
	}
	return idx
}

// count makes it durable that calls are about to run and that the ones before
// have ended; one that ended the host too often has that as its result.
func (c executor) count(ctx context.Context, before, calls []session.Call) error {
	for i := range calls {
		if k := &calls[i]; waits(k) && c.turn.tries[k.Index] >= maxTries && !c.turn.fresh {
			k.Refuse(tool.Refusal("not run: this call ended the host twice, and is not run again; find another way, such as smaller steps, or less of the machine"))
		}
	}
	idx := waiting(calls)
	if c.turn.fresh || len(idx) == 0 {
		c.turn.fresh = false
		return nil
	}
	err := c.Write(ctx, func(tx *store.Tx) error {
		var ended []int
		for _, k := range before {
			if k.Ran && c.turn.tries[k.Index] > 0 && k.Tool.Scope != tool.Elsewhere {
				ended = append(ended, k.Index)
			}
		}
		return errors.Join(record.EndCalls(tx, c.id, ended), record.BeginCalls(tx, c.id, c.turn.N, idx))
	})
	if err != nil {
		return err
	}
	tries := maps.Clone(c.turn.tries)
	if tries == nil {
		tries = map[int]int{}
	}
	for _, k := range before {
		if k.Tool.Scope != tool.Elsewhere { // that it was begun is never forgotten
			delete(tries, k.Index)
		}
	}
	for _, i := range idx {
		tries[i]++
	}
	c.turn.tries = tries
	return nil
}

// spared takes the try back of calls that the host itself broke off, in order:
// they did not end it. Where that cannot be written they count.
func (c executor) spared(ctx context.Context, calls []session.Call) {
	var idx []int
	for _, k := range calls {
		if c.turn.tries[k.Index] > 0 && k.Tool.Scope != tool.Elsewhere { // which may have acted already
			idx = append(idx, k.Index)
		}
	}
	if len(idx) == 0 {
		return
	}
	_ = c.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error { return record.SpareCalls(tx, c.id, c.turn.N, idx) })
}

// together is how many calls from the first on run beside each other: where one
// may have ended the host, each by itself, to find out which.
func (c executor) together(calls []session.Call) int {
	n := group(calls)
	suspect := slices.ContainsFunc(calls[:n], func(k session.Call) bool { return waits(&k) && c.turn.tries[k.Index] > 0 })
	if suspect && !c.turn.fresh {
		return 1
	}
	return n
}
