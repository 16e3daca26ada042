package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/store"
	"agency/internal/text"
	"agency/internal/tool"
	"agency/internal/tool/team"
)

// Notes is what a session has noted: its own plan, and a manager's for that of its run.
type Notes struct {
	Todo    []tool.Step       `json:"todo,omitempty"`
	Drafts  []agency.Contract `json:"drafts,omitempty"`
	Returns int               `json:"returns,omitempty"` // how often the plan came back
	Split   []agency.Contract `json:"split,omitempty"`   // contracts that came back to be split
	Drafted bool              `json:"drafted,omitempty"` // others were shown a draft of the plan
	// Critiqued is a plan of workstreams that came back to be looked at by its author.
	Critiqued []agency.Contract `json:"critiqued,omitempty"`
	// Background are its commands that go on, of which a later part has to be told that they
	// have ended.
	Background []string `json:"background,omitempty"`
}

// Effects are what the calls of one turn come to: how the part ends by them, and
// what stays noted. A runtime makes one for a turn, runs the calls that
// run in their place, gathers what they left, then runs those that end or park
// the session and applies their effects, in order.
type Effects struct {
	*Member
	Mail     *Mailbox
	Tools    *Toolset
	Rules    agency.PlanRules // for the plan of a session that ends by one
	N        int              // of the turn
	Calls    []Call
	Criteria []agency.Criterion // of the contract
	// Notes are changed by the turn; Noted are the drafts before it.
	Notes *Notes
	Noted []agency.Contract
	known []agency.Contract // that agents work on, where a manager leads them
	Tree  agency.OID        // of the workspace after the calls; empty: unknown
	// Problem says why the workspace cannot be recorded; empty: it can.
	Problem string
	// End is how the part ends; nil where it goes on.
	End *Outcome
}

// MaxChanged is how many changed files are named.
const MaxChanged = 200

// Run runs a call: not one that would end the turn another way than a call before
// it did. What only the host can mend is an error; what else goes
// wrong is told to the model, which may find another way.
func (t *Effects) Run(ctx context.Context, k *Call) error {
	if k.Tool.Last && t.End != nil && !(t.End.For == ForAgents && k.Tool.Joins && t.End.Broadcast() == "") {
		k.Refuse(tool.Refusal("not run: the call before it already decided how this turn ends"))
		return nil
	}
	res, err := t.guarded(ctx, k)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx) // a command that was killed is no result
	}
	switch {
	case err == nil:
		k.Result = res
	case ctx.Err() != nil, agency.KindOf(err) == agency.KindTransient, errors.Is(err, context.Canceled):
		return err
	default:
		k.Result = tool.Result{Text: "error: the tool itself failed: " + tool.Cap(err.Error(), 2<<10), Failed: true}
	}
	k.Result.Text = string(t.DB.Redact([]byte(k.Result.Text)))
	k.Ran = true
	return nil
}

// guarded runs a call. One that panics is that call's failure: the host has
// other work.
func (t *Effects) guarded(ctx context.Context, k *Call) (res tool.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			slog.Error("a tool call panicked", "session", t.Spec.ID(), "tool", k.Use.Name, "panic", p, "stack", string(debug.Stack()))
			res, err = tool.Result{}, agency.Errorf(agency.KindInternal, "it panicked: %v", p)
		}
	}()
	return k.Tool.Run(ctx, t.Env(k.Index), k.Use.Args)
}

// Gather takes up what the calls have left that ran in their place: drafts, and the
// workspace where one of them may have changed it. It comes before the calls that
// end or park the session.
func (t *Effects) Gather(ctx context.Context) (err error) {
	t.drafted()
	t.Notes.Background = t.Tools.Background.lines()
	for _, k := range t.Calls {
		if todo, ok := k.Result.Effect.(tool.Todo); ok && k.Ran {
			t.Notes.Todo = todo.Items
		}
	}
	changed, last := false, false
	for _, k := range t.Calls {
		changed, last = changed || k.Writes(), last || !k.Ran && k.Tool.Last
	}
	if changed || t.Tree == "" && last {
		if t.Problem, err = t.take(ctx); err != nil {
			return err
		}
	}
	if t.Spec.Leads && last {
		t.known, err = t.team(ctx)
	}
	return err
}

// take takes the workspace into a tree. One that cannot be is the model's to
// mend; problem says how.
func (t *Effects) take(ctx context.Context) (problem string, err error) {
	tree, err := t.Tools.Tree.Snapshot(ctx)
	switch {
	case err == nil:
		t.Tree = tree
		return "", nil
	case ctx.Err() == nil && agency.KindOf(err) == agency.KindInvalid:
		t.Tree = ""
		return err.Error(), nil
	}
	return "", err
}

