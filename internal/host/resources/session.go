package resources

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"agency/internal/agency"
	"agency/internal/brief/staging"
	"agency/internal/budget"
	"agency/internal/config"
	"agency/internal/flow"
	"agency/internal/host"
	"agency/internal/land"
	"agency/internal/mode"
	"agency/internal/registry"
	"agency/internal/roster"
	"agency/internal/sandbox"
	"agency/internal/session"
	"agency/internal/session/oversight"
	"agency/internal/store"
	"agency/internal/verify"
	"agency/internal/workspace"
)

// Sessions gives sessions what they work with.
type Sessions struct {
	Runs   *Runs
	Models *Models
	Live   *host.Live
	Verify *verify.Verifier
	Above  session.Allowance // nil: none
}

var (
	_ session.Host  = (*Sessions)(nil)
	_ land.Verifier = (*LandingChecks)(nil)
)

// Cancelled is closed when a person cancels the run.
func (s *Sessions) Cancelled(run agency.RunID) context.Context { return s.Live.Cancelled(run) }

// Setup is what the run's own copy of the configuration says for a session.
func (s *Sessions) Setup(ctx context.Context, spec session.Spec) (session.Setup, error) {
	b, err := s.Runs.of(ctx, spec.Run)
	if err != nil {
		return session.Setup{}, err
	}
	if spec.Post != nil {
		return s.agentSetup(b, spec)
	}
	role, err := roster.Find(spec.Role)
	if err != nil {
		return session.Setup{}, err
	}
	var known []agency.Contract // that its plan must fit
	var base *agency.PlanBase   // likewise
	if roster.Leads(spec.Role) {
		if base, err = s.Runs.planBase(ctx, spec.Run, b.repo, b.kept().Config); err != nil {
			return session.Setup{}, err
		}
		if known, err = store.Get(ctx, s.Runs.o.DB, registry.Contracts, spec.Run); err != nil {
			return session.Setup{}, err
		}
	}
	r, err := store.Get(ctx, s.Runs.o.DB, registry.Run, spec.Run)
	if err != nil {
		return session.Setup{}, err
	}
	rules := rulesOf(asMoved(b.kept().Config, r), known, spec.Contract, spec.Role)
	rules.Base = base
	talent, talents, err := s.talents(ctx, spec, b.kept().Config)
	if err != nil {
		return session.Setup{}, err
	}
	c, agent := b.kept().Config, b.kept().Config.Agents[string(spec.Role)]
	refs, err := refsOf(c, spec.Role, spec.Level)
	if err != nil {
		return session.Setup{}, err
	}
	limits := limitsOf(role.Limits, agent)
	limits.Tokens = sessionTokens(s.Models.known, c, agent, refs)
	return session.Setup{
		Runtime: agent.Runtime, Limits: limits, Prices: tariff(s.Models.known, c),
		Repo: b.repo, Network: len(c.Sandbox.AllowHosts) > 0 && b.runner.ReachesHosts(), Commands: b.kept().Commands(),
		Parent: budget.ContractNode(spec.Contract),
		Rules:  rules, Shared: c.SharedWrites, Talent: talent, Talents: talents,
		Context:       staging.Limits{MaxTokens: int64(c.Context.MaxTokens), Tests: c.Context.IncludeTests, Similar: c.Context.IncludeSimilar},
		RespondWithin: time.Duration(c.Board.ResponseMinutes) * time.Minute,
	}, nil
}

// talents are the expertise of a session, and where it plans for a team those that its
// contracts may have.
func (s *Sessions) talents(ctx context.Context, spec session.Spec, c config.Config) (own roster.Talent, offered []roster.Talent, err error) {
	contract, err := store.Get(ctx, s.Runs.o.DB, func(q store.Querier, run agency.RunID) (agency.Contract, error) {
		return registry.Contract(q, run, spec.Contract)
	}, spec.Run)
	if err != nil && agency.KindOf(err) != agency.KindNotFound {
		return own, nil, err
	}
	if own, err = s.Runs.talentOf(spec, c, contract); err == nil && roster.Leads(spec.Role) && spec.MaxContracts != 1 {
		offered, err = s.Runs.offered()
	}
	return own, offered, err
}

