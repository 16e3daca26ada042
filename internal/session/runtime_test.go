package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/board/state"
	"agency/internal/budget"
	"agency/internal/check"
	"agency/internal/event"
	"agency/internal/flow"
	"agency/internal/git"
	"agency/internal/git/gittest"
	"agency/internal/lease"
	"agency/internal/llm"
	"agency/internal/registry"
	"agency/internal/roster"
	"agency/internal/sandbox"
	"agency/internal/session"
	"agency/internal/session/briefing"
	"agency/internal/session/record"
	"agency/internal/store"
	"agency/internal/store/storetest"
	"agency/internal/verdicts"
	"agency/internal/workspace"
)

func TestMain(m *testing.M) {
	sandbox.Child()
	os.Exit(m.Run())
}

// agent is a coding agent of others, one process a part: it reads what it is told on
// standard input, edits the checkout, keeps at its home by what it goes on, and says
// what it wants done as JSON lines.
const agent = `
told=$(cat)
if [ -f "$HOME/asked" ]; then
	echo "$told" > main.txt
	echo '{"say":"done"}'
	echo '{"tool":"signal_complete","args":{"outputs":"as asked","evidence":[{"criterion":"goal","kind":"file","ref":"main.txt"}]},"in":700,"out":20}'
	exit
fi
case $told in *"MIND THE GAP"*);; *) exit 3;; esac
case $told in *"make it two"*);; *) exit 4;; esac
echo "$told" > "$HOME/asked"
echo '{"tool":"request_human_input","args":{"question":"Which two?"},"in":900,"out":30}'
`

// line is what the agent says at a time.
type line struct {
	Say, Tool string
	Args      json.RawMessage
	In, Out   int64
}

// lines takes what a process says apart as it comes.
type lines struct {
	rest []byte
	all  []line
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		doc, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		var said line
		if err := json.Unmarshal(doc, &said); err != nil {
			return 0, err
		}
		l.rest, l.all = rest, append(l.all, said)
	}
}

// cli is the runtime of such agents. It knows nothing of package native.
type cli struct {
	host session.Host
	argv []string
}

// asked is the document that it goes on by: the tool call that waits.
type asked struct{ Turn int }

func (r cli) Run(ctx context.Context, p *session.Part) (out session.Outcome, err error) {
	var row record.Session
	var ended *session.Outcome
	var begun bool
	err = p.DB.Read(ctx, func(q *store.Snapshot) (err error) {
		row, ended, begun, err = record.Resume(q, p.Spec)
		return err
	})
	switch {
	case err != nil:
		return out, err
	case ended != nil:
		return *ended, nil
	}
	state := asked{}
	if begun {
		if err := json.Unmarshal(row.State, &state); err != nil {
			return out, err
		}
	}
	state.Turn++
	tools, err := r.host.Toolset(ctx, p.Spec)
	if err != nil {
		return out, err
	}
	defer func() { _ = tools.Files.Close() }()
	role, err := roster.Find(p.Spec.Role)
	if err != nil {
		return out, err
	}
	var told string
	var facts *briefing.Facts
	b := briefing.Briefing{Part: p, Role: role, Tools: tools, MailRoom: 8 << 10}
	if begun {
		facts, err = b.Facts(ctx)
		told = p.Spec.Answer.Text
	} else {
		var said llm.Message
		said, facts, _, err = b.Begin(ctx, 64<<10)
		told = said.Words()
	}
	if err != nil {
		return out, err
	}
	return r.part(ctx, p, &state, begun, &session.Effects{
		Member: p.Member, Mail: p.Mail, Tools: tools, Rules: p.Setup.Rules, N: state.Turn, Criteria: facts.Contract.AcceptanceCriteria, Notes: &session.Notes{},
	}, b, told)
}

