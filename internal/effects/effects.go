// Package effects is the transactions of a run's program: what its activities
// do to the registry, the budget, the board and the log. Each stands beside the
// typed activity by which a program calls it, is one commit, and leaves as it
// is what it has done before. It decides nothing about the way of a run: that
// is the business of contractrun and mode.
package effects

import (
	"context"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/registry"
	"agency/internal/report"
	"agency/internal/store"
)

// Activities performs this package's activities.
type Activities struct {
	db    *store.DB
	fence agency.Fence
	work  RunWork

	models   Models
	landings Landings
	backlog  Backlog
	above    Above
}

// New makes the performer of a host's runs; fence is the host's.
func New(db *store.DB, fence agency.Fence, work RunWork, models Models, landings Landings, list Backlog) *Activities {
	return &Activities{db: db, fence: fence, work: work, models: models, landings: landings, backlog: list}
}

// Above knows the limits that a user sets across runs.
type Above interface {
	// Tell says in a line for each how it stands and which runs spent it.
	Tell(ctx context.Context) ([]string, error)
}

// Below has budget gates tell of limits that are above the runs.
func (s *Activities) Below(a Above) *Activities {
	s.above = a
	return s
}

// RunWork answers what a gate or a proof wants to know of a run's commits and commands.
type RunWork interface {
	// Change is what differs between two commits or trees of a run.
	Change(ctx context.Context, run agency.RunID, from, to agency.OID) (Change, error)
	// SandboxOff tells whether the run's commands had the rights of the user.
	SandboxOff(ctx context.Context, run agency.RunID) (bool, error)
	// Signing tells with what the user's git signs commits; "" where not.
	Signing(ctx context.Context, run agency.RunID) (string, error)
	// Landed refuses a commit that is not the landing of a contract on top of
	// those of others: KindInvalid.
	Landed(ctx context.Context, run agency.RunID, commit agency.OID, contract agency.ContractID, others []agency.ContractID) error
}

// Change is a difference as a merge gate shows it.
type Change struct {
	Stat string // a line a file
	// Acts are the files of it that act on others' machines, but for edits of the
	// user that the run started from. Who brings them is not said.
	Acts []agency.Act
}

// Landings knows what a run's landings changed.
type Landings interface {
	// Landings are those of a run, and what else a report wants that the store
	// does not know.
	Landings(ctx context.Context, run agency.RunID) (report.Input, error)
}

// Backlog edits the backlog in a checkout of the run.
type Backlog interface {
	// MarkDone makes a checkout of a commit whose backlog says that a feature is
	// done, and gives its tree. The same again gives the same. KindInvalid and
	// KindNotFound: the backlog of that commit cannot say so.
	MarkDone(ctx context.Context, run agency.RunID, workspace string, at agency.OID, f agency.FeatureID, e agency.FeatureEvidence) (agency.OID, error)
}

// Models knows the models of a run.
type Models interface {
	// Level is the first model of a level, and its price where that is known.
	Level(ctx context.Context, run agency.RunID, level agency.Level) (model string, price *agency.Price, err error)
	// Staff is what the sessions of a role ask, on a level or, where it is empty,
	// of the role's own models, and how far each may go.
	Staff(ctx context.Context, run agency.RunID, role agency.RoleID, level agency.Level) (agency.Staffing, error)
	// Routing is how the run picks levels.
	Routing(ctx context.Context, run agency.RunID) (agency.Routing, error)
}

// Bind registers the activities.
func (s *Activities) Bind(r *flow.Registry) {
	BindWrite(r, s.db, s.fence, CreateContract, createContract)
	BindWrite(r, s.db, s.fence, CreateContracts, createContracts)
	BindWrite(r, s.db, s.fence, BeginPost, beginPost)
	BindWrite(r, s.db, s.fence, AmendContract, registry.Amend)
	BindWrite(r, s.db, s.fence, BlockContracts, blockContracts)
	BindWrite(r, s.db, s.fence, RaiseBudget, raiseBudget)
	BindWrite(r, s.db, s.fence, AdoptPlan, adoptPlan)
	BindWrite(r, s.db, s.fence, RecordModeChange, recordModeChange)
	BindWrite(r, s.db, s.fence, KeepManagerWords, keepManagerWords)
	BindWrite(r, s.db, s.fence, KeepAnswer, keepAnswer)
	BindWrite(r, s.db, s.fence, HandOver, handOver)
	BindWrite(r, s.db, s.fence, RecordWriteConflict, recordWriteConflict)
	BindWrite(r, s.db, s.fence, EscalateReviewConflict, escalateReviewConflict)
	flow.Bind(r, Advance, s.advance)
	flow.Bind(r, ReadPaused, s.readPaused)
	flow.Bind(r, OpenGate, s.openGate)
	flow.Bind(r, WithdrawGate, func(ctx context.Context, _ agency.StepKey, in Withdrawal) (agency.Decision, error) {
		return withdrawGate(ctx, s, in)
	})
	flow.Bind(r, OpenMergeGate, s.openMergeGate)
	flow.Bind(r, RouteModel, s.routeModel)
	flow.Bind(r, EstimatePlan, s.estimatePlan)
	flow.Bind(r, MarkFeature, s.markFeature)
	flow.Bind(r, ReadRollup, s.readRollup)
	flow.Bind(r, ReadResults, s.readResults)
	flow.Bind(r, AnswerQuestion, s.answerQuestion)
	flow.Bind(r, SettleWriteConflicts, s.settleWriteConflicts)
	flow.Bind(r, RecordReview, s.recordReview)
	flow.Bind(r, ResolveReviewConflict, s.resolveReviewConflict)
}

// BindWrite registers an activity that is one transaction of the host whose fence it is.
func BindWrite[I any](r *flow.Registry, db *store.DB, fence agency.Fence, a flow.Activity[I, flow.None], fn func(*store.Tx, agency.StepKey, I) error) {
	flow.Bind(r, a, func(ctx context.Context, key agency.StepKey, in I) (flow.None, error) {
		return flow.None{}, db.WriteFenced(ctx, fence, func(tx *store.Tx) error { return fn(tx, key, in) })
	})
}

func (s *Activities) write(ctx context.Context, fn func(*store.Tx) error) (flow.None, error) {
	return flow.None{}, s.db.WriteFenced(ctx, s.fence, fn)
}
