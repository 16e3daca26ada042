package native

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/flow"
	"agency/internal/llm"
	"agency/internal/llm/failover"
	"agency/internal/session"
	"agency/internal/slots"
	"agency/internal/store"
)

// lineup lists two models of which the second is asked when the first fails.
func (k *stage) twoModels(first, second llm.Model, prices prices) {
	k.t.Helper()
	model, err := failover.Fallback([]failover.Named{
		{Name: "a/first", Provider: "a", ID: "first", Model: first}, {Name: "b/second", Provider: "b", ID: "second", Model: second},
	}, failover.FallbackOptions{})
	must(k.t, err)
	k.lineup.Model, k.lineup.Names, k.setup.Prices = model, []string{"a/first", "b/second"}, prices.tariff()
}

func (k *stage) lines() (out []budget.Line) {
	k.read(func(q *store.Snapshot) (err error) {
		out, err = budget.Lines(q, testRun)
		return err
	})
	return out
}

var overloaded = &llm.Fault{Kind: llm.Overloaded, Provider: "a"}

// A first model that rests is passed over, and what the second counts is the
// second's in every turn: in the ledger and in the events.
func TestARestingModelIsNotCharged(t *testing.T) {
	k := newKit(t, budget.Limits{})
	down := &player{say: []any{overloaded, overloaded, overloaded}}
	k.twoModels(down, &player{say: []any{calls("read_file", `{"path":"main.txt"}`), calls("list_directory", `{"path":"."}`), complete}},
		prices{"a/first": {}, "b/second": {In: 1, CachedIn: 0.1, Out: 2}})
	if out := k.must(spec()); out.Kind != session.Claimed || len(down.seen) != 1 {
		t.Fatalf("%+v after %d requests to the first", out, len(down.seen))
	}
	lines := k.lines()
	if len(lines) != 1 || lines[0].Model != "b/second" || lines[0].Requests != 3 || lines[0].Money == 0 || lines[0].Unpriced {
		t.Errorf("lines %+v", lines)
	}
	for _, ev := range k.events() {
		if ev.Type != "turn_completed" {
			continue
		}
		var d agency.TurnCompleted
		must(t, json.Unmarshal(ev.Details, &d))
		if d.Model != "b/second" || d.CostUSD == 0 {
			t.Errorf("turn %d: %+v", d.Turn, d)
		}
	}
}

// A fallback that is dearer than what is left is not asked, and does not stop
// the model before it either: its worst case is held when it is asked.
func TestADearFallbackWaitsForTheBudget(t *testing.T) {
	for _, up := range []bool{true, false} {
		k := newKit(t, budget.Limits{Money: agency.USD(0.01)})
		first, second := &player{say: []any{complete}}, &player{say: []any{complete}}
		if !up {
			first.say = []any{overloaded}
		}
		k.twoModels(first, second, prices{"a/first": {}, "b/second": {In: 100, CachedIn: 10, Out: 200}})
		s := spec()
		out := k.must(s)
		if s := k.spent(); s.Money != 0 || s.Reserved != 0 || len(second.seen) != 0 {
			t.Fatalf("spent %v, reserved %v, the second was asked %d times", s.Money, s.Reserved, len(second.seen))
		}
		if up {
			if out.Kind != session.Claimed {
				t.Errorf("%+v", out)
			}
			continue
		}
		if out.Kind != session.Parked || out.For != session.ForBudget || out.Exhausted == nil {
			t.Fatalf("%+v", out)
		}
		k.write(func(tx *store.Tx) error {
			return budget.Raise(tx, testRun, budget.Root, budget.Limits{Money: 10 * agency.Dollar})
		})
		s.Part = 2
		if out := k.must(s); out.Kind != session.Claimed {
			t.Errorf("%+v", out)
		}
		if lines := k.lines(); len(lines) != 1 || lines[0].Model != "b/second" || lines[0].Money == 0 {
			t.Errorf("lines %+v", lines)
		}
	}
}

