package daemon

import (
	"context"
	"errors"
	"path/filepath"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/budget"
	"agency/internal/check"
	"agency/internal/code"
	"agency/internal/config"
	"agency/internal/deps"
	"agency/internal/event"
	"agency/internal/flow"
	"agency/internal/flow/local"
	"agency/internal/git"
	"agency/internal/host"
	"agency/internal/host/view"
	"agency/internal/host/workshop"
	"agency/internal/land"
	"agency/internal/lease"
	"agency/internal/llm/catalog"
	"agency/internal/mode"
	"agency/internal/registry"
	"agency/internal/roster"
	"agency/internal/schedule"
	"agency/internal/session"
	"agency/internal/store"
	"agency/internal/verify"
	"agency/internal/workspace"
)

// Migrations are the schemas of all packages that keep rows, in the order of
// their dependencies.
func Migrations() []store.Set {
	return []store.Set{
		event.Migrations(), lease.Migrations(), local.Migrations(), registry.Migrations(), budget.Migrations(), board.Migrations(),
		workspace.Migrations(), check.Migrations(), verify.Migrations(), session.Migrations(), land.Migrations(),
	}
}

// keptBack is the room in bytes that is kept for a full disk: enough for a
// model's longest answer, the gate at which the run stops and what a person
// says to it.
const keptBack = 1 << 20

// parts is everything that one host is put together from.
type parts struct {
	db     *store.DB
	events *event.Log
	board  *board.Board
	host   *host.Host
	vault  *host.Vault
	view   *view.Reader
	syntax *code.Engine
}

// assemble opens the store, takes it over from an earlier host, and builds and
// binds what runs need. Nothing runs yet.
func assemble(ctx context.Context, o Options) (*parts, error) {
	g, err := git.NewHost(ctx, git.Options{Getenv: func(name string) string { v, _ := o.Getenv(name); return v }})
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
	vault := host.NewVault(o.Place.Repo.WorkTree, o.Place.Repo.CommonDir)
	db.SetRedact(vault.Redact)
	p := &parts{
		db: db, events: event.NewLog(db), vault: vault,
		syntax: code.New(code.Options{CacheDir: filepath.Join(o.Place.State, "syntax")}),
	}
	shop := workshop.New(workshop.Options{
		DB: db, Git: g, Vault: vault, Catalog: known, Repo: o.Place.Repo, StateDir: o.Place.State, Log: o.Log,
	})
	p.board, err = board.Open(ctx, db, board.Options{MaySend: roster.MaySend, Role: isRole, Events: p.events, Answered: answered})
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	engine := local.New(local.Options{DB: db, Registry: p.bind(fence, shop), Version: o.Build.Version, Now: o.Now})
	p.view = view.New(view.Options{
		DB: db, Events: p.events, Live: func(id agency.RunID) bool { return p.host.Live(id) },
		Held: func(id agency.RunID) error { return p.host.Held(id) },
		Following: func(ctx context.Context, id agency.RunID) (context.Context, context.CancelFunc) {
			return p.host.Following(ctx, id)
		},
		Git: func(context.Context) (*git.Host, error) { return g, nil }, Repo: o.Place.Repo, StateDir: o.Place.State, Price: priceOf(known),
	})
	p.host = host.New(host.Options{
		DB: db, Events: p.events, Board: p.board, Engine: engine, Fence: fence, Shop: shop, Docs: p.view, Vault: vault,
		Version: o.Build.Version, Now: o.Now, After: o.After, Log: o.Log,
	})
	shop.SetCancelled(p.host.Cancelled)
	return p, nil
}

// bind says who carries out which step. This list is the whole of it.
func (p *parts) bind(fence agency.Fence, shop *workshop.Shop) *flow.Registry {
	reg, db, mail := flow.NewRegistry(), p.db, p.board
	verifier := verify.New(verify.Options{DB: db, Workspaces: shop.Spaces(), Checker: shop.Checker, Syntax: p.syntax, AtWork: budget.Work})
	verify.Bind(reg, verifier)
	deps.Bind(reg, deps.New(deps.Options{Workspaces: shop.Spaces(), Checker: shop.Checker, Grant: shop.Grant}))
	flow.Bind(reg, session.Activity, session.New(session.Options{DB: db, Host: shop, Mail: mail}).Do)
	suite := &workshop.Landing{Shop: shop, Verify: verifier}
	lands := land.Options{DB: db, Runs: shop.Spaces(), Verifier: suite, Took: suite.Took, BatchAbove: shop.BatchAbove, Fence: fence}
	target := land.NewTarget(lands)
	land.Bind(reg, land.NewQueue(lands), target)
	shop.SetRecover(target.Recover)
	mode.NewSteps(db, fence, shop, shop, shop, shop).Bind(reg)
	schedule.Bind(reg, sender{db, fence})
	return reg
}

func (p *parts) close() error {
	var mail error
	if p.board != nil {
		mail = p.board.Close()
	}
	return errors.Join(mail, p.events.Close(), p.syntax.Close(), p.db.Close())
}

// isRole tells whether there is such a role to write to.
func isRole(id agency.RoleID) bool {
	_, err := roster.Find(id)
	return err == nil
}

// answered wakes the run whose agent waits for a reply, in the reply's own
// transaction.
func answered(tx *store.Tx, reply agency.Message) error {
	return local.SendTo(tx, reply.RunID, mode.ReplySignal(reply.InReplyTo), string(reply.ID), flow.None{})
}

// priceOf is what a model costs, by a configuration and the catalogue.
func priceOf(known *catalog.Catalog) func(config.Config, config.ModelRef) *agency.Price {
	return func(c config.Config, ref config.ModelRef) *agency.Price {
		price, _ := workshop.Known(known, c, ref)
		return price
	}
}

// sender puts a run's signals to itself into the engine's inbox.
type sender struct {
	db    *store.DB
	fence agency.Fence
}

func (s sender) Signal(ctx context.Context, run agency.RunID, name, id string, payload []byte) error {
	return s.db.WriteFenced(ctx, s.fence, func(tx *store.Tx) error { return local.Send(tx, run, name, id, payload) })
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
		DB: db, Repo: p.Repo, StateDir: p.State, Price: priceOf(known),
		Git: func(ctx context.Context) (*git.Host, error) { return git.NewHost(ctx, git.Options{}) },
	})
	return r, db.Close, nil
}
