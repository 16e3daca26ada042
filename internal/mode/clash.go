package mode

import (
	"context"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/flow"
	"agency/internal/land"
	"agency/internal/registry"
	"agency/internal/store"
)

// What two members of a team have changed apart from each other stands on the
// board from the landing that shows it until a landing that holds both, or
// until the attempts are used up.
var (
	noteClash   = flow.Activity[clash, flow.None]{Name: "mode.conflict"}
	settleClash = flow.Activity[clash, flow.None]{Name: "mode.conflict_settled"}
)

// clash is a contract whose work did not go with what others landed.
type clash struct {
	Run      agency.RunID        `json:"run"`
	Contract agency.ContractID   `json:"contract"`
	Agent    agency.AgentID      `json:"agent"`
	Paths    []string            `json:"paths,omitempty"`
	With     []agency.ContractID `json:"with,omitempty"`
	// Commit is the landing that has both sides; empty: there will be none.
	Commit agency.OID `json:"commit,omitempty"`
}

// member is the agent that works on a contract of a team.
func member(role agency.RoleID, contract agency.ContractID) agency.AgentID {
	return agency.MemberID(role, contract)
}

// clashes notes a conflict of a member of a team.
func (a *attempts) clashes(c flow.Ctx, f *agency.Conflict) error {
	if a.slot == nil || f == nil || len(f.Paths) == 0 || len(f.With) == 0 || flow.Version(c, "conflicts", 1) < 1 {
		return nil
	}
	a.clashed = true
	_, err := flow.Call(c, noteClash, a.key("conflict"), clash{Run: a.in.Run, Contract: a.contract.ID, Agent: a.agent(), Paths: f.Paths, With: f.With})
	return err
}

// settled resolves what was noted by a landing, or escalates it.
func (a *attempts) settled(c flow.Ctx, commit agency.OID) error {
	if !a.clashed {
		return nil
	}
	_, err := flow.Call(c, settleClash, path(a.contract.ID, "conflict-settled"),
		clash{Run: a.in.Run, Contract: a.contract.ID, Agent: a.agent(), Commit: commit})
	return err
}

func (s *Steps) clash(ctx context.Context, key agency.StepKey, in clash) (flow.None, error) {
	return s.write(ctx, func(tx *store.Tx) error {
		agents := []agency.AgentID{in.Agent}
		for _, id := range in.With {
			other, err := registry.Contract(tx, in.Run, id)
			if err != nil {
				return err
			}
			if name := member(other.AssignedRole, id); !slices.Contains(agents, name) {
				agents = append(agents, name)
			}
		}
		if len(agents) < 2 {
			return nil // with what it landed itself
		}
		for _, p := range in.Paths {
			c := board.Conflict{Kind: board.FileWrite, Resource: p, Agents: agents, Evidence: []agency.MessageID{agency.MessageID(key)}}
			if err := board.RecordConflict(tx, in.Run, c); err != nil {
				return err
			}
		}
		return nil
	})
}

// settle is idempotent: what is resolved or escalated stays as it is.
func (s *Steps) settle(ctx context.Context, _ agency.StepKey, in clash) (flow.None, error) {
	var open []board.Conflict
	of := map[agency.AgentID]agency.ContractID{}
	err := s.db.Read(ctx, func(q *store.Snapshot) error {
		all, err := board.Conflicts(q, in.Run)
		if err != nil {
			return err
		}
		for _, c := range all {
			if c.Status != board.ConflictResolved && c.Kind == board.FileWrite && slices.Contains(c.Agents, in.Agent) {
				open = append(open, c)
			}
		}
		contracts, err := registry.Contracts(q, in.Run)
		for _, c := range contracts {
			of[member(c.AssignedRole, c.ID)] = c.ID
		}
		return err
	})
	for _, c := range open {
		if err == nil {
			err = s.settleOne(ctx, in, c, of)
		}
	}
	return flow.None{}, err
}

// woven names the files that landings merged structurally, a line a contract,
// and what resolutions of conflicts lost.
func woven(q store.Querier, run agency.RunID) (structural, lost []string, err error) {
	all, err := land.Landings(q, run)
	for _, l := range all {
		if len(l.Structural) > 0 {
			structural = append(structural, string(l.Contract)+": "+strings.Join(l.Structural, ", "))
		}
		for _, line := range l.Lost {
			lost = append(lost, string(l.Contract)+": "+line)
		}
	}
	return structural, lost, err
}

// settleOne resolves a conflict where the commit shows that both sides are in
// it, and escalates it otherwise.
func (s *Steps) settleOne(ctx context.Context, in clash, c board.Conflict, of map[agency.AgentID]agency.ContractID) error {
	if in.Commit != "" {
		err := board.ResolveFenced(ctx, s.db, s.fence, in.Run, c.ID, board.Resolution{
			By: agency.FromSystem, How: "contract " + string(in.Contract) + " landed on top of the other's work",
			Proof: board.Proof{Kind: board.ProofCommit, Ref: string(in.Commit)},
			Check: func(ctx context.Context, c board.Conflict, p board.Proof) error {
				var others []agency.ContractID
				for _, a := range c.Agents {
					if a != in.Agent {
						others = append(others, of[a])
					}
				}
				return s.shop.Landed(ctx, in.Run, agency.OID(p.Ref), in.Contract, others)
			},
		})
		if agency.KindOf(err) != agency.KindInvalid {
			return err
		}
	}
	_, err := s.write(ctx, func(tx *store.Tx) error { return board.Escalate(tx, in.Run, c.ID, "") })
	return err
}
