package pattern

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/board/state"
	"agency/internal/budget"
	"agency/internal/contractrun"
	"agency/internal/effects"
	"agency/internal/event"
	"agency/internal/flow"
	"agency/internal/flow/local"
	"agency/internal/lease"
	"agency/internal/registry"
	"agency/internal/roster/agentfile"
	"agency/internal/session"
	"agency/internal/session/record"
	"agency/internal/store"
	"agency/internal/store/storetest"

	"github.com/google/go-cmp/cmp"
)

const run = agency.RunID("run-1")

// theatre plays the sessions of agents by a mind; engine, store and registry are real.
type theatre struct {
	t    *testing.T
	db   *store.DB
	cast agentfile.Cast
	mind mind

	mu    sync.Mutex
	acts  map[agency.ContractID]*player
	did   map[agency.StepKey]session.Outcome
	calls map[agency.StepKey]int
	die   func() error // before and after each effect
}

// player is one session: what it has seen by the end of each part.
type player struct {
	node
	shown []agency.ContractID // children that it was shown last
}

func newTheatre(t *testing.T, cast agentfile.Cast, m mind) *theatre {
	t.Helper()
	db := storetest.Open(t, store.Options{Path: filepath.Join(t.TempDir(), "t.db"), Sets: []store.Set{
		event.Migrations(), lease.Migrations(), local.Migrations(), registry.Migrations(), budget.Migrations(), board.Migrations(), state.Migrations(),
		record.Migrations(),
	}})
	err := db.Write(context.Background(), func(tx *store.Tx) error {
		r := agency.Run{ID: run, Goal: "the goal", Mode: agency.ModeAgent, State: agency.StateRunning}
		if err := registry.CreateRun(tx, r, json.RawMessage("{}")); err != nil {
			return err
		}
		return budget.Open(tx, run, budget.Root, "", budget.Limits{})
	})
	if err != nil {
		t.Fatal(err)
	}
	return &theatre{t: t, db: db, cast: cast, mind: m, acts: map[agency.ContractID]*player{}, did: map[agency.StepKey]session.Outcome{}, calls: map[agency.StepKey]int{}}
}

var (
	ids     = regexp.MustCompile(`[A-Za-z0-9._-]+-[0-9a-f]{12}\b`)
	times   = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	unknown = regexp.MustCompile(`(?s)(has the id "nobody"\.) .*?(\n\n|\n\+\n|$)`)
	listed  = regexp.MustCompile(`(?m)^- (\S+): \S+, \d+ turns? left$`)
)

// plain is a text without what no reference can know.
func plain(s string) string {
	s = unknown.ReplaceAllString(s, "$1 UNKNOWN$2")
	return times.ReplaceAllString(ids.ReplaceAllString(s, "ID"), "TIME")
}

func (th *theatre) registry() *flow.Registry {
	r := flow.NewRegistry()
	effects.New(th.db, agency.Fence{}, nil, models{}, nil, nil).Bind(r)
	flow.Bind(r, session.Activity, func(ctx context.Context, key agency.StepKey, spec session.Spec) (session.Outcome, error) {
		if err := th.perhaps(); err != nil {
			return session.Outcome{}, err
		}
		out, err := th.act(ctx, key, spec)
		if err != nil {
			return out, err
		}
		return out, th.perhaps()
	})
	return r
}

func (th *theatre) perhaps() error {
	if th.die == nil {
		return nil
	}
	return th.die()
}

type models struct{ effects.Models }

func (models) Routing(context.Context, agency.RunID) (agency.Routing, error) {
	return agency.Routing{}, nil
}

