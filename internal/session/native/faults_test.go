package native

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/llm"
	"agency/internal/llm/anthropic"
	"agency/internal/llm/failover"
	"agency/internal/llm/gemini"
	"agency/internal/llm/openai"
	"agency/internal/llm/rehearsal"
	"agency/internal/llm/rehearsal/wire"
	"agency/internal/overseer"
	"agency/internal/registry"
	"agency/internal/roster"
	"agency/internal/session"
	"agency/internal/store"
)

// -faults is how often each fault is played on each wire; the long form is
//
//	go test ./internal/session -run ModelFaults -v -faults 20
var faultRounds = flag.Int("faults", 1, "how often each fault of a model is played on each wire")

// modelFault is one fault of a model, in one of its forms. times
// is how many tries meet it, 0 all; want is what must come of it: claimed, a
// cause of an incomplete session, or a fault of package llm.
type modelFault struct {
	kind  string // of fault
	play  string // for the script
	times int
	want  []string
}

const claimed = "claimed"

// modelFaults are the sixteen kinds, those of the exchange both as something
// that passes and as something that stays.
func modelFaults(size int) []modelFault {
	var out []modelFault
	for _, f := range []struct{ kind, play, stays string }{
		{"429 with retry-after", "kind: rate_limited, retry_after: 2s", "rate_limited"},
		{"429 without retry-after", "kind: rate_limited", "rate_limited"},
		{"529", "kind: overloaded", "overloaded"},
		{"500", "kind: server", "server"},
		{"hang", "kind: hang", "timeout"},
		{"reset", "kind: reset", "network"},
		{"stream cut mid-token", "kind: cut_text", "stream_cut"},
		{"stream cut mid-call", "kind: cut_call", "stream_cut"},
		{"HTML", "kind: html", "bad_answer"},
	} {
		passes := []string{claimed}
		if f.kind == "hang" {
			passes = append(passes, f.stays) // on a slow machine the good answer may be late too
		}
		out = append(out, modelFault{f.kind, f.play, 2, passes}, modelFault{f.kind, f.play, 0, []string{f.stays}})
	}
	return append(out, []modelFault{
		{"slow drip", "kind: drip, over: 30ms", 0, []string{claimed}},
		{"bad JSON arguments", "kind: bad_args", 0, []string{claimed}},
		{"unknown tool", "kind: unknown_tool", 0, []string{claimed}},
		{"wrong types", "kind: wrong_types", 0, []string{claimed}},
		{"10 MB text", fmt.Sprintf("kind: huge, size: %d", size), 0, []string{claimed, string(session.CauseNoEnding)}}, // compacted, the player begins anew
		{"empty", "kind: empty", 0, []string{string(session.CauseEmpty)}},
		{"refusal", "kind: refusal", 0, []string{string(session.CauseRefusal)}},
		{"length stop", "kind: length", 0, []string{claimed}},
		{"duplicate ids", "kind: duplicate_ids", 0, []string{claimed}},
	}...)
}

// faultScript plays the i-th fault in the first turn of attempt i+1.
func faultScript(faults []modelFault, seed int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "version: 1\nname: faults\nseed: %d\nrules:\n", seed)
	for i, f := range faults {
		play := f.play
		if f.times > 0 {
			play += fmt.Sprintf(", times: %d", f.times)
		}
		fmt.Fprintf(&b, "  - name: fault %d\n    when: {attempt: %d, turn: 1}\n    text: I look at what is there.\n"+
			"    calls: [{tool: read_file, args: {path: main.txt}}, {tool: list_directory, args: {path: '.'}}]\n    fault: {%s}\n", i, i+1, play)
	}
	b.WriteString("  - name: end\n    calls: [{tool: signal_complete, args: {evidence: [{criterion: goal, kind: file, ref: main.txt}]}}]\n")
	return b.String()
}

// overWire makes an adapter as the host does.
func overWire(name, url string, opts llm.HTTPOptions) llm.Model {
	switch name {
	case "anthropic":
		return anthropic.New(anthropic.Options{Name: "test", BaseURL: url, HTTP: opts}, anthropic.Thinking{Budget: 1024})
	case "gemini":
		return gemini.New(gemini.Options{Name: "test", BaseURL: url, HTTP: opts})
	case "responses":
		return openai.NewResponses(openai.Options{Name: "test", BaseURL: url + "/v1", HTTP: opts})
	}
	return openai.New(openai.Options{Name: "test", BaseURL: url + "/v1", HTTP: opts})
}

var wires = []string{"openai", "responses", "anthropic", "gemini"}

// Each fault on each wire, with money enough and with hardly any: the session
// ends done or as a named failure, and what the provider counted is never
// above the cap by more than one call.
func TestModelFaults(t *testing.T) {
	size := 1 << 20
	if *faultRounds > 1 {
		size = 10 << 20
	}
	for _, name := range wires {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for round := range *faultRounds {
				for _, calls := range []float64{1000, 2.5} {
					// A test of its own, so that what it used is free again.
					t.Run(fmt.Sprintf("round %d, %g calls", round+1, calls), func(t *testing.T) {
						newFaultRig(t, name, modelFaults(size), round, calls).play()
					})
				}
			}
		})
	}
}

type faultRig struct {
	*stage
	name      string
	faults    []modelFault
	calls     float64 // how many calls' worst case an attempt may cost
	server    *wire.Server
	patient   llm.Model
	impatient llm.Model
	price     agency.Price
	seen      int // records of the server that were counted
}