// Lineup is the models of a session, in order of fallback.
func (s *Sessions) Lineup(ctx context.Context, spec session.Spec) (out session.Lineup, err error) {
	copies := s.Runs.o.copiesOf(spec.Run)
	b, err := s.Runs.of(ctx, spec.Run)
	if err != nil {
		return out, err
	}
	if spec.Post != nil {
		out, err = s.agentLineup(b, spec)
	} else {
		out, err = s.Models.lineup(spec.Run, b, spec.Role, spec.Level)
	}
	out.Stale = func() bool { return s.Runs.o.copiesOf(spec.Run) != copies }
	return out, err
}

// Overseer is what the model-backed overseer of a run works with.
func (s *Sessions) Overseer(ctx context.Context, run agency.RunID) (out oversight.Staff, err error) {
	b, err := s.Runs.of(ctx, run)
	if err != nil {
		return out, err
	}
	role, err := roster.Find(agency.RoleOverseer)
	if err != nil {
		return out, err
	}
	c := b.kept().Config
	agent := c.Agents[string(role.ID)]
	refs, err := refsOf(c, role.ID, agency.Level(c.Overseer.Model))
	if err != nil {
		return out, err
	}
	out = oversight.Staff{Prices: tariff(s.Models.known, c), Limits: limitsOf(role.Limits, agent)}
	out.Limits.Tokens = sessionTokens(s.Models.known, c, agent, refs)
	out.Lineup, err = s.Models.lineupOf(run, b, refs)
	return out, err
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

// rulesOf are the limits that a plan is held to, which may depend on the work of
// the same team's plan before it; by is who plans. Where one generalist works on it, it does not matter
// which role a contract names.
func rulesOf(c config.Config, known []agency.Contract, plan agency.ContractID, by agency.RoleID) agency.PlanRules {
	rules := agency.PlanRules{
		MaxFiles: c.Contracts.MaxFiles, MaxLines: c.Contracts.MaxLines, Decompose: c.Contracts.AutoDecompose && c.Mode.Team(), RequireCriteria: c.Contracts.RequireAcceptanceCriteria,
		Resources: slices.Sorted(maps.Keys(c.Resources)), Holders: map[agency.RoleID]bool{}, Taken: map[agency.ContractID]bool{}, Started: roster.Team(known, plan),
	}
	for _, r := range roster.Roles() {
		rules.Holders[r.ID] = r.Holds && r.ID.Tier() == "" && !c.Mode.Team() || c.Mode.Team() && roster.MaySpawn(by, r.ID)
	}
	if by.Tier() != "" {
		rules.Own = agency.OwnTierID
	} else {
		rules.Own = mode.IsDoneAgain
	}
	for _, k := range known {
		rules.Taken[k.ID] = true
	}
	for _, id := range mode.Reserved() {
		rules.Taken[id] = true
	}
	return rules
}

// Toolset opens the contract's workspace.
func (s *Sessions) Toolset(ctx context.Context, spec session.Spec) (*session.Toolset, error) {
	b, err := s.Runs.of(ctx, spec.Run)
	if err != nil {
		return nil, err
	}
	bare := spec.Post != nil && !needsCheckout(b, spec)
	if bare && len(b.kept().Config.MCP) == 0 {
		return session.NoCheckout(), nil
	}
	run, err := s.Runs.spaces.Run(ctx, spec.Run)
	if err != nil {
		return nil, err
	}
	if bare {
		return s.withServers(ctx, b, place{run, nil}, spec, session.NoCheckout())
	}
	head, err := s.Runs.head(ctx, spec.Run, spec.Line)
	if err != nil {
		return nil, err
	}
	if spec.Onto != "" {
		head = spec.Onto
	}
	if err := s.release(ctx, run); err != nil { // they are only in the way, and may go later
		s.Runs.o.Log.Warn("checkouts of landed contracts stay", "run", spec.Run, "error", err)
	}
	if spec.Review != nil {
		return s.reviewToolset(ctx, b, run, spec)
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
	begins := spec.Onto != "" || spec.Attempt == 1 && spec.Part == 1
	if begins && !roster.Leads(spec.Role) && spec.Post == nil {
		if err := s.ahead(ctx, b, spec, head); err != nil {
			return nil, err
		}
	}
	return s.toolset(ctx, b, s.toolsetOf(ctx, b, w, spec))
}

// toolset makes a toolset on a checkout, with the tools of the session's MCP servers.
func (s *Sessions) toolset(ctx context.Context, b *resources, o session.ToolsetOptions) (*session.Toolset, error) {
	t, err := session.NewToolset(o)
	if err != nil {
		return nil, err
	}
	t.Files.Symbols, t.Background.Secrets = s.Runs.o.Code, s.Models.secrets.Redactor
	t.Files.Servers = s.languages(b, o)
	if t.Files.Embedder, err = s.embeds(ctx, b, o); err != nil {
		t.Close()
		return nil, err
	}
	if err := s.tell(ctx, o.Spec, firstOf(t.Files.SkillFaults())); err != nil {
		t.Close()
		return nil, err
	}
	return s.withServers(ctx, b, place{o.Workspace.Run(), o.Workspace}, o.Spec, t)
}

// withServers adds the tools of the session's MCP servers to a toolset, which goes where that
// cannot be.
func (s *Sessions) withServers(ctx context.Context, b *resources, at place, spec session.Spec, t *session.Toolset) (*session.Toolset, error) {
	if len(b.kept().Config.MCP) == 0 {
		return t, nil
	}
	s.Runs.sweep(ctx)
	if err := s.connect(ctx, b, at, spec, t); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// release removes the checkouts of contracts that are complete: what landed is in
// the run's branch, and those of many contracts fill a disk.
func (s *Sessions) release(ctx context.Context, run *workspace.Run) error {
	refs, err := run.List()
	if err != nil {
		return err
	}
	var done []workspace.Ref
	err = s.Runs.o.DB.Read(ctx, func(q *store.Snapshot) error {
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

// toolsetOf is what a session's tools reach of a workspace.
func (s *Sessions) toolsetOf(ctx context.Context, b *resources, w *workspace.Workspace, spec session.Spec) session.ToolsetOptions {
	return session.ToolsetOptions{
		Workspace: w, Checker: b.checks, LayerDir: agentLayer(s.Runs.o.StateDir), Skills: b.skills,
		Limits: agentLimits(b.kept().Config.Sandbox), Reads: b.reads, Commands: b.kept().Commands(),
		Hosts: b.kept().Config.Sandbox.AllowHosts,
		Repo:  b.repo, Spec: spec, Fence: flow.ScopeOf(ctx).Fence,
	}
}

// reviewToolset is a reviewer's: the files of the claim in a checkout of its own,
// made anew for each part, so that nobody's work is touched by what its checks
// leave behind.
func (s *Sessions) reviewToolset(ctx context.Context, b *resources, run *workspace.Run, spec session.Spec) (*session.Toolset, error) {
	of := spec.Review
	w, err := run.Prepare(ctx, string(spec.Contract), of.Base, workspace.Review)
	if err != nil {
		return nil, err
	}
	tree, err := run.Dir().Refs().ResolveTree(ctx, of.Claim.Tree)
	if err != nil {
		return nil, err
	}
	if err := w.Restore(ctx, tree); err != nil {
		return nil, err
	}
	o := s.toolsetOf(ctx, b, w, spec)
	o.Of = tree
	return s.toolset(ctx, b, o)
}

func agentLimits(c config.Sandbox) sandbox.Limits {
	l := sandbox.DefaultLimits()
	l.Wall = time.Duration(c.TimeoutSeconds) * time.Second
	l.MemoryMB, l.Processes, l.OutputKB = c.MemoryMB, c.Processes, c.OutputKB
	return l
}
