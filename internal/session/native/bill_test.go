package native

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/llm"
	"agency/internal/llm/failover"
	"agency/internal/roster"
	"agency/internal/session"
	"agency/internal/store"
)

// -bills is how many random programs of money are played; the long form is
//
//	go test ./internal/session -run Bill -v -bills 20000
var (
	bills    = flag.Int("bills", 240, "how many random programs of money are played")
	billSeed = flag.Uint64("billseed", 0, "seed of the first program; 0: by the clock")
)

// billEntry is one model of a fallback list.
type billEntry struct {
	wire, provider, id string
	price              *agency.Price // nil: unpriced
}

func (e billEntry) name() string { return e.provider + "/" + e.id }

// sentRequest is one request as its adapter was given it.
type sentRequest struct {
	entry   int
	in, out int64 // its worst case in tokens
}

// sending notes what is sent to an entry.
type sending struct {
	next  llm.Model
	entry int
	rig   *billRig
}

func (s sending) Ask(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	in := llm.EstimateTokens(llm.Bytes(req))
	s.rig.sent = append(s.rig.sent, sentRequest{s.entry, in + in/100, req.MaxOutput}) // a session counts each message a little larger
	return s.next.Ask(ctx, req)
}

// billRig plays programs on one stage, each in an attempt of its own.
type billRig struct {
	*stage
	server *countingServer
	prices prices
	sent   []sentRequest
	deaths int
}

// Whatever breaks, wherever: what the ledger charges a model is never below
// what the server counted for it, and not above what was reserved for the
// tries that were not refused at the door. What a server says that it counted
// is booked also above that, by one call at most.
func TestBillIsRight(t *testing.T) {
	seed := *billSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	const lanes = 4
	for lane := range lanes {
		t.Run(fmt.Sprintf("lane %d", lane), func(t *testing.T) {
			t.Parallel()
			k := newKit(t, budget.Limits{})
			for i := lane; i < *bills && !t.Failed(); i += lanes {
				playBill(k, seed+uint64(i), i+1)
			}
		})
	}
}

func playBill(k *stage, seed uint64, attempt int) {
	rng := rand.New(rand.NewPCG(seed, 1))
	r := &billRig{stage: k, prices: prices{}}
	r.server = &countingServer{rng: rng, calm: 30 + rng.IntN(70)}
	web := httptest.NewServer(r.server)
	defer web.Close()
	names := r.line(rng, web.URL)
	limit := agency.Money(0)
	if rng.IntN(2) == 0 {
		limit = agency.USD(0.001 + rng.Float64()*0.1)
	}
	parent := fmt.Sprintf("case/%d", attempt)
	k.write(func(tx *store.Tx) error {
		return budget.Open(tx, testRun, parent, budget.Root, budget.Limits{Money: limit})
	})
	k.setup.Parent, k.setup.Prices, k.lineup.Names = parent, r.prices.tariff(), names
	k.setup.Limits = roster.Limits{Turns: 6, CallsPerTurn: 8, MaxOutput: 1000, Tokens: 1 << 60, Seconds: 600}
	s := spec()
	s.Attempt = attempt
	k.between = nil
	if rng.IntN(4) == 0 {
		k.dieAt(3 + rng.IntN(20))
	}
	err := r.play(s)
	web.Close() // so that nothing is served any more
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	r.check(fmt.Sprintf("-billseed %d -bills 1", seed), s.ID(), parent, limit)
	if k.t.Failed() {
		k.t.Logf("the session ended in %v; models %v; served:", err, names)
		for _, one := range r.server.served {
			k.t.Logf("%s: %+v", names[one.entry], one)
		}
	}
}

