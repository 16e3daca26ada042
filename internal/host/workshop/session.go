package workshop

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"agency/internal/agency"
	"agency/internal/brief/staging"
	"agency/internal/budget"
	"agency/internal/check"
	"agency/internal/config"
	"agency/internal/flow"
	"agency/internal/land"
	"agency/internal/mode"
	"agency/internal/registry"
	"agency/internal/roster"
	"agency/internal/sandbox"
	"agency/internal/session"
	"agency/internal/store"
	"agency/internal/verify"
	"agency/internal/workspace"
)

var (
	_ session.Host  = (*Shop)(nil)
	_ land.Verifier = (*Landing)(nil)
)

// agentLayer is where agents' commands keep their caches; verification never
// reads it.
func (s *Shop) agentLayer() string { return filepath.Join(s.layers(), string(check.LayerAgents)) }

// Cancelled is closed when a person cancels the run.
func (s *Shop) Cancelled(run agency.RunID) <-chan struct{} {
	if s.o.Cancelled == nil {
		return nil
	}
	return s.o.Cancelled(run)
}

// Setup is what the run's own copy of the configuration says for a session.
func (s *Shop) Setup(ctx context.Context, spec session.Spec) (session.Setup, error) {
	b, err := s.bench(ctx, spec.Run)
	if err != nil {
		return session.Setup{}, err
	}
	role, err := roster.Find(spec.Role)
	if err != nil {
		return session.Setup{}, err
	}
	m, err := s.models(spec.Run, b, spec.Role, spec.Level)
	if err != nil {
		return session.Setup{}, err
	}
	var known []agency.Contract // that its plan must fit
	if spec.Role == roster.ProjectManager {
		if known, err = s.contracts(ctx, spec.Run); err != nil {
			return session.Setup{}, err
		}
	}
	r, err := s.record(ctx, spec.Run)
	if err != nil {
		return session.Setup{}, err
	}
	return session.Setup{
		Model: m.model, Models: m.names, Window: m.window, Prices: m.prices,
		Limits: limitsOf(role.Limits, b.copy.Config.Agents[string(spec.Role)]),
		Repo:   b.repo, Network: len(b.copy.Config.Sandbox.AllowHosts) > 0 && b.runner.ReachesHosts(), Commands: b.copy.Commands(),
		Parent: budget.ContractNode(spec.Contract),
		Rules:  buildingOn(rulesOf(asMoved(b.copy.Config, r), known), known), Context: contextOf(b.copy.Config.Context), Shared: b.copy.Config.SharedWrites,
		RespondWithin: time.Duration(b.copy.Config.Board.ResponseMinutes) * time.Minute,
	}, nil
}

func limitsOf(l roster.Limits, a config.Agent) roster.Limits {
	l.Turns, l.MaxOutput, l.Tokens, l.Seconds = a.MaxTurns, int64(a.MaxTokens), a.MaxTokensPerSession, a.TimeoutSeconds
	return l
}

// asMoved is the configuration of a run in the mode in which it works now.
func asMoved(c config.Config, r agency.Run) config.Config {
	if r.MovedTo != "" {
		c.Mode = r.MovedTo
	}
	return c
}

// rulesOf are the limits that a plan is held to. Where one generalist works on
// it, it does not matter which role a contract names.
func rulesOf(c config.Config, known []agency.Contract) agency.PlanRules {
	rules := agency.PlanRules{
		MaxFiles: c.Contracts.MaxFiles, MaxLines: c.Contracts.MaxLines, RequireCriteria: c.Contracts.RequireAcceptanceCriteria,
		Holders: map[agency.RoleID]bool{}, Taken: map[agency.ContractID]bool{},
	}
	for _, r := range roster.Roles() {
		rules.Holders[r.ID] = r.Holds && (!c.Mode.Team() || r.Works())
	}
	for _, k := range known {
		rules.Taken[k.ID] = true
	}
	for _, id := range mode.Reserved() {
		rules.Taken[id] = true
	}
	return rules
}

// buildingOn are rules for a plan that may depend on the work of the run's
// plan before it.
func buildingOn(rules agency.PlanRules, known []agency.Contract) agency.PlanRules {
	for _, k := range known {
		if k.AssignedRole != roster.ProjectManager {
			rules.Started = append(rules.Started, k)
		}
	}
	return rules
}

func contextOf(c config.Context) staging.Limits {
	return staging.Limits{MaxTokens: int64(c.MaxTokens), Tests: c.IncludeTests, Similar: c.IncludeSimilar}
}

// Desk opens the contract's workspace.
func (s *Shop) Desk(ctx context.Context, spec session.Spec) (*session.Desk, error) {
	b, err := s.bench(ctx, spec.Run)
	if err != nil {
		return nil, err
	}
	run, err := s.spaces.Run(ctx, spec.Run)
	if err != nil {
		return nil, err
	}
	head, err := s.start(ctx, spec.Run)
	if err != nil {
		return nil, err
	}
	if spec.Onto != "" {
		head = spec.Onto
	}
	if err := s.release(ctx, run); err != nil { // they are only in the way, and may go later
		s.o.Log.Warn("checkouts of landed contracts stay", "run", spec.Run, "error", err)
	}
	if spec.Review != nil {
		return s.reviewDesk(ctx, b, run, spec)
	}
	w, err := run.Prepare(ctx, string(spec.Contract), head, workspace.Work)
	if err != nil {
		return nil, err
	}
	if spec.Onto != "" {
		if _, err := w.Rebase(ctx, spec.Onto); err != nil {
			return nil, err
		}
	}
	return session.NewDesk(s.deskOf(ctx, b, w, spec))
}

