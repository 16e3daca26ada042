package mode

import (
	"context"
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/session"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

func handsOver() session.Outcome {
	return session.Outcome{
		Kind: session.Parked, For: session.ForInbox, Question: "Shall a test_engineer do it?", ToolUse: "call-1", Awaits: "handoff/a/1/1/1", Tree: "half",
		Handoff: &session.Handoff{Role: "test_engineer", Reason: "tests are missing", Files: []string{"a.go"}},
	}
}

// handsOverTo is a team of which the first contract hands work over.
func handsOverTo(s *stage) {
	s.managers, s.says = map[agency.ContractID]session.Outcome{}, map[agency.ContractID]string{}
	s.plans = []session.Outcome{plan(part("a"), part("b", "a"))}
	s.byAttempt = map[string]session.Outcome{"a 1.1": handsOver()}
}

func agrees(s *stage) { s.says["a"], s.sayAs = "MAKE IT SO", agency.MessageTaskAccepted }

// handed are the packages of the run, each with how far its message has come.
func (s *stage) handed() (packs []agency.HandoffPackage, statuses []agency.MessageStatus) {
	s.t.Helper()
	if err := s.db.Read(context.Background(), func(q *store.Snapshot) error {
		ms, err := board.Messages(q, run)
		for _, m := range ms {
			if p, ok := agency.HandoffOf(m); ok {
				packs, statuses = append(packs, p), append(statuses, m.Status)
			}
		}
		return err
	}); err != nil {
		s.t.Fatal(err)
	}
	return packs, statuses
}

// The manager, or else a person, decides whether another role goes on with a
// contract: from the files as they are, in the same attempt.
func TestHandoff(t *testing.T) {
	kept := []string{"session a 1.1", "session a 1.2", "verify a 1: true", "land a: true", "gate merge-1: approve"}
	over := []string{"session a 1.1", "session a 1.1", "verify a 1: true", "land a: true", "gate merge-1: approve"}
	byPerson := func(d agency.Decision) func(*stage) {
		return func(s *stage) {
			s.managers["a"] = session.Outcome{Kind: session.Blocked, Reason: "no idea"}
			s.answers = map[string]agency.Decision{"question-a-1-1": d}
		}
	}
	for name, tt := range map[string]struct {
		set   func(*stage)
		want  string // of who asked; empty: it changed hands
		order []string
	}{
		"the manager agrees": {agrees, "", over},
		"the manager declines": {
			func(s *stage) { s.says["a"], s.sayAs = "DO IT YOURSELF", agency.MessageTaskRejected },
			"error: the contract was not handed over, it is yours. The project manager answers:\n\nDO IT YOURSELF", kept,
		},
		"the manager only reports": {func(*stage) {}, "error: the contract was not handed over, it is yours. The project manager answers:\n\nREPORT", kept},
		"a person agrees":          {byPerson(agency.Decision{Verb: agency.Approve, Note: "1"}), "", over},
		"a person keeps it":        {byPerson(agency.Decision{Verb: agency.Approve, Note: "2"}), "error: the contract was not handed over, it is yours. A person answers:\n\nkeep it where it is", kept},
		"a person says something":  {byPerson(agency.Decision{Verb: agency.Approve, Note: "tests exist"}), "error: the contract was not handed over, it is yours. A person answers:\n\ntests exist", kept},
		"a person rejects it":      {byPerson(agency.Decision{Verb: agency.Reject}), "error: the contract was not handed over, it is yours. A person answers:\n\nNo answer was given", kept},
		"its claim is refused": {
			func(s *stage) {
				agrees(s)
				s.judged = map[string]agency.Verdict{"a 1": red}
			}, "", []string{"session a 1.1", "session a 1.1", "verify a 1: false", "session a 2.1", "verify a 2: true", "land a: true"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			handsOverTo(s)
			tt.set(s)
			if got := s.run(Team, teamInput); got != merged {
				t.Errorf("ended %+v", got)
			}
			s.order(tt.order...)
			packs, statuses := s.handed()
			if tt.want != "" {
				if got := s.given("a"); !strings.HasPrefix(got.Text, tt.want) || got.Message == "" || len(packs) != 0 {
					t.Errorf("the answer is %+v, handed over: %+v", got, packs)
				}
				return
			}
			words := "tests are missing\n\nThe project manager agreed: MAKE IT SO"
			if s.sayAs == "" {
				words = "tests are missing\n\nA person agreed: hand it over to a test_engineer"
			}
			want := agency.HandoffPackage{
				Run: run, From: "scaffolder-a", To: "test_engineer-a", ToRole: "test_engineer", Contract: "a", Status: agency.StatusInProgress,
				Base: "head", Tree: "half", NextContract: "a", FilesModified: []string{"a.go"}, Instructions: words,
			}
			if diff := cmp.Diff([]agency.HandoffPackage{want}, packs); diff != "" {
				t.Errorf("the package (-want +got):\n%s", diff)
			}
			if statuses[0] != agency.MailFailed { // nobody reads mail on this stage, and its agent has ended
				t.Errorf("its message is %s", statuses[0])
			}
			if c := s.contract("a"); c.Status != agency.StatusComplete || c.AssignedRole != "scaffolder" || c.AssignedAgentID != "test_engineer-a" {
				t.Errorf("the contract is %+v", c)
			}
			i := slices.IndexFunc(s.specs, func(sp session.Spec) bool { return sp.Hand == 1 })
			first := session.Spec{
				Run: run, Contract: "a", Attempt: 1, Part: 1, Role: "test_engineer", Agent: "test_engineer-a", Leader: aManager, Staged: true, Hand: 1, From: "half", Onto: "head",
			}
			if diff := cmp.Diff(first, s.specs[i]); diff != "" || first.ID() != "run-1/a/attempt-1/hand-1" {
				t.Errorf("%s is (-want +got):\n%s", first.ID(), diff)
			}
			if last := s.specs[len(s.specs)-1]; last.Contract == "a" && (last.Role != "test_engineer" || last.From != "") {
				t.Errorf("the next attempt is %+v", last)
			}
			for _, p := range s.posts() {
				if strings.Contains(p, "the question is") {
					t.Errorf("messages: %v", s.posts())
				}
			}
		})
	}
}

// A contract may go there and back.
func TestHandoffAndBack(t *testing.T) {
	s := newStage(t)
	handsOverTo(s)
	agrees(s)
	back := handsOver()
	back.Handoff = &session.Handoff{Role: "scaffolder", Reason: "tests are there"}
	back.Awaits = "handoff/a/1/hand-1/1/1"
	s.byAttempt["a 1.1h1"] = back
	if got := s.run(Team, teamInput); got != merged {
		t.Errorf("ended %+v", got)
	}
	packs, _ := s.handed()
	if len(packs) != 2 || packs[1].From != "test_engineer-a" || packs[1].To != "scaffolder-a" {
		t.Errorf("%+v", packs)
	}
	if c := s.contract("a"); c.AssignedAgentID != "scaffolder-a" || c.Status != agency.StatusComplete {
		t.Errorf("%+v", c)
	}
}

// What an agent disagreed on with others does not stay open because the contract
// has changed hands.
func TestConflictsOfWhoHandedOver(t *testing.T) {
	for name, role := range map[string]agency.RoleID{"of who handed over": "scaffolder", "of who went on": "test_engineer"} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			handsOverTo(s)
			agrees(s)
			s.during = func(in session.Spec) error {
				if in.Contract != "b" && (in.Contract != "a" || in.Role != role) {
					return nil
				}
				return s.db.Write(context.Background(), func(tx *store.Tx) error {
					return board.NoteEdits(tx, board.Edits{Run: run, Agent: in.Agent, Contract: in.Contract, Turn: string(in.ID()), First: true, Files: []string{"x.go"}})
				})
			}
			s.run(Team, teamInput)
			want := []string{`x.go [` + string(role) + `-a scaffolder-b] resolved by "system": contract b was integrated on top of the other's work (commit c-b)`}
			if diff := cmp.Diff(want, s.ends()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A team that dies at any step of a handoff does the same work, hands over once
// and ends the same.
func TestHandoffDiesAtEachStep(t *testing.T) {
	set := func(s *stage) {
		handsOverTo(s)
		agrees(s)
	}
	calm := newStage(t)
	set(calm)
	want := calm.run(Team, teamInput)
	calmly, _ := calm.handed()
	diesAtEach(t, Team, teamInput, set, want, 40, *stride, func(n int, s *stage) {
		if diff := cmp.Diff(calm.said, s.said); diff != "" {
			t.Errorf("death %d (-undisturbed +died):\n%s", n, diff)
		}
		if diff := cmp.Diff(calm.posts(), s.posts()); diff != "" {
			t.Errorf("death %d, messages (-undisturbed +died):\n%s", n, diff)
		}
		packs, _ := s.handed()
		if diff := cmp.Diff(calmly, packs); diff != "" {
			t.Errorf("death %d, the package (-undisturbed +died):\n%s", n, diff)
		}
	})
}
