package effects

import (
	"cmp"
	"context"
	"math"
	"slices"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/flow"
	"agency/internal/land"
	"agency/internal/registry"
	"agency/internal/store"
)

// WriteConflict is a contract whose work did not go with what others landed.
type WriteConflict struct {
	Run      agency.RunID        `json:"run"`
	Contract agency.ContractID   `json:"contract"`
	Agent    agency.AgentID      `json:"agent"`
	Paths    []string            `json:"paths,omitempty"`
	With     []agency.ContractID `json:"with,omitempty"`
	// Commit is the landing that has both sides; empty: there will be none.
	Commit agency.OID `json:"commit,omitempty"`
}

// What two members of a team have changed apart from each other stands on the
// board from the turn or the landing that shows it until all of them have
// ended. Where the attempts at one that did not go with the others are used up,
// the manager is told before that.
var (
	RecordWriteConflict  = flow.Activity[WriteConflict, flow.None]{Name: "mode.conflict"}
	SettleWriteConflicts = flow.Activity[WriteConflict, flow.None]{Name: "mode.conflict_settled"}
)

func recordWriteConflict(tx *store.Tx, key agency.StepKey, in WriteConflict) error {
	agents := []agency.AgentID{in.Agent}
	for _, id := range in.With {
		other, err := registry.Contract(tx, in.Run, id)
		if err != nil {
			return err
		}
		if name := agency.MemberID(other.AssignedRole, id); !slices.Contains(agents, name) {
			agents = append(agents, name)
		}
	}
	if len(agents) < 2 {
		return nil // with what it landed itself
	}
	for _, p := range in.Paths {
		c := board.Conflict{Kind: board.FileWrite, Resource: p, Agents: agents, Evidence: []agency.MessageID{agency.MessageID(key)}, LandingFailed: true}
		if _, err := board.RecordConflict(tx, in.Run, c); err != nil {
			return err
		}
	}
	return nil
}

// settleWriteConflicts is what a landing means for the conflicts of its contract, before the
// contract is complete; or, without a commit, that no landing will come: what
// did not go together when it was to land is escalated.
func (s *Activities) settleWriteConflicts(ctx context.Context, _ agency.StepKey, in WriteConflict) (flow.None, error) {
	var landed *land.Landing
	if in.Commit != "" {
		landed = &land.Landing{Contract: in.Contract, Commit: in.Commit}
	}
	return flow.None{}, s.settleFiles(ctx, in.Run, in.Agent, landed)
}

// settleEnded settles what the agents of a contract that has ended disagreed on
// with others: one, unless it changed hands.
func (s *Activities) settleEnded(ctx context.Context, c agency.Contract) error {
	agents := []agency.AgentID{agency.MemberID(c.AssignedRole, c.ID)}
	err := s.db.Read(ctx, func(q *store.Snapshot) error {
		all, err := board.Agents(q, c.RunID)
		for _, a := range all {
			if a.Contract == c.ID && !slices.Contains(agents, a.ID) {
				agents = append(agents, a.ID)
			}
		}
		return err
	})
	for _, agent := range agents {
		if err == nil {
			err = s.settleFiles(ctx, c.RunID, agent, nil)
		}
	}
	if err == nil && c.Status == agency.StatusComplete {
		err = settleJoined(ctx, s, c)
	}
	return err
}