// act is a part of a session; done again, it finds what it did.
func (th *theatre) act(ctx context.Context, key agency.StepKey, spec session.Spec) (session.Outcome, error) {
	contract, err := store.Get(ctx, th.db, func(q store.Querier, id agency.RunID) (agency.Contract, error) {
		return registry.Contract(q, id, spec.Contract)
	}, run)
	if err != nil {
		return session.Outcome{}, err
	}
	th.mu.Lock()
	defer th.mu.Unlock()
	th.calls[key]++
	if old, ok := th.did[key]; ok {
		return old, nil
	}
	p := th.acts[spec.Contract]
	in := contract.Description
	if p == nil {
		f, _ := th.cast.Find(spec.Post.Agent)
		p = &player{node: node{file: f, team: spec.Post.Team, member: spec.Post.Broadcasts(), limit: maxTurns}}
		if n := spec.Post.Turns; n > 0 {
			p.limit = min(p.limit, n)
		}
		th.acts[spec.Contract] = p
	} else {
		in = p.told(*spec.Answer)
	}
	out := th.turn(p, in, spec.Part)
	th.did[key] = out
	return out, nil
}

// told is what a session is told before it goes on.
func (p *player) told(a session.Answer) string {
	if a.Say != "" {
		return a.Say
	}
	texts := make([]string, len(a.Replies))
	for i, r := range a.Replies {
		texts[i] = r.Text
	}
	return strings.Join(texts, "\n+\n")
}

func (th *theatre) turn(p *player, in string, part int) session.Outcome {
	if len(p.seen) == p.limit {
		return session.Outcome{Kind: session.Incomplete, Reason: usedUp, Turns: len(p.seen)}
	}
	p.shown = nil
	for _, m := range listed.FindAllStringSubmatch(in[max(0, strings.LastIndex(in, "\n\nAgents that you can ask again")):], -1) {
		p.shown = append(p.shown, agency.ContractID(m[1]))
	}
	p.seen = append(p.seen, plain(in))
	m := th.mind(p.file, p.kind(), p.seen)
	out := session.Outcome{Kind: session.Reported, Report: m.report, Turns: len(p.seen), Left: p.limit - len(p.seen), Room: 1 << 30}
	call := func(i int) string { return fmt.Sprintf("call-%d-%d", part, i) }
	switch {
	case m.fail:
		out.Kind, out.Reason, out.Report = session.Incomplete, gaveUp, ""
	case m.handTo != "":
		out.Kind, out.HandTo = session.HandedOff, &session.HandTo{Agent: m.handTo, Message: m.message}
	case m.broadcast != "" && m.final:
		out.Report, out.Failed = m.broadcast, m.failed
	case m.broadcast != "":
		out.Kind, out.For, out.ToolUse = session.Parked, session.ForAgents, call(0)
		out.Asks = []session.AgentsAsk{{ToolUse: call(0), Broadcast: m.broadcast}}
	case len(m.asks) > 0:
		out.Kind, out.For, out.ToolUse = session.Parked, session.ForAgents, call(0)
		for i, w := range m.asks {
			out.Asks = append(out.Asks, p.ask(w, call(i)))
		}
	}
	return out
}

func (p *player) ask(w want, call string) session.AgentsAsk {
	a := session.AgentsAsk{ToolUse: call}
	id := agency.ContractID("nobody")
	if w.again > 0 {
		id = p.shown[w.again-1]
	}
	switch {
	case w.call != "":
		a.Call = &session.CallAsk{Agent: w.call, Prompt: w.prompt}
	case w.free:
		a.Release = id
	default:
		a.Again = &session.AgainAsk{ID: id, Question: w.prompt}
	}
	return a
}

func (th *theatre) transcripts() []string {
	var out []string
	for _, p := range th.acts {
		out = append(out, p.file.Name+"\n"+strings.Join(p.seen, "\n=\n"))
	}
	slices.Sort(out)
	return out
}

