package mode

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/budget"
	"agency/internal/contractrun"
	"agency/internal/flow"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

// asks is the commit of a session that parks for an answer.
func (s *stage) asks(in session.Spec, out session.Outcome) error {
	return s.db.Write(context.Background(), func(tx *store.Tx) error {
		if err := board.Join(tx, board.Agent{Run: run, ID: in.Agent, Role: in.Role, Contract: in.Contract}); err != nil || out.Awaits == "" {
			return err
		}
		return board.Send(tx, agency.Message{
			ID: out.Awaits, RunID: run, From: string(in.Agent), ToRole: agency.RoleProjectManager, ContractID: in.Contract,
			Type: agency.MessageRequestClarification, Body: out.Question, RequiresResponse: true, RespondWithin: session.AnswerWithin(agency.RoleProjectManager),
		})
	})
}

// reads is the commit that shows a reply as the result of a call.
func (s *stage) reads(in session.Spec) {
	if in.Answer == nil || in.Answer.Message == "" {
		return
	}
	who, id := board.Recipient{Run: run, Agent: in.Agent, Role: in.Role, Session: in.ID()}, in.Answer.Message
	err := s.db.Write(context.Background(), func(tx *store.Tx) error {
		if _, err := board.Take(tx, who, id); err != nil {
			return err
		}
		return errors.Join(board.MarkRead(tx, who, id), board.MarkProcessed(tx, who, id))
	})
	if err != nil {
		s.t.Errorf("%s reads %s: %v", in.ID(), id, err)
	}
}

// manages plays the manager's session over a question.
func (s *stage) manages(in session.Spec) (session.Outcome, error) {
	of := agency.ContractID(strings.Split(string(in.Answers), "/")[1])
	err := s.db.Write(context.Background(), func(tx *store.Tx) error {
		return board.Join(tx, board.Agent{Run: run, ID: in.Agent, Role: in.Role, Contract: in.Contract})
	})
	if s.asked != nil {
		s.asked(in)
	}
	if text := s.says[of]; text != "" && err == nil {
		err = s.reply(string(in.Agent), in.Answers, text)
	}
	if out, ok := s.managers[of]; ok {
		return out, err
	}
	return session.Outcome{Kind: session.Reported, Report: "REPORT"}, err
}

// reply is a message that answers, and then its signal.
func (s *stage) reply(from string, question agency.MessageID, text string) error {
	var id agency.MessageID
	err := s.db.Write(context.Background(), func(tx *store.Tx) error {
		if from != agency.FromHuman {
			if err := board.Join(tx, board.Agent{Run: run, ID: agency.AgentID(from), Role: agency.RoleProjectManager}); err != nil {
				return err
			}
		}
		q, err := board.Get(tx, run, question)
		if err != nil {
			return err
		}
		m := agency.Message{
			ID: agency.MessageID(from + "/" + string(question) + "/" + text), RunID: run, From: from, To: q.From, Type: s.saysAs(), Body: text, InReplyTo: question,
		}
		id = m.ID
		return board.Send(tx, m)
	})
	if err == nil {
		send(s, contractrun.ReplySignal(question), string(id), flow.None{})
	}
	return err
}

func question(of string) session.Outcome {
	return session.Outcome{
		Kind: session.Parked, For: session.ForInbox, Question: "Which?", ToolUse: "call-1", Awaits: agency.MessageID("ask/" + of + "/1/1/1"), Tree: "half",
	}
}

