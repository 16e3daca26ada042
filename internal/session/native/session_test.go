package native

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/budget"
	"agency/internal/llm"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/session/record"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

// fix is a script that reads, edits, runs a command and the checks, and claims.
func fix() []any {
	return []any{
		calls("read_file", `{"path":"main.txt"}`, "list_directory", `{"path":"."}`),
		calls("edit_file", `{"path":"main.txt","old_text":"two","new_text":"three"}`),
		calls("run_command", `{"command":"echo four >> main.txt; cat main.txt"}`, "create_checkpoint", `{"label":"four"}`),
		calls("run_tests", `{}`),
		complete,
	}
}

func TestToAClaim(t *testing.T) {
	k := newKit(t, budget.Limits{Money: agency.Dollar}, fix()...)
	out := k.must(spec())
	if out.Kind != session.Claimed || out.Claim.Tree == "" || out.Claim.Session != "test-run/main/attempt-1" {
		t.Fatalf("outcome %+v", out)
	}
	want := []agency.Evidence{{Criterion: "goal", Kind: agency.CheckFile, Ref: "main.txt"}}
	if diff := cmp.Diff(want, out.Claim.Evidence); diff != "" {
		t.Error(diff)
	}
	if got := k.file("main.txt"); got != "one\nthree\nfour\n" {
		t.Errorf("main.txt is %q", got)
	}
	checkRequests(t, k.model)
	if n := len(k.model.seen); n != 5 {
		t.Errorf("%d requests", n)
	}
	last := k.model.msgs[3][len(k.model.msgs[3])-1].Blocks[0].(llm.ToolResult).Text
	if !strings.HasPrefix(last, "exit code 0\n") || !strings.Contains(last, "three") {
		t.Errorf("result of run_command: %q", last)
	}
	for ty, n := range map[agency.EventType]int{
		"spawned": 1, "turn_completed": 5, "tool_called": 7, "claimed": 1, "checkpoint_created": 1, "tests_run": 1, "tool_refused": 0,
	} {
		if got := k.count(ty); got != n {
			t.Errorf("%d events %s, want %d", got, ty, n)
		}
	}
	s := k.spent()
	if one := (agency.Price{In: 1, CachedIn: 0.1, Out: 2}).Cost(agency.Usage{In: 1000, Cached: 500, Out: 50}); s.Money != 5*one || s.Reserved != 0 {
		t.Errorf("spent %v, want %v; reserved %v", s.Money, 5*one, s.Reserved)
	}
	// The same part again is the same outcome, without a request.
	if again := k.must(spec()); !cmp.Equal(out, again) || len(k.model.seen) != 5 {
		t.Errorf("again: %s", cmp.Diff(out, again))
	}
}

// What the brief tells stands in the first request.
func TestFirstRequest(t *testing.T) {
	k := newKit(t, budget.Limits{}, complete)
	s := spec()
	s.Attempt = 2
	s.Feedback = &session.Feedback{Attempt: 1, Reason: "it was wrong", Verdict: &agency.Verdict{Receipts: []agency.ReceiptID{"gone"}}}
	k.must(s)
	first := k.model.msgs[0][0].Words()
	for _, want := range []string{
		"```json contract\n", "This is attempt 2", "## Feedback of attempt 1", "it was wrong", "Write lower case.", "main.txt", "sh ./check.sh",
	} {
		if !strings.Contains(first, want) {
			t.Errorf("no %q in\n%s", want, first)
		}
	}
}

// A retry begins with what the attempt before began with, whatever it has done to the files.
func TestRetrySharesItsPrefix(t *testing.T) {
	k := newKit(t, budget.Limits{}, calls("write_file", `{"path":"new.txt","content":"more\n"}`, "edit_file", `{"path":"main.txt","old_text":"two","new_text":"three"}`), complete, complete)
	k.must(spec())
	s := spec()
	s.Attempt = 2
	s.Feedback = &session.Feedback{Attempt: 1, Reason: "it was wrong"}
	k.must(s)
	one, two := k.model.msgs[0][0].Words(), k.model.msgs[2][0].Words()
	shared := 0
	for shared < min(len(one), len(two)) && one[shared] == two[shared] {
		shared++
	}
	if rest := two[shared:]; !strings.HasPrefix(rest, "2") || len(rest) > 300 || !strings.Contains(rest, "it was wrong") {
		t.Errorf("%d of %d bytes are the same; then: %s", shared, len(two), rest)
	}
}

