package native

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/budget"
	"agency/internal/llm"
	"agency/internal/session"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var errDied = errors.New("the process died here")

// dieAt makes the n-th point from now the last thing that a process does; it
// says afterwards whether it got that far.
func (k *stage) dieAt(n int) func() string {
	died := ""
	var mu sync.Mutex // reads of a turn run beside each other
	k.between = func(point string) error {
		mu.Lock()
		defer mu.Unlock()
		if n--; n == 0 {
			died = point
		}
		if died != "" { // what is dead does nothing more
			return errDied
		}
		return nil
	}
	return func() string { return died }
}

// watchRequests fails the test when a request is sent whose answer is stored
// already.
func (k *stage) watchRequests() {
	k.model.hook = func(n int) {
		said := 0
		for _, m := range k.model.msgs[n-1] {
			if m.Role == llm.Assistant {
				said++
			}
		}
		stored := 0
		k.read(func(q *store.Snapshot) error {
			return q.QueryRow(`SELECT count(*) FROM session_turn WHERE phase <> 'asked'`).Scan(&stored)
		})
		if said != stored {
			k.t.Errorf("request %d holds %d answers, %d are stored", n, said, stored)
		}
	}
}

// survive runs a part to its outcome, over any number of deaths.
func (k *stage) survive(s session.Spec, deaths ...int) (out session.Outcome, points []string) {
	k.t.Helper()
	for _, n := range deaths {
		died := k.dieAt(n)
		out, err := k.do(k.t.Context(), s)
		if died() == "" {
			must(k.t, err)
			return out, points
		}
		if !errors.Is(err, errDied) {
			k.t.Fatalf("died at %s, but the part gave %+v, %v", died(), out, err)
		}
		points = append(points, died())
		k.takeOver()
	}
	k.between = nil
	return k.must(s), points
}

// pace is from which point of death to the next a test goes.
func pace() int {
	if testing.Short() {
		return 4
	}
	return 1
}

// A process that dies at any point loses at most the turn in flight: the
// claim is the same, no stored answer is asked for again, what was in flight
// is paid for, and every request is one that a provider accepts.
func TestDeathAnywhere(t *testing.T) {
	calm := newKit(t, budget.Limits{}, fix()...)
	want := calm.must(spec())
	seen := map[string]int{}
	for n := 1; ; n += pace() {
		k := newKit(t, budget.Limits{}, fix()...)
		k.watchRequests()
		out, points := k.survive(spec(), n)
		if len(points) == 0 {
			break
		}
		seen[points[0]]++
		where := fmt.Sprintf("died at point %d, %s", n, points[0])
		if diff := cmp.Diff(want, out); diff != "" {
			t.Errorf("%s: outcome\n%s", where, diff)
		}
		if got := k.file("main.txt"); got != "one\nthree\nfour\n" {
			t.Errorf("%s: main.txt is %q", where, got)
		}
		checkRequests(t, k.model)
		k.checkBooks(where)
		for ty, n := range map[agency.EventType]int{"spawned": 1, "turn_completed": 5, "tool_called": 7, "claimed": 1} {
			if got := k.count(ty); got != n {
				t.Errorf("%s: %d events %s, want %d", where, got, ty, n)
			}
		}
	}
	for _, point := range []string{"commit", "committed", "asking", "answered", "call", "acted"} {
		if seen[point] == 0 && pace() == 1 {
			t.Errorf("point %s was never reached", point)
		}
	}
}

// checkBooks asserts that every request is paid for once: as it was answered,
// or at its reservation.
func (k *stage) checkBooks(where string) {
	k.t.Helper()
	if s := k.spent(); s.Reserved != 0 {
		k.t.Errorf("%s: reserved %v", where, s.Reserved)
	}
	k.read(func(q *store.Snapshot) error {
		var settled, turns, other int
		err := q.QueryRow(`SELECT (SELECT count(*) FROM budget_requests WHERE state = 'settled'),
			(SELECT count(*) FROM session_turn WHERE phase <> 'asked'),
			(SELECT count(*) FROM budget_requests WHERE state = 'reserved')`).Scan(&settled, &turns, &other)
		if settled != turns || other != 0 {
			k.t.Errorf("%s: %d requests settled for %d turns, %d still reserved", where, settled, turns, other)
		}
		return err
	})
}

