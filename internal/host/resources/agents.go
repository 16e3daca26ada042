package resources

import (
	"cmp"
	"time"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/config"
	"agency/internal/roster"
	"agency/internal/roster/agentfile"
	"agency/internal/session"
)

// fileOf is the file of the agent of a session, as the run keeps it.
func fileOf(b *resources, spec session.Spec) (agentfile.File, error) {
	f, ok := b.kept.Agents.Find(spec.Post.Agent)
	if !ok {
		return f, agency.Errorf(agency.KindInternal, "run %s keeps no agent %s", spec.Run, spec.Post.Agent)
	}
	return f, nil
}

// agentSetup is what a session of an agent of a file is given.
func (s *Sessions) agentSetup(b *resources, spec session.Spec) (session.Setup, error) {
	f, err := fileOf(b, spec)
	if err != nil {
		return session.Setup{}, err
	}
	role, err := roster.Find(agency.RoleAgent)
	if err != nil {
		return session.Setup{}, err
	}
	c := b.kept.Config
	persona, _ := b.kept.Agents.Persona(*spec.Post, !b.kept.NoRepo)
	return session.Setup{
		Runtime: config.RuntimeNative, Limits: agentTurns(role.Limits, f, *spec.Post), Prices: tariff(s.Models.known, c),
		Repo: b.repo, Network: len(c.Sandbox.AllowHosts) > 0 && b.runner.ReachesHosts(), Commands: b.kept.Commands(),
		Parent: budget.ContractNode(spec.Contract), Persona: persona,
		RespondWithin: time.Duration(c.Board.ResponseMinutes) * time.Minute,
	}, nil
}

// agentTurns are the limits of an agent: its file's, else the role's, and at most the turns
// that its place has.
func agentTurns(l roster.Limits, f agentfile.File, at agency.Post) roster.Limits {
	l.Turns = cmp.Or(f.MaxTurns, at.Turns, l.Turns)
	if at.Turns > 0 {
		l.Turns = min(l.Turns, at.Turns)
	}
	l.CallsPerTurn = cmp.Or(f.MaxToolCallsPerTurn, l.CallsPerTurn)
	l.MaxOutput = cmp.Or(f.MaxOutputTokens, l.MaxOutput)
	l.Seconds = cmp.Or(f.TimeoutSeconds, l.Seconds)
	return l
}

// agentLineup is the models of an agent.
func (s *Sessions) agentLineup(b *resources, spec session.Spec) (session.Lineup, error) {
	f, err := fileOf(b, spec)
	if err != nil {
		return session.Lineup{}, err
	}
	refs, err := b.kept.ModelsOf(f)
	if err != nil {
		return session.Lineup{}, err
	}
	return s.Models.lineupOf(spec.Run, b, refs)
}

// needsCheckout tells whether the agent has a tool that works on one.
func needsCheckout(b *resources, spec session.Spec) bool {
	p, _ := b.kept.Agents.Persona(*spec.Post, !b.kept.NoRepo)
	return len(p.Tools) > 0
}