// play plays the composition, each time on a new process after one that died.
func (th *theatre) play(agent, text string) End {
	th.t.Helper()
	var got End
	for {
		engine := local.New(local.Options{DB: th.db, Registry: th.registry(), Version: "test"})
		err := engine.Run(context.Background(), run, func(c flow.Ctx) (err error) {
			got, err = Play(c, Input{Facts: contractrun.Facts{Run: run, Goal: text}, Cast: th.cast, Agent: agent, Text: text})
			return err
		}, flow.Hooks{})
		if err == nil {
			return got
		}
		if stopped := (*flow.Interrupt)(nil); !errors.As(err, &stopped) || !errors.Is(err, errDied) && !strings.Contains(err.Error(), "died here") {
			th.t.Fatal(err)
		}
	}
}

var errDied = agency.Errorf(agency.KindTransient, "the process died here")

// drawn is a random composition: an agent comes to those after it alone.
func drawn(rng *rand.Rand, t *testing.T) (agentfile.Cast, string) {
	t.Helper()
	n := 4 + rng.IntN(6)
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("a%d", i)
	}
	files := make([]agentfile.File, n)
	some := func(i, most int) (out []string) {
		for range 1 + rng.IntN(most) {
			if name := names[i+1+rng.IntN(n-i-1)]; !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
		return out
	}
	for i := n - 1; i >= 0; i-- {
		f := &files[i]
		f.Name, f.Chat, f.Input, f.Output = names[i], rng.IntN(2) == 0, agentfile.Markdown, agentfile.Markdown
		if i == n-1 {
			continue
		}
		find := func(name string) agentfile.File { return files[slices.Index(names, name)] }
		if rng.IntN(3) == 0 {
			f.Advisors = slices.DeleteFunc(some(i, 2), func(name string) bool { return find(name).Router != nil })
		}
		switch rng.IntN(6) {
		case 0, 1:
			f.Agents = some(i, 2)
		case 2:
			f.Router = &agentfile.Router{Destinations: some(i, 2)}
			continue
		case 3, 4:
			super := names[i+1+rng.IntN(n-i-1)]
			members := slices.DeleteFunc(some(i, 3), func(name string) bool { return name == super })
			if find(super).Team == nil && len(members) > 0 {
				f.Team = &agentfile.Team{Members: members, Supervisor: super, MemberMaxTurns: 2 + rng.IntN(3), SupervisorMaxTurns: 2 + rng.IntN(3)}
			}
		}
		if rng.IntN(3) == 0 {
			f.Handoff = names[i+1+rng.IntN(n-i-1)]
		}
	}
	return agentfile.Cast{Agents: files}, names[0]
}

// drawnMind is a random behaviour that depends on nothing but what an agent sees.
func drawnMind(seed uint64) mind {
	return func(f agentfile.File, in string, seen []string) move {
		h := fnv.New64a()
		_, _ = fmt.Fprint(h, seed, f.Name, in, strings.Join(seen, "\x00")) // never fails
		rng := rand.New(rand.NewPCG(h.Sum64(), seed))
		words := fmt.Sprintf("%s says %x", f.Name, h.Sum64()&0xffff)
		live := len(listed.FindAllString(strings.ReplaceAll(seen[len(seen)-1], "- ID:", "- x:"), -1))
		if rng.IntN(12) == 0 {
			return move{fail: true}
		}
		var asks []want
		if len(f.Agents) > 0 && rng.IntN(2) == 0 {
			for range 1 + rng.IntN(2) {
				asks = append(asks, want{call: f.Agents[rng.IntN(len(f.Agents))], prompt: words})
			}
		}
		if live > 0 && rng.IntN(2) == 0 {
			asks = append(asks, want{again: 1 + rng.IntN(live), prompt: words + "?", free: rng.IntN(4) == 0})
			if rng.IntN(3) == 0 {
				asks = append(asks, want{again: 1 + rng.IntN(live), prompt: words + "??"})
			}
		}
		if len(f.Agents) > 0 && rng.IntN(10) == 0 {
			asks = append(asks, want{again: -1, prompt: "who?"})
		}
		if len(asks) > 0 {
			return move{asks: asks}
		}
		if f.Router != nil && rng.IntN(3) > 0 {
			m := move{handTo: f.Router.Destinations[rng.IntN(len(f.Router.Destinations))]}
			if rng.IntN(2) == 0 {
				m.message = words
			}
			return m
		}
		switch {
		case in == "member":
			final := rng.IntN(3) == 0
			return move{broadcast: words, final: final, failed: final && rng.IntN(3) == 0}
		case in == "supervisor" && rng.IntN(2) == 0:
			return move{broadcast: words}
		}
		return move{report: words}
	}
}