func TestIncomplete(t *testing.T) {
	look := calls("read_file", `{"path":"main.txt"}`)
	fault := func(k llm.FaultKind) error { return &llm.Fault{Kind: k, Provider: "test"} }
	cases := []struct {
		name  string
		say   []any
		set   func(*stage)
		cause session.Cause
		asked int
	}{
		{"no ending", []any{says("done"), says("really")}, nil, session.CauseNoEnding, 2},
		{"turns", []any{look, look, look}, func(k *stage) { k.setup.Limits.Turns = 2 }, session.CauseTurns, 2},
		{"tokens", []any{look, look, look}, func(k *stage) { k.setup.Limits.Tokens = 1100 }, session.CauseTokens, 2},
		{"refusal", []any{stop(llm.StopRefusal)}, nil, session.CauseRefusal, 1},
		{"context", []any{stop(llm.StopContext)}, nil, session.CauseWindow, 9},
		{"window", []any{look}, func(k *stage) { k.lineup.Window = 2000 }, session.CauseWindow, 0},
		{"overflow", []any{fault(llm.ContextOverflow)}, nil, session.CauseWindow, 1},
		{"unknown tools", []any{
			calls("no_such", `{}`), calls("no_such", `{}`), calls("no_such", `{}`), calls("no_such", `{}`), calls("no_such", `{}`), calls("no_such", `{}`),
		}, nil, session.CauseRefusals, 6},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			k := newKit(t, budget.Limits{}, tc.say...)
			if tc.set != nil {
				tc.set(k)
			}
			out := k.must(spec())
			if out.Kind != session.Incomplete || out.Cause != tc.cause || out.Reason == "" || tc.cause == session.CauseRefusals && !strings.Contains(out.Reason, "no_such") {
				t.Errorf("outcome %+v", out)
			}
			if len(k.model.seen) != tc.asked {
				t.Errorf("%d requests, want %d", len(k.model.seen), tc.asked)
			}
			if tc.cause != session.CauseWindow { // that begins epochs
				checkRequests(t, k.model)
			}
			if s := k.spent(); s.Reserved != 0 {
				t.Errorf("reserved %v", s.Reserved)
			}
		})
	}
}

// Empty answers and answers cut at the output limit are asked again once.
func TestEmptyAndLength(t *testing.T) {
	for _, tc := range []struct {
		stop  llm.StopReason
		cause session.Cause
		words string
	}{{llm.StopEmpty, session.CauseEmpty, "empty"}, {llm.StopLength, session.CauseLength, "smaller pieces"}} {
		n := 0
		again := func(int) func(context.Context, llm.Request) any {
			return func(_ context.Context, req llm.Request) any {
				if n++; n == 1 {
					return stop(tc.stop)
				}
				if last := req.Messages[len(req.Messages)-1].Words(); !strings.Contains(last, tc.words) {
					t.Errorf("%s: the model was told %q", tc.stop, last)
				}
				return complete
			}
		}
		k := newKit(t, budget.Limits{}, again(0))
		if out := k.must(spec()); out.Kind != session.Claimed {
			t.Errorf("%s once: %+v", tc.stop, out)
		}
		checkRequests(t, k.model)
		k = newKit(t, budget.Limits{}, stop(tc.stop))
		if out := k.must(spec()); out.Cause != tc.cause || len(k.model.seen) != 2 {
			t.Errorf("%s always: %+v after %d requests", tc.stop, out, len(k.model.seen))
		}
	}
}

// A call that was cut does not run and has a result all the same.
func TestCutCall(t *testing.T) {
	cut := calls("write_file", `"{\"path\":\"a"`)
	cut.Stop = llm.StopLength
	use := cut.Message.Blocks[1].(llm.ToolUse)
	use.Invalid = "unexpected end"
	cut.Message.Blocks[1] = use
	k := newKit(t, budget.Limits{}, cut, complete)
	if out := k.must(spec()); out.Kind != session.Claimed {
		t.Fatalf("%+v", out)
	}
	checkRequests(t, k.model)
	last := k.model.msgs[1][len(k.model.msgs[1])-1]
	if r := last.Blocks[0].(llm.ToolResult); !strings.HasPrefix(r.Text, "error: unexpected end") || !strings.Contains(r.Text, "The right form: write_file") {
		t.Errorf("result %q", r.Text)
	}
	if !strings.Contains(last.Words(), "smaller pieces") {
		t.Errorf("not told about the limit: %q", last.Words())
	}
}