// part runs the process of a part, and what it wants done.
func (r cli) part(ctx context.Context, p *session.Part, state *asked, begun bool, e *session.Effects, b briefing.Briefing, told string) (out session.Outcome, err error) {
	id, turn := p.Spec.ID(), record.Turn{N: state.Turn, Try: 1}
	key := fmt.Sprintf("%s/part-%d", id, p.Spec.Part)
	var news session.News
	err = p.Write(ctx, func(tx *store.Tx) (err error) {
		if !begun {
			if err := record.Begin(tx, p, record.Session{Model: "cli/any"}); err != nil {
				return err
			}
		}
		if news, err = p.Mail.Take(tx, b.MailRoom, p.Presence.Told()); err != nil {
			return err
		}
		return do(
			func() error { return p.Presence.Join(tx) },
			func() error { _, err := p.Account.Reserve(tx, key, "cli/any", 1000, 500, 500); return err },
			func() error { return record.AskTurn(tx, id, turn) },
		)
	})
	if err != nil {
		return out, err
	}
	p.Presence.Joined()
	said := &lines{}
	res, err := e.Tools.Process(ctx, session.Process{
		Argv: r.argv, Stdin: []byte(told + news.Text), Stdout: said, Timeout: p.Setup.Limits.Timeout(),
	})
	switch {
	case err != nil:
		return out, err
	case res.StdoutErr != nil:
		return out, res.StdoutErr
	case res.ExitCode != 0:
		e.End = session.Unfinished(session.CauseNoEnding, string(res.Output), "")
	}
	for i, l := range said.all {
		turn.Usage.In, turn.Usage.Out = turn.Usage.In+l.In, turn.Usage.Out+l.Out
		for _, t := range session.Offered(b.Role, p.Spec.Phase(), roster.Present{}) {
			if t.Name == l.Tool {
				e.Calls = append(e.Calls, session.Call{Index: i, Tool: t, Use: llm.ToolUse{ID: l.Tool, Name: l.Tool, Args: l.Args}})
			}
		}
	}
	if err := e.Gather(ctx); err != nil {
		return out, err
	}
	for i := range e.Calls {
		if err := errors.Join(e.Run(ctx, &e.Calls[i]), e.Apply(ctx, &e.Calls[i])); err != nil {
			return out, err
		}
	}
	if e.End == nil {
		detail := ""
		if n := len(e.Calls); n > 0 {
			detail = e.Calls[n-1].Result.Text
		}
		e.End = session.Unfinished(session.CauseNoEnding, detail, e.Tree)
	}
	doc, err := json.Marshal(state)
	if err != nil {
		return out, err
	}
	return out, p.Write(ctx, func(tx *store.Tx) (err error) {
		if out, err = record.End(tx, p, *e.End); err != nil {
			return err
		}
		return do(
			func() error {
				return budget.Settle(tx, p.Spec.Run, key, budget.Bill{Model: "cli/any", Usage: turn.Usage}, res.Duration)
			},
			func() error { return record.AnswerTurn(tx, id, turn) },
			func() error { return record.SettleTurn(tx, id, turn.N) },
			func() error { return p.Presence.Report(tx, turn.Usage, e.Calls) },
			func() error { return p.Mail.Processed(tx, news.IDs) },
			func() error { return record.Save(tx, id, doc, 1, p.Spec.Part) },
		)
	})
}