// posts are the messages of the run: who to whom, how far, what.
func (s *stage) posts() (out []string) {
	s.t.Helper()
	err := s.db.Read(context.Background(), func(q *store.Snapshot) error {
		ps, err := board.Posts(q, run)
		for _, p := range ps {
			text, _, _ := strings.Cut(p.Body, "\n")
			out = append(out, fmt.Sprintf("%s to %s%s in %q: %s", p.From, p.To, p.ToRole, p.InReplyTo, text))
			if p.Status != agency.MailProcessed && p.ToRole != "" {
				out = append(out, fmt.Sprintf("the question is %s", p.Status))
			}
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

func (s *stage) gates() (out []string) {
	s.t.Helper()
	err := s.db.Read(context.Background(), func(q *store.Snapshot) error {
		gs, err := registry.Gates(q, run)
		for _, g := range gs {
			if g.Kind == agency.GateQuestion {
				out = append(out, fmt.Sprintf("%s by %s: %s", g.Decision.Verb, g.Decision.By, g.Decision.Note))
			}
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// given is the answer with which the second part of a contract's session began.
func (s *stage) given(contract agency.ContractID) session.Answer {
	s.t.Helper()
	i := slices.IndexFunc(s.specs, func(sp session.Spec) bool { return sp.Contract == contract && sp.Part == 2 })
	if i < 0 || s.specs[i].Answer == nil {
		s.t.Fatalf("%s did not go on", contract)
	}
	return *s.specs[i].Answer
}

// Every way to an answer.
func TestInbox(t *testing.T) {
	const asked = `scaffolder-a to project_manager in "": Which?`
	manager := "project_manager-ask-a-1-1"
	for name, tt := range map[string]struct {
		set   func(*stage)
		want  string
		posts []string
		gates []string
	}{
		"the manager's report": {
			func(*stage) {}, "The project manager answers:\n\nREPORT",
			[]string{asked, manager + ` to scaffolder-a in "ask/a/1/1/1": REPORT`},
			nil,
		},
		"the manager's message": {
			func(s *stage) { s.says["a"] = "MESSAGE" }, "The project manager answers:\n\nMESSAGE",
			[]string{asked, manager + ` to scaffolder-a in "ask/a/1/1/1": MESSAGE`},
			nil,
		},
		"the manager has no answer": {
			func(s *stage) {
				s.managers["a"] = session.Outcome{Kind: session.Blocked, Reason: "no idea"}
				s.answers = map[string]agency.Decision{"question-a-1-1": {Verb: agency.Approve, Note: "the second"}}
			}, "A person answers:\n\nthe second",
			[]string{asked, `human to scaffolder-a in "ask/a/1/1/1": the second`},
			[]string{"approve by tester: the second"},
		},
		"nobody has": {
			func(s *stage) {
				s.managers["a"] = session.Outcome{Kind: session.Incomplete, Reason: "30 turns"}
				s.answers = map[string]agency.Decision{"question-a-1-1": {Verb: agency.Reject, Note: "not now"}}
			}, "A person answers:\n\nNo answer was given: not now. Go on with your own judgement and say in your evidence what you assumed.",
			[]string{asked, `human to scaffolder-a in "ask/a/1/1/1": No answer was given: not now. Go on with your own judgement and say in your evidence what you assumed.`},
			[]string{"reject by tester: not now"},
		},
		"a person writes to the agent": {
			func(s *stage) {
				s.managers["a"] = session.Outcome{Kind: session.Blocked, Reason: "no idea"}
				s.before = func(agency.Gate) bool { return s.reply(agency.FromHuman, "ask/a/1/1/1", "SAID") == nil }
			}, "A person answers:\n\nSAID",
			[]string{asked, `human to scaffolder-a in "ask/a/1/1/1": SAID`},
			[]string{"approve by human: SAID"},
		},
		"a person writes, and the manager reports": {
			func(s *stage) { s.asked = func(session.Spec) { _ = s.reply(agency.FromHuman, "ask/a/1/1/1", "SAID") } },
			"A person answers:\n\nSAID",
			[]string{asked, `human to scaffolder-a in "ask/a/1/1/1": SAID`},
			nil,
		},
		"a person writes twice": {
			func(s *stage) {
				s.managers["a"] = session.Outcome{Kind: session.Blocked, Reason: "no idea"}
				s.before = func(agency.Gate) bool {
					return s.reply(agency.FromHuman, "ask/a/1/1/1", "FIRST") == nil && s.reply(agency.FromHuman, "ask/a/1/1/1", "SECOND") == nil
				}
			}, "A person answers:\n\nFIRST",
			[]string{asked, `human to scaffolder-a in "ask/a/1/1/1": FIRST`, `human to scaffolder-a in "ask/a/1/1/1": SECOND`},
			[]string{"approve by human: FIRST"},
		},
		"the manager is out of money": {
			func(s *stage) {
				s.managers["a"] = session.Outcome{Kind: session.Parked, For: session.ForBudget, Reason: "r", Exhausted: &budget.Exhausted{Node: budget.Root, Limit: "usd"}}
				n := 0
				s.asked = func(session.Spec) {
					if n++; n > 1 {
						delete(s.managers, "a")
					}
				}
			}, "The project manager answers:\n\nREPORT",
			[]string{asked, manager + ` to scaffolder-a in "ask/a/1/1/1": REPORT`},
			nil,
		},
		"a gate is answered after a message": {
			func(s *stage) {
				s.managers["a"] = session.Outcome{Kind: session.Blocked, Reason: "no idea"}
				s.answers = map[string]agency.Decision{"question-a-1-1": {Verb: agency.Approve, Note: "LATE"}}
				s.before = func(agency.Gate) bool { return s.reply("project_manager-other", "ask/a/1/1/1", "FIRST") != nil }
			}, "The project manager answers:\n\nFIRST",
			[]string{asked, `project_manager-other to scaffolder-a in "ask/a/1/1/1": FIRST`, `human to scaffolder-a in "ask/a/1/1/1": LATE`},
			[]string{"approve by tester: LATE"},
		},
		"the asker has ended": {
			func(s *stage) {
				s.asked = func(session.Spec) {
					_ = s.db.Write(context.Background(), func(tx *store.Tx) error {
						return board.Leave(tx, run, "scaffolder-a", board.AgentTerminated, "halted")
					})
				}
			}, "REPORT", []string{asked}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.managers, s.says = map[agency.ContractID]session.Outcome{}, map[agency.ContractID]string{}
			s.plans = []session.Outcome{plan(part("a"), part("b"))}
			s.byAttempt = map[string]session.Outcome{"a 1.1": question("a")}
			tt.set(s)
			if got := s.run(Team, teamInput); got != merged {
				t.Errorf("ended %+v", got)
			}
			s.order("session a 1.1", "session ask-a-1-1 1.1", "session a 1.2", "land a: true", "gate merge-1: approve")
			if got := s.given("a"); got.Text != tt.want || got.ToolUse != "call-1" {
				t.Errorf("the answer is %+v", got)
			}
			if diff := cmp.Diff(tt.posts, s.posts()); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.gates, s.gates()); diff != "" {
				t.Errorf("gates (-want +got):\n%s", diff)
			}
			ask := s.contract("ask-a-1-1")
			if !ask.Status.Final() || ask.ParentID != "a" || ask.Inputs.Text("question") != "Which?" || !strings.Contains(ask.Inputs.Text("plan"), "- b (scaffolder)") {
				t.Errorf("the question's contract: %+v", ask)
			}
		})
	}
}

// A person who leaves the budget used up while a question is open ends the run,
// and the question with it.
func TestNoMoneyForAnAnswer(t *testing.T) {
	s := newStage(t)
	s.plans = []session.Outcome{plan(part("a"), part("b"))}
	s.byAttempt = map[string]session.Outcome{"a 1.1": question("a")}
	s.managers = map[agency.ContractID]session.Outcome{"a": {Kind: session.Parked, For: session.ForBudget, Reason: "r"}}
	s.answers = map[string]agency.Decision{"budget-1": {Verb: agency.Reject}}
	if got, want := s.run(Team, teamInput), (Result{Reason: "the budget does not hold the next request: r"}); got != want {
		t.Errorf("ended %+v, want %+v", got, want)
	}
	if g := s.gates(); len(g) != 0 {
		t.Errorf("a person was asked: %v", g)
	}
}

// A plan may have taken the id that the question's contract has: a person
// answers then.
func TestQuestionWhoseIdIsTaken(t *testing.T) {
	s := newStage(t)
	s.plans = []session.Outcome{plan(part("a"), part("ask-a-1-1"))}
	s.byAttempt = map[string]session.Outcome{"a 1.1": question("a")}
	s.answers = map[string]agency.Decision{"question-a-1-1": {Verb: agency.Approve, Note: "b"}}
	if got := s.run(Team, teamInput); got != merged {
		t.Errorf("ended %+v", got)
	}
	if got := s.given("a"); got.Text != "A person answers:\n\nb" {
		t.Errorf("the answer is %+v", got)
	}
}

// Where there is no manager a person answers; a question holds up nobody.
func TestInboxWithoutManager(t *testing.T) {
	s := newStage(t)
	s.sessions = []session.Outcome{question("main"), claimed()}
	s.answers = map[string]agency.Decision{"question-main-1-1": {Verb: agency.Approve, Note: "b"}}
	if got := s.play(input); got != merged {
		t.Errorf("ended %+v", got)
	}
	s.order("session main 1.1", "gate question-main-1-1: approve", "session main 1.2", "land main: true")
	if got := s.given("main"); got.Text != "A person answers:\n\nb" {
		t.Errorf("the answer is %+v", got)
	}
}

// The manager answers one question at a time, and not where it is answered.
func TestManagerAnswersOneAtATime(t *testing.T) {
	s := newStage(t)
	s.managers, s.says = map[agency.ContractID]session.Outcome{}, map[agency.ContractID]string{}
	s.plans = []session.Outcome{plan(part("a"), part("b"))}
	s.byAttempt = map[string]session.Outcome{"a 1.1": question("a"), "b 1.1": question("b")}
	other := map[agency.MessageID]agency.MessageID{}
	for _, of := range []string{"a", "b"} { // as their sessions will
		id := agency.ContractID(of)
		if err := s.asks(session.Spec{Run: run, Contract: id, Role: agency.RoleScaffolder, Agent: agency.MemberID(agency.RoleScaffolder, id)}, question(of)); err != nil {
			t.Fatal(err)
		}
	}
	other["ask/a/1/1/1"], other["ask/b/1/1/1"] = "ask/b/1/1/1", "ask/a/1/1/1"
	s.asked = func(in session.Spec) {
		if err := s.reply(agency.FromHuman, other[in.Answers], "SAID"); err != nil {
			t.Error(err)
		}
	}
	if got := s.run(Team, teamInput); got != merged {
		t.Errorf("ended %+v", got)
	}
	if n := strings.Count(strings.Join(s.said, "\n"), "session ask-"); n != 1 {
		t.Errorf("the manager was asked %d times, also what a person had answered:\n%s", n, strings.Join(s.said, "\n"))
	}
}

// A manager that is late: a person gets the question as well, and the first of
// both is the answer.
func TestManagerIsLate(t *testing.T) {
	s := newStage(t)
	clock := &leap{}
	s.clock = clock
	s.plans = []session.Outcome{plan(part("a"))}
	s.byAttempt = map[string]session.Outcome{"a 1.1": question("a")}
	s.asked = func(session.Spec) {
		clock.forward(session.AnswerWithin(agency.RoleProjectManager))
		for len(s.gates()) == 0 { // the engine opens it beside this session
		}
	}
	if got := s.run(Team, teamInput); got != merged {
		t.Errorf("ended %+v", got)
	}
	if got := s.given("a"); got.Text != "The project manager answers:\n\nREPORT" {
		t.Errorf("the answer is %+v", got)
	}
	if diff := cmp.Diff([]string{"approve by project_manager-ask-a-1-1: REPORT"}, s.gates()); diff != "" {
		t.Errorf("gates (-want +got):\n%s", diff)
	}
}

// leap is a clock that a test moves.
type leap struct {
	mu  sync.Mutex
	now time.Duration
	due []alarm
}

type alarm struct {
	at   time.Duration
	ring chan time.Time
}

func (l *leap) Mono() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

func (l *leap) After(d time.Duration) (<-chan time.Time, func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := alarm{l.now + d, make(chan time.Time, 1)}
	l.due = append(l.due, a)
	return a.ring, func() {}
}

func (l *leap) forward(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now += d
	for _, a := range l.due {
		if a.at <= l.now {
			select {
			case a.ring <- time.Time{}:
			default:
			}
		}
	}
}

// Wherever a team dies that asks, it does the same work and ends the same.
func TestInboxDiesAtEachStep(t *testing.T) {
	set := func(s *stage) {
		s.managers = map[agency.ContractID]session.Outcome{"b": {Kind: session.Blocked, Reason: "no idea"}}
		s.says = map[agency.ContractID]string{"c": "MESSAGE"}
		s.plans = []session.Outcome{plan(part("a"), part("b"), part("c", "a", "b"))}
		s.byAttempt = map[string]session.Outcome{"a 1.1": question("a"), "b 1.1": question("b"), "c 1.1": question("c")}
		s.answers = map[string]agency.Decision{"question-b-1-1": {Verb: agency.Approve, Note: "the second"}}
	}
	calm := newStage(t)
	set(calm)
	want := calm.run(Team, teamInput)
	diesAtEach(t, Team, teamInput, set, want, 60, *stride, func(n int, s *stage) {
		if diff := cmp.Diff(slices.Sorted(slices.Values(calm.said)), slices.Sorted(slices.Values(s.said))); diff != "" {
			t.Errorf("death %d (-undisturbed +died):\n%s", n, diff)
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(calm.posts())), slices.Sorted(slices.Values(s.posts()))); diff != "" {
			t.Errorf("death %d, messages (-undisturbed +died):\n%s", n, diff)
		}
		for _, of := range []agency.ContractID{"a", "b", "c"} {
			if diff := cmp.Diff(calm.given(of), s.given(of)); diff != "" {
				t.Errorf("death %d, the answer to %s (-undisturbed +died):\n%s", n, of, diff)
			}
		}
	})
}

func (s *stage) saysAs() agency.MessageType {
	if s.sayAs != "" {
		return s.sayAs
	}
	return agency.MessageProvideClarification
}