func newFaultRig(t *testing.T, name string, faults []modelFault, seed int, calls float64) *faultRig {
	t.Helper()
	script, err := rehearsal.Parse("faults.yaml", []byte(faultScript(faults, seed)))
	must(t, err)
	r := &faultRig{name: name, faults: faults, calls: calls, server: wire.New(rehearsal.NewPlayer(script), wire.Options{})}
	web := httptest.NewServer(r.server)
	t.Cleanup(web.Close)
	r.stage = newKit(t, budget.Limits{Money: 1})
	quick := failover.RetryOptions{Tries: 3, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
	r.patient = failover.Retry(overWire(name, web.URL, llm.HTTPOptions{}), quick)
	r.impatient = failover.Retry(overWire(name, web.URL, llm.HTTPOptions{FirstByte: 100 * time.Millisecond}), quick)
	r.lineup.Names = []string{"test/model"}
	r.setup.Limits = roster.Limits{Turns: 20, CallsPerTurn: 8, MaxOutput: 4000, Tokens: 1 << 40, Seconds: 600}
	r.price = testPrices["test/model"]
	return r
}

func (r *faultRig) play() {
	for i, f := range r.faults {
		worst := r.price.Most(4000, r.setup.Limits.MaxOutput)
		allowed := agency.Money(r.calls * float64(worst))
		before := r.spent()
		r.write(func(tx *store.Tx) error {
			_, err := tx.Exec(`UPDATE budget_nodes SET limit_money = ? WHERE node = ?`, int64(before.Money+allowed), budget.Root)
			return err
		})
		r.lineup.Model = r.patient
		if f.kind == "hang" {
			r.lineup.Model = r.impatient
		}
		s := spec()
		s.Attempt = i + 1
		out, err := r.do(r.t.Context(), s)
		what := fmt.Sprintf("%s over %s, %d times, %g calls allowed", f.kind, r.name, f.times, r.calls)
		if got := named(out, err); !r.expected(f, got) {
			r.t.Errorf("%s: %s (%v), want %v", what, got, err, f.want)
		}
		r.checkSpend(what, allowed, before.Money)
	}
	told := 0
	for _, e := range r.events() {
		if d, err := agency.DecodeDetail(e); err == nil {
			if again, ok := d.(*agency.Retried); ok && again.Attempt > 0 && again.Cause != "" {
				told++
			}
		}
	}
	if told == 0 {
		r.t.Errorf("%s: nothing is told of requests that were made again", r.name)
	}
}

// expected: with hardly any money a session may also wait for more.
func (r *faultRig) expected(f modelFault, got string) bool {
	for _, want := range f.want {
		if got == want {
			return true
		}
	}
	return r.calls < 10 && got == string(session.ForBudget)
}

// named is the name under which a part ended, empty for none.
func named(out session.Outcome, err error) string {
	var f *llm.Fault
	switch {
	case errors.As(err, &f):
		return string(f.Kind)
	case err != nil:
		return ""
	case out.Kind == session.Claimed:
		return claimed
	case out.Kind == session.Parked:
		return string(out.For)
	}
	return string(out.Cause)
}

// checkSpend counts what the provider may have counted: every request but those
// that it refused at the door.
func (r *faultRig) checkSpend(what string, allowed, before agency.Money) {
	r.t.Helper()
	records := r.server.Recorder().Records()
	var provider, dearest agency.Money
	for _, rec := range records[r.seen:] {
		switch rec.Fault {
		case "rate_limited", "overloaded":
			continue
		}
		cost := r.price.Cost(rec.Usage)
		provider, dearest = provider+cost, max(dearest, cost)
	}
	r.seen = len(records)
	after := r.spent()
	if ours := after.Money - before; ours > allowed+dearest || provider > allowed+dearest || after.Reserved != 0 {
		r.t.Errorf("%s: allowed %v, one call %v: booked %v, the provider counted %v, still reserved %v", what, allowed, dearest, ours, provider, after.Reserved)
	}
	if provider > after.Money-before {
		r.t.Errorf("%s: the provider counted %v, booked is %v", what, provider, after.Money-before)
	}
}

// A session whose model hangs ends when the overseer tells it to, not when its own time
// is up; what was asked is paid.
func TestHaltEndsAHangingRequest(t *testing.T) {
	for action, want := range map[overseer.Action]session.Kind{overseer.ActionHalt: session.Incomplete, overseer.ActionPause: session.Blocked} {
		var k *stage
		k = newKit(t, budget.Limits{Money: agency.USD(1)}, func(ctx context.Context, _ llm.Request) any {
			k.write(func(tx *store.Tx) error {
				_, err := registry.AddIntervention(tx, testRun, registry.Intervention{Event: 1, Behaviour: overseer.Timeout, Session: spec().ID(), Action: action, Reason: "it hangs"})
				return err
			})
			<-ctx.Done()
			return context.Cause(ctx)
		})
		out := k.must(spec())
		if out.Kind != want || !strings.Contains(out.Reason, "it hangs") || want == session.Incomplete && out.Cause != session.CauseHalted {
			t.Errorf("%s: ended %+v", action, out)
		}
		k.read(func(q *store.Snapshot) error {
			s, err := budget.Read(q, testRun, budget.Root)
			if s.Reserved != 0 {
				t.Errorf("%s: %s stay reserved", action, s.Reserved)
			}
			return err
		})
	}
}