func do(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// desk is a host whose configuration names a runtime; store, repository and sandbox
// are real.
type desk struct {
	session.Host
	runtime string
	db      *store.DB
	repo    *gittest.Repo
	run     *workspace.Run
	runner  *sandbox.Runner
	state   string
	fence   agency.Fence
}

func (d *desk) Setup(context.Context, session.Spec) (session.Setup, error) {
	role, err := roster.Find(agency.RoleGeneralist)
	return session.Setup{
		Runtime: d.runtime, Repo: d.repo.Dir, Limits: role.Limits,
		Prices: func(_, _ string) (agency.Price, bool) { return agency.Price{}, false },
	}, err
}

func (d *desk) Cancelled(agency.RunID) context.Context { return context.Background() }

func (d *desk) Toolset(ctx context.Context, s session.Spec) (*session.Toolset, error) {
	w, err := d.run.Prepare(ctx, string(s.Contract), d.repo.Rev("HEAD"), workspace.Work)
	if err != nil {
		return nil, err
	}
	layers := filepath.Join(d.state, "cache")
	return session.NewToolset(session.ToolsetOptions{
		Workspace: w, LayerDir: filepath.Join(layers, "agents"), Repo: d.repo.Dir, Spec: s, Fence: d.fence,
		Checker: check.New(check.Options{Runner: d.runner, DB: d.db, LayerDir: layers}),
	})
}

const theRun agency.RunID = "run-1"

// open makes a run with one contract.
func open(t *testing.T) *desk {
	t.Helper()
	ctx := t.Context()
	d := &desk{runtime: "cli", repo: gittest.Init(t), state: t.TempDir()}
	gittest.WriteFiles(t, d.repo.Dir, "main.txt", "one\n")
	d.repo.Commit("start")
	var err error
	if d.runner, err = sandbox.New(sandbox.Options{StateDir: d.state}); err != nil {
		t.Skip("needs the sandbox: ", err)
	}
	d.db = storetest.Open(t, store.Options{Path: filepath.Join(d.state, "agency.db"), Sets: []store.Set{
		event.Migrations(), lease.Migrations(), registry.Migrations(), budget.Migrations(), board.Migrations(), state.Migrations(),
		workspace.Migrations(), check.Migrations(), verdicts.Migrations(), record.Migrations(),
	}})
	epoch, err := d.db.RaiseEpoch(ctx)
	must(t, err)
	d.fence = agency.Fence{Epoch: epoch, N: 1}
	must(t, d.db.WriteFenced(ctx, d.fence, func(tx *store.Tx) error {
		return do(
			func() error {
				return registry.CreateRun(tx, agency.Run{ID: theRun, Goal: "g", Mode: agency.ModeSingle, State: agency.StateRunning}, json.RawMessage(`{}`))
			},
			func() error {
				return registry.CreateContract(tx, agency.Contract{
					ID: "main", RunID: theRun, AssignedRole: agency.RoleGeneralist, Title: "make it two", Description: "make it two",
					AcceptanceCriteria: []agency.Criterion{{ID: "goal", Text: "it is two"}}, RetryBudget: 3,
				})
			},
			func() error { return budget.Open(tx, theRun, budget.Root, "", budget.Limits{}) },
			func() error {
				return board.Join(tx, board.Agent{Run: theRun, ID: "generalist", Role: agency.RoleGeneralist})
			},
			func() error {
				return board.Send(tx, agency.Message{ID: "m1", RunID: theRun, From: agency.FromHuman, To: "generalist", Type: agency.MessageNote, Body: "MIND THE GAP"})
			},
		)
	}))
	program, err := git.NewProgram(ctx, git.Options{Getenv: func(key string) string { return map[string]string{"HOME": d.state}[key] }})
	must(t, err)
	loc, err := git.Find(d.repo.Dir)
	must(t, err)
	m := workspace.New(workspace.Options{Git: program, DB: d.db, ObjectsAt: d.runner.ObjectsAt})
	d.run, err = m.OpenRun(ctx, workspace.RunInfo{Run: theRun, Repo: loc, Base: d.repo.Rev("HEAD"), StateDir: d.state})
	must(t, err)
	return d
}

// A coding agent of others works on a contract, in the sandbox of its checkout: it
// reads its briefing and its mail, asks, goes on in another process by what it
// kept, edits a file, and claims. People see it as they see every session.
func TestOtherRuntime(t *testing.T) {
	d := open(t)
	ctx := flow.WithScope(t.Context(), flow.Scope{Run: theRun, Fence: d.fence})
	options := session.Options{DB: d.db, Host: d, Runtimes: map[string]session.Runtime{"cli": cli{d, []string{"/bin/sh", "-c", agent}}}}
	spec := session.Spec{Run: theRun, Contract: "main", Attempt: 1, Part: 1, Role: agency.RoleGeneralist, Agent: "generalist"}
	out, err := session.Do(options)(ctx, "", spec)
	must(t, err)
	if out.Kind != session.Parked || out.For != session.ForHuman || out.Question != "Which two?" {
		t.Fatalf("the first part ended as %+v", out)
	}
	spec.Part, spec.Answer = 2, &session.Answer{ToolUse: out.ToolUse, Text: "two of each"}
	for range 2 { // the second time it has ended before
		out, err = session.Do(options)(ctx, "", spec)
		must(t, err)
		if out.Kind != session.Claimed || out.Claim.Summary != "as asked" || out.Claim.Tree == "" || out.Claim.Tree != out.Tree {
			t.Fatalf("the second part ended as %+v", out)
		}
	}
	tools, err := d.Toolset(ctx, spec)
	must(t, err)
	defer func() { _ = tools.Files.Close() }()
	if text, err := tools.Files.Text("main.txt"); err != nil || text != "two of each\n" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	must(t, d.db.Read(ctx, func(q *store.Snapshot) error {
		infos, err := record.Sessions(q, spec.Run)
		must(t, err)
		if len(infos) != 1 || infos[0].Outcome != "claimed" || infos[0].Turns != 2 {
			t.Errorf("people see %+v", infos)
		}
		spent, err := budget.Read(q, spec.Run, budget.Root)
		must(t, err)
		if spent.Tokens != 1650 || spent.Reserved != 0 {
			t.Errorf("the run has spent %+v", spent)
		}
		agents, err := board.Live(q, spec.Run)
		must(t, err)
		if len(agents) != 1 || agents[0].Status != board.AgentWaiting || agents[0].LastTool != "signal_complete" {
			t.Errorf("the board shows %+v", agents)
		}
		return nil
	}))
}

// A session's home is its own: another session's process does not see it.
func TestHomeOfASession(t *testing.T) {
	d := open(t)
	spec := session.Spec{Run: theRun, Contract: "main", Attempt: 1, Part: 1, Role: agency.RoleGeneralist, Agent: "generalist"}
	run := func(attempt int, script string) string {
		spec.Attempt = attempt
		tools, err := d.Toolset(t.Context(), spec)
		must(t, err)
		defer func() { _ = tools.Files.Close() }()
		res, err := tools.Process(t.Context(), session.Process{Argv: []string{"/bin/sh", "-c", script}, Env: []string{"WHO=me"}})
		must(t, err)
		return strings.TrimSpace(string(res.Output))
	}
	home := run(1, `echo "$WHO" > "$HOME/f"; echo "$HOME"`)
	if got := run(1, `cat "$HOME/f"`); got != "me" {
		t.Errorf("the same session finds %q", got)
	}
	if got := run(2, `cat "$HOME/f" `+home+`/f 2>&1; ls -A "$HOME"`); slices.Contains(strings.Fields(got), "me") {
		t.Errorf("another session finds %q", got)
	}
}

// What the configuration names and nobody has is refused.
func TestUnknownRuntime(t *testing.T) {
	spec := session.Spec{Run: theRun, Contract: "main", Attempt: 1, Part: 1, Role: agency.RoleGeneralist, Agent: "generalist"}
	_, err := session.Do(session.Options{Host: &desk{runtime: "claude", repo: &gittest.Repo{}}})(t.Context(), "", spec)
	if agency.KindOf(err) != agency.KindInvalid {
		t.Errorf("a runtime that nobody has: %v", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