func TestRefusedCalls(t *testing.T) {
	k := newKit(t, budget.Limits{},
		calls("submit_review", `{}`, "read_file", `{"file":"main.txt"}`, "read_file", `{"path":"../x"}`, "read_file", `{"path":"main.txt"}`),
		// A claim beside a failed call is refused, as is one after another ending.
		calls("edit_file", `{"path":"main.txt","old_text":"nine","new_text":"ten"}`, "signal_complete", `{"evidence":"done"}`),
		// So is one beside a check that is red.
		calls("run_command", `{"command":"exit 3"}`, "signal_complete", `{"evidence":"done"}`),
		calls("run_command", `{"command":"git init -q sub && touch sub/x"}`),
		complete,
		calls("run_command", `{"command":"rm -rf sub"}`),
		calls("signal_blocked", `{"reason":"no way","attempted":"all"}`, "signal_complete", `{"evidence":"done"}`),
	)
	out := k.must(spec())
	if out.Kind != session.Blocked || out.Reason != "no way" || out.Attempted != "all" {
		t.Errorf("outcome %+v", out)
	}
	checkRequests(t, k.model)
	result := func(req, block int) string {
		msgs := k.model.msgs[req]
		return msgs[len(msgs)-1].Blocks[block].(llm.ToolResult).Text
	}
	for i, want := range []string{`error: there is no tool "submit_review" here`, `error: unknown argument "file"`, "error: path"} {
		if got := result(1, i); !strings.HasPrefix(got, want) {
			t.Errorf("result %d: %q", i, got)
		}
	}
	if got := result(2, 1); !strings.Contains(got, "another call of this turn failed (edit_file)") {
		t.Errorf("claim beside a failed call: %q", got)
	}
	if got := result(3, 1); !strings.Contains(got, "run_command of this turn did not pass") {
		t.Errorf("claim beside a red check: %q", got)
	}
	if got := result(5, 0); !strings.HasPrefix(got, "error: not accepted: ") || !strings.Contains(got, "sub") {
		t.Errorf("claim over a nested repository: %q", got)
	}
	if n := k.count("tool_refused"); n != 7 {
		t.Errorf("%d refusals", n)
	}
}

func TestQuestion(t *testing.T) {
	k := newKit(t, budget.Limits{},
		calls("read_file", `{"path":"main.txt"}`, "request_human_input", `{"question":"Which?","options":["a","b"]}`),
		complete)
	s := spec()
	out := k.must(s)
	if out.Kind != session.Parked || out.For != session.ForHuman || out.Question != "Which?" || len(out.Options) != 2 {
		t.Fatalf("outcome %+v", out)
	}
	s.Part, s.Answer = 2, &session.Answer{ToolUse: out.ToolUse, Text: "b it is"}
	if out := k.must(s); out.Kind != session.Claimed {
		t.Fatalf("outcome %+v", out)
	}
	checkRequests(t, k.model)
	last := k.model.msgs[1][2]
	if got := last.Blocks[1].(llm.ToolResult).Text; got != "b it is" {
		t.Errorf("the answer is %q", got)
	}
	if got := last.Blocks[0].(llm.ToolResult).Text; !strings.Contains(got, "one") {
		t.Errorf("the other result is %q", got)
	}
	s.Part = 4
	if _, err := k.do(t.Context(), s); agency.KindOf(err) != agency.KindConflict {
		t.Errorf("a part that cannot be: %v", err)
	}
}

func TestPauseAndCancel(t *testing.T) {
	k := newKit(t, budget.Limits{}, calls("read_file", `{"path":"main.txt"}`), complete)
	k.model.hook = func(n int) {
		if n == 1 {
			k.write(func(tx *store.Tx) error { return registry.SetControl(tx, testRun, registry.Control{Pause: true}) })
		}
	}
	s := spec()
	if out := k.must(s); out.Kind != session.Parked || out.For != session.ForPause {
		t.Fatalf("outcome %+v", out)
	}
	k.write(func(tx *store.Tx) error { return registry.SetControl(tx, testRun, registry.Control{}) })
	s.Part = 2
	if out := k.must(s); out.Kind != session.Claimed {
		t.Fatalf("outcome %+v", out)
	}
	checkRequests(t, k.model)

	k = newKit(t, budget.Limits{}, calls("read_file", `{"path":"main.txt"}`), complete)
	k.model.hook = func(int) {
		k.write(func(tx *store.Tx) error { return registry.SetControl(tx, testRun, registry.Control{Cancel: true}) })
	}
	if out := k.must(spec()); out.Kind != session.Stopped || len(k.model.seen) != 1 {
		t.Errorf("cancelled between turns: %+v after %d requests", out, len(k.model.seen))
	}
}