// settleJoined resolves those conflicts over files whose sides all have ended and which the
// landing of another contract holds, such as that of the workstream or of the integration by
// which their lines came together. What it does not hold stays as it is.
func settleJoined(ctx context.Context, s *Activities, by agency.Contract) error {
	var open []board.Conflict
	var at agency.OID
	sides := map[int64][]side{}
	err := s.db.Read(ctx, func(q *store.Snapshot) error {
		all, err := board.Unresolved(q, by.RunID)
		if err != nil || len(all) == 0 {
			return err
		}
		landings, err := land.Landings(q, by.RunID)
		for _, l := range landings {
			if l.Contract == by.ID {
				at = l.Commit
			}
		}
		if err != nil || at == "" {
			return err
		}
		open = slices.DeleteFunc(all, func(c board.Conflict) bool { return c.Kind != board.FileWrite })
		sides, err = sidesOf(q, by.RunID, open)
		return err
	})
	for _, c := range open {
		landed, over := landedOf(sides[c.ID])
		if err != nil || !over || len(landed) < 2 || slices.Contains(landed, by.ID) {
			continue
		}
		err = board.Resolve(ctx, s.db, s.fence, c.Run, c.ID, board.Resolution{
			By: agency.FromSystem, How: "contract " + string(by.ID) + " was integrated with the work of " + agency.JoinIDs(landed, " and "),
			Proof: board.Proof{Kind: board.ProofCommit, Ref: string(at)},
			Check: func(ctx context.Context, c board.Conflict, p board.Proof) error {
				return s.work.Landed(ctx, c.Run, agency.OID(p.Ref), by.ID, landed)
			},
		})
		if kind := agency.KindOf(err); kind == agency.KindInvalid || kind == agency.KindConflict {
			err = nil // it holds not all of them, or the conflict has grown
		}
	}
	return err
}

// landedOf are the contracts of some sides that have landed; over: all of them have ended.
func landedOf(sides []side) (landed []agency.ContractID, over bool) {
	over = true
	for _, s := range sides {
		over = over && s.status.Final()
		if s.landed != "" {
			landed = append(landed, s.contract)
		}
	}
	return landed, over
}

// settleFiles resolves those conflicts over files of an agent of which all
// sides have ended. now is a landing whose contract is not complete yet. It may
// be done again: what is resolved or escalated stays as it is.
func (s *Activities) settleFiles(ctx context.Context, run agency.RunID, agent agency.AgentID, now *land.Landing) error {
	var open []board.Conflict
	sides := map[int64][]side{}
	err := s.db.Read(ctx, func(q *store.Snapshot) error {
		all, err := board.Unresolved(q, run)
		if err != nil {
			return err
		}
		for _, c := range all {
			if c.Kind == board.FileWrite && slices.Contains(c.Agents, agent) {
				open = append(open, c)
			}
		}
		if len(open) > 0 {
			sides, err = sidesOf(q, run, open)
		}
		return err
	})
	for _, c := range open {
		if err == nil {
			err = s.settleOne(ctx, c, decideFiles(c, withLanding(sides[c.ID], now), agent))
		}
	}
	return err
}

// side is one of those who have changed a file.
type side struct {
	contract agency.ContractID
	agent    agency.AgentID
	status   agency.Status
	landed   agency.OID // where it has
	order    int        // of its landing
}

// sidesOf finds the contracts behind conflicts.
func sidesOf(q store.Querier, run agency.RunID, of []board.Conflict) (map[int64][]side, error) {
	contracts, err := registry.Contracts(q, run)
	if err != nil {
		return nil, err
	}
	landings, err := land.Landings(q, run)
	if err != nil {
		return nil, err
	}
	agents, err := board.Agents(q, run)
	if err != nil {
		return nil, err
	}
	out := map[int64][]side{}
	for _, c := range of {
		for _, k := range contracts {
			name := agentOf(k, c.Agents, agents)
			if name == "" {
				continue
			}
			s := side{contract: k.ID, agent: name, status: k.Status}
			for i, l := range landings {
				if l.Contract == k.ID {
					s.landed, s.order = l.Commit, i
				}
			}
			out[c.ID] = append(out[c.ID], s)
		}
	}
	return out, nil
}

// agentOf is which of some agents works on a contract, or did before it changed
// hands; empty: none.
func agentOf(k agency.Contract, some []agency.AgentID, all []board.Agent) agency.AgentID {
	if name := agency.MemberID(k.AssignedRole, k.ID); slices.Contains(some, name) {
		return name
	}
	for _, a := range all {
		if a.Contract == k.ID && slices.Contains(some, a.ID) {
			return a.ID
		}
	}
	return ""
}