// release removes the checkouts of contracts that are complete: what landed is in
// the run's branch, and those of many contracts fill a disk.
func (s *Shop) release(ctx context.Context, run *workspace.Run) error {
	refs, err := run.List()
	if err != nil {
		return err
	}
	var done []workspace.Ref
	err = s.o.DB.Read(ctx, func(q *store.Snapshot) error {
		for _, ref := range refs {
			if ref.Kind != workspace.Work && ref.Kind != workspace.Review {
				continue // goes with who made it
			}
			c, err := registry.Contract(q, run.Info().Run, agency.ContractID(ref.Name))
			switch {
			case agency.KindOf(err) == agency.KindNotFound: // of nobody's contract
			case err != nil:
				return err
			case c.Status == agency.StatusComplete:
				done = append(done, ref)
			}
		}
		return nil
	})
	for _, ref := range done {
		err = errors.Join(err, run.Remove(ctx, ref.Name, ref.Kind))
	}
	return err
}

// deskOf is what a session's tools reach of a workspace.
func (s *Shop) deskOf(ctx context.Context, b *bench, w *workspace.Workspace, spec session.Spec) session.DeskOptions {
	return session.DeskOptions{
		Workspace: w, Checker: b.checks, LayerDir: s.agentLayer(),
		Limits: agentLimits(b.copy.Config.Sandbox), Reads: b.reads, Commands: b.copy.Commands(),
		Hosts: b.copy.Config.Sandbox.AllowHosts,
		Repo:  b.repo, Run: spec.Run, Contract: spec.Contract, Agent: spec.Agent, Fence: flow.ScopeOf(ctx).Fence,
	}
}

// reviewDesk is a reviewer's: the files of the claim in a checkout of its own,
// made anew for each part, so that nobody's work is touched by what its checks
// leave behind.
func (s *Shop) reviewDesk(ctx context.Context, b *bench, run *workspace.Run, spec session.Spec) (*session.Desk, error) {
	of := spec.Review
	w, err := run.Prepare(ctx, string(spec.Contract), of.Base, workspace.Review)
	if err != nil {
		return nil, err
	}
	tree, err := run.Dir().ResolveTree(ctx, of.Claim.Tree)
	if err != nil {
		return nil, err
	}
	if err := w.Restore(ctx, tree); err != nil {
		return nil, err
	}
	o := s.deskOf(ctx, b, w, spec)
	o.Of = tree
	return session.NewDesk(o)
}

// start is where a contract's work begins: the head of the run's branch, so
// that a second contract stands on what the first landed.
func (s *Shop) start(ctx context.Context, id agency.RunID) (agency.OID, error) {
	run, err := s.spaces.Run(ctx, id)
	if err != nil {
		return "", err
	}
	r, err := s.record(ctx, id)
	if err != nil {
		return "", err
	}
	head, _, err := land.HeadOf(ctx, run.User(), run.Dir(), "refs/heads/"+r.Branch)
	if err != nil || head != "" {
		return head, err
	}
	return run.Base(), nil
}

func agentLimits(c config.Sandbox) sandbox.Limits {
	l := sandbox.DefaultLimits()
	l.Wall = time.Duration(c.TimeoutSeconds) * time.Second
	l.MemoryMB, l.Processes, l.OutputKB = c.MemoryMB, c.Processes, c.OutputKB
	return l
}

// Landing verifies merged trees for the queue with the run's own commands.
type Landing struct {
	Shop   *Shop
	Verify *verify.Verifier
}

// VerifyLanding runs the whole suite on a merged tree. No reasons: it passes.
func (l *Landing) VerifyLanding(ctx context.Context, c land.Candidate) ([]string, error) {
	cmds, err := l.Shop.Commands(ctx, c.Run)
	if err != nil {
		return nil, err
	}
	v, err := l.Verify.VerifyTree(ctx, c.Step+"/verify", verify.Spec{
		Run: c.Run, Contract: c.Contract, Base: c.Head, Claim: c.Tree, Commands: cmds,
		Anew: len(c.Structural) > 0,
	})
	switch {
	case err != nil || v.Pass:
		return nil, err
	case len(v.Reasons) == 0:
		return []string{"the merged tree fails its checks"}, nil
	}
	return v.Reasons, nil
}

// Took is how long the run's checks took when they last ran, each by itself.
func (l *Landing) Took(ctx context.Context, run agency.RunID) (took time.Duration, err error) {
	cmds, err := l.Shop.Commands(ctx, run)
	if err != nil {
		return 0, err
	}
	var lines []string
	for _, k := range []agency.CheckKind{agency.CheckSetup, agency.CheckBuild, agency.CheckTypecheck, agency.CheckLint, agency.CheckTest} {
		if line := cmds.Command(k).Line; line != "" {
			lines = append(lines, line)
		}
	}
	err = l.Shop.o.DB.Read(ctx, func(q *store.Snapshot) error {
		took, err = check.Lasted(q, run, lines)
		return err
	})
	return took, err
}
