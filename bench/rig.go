package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"agency/bench/peer"
	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/board/state"
	"agency/internal/budget"
	"agency/internal/check"
	"agency/internal/event"
	"agency/internal/flow"
	"agency/internal/git"
	"agency/internal/land"
	"agency/internal/lease"
	"agency/internal/llm"
	"agency/internal/registry"
	"agency/internal/roster"
	"agency/internal/sandbox"
	"agency/internal/session"
	"agency/internal/session/native"
	"agency/internal/session/record"
	"agency/internal/store"
	"agency/internal/verdicts"
	"agency/internal/workspace"
)

const benchRun agency.RunID = "bench-run"

// rig is the product's own parts around a session, assembled as the host
// does: store, repository, private git directory, checkout, sandbox.
type rig struct {
	repo   string
	state  string
	db     *store.DB
	office *board.Board
	runner *sandbox.Runner
	census *sandbox.Census
	spaces *workspace.Manager
	work   *workspace.Run
	base   agency.OID
	fence  agency.Fence
	setup  session.Setup
	lineup session.Lineup
	// part runs a part of the rig's sessions, as the host's one does.
	part func(context.Context, agency.StepKey, session.Spec) (session.Outcome, error)
	// shared is the checkout of every contract; nil: each has its own.
	shared *workspace.Workspace
}

// newRig makes a repository with the files that fill writes and an open run on it.
func newRig(ctx context.Context, dir string, model llm.Model, fill func(dir string) error) (*rig, error) {
	r := &rig{repo: filepath.Join(dir, "repo"), state: filepath.Join(dir, "state")}
	if err := errors.Join(os.Mkdir(r.repo, 0o755), os.Mkdir(r.state, 0o700)); err != nil {
		return nil, err
	}
	if err := fill(r.repo); err != nil {
		return nil, err
	}
	if err := commitAll(ctx, r.repo); err != nil {
		return nil, err
	}
	if err := r.open(ctx); err != nil {
		return nil, errors.Join(err, r.close())
	}
	r.part = session.Do(session.Options{DB: r.db, Host: r, Mail: r.office, Runtimes: map[string]session.Runtime{"": native.New(native.Options{Host: r})}})
	role, err := roster.Find(agency.RoleGeneralist)
	if err != nil {
		return nil, err
	}
	limits := role.Limits
	limits.Turns, limits.Tokens, limits.Seconds = 10_000, 1_000_000_000, 100_000
	r.lineup = session.Lineup{Model: model, Names: []string{modelName}}
	r.setup = session.Setup{
		Repo: r.repo, Limits: limits,
		Prices: func(string, string) (agency.Price, bool) {
			return agency.Price{In: 1, CachedIn: 0.1, Out: 2}, true
		},
	}
	return r, nil
}

// open opens the store, the sandbox and the run.
func (r *rig) open(ctx context.Context) (err error) {
	r.db, err = store.Open(ctx, store.Options{LongLog: true, Path: filepath.Join(r.state, "agency.db"), Sets: []store.Set{
		event.Migrations(), lease.Migrations(), registry.Migrations(), budget.Migrations(), board.Migrations(), state.Migrations(),
		workspace.Migrations(), check.Migrations(), verdicts.Migrations(), record.Migrations(), land.Migrations(),
	}})
	if err != nil {
		return err
	}
	if r.office, err = board.Open(ctx, r.db, board.Options{MaySend: roster.MaySend}); err != nil {
		return err
	}
	r.census = sandbox.NewCensus()
	if r.runner, err = sandbox.New(sandbox.Options{StateDir: r.state, Census: r.census}); err != nil {
		// The figures without commands do not depend on the tier.
		if r.runner, err = sandbox.New(sandbox.Options{Mode: sandbox.ModeOff, StateDir: r.state}); err != nil {
			return err
		}
	}
	epoch, err := r.db.RaiseEpoch(ctx)
	if err != nil {
		return err
	}
	r.fence = agency.Fence{Epoch: epoch, N: 1}
	if err := r.createRun(ctx); err != nil {
		return err
	}
	return r.openWork(ctx)
}

