package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/budget"
	"agency/internal/config"
	"agency/internal/daemon"
	"agency/internal/event"
	"agency/internal/git"
	"agency/internal/host"
	"agency/internal/host/view"
	"agency/internal/registry"
	hostserve "agency/internal/serve"
	"agency/internal/store"
)

// looked is what a host is to those who look: its store, log, read model and
// handlers on a unix socket, the product's own. It holds no run.
type looked struct {
	db   *store.DB
	view *view.Reader
	dir  string
	log  *event.Log
	stop context.CancelFunc
	done chan error
}

// lookedAt opens a store in a folder of its own as a host does, and serves it.
func (b *bench) lookedAt(ctx context.Context) (l *looked, err error) {
	dir, err := b.folder()
	if err != nil {
		return nil, err
	}
	l = &looked{dir: dir, done: make(chan error, 1)}
	if l.db, err = store.Open(ctx, store.Options{LongLog: true, Path: filepath.Join(dir, "agency.db"), Sets: daemon.Migrations()}); err != nil {
		return nil, err
	}
	l.log = event.NewLog(l.db)
	token := api.NewToken()
	sockets := filepath.Join(dir, "run")
	err = os.Mkdir(sockets, 0o700)
	if err == nil {
		err = token.Write(tokenIn(dir))
	}
	if err != nil {
		return nil, errors.Join(err, l.log.Close(), l.db.Close())
	}
	listen, err := hostserve.Listen(socketIn(dir))
	if err != nil {
		return nil, errors.Join(err, l.log.Close(), l.db.Close())
	}
	l.view = l.reader()
	s := hostserve.New(hostserve.Options{View: l.view, Copy: idler{}, Work: idler{}, Steer: idler{}, Lifecycle: idler{}, Token: token})
	ctx, l.stop = context.WithCancel(ctx)
	go func() { l.done <- s.Serve(ctx, listen) }() // close waits for it
	return l, nil
}

func socketIn(dir string) string { return filepath.Join(dir, "run", "host.sock") }
func tokenIn(dir string) string  { return filepath.Join(dir, "host.token") }

// reader is the read model of a host that nobody has asked yet.
func (l *looked) reader() *view.Reader {
	return view.New(view.Options{
		DB: l.db, Events: l.log, Live: host.NewLive(), StateDir: l.dir,
		Git: func(ctx context.Context) (*git.Program, error) { return nil, errors.New("there is no repository") },
	})
}

// dial is a client as a command is one.
func (l *looked) dial() *api.Client { return api.Dial(socketIn(l.dir), tokenIn(l.dir)) }

func (l *looked) close() error {
	l.stop()
	return errors.Join(<-l.done, l.log.Close(), l.db.Close())
}

// idler is a host of which nothing is asked but to look.
type idler struct {
	hostserve.Copier
	hostserve.Worker
	hostserve.Steerer
	hostserve.Lifecycle
}

func (idler) Hello() api.Hello { return api.Hello{Wire: api.Wire, PID: os.Getpid()} }
func (idler) Begin() func()    { return func() {} }

// toolEvent is the n-th event of an agent that works, as its session tells it.
func toolEvent(n int, agent agency.AgentID, contract agency.ContractID) agency.Event {
	ev := agency.NewEvent(benchRun, agency.SeverityInfo, fmt.Sprintf("read_file pkg/file%d.go", n%40), agency.ToolCalled{
		Session: agency.SessionID(string(benchRun) + "/" + string(contract) + "/attempt-1"), Turn: n + 1, Tool: "read_file", Path: fmt.Sprintf("pkg/file%d.go", n%40),
	})
	ev.AgentID, ev.Role, ev.ContractID = agent, agency.RoleImplementer, contract
	return ev
}

// begin records the run, as the host does that starts it.
func (l *looked) begin(ctx context.Context) error {
	kept, err := json.Marshal(host.RunConfig{Config: config.Defaults()})
	if err != nil {
		return err
	}
	return l.db.Write(ctx, func(tx *store.Tx) error {
		run := agency.Run{ID: benchRun, Goal: "all parts", Mode: agency.ModeMultiAgent, State: agency.StateRunning, Branch: "agency/bench/main", Target: "main"}
		if err := registry.CreateRun(tx, run, kept); err != nil {
			return err
		}
		return budget.Open(tx, benchRun, budget.Root, "", budget.Limits{})
	})
}