// withLanding counts a landing whose contract is about to be complete.
func withLanding(sides []side, now *land.Landing) []side {
	out := slices.Clone(sides)
	for i := range out {
		if now != nil && out[i].contract == now.Contract {
			out[i].landed, out[i].order = now.Commit, math.MaxInt
		}
	}
	return out
}

// filesEnd is what becomes of a conflict over a file: the commit that has all
// sides which landed, or the side that never did; or somebody else decides.
type filesEnd struct {
	last     *side // whose landing has the others before it
	before   []agency.ContractID
	dropped  *side // that ended and did not land
	escalate bool
}

// decideFiles decides on a conflict when one of its agents has ended. Nothing
// set: others are still at work, or it is with somebody already.
func decideFiles(c board.Conflict, sides []side, agent agency.AgentID) (end filesEnd) {
	var landed []*side
	for i := range sides {
		s := &sides[i]
		switch {
		case s.landed != "":
			landed = append(landed, s)
		case s.agent == agent && c.LandingFailed && !s.status.Final():
			// It was to land, did not go with the others, and will not be tried again.
			return filesEnd{escalate: c.Status == board.ConflictOpen}
		case !s.status.Final():
			return filesEnd{}
		default:
			end.dropped = s
		}
	}
	if len(landed) < 2 {
		return end
	}
	slices.SortFunc(landed, func(a, b *side) int { return cmp.Compare(a.order, b.order) })
	end = filesEnd{last: landed[len(landed)-1]}
	for _, s := range landed[:len(landed)-1] {
		end.before = append(end.before, s.contract)
	}
	return end
}

// settleOne resolves a conflict by what decideFiles says, where git or the
// record show it, and escalates it where they do not.
func (s *Activities) settleOne(ctx context.Context, c board.Conflict, end filesEnd) error {
	r := board.Resolution{By: agency.FromSystem}
	switch {
	case end.escalate:
	case end.last != nil:
		r.How = "contract " + string(end.last.contract) + " was integrated on top of the other's work"
		r.Proof = board.Proof{Kind: board.ProofCommit, Ref: string(end.last.landed)}
		r.Check = func(ctx context.Context, c board.Conflict, p board.Proof) error {
			return s.work.Landed(ctx, c.Run, agency.OID(p.Ref), end.last.contract, end.before)
		}
	case end.dropped != nil:
		r.How = "contract " + string(end.dropped.contract) + " ended and changed nothing on the run's branch"
		r.Proof = board.Proof{Kind: board.ProofContract, Ref: string(end.dropped.contract)}
		r.Check = s.neverLanded
	default:
		return nil
	}
	if !end.escalate {
		err := board.Resolve(ctx, s.db, s.fence, c.Run, c.ID, r)
		if kind := agency.KindOf(err); kind != agency.KindInvalid {
			if kind == agency.KindConflict {
				err = nil // another side's end has resolved it, or it has grown and waits for more
			}
			return err
		}
	}
	_, err := s.write(ctx, func(tx *store.Tx) error { return board.Escalate(tx, c.Run, c.ID, "") })
	return err
}

// neverLanded refuses a proof whose contract is at work or has landed.
func (s *Activities) neverLanded(ctx context.Context, c board.Conflict, p board.Proof) error {
	return s.db.Read(ctx, func(q *store.Snapshot) error {
		contract, err := registry.Contract(q, c.Run, agency.ContractID(p.Ref))
		if err != nil {
			return err
		}
		landings, err := land.Landings(q, c.Run)
		landed := slices.ContainsFunc(landings, func(l land.Landing) bool { return l.Contract == contract.ID })
		if err == nil && (!contract.Status.Final() || landed) {
			err = agency.Errorf(agency.KindInvalid, "contract %s is %s, landed: %t", contract.ID, contract.Status, landed)
		}
		return err
	})
}
