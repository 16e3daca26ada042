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
	f, ok := b.kept().Agents.Find(spec.Post.Agent)
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
	c := b.kept().Config
	persona, _ := b.kept().Agents.Persona(*spec.Post, !b.kept().NoRepo)
	return session.Setup{
		Runtime: config.RuntimeNative, Limits: limitsOfAgent(f, *spec.Post, c), Prices: tariff(s.Models.known, c),
		Repo: b.repo, Network: len(c.Sandbox.AllowHosts) > 0 && b.runner.ReachesHosts(), Commands: b.kept().Commands(),
		Parent: budget.ContractNode(spec.Contract), Persona: persona,
		RespondWithin: time.Duration(c.Board.ResponseMinutes) * time.Minute,
	}, nil
}

// limitsOfAgent are the limits of an agent: its file's, and at most the turns that its place
// has. A repository's file also keeps to what is configured for the role that it names.
func limitsOfAgent(f agentfile.File, at agency.Post, c config.Config) roster.Limits {
	l := f.Limits()
	if own, ok := c.Agents[string(f.Role)]; ok && f.Outside() {
		is := limitsOf(l, own)
		l.Turns, l.MaxOutput, l.Tokens, l.Seconds = min(l.Turns, is.Turns), tighter(l.MaxOutput, is.MaxOutput), tighter(l.Tokens, is.Tokens), min(l.Seconds, is.Seconds)
	}
	if at.Turns > 0 {
		l.Turns = min(l.Turns, at.Turns)
	}
	return l
}

// tighter is the lower of two limits, of which 0 is none.
func tighter(a, b int64) int64 { return min(cmp.Or(a, b), cmp.Or(b, a)) }

// agentLineup is the models of an agent.
func (s *Sessions) agentLineup(b *resources, spec session.Spec) (session.Lineup, error) {
	f, err := fileOf(b, spec)
	if err != nil {
		return session.Lineup{}, err
	}
	refs, err := b.kept().ModelsOf(f)
	if err != nil {
		return session.Lineup{}, err
	}
	return s.Models.lineupOf(spec.Run, b, refs)
}

// needsCheckout tells whether the agent has a tool that works on one.
func needsCheckout(b *resources, spec session.Spec) bool {
	p, _ := b.kept().Agents.Persona(*spec.Post, !b.kept().NoRepo)
	return len(p.Tools) > 0
}
