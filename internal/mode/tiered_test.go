package mode

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/artifact"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/store"
)

var tieredInput = func() Input {
	in := teamInput
	in.Parallel, in.RetryBudget = 4, 2
	in.Tiers = Tiers{SynthesisGate: true, MeshTimeout: 10 * time.Minute, ConflictCycles: 2}
	return in
}()

// tier plays a session of a tiered run: as the test has it, else as all goes well.
func (s *stage) tier(in session.Spec) (session.Outcome, error) {
	part := fmt.Sprintf("%s %d.%d", in.Contract, in.Attempt, in.Part)
	out, told := s.byAttempt[part]
	if in.Role.Tier() == agency.TierArchitect && (!told || out.Kind == session.Claimed) {
		if err := s.publish(in, part); err != nil {
			return out, err
		}
	}
	switch {
	case told:
		return out, nil
	case in.Report && in.Role == agency.RoleVisionary:
		return session.Outcome{Kind: session.Reported, Report: "done", Acceptance: &agency.Acceptance{Accepted: true, Summary: "done"}}, nil
	case in.Report:
		return joint(agency.JointPass), nil
	}
	return claimed(), nil
}

// publish writes the artifacts of a part of a design.
func (s *stage) publish(in session.Spec, part string) error {
	return s.db.Write(context.Background(), func(tx *store.Tx) error {
		c, err := registry.Contract(tx, run, in.Contract)
		if err != nil {
			return err
		}
		made, told := s.published[part]
		if !told {
			made = map[agency.ArtifactKind]string{}
			for _, kind := range wanted(c.Phase) {
				made[kind] = "the " + string(kind)
			}
		}
		for _, kind := range agency.ArtifactKinds() {
			if content, ok := made[kind]; ok {
				if _, err := artifact.Publish(tx, agency.Artifact{Kind: kind, Run: run, Contract: c.Reworks(), By: in.Agent, Content: content}, in.Role, part+string(kind)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func joint(verdict string, failed ...agency.ContractID) session.Outcome {
	return session.Outcome{Kind: session.Reported, Report: "r", Joint: &agency.JointVerdict{Verdict: verdict, FailedScopes: failed, Summary: "said so"}}
}

func rejects(why string, streams ...agency.ContractID) session.Outcome {
	return session.Outcome{Kind: session.Reported, Report: why, Acceptance: &agency.Acceptance{Summary: why, Workstreams: streams}}
}

// streams is a visionary's plan in one group: of each workstream its path, as "id: t3 t4 t5 domain".
func streams(of ...string) session.Outcome {
	p := agency.TierPlan{Complexity: agency.Medium, Groups: map[string][]agency.ContractID{}}
	for _, line := range of {
		id, rest, _ := strings.Cut(line, ": ")
		words := strings.Fields(rest)
		w := part(id)
		w.Phase, w.Domain = "A", words[len(words)-1]
		if g, ok := strings.CutPrefix(w.Domain, "B/"); ok {
			w.Phase, w.Domain = "B", g
		}
		for _, t := range words[:len(words)-1] {
			w.TierPath = append(w.TierPath, agency.Tier(t))
		}
		p.Workstreams, p.Groups[w.Phase] = append(p.Workstreams, w), append(p.Groups[w.Phase], w.ID)
		if !slices.Contains(p.Sequence, w.Phase) {
			p.Sequence = append(p.Sequence, w.Phase)
		}
	}
	return session.Outcome{Kind: session.Planned, Plan: p.Ordered(), Tiers: &agency.TierFacts{Complexity: agency.Medium, Amended: []string{"+ more"}}}
}

// tasks is a squad lead's plan.
func tasks(parts ...agency.Contract) session.Outcome {
	for i := range parts {
		parts[i].AssignedRole = agency.RoleImplementer
	}
	return plan(parts...)
}

func drafts(id string, parts ...agency.Contract) session.Outcome {
	return session.Outcome{
		Kind: session.Parked, For: session.ForAgents, ToolUse: id, Tree: "half",
		Asks: []session.AgentsAsk{{ToolUse: id, Draft: tasks(parts...).Plan}},
	}
}

// tieredCase is a run of tiers as it comes about.
type tieredCase struct {
	set  func(*stage, *Input)
	want Result
	said []string // in this order
	not  []string // and nothing that begins so
}

var tieredCases = map[string]tieredCase{
	"one implementer and one verifier": {
		func(s *stage, _ *Input) { s.byAttempt["plan 1.1"] = streams("a: t4 t5 -") }, merged,
		[]string{"session plan 1.1", "gate plan-1: approve", "session a 1.1", "verify a 1: true", "critic a 1 round 1.1: approve", "land a: true", "session accept 1.1", "gate merge-1: approve"},
		[]string{"session t2", "session a-"},
	},
	"a squad": {
		func(s *stage, _ *Input) {
			s.byAttempt["plan 1.1"] = streams("w: t3 t4 t5 backend")
			s.byAttempt["w-tasks 1.1"] = tasks(part("a"), part("b", "a"))
		}, merged,
		[]string{"gate plan-1: approve", "session w-tasks 1.1", "session a 1.1", "critic a 1 round 1.1: approve", "land a: true", "session b 1.1", "land b: true", "verify tree head on base", "session w-verdict 1.1", "session accept 1.1", "gate merge-1: approve"},
		[]string{"session t2"},
	},
	"the full stack": {
		func(s *stage, _ *Input) {
			s.byAttempt["plan 1.1"] = streams("w: t2 t3 t4 t5 backend", "v: t2 t3 t4 t5 front end")
			s.byAttempt["w-tasks 1.1"], s.byAttempt["v-tasks 1.1"] = tasks(part("a")), tasks(part("b"))
		}, merged,
		[]string{"session t2-boundaries 1.1", "session t2-backend 1.1", "session t2-architecture 1.1", "gate t2-architecture-1: approve", "session w-tasks 1.1", "land a: true", "session accept 1.1"},
		nil,
	},
	"groups run one after the other": {
		func(s *stage, _ *Input) { s.byAttempt["plan 1.1"] = streams("a: t4 t5 -", "b: t4 t5 B/x") }, merged,
		[]string{"land a: true", "session b 1.1", "land b: true"},
		nil,
	},
	"bad output is tried again": { // T4 bad output: by T3, up to the retry budget
		func(s *stage, _ *Input) {
			s.byAttempt["plan 1.1"], s.judged = streams("a: t4 t5 -"), map[string]agency.Verdict{"a 1": red}
		}, merged,
		[]string{"verify a 1: false", "session a 2.1", "land a: true"},
		nil,
	},
	"a verifier sends work back": {
		func(s *stage, in *Input) {
			in.Review.MaxIterations = 3
			s.byAttempt["plan 1.1"] = streams("a: t4 t5 -")
			s.byAttempt["a 1.1"], s.byAttempt["a 1.2"] = claimOf("one"), claimOf("two")
			s.reviews = map[agency.ContractID][]session.Outcome{"a": {reviewed(agency.ReviewChanges, "major wrong")}}
		}, merged,
		[]string{"critic a 1 round 1.1: request_changes", "session a 1.2", "critic a 1 round 2.1: approve", "land a: true"},
		nil,
	},
	"what is blocked goes up at once": { // T4 blocked: to T3, no retries; T4 partial: the rest is planned anew
		func(s *stage, _ *Input) {
			s.byAttempt["plan 1.1"] = streams("w: t3 t4 t5 backend")
			s.byAttempt["w-tasks 1.1"] = tasks(part("a"), part("b"))
			s.byAttempt["a 1.1"] = session.Outcome{Kind: session.Blocked, Reason: "no such table"}
			s.byAttempt["w-retask 1.1"] = tasks(part("c"))
		}, merged,
		[]string{"session a 1.1", "session w-retask 1.1", "land c: true", "session w-verdict 1.1", "gate merge-1: approve"},
		[]string{"session a 2", "gate escalation"},
	},
	"a partial verdict": { // T5 partial: only the failed slices
		func(s *stage, _ *Input) {
			s.byAttempt["plan 1.1"] = streams("w: t3 t4 t5 backend")
			s.byAttempt["w-tasks 1.1"] = tasks(part("a"), part("b"), part("c", "b"))
			s.byAttempt["w-verdict 1.1"] = joint(agency.JointPartial, "b", "c")
		}, merged,
		[]string{"session w-verdict 1.1", "session b-r2 1.1", "land b-r2: true", "session c-r2 1.1", "land c-r2: true", "session w-verdict-2 1.1", "session accept 1.1"},
		[]string{"session a-r2"},
	},
	"what failed and was planned anew is no slice of the next round": {
		func(s *stage, _ *Input) {
			s.byAttempt["plan 1.1"] = streams("w: t3 t4 t5 backend")
			s.byAttempt["w-tasks 1.1"] = tasks(part("a"), part("b"))
			s.byAttempt["a 1.1"] = session.Outcome{Kind: session.Blocked, Reason: "no such table"}
			s.byAttempt["w-retask 1.1"] = tasks(part("c"))
			s.byAttempt["w-verdict 1.1"] = joint(agency.JointPartial, "b")
		}, merged,
		[]string{"land c: true", "session w-verdict 1.1", "land b-r2: true", "session w-verdict-2 1.1", "session accept 1.1"},
		[]string{"session w-verdict-3", "session a-r"},
	},
	"partial too often fails": {
		func(s *stage, in *Input) {
			in.RetryBudget = 1
			s.byAttempt["plan 1.1"] = streams("w: t3 t4 t5 backend", "z: t4 t5 -")
			s.byAttempt["w-tasks 1.1"] = tasks(part("a"))
			s.byAttempt["w-verdict 1.1"], s.byAttempt["w-verdict-2 1.1"] = joint(agency.JointPartial, "a"), joint(agency.JointPartial, "a-r2")
			s.byAttempt["replan 1.1"] = streams("y: t4 t5 -")
		}, merged,
		[]string{"session w-verdict-2 1.1", "session replan 1.1", "gate replan-1: approve", "land y: true", "session accept 1.1"},
		nil,
	},
	"a joint fail goes to who planned it": { // T5 full fail, no architects above: to T1
		func(s *stage, _ *Input) {
			s.byAttempt["plan 1.1"] = streams("w: t3 t4 t5 backend")
			s.byAttempt["w-tasks 1.1"] = tasks(part("a"))
			s.byAttempt["w-verdict 1.1"] = joint(agency.JointFail)
			s.byAttempt["replan 1.1"] = streams("y: t4 t5 -")
		}, merged,
		[]string{"session w-verdict 1.1", "session replan 1.1", "land y: true"},
		nil,
	},
	"a designed workstream is designed again": { // T3 stuck: by T2
		func(s *stage, _ *Input) {
			s.byAttempt["plan 1.1"] = streams("w: t2 t3 t4 t5 backend")
			s.byAttempt["w-tasks 1.1"], s.byAttempt["w-tasks-2 1.1"] = tasks(part("a")), tasks(part("b"))
			s.byAttempt["w-verdict 1.1"] = joint(agency.JointFail)
		}, merged,
		[]string{"session w-verdict 1.1", "session t2-redesign-w 1.1", "gate t2-redesign-w-1: approve", "session w-tasks-2 1.1", "land b: true", "session accept 1.1"},
		[]string{"session replan"},
	},
	"receipts win over a squad lead": {
		func(s *stage, in *Input) {
			s.byAttempt["plan 1.1"] = streams("w: t3 t4 t5 backend")
			s.byAttempt["w-tasks 1.1"] = tasks(part("a"))
			s.judged = map[string]agency.Verdict{"a 1": {Pass: true}}
			s.verdicts = []agency.Verdict{red} // of what landed together
			s.byAttempt["replan 1.1"] = streams("y: t4 t5 -")
		}, merged,
		[]string{"verify tree head on base", "session w-verdict 1.1", "session replan 1.1", "land y: true"},
		nil,
	},
	"a squad lead without a word": {
		func(s *stage, _ *Input) {
			s.byAttempt["plan 1.1"] = streams("w: t3 t4 t5 backend")
			s.byAttempt["w-tasks 1.1"] = tasks(part("a"))
			s.byAttempt["w-verdict 1.1"] = session.Outcome{Kind: session.Incomplete, Reason: "50 turns"}
			s.byAttempt["replan 1.1"] = streams("y: t4 t5 -")
		}, merged, []string{"session w-verdict 1.1", "session replan 1.1"}, nil,
	},
	"not accepted, planned anew": { // T2 design wrong: by T1
		func(s *stage, _ *Input) {
			s.byAttempt["plan 1.1"] = streams("a: t4 t5 -")
			s.byAttempt["accept 1.1"] = rejects("half is missing", "a")
			s.byAttempt["replan-2 1.1"] = streams("b: t4 t5 -")
		}, merged,
		[]string{"session accept 1.1", "session replan-2 1.1", "gate replan-2-1: approve", "land b: true", "session accept-2 1.1", "gate merge-1: approve"},
		nil,
	},
	"not accepted to the end": { // repeated escalation: a gate
		func(s *stage, _ *Input) {
			s.byAttempt["plan 1.1"], s.byAttempt["accept 1.1"] = streams("a: t4 t5 -"), rejects("no")
			s.byAttempt["replan-2 1.1"], s.byAttempt["accept-2 1.1"] = streams("b: t4 t5 -"), rejects("still not")
			s.answers = map[string]agency.Decision{"unaccepted": {Verb: agency.Reject, Note: "I see"}}
		},
		Result{Reason: "the work was not accepted: still not"},
		[]string{"session accept-2 1.1", "gate unaccepted: reject"},
		[]string{"gate merge"},
	},
	"the visionary's plan is faulty": { // T1 failure: to a person
		func(s *stage, _ *Input) {
			out := streams("a: t4 t5 -")
			out.Faults = []agency.PlanFault{{What: "t5 can never be left out"}}
			s.byAttempt["plan 1.1"], s.answers = out, map[string]agency.Decision{"plan-faults-1": {Verb: agency.Reject}}
		},
		Result{Reason: "no valid plan came: t5 can never be left out"},
		[]string{"session plan 1.1", "gate plan-faults-1: reject"},
		[]string{"session a"},
	},
	"the plan is rejected once": {
		func(s *stage, _ *Input) {
			s.byAttempt["plan 1.1"], s.byAttempt["plan 2.1"] = streams("a: t4 t5 -"), streams("b: t4 t5 -")
			s.answers = map[string]agency.Decision{"plan-1": {Verb: agency.Reject, Note: "smaller"}}
		}, merged, []string{"gate plan-1: reject", "session plan 2.1", "gate plan-2: approve", "land b: true"}, []string{"session a "},
	},
	"conflicts go back to architects": {
		func(s *stage, _ *Input) {
			s.byAttempt["plan 1.1"] = streams("w: t2 t3 t4 t5 backend", "v: t2 t3 t4 t5 web")
			s.byAttempt["w-tasks 1.1"], s.byAttempt["v-tasks 1.1"] = tasks(part("a")), tasks(part("b"))
			s.published = map[string]map[agency.ArtifactKind]string{
				"t2-architecture 1.1": {agency.ArtifactConflicts: `[{"domain": "Web", "brief": "use JSON"}, {"domain": "nobody", "brief": "?"}]`},
				"t2-architecture 1.2": {agency.ArtifactConflicts: `[{"domain": "Web", "brief": "use JSON"}]`},
			}
		}, merged,
		[]string{"session t2-architecture 1.1", "session t2-architecture 1.2", "session t2-web-c1-1 1.1", "session t2-architecture 1.3", "gate t2-architecture-1: approve", "session accept 1.1"},
		[]string{"session t2-backend-c1"},
	},
	"an architecture from before the proposals changed": {
		func(s *stage, _ *Input) {
			s.byAttempt["plan 1.1"] = streams("w: t2 t3 t4 t5 web")
			s.byAttempt["w-tasks 1.1"] = tasks(part("a"))
			s.published = map[string]map[agency.ArtifactKind]string{
				"t2-architecture 1.1": {agency.ArtifactConflicts: `[{"domain": "web", "brief": "use JSON"}]`, agency.ArtifactArchitecture: "stale"},
				"t2-architecture 1.2": {},
			}
		}, merged,
		[]string{"session t2-web-c1-1 1.1", "session t2-architecture 1.2", "session t2-architecture 2.1", "gate t2-architecture-2: approve", "session w-tasks 1.1"},
		[]string{"gate t2-architecture-1"},
	},
	"a proposal that is not published anew": {
		func(s *stage, _ *Input) {
			s.byAttempt["plan 1.1"] = streams("w: t2 t3 t4 t5 web")
			s.byAttempt["w-tasks 1.1"] = tasks(part("a"))
			s.published = map[string]map[agency.ArtifactKind]string{
				"t2-architecture 1.1": {agency.ArtifactConflicts: `[{"domain": "web", "brief": "use JSON"}]`}, "t2-web-c1-1 1.1": {},
			}
		}, merged, []string{"session t2-web-c1-1 1.1", "session t2-web-c1-1 2.1", "session t2-architecture 1.2"}, nil,
	},
	"a rejected architecture comes again unchanged": {
		func(s *stage, in *Input) {
			in.RetryBudget = 3
			s.byAttempt["plan 1.1"] = streams("w: t2 t3 t4 t5 web")
			s.byAttempt["w-tasks 1.1"] = tasks(part("a"))
			s.published = map[string]map[agency.ArtifactKind]string{"t2-architecture 2.1": {}}
			s.answers = map[string]agency.Decision{"t2-architecture-1": {Verb: agency.Reject, Note: "smaller"}}
		}, merged,
		[]string{"gate t2-architecture-1: reject", "session t2-architecture 2.1", "session t2-architecture 3.1", "gate t2-architecture-3: approve"},
		[]string{"gate t2-architecture-2"},
	},
	"conflicts without end": {
		func(s *stage, _ *Input) {
			s.byAttempt["plan 1.1"] = streams("w: t2 t3 t4 t5 web")
			s.byAttempt["w-tasks 1.1"] = tasks(part("a"))
			s.published = map[string]map[agency.ArtifactKind]string{}
			for _, p := range []string{"1.1", "1.2", "1.3", "2.1"} {
				s.published["t2-architecture "+p] = map[agency.ArtifactKind]string{agency.ArtifactConflicts: `[{"domain": "web", "brief": "` + p + `"}]`}
			}
			s.published["t2-architecture 2.1"] = map[agency.ArtifactKind]string{agency.ArtifactArchitecture: "so it is"}
		}, merged,
		[]string{"session t2-web-c1-1 1.1", "session t2-web-c2-1 1.1", "session t2-architecture 1.3", "session t2-architecture 2.1", "session w-tasks 1.1"},
		[]string{"session t2-web-c3"},
	},
	"a design that is not published": {
		func(s *stage, _ *Input) {
			s.byAttempt["plan 1.1"] = streams("w: t2 t3 t4 t5 web")
			s.byAttempt["w-tasks 1.1"] = tasks(part("a"))
			s.published = map[string]map[agency.ArtifactKind]string{"t2-boundaries 1.1": {agency.ArtifactBoundaries: "x"}, "t2-boundaries 2.1": {agency.ArtifactAssumptions: "y"}}
		}, merged, []string{"session t2-boundaries 1.1", "session t2-boundaries 2.1", "session t2-web 1.1"}, nil,
	},
	"an architect's provider is down": {
		func(s *stage, _ *Input) {
			s.byAttempt["plan 1.1"] = streams("w: t2 t3 t4 t5 web")
			s.byAttempt["w-tasks 1.1"] = tasks(part("a"))
			s.byAttempt["t2-web 1.1"] = session.Outcome{Kind: session.Incomplete, Cause: session.CauseProvider, Reason: "its model gave no answer"}
		}, merged, []string{"session t2-web 1.1", "session t2-web 2.1", "session t2-architecture 1.1"}, nil,
	},
	"the architecture is rejected once": {
		func(s *stage, _ *Input) {
			s.byAttempt["plan 1.1"] = streams("w: t2 t3 t4 t5 web")
			s.byAttempt["w-tasks 1.1"] = tasks(part("a"))
			s.answers = map[string]agency.Decision{"t2-architecture-1": {Verb: agency.Reject, Note: "no queue"}}
		}, merged, []string{"gate t2-architecture-1: reject", "session t2-architecture 2.1", "gate t2-architecture-2: approve", "session w-tasks 1.1"}, nil,
	},
	"all gates": {
		func(s *stage, in *Input) {
			in.Tiers.LeadGate, in.Tiers.TasksGate, in.Tiers.VerdictGate = true, true, true
			s.byAttempt["plan 1.1"] = streams("w: t2 t3 t4 t5 web")
			s.byAttempt["w-tasks 1.1"] = tasks(part("a"))
		}, merged,
		[]string{"gate plan-1: approve", "gate t2-boundaries-1: approve", "gate t2-architecture-1: approve", "gate w-tasks-1: approve", "gate t5-w-1: approve", "gate merge-1: approve"},
		nil,
	},
	"a verdict is rejected once": {
		func(s *stage, in *Input) {
			in.Tiers.VerdictGate = true
			s.byAttempt["plan 1.1"] = streams("w: t3 t4 t5 web")
			s.byAttempt["w-tasks 1.1"] = tasks(part("a"), part("b"))
			s.byAttempt["w-verdict-2 1.1"] = joint(agency.JointPartial, "b")
			s.answers = map[string]agency.Decision{"t5-w-1": {Verb: agency.Reject, Note: "b is wrong"}}
		}, merged,
		[]string{"session w-verdict 1.1", "gate t5-w-1: reject", "session w-verdict-2 1.1", "gate t5-w-2: approve", "land b-r2: true", "session w-verdict-3 1.1", "gate t5-w-3: approve", "session accept 1.1"},
		[]string{"session a-r2"},
	},
	"a verdict is rejected twice": {
		func(s *stage, in *Input) {
			in.Tiers.VerdictGate = true
			s.byAttempt["plan 1.1"] = streams("w: t3 t4 t5 web", "z: t4 t5 -")
			s.byAttempt["w-tasks 1.1"], s.byAttempt["replan 1.1"] = tasks(part("a")), streams("y: t4 t5 -")
			s.answers = map[string]agency.Decision{"t5-w-1": {Verb: agency.Reject, Note: "no"}, "t5-w-2": {Verb: agency.Reject, Note: "still no"}}
		}, merged,
		[]string{"gate t5-w-1: reject", "session w-verdict-2 1.1", "gate t5-w-2: reject", "session replan 1.1", "land y: true"},
		[]string{"session w-verdict-3"},
	},
	"peers see each other's drafts": {
		func(s *stage, _ *Input) {
			s.byAttempt["plan 1.1"] = streams("w: t3 t4 t5 web", "v: t3 t4 t5 web")
			s.byAttempt["w-tasks 1.1"], s.byAttempt["w-tasks 1.2"] = drafts("c1", part("a"), part("both")), tasks(part("a"), part("both"))
			s.byAttempt["v-tasks 1.1"], s.byAttempt["v-tasks 1.2"] = drafts("c1", part("b"), part("both")), tasks(part("b"))
		}, merged, []string{"session w-tasks 1.2", "land a: true", "session accept 1.1"}, nil,
	},
	"what is left of an overlap is ordered": {
		func(s *stage, _ *Input) {
			both := part("mine")
			both.Writes = []string{"a.go"}
			s.byAttempt["plan 1.1"] = streams("w: t3 t4 t5 web", "v: t3 t4 t5 web")
			s.byAttempt["w-tasks 1.1"], s.byAttempt["w-tasks 1.2"] = drafts("c1", part("a")), tasks(part("a"))
			s.byAttempt["v-tasks 1.1"], s.byAttempt["v-tasks 1.2"] = drafts("c1", both), tasks(both)
		}, merged, []string{"land a: true", "session w-verdict 1.1", "session mine 1.1", "land mine: true"}, nil,
	},
	"who is designed first does not hold up who is not": {
		func(s *stage, _ *Input) {
			s.byAttempt["plan 1.1"] = streams("w: t3 t4 t5 web", "v: t2 t3 t4 t5 web")
			s.byAttempt["w-tasks 1.1"], s.byAttempt["v-tasks 1.1"] = tasks(part("a")), tasks(part("b"))
		}, merged, []string{"session w-tasks 1.1", "land a: true", "session accept 1.1"}, []string{"gate mesh", "session w-tasks 1.2"},
	},
	"a peer that gives no tasks holds up nobody": {
		func(s *stage, _ *Input) {
			s.byAttempt["plan 1.1"] = streams("w: t3 t4 t5 web", "v: t3 t4 t5 web")
			s.byAttempt["w-tasks 1.1"], s.byAttempt["w-tasks 1.2"] = drafts("c1", part("a")), tasks(part("a"))
			s.byAttempt["v-tasks 1.1"] = session.Outcome{Kind: session.Incomplete, Reason: "no idea"}
			s.byAttempt["v-tasks 2.1"] = session.Outcome{Kind: session.Incomplete, Reason: "no idea"}
			s.byAttempt["replan 1.1"] = streams("y: t4 t5 -")
		}, merged, []string{"session v-tasks 2.1", "session w-tasks 1.2", "land a: true"}, nil,
	},
	"two domains come to the same id": {
		func(s *stage, _ *Input) {
			s.byAttempt["plan 1.1"] = streams("w: t2 t3 t4 t5 web", "v: t2 t3 t4 t5 Web", "boundaries: t2 t3 t4 t5 boundaries")
			s.byAttempt["w-tasks 1.1"], s.byAttempt["v-tasks 1.1"], s.byAttempt["boundaries-tasks 1.1"] = tasks(part("a")), tasks(part("b")), tasks(part("c"))
			s.byAttempt["boundaries-verdict 1.1"], s.byAttempt["boundaries-tasks-2 1.1"] = joint(agency.JointFail), tasks(part("d"))
		}, merged,
		[]string{"session t2-boundaries 1.1", "session t2-boundaries-2 1.1", "session t2-architecture 1.1", "session t2-redesign-boundaries 1.1", "land d: true"},
		nil,
	},
	"two squads choose the same ids": {
		func(s *stage, _ *Input) {
			s.byAttempt["plan 1.1"] = streams("w: t3 t4 t5 web", "v: t3 t4 t5 db")
			s.byAttempt["w-tasks 1.1"], s.byAttempt["v-tasks 1.1"] = tasks(part("tests"), part("x", "tests")), tasks(part("Tests"), part("y", "Tests"))
		}, merged, []string{"land x: true", "session accept 1.1"}, nil,
	},
	"rejected at the merge gate": {
		func(s *stage, _ *Input) {
			s.byAttempt["plan 1.1"] = streams("a: t4 t5 -")
			s.answers = map[string]agency.Decision{"merge-1": {Verb: agency.Reject, Note: "louder"}}
		}, merged, []string{"gate merge-1: reject", "session rework 1.1", "critic rework 1 round 1.1: approve", "land rework: true", "gate merge-rework-1: approve"}, nil,
	},
	"rejected there again": {
		func(s *stage, _ *Input) {
			s.byAttempt["plan 1.1"] = streams("a: t4 t5 -")
			s.answers = map[string]agency.Decision{"merge-1": {Verb: agency.Reject, Note: "louder"}, "merge-rework-1": {Verb: agency.Reject, Note: "still louder"}}
		}, merged, []string{"gate merge-rework-1: reject", "session rework-2 1.1", "critic rework-2 1 round 1.1: approve", "land rework-2: true", "gate merge-rework-2-1: approve"}, nil,
	},
}

func TestTiered(t *testing.T) { playTiered(t, tieredCases) }

func playTiered(t *testing.T, cases map[string]tieredCase) {
	t.Helper()
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			s, in := newStage(t), tieredInput
			s.byAttempt = map[string]session.Outcome{}
			tt.set(s, &in)
			if got := s.run(Tiered, in); got != tt.want {
				t.Errorf("ended %+v, want %+v\n  %s", got, tt.want, strings.Join(s.said, "\n  "))
			}
			s.order(tt.said...)
			for _, no := range tt.not {
				if i := slices.IndexFunc(s.said, func(l string) bool { return strings.HasPrefix(l, no) }); i >= 0 {
					t.Errorf("there is %q", s.said[i])
				}
			}
			s.verified()
		})
	}
}

// verified asserts that nothing landed that no verifier passed or a person let land.
func (s *stage) verified() {
	s.t.Helper()
	for i, line := range s.said {
		id, ok := strings.CutPrefix(line, "land ")
		if id, landed := strings.CutSuffix(id, ": true"); ok && landed && !slices.ContainsFunc(s.said[:i], func(l string) bool {
			return strings.HasPrefix(l, "critic "+id+" ") && strings.HasSuffix(l, ": approve")
		}) {
			s.t.Errorf("%s landed, and no verifier passed it", id)
		}
	}
	for _, sp := range s.specs {
		if sp.Review != nil && sp.Role != agency.RoleVerifier || sp.Review == nil && sp.Tier != string(sp.Role.Tier()) {
			s.t.Errorf("session %s is a %s of tier %q", sp.ID(), sp.Role, sp.Tier)
		}
	}
}
