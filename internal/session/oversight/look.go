package oversight

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/event"
	"agency/internal/llm"
	"agency/internal/overseer"
	"agency/internal/registry"
	"agency/internal/roster"
	"agency/internal/session"
	"agency/internal/store"
	"agency/internal/text"
	"agency/internal/tool"
)

// look is a conversation about what was flagged. It is kept nowhere but in what came of
// it: after a crash it is held again.
type look struct {
	*Model
	flagged overseer.Detection
	staff   Staff
	account *session.Account
	tools   []tool.Tool
	req     llm.Request
	n       int   // turns
	tokens  int64 // that they took
	stepped bool
	report  string
}

// mostTurns bounds a look.
const mostTurns = 10

func (m *Model) begin(ctx context.Context, staff Staff, d overseer.Detection, views []overseer.View) (*look, error) {
	role, err := roster.Find(agency.RoleOverseer)
	if err != nil {
		return nil, err
	}
	system, err := role.Prompt(roster.View{})
	if err != nil {
		return nil, err
	}
	spec := session.Spec{Run: m.o.Run.ID, Contract: agency.OverseerContract, Attempt: int(d.Event), Part: 1, Role: role.ID, Agent: agent}
	t := &look{Model: m, flagged: d, staff: staff, tools: session.Offered(role, roster.Always, roster.Present{})}
	t.account = &session.Account{Member: &session.Member{Spec: spec, DB: m.o.DB, Write: m.write}, Prices: staff.Prices, Above: staff.Above}
	said, err := t.brief(ctx, views)
	if err != nil {
		return nil, err
	}
	t.req = llm.Request{
		Model: staff.Lineup.Names[0], System: system, Messages: []llm.Message{llm.UserText(string(m.o.DB.Redact([]byte(said))))},
		MaxOutput: staff.Limits.MaxOutput, Session: string(spec.ID()),
	}
	for _, o := range t.tools {
		t.req.Tools = append(t.req.Tools, llm.Tool{Name: o.Name, Description: o.Description, Schema: o.Schema})
	}
	t.req.Tools = llm.SortedTools(t.req.Tools)
	return t, nil
}

// talk goes on until the model has reported, or has nothing to say.
func (t *look) talk(ctx context.Context) error {
	for barren := 0; t.report == "" && barren < 2 && t.n < mostTurns; {
		if limit := t.staff.Limits.Tokens; limit > 0 && t.tokens >= limit {
			return nil
		}
		a, err := t.ask(ctx)
		if err != nil {
			return err
		}
		say := llm.Message{Role: llm.User}
		ran := false
		for _, u := range a.Message.Calls() {
			res, err := t.call(ctx, u)
			if err != nil {
				return err
			}
			ran = ran || !res.Refused
			say.Blocks = append(say.Blocks, llm.ToolResult{ID: u.ID, Text: string(t.o.DB.Redact([]byte(res.Text))), IsError: res.Failed})
		}
		if barren++; ran {
			barren = 0
		}
		if len(say.Blocks) == 0 {
			if words := a.Message.Words(); words != "" && barren > 1 {
				t.report = words
			}
			say.Blocks = append(say.Blocks, llm.Text{Text: "End with final_report."})
		}
		if len(a.Message.Blocks) > 0 {
			t.req.Messages = append(t.req.Messages, a.Message)
		}
		t.req.Messages = append(t.req.Messages, say)
	}
	return nil
}

// call carries a call out.
func (t *look) call(ctx context.Context, u llm.ToolUse) (tool.Result, error) {
	at := slices.IndexFunc(t.tools, func(o tool.Tool) bool { return o.Name == u.Name })
	switch {
	case at < 0:
		return tool.Unknown(u.Name, t.tools), nil
	case u.Invalid != "":
		return t.tools[at].Malformed(u.Invalid), nil
	}
	res, err := t.tools[at].Run(ctx, &tool.Env{Oversight: t, Redact: t.o.DB.Redact}, u.Args)
	if r, ends := res.Effect.(tool.Report); ends && err == nil {
		t.report = r.Text
	}
	return res, err
}