func (r *rig) createRun(ctx context.Context) error {
	return r.write(ctx, func(tx *store.Tx) error {
		run := agency.Run{ID: benchRun, Goal: "read the notes", Mode: agency.ModeSingle, State: agency.StateRunning, Branch: "agency/bench-run/main"}
		if err := registry.CreateRun(tx, run, json.RawMessage(`{}`)); err != nil {
			return err
		}
		return budget.Open(tx, benchRun, budget.Root, "", budget.Limits{})
	})
}

func (r *rig) openWork(ctx context.Context) error {
	host, err := git.NewProgram(ctx, git.Options{})
	if err != nil {
		return err
	}
	loc, err := git.Find(r.repo)
	if err != nil {
		return err
	}
	head, err := host.At(loc).Refs().Head(ctx)
	if err != nil {
		return err
	}
	r.base = head.Commit
	r.spaces = workspace.New(workspace.Options{Git: host, DB: r.db, ObjectsAt: r.runner.ObjectsAt, Still: r.census.Still})
	r.work, err = r.spaces.OpenRun(ctx, workspace.RunInfo{Run: benchRun, Repo: loc, Base: r.base, StateDir: r.state})
	return err
}

func (r *rig) close() error {
	var errs []error
	if r.runner != nil {
		errs = append(errs, r.runner.Close())
	}
	if r.office != nil {
		errs = append(errs, r.office.Close())
	}
	if r.db != nil {
		errs = append(errs, r.db.Close())
	}
	return errors.Join(errs...)
}

func (r *rig) write(ctx context.Context, fn func(*store.Tx) error) error {
	return r.db.WriteFenced(ctx, r.fence, fn)
}

// contract records a contract for sessions to work on.
func (r *rig) contract(tx *store.Tx, id agency.ContractID) error {
	return registry.CreateContract(tx, agency.Contract{
		ID: id, RunID: benchRun, AssignedRole: agency.RoleGeneralist, Title: "read the notes", Description: "Read all notes.",
		AcceptanceCriteria: []agency.Criterion{{ID: "goal", Text: "the notes are read"}}, RetryBudget: 3,
	})
}

// Setup is for session.Host.
func (r *rig) Setup(context.Context, session.Spec) (session.Setup, error) { return r.setup, nil }

// Lineup is for session.Host.
func (r *rig) Lineup(context.Context, session.Spec) (session.Lineup, error) { return r.lineup, nil }

// Cancelled is for session.Host.
func (r *rig) Cancelled(agency.RunID) context.Context { return context.Background() }

// Toolset is for session.Host.
func (r *rig) Toolset(ctx context.Context, s session.Spec) (*session.Toolset, error) {
	w := r.shared
	if w == nil {
		var err error
		if w, err = r.work.Prepare(ctx, string(s.Contract), r.base, workspace.Work); err != nil {
			return nil, err
		}
	}
	layers := filepath.Join(r.state, "cache")
	return session.NewToolset(session.ToolsetOptions{
		Workspace: w, LayerDir: filepath.Join(layers, "agents"),
		Checker: check.New(check.Options{Runner: r.runner, DB: r.db, LayerDir: layers}),
		Repo:    r.repo, Spec: s, Fence: r.fence,
	})
}

// hold runs a session to its end.
func (r *rig) hold(ctx context.Context, c agency.ContractID, attempt int) (session.Outcome, error) {
	spec := session.Spec{Run: benchRun, Contract: c, Attempt: attempt, Part: 1, Role: agency.RoleGeneralist, Agent: "generalist"}
	return r.part(flow.WithScope(ctx, flow.Scope{Run: benchRun, Fence: r.fence}), "", spec)
}

// commitAll makes a repository of a folder.
func commitAll(ctx context.Context, dir string) error {
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "start"}} {
		if _, err := userGit(ctx, dir, args...); err != nil {
			return err
		}
	}
	return nil
}

// userGit runs git as a user would, without the user's configuration.
func userGit(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "LC_ALL=C",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(out))
	}
	return string(bytes.TrimSpace(out)), nil
}

// notes fills a repository with files to read.
func notes(n, size int) func(string) error {
	return func(dir string) error { return peer.WriteFiles(dir, n, size) }
}
