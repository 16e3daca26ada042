package native

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	boardstate "agency/internal/board/state"
	"agency/internal/budget"
	"agency/internal/check"
	"agency/internal/event"
	"agency/internal/flow"
	"agency/internal/git"
	"agency/internal/git/gittest"
	"agency/internal/lease"
	"agency/internal/llm"
	"agency/internal/llm/failover"
	"agency/internal/registry"
	"agency/internal/roster"
	"agency/internal/sandbox"
	"agency/internal/session"
	"agency/internal/session/record"
	"agency/internal/store"
	"agency/internal/store/storetest"
	"agency/internal/tool"
	"agency/internal/tool/toolset"
	"agency/internal/verdicts"
	"agency/internal/workspace"
)

func TestMain(m *testing.M) {
	sandbox.Child()
	// Each example is a repository, a store and a sandbox: fewer than by default,
	// and -rapid.checks for more.
	if err := flag.Set("rapid.checks", "12"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// prices are what models cost, by provider/model.
type prices map[string]agency.Price

// tariff prices what answered by its own name where that has a price, and by
// that of the model asked for otherwise.
func (p prices) tariff() budget.Tariff {
	return func(model, reported string) (agency.Price, bool) {
		provider, _, _ := strings.Cut(model, "/")
		if price, ok := p[provider+"/"+reported]; ok {
			return price, true
		}
		price, ok := p[model]
		return price, ok
	}
}

// testPrices is what the only model costs.
var testPrices = prices{"test/model": {In: 1, CachedIn: 0.1, Out: 2}}

const testRun agency.RunID = "test-run"

// stage is a host with a store, a repository, a workspace and a sandbox, all
// real, and a model that a test scripts.
type stage struct {
	outside   []tool.Tool // of servers
	t         testing.TB
	repo      *gittest.Repo
	db        *store.DB
	git       *git.Program
	state     string
	model     *player
	setup     session.Setup
	lineup    session.Lineup
	cancelled context.Context
	cancel    context.CancelFunc
	fence     agency.Fence
	between   func(string) error
	ws        *workspace.Run
	runner    *sandbox.Runner
	census    *sandbox.Census
	secrets   *agency.Redactor
	mail      session.Mail
	host      session.Host // nil: the stage itself
	heartbeat time.Duration
	now       func() time.Time
	leap      atomic.Int64 // by how much the awake clock is ahead, in nanoseconds

	mu   sync.Mutex
	work *workspace.Workspace
}

func sets() []store.Set {
	return []store.Set{
		event.Migrations(), lease.Migrations(), registry.Migrations(), budget.Migrations(), board.Migrations(), boardstate.Migrations(),
		workspace.Migrations(), check.Migrations(), verdicts.Migrations(), record.Migrations(),
	}
}

// newKit makes a repository with one file and a run on it.
func newKit(t testing.TB, limits budget.Limits, say ...any) *stage {
	t.Helper()
	k := &stage{t: t, repo: gittest.Init(t), state: t.TempDir(), model: &player{say: say}, census: sandbox.NewCensus()}
	k.cancelled, k.cancel = context.WithCancel(context.Background())
	t.Cleanup(k.cancel)
	gittest.WriteFiles(t, k.repo.Dir, "main.txt", "one\ntwo\n", "AGENTS.md", "Write lower case.\n", "check.sh", "exit 0\n")
	k.repo.Commit("start")
	home, began := t.TempDir(), time.Now()
	var err error
	k.git, err = git.NewProgram(t.Context(), git.Options{Getenv: func(key string) string {
		return map[string]string{"HOME": home}[key]
	}})
	must(t, err)
	k.db = storetest.Open(t, store.Options{
		Path: filepath.Join(k.state, "agency.db"), Sets: sets(),
		Mono: func() time.Duration { return time.Since(began) + time.Duration(k.leap.Load()) },
	})
	k.runner, err = sandbox.New(sandbox.Options{StateDir: k.state, Census: k.census})
	if err != nil {
		t.Skip("needs the sandbox: ", err)
	}
	k.lineup = session.Lineup{Model: k.model, Names: []string{"test/model"}}
	k.setup = session.Setup{
		Repo:     k.repo.Dir,
		Limits:   roster.Limits{Turns: 20, CallsPerTurn: 8, MaxOutput: 1000, Tokens: 1_000_000, Seconds: 600},
		Commands: check.Commands{Test: "sh ./check.sh"},
		Parent:   budget.ContractNode("main"),
		Prices:   testPrices.tariff(),
	}
	k.takeOver()
	k.write(func(tx *store.Tx) error {
		err := registry.CreateRun(tx, agency.Run{ID: testRun, Goal: "change it", Mode: agency.ModeSingle, State: agency.StateRunning}, json.RawMessage(`{}`))
		if err != nil {
			return err
		}
		if err := budget.Open(tx, testRun, budget.Root, "", limits); err != nil {
			return err
		}
		if err := board.Join(tx, board.Agent{Run: testRun, ID: "generalist", Role: agency.RoleGeneralist}); err != nil {
			return err
		}
		return registry.CreateContract(tx, agency.Contract{
			ID: "main", RunID: testRun, AssignedRole: agency.RoleGeneralist, Title: "change it", Description: "change it",
			AcceptanceCriteria: []agency.Criterion{{ID: "goal", Text: "changed"}}, RetryBudget: 3,
		})
	})
	return k
}

// takeOver is what a new host process does.
func (k *stage) takeOver() {
	k.t.Helper()
	epoch, err := k.db.RaiseEpoch(k.t.Context())
	must(k.t, err)
	k.fence = agency.Fence{Epoch: epoch, N: 1}
	k.write(func(tx *store.Tx) error {
		_, err := budget.ChargeLost(tx, testRun)
		return err
	})
	loc, err := git.Find(k.repo.Dir)
	must(k.t, err)
	m := workspace.New(workspace.Options{Git: k.git, DB: k.db, ObjectsAt: k.runner.ObjectsAt, Still: k.census.Still})
	k.ws, err = m.OpenRun(k.t.Context(), workspace.RunInfo{Run: testRun, Repo: loc, Base: k.repo.Rev("HEAD"), StateDir: k.state})
	must(k.t, err)
	k.work = nil
	if _, ok := k.mail.(*board.Board); ok {
		k.office()
	}
}

func (k *stage) write(fn func(*store.Tx) error) {
	k.t.Helper()
	must(k.t, k.db.WriteFenced(k.t.Context(), k.fence, fn))
}

func (k *stage) read(fn func(*store.Snapshot) error) {
	k.t.Helper()
	must(k.t, k.db.Read(k.t.Context(), fn))
}

func (k *stage) Setup(context.Context, session.Spec) (session.Setup, error) { return k.setup, nil }

// Lineup lists the model as the host does, so that answers say who gave them.
func (k *stage) Lineup(context.Context, session.Spec) (out session.Lineup, err error) {
	if out = k.lineup; len(out.Names) == 1 {
		out.Model, err = failover.Fallback([]failover.Named{{Name: out.Names[0], Provider: "test", Model: out.Model}}, failover.FallbackOptions{})
	}
	return out, err
}

func (k *stage) Cancelled(agency.RunID) context.Context { return k.cancelled }

// workspace opens the checkout once a process.
func (k *stage) workspace(ctx context.Context, s session.Spec) (*workspace.Workspace, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.work != nil {
		return k.work, nil
	}
	var err error
	k.work, err = k.ws.Prepare(ctx, string(s.Contract), k.repo.Rev("HEAD"), workspace.Work)
	return k.work, err
}

func (k *stage) Toolset(ctx context.Context, s session.Spec) (*session.Toolset, error) {
	w, err := k.workspace(ctx, s)
	if err != nil {
		return nil, err
	}
	layers := filepath.Join(k.state, "cache")
	t, err := session.NewToolset(session.ToolsetOptions{
		Workspace: w, LayerDir: filepath.Join(layers, "agents"), Commands: k.setup.Commands,
		Checker: check.New(check.Options{Runner: k.runner, DB: k.db, LayerDir: layers}),
		Repo:    k.repo.Dir, Spec: s, Fence: k.fence,
	})
	if err == nil {
		t.Outside, t.Background.Secrets = k.outside, func() *agency.Redactor { return k.secrets }
	}
	return t, err
}

func spec() session.Spec {
	return session.Spec{Run: testRun, Contract: "main", Attempt: 1, Part: 1, Role: agency.RoleGeneralist, Agent: "generalist", Beside: true}
}

// do runs a part in a process of its own.
func (k *stage) do(ctx context.Context, s session.Spec) (session.Outcome, error) {
	return k.process(k.between)(flow.WithScope(ctx, flow.Scope{Run: s.Run, Fence: k.fence}), "", s)
}

// process is what a process carries sessions out by.
func (k *stage) process(between func(string) error) func(context.Context, agency.StepKey, session.Spec) (session.Outcome, error) {
	host := k.host
	if host == nil {
		host = k
	}
	return session.Do(session.Options{DB: k.db, Host: host, Mail: k.mail, Heartbeat: k.heartbeat, Runtimes: map[string]session.Runtime{
		"": New(Options{Host: host, Now: k.now, between: between}),
	}})
}

// alone is a conversation that no process has begun.
func (k *stage) alone(s session.Spec) *conversation {
	return newConversation(New(Options{Host: k}), &session.Part{Setup: k.setup, Member: &session.Member{Spec: s, DB: k.db, Write: func(ctx context.Context, fn func(*store.Tx) error) error {
		return k.db.WriteFenced(ctx, k.fence, fn)
	}}})
}

func (k *stage) must(s session.Spec) session.Outcome {
	k.t.Helper()
	out, err := k.do(k.t.Context(), s)
	must(k.t, err)
	return out
}

func (k *stage) events() (out []agency.Event) {
	k.read(func(s *store.Snapshot) error {
		var err error
		out, err = event.Since(s, 0, event.Filter{Run: testRun}, 0)
		return err
	})
	return out
}

func (k *stage) count(t agency.EventType) (n int) {
	for _, e := range k.events() {
		if e.Type == t {
			n++
		}
	}
	return n
}

func (k *stage) spent() (s budget.State) {
	k.read(func(q *store.Snapshot) error {
		var err error
		s, err = budget.Read(q, testRun, budget.Root)
		return err
	})
	return s
}

func (k *stage) file(name string) string {
	b, err := os.ReadFile(filepath.Join(k.state, "runs", string(testRun), "work", "main", name))
	if errors.Is(err, os.ErrNotExist) {
		return "(none)"
	}
	must(k.t, err)
	return string(b)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// player is a model that says its lines: an llm.Answer, an error, or a
// function of the request. Which line is next is read off the conversation, so
// that a request that is made again gets the same answer.
type player struct {
	mu   sync.Mutex
	say  []any
	seen [][]byte // every request
	msgs [][]llm.Message
	hook func(n int)
}

func (p *player) Ask(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		p.mu.Lock()
		p.seen = append(p.seen, llm.Encode(req))
		p.msgs = append(p.msgs, append([]llm.Message(nil), req.Messages...))
		n := len(p.seen)
		turn := 0
		for _, m := range req.Messages {
			if m.Role == llm.Assistant {
				turn++
			}
		}
		var line any = errors.New("the script has no line " + fmt.Sprint(turn))
		if turn < len(p.say) {
			line = p.say[turn]
		}
		p.mu.Unlock()
		if p.hook != nil {
			p.hook(n)
		}
		if f, ok := line.(func(context.Context, llm.Request) any); ok {
			line = f(ctx, req)
		}
		switch l := line.(type) {
		case error:
			yield(nil, l)
		case llm.Answer:
			if yield(llm.Counted{}, nil) {
				yield(llm.Done{Answer: l}, nil)
			}
		}
	}
}

// calls makes an answer of tool calls: pairs of name and arguments.
func calls(pairs ...string) llm.Answer {
	m := llm.Message{Role: llm.Assistant, Blocks: []llm.Block{llm.Text{Text: "next"}}}
	for i := 0; i < len(pairs); i += 2 {
		m.Blocks = append(m.Blocks, llm.ToolUse{ID: fmt.Sprintf("id-%s-%d", pairs[0], i), Name: pairs[i], Args: json.RawMessage(pairs[i+1])})
	}
	return llm.Answer{Message: m, Stop: llm.StopToolUse, Usage: agency.Usage{In: 1000, Cached: 500, Out: 50}, CacheKnown: true}
}

func says(s string) llm.Answer {
	return llm.Answer{
		Message: llm.Message{Role: llm.Assistant, Blocks: []llm.Block{llm.Text{Text: s}}},
		Stop:    llm.StopEndTurn, Usage: agency.Usage{In: 1000, Out: 10},
	}
}

func stop(r llm.StopReason) llm.Answer {
	return llm.Answer{Message: llm.Message{Role: llm.Assistant}, Stop: r, Usage: agency.Usage{In: 1000, Out: 1}}
}

var complete = calls("signal_complete", `{"evidence":[{"criterion":"goal","kind":"file","ref":"main.txt"}],"files_modified":["main.txt"]}`)

// checkRequests asserts what a provider demands: each request is valid, and a
// byte prefix of the next but where one was made again.
func checkRequests(t testing.TB, p *player) {
	t.Helper()
	for i, msgs := range p.msgs {
		open := map[string]bool{}
		for n, m := range msgs {
			results := 0
			for _, b := range m.Blocks {
				switch b := b.(type) {
				case llm.ToolUse:
					open[b.ID] = true
				case llm.ToolResult:
					if !open[b.ID] {
						t.Errorf("request %d, message %d: result of unknown call %s", i, n, b.ID)
					}
					delete(open, b.ID)
					results++
				}
			}
			if m.Role == llm.User && len(open) > 0 {
				t.Errorf("request %d, message %d: calls without result: %v", i, n, open)
			}
			if len(m.Blocks) == 0 {
				t.Errorf("request %d, message %d is empty", i, n)
			}
		}
		if i > 0 && !bytes.HasPrefix(p.seen[i], p.seen[i-1]) {
			t.Errorf("request %d is no continuation of the one before:\n%s\n%s", i, p.seen[i-1], p.seen[i])
		}
	}
}

// within fails a test that hangs.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func withScope(t testing.TB, k *stage) context.Context {
	return flow.WithScope(t.Context(), flow.Scope{Run: testRun, Fence: k.fence})
}

func toolNamed(name string) tool.Tool {
	all := toolset.All()
	return all[slices.IndexFunc(all, func(t tool.Tool) bool { return t.Name == name })]
}

// toolEnv is what a call may reach of a toolset alone.
func (k *stage) toolEnv(tools *session.Toolset) *tool.Env {
	return (&session.Effects{Member: &session.Member{DB: k.db}, Tools: tools, Notes: &session.Notes{}}).Env(0)
}
