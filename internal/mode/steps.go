package mode

import (
	"context"
	"errors"
	"fmt"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/budget"
	"agency/internal/flow"
	"agency/internal/registry"
	"agency/internal/store"
)

// The activities of this package only touch the registry and the budget; each
// is one transaction that a repetition leaves as it is.
var (
	createContract  = flow.Activity[agency.Contract, flow.None]{Name: "mode.create_contract"}
	createContracts = flow.Activity[[]agency.Contract, flow.None]{Name: "mode.create_contracts"}
	blockContracts  = flow.Activity[blocking, flow.None]{Name: "mode.block_contracts"}
	advanceContract = flow.Activity[step, flow.None]{Name: "mode.advance"}
	openGate        = flow.Activity[agency.Gate, flow.None]{Name: "mode.gate"}
	openMergeGate   = flow.Activity[mergeGateSpec, flow.None]{Name: "mode.merge_gate"}
	raiseBudget     = flow.Activity[grant, flow.None]{Name: "mode.raise_budget"}
)

// step is one fact about one contract, as the journal keeps it: exactly one of
// the pointers is set.
type step struct {
	Run      agency.RunID      `json:"run"`
	Contract agency.ContractID `json:"contract"`

	Started      *agency.Started      `json:"started,omitempty"`
	Parking      *agency.Parking      `json:"parked,omitempty"`
	Unparked     *agency.Unparked     `json:"unparked,omitempty"`
	ClaimMade    *agency.ClaimMade    `json:"claimed,omitempty"`
	Verified     *agency.Verified     `json:"verified,omitempty"`
	Reviewed     *agency.Reviewed     `json:"approved,omitempty"`
	Reworked     *agency.Reworked     `json:"reworked,omitempty"`
	Returned     *agency.Returned     `json:"returned,omitempty"`
	LandingBegun *agency.LandingBegun `json:"landing,omitempty"`
	HasLanded    *agency.HasLanded    `json:"landed,omitempty"`
	Granted      *agency.Granted      `json:"granted,omitempty"`
	GaveUp       *agency.GaveUp       `json:"given_up,omitempty"`
	Withdrawn    *agency.Withdrawn    `json:"withdrawn,omitempty"`
}

func (s step) fact() (agency.Fact, error) {
	switch {
	case s.Started != nil:
		return *s.Started, nil
	case s.Parking != nil:
		return *s.Parking, nil
	case s.Unparked != nil:
		return *s.Unparked, nil
	case s.ClaimMade != nil:
		return *s.ClaimMade, nil
	case s.Verified != nil:
		return *s.Verified, nil
	case s.Reviewed != nil:
		return *s.Reviewed, nil
	case s.Reworked != nil:
		return *s.Reworked, nil
	case s.Returned != nil:
		return *s.Returned, nil
	case s.LandingBegun != nil:
		return *s.LandingBegun, nil
	case s.HasLanded != nil:
		return *s.HasLanded, nil
	case s.Granted != nil:
		return *s.Granted, nil
	case s.GaveUp != nil:
		return *s.GaveUp, nil
	case s.Withdrawn != nil:
		return *s.Withdrawn, nil
	}
	return nil, agency.Errorf(agency.KindInternal, "contract %s: a step without a fact", s.Contract)
}

// blocking says that contracts can never start, and why.
type blocking struct {
	Run       agency.RunID        `json:"run"`
	Contracts []agency.ContractID `json:"contracts"`
	Reason    string              `json:"reason"`
}

type grant struct {
	Run   agency.RunID `json:"run"`
	Node  string       `json:"node"`
	Limit string       `json:"limit"` // that was reached: usd, tokens or wall
	USD   float64      `json:"usd,omitempty"`
}

// Shop knows a run's work.
type Shop interface {
	// Stat is the summary of a difference of two commits of a run, a line a
	// file.
	Stat(ctx context.Context, run agency.RunID, from, to agency.OID) (string, error)
	// SandboxOff tells whether the run's commands had the rights of the user.
	SandboxOff(ctx context.Context, run agency.RunID) (bool, error)
	// Signing tells with what the user's git signs commits; "" where not.
	Signing(ctx context.Context, run agency.RunID) (string, error)
	// Landed refuses a commit that is not the landing of a contract on top of
	// those of others: KindInvalid.
	Landed(ctx context.Context, run agency.RunID, commit agency.OID, contract agency.ContractID, others []agency.ContractID) error
}

// Steps performs this package's activities.
type Steps struct {
	db    *store.DB
	fence agency.Fence
	shop  Shop

	models  Models
	books   Books
	backlog Backlog
}

// NewSteps makes the performer of a host's runs; fence is the host's.
func NewSteps(db *store.DB, fence agency.Fence, shop Shop, models Models, books Books, list Backlog) *Steps {
	return &Steps{db: db, fence: fence, shop: shop, models: models, books: books, backlog: list}
}