// View is for tool.Oversight.
func (t *look) View(ctx context.Context, agent agency.AgentID) (v overseer.View, err error) {
	var views []overseer.View
	if err := t.o.Watch(ctx, func(w *overseer.Watch) { views = w.Views() }); err != nil {
		return v, err
	}
	var names []string
	for _, v := range views {
		if v.Agent == agent {
			return v, nil
		}
		names = append(names, string(v.Agent))
	}
	return v, agency.Errorf(agency.KindNotFound, "no agent %q is at work; at work are: %s", text.Head(string(agent), 80), strings.Join(text.FewOf(names, maxAgents), ", "))
}

// Step is for tool.Oversight.
func (t *look) Step(ctx context.Context, agent agency.AgentID, action overseer.Action, words string) (string, error) {
	if t.stepped {
		return "", agency.Errorf(agency.KindConflict, "you have taken your step for what was flagged; give your final_report")
	}
	v, err := t.View(ctx, agent)
	if err != nil {
		return "", err
	}
	if action == overseer.ActionNudge {
		switch {
		case v.Nudges >= t.o.Settings.MaxNudges:
			return "", agency.Errorf(agency.KindConflict, "it was nudged %d times, which is all that an agent gets: let it be, halt it, or escalate", v.Nudges)
		case v.Cooldown > 0:
			return "", agency.Errorf(agency.KindConflict, "it was nudged just now, and may be again in %.0f seconds: let it be, halt it, or escalate", v.Cooldown+0.5)
		}
	}
	d := t.flagged
	d.Agent, d.Session, d.Role, d.Contract, d.Turn = v.Agent, v.Session, v.Role, v.Contract, v.Turns
	d.By, d.Words, d.Action = agency.ByOverseerModel, words, action
	said := map[overseer.Action]string{
		overseer.ActionNudge: "written; it is read before the next turn of " + string(agent), overseer.ActionHalt: "its session ends before its next turn",
		overseer.ActionEscalate: "its session ends before its next turn, and a person is asked",
	}
	if action == overseer.ActionHalt && !t.o.Settings.MayHalt {
		d.Action = overseer.ActionEscalate
	}
	if err := t.write(ctx, func(tx *store.Tx) error { return Intervene(tx, t.o.Run.ID, d) }); err != nil {
		return "", err
	}
	t.stepped = true
	return said[d.Action] + ". Give your final_report.", nil
}

// record notes that what was flagged was looked at, and what the model says of it.
func (t *look) record(ctx context.Context) error {
	if t.report == "" {
		t.report = "it looked, and gave no report"
	}
	return t.write(ctx, func(tx *store.Tx) error {
		if !t.stepped {
			d := t.flagged
			d.By, d.Words, d.Action = agency.ByOverseerModel, t.report, overseer.ActionLog
			return Intervene(tx, t.o.Run.ID, d)
		}
		ev := agency.NewEvent(t.o.Run.ID, agency.SeverityInfo, fmt.Sprintf("on %s: %s", t.flagged.Agent, text.OneLine(t.report, 500)), agency.Log{})
		ev.AgentID, ev.Role = agent, agency.RoleOverseer
		_, err := event.Append(tx, ev)
		return err
	})
}

// share is the part of a run's budget that the overseer may spend.
const share = 50

// limits are those of the overseer: a fiftieth of the run's, and of what a run may
// take by default where it has no limit.
func limits(of budget.Limits) budget.Limits {
	l := budget.Limits{Money: of.Money / share, Tokens: of.Tokens / share}
	if l == (budget.Limits{}) {
		l.Tokens = unlimited / share
	}
	return l
}

// unlimited are the tokens of which a run without limits counts.
const unlimited = 5_000_000

// reserve holds the worst case of the next request, in the overseer's own part of the
// run's budget.
func (t *look) reserve(ctx context.Context, key string, in int64) (out int64, err error) {
	if err := t.account.Look(ctx); err != nil {
		return 0, err
	}
	err = t.write(ctx, func(tx *store.Tx) error {
		root, err := budget.Read(tx, t.o.Run.ID, budget.Root)
		if err != nil {
			return err
		}
		l := limits(root.Limits)
		if err := errors.Join(budget.Open(tx, t.o.Run.ID, stage, budget.Root, l), budget.Raise(tx, t.o.Run.ID, stage, l)); err != nil {
			return err
		}
		if err := t.account.Open(tx, stage); err != nil {
			return err
		}
		out, err = t.account.Reserve(tx, key, t.req.Model, in, t.req.MaxOutput, min(t.req.MaxOutput, leastOutput))
		return err
	})
	return out, err
}