// line makes the fallback list: models of several wires and prices, also the
// same by two keys.
func (r *billRig) line(rng *rand.Rand, url string) (names []string) {
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	quick := failover.RetryOptions{Tries: 3, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
	var list []failover.Named
	for i := range 1 + rng.IntN(3) {
		e := billEntry{wire: wires[rng.IntN(len(wires))], provider: fmt.Sprintf("p%d", i), id: "m"}
		for _, scale := range [][]float64{{0}, {1}, {20}, {}}[rng.IntN(4)] {
			e.price = &agency.Price{In: scale, CachedIn: scale / 10, Out: 5 * scale}
			r.prices[e.name()] = *e.price
		}
		if rng.IntN(2) == 0 {
			r.prices[e.provider+"/other"] = agency.Price{In: 7, CachedIn: 9, Out: 40}
		}
		r.server.entries = append(r.server.entries, e)
		over := overWire(e.wire, fmt.Sprintf("%s/entry%d", url, i), llm.HTTPOptions{})
		list = append(list, failover.Named{Name: e.name(), Provider: e.provider, ID: e.id, Model: failover.Retry(sending{over, i, r}, quick)})
		names = append(names, e.name())
	}
	var err error
	r.lineup.Model, err = failover.Fallback(list, failover.FallbackOptions{})
	must(r.t, err)
	if len(list) == 1 {
		r.lineup.Model = list[0].Model // the stage lists it
	}
	return names
}

// play runs the session, over the deaths of its process.
func (r *billRig) play(s session.Spec) error {
	for {
		_, err := r.do(r.t.Context(), s)
		if !errors.Is(err, errDied) {
			return err
		}
		r.deaths++
		r.between = nil
		r.takeOver()
	}
}

// bounds are what the server counted for each entry and the most that its tries
// may cost, the most of any one try by its reservation, and by all that it told.
func (r *billRig) bounds() (counted, most map[string]agency.Money, worst, huge agency.Money) {
	tariff := r.prices.tariff()
	counted, most = map[string]agency.Money{}, map[string]agency.Money{}
	var largest sentRequest
	inflated := int64(0) // a prompt that was counted larger is reserved larger
	for i, one := range r.server.served {
		name, sent := r.server.entries[one.entry].name(), r.sent[i]
		usage := agency.Usage{In: one.in, Out: one.out}
		owed := tariff.Bill(name, one.model, usage).Cost
		if r.deaths > 0 { // what answered died with the process
			owed = min(owed, tariff.Bill(name, "", usage).Cost)
		}
		counted[name] += owed
		reserved := mostOf(tariff, name, "", sent.in+inflated, sent.out)
		other := mostOf(tariff, name, one.model, sent.in+inflated, sent.out) // a router is paid by what it chose
		told := agency.Money(0)
		if one.told > 0 && one.told < 1<<40 {
			inflated = max(inflated, one.told)
		}
		if one.told > 0 {
			told = mostOf(tariff, name, one.model, one.told, one.told)
		}
		if one.in > 0 {
			most[name] += max(reserved, other, told)
		}
		worst, huge = max(worst, reserved, other), max(huge, told, other)
		largest.in, largest.out = max(largest.in, sent.in), max(largest.out, sent.out)
	}
	for _, e := range r.server.entries { // also what a death left of one that was not asked
		reserved := mostOf(tariff, e.name(), "", largest.in+inflated, largest.out)
		worst = max(worst, reserved)
	}
	return counted, most, worst, huge
}

// check holds the ledger against the server's own count.
func (r *billRig) check(what string, id agency.SessionID, parent string, limit agency.Money) {
	counted, most, worst, huge := r.bounds()
	byModel := map[string][]budget.Line{}
	var node budget.State
	r.read(func(q *store.Snapshot) (err error) {
		var ledger budget.Ledger
		must(r.t, ledger.Refresh(q, testRun))
		for _, l := range ledger.Lines {
			if l.Node == budget.SessionNode(id) {
				byModel[l.Model] = append(byModel[l.Model], l)
			}
		}
		node, err = budget.Read(q, testRun, parent)
		return err
	})
	total := agency.Money(0)
	for i, e := range r.server.entries {
		ledger := budget.Sum(byModel[e.name()], nil)
		total += ledger.Money
		over := agency.Money(r.deaths) * worst
		if ledger.Money < counted[e.name()] {
			r.t.Errorf("%s: %s is charged %d, the server counted %d", what, e.name(), ledger.Money, counted[e.name()])
		}
		unseen := r.deaths > 0 && len(r.server.served) == 0 // it died before anything was asked
		if ledger.Money > most[e.name()]+over && !unseen {
			r.t.Errorf("%s: %s is charged %d, reserved was %d", what, e.name(), ledger.Money, most[e.name()])
		}
		served := func(one served) bool { return one.entry == i && one.in > 0 }
		if e.price == nil && ledger.Money == 0 && !ledger.Unpriced && slices.ContainsFunc(r.server.served, served) && !strings.Contains(fmt.Sprint(r.prices), "other") {
			r.t.Errorf("%s: %s has no price and is shown as free: %+v", what, e.name(), ledger)
		}
		if e.price != nil && ledger.Unpriced {
			r.t.Errorf("%s: %s has a price and is shown as unpriced", what, e.name())
		}
	}
	if node.Reserved != 0 || node.Money != total {
		r.t.Errorf("%s: the node has %v spent and %v reserved, its lines %v", what, node.Money, node.Reserved, total)
	}
	if limit > 0 && node.Money > limit+huge {
		r.t.Errorf("%s: %v spent of %v, one call is %v", what, node.Money, limit, huge)
	}
}

// mostOf is the most that a request may cost.
func mostOf(t budget.Tariff, model, reported string, in, out int64) agency.Money {
	price, _ := t(model, reported)
	return price.Most(in, out)
}