// Cancelling ends a turn at once, within the model's answer or a command.
func TestCancelAtOnce(t *testing.T) {
	hang := func(ctx context.Context, _ llm.Request) any {
		<-ctx.Done()
		return ctx.Err()
	}
	for name, line := range map[string]any{"model": hang, "command": calls("run_command", `{"command":"sleep 60"}`)} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, budget.Limits{}, line)
			k.between = func(point string) error {
				if name == "model" && point == "asking" || name == "command" && point == "call" {
					time.AfterFunc(20*time.Millisecond, k.cancel)
				}
				return nil
			}
			out, err := k.do(within(t, 20*time.Second), spec())
			if err != nil || out.Kind != session.Stopped {
				t.Errorf("%+v, %v", out, err)
			}
			if s := k.spent(); s.Reserved != 0 || s.Money == 0 {
				t.Errorf("spent %v, reserved %v", s.Money, s.Reserved)
			}
		})
	}
}

func TestBudget(t *testing.T) {
	k := newKit(t, budget.Limits{Money: 1}, complete)
	s := spec()
	out := k.must(s)
	if out.Kind != session.Parked || out.For != session.ForBudget || out.Exhausted == nil || out.Exhausted.Limit != "usd" || len(k.model.seen) != 0 {
		t.Fatalf("outcome %+v after %d requests", out, len(k.model.seen))
	}
	k.write(func(tx *store.Tx) error {
		return budget.Raise(tx, testRun, budget.Root, budget.Limits{Money: agency.Dollar})
	})
	s.Part = 2
	if out := k.must(s); out.Kind != session.Claimed {
		t.Errorf("outcome %+v", out)
	}
}

// A person's message is read in the commit that shows it and processed when
// the turn is settled.
func TestMail(t *testing.T) {
	var statuses []agency.MessageStatus
	k := newKit(t, budget.Limits{}, calls("read_file", `{"path":"main.txt"}`), calls("read_file", `{"path":"main.txt"}`), complete)
	mail := func() agency.MessageStatus {
		var ms []agency.Message
		k.read(func(q *store.Snapshot) (err error) { ms, err = board.Messages(q, testRun); return err })
		return ms[0].Status
	}
	k.model.hook = func(n int) {
		if n == 1 {
			k.write(func(tx *store.Tx) error {
				return board.Send(tx, agency.Message{ID: "m1", RunID: testRun, From: "human", To: "generalist", Type: agency.MessageNote, Body: "use five"})
			})
		}
		statuses = append(statuses, mail())
	}
	k.must(spec())
	want := []agency.MessageStatus{agency.MailPending, agency.MailRead, agency.MailProcessed}
	if diff := cmp.Diff(want, statuses); diff != "" {
		t.Error(diff)
	}
	shown := k.model.msgs[1][len(k.model.msgs[1])-1]
	if _, ok := shown.Blocks[0].(llm.ToolResult); !ok || !strings.Contains(shown.Words(), "use five") {
		t.Errorf("the message is shown as %+v", shown)
	}
	checkRequests(t, k.model)
	if n := k.count("message_processed"); n != 1 {
		t.Errorf("%d events", n)
	}
}

