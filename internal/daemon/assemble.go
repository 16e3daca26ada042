package daemon

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/board/state"
	"agency/internal/budget"
	"agency/internal/budget/allowance"
	"agency/internal/check"
	"agency/internal/code"
	"agency/internal/code/gotypes"
	"agency/internal/codebase"
	"agency/internal/config"
	"agency/internal/contractrun"
	"agency/internal/deps"
	"agency/internal/effects"
	"agency/internal/effects/tierlog"
	"agency/internal/event"
	"agency/internal/flow"
	"agency/internal/flow/local"
	"agency/internal/flow/outbox"
	"agency/internal/git"
	"agency/internal/host"
	"agency/internal/host/announce"
	"agency/internal/host/resources"
	"agency/internal/host/view"
	"agency/internal/land"
	"agency/internal/lease"
	"agency/internal/llm/catalog"
	"agency/internal/notify"
	"agency/internal/registry"
	"agency/internal/roster"
	"agency/internal/schedule"
	"agency/internal/session"
	"agency/internal/session/native"
	"agency/internal/session/oversight"
	"agency/internal/session/record"
	"agency/internal/slots"
	"agency/internal/store"
	"agency/internal/store/fulltext"
	"agency/internal/stream"
	"agency/internal/verdicts"
	"agency/internal/verify"
	"agency/internal/workspace"
)

// Migrations are the schemas of all packages that keep rows, in the order of
// their dependencies.
func Migrations() []store.Set {
	return []store.Set{
		event.Migrations(), lease.Migrations(), local.Migrations(), outbox.Migrations(), registry.Migrations(), budget.Migrations(),
		board.Migrations(), state.Migrations(),
		announce.Migrations(), workspace.Migrations(), check.Migrations(), verdicts.Migrations(), record.Migrations(), land.Migrations(),
	}
}

// keptBack is the room in bytes that is kept for a full disk: enough for a
// model's longest answer, the gate at which the run stops and what a person
// says to it.
const keptBack = 1 << 20

// parts is everything that one host is put together from.
type parts struct {
	db      *store.DB
	events  *event.Log
	board   *board.Board
	host    *host.Host
	live    *host.Live
	secrets *host.Secrets
	view    *view.Reader
	syntax  *code.Engine
	code    *codebase.Engine
	runs    *resources.Runs
	merges  *land.Target
	bell    *budget.Bell
	tells   *announce.Announcer
	stream  *stream.Hub
	above   *allowance.Ledger // nil: no limit across runs counts here
}

// assemble opens the store, takes it over from an earlier host, and builds and
// binds what runs need. Nothing runs yet.
func assemble(ctx context.Context, o Options) (*parts, error) {
	g, err := git.NewProgram(ctx, git.Options{Getenv: func(name string) string { v, _ := o.Getenv(name); return v }})
	if err != nil {
		return nil, err
	}
	known, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, store.Options{Path: o.Place.DB(), Sets: Migrations(), Reserve: keptBack, LongLog: true, Now: o.Now})
	if err != nil {
		return nil, err
	}
	epoch, err := db.RaiseEpoch(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	fence := agency.Fence{Epoch: epoch}
	secrets := host.NewSecrets(o.Place.Repo.WorkTree, o.Place.Repo.CommonDir)
	db.SetRedact(secrets.Redact)
	syntax := code.New(code.Options{CacheDir: filepath.Join(o.Place.State, "syntax")})
	symbols := codebase.New(syntax, func() gotypes.Place {
		return gotypes.FindPlace(func(name string) string { v, _ := o.Getenv(name); return v })
	}, fulltext.New(filepath.Join(o.Place.State, "search.db")))
	live := host.NewLive()
	p := &parts{
		code: symbols,
		db:   db, events: event.NewLog(db), live: live, secrets: secrets, syntax: syntax,
		runs: resources.New(resources.Options{
			Code: symbols, DB: db, Git: g, Repo: o.Place.Repo, StateDir: o.Place.State, Slots: slots.Folder(o.Place.Root), Agents: filepath.Join(filepath.Dir(o.Place.Config), "agents"), Hidden: o.Place.Own, Copies: live.Copies, Log: o.Log,
		}),
	}
	p.bell, p.stream = budget.NewBell(db), stream.New(secrets.Redactor, time.Now)
	p.above = ledger(o, db, epoch, p.bell.Ring)
	if err := p.refresh(ctx); err != nil { // whoever starts a run hears it, too
		o.Log.Error("limits across runs", "error", err)
	}
	p.board, err = board.Open(ctx, db, board.Options{
		MaySend: roster.MaySend, Role: isRole, Timed: []board.Timed{state.Timed()}, Answered: answered,
	})
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	activities := flow.NewRegistry()
	engine := local.New(local.Options{DB: db, Fence: fence, Registry: activities, Version: o.Build.Version, Now: o.Now})
	verifier := verify.New(verify.Options{DB: p.db, Workspaces: p.runs.Workspaces(), Checker: p.runs.Checker, Quality: p.runs.Quality, Syntax: p.syntax, AtWork: budget.Work})
	sessions := &resources.Sessions{Runs: p.runs, Models: resources.NewModels(p.runs, known, secrets), Live: p.live, Verify: verifier}
	p.bind(activities, engine, fence, sessions)
	p.view = view.New(view.Options{
		DB: db, Events: p.events, Stream: p.stream, Live: p.live, Git: func(context.Context) (*git.Program, error) { return g, nil },
		Repo: o.Place.Repo, StateDir: o.Place.State, Price: priceOf(known), Staff: staffOf(known),
	})
	clock := host.Clock{Now: o.Now, After: o.After}
	self, err := SelfPath()
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	p.tells = announce.New(announce.Options{
		DB: db, Fence: fence, Events: p.events, Secrets: secrets, Sender: notify.Sender{Self: self}, Repo: filepath.Base(o.Place.Repo.WorkTree), Clock: clock, Log: o.Log,
	})
	secrets.OnPut(p.tells.Ring)
	p.host = host.New(host.Options{
		DB: db, Fence: fence, Events: p.events, Board: p.board, Engine: engine, Live: p.live, Docs: p.view,
		Starter: host.Starter{Preparer: &resources.Preparer{Runs: p.runs, Known: known}, Secrets: secrets, Settings: o.Settings, Version: o.Build.Version},
		Means:   means{p, sessions},
		Cleaner: &resources.Cleaner{Runs: p.runs, Merges: p.merges.Recover}, Clock: clock, Log: o.Log,
	})
	return p, nil
}

