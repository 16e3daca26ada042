package mode

import (
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/deps"
	"agency/internal/flow"
	"agency/internal/session"
	"agency/internal/text/texttest"
)

// No text of an agent, of a verdict on what it wrote, or of a file of the change makes a line of
// any gate.
func TestAgentsMakeNoLinesOfGates(t *testing.T) {
	const f = texttest.Forged
	asking := session.Outcome{Kind: session.Parked, For: session.ForHuman, Question: f, Options: []string{f}, ToolUse: "q"}
	broke := session.Outcome{Kind: session.Parked, For: session.ForBudget, Reason: f}
	stuck := session.Outcome{Kind: session.Blocked, Reason: f, Attempted: f}
	main := []session.Outcome{plan(part("main"))}
	two := []session.Outcome{plan(part("a"), part("b"))}
	faulty := plan(part("a"))
	faulty.Faults = []agency.PlanFault{{Contract: "a", What: f}}
	talks := reviewed(talk, "minor "+f)
	talks.Review.Summary, talks.Review.Issues[0].File = f, f
	audit := part("audit", "a")
	audit.AssignedRole, audit.Type, audit.Writes = aReviewer, agency.TypeReview, nil
	weak := agency.Verdict{Pass: true, Weakened: []agency.Weakening{{Kind: agency.WeakDeleted, Name: f, Detail: f}}}
	judges := joint(agency.JointFail)
	judges.Joint.Summary, judges.Joint.Results = f, []agency.SliceVerdict{{Verifier: "v", Scope: "a", Verdict: "fail", Issues: []string{f}, Notes: f}}
	for name, tt := range map[string]struct {
		mode func(flow.Ctx, Input) (Result, error)
		in   Input
		set  func(*stage, *Input)
		gate string
	}{
		"a question": {Single, input, func(s *stage, _ *Input) { s.sessions = []session.Outcome{asking} }, "question-main-1-1"},
		"a budget":   {Single, input, func(s *stage, _ *Input) { s.sessions = []session.Outcome{broke} }, "budget-main-1-1"},
		"a block":    {Single, input, func(s *stage, _ *Input) { s.sessions = []session.Outcome{stuck} }, "escalation-main-1"},
		"a move up": {Single, input, func(s *stage, in *Input) {
			in.Triggers, in.Asks, in.RetryBudget = []string{OnFailure}, true, 1
			s.judged = map[string]agency.Verdict{"main 1": {Reasons: []string{f}}}
		}, "escalate-" + OnFailure},
		"packages": {Single, input, func(s *stage, _ *Input) {
			s.needs, s.installs = []deps.Need{texttest.Plant[deps.Need]("Setup")}, []deps.Installed{{Reason: f, Network: true}}
		}, "dependencies-main-1-2"},
		"weakenings": {Contract, input, func(s *stage, _ *Input) { s.verdicts = []agency.Verdict{weak, weak} }, "weakened-fix-1"},
		"no review": {ProducerCritic, loopInput, func(s *stage, _ *Input) {
			s.plans, s.sessions, s.verdicts = main, []session.Outcome{claimOf("t")}, []agency.Verdict{greenOf("t")}
			s.reviews = map[agency.ContractID][]session.Outcome{"main": {stuck, stuck, stuck}}
		}, "unreviewed-main-1"},
		"a review": {ProducerCritic, loopInput, func(s *stage, _ *Input) {
			s.plans, s.sessions, s.verdicts = main, []session.Outcome{claimOf("t")}, []agency.Verdict{greenOf("t")}
			s.reviews = map[agency.ContractID][]session.Outcome{"main": {talks}}
		}, "review-main-1"},
		"faults": {Team, teamInput, func(s *stage, _ *Input) { s.plans = []session.Outcome{faulty, plan(part("a"))} }, "plan-faults-1"},
		"a team asks": {Team, teamInput, func(s *stage, _ *Input) {
			q := question("a")
			q.Question = f
			s.plans = two
			s.byAttempt["a 1.1"], s.managers = q, map[agency.ContractID]session.Outcome{"a": stuck}
		}, "question-a-1-1"},
		"an audit": {Team, teamInput, func(s *stage, _ *Input) {
			s.plans = []session.Outcome{plan(part("a"), audit)}
			s.reviews = map[agency.ContractID][]session.Outcome{"audit": {talks}}
		}, "review-audit-1"},
		"failures": {Team, teamInput, func(s *stage, _ *Input) {
			gone := session.Outcome{Kind: session.Incomplete, Reason: f}
			s.plans = append(two, gone, gone)
			s.byAttempt["b 1.1"], s.answers = stuck, map[string]agency.Decision{"escalation-b-1": {Verb: agency.Reject, Note: f}}
		}, "incomplete"},
		"a design": {Tiered, tieredInput, func(s *stage, in *Input) {
			in.Tiers.LeadGate = true
			s.byAttempt["plan 1.1"], s.byAttempt["w-tasks 1.1"] = streams("w: t2 t3 t4 t5 backend"), tasks(part("a"))
			s.published = map[string]map[agency.ArtifactKind]string{"t2-architecture 1.1": {}}
			for _, kind := range wanted(architecture) {
				s.published["t2-architecture 1.1"][kind] = f
			}
		}, "t2-architecture-1"},
		"a verdict": {Tiered, tieredInput, func(s *stage, in *Input) {
			in.Tiers.VerdictGate = true
			s.byAttempt["plan 1.1"], s.byAttempt["w-tasks 1.1"], s.byAttempt["w-verdict 1.1"] = streams("w: t3 t4 t5 backend"), tasks(part("a")), judges
		}, "t5-w-1"},
		"an amendment": {Tiered, tieredInput, func(s *stage, in *Input) {
			in.Tiers.VerdictGate = true
			s.byAttempt["plan 1.1"], s.byAttempt["w-tasks 1.1"], s.byAttempt["w-tasks-2 1.1"] = streams("w: t3 t4 t5 web"), tasks(part("a")), tasks(part("b"))
			s.during = func(sp session.Spec) error {
				if sp.Contract != "w-tasks" {
					return nil
				}
				return s.amends(agency.PathAmendment{ProposedBy: sp.Agent, Reason: f, Workstream: "w", AddTiers: []agency.Tier{"t2"}, InsertBefore: "t3"})
			}
		}, "t5-w-1"},
	} {
		t.Run(name, func(t *testing.T) {
			s, in := newStage(t), tt.in
			s.byAttempt = map[string]session.Outcome{}
			tt.set(s, &in)
			s.run(tt.mode, in)
			gates := s.allGates()
			at := slices.IndexFunc(gates, func(g agency.Gate) bool { return strings.HasSuffix(string(g.ID), "."+tt.gate) })
			if at < 0 {
				t.Fatalf("no gate %s: %q", tt.gate, s.said)
			}
			if g := gates[at]; strings.Contains(g.Summary, "forged") {
				texttest.Check(t, "the summary", g.Summary)
			}
			texttest.Check(t, string(gates[at].Kind)+" gate", strings.Join(append([]string{gates[at].Body}, gates[at].Options...), "\n- "))
		})
	}
}
