package session_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/budget"
	"agency/internal/event"
	"agency/internal/flow"
	"agency/internal/lease"
	"agency/internal/llm"
	"agency/internal/registry"
	"agency/internal/roster"
	"agency/internal/session"
	"agency/internal/session/record"
	"agency/internal/store"
	"agency/internal/store/storetest"
)

// other is a runtime that is not native: its agent reads its mail and gives up.
type other struct{ read string }

// unpriced knows no price of any model.
func unpriced(_, _ string) (agency.Price, bool) { return agency.Price{}, false }

func (r *other) Run(ctx context.Context, p *session.Part) (session.Outcome, error) {
	spec := p.Spec
	role, err := roster.Find(spec.Role)
	if err != nil {
		return session.Outcome{}, err
	}
	id, turn := spec.ID(), record.Turn{N: 1, Try: 1}
	var shown []agency.MessageID
	err = p.Write(ctx, func(tx *store.Tx) (err error) {
		if r.read, shown, err = p.Mail.Take(tx, 1000); err != nil {
			return err
		}
		return do(
			func() error {
				return record.Create(tx, record.Session{ID: id, Run: spec.Run, Contract: spec.Contract, Attempt: spec.Attempt, Role: spec.Role, Agent: spec.Agent, Model: "cli/any"})
			},
			func() error { return p.Account.Open(tx, "") },
			func() error { return p.Presence.Join(tx) },
			func() error { return p.Account.Reserve(tx, "request-1", "cli/any", 1000, 500) },
			func() error { return record.AskTurn(tx, id, turn) },
		)
	})
	if err != nil {
		return session.Outcome{}, err
	}
	p.Presence.Joined()
	e := &session.Effects{Member: p.Member, Mail: p.Mail, Tools: &session.Toolset{}, N: 1, Notes: &session.Notes{}, Tree: "tree"}
	for _, t := range session.Offered(role, spec.Phase(), false) {
		if t.Name == "signal_blocked" {
			e.Calls = []session.Call{{Tool: t, Use: llm.ToolUse{ID: "1", Name: t.Name, Args: json.RawMessage(`{"reason":"no compiler","attempted":"looked for one"}`)}}}
		}
	}
	k := &e.Calls[0]
	err = do(func() error { return e.Gather(ctx) }, func() error { return e.Run(ctx, k) }, func() error { return e.Apply(ctx, k) })
	if err != nil {
		return session.Outcome{}, err
	}
	turn.Usage = agency.Usage{In: 700, Out: 20}
	doc, err := json.Marshal(e.End)
	if err != nil {
		return session.Outcome{}, err
	}
	return *e.End, p.Write(ctx, func(tx *store.Tx) error {
		return do(
			func() error {
				return budget.Settle(tx, p.Spec.Run, "request-1", budget.Bill{Model: "cli/any", Usage: turn.Usage}, 0)
			},
			func() error { return record.AnswerTurn(tx, id, turn) },
			func() error { return record.SettleTurn(tx, id, 1) },
			func() error { return p.Presence.Report(tx, turn.Usage, e.Calls) },
			func() error { return p.Mail.Processed(tx, shown) },
			func() error { return p.Presence.Leave(tx, *e.End) },
			func() error { return record.EndPart(tx, id, spec.Part, doc) },
			func() error { return record.Save(tx, id, []byte("{}"), 1, spec.Part) },
			func() error { return p.LogEnd(tx, *e.End) },
		)
	})
}

// desk is a host whose configuration names a runtime.
type desk struct {
	session.Host
	runtime string
}

func (d desk) Setup(context.Context, session.Spec) (session.Setup, error) {
	return session.Setup{Runtime: d.runtime, Prices: unpriced}, nil
}

func (d desk) Cancelled(agency.RunID) <-chan struct{} { return nil }

func do(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// A runtime that knows nothing of package native runs a session of the run:
// with mail, a reservation, an effect that ends it, and what people see.
func TestOtherRuntime(t *testing.T) {
	ctx := t.Context()
	db := storetest.Open(t, store.Options{Path: filepath.Join(t.TempDir(), "agency.db"), Sets: []store.Set{
		event.Migrations(), lease.Migrations(), registry.Migrations(), budget.Migrations(), board.Migrations(), record.Migrations(),
	}})
	epoch, err := db.RaiseEpoch(ctx)
	must(t, err)
	r, fence := &other{}, agency.Fence{Epoch: epoch, N: 1}
	spec := session.Spec{Run: "run-1", Contract: "main", Attempt: 1, Part: 1, Role: agency.RoleGeneralist, Agent: "generalist"}
	must(t, db.WriteFenced(ctx, fence, func(tx *store.Tx) error {
		return do(
			func() error {
				return registry.CreateRun(tx, agency.Run{ID: spec.Run, Goal: "g", Mode: agency.ModeSingle, State: agency.StateRunning}, json.RawMessage(`{}`))
			},
			func() error { return budget.Open(tx, spec.Run, budget.Root, "", budget.Limits{}) },
			func() error {
				return board.Join(tx, board.Agent{Run: spec.Run, ID: spec.Agent, Role: spec.Role})
			},
			func() error {
				return board.Send(tx, agency.Message{ID: "m1", RunID: spec.Run, From: agency.FromHuman, To: string(spec.Agent), Type: agency.MessageNote, Body: "MIND THE GAP"})
			},
		)
	}))
	ctx = flow.WithScope(ctx, flow.Scope{Run: spec.Run, Fence: fence})
	options := session.Options{DB: db, Host: desk{runtime: "other"}, Runtimes: map[string]session.Runtime{"other": r}}
	out, err := session.Do(options)(ctx, "", spec)
	must(t, err)
	if out.Kind != session.Blocked || out.Reason != "no compiler" {
		t.Errorf("the outcome is %+v", out)
	}
	if r.read == "" {
		t.Error("the mail was not read")
	}
	options.Host = desk{runtime: "claude"}
	if _, err := session.Do(options)(ctx, "", spec); agency.KindOf(err) != agency.KindInvalid {
		t.Errorf("a runtime that nobody has: %v", err)
	}
	must(t, db.Read(ctx, func(q *store.Snapshot) error {
		infos, err := record.Sessions(q, spec.Run)
		must(t, err)
		if len(infos) != 1 || infos[0].Outcome != "blocked" || infos[0].Turns != 1 {
			t.Errorf("people see %+v", infos)
		}
		spent, err := budget.Read(q, spec.Run, budget.Root)
		must(t, err)
		if spent.Tokens != 720 || spent.Reserved != 0 {
			t.Errorf("the run has spent %+v", spent)
		}
		agents, err := board.Live(q, spec.Run)
		must(t, err)
		if len(agents) != 1 || agents[0].Status != board.AgentBlocked || agents[0].LastTool != "signal_blocked" {
			t.Errorf("the board shows %+v", agents)
		}
		return nil
	}))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