// Random scripts, with a question, mail and several deaths each.
func TestDeathsAtRandom(t *testing.T) {
	lines := []any{
		calls("read_file", `{"path":"main.txt"}`, "search_files", `{"pattern":"one"}`),
		calls("run_command", `{"command":"echo x >> main.txt"}`),
		calls("write_file", `{"path":"new/a.txt","content":"a\n"}`, "read_file", `{"path":"new/a.txt"}`),
		calls("delete_file", `{"path":"check.sh"}`),
		calls("create_checkpoint", `{"label":"here"}`, "run_command", `{"command":"rm -rf new"}`),
		calls("no_such_tool", `{}`, "get_git_diff", `{}`),
		calls("request_human_input", `{"question":"Which?"}`, "run_command", `{"command":"echo y >> main.txt"}`),
	}
	rapid.Check(t, func(rt *rapid.T) {
		picks := rapid.SliceOfN(rapid.IntRange(0, len(lines)-1), 1, 5).Draw(rt, "lines")
		deaths := rapid.SliceOfN(rapid.IntRange(1, 12), 0, 3).Draw(rt, "deaths")
		var say []any
		for _, p := range picks {
			say = append(say, lines[p])
		}
		say = append(say, complete)
		calm, _ := play(t, say, nil)
		out, k := play(t, say, deaths)
		last := fmt.Sprint(k.model.msgs[len(k.model.msgs)-1])
		if diff := cmp.Diff(calm, out); diff != "" && !strings.Contains(last, "this call ended the host twice") {
			rt.Fatalf("outcome of %v with deaths %v:\n%s", picks, deaths, diff)
		}
		checkRequests(t, k.model)
		k.checkBooks(fmt.Sprint(picks, deaths))
	})
}

// play runs a script to the end of its session, answering its questions.
func play(t *testing.T, say []any, deaths []int) (session.Outcome, *stage) {
	k := newKit(t, budget.Limits{}, say...)
	k.watchRequests()
	k.write(func(tx *store.Tx) error {
		return board.Send(tx, agency.Message{ID: "m1", RunID: testRun, From: "human", To: "generalist", Type: agency.MessageNote, Body: "hello"})
	})
	s := spec()
	for ; ; s.Part++ {
		out, points := k.survive(s, deaths...)
		deaths = deaths[min(len(points), len(deaths)):]
		if out.Kind != session.Parked {
			var ms []agency.Message
			k.read(func(q *store.Snapshot) (err error) { ms, err = board.Messages(q, testRun); return err })
			if ms[0].Status != agency.MailProcessed {
				t.Errorf("the message is %s at the end", ms[0].Status)
			}
			for i, m := range k.model.msgs {
				if n := strings.Count(fmt.Sprint(m), "hello"); n != 1 {
					t.Errorf("request %d shows the message %d times", i, n)
				}
			}
			return out, k
		}
		s.Answer = &session.Answer{ToolUse: out.ToolUse, Text: "this"}
	}
}

// A host that died while the model answered asks again, and only then.
func TestDeathDuringTheStream(t *testing.T) {
	n := 0
	k := newKit(t, budget.Limits{}, func(ctx context.Context, _ llm.Request) any {
		if n++; n == 1 {
			return errDied
		}
		return complete
	})
	if _, err := k.do(t.Context(), spec()); !errors.Is(err, errDied) {
		t.Fatal(err)
	}
	k.takeOver()
	if out := k.must(spec()); out.Kind != session.Claimed {
		t.Errorf("%+v", out)
	}
	k.read(func(q *store.Snapshot) error {
		var lost, settled int
		err := q.QueryRow(`SELECT sum(state = 'lost'), sum(state = 'settled') FROM budget_requests`).Scan(&lost, &settled)
		if lost != 1 || settled != 1 {
			t.Errorf("%d lost, %d settled", lost, settled)
		}
		return err
	})
	checkRequests(t, k.model)
}