// bind says who carries out which step: each package binds its own activities.
func (p *parts) bind(reg *flow.Registry, engine flow.Engine, fence agency.Fence, sessions *resources.Sessions) {
	db, runs := p.db, p.runs
	landings := &resources.Landings{Runs: runs}
	verify.Bind(reg, sessions.Verify)
	deps.Bind(reg, deps.New(deps.Options{Workspaces: runs.Workspaces(), Checker: runs.Checker, Grant: runs.Grant}))
	work := session.Options{DB: db, Host: sessions, Mail: p.board, Bell: p.bell, Stream: p.stream, Runtimes: map[string]session.Runtime{
		config.RuntimeNative: native.New(native.Options{Host: sessions}),
	}}
	acts := effects.New(db, fence, landings, sessions.Models, landings, landings)
	if p.above != nil {
		work.Above, sessions.Above, acts = p.above, p.above, acts.Below(p.above)
	}
	flow.Bind(reg, session.Activity, session.Do(work))
	checks := &resources.LandingChecks{Runs: runs, Verify: sessions.Verify}
	lands := land.Options{DB: db, Runs: runs.Workspaces(), Verifier: checks, Took: checks.Took, BatchAbove: runs.BatchAbove, Fence: fence, Syntax: p.syntax}
	p.merges = land.NewTarget(lands)
	land.Bind(reg, land.NewQueue(lands), p.merges)
	acts.Bind(reg)
	tierlog.New(db, fence).Bind(reg)
	schedule.Bind(reg, engine)
}

// means is for host.Means.
type means struct {
	parts    *parts
	sessions *resources.Sessions
}

func (m means) Refresh(ctx context.Context) error { return m.parts.refresh(ctx) }

func (m means) Left(ctx context.Context) (budget.Allowance, error) {
	if m.parts.above == nil {
		return budget.Allowance{}, nil
	}
	return m.parts.above.Look(ctx)
}

func (m means) Overseer(ctx context.Context, run agency.RunID) (oversight.Staff, error) {
	staff, err := m.sessions.Overseer(ctx, run)
	if m.parts.above != nil {
		staff.Above = m.parts.above
	}
	return staff, err
}

func (m means) Announcer() host.Announcer { return m.parts.tells }

// refresh reads anew what the user allows across runs.
func (p *parts) refresh(ctx context.Context) error {
	if p.above == nil {
		return nil
	}
	return p.above.Refresh(ctx)
}

func (p *parts) close() error {
	p.runs.Close()
	var mail, above error
	if p.above != nil {
		above = p.above.Close()
	}
	p.bell.Close()
	if p.board != nil {
		mail = p.board.Close()
	}
	return errors.Join(above, mail, p.events.Close(), p.code.Close(), p.syntax.Close(), p.db.Close())
}

// isRole tells whether there is such a role to write to.
func isRole(id agency.RoleID) bool {
	_, err := roster.Find(id)
	return err == nil
}

// answered has the run woken whose agent waits for a reply.
func answered(tx *store.Tx, reply agency.Message) error {
	return outbox.Send(tx, reply.RunID, contractrun.ReplySignal(reply.InReplyTo), string(reply.ID), flow.None{})
}

// priceOf is what a model costs, by a configuration and the catalogue.
func priceOf(known *catalog.Catalog) func(config.Config, config.ModelRef) *agency.Price {
	return func(c config.Config, ref config.ModelRef) *agency.Price {
		price, _ := host.Known(known, c, ref)
		return price
	}
}

// staffOf is what the sessions of a role ask, by a configuration and the catalogue.
func staffOf(known *catalog.Catalog) func(config.Config, agency.RoleID, agency.Level) (agency.Staffing, error) {
	return func(c config.Config, role agency.RoleID, level agency.Level) (agency.Staffing, error) {
		return resources.StaffOf(known, c, role, level)
	}
}

// LookAt opens what a repository has recorded, read-only, where no host lives.
func LookAt(ctx context.Context, p Place) (*view.Reader, func() error, error) {
	db, err := store.Open(ctx, store.Options{Path: p.DB(), Sets: Migrations(), ReadOnly: true})
	if err != nil {
		return nil, nil, err
	}
	known, err := catalog.Load()
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	r := view.New(view.Options{
		DB: db, Repo: p.Repo, StateDir: p.State, Price: priceOf(known), Staff: staffOf(known),
		Git: func(ctx context.Context) (*git.Program, error) { return git.NewProgram(ctx, git.Options{}) },
	})
	return r, db.Close, nil
}