// A fault of the provider leaves the part to go on later; a refusal at the
// door costs nothing, a cut stream its reservation.
func TestFaultInterrupts(t *testing.T) {
	for _, tc := range []struct {
		kind llm.FaultKind
		free bool
	}{{llm.Overloaded, true}, {llm.RefusedConnection, true}, {llm.StreamCut, false}, {llm.Auth, true}, {llm.InvalidRequest, true}, {llm.Timeout, false}} {
		t.Run(string(tc.kind), func(t *testing.T) {
			down := true
			k := newKit(t, budget.Limits{}, func(context.Context, llm.Request) any {
				if down {
					return &llm.Fault{Kind: tc.kind, Provider: "test"}
				}
				return complete
			})
			_, err := k.do(t.Context(), spec())
			if agency.KindOf(err) != agency.KindTransient {
				t.Fatalf("error %v of kind %s", err, agency.KindOf(err))
			}
			if s := k.spent(); s.Reserved != 0 || (s.Money == 0) != tc.free {
				t.Errorf("spent %v, reserved %v", s.Money, s.Reserved)
			}
			down = false
			if out := k.must(spec()); out.Kind != session.Claimed {
				t.Errorf("%+v", out)
			}
			checkRequests(t, k.model)
			if n := k.count("spawned"); n != 1 {
				t.Errorf("spawned %d times", n)
			}
		})
	}
}

// The host going down is no outcome; the request that was under way is
// charged, by the next host or by this one if it goes on after all.
func TestHostGoesDown(t *testing.T) {
	for _, next := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		k := newKit(t, budget.Limits{}, func(ctx context.Context, _ llm.Request) any {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return complete
		})
		k.model.hook = func(n int) {
			if n == 1 {
				cancel()
			}
		}
		if _, err := k.do(ctx, spec()); !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v", err)
		}
		if next {
			k.takeOver()
		}
		if out := k.must(spec()); out.Kind != session.Claimed {
			t.Errorf("%+v", out)
		}
		checkRequests(t, k.model)
		k.checkBooks(fmt.Sprint("next host: ", next))
	}
}

// Time at work is a limit, also within a command.
func TestTimeIsUp(t *testing.T) {
	k := newKit(t, budget.Limits{}, calls("run_command", `{"command":"sleep 60"}`))
	k.setup.Limits.Seconds = 1
	out, err := k.do(within(t, 30*time.Second), spec())
	if err != nil || out.Cause != session.CauseTime {
		t.Errorf("%+v, %v", out, err)
	}
}

// Ids of calls are there and unique, whatever the provider gives.
func TestDuplicateIDs(t *testing.T) {
	two := calls("read_file", `{"path":"main.txt"}`, "read_file", `{"path":"check.sh"}`)
	for i := range two.Message.Blocks {
		if u, ok := two.Message.Blocks[i].(llm.ToolUse); ok {
			u.ID = "same"
			two.Message.Blocks[i] = u
		}
	}
	k := newKit(t, budget.Limits{}, two, two, complete)
	if out := k.must(spec()); out.Kind != session.Claimed {
		t.Fatalf("%+v", out)
	}
	checkRequests(t, k.model)
}

func TestViews(t *testing.T) {
	k := newKit(t, budget.Limits{}, fix()...)
	out := k.must(spec())
	k.read(func(q *store.Snapshot) error {
		infos, err := record.Sessions(q, testRun)
		must(t, err)
		if len(infos) != 1 || infos[0].Turns != 5 || infos[0].Outcome != "claimed" {
			t.Errorf("sessions %+v", infos)
		}
		system, msgs, err := record.Transcript(q, out.Claim.Session)
		must(t, err)
		if !strings.HasPrefix(system, "# Generalist (generalist)\n") || len(msgs) != 10 {
			t.Errorf("transcript of %d messages", len(msgs))
		}
		of, err := record.OfTurn(q, out.Claim.Session, 2)
		must(t, err)
		if len(of) != 2 || !slices.Equal(calledBy(of[0]), calledBy(msgs[3])) || len(of[1].Blocks) != len(msgs[4].Blocks) {
			t.Errorf("the second turn is %+v", of)
		}
		if last, err := record.OfTurn(q, out.Claim.Session, 5); err != nil || len(last) != 1 {
			t.Errorf("the last turn is %+v, %v", last, err)
		}
		return nil
	})
	k.write(func(tx *store.Tx) error { return record.Forget(tx, testRun) })
	k.read(func(q *store.Snapshot) error {
		infos, err := record.Sessions(q, testRun)
		if err != nil || len(infos) != 0 {
			t.Errorf("after Forget: %v, %v", infos, err)
		}
		return err
	})
}

// calledBy are the ids of a message's calls.
func calledBy(m llm.Message) (ids []string) {
	for _, u := range m.Calls() {
		ids = append(ids, u.ID)
	}
	return ids
}