// Bind registers the activities.
func (s *Steps) Bind(r *flow.Registry) {
	flow.Bind(r, createContract, s.create)
	flow.Bind(r, createContracts, s.createAll)
	flow.Bind(r, advanceContract, s.advance)
	flow.Bind(r, blockContracts, s.block)
	flow.Bind(r, isPaused, s.isPaused)
	flow.Bind(r, openGate, s.gate)
	flow.Bind(r, openMergeGate, s.mergeGate)
	flow.Bind(r, raiseBudget, s.raise)
	flow.Bind(r, routeModel, s.route)
	flow.Bind(r, estimatePlan, s.estimate)
	flow.Bind(r, adoptPlan, s.adopt)
	flow.Bind(r, markFeature, s.mark)
	flow.Bind(r, noteEscalation, s.escalate)
	flow.Bind(r, noteMove, s.moved)
	flow.Bind(r, noteClash, s.clash)
	flow.Bind(r, settleClash, s.settle)
	s.bindResults(r)
	flow.Bind(r, noteReview, s.review)
	flow.Bind(r, raiseReviews, s.raiseReviews)
	flow.Bind(r, settleReviews, s.settleReviews)
	flow.Bind(r, meetQuestion, s.answer)
	flow.Bind(r, handOver, s.handOver)
}

func (s *Steps) write(ctx context.Context, fn func(*store.Tx) error) (flow.None, error) {
	return flow.None{}, s.db.WriteFenced(ctx, s.fence, fn)
}

func (s *Steps) create(ctx context.Context, key agency.StepKey, c agency.Contract) (flow.None, error) {
	return s.createAll(ctx, key, []agency.Contract{c})
}

// createAll makes the contracts of a plan known, all of them or none.
func (s *Steps) createAll(ctx context.Context, _ agency.StepKey, all []agency.Contract) (flow.None, error) {
	return s.write(ctx, func(tx *store.Tx) error {
		for _, c := range all {
			if err := budget.Open(tx, c.RunID, budget.ContractNode(c.ID), budget.Root, budget.Limits{}); err != nil {
				return err
			}
			if err := registry.CreateContract(tx, c); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Steps) block(ctx context.Context, key agency.StepKey, in blocking) (flow.None, error) {
	return s.write(ctx, func(tx *store.Tx) error {
		for _, id := range in.Contracts {
			if _, err := registry.Advance(tx, in.Run, id, key+"/"+agency.StepKey(id), agency.Blocking{Reason: in.Reason}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Steps) advance(ctx context.Context, key agency.StepKey, in step) (flow.None, error) {
	fact, err := in.fact()
	if err != nil {
		return flow.None{}, err
	}
	var c agency.Contract
	done, err := s.write(ctx, func(tx *store.Tx) error {
		if c, err = registry.Advance(tx, in.Run, in.Contract, key, fact); err != nil || !c.Status.Final() {
			return err
		}
		return errors.Join(leave(tx, c), board.EndEdits(tx, in.Run, c.ID))
	})
	if err == nil && c.Status.Final() {
		err = s.settleOf(ctx, c)
	}
	return done, err
}

// leave ends the agents of a contract that has ended: mail that only they
// could read goes back as undeliverable.
func leave(tx *store.Tx, c agency.Contract) error {
	live, err := board.Live(tx, c.RunID)
	if err != nil {
		return err
	}
	status := board.AgentFailed
	switch c.Status {
	case agency.StatusComplete:
		status = board.AgentCompleted
	case agency.StatusCancelled:
		status = board.AgentTerminated
	}
	for _, a := range live {
		if a.Contract != c.ID {
			continue
		}
		if err := board.Leave(tx, c.RunID, a.ID, status, fmt.Sprintf("contract %s is %s", c.ID, c.Status)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Steps) gate(ctx context.Context, _ agency.StepKey, g agency.Gate) (flow.None, error) {
	if showsRed(g.Kind) {
		if err := s.db.Read(ctx, func(q *store.Snapshot) error { return addRed(q, &g) }); err != nil {
			return flow.None{}, err
		}
	}
	return s.write(ctx, func(tx *store.Tx) error { return registry.OpenGate(tx, g) })
}

func (s *Steps) raise(ctx context.Context, _ agency.StepKey, g grant) (flow.None, error) {
	return s.write(ctx, func(tx *store.Tx) error {
		now, err := budget.Read(tx, g.Run, g.Node)
		if err != nil {
			return err
		}
		return budget.Raise(tx, g.Run, g.Node, raised(now.Limits, g))
	})
}

// raised are the limits after a person granted more: a sum named is the new
// money limit; without one, or where another limit was reached, that limit is
// doubled.
func raised(now budget.Limits, g grant) budget.Limits {
	switch {
	case g.Limit == "tokens":
		now.Tokens *= 2
	case g.Limit == "wall":
		now.Wall *= 2
	case g.USD == 0:
		now.Money *= 2
	}
	if g.USD > 0 {
		now.Money = agency.USD(g.USD)
	}
	return now
}