// What broke off is in every total: the session's, the run's and the events';
// and a model without a price is never shown as free.
func TestTotalsAreOneNumber(t *testing.T) {
	for _, priced := range []bool{true, false} {
		k := newKit(t, budget.Limits{})
		cut := 0
		flaky := func(a llm.Answer) func(context.Context, llm.Request) any {
			return func(context.Context, llm.Request) any {
				if cut++; cut%2 == 1 {
					return &llm.Fault{Kind: llm.StreamCut, Provider: "test"}
				}
				return a
			}
		}
		k.model.say = []any{flaky(calls("read_file", `{"path":"main.txt"}`)), flaky(complete)}
		k.lineup.Model = failover.Retry(k.model, failover.RetryOptions{Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }})
		if !priced {
			k.setup.Prices = prices{}.tariff()
		}
		k.must(spec())
		total, run := budget.Sum(k.lines(), nil), k.spent()
		if total.Lost != 2 || total.Requests != 4 || total.Money != run.Money || total.Tokens != run.Tokens || total.Unpriced == priced || (run.Money > 0) != priced {
			t.Errorf("the lines are %+v, the run has %+v", total, run)
		}
		k.read(func(q *store.Snapshot) error {
			var ledger budget.Ledger
			err := ledger.Refresh(q, testRun)
			nodes := budget.By(ledger.Lines, func(l budget.Line) string { return l.Node })
			if one := nodes["session/"+string(testRun)+"/main/attempt-1"]; err != nil || len(nodes) != 1 || one.Money != run.Money || one.Tokens != run.Tokens || one.Unpriced == priced {
				t.Errorf("%v: the session is shown with %+v, the run has %+v", err, nodes, run)
			}
			return err
		})
		var last agency.TurnCompleted
		var told []string
		for _, ev := range k.events() {
			switch ev.Type {
			case "turn_completed":
				must(t, json.Unmarshal(ev.Details, &last))
				told = append(told, "turn")
			case "charged":
				var lost agency.Charged
				must(t, json.Unmarshal(ev.Details, &lost))
				if told = append(told, "charged"); lost.Tokens == 0 || (lost.USD > 0) != priced || lost.Run.Tokens != last.Run.Tokens+lost.Tokens {
					t.Errorf("%+v is told after %+v", lost, last.Run)
				}
			}
		}
		if got := strings.Join(told, " "); got != "charged turn charged turn" {
			t.Errorf("what broke off is told late: %s", got)
		}
		if agency.USD(last.Run.USD) != run.Money || last.Run.Tokens != run.Tokens {
			t.Errorf("the last event says %+v, the run has %+v", last, run)
		}
	}
}

// Waiting for a provider is no time at work: neither the session's limit nor
// the run's sees it.
func TestBackoffIsNotWork(t *testing.T) {
	k := newKit(t, budget.Limits{Wall: time.Minute})
	now := time.Now()
	k.now = func() time.Time { return now }
	tries := 0
	k.model.say = []any{func(context.Context, llm.Request) any {
		now = now.Add(5 * time.Second) // at work
		if tries++; tries < 4 {
			return &llm.Fault{Kind: llm.RateLimited, Provider: "test", RetryAfter: 4 * time.Minute}
		}
		return calls("read_file", `{"path":"main.txt"}`)
	}, complete}
	k.setup.Limits.Seconds = 60
	k.lineup.Model = failover.Retry(k.model, failover.RetryOptions{Sleep: func(_ context.Context, d time.Duration) error {
		now = now.Add(d)
		return nil
	}})
	if out := k.must(spec()); out.Kind != session.Claimed {
		t.Fatalf("%+v", out)
	}
	if got := k.spent().Wall; got != 20*time.Second {
		t.Errorf("the run was at work for %v, want 20s", got)
	}
}

// The limit goes on where it stopped when a session rested.
func TestAStintRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := (&stage{}).alone(spec())
		c.Setup.Limits.Seconds = 60
		ctx, work := c.atWork(t.Context())
		pass := func(d time.Duration) {
			<-time.After(d)
			synctest.Wait()
		}
		pass(50 * time.Second)
		work.rest()
		pass(time.Hour)
		work.work()
		if pass(9 * time.Second); ctx.Err() != nil {
			t.Fatalf("up after 59 seconds of work: %v", context.Cause(ctx))
		}
		if pass(2 * time.Second); context.Cause(ctx) != errTime {
			t.Errorf("not up after 61 seconds of work: %v", context.Cause(ctx))
		}
		if took := work.end(); took != 61*time.Second {
			t.Errorf("worked for %v", took)
		}
	})
}

// What a turn's calls wait for what is scarce on the machine is no time at work, and the
// engine hears of a rest only when all of them rest.
func TestWaitingForResourcesIsNoWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := (&stage{}).alone(spec())
		c.Setup.Limits.Seconds = 60
		rested := 0
		outer := flow.WithScope(t.Context(), flow.Scope{Rest: func() func() { rested++; return func() { rested-- } }})
		ctx, work := c.atWork(outer)
		calls := newBeside(ctx, work)
		ctx = calls.in(ctx)
		pool := slots.New(slots.Folder(t.TempDir()), map[string]int{"gpu": 1})
		held, err := pool.Take(ctx, []string{"gpu"}, slots.Wait{})
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(2*time.Minute, held.Release)
		end, other := calls.begin(), calls.begin()
		back := flow.Rest(ctx)
		if rested != 0 {
			t.Error("one call rests, and the other one works")
		}
		if other(); rested != 1 {
			t.Error("all rest, and nobody was told")
		}
		if back(); rested != 0 {
			t.Error("it works again")
		}
		if held, err = pool.Take(ctx, []string{"gpu"}, slots.Wait{Busy: func(slots.Busy) error { return nil }}); err != nil {
			t.Fatal(err)
		}
		held.Release()
		end()
		if took := work.end(); ctx.Err() != nil && context.Cause(ctx) == errTime || took > time.Second {
			t.Errorf("at work for %v: %v", took, context.Cause(ctx))
		}
	})
}

