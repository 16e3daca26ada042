package native

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/event"
	"agency/internal/llm"
	"agency/internal/overseer"
	"agency/internal/session"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

// exhausting is a session that has eight turns for work that takes more.
func exhausting(t *testing.T) (*stage, *worker, session.Spec) {
	k := newKit(t, budget.Limits{})
	k.bound()
	w := &worker{window: 100_000, summary: summing}
	w.lines = func(n int) llm.Answer {
		if n == 0 {
			return calls("todo", `{"items":[{"text":"append all lines","done":false}]}`)
		}
		return calls("read_file", `{"path":"main.txt"}`, "run_command", fmt.Sprintf(`{"command":"echo %d >> main.txt"}`, n))
	}
	w.play(k)
	k.lineup.Window, k.setup.Limits.Turns = w.window, 8
	s := spec()
	s.Contract = "long"
	return k, w, s
}

// A session that reaches a limit is told before, twice, and leaves a record of what it has
// learnt, with its plan; the session after it begins with that.
func TestHandsOver(t *testing.T) {
	k, w, s := exhausting(t)
	out := k.must(s)
	if out.Kind != session.Incomplete || out.Cause != session.CauseTurns || w.records != 1 {
		t.Fatalf("ended %+v after %d records", out, w.records)
	}
	for _, want := range []string{"I appended lines to main.txt.", "append all lines"} {
		if !strings.Contains(out.Learnt, want) {
			t.Errorf("no %q in the record %q", want, out.Learnt)
		}
	}
	last := fmt.Sprint(k.model.msgs[len(k.model.msgs)-2]) // before the record's
	for _, want := range []string{"75 % of this session's turns are used: 6 of 8", "87 %"} {
		if n := strings.Count(last, want); n != map[string]int{"75 % of this session's turns are used: 6 of 8": 1}[want] {
			t.Errorf("%q stands %d times in the last request", want, n)
		}
	}
	k.checkHandedOver(w)
	next := s
	next.Fresh = 1
	next.Feedback = &session.Feedback{Attempt: 1, Reason: out.Reason, Learnt: out.Learnt}
	k.setup.Limits.Turns = 0
	w.lines = func(int) llm.Answer { return calls("signal_complete", `{"evidence":"done"}`) }
	asked := len(k.model.msgs)
	if out := k.must(next); out.Kind != session.Claimed {
		t.Fatalf("the next ended %+v", out)
	}
	first := k.model.msgs[asked][0].Words()
	for _, want := range []string{"I appended lines to main.txt.", "You take the place of another session", "the limit of turns is reached"} {
		if !strings.Contains(first, want) {
			t.Errorf("no %q in\n%s", want, first)
		}
	}
}

// Whom the overseer had to nudge for what it did is not followed in the same attempt; that it
// came near its limits is no matter.
func TestNudgedHandOver(t *testing.T) {
	for cause, afresh := range map[overseer.Behaviour]bool{overseer.Stagnation: false, overseer.TokenExhaustion: true} {
		k, w, s := exhausting(t)
		lines := w.lines
		w.lines = func(n int) llm.Answer {
			if n == 5 {
				k.write(func(tx *store.Tx) error {
					ev := agency.NewEvent(testRun, agency.SeverityWarning, "nudged", &agency.Nudged{Overseen: agency.Overseen{Cause: string(cause), Session: s.ID()}})
					ev.ContractID = s.Contract
					_, err := event.Append(tx, ev)
					return err
				})
			}
			return lines(n)
		}
		if out := k.must(s); out.Learnt == "" || out.Afresh != afresh {
			t.Errorf("%s: goes on afresh %t with the record %q", cause, out.Afresh, out.Learnt)
		}
	}
}

// The limit of tokens warns at nine tenths at once where one answer took it so far.
func TestWarnsOfTokens(t *testing.T) {
	k := newKit(t, budget.Limits{}, calls("read_file", `{"path":"main.txt"}`), complete)
	k.setup.Limits.Tokens = 600
	k.must(spec())
	said := fmt.Sprint(k.model.msgs[1])
	if !strings.Contains(said, "91 % of this session's tokens are used: 550 of 600") || strings.Contains(said, "Spend the rest") {
		t.Errorf("the second request says\n%s", said)
	}
}

// Where no record can be paid for, the harness writes it.
func TestHandsOverWithoutMoney(t *testing.T) {
	k, w, s := exhausting(t)
	w.summary = func() any { return &llm.Fault{Kind: llm.Server, Provider: "test"} }
	out := k.must(s)
	if out.Cause != session.CauseTurns || !strings.Contains(out.Learnt, "- run_command echo 3 >> main.txt: exit code 0") {
		t.Errorf("ended %+v", out)
	}
}

// Who reviews is followed by nobody: a review is made anew.
func TestReviewersHandNothingOver(t *testing.T) {
	k := newKit(t, budget.Limits{}, calls("read_file", `{"path":"main.txt"}`))
	k.setup.Limits.Turns = 1
	s := spec()
	s.Role, s.Agent, s.Review = agency.RoleReviewer, agency.AgentID(agency.RoleReviewer), &session.ReviewOf{Iteration: 1}
	if out := k.must(s); out.Cause != session.CauseTurns || out.Learnt != "" || len(k.model.seen) != 1 {
		t.Errorf("ended %+v after %d requests", out, len(k.model.seen))
	}
}

// A process that dies at any point around the record resumes to the same end, with each
// request paid for once.
func TestDeathAroundAHandOver(t *testing.T) {
	calm, _, s := exhausting(t)
	var points []string
	var mu sync.Mutex
	calm.between = func(point string) error {
		mu.Lock()
		defer mu.Unlock()
		points = append(points, point)
		return nil
	}
	want := calm.must(s)
	first := slices.Index(points, "hand over")
	for n := first - 2; n < len(points); n++ {
		k, w, s := exhausting(t)
		died := k.dieAt(n + 1)
		if _, err := k.do(t.Context(), s); !errors.Is(err, errDied) {
			t.Fatalf("at point %d, %s: %v", n, points[n], err)
		}
		k.takeOver()
		k.between = nil
		out := k.must(s)
		if diff := cmp.Diff(want, out); diff != "" || w.records > 2 {
			t.Errorf("died at point %d, %s: %d records; outcome\n%s", n, died(), w.records, diff)
		}
		k.checkHandedOver(w)
	}
}

// checkHandedOver asserts that each turn and each record is paid for once.
func (k *stage) checkHandedOver(w *worker) {
	k.t.Helper()
	k.read(func(q *store.Snapshot) error {
		var paid, lost, held int
		err := q.QueryRow(`SELECT count(*) FILTER (WHERE state = 'settled'), count(*) FILTER (WHERE state = 'charged'), count(*) FILTER (WHERE state = 'reserved') FROM budget_requests`).Scan(&paid, &lost, &held)
		if paid+lost != k.turns()+w.records && paid != k.turns()+1 || held != 0 {
			k.t.Errorf("%d requests settled and %d lost for %d turns and %d records; %d reserved", paid, lost, k.turns(), w.records, held)
		}
		return err
	})
}
