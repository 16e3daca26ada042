package mode

import (
	"context"
	"testing"

	"agency/internal/agency"
	"agency/internal/contractrun"
	"agency/internal/contractrun/planning"
	"agency/internal/contractrun/team"
	"agency/internal/flow"
	"agency/internal/land"
	"agency/internal/registry"
	"agency/internal/roster"
	"agency/internal/schedule"
	"agency/internal/session"
	"agency/internal/store"
)

// tiered is a mode with one tier more than Team has, as it would be added: what the
// manager gives to one who leads is a plan of its own. No other role leads in this
// version, so that one is a project manager, too.
func tiered(c flow.Ctx, in Input) (Result, error) {
	if _, err := flow.Call(c, land.BranchActivity, "branch", land.BranchSpec{Run: in.Run, Base: in.Base}); err != nil {
		return Result{}, err
	}
	top := in.team()
	top.Fulfil = in.squad
	t := team.New(top)
	d := planning.New(in.plan(), t.Shared.Leading(), true)
	plan, failure, err := d.Plan(c)
	if err != nil || plan == nil {
		return Result{Reason: failure}, err
	}
	return carryOut(c, in, t, d.Contracts(plan))
}

// squad is how a contract of the manager's plan is done: whoever leads plans it and
// leads those who do it, anyone else works on it. A part that fails is its contract's
// failure, and so the manager's to plan anew.
func (in Input) squad(c flow.Ctx, above *team.Team, a *contractrun.Run) (failure string, err error) {
	of := a.Contract
	if !roster.Leads(of.AssignedRole) {
		return work(c, above, a)
	}
	a.Next()
	if err := a.Advance(c, "start", agency.Started{Agent: a.Agent()}); err != nil {
		return "", err
	}
	below := in.team()
	below.Shared = above.Shared.Below(contractrun.Lead{Role: of.AssignedRole, Plan: of.ID + "-plan", Parent: of.ID})
	below.Replan = func(flow.Ctx, *team.Team, schedule.Failure) ([]agency.Contract, error) { return nil, nil }
	t := team.New(below)
	how := t.Shared.Leading()
	how.Agents = t
	d := planning.New(in.plan(), how, true)
	d.Contract.Title, d.Contract.Description = "Plan for: "+of.Title, of.Description
	plan, failure, err := d.Plan(c)
	if err != nil || plan == nil {
		a.Stopped = d.Stopped
		return failure, err
	}
	out, err := t.Execute(c, d.Contracts(plan))
	if err != nil {
		return "", err
	}
	if out.Stopped != "" {
		a.Stopped = true
		return out.Stopped, nil
	}
	if err := t.CheckDeferred(c); err != nil || !t.Wholly() {
		return t.WhatFailed(), err
	}
	return "", a.ClaimComplete(c)
}

// led is a part whose role leads.
func led(id string, after ...agency.ContractID) agency.Contract {
	p := part(id, after...)
	p.AssignedRole, p.Writes = agency.RoleProjectManager, nil
	return p
}

// A tier is a function of this package: a contract is carried out by a lead of its
// own, with a plan, members and slots of its own, while the rest of the run goes on.
func TestTier(t *testing.T) {
	s, in := newStage(t), teamInput
	in.Parallel = 1
	s.plans = []session.Outcome{plan(led("ui"), part("docs", "ui")), plan(part("form"), part("check", "form"))}
	s.byAttempt = map[string]session.Outcome{
		"form 1.1":  question("form"),
		"check 1.1": {Kind: session.Parked, For: session.ForHuman, Question: "which?", ToolUse: "call-1"},
	}
	if got := s.run(tiered, in); got != merged {
		t.Fatalf("ended %+v: %q", got, s.said)
	}
	s.order("session plan 1.1", "session ui-plan 1.1", "session form 1.1", "session ask-form-1-1 1.1", "session form 1.2", "land form: true",
		"session check 1.1", "gate question-check-1-1: approve", "session check 1.2", "land check: true", "session docs 1.1", "land docs: true", "session report 1.1")
	s.allEnded()
	for _, sp := range s.specs {
		if want := agency.AgentID("project_manager-ui-plan"); sp.Contract == "ui-plan" && (sp.Agent != want || !sp.Leads) {
			t.Errorf("the squad is planned by %+v", sp)
		}
	}
	var all []agency.Contract
	if err := s.db.Read(context.Background(), func(q *store.Snapshot) (err error) {
		all, err = registry.Contracts(q, run)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for lead, want := range map[agency.ContractID]string{"ui-plan": "form check", "plan": "docs"} {
		var names []agency.ContractID
		for _, c := range roster.Team(all, lead) {
			names = append(names, c.ID)
		}
		if got := agency.JoinIDs(names, " "); got != want {
			t.Errorf("the team of %s is %q, want %q", lead, got, want)
		}
	}
}

// What fails below is the failure of the contract above, which its lead plans anew.
func TestTierFails(t *testing.T) {
	s, in := newStage(t), teamInput
	s.plans = []session.Outcome{plan(led("ui"), part("docs", "ui")), plan(part("form"), part("check", "form")), plan(part("again"))}
	s.judged = map[string]agency.Verdict{"form 1": red, "form 2": red}
	if got := s.run(tiered, in); got != merged {
		t.Fatalf("ended %+v: %q", got, s.said)
	}
	s.order("session ui-plan 1.1", "verify form 2: false", "session replan 1.1", "land again: true")
	if ui, check := s.contract("ui"), s.contract("check"); ui.Status != agency.StatusFailed || check.Status != agency.StatusBlocked || check.ParentID != "ui" {
		t.Errorf("ui is %s, check of %s is %s", ui.Status, check.ParentID, check.Status)
	}
}