// Compositions that are drawn at random come out as the reference says: the same answer or
// failure, and each agent sees the same, in whatever order branches run; also where the
// process dies again and again, and then nothing that had ended is done anew.
func TestCompositions(t *testing.T) {
	n := 200
	if testing.Short() {
		n = 60
	}
	answers, teams, again := 0, 0, 0
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 7))
		cast, root := drawn(rng, t)
		m := drawnMind(seed)
		r := &reference{files: map[string]agentfile.File{}, mind: m}
		for _, f := range cast.Agents {
			r.files[f.Name] = f
		}
		want := r.begin(&chain{}, root, "the goal")
		th := newTheatre(t, cast, m)
		deaths := 0
		if seed%2 == 0 {
			left := 1 + rng.IntN(20)
			th.die = func() error {
				th.mu.Lock()
				defer th.mu.Unlock()
				if left--; left == 0 && deaths < 4 {
					deaths++
					left = 1 + rng.IntN(20)
					return errDied
				}
				return nil
			}
		}
		got := th.play(root, "the goal")
		if got.Answer != want.text && want.fault == "" || plain(got.Failure) != plain(want.fault) {
			t.Errorf("seed %d: %+v, the reference has %+v\n%s", seed, got, want, shown(cast))
		}
		if diff := cmp.Diff(r.transcripts(), th.transcripts()); diff != "" {
			t.Fatalf("seed %d: what agents saw (-reference +got):\n%s\n%s", seed, diff, shown(cast))
		}
		for key, n := range th.calls {
			if n > 1+deaths {
				t.Errorf("seed %d: %s ran %d times over %d deaths", seed, key, n, deaths)
			}
		}
		th.settled(seed)
		if want.fault == "" {
			answers++
		}
		for _, n := range r.nodes {
			if n.team != "" {
				teams++
			}
			for _, s := range n.seen {
				if strings.HasPrefix(s, "## CLARIFICATION") {
					again++
				}
			}
		}
	}
	if answers < n/3 || teams < n/4 || again < n/20 {
		t.Errorf("of %d compositions %d have an answer, %d speak in teams, %d are asked again: too few", n, answers, teams, again)
	}
}

// settled looks that nobody is left behind, and that each knows how it was reached.
func (th *theatre) settled(seed uint64) {
	th.t.Helper()
	all, err := store.Get(context.Background(), th.db, registry.Contracts, run)
	if err != nil {
		th.t.Fatal(err)
	}
	known := map[agency.ContractID]bool{}
	for _, c := range all {
		known[c.ID] = true
	}
	for _, c := range all {
		if !c.Status.Final() {
			th.t.Errorf("seed %d: %s is left %s", seed, c.ID, c.Status)
		}
		if p := c.Post; p == nil || p.Reached == "" || (p.From == "") != (p.Reached == agency.ReachedRun) && p.From != "" && !known[p.From] {
			th.t.Errorf("seed %d: %s has the post %+v", seed, c.ID, p)
		}
	}
}

func shown(cast agentfile.Cast) string {
	var b strings.Builder
	for _, f := range cast.Agents {
		fmt.Fprintf(&b, "%s chat %v advisors %v agents %v router %v team %+v handoff %s\n", f.Name, f.Chat, f.Advisors, f.Agents, f.Router, f.Team, f.Handoff)
	}
	return b.String()
}