// Apply is what the effect of an accepted call does to the session. It may refuse
// the call after all.
func (t *Effects) Apply(ctx context.Context, k *Call) error {
	switch e := k.Result.Effect.(type) {
	case tool.Complete:
		if why := t.notClaimable(); why != "" {
			k.Result = tool.Refusal("not accepted: %s", why)
			return nil
		}
		t.End = &Outcome{Kind: Claimed, Tree: t.Tree, ToolUse: k.Use.ID, Claim: &agency.Claim{
			Session: t.Spec.ID(), Contract: t.Spec.Contract, Summary: e.Summary, Evidence: e.Evidence, Outputs: e.Outputs, Tree: t.Tree,
		}}
	case tool.Plan:
		t.submit(k, e)
	case tool.Verdict:
		judged(t, k, e)
	case tool.Accept:
		t.End = &Outcome{Kind: Reported, Report: e.Summary, Acceptance: &e.Acceptance, ToolUse: k.Use.ID, Tree: t.Tree}
	case tool.Report:
		t.End = &Outcome{Kind: Reported, Report: e.Text, Decided: e.Decided, ToolUse: k.Use.ID, Tree: t.Tree}
	case tool.Reviewed:
		t.reviewed(k, e.Review)
	case tool.Blocked:
		t.End = &Outcome{Kind: Blocked, Reason: e.Reason, Attempted: e.Attempted, Tree: t.Tree}
	case tool.Question:
		t.End = &Outcome{Kind: Parked, For: ForHuman, Question: e.Text, Options: e.Options, ToolUse: k.Use.ID, Tree: t.Tree}
	case tool.Spawn:
		t.spawn(k, e)
	case tool.Amend:
		t.amend(k, e)
	case tool.Await:
		t.ofAgents(k, e.Agents, AgentsAsk{Wait: &Agents{IDs: e.Agents}})
	case tool.Collect:
		t.ofAgents(k, e.Agents, AgentsAsk{Collect: &Agents{IDs: e.Agents}})
	case tool.CallAgent, tool.AskAgain, tool.Release, tool.HandTo, tool.Broadcast:
		composed(t, k)
	case tool.Clarification:
		t.End = &Outcome{Kind: Parked, For: ForInbox, Question: e.Text, Awaits: t.messageID(asksQuestion, t.N, k.Index), ToolUse: k.Use.ID, Tree: t.Tree}
	case tool.ImplementationChange:
		return t.change(ctx, k, e)
	case tool.Handoff:
		return t.handOff(ctx, k, e)
	}
	return nil
}

// Said is what a last word without a call comes to: a claim, where the files have changed
// and are those on which the repository's own checks were green. A model that has seen that
// has nothing left to say, and some then say only that.
func Said(ctx context.Context, t *Effects, words string, has check.Commands) error {
	if t.End != nil || t.Problem != "" || t.Tree == "" || t.Spec.Review != nil || t.Spec.Post != nil || t.Tools.History == nil {
		return nil
	}
	if n, err := (letters{t.Mail, t.N, 0}).Unheard(ctx); n > 0 || err != nil { // who wrote meanwhile is read first
		return err
	}
	var all []agency.Receipt
	err := t.DB.Read(ctx, func(q *store.Snapshot) (err error) {
		all, err = check.Receipts(q, t.Spec.Run)
		return err
	})
	if err != nil || !green(LatestReceipts(all, t.Spec.Contract), t.Tree, has) {
		return err
	}
	switch changed, err := t.Tools.changed(ctx); {
	case agency.KindOf(err) == agency.KindInvalid: // the model is told what is wrong with the files
		return nil
	case err != nil || len(changed) == 0:
		return err
	}
	t.End = &Outcome{Kind: Claimed, Tree: t.Tree, Claim: &agency.Claim{
		Session: t.Spec.ID(), Contract: t.Spec.Contract, Summary: text.Head(words, 4<<10), Tree: t.Tree,
	}}
	return nil
}

// green tells whether each command that there is for it was run whole on a tree and passed:
// the tests, and what else was run on that tree.
func green(latest []agency.Receipt, tree agency.OID, has check.Commands) bool {
	tests, some := has.Command(agency.CheckTest).Line == "", false
	for _, r := range latest {
		switch {
		case r.Tree != tree || check.Stage(r.Stage) != check.StageWork:
			continue
		case !r.OK():
			return false
		}
		some = true
		tests = tests || r.Kind == agency.CheckTest && r.Command == has.Command(agency.CheckTest).Line
	}
	return tests && some
}

