package mode

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/land"
	"agency/internal/session"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

// A process that dies at any step of a tiered run takes the same way again.
func TestTieredDiesAtEachStep(t *testing.T) {
	set := func(s *stage) {
		both := part("mine")
		both.Writes = []string{"a.go"}
		s.published = map[string]map[agency.ArtifactKind]string{"t2-architecture 1.1": {agency.ArtifactConflicts: `[{"domain": "web", "brief": "use JSON"}]`}}
		s.landed = map[string]land.Outcome{"w on integration/web": apart(), "v on run": apart()}
		s.byAttempt = map[string]session.Outcome{
			"plan 1.1":    streams("w: t2 t3 t4 t5 web", "v: t2 t3 t4 t5 web", "z: t4 t5 B/x"),
			"w-tasks 1.1": drafts("c1", part("a")), "w-tasks 1.2": tasks(part("a"), part("b", "a")),
			"v-tasks 1.1": drafts("c1", both), "v-tasks 1.2": tasks(both),
			"w-verdict 1.1": joint(agency.JointPartial, "b"),
			"accept 1.1":    rejects("half is missing", "z"), "replan-2 1.1": streams("y: t4 t5 -"),
		}
	}
	calm := newStage(t)
	set(calm)
	want := calm.run(Tiered, tieredInput)
	diesAtEach(t, Tiered, tieredInput, set, want, 100, *stride, func(n int, s *stage) {
		a, b := slices.Sorted(slices.Values(calm.said)), slices.Sorted(slices.Values(s.said))
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("death %d (-undisturbed +died):\n%s", n, diff)
		}
		s.verified()
	})
}

// What agents found that the plan did not foresee comes about, and only more of it.
func TestPathAmendment(t *testing.T) {
	s, in := newStage(t), tieredInput
	s.byAttempt = map[string]session.Outcome{"plan 1.1": streams("w: t3 t4 t5 web"), "w-tasks 1.1": tasks(part("a")), "w-tasks-2 1.1": tasks(part("b"))}
	s.during = func(sp session.Spec) error {
		if sp.Contract != "w-tasks" {
			return nil
		}
		return s.amends(agency.PathAmendment{ProposedBy: sp.Agent, Reason: "two domains", Workstream: "w", AddTiers: []agency.Tier{"t2"}, InsertBefore: "t3"})
	}
	if got := s.run(Tiered, in); got != merged {
		t.Fatalf("ended %+v: %q", got, s.said)
	}
	s.order("session w-tasks 1.1", "session t2-redesign-w 1.1", "session w-tasks-2 1.1", "land b: true")
	if slices.Contains(s.said, "session a 1.1") {
		t.Error("a task was begun that was planned before the design")
	}
}

// A task that its implementer finds to be several is split by a squad lead instead.
func TestAmendedByAnImplementer(t *testing.T) {
	s, in := newStage(t), tieredInput
	s.byAttempt = map[string]session.Outcome{
		"plan 1.1": streams("w: t4 t5 web"), "w 1.1": {Kind: session.Blocked, Reason: "two tasks"}, "w-tasks 1.1": tasks(part("a"), part("b", "a")),
	}
	s.during = func(sp session.Spec) error {
		if sp.Contract != "w" {
			return nil
		}
		return s.amends(agency.PathAmendment{ProposedBy: sp.Agent, Reason: "two tasks", Workstream: "w", AddTiers: []agency.Tier{"t3"}, InsertBefore: "t4"})
	}
	if got := s.run(Tiered, in); got != merged {
		t.Fatalf("ended %+v: %q", got, s.said)
	}
	s.order("session w 1.1", "session w-tasks 1.1", "land a: true", "land b: true", "session w-verdict 1.1", "session accept 1.1")
	if c := s.contract("w"); c.Status != agency.StatusComplete {
		t.Errorf("the workstream is %s", c.Status)
	}
}

// amends is what an agent's tool writes of a path.
func (s *stage) amends(m agency.PathAmendment) error {
	return s.db.Write(context.Background(), func(tx *store.Tx) error {
		ev := agency.NewEvent(run, agency.SeverityInfo, "more", m)
		ev.ContractID = m.Workstream
		_, err := event.Append(tx, ev)
		return err
	})
}

// A squad whose peer gives nothing in time is a person's matter, who is told which.
func TestMeshTimesOut(t *testing.T) {
	s, in := newStage(t), tieredInput
	in.Tiers.MeshTimeout = time.Millisecond
	s.byAttempt = map[string]session.Outcome{
		"plan 1.1":    streams("w: t3 t4 t5 web", "v: t3 t4 t5 web"),
		"w-tasks 1.1": drafts("c1", part("a")), "w-tasks 1.2": tasks(part("a")),
		"v-tasks 1.1": {Kind: session.Parked, For: session.ForHuman, Question: "which?", ToolUse: "q"}, "v-tasks 1.2": drafts("c2", part("b")), "v-tasks 1.3": tasks(part("b")),
	}
	var summary string
	s.hold = func(open []agency.Gate) bool {
		for _, g := range open {
			if strings.Contains(string(g.ID), ".mesh-w-") {
				summary = g.Summary
			}
		}
		return summary == "" && len(open) == 1 && open[0].Kind == agency.GateQuestion
	}
	if got := s.run(Tiered, in); got != merged {
		t.Fatalf("ended %+v: %q", got, s.said)
	}
	if want := "the squads of web wait for v, which gave no draft"; !strings.HasPrefix(summary, want) {
		t.Errorf("the gate says %q", summary)
	}
	s.order("land a: true", "session accept 1.1")
}