// leastOutput is how short an answer may be made that the budget has to hold.
const leastOutput = 512

// errLost ends a request of which an answer had begun: it is paid, and not made again.
var errLost = agency.Errorf(agency.KindTransient, "the answer broke off")

// ask makes a request and pays for it.
func (t *look) ask(ctx context.Context) (llm.Answer, error) {
	if t.staff.Limits.Turns > 0 && t.turns >= t.staff.Limits.Turns {
		return llm.Answer{}, errTurns
	}
	if err := t.paused(ctx); err != nil {
		return llm.Answer{}, err
	}
	t.n++
	t.turns++
	p := payment{key: fmt.Sprintf("%s/%d/turn-%d", t.account.Spec.ID(), t.o.Fence.Epoch, t.n), held: t.req.Model, in: llm.EstimateTokens(llm.Bytes(t.req))}
	req := t.req
	var err error
	if p.out, err = t.reserve(ctx, p.key, p.in); err != nil {
		return llm.Answer{}, err
	}
	req.MaxOutput = p.out
	a, err := t.stream(ctx, req, &p)
	paid := t.write(store.Needed(context.WithoutCancel(ctx)), func(tx *store.Tx) error {
		run := t.o.Run.ID
		switch {
		case err == nil:
			return budget.Settle(tx, run, p.key, t.staff.Prices.Bill(a.By, a.Model, a.Usage), 0) // it works beside the agents, whose time counts
		case p.open:
			return budget.Charge(tx, run, p.key, t.account.InterruptedBill(p.held, p.counted.Model, p.counted.Usage, p.in, p.out))
		}
		return budget.Release(tx, run, p.key)
	})
	t.tokens += a.Usage.In - a.Usage.Cached + a.Usage.Out
	return a, errors.Join(err, paid)
}

// payment is what is held for a request under way.
type payment struct {
	key     string
	held    string // the model that it is for
	in, out int64  // tokens, at worst
	counted llm.Counted
	begun   bool // something of an answer came
	open    bool // the provider may count for it
}

// free tells whether a try that failed cost nothing.
func (p *payment) free(f *llm.Fault) bool { return f != nil && f.AtDoor() && !p.begun }

// errPaused ends a look while a person wants the run to pause: nothing is sent.
var errPaused = agency.Errorf(agency.KindConflict, "the run is paused")

// paused is errPaused where the run is to pause.
func (t *look) paused(ctx context.Context) error {
	ctl, err := store.Get(ctx, t.o.DB, registry.ReadControl, t.o.Run.ID)
	if err == nil && ctl.Pause {
		err = errPaused
	}
	return err
}

// stream streams a request. What a provider may have counted is not asked again.
func (t *look) stream(ctx context.Context, req llm.Request, p *payment) (llm.Answer, error) {
	for ev, err := range t.staff.Lineup.Model.Ask(ctx, req) {
		if err != nil {
			var f *llm.Fault
			if errors.As(err, &f) && p.free(f) {
				p.open = false
			}
			return llm.Answer{}, err
		}
		switch ev := ev.(type) {
		case llm.Asking:
			if p.open && !p.free(ev.After) {
				return llm.Answer{}, errLost
			}
			p.open = false
			if err := t.paused(ctx); err != nil {
				return llm.Answer{}, err
			}
			if err := t.asking(ctx, p, ev.Model); err != nil {
				return llm.Answer{}, err
			}
			p.open = true
		case llm.Retrying:
			if !p.free(ev.Cause) {
				return llm.Answer{}, errLost
			}
			p.open = false
		case llm.Counted:
			p.begun, p.counted = true, ev
		case llm.Done:
			return ev.Answer, nil
		}
	}
	return llm.Answer{}, errLost
}

// asking makes what is held the model's that is about to be asked.
func (t *look) asking(ctx context.Context, p *payment, model string) error {
	if model != p.held {
		if err := t.write(ctx, func(tx *store.Tx) error { return t.account.Rebook(tx, p.key, model, p.in, p.out) }); err != nil {
			return err
		}
		p.held = model
	}
	return t.account.Hold(ctx, p.key, model, p.in, p.out)
}