func (t *Effects) notClaimable() string {
	if t.Problem != "" {
		return t.Problem
	}
	var failed, red []string
	for _, k := range t.Calls {
		switch {
		case !k.Ran || k.Tool.Last:
		case k.Result.Failed:
			failed = append(failed, k.Use.Name)
		case k.Result.Red:
			red = append(red, k.Use.Name)
		}
	}
	switch {
	case len(failed) > 0:
		return "another call of this turn failed (" + strings.Join(failed, ", ") + "); look at its result first"
	case len(red) > 0:
		return strings.Join(red, ", ") + " of this turn did not pass; mend it, or where it did not pass before your change either, claim in an answer of its own"
	}
	return ""
}

// reviewed ends a reviewer's session with its review. Which contract, attempt and tree
// it is about comes from the spec, not from the model.
func (t *Effects) reviewed(k *Call, r agency.Review) {
	of := t.Spec.Review
	if of == nil {
		k.Result = tool.Refusal("this session has nothing to review; end it by another tool")
		return
	}
	r.ContractID, r.Session, r.Reviewer, r.Role = t.Spec.Contract, t.Spec.ID(), t.Spec.Agent, t.Spec.Role
	r.Attempt, r.Iteration, r.Tree, r.Base = t.Spec.Attempt, of.Iteration, of.Claim.Tree, of.Base
	t.End = &Outcome{Kind: Reviewed, Review: &r, Tree: t.Tree}
}

// judged ends a session with its verdict: a verifier's is the review of the claim, a squad
// lead's is on the tasks of its workstream.
func judged(t *Effects, k *Call, v tool.Verdict) {
	if t.Spec.Review != nil {
		if v.Joint.Verdict == agency.JointPartial {
			k.Result = tool.Refusal("partial is a joint verdict: of one slice say pass or fail")
			return
		}
		t.reviewed(k, v.Review)
		return
	}
	var unknown []agency.ContractID
	for _, id := range v.Joint.FailedScopes {
		if _, ok := byID(t.Rules.Started, id); !ok {
			unknown = append(unknown, id)
		}
	}
	switch {
	case len(unknown) > 0:
		k.Result = tool.Refusal("failed_scopes names %s, which the workstream does not have; its tasks are: %s", text.Head(agency.JoinIDs(unknown, ", "), 200), contractNames(t.Rules.Started))
		return
	case v.Joint.Verdict == agency.JointPartial && len(v.Joint.FailedScopes) == 0:
		k.Result = tool.Refusal("partial wants failed_scopes: the tasks that have to be done again. The tasks are: %s", contractNames(t.Rules.Started))
		return
	}
	t.End = &Outcome{Kind: Reported, Report: v.Joint.Summary, Joint: &v.Joint, ToolUse: k.Use.ID, Tree: t.Tree}
}

// change parks the session until a bug in what it tests is mended.
func (t *Effects) change(ctx context.Context, k *Call, e tool.ImplementationChange) error {
	files, err := t.left(ctx, k)
	if err != nil || k.Result.Refused {
		return err
	}
	t.End = &Outcome{
		Kind: Parked, For: ForInbox, Question: e.Bug, ToolUse: k.Use.ID, Tree: t.Tree, Awaits: t.messageID(asksChange, t.N, k.Index),
		Change: &Change{Bug: e.Bug, Test: e.Test, Receipt: e.Receipt, Files: files},
	}
	return nil
}

// left are the files that the contract has changed, with what the call itself
// has left of them. The call is refused where they cannot be recorded.
func (t *Effects) left(ctx context.Context, k *Call) (files []string, err error) {
	problem := t.Problem
	if problem == "" {
		if problem, err = t.take(ctx); err != nil {
			return nil, err
		}
	}
	if problem != "" {
		k.Result = tool.Refusal("not accepted: %s", problem)
		return nil, nil
	}
	return t.Tools.changed(ctx)
}

// handOff parks the session until the manager has decided; where it agrees
// another agent goes on, and this conversation is over. A reviewer does not wait:
// there are no files of its own to go on from.
func (t *Effects) handOff(ctx context.Context, k *Call, e tool.Handoff) (err error) {
	if !t.concurrent() {
		if k.Result, err = team.Posted(letters{t.Mail, t.N, k.Index}.handoff(ctx, e)); err != nil {
			k.Result, err = tool.Answer(err)
		}
		return err
	}
	files, err := t.left(ctx, k)
	if err != nil || k.Result.Refused {
		return err
	}
	t.End = &Outcome{
		Kind: Parked, For: ForInbox, ToolUse: k.Use.ID, Tree: t.Tree,
		Question: fmt.Sprintf("Shall a %s go on with contract %s in the place of the %s?\n\n%s", e.Role, t.Spec.Contract, t.Spec.Role, e.Reason),
		Awaits:   t.messageID(asksHandoff, t.N, k.Index),
		Handoff:  &Handoff{Role: e.Role, Reason: e.Reason, Files: files[:min(len(files), MaxChanged)]},
	}
	return nil
}