// A session that does not fit beside what another holds waits until that is settled,
// and asks for a shorter answer where no longer one fits; it parks only where nobody
// holds anything.
func TestASessionWaitsForWhatOthersHold(t *testing.T) {
	k := newKit(t, budget.Limits{Money: agency.USD(0.1)})
	k.setup.Limits.MaxOutput = 100_000 // twice the budget
	var limits []int64
	k.model.say = []any{func(_ context.Context, req llm.Request) any {
		limits = append(limits, req.MaxOutput)
		return complete
	}}
	held := budget.Request{Key: "other", Node: budget.Root, Out: 1, Price: agency.Price{Out: 99_000}}
	k.write(func(tx *store.Tx) error {
		_, err := budget.Reserve(tx, testRun, held)
		return err
	})
	waited := false
	k.between = func(point string) error {
		if point == "committed" && !waited {
			waited = true
			if len(limits) > 0 {
				t.Error("it asked beside what another holds")
			}
			k.write(func(tx *store.Tx) error {
				return budget.Settle(tx, testRun, "other", budget.Bill{Cost: agency.USD(0.01)}, 0)
			})
		}
		return nil
	}
	if out := k.must(spec()); out.Kind != session.Claimed || !waited {
		t.Fatalf("%+v", out)
	}
	if len(limits) != 1 || limits[0] < leastOutput || limits[0] > 45_000 {
		t.Errorf("9 cents are left, and an answer may have %v tokens", limits)
	}
	if s := k.spent(); s.Money > s.Limits.Money || s.Reserved != 0 {
		t.Errorf("%+v", s)
	}
	again := spec()
	again.Attempt, k.between = 2, nil
	k.write(func(tx *store.Tx) error {
		held.Key, held.Price.Out = "more", (leftOf(k.spent())-0.001)*1e6
		if _, err := budget.Reserve(tx, testRun, held); err != nil {
			return err
		}
		return budget.Charge(tx, testRun, "more", budget.Bill{})
	})
	if out := k.must(again); out.Kind != session.Parked || out.For != session.ForBudget || out.Exhausted.Outstanding {
		t.Errorf("%+v", out)
	}
	if n := k.count("budget_exhausted"); n != 1 {
		t.Errorf("it is told %d times that nothing is left", n)
	}
}

// leftOf is what is left in dollars.
func leftOf(s budget.State) float64 { return (s.Limits.Money - s.Money).Float() }

// What was waited for a provider that limits the rate counts also where the host was ended
// meanwhile; who resumes a run that gave up waits anew.
func TestPatienceOutlivesItsHost(t *testing.T) {
	k := newKit(t, budget.Limits{})
	now := time.Now()
	k.now = func() time.Time { return now }
	limited, asked := true, 0
	k.model.say = []any{func(context.Context, llm.Request) any {
		if asked++; limited {
			return &llm.Fault{Kind: llm.RateLimited, Provider: "test", RetryAfter: 40 * time.Minute}
		}
		return calls("read_file", `{"path":"main.txt"}`)
	}, complete}
	slept, left := 0, 40*time.Minute
	died := errors.New("the host died in its wait")
	k.lineup.Model = failover.Retry(k.model, failover.RetryOptions{Name: "test/model", Sleep: func(context.Context, time.Duration) error {
		slept++
		now = now.Add(left)
		if died != nil {
			k.takeOver() // whatever it does from here on comes too late
		}
		return died
	}})
	fails := func(asks, waits int, how error) {
		t.Helper()
		slept, asked = 0, 0
		_, err := k.do(t.Context(), spec())
		if asked != asks || slept != waits || how != nil && err == nil || how == nil && agency.KindOf(err) != agency.KindTransient {
			t.Fatalf("asked %d times and waited %d, want %d and %d: %v", asked, slept, asks, waits, err)
		}
		if how == nil {
			k.takeOver()
		}
		if s := k.spent(); s.Tokens != 0 { // what was refused cost nothing, and nothing was asked in the wait
			t.Fatalf("%d tokens are spent", s.Tokens)
		}
	}
	left = 15 * time.Minute // of the 40
	fails(1, 1, died)       // 15 of 60
	left = time.Hour        // the host is down for longer than the provider asked for
	fails(0, 1, died)       // the other 25 are waited before it is asked again
	fails(1, 0, nil)        // 40 more are no hour any more
	left = time.Minute
	fails(1, 1, died)
	limited, died = false, nil
	if out := k.must(spec()); out.Kind != session.Claimed {
		t.Fatalf("%+v", out)
	}
}
