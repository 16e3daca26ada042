package land

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/code"
	"agency/internal/event"
	"agency/internal/flow"
	"agency/internal/git"
	"agency/internal/registry"
	"agency/internal/store"
	"agency/internal/workspace"
)

// Runs finds the private git directory of a run (workspace.Manager).
type Runs interface {
	Run(ctx context.Context, id agency.RunID) (*workspace.Run, error)
}

// Options of Queue and Target.
type Options struct {
	DB       *store.DB
	Runs     Runs
	Verifier Verifier     // of the Queue
	Fence    agency.Fence // of the host; a write by a superseded host is refused
	Syntax   *code.Engine // tells what a change defines; nil: by the words of its lines
	// Took is how long a run's checks took last, by its own receipts; zero where
	// that is not known. From what BatchAbove says on, landings that wait for each
	// other are verified as one tree. Took nil: never. BatchAbove nil or zero: a minute.
	Took       func(context.Context, agency.RunID) (time.Duration, error)
	BatchAbove func(context.Context, agency.RunID) (time.Duration, error)
	// Reached is called at named points between effects. Tests end the process
	// there; nil in production.
	Reached func(point string)
}

func (o Options) reached(point string) {
	if o.Reached != nil {
		o.Reached(point)
	}
}

// Queue lands claims on the branches and lines of runs, one at a time on each; where
// the checks take long, those that wait for their turn land together.
type Queue struct {
	o       Options
	locks   keyed
	waiting waiting
}

// NewQueue makes a Queue. It does no I/O.
func NewQueue(o Options) *Queue { return &Queue{o: o} }

// Bind registers the activities of both.
func Bind(r *flow.Registry, q *Queue, t *Target) {
	flow.Bind(r, BranchActivity, q.Branch)
	flow.Bind(r, HeadActivity, q.Head)
	flow.Bind(r, MoveActivity, q.Move)
	flow.Bind(r, FilesActivity, q.Files)
	flow.Bind(r, Activity, q.Land)
	flow.Bind(r, ResolutionActivity, q.Resolution)
	flow.Bind(r, MergeActivity, t.Merge)
}

// keyed is one lock a name.
type keyed struct {
	mu    sync.Mutex
	locks map[string]*sync.Mutex
}

func (k *keyed) lock(name string) (unlock func()) {
	k.mu.Lock()
	if k.locks == nil {
		k.locks = map[string]*sync.Mutex{}
	}
	l := k.locks[name]
	if l == nil {
		l = &sync.Mutex{}
		k.locks[name] = l
	}
	k.mu.Unlock()
	l.Lock()
	return l.Unlock
}

// The trailers of commits.
const (
	trailerRun      = "Agency-Run"
	trailerContract = "Agency-Contract"
	trailerStep     = "Agency-Step"
)

func branchRef(short string) string { return "refs/heads/" + short }

// Branch creates the run's branch at its base, which pins the base. It is
// idempotent. A branch of the user whose name is in the way is KindInvalid and
// names branch_prefix.
func (q *Queue) Branch(ctx context.Context, _ agency.StepKey, spec BranchSpec) (Branch, error) {
	defer q.locks.lock(placeOf(spec.Run, spec.Line))()
	run, record, err := q.o.open(ctx, spec.Run)
	if err != nil {
		return Branch{}, err
	}
	if spec.Line != "" {
		return q.beginLine(ctx, run, spec)
	}
	if err := checkOwner(run.Info().Repo.CommonDir); err != nil {
		return Branch{}, agency.Errorf(agency.KindDenied, "%w", err)
	}
	b := Branch{Ref: branchRef(record.Branch), Head: spec.Base}
	user := run.User()
	got, err := user.Refs().Get(ctx, b.Ref)
	if err != nil {
		return b, err
	}
	if got != "" && got != spec.Base {
		b.Head = got
		return b, ours(ctx, run, b.Ref, got, spec)
	}
	if got == spec.Base {
		return b, nil
	}
	if err := pinDirty(ctx, run, user, spec.Base); err != nil {
		return b, err
	}
	q.o.reached("branch.before")
	err = user.Refs().Update(ctx, b.Ref, spec.Base, "", "agency: run "+string(spec.Run)+" begins", identity(run))
	q.o.reached("branch.after")
	if blocked := (*git.Blocked)(nil); errors.As(err, &blocked) {
		return b, agency.Errorf(agency.KindInvalid, "the run's branch cannot be made: %w", err).
			WithMend("set branch_prefix in agency.yaml to a word that is no branch, or: git branch -m %[1]s %[1]s-own", strings.TrimPrefix(blocked.By, "refs/heads/"))
	}
	return b, mendable(err)
}

// Head is where the run's branch or a line stands now.
func (q *Queue) Head(ctx context.Context, _ agency.StepKey, spec BranchSpec) (Branch, error) {
	run, record, err := q.o.open(ctx, spec.Run)
	if err != nil {
		return Branch{}, err
	}
	defer q.locks.lock(placeOf(spec.Run, spec.Line))()
	on := levelOf(q.o, run, record, spec.Line)
	b := Branch{Ref: on.ref()}
	if b.Head, err = on.head(ctx); err == nil && b.Head == "" {
		err = on.gone(ctx)
	}
	if err != nil {
		return b, err
	}
	if b.Held, err = on.held(ctx); err != nil {
		return b, err
	}
	b.Tree, err = run.Dir().Refs().ResolveTree(ctx, b.Head)
	return b, err
}

// ours accepts a branch that an earlier process of this run has moved on.
func ours(ctx context.Context, run *workspace.Run, ref string, head agency.OID, spec BranchSpec) error {
	d := run.Dir()
	if ok, err := d.Commits().IsAncestor(ctx, spec.Base, head); err != nil {
		return err
	} else if ok {
		commits, err := d.Commits().Log(ctx, head, git.LogOptions{Not: []agency.OID{spec.Base}, Limit: 1})
		if err != nil {
			return err
		}
		if len(commits) == 1 && commits[0].Trailer(trailerRun) == string(spec.Run) {
			return nil
		}
	}
	short := strings.TrimPrefix(ref, "refs/heads/")
	return agency.Errorf(agency.KindConflict, "branch %s exists and is not of this run", short).
		WithMend("git branch -m %[1]s %[1]s-own", short)
}

// pinDirty brings the commit of --include-dirty into the user's repository,
// where the branch is about to name it. Any other base is there already.
func pinDirty(ctx context.Context, run *workspace.Run, user git.Dir, base agency.OID) error {
	_, err := user.Objects().Type(ctx, base)
	if agency.KindOf(err) != agency.KindNotFound {
		return err
	}
	commits, err := run.Dir().Commits().Log(ctx, base, git.LogOptions{Limit: 1})
	if err != nil {
		return err
	}
	return run.Send(ctx, base, commits[0].Parents...)
}

// Land lands a claim. It is idempotent by the key: after a crash it first looks
// for the trailer on the branch. Errors of the kind transient are of the world
// outside; the same call goes on once they are mended.
func (q *Queue) Land(ctx context.Context, key agency.StepKey, spec Spec) (Outcome, error) {
	if strings.ContainsAny(string(key), "\r\n") || key == "" {
		return Outcome{}, agency.Errorf(agency.KindInternal, "landing: step key %q", key)
	}
	run, record, err := q.o.open(ctx, spec.Run)
	if err != nil {
		return Outcome{}, err
	}
	l := &landing{o: q.o, run: run, spec: spec, key: key, level: levelOf(q.o, run, record, spec.Line)}
	if err := q.o.DB.Read(ctx, func(s *store.Snapshot) error {
		if l.contract, err = registry.Contract(s, spec.Run, spec.Contract); err != nil {
			return err
		}
		said, err := registry.Said(s, spec.Run, spec.Contract)
		l.said = said[spec.Contract]
		return err
	}); err != nil {
		return Outcome{}, err
	}
	w := &waiter{l: l}
	place := placeOf(spec.Run, spec.Line)
	defer q.waiting.join(place, w)()
	q.o.reached("land.waits")
	defer q.locks.lock(place)()
	out := w.out
	if !w.done {
		out, err = q.turn(ctx, w)
	}
	if err == nil {
		err = measure(ctx, run, out.Landed)
	}
	return out, mendable(err)
}

// measure tells what a landing changed on its level, by its commit.
func measure(ctx context.Context, run *workspace.Run, done *Landed) error {
	if done == nil || done.Empty {
		return nil
	}
	commits, err := run.Dir().Commits().Log(ctx, done.Commit, git.LogOptions{Limit: 1})
	if err != nil {
		return err
	}
	changes, err := run.Dir().Diff().Changes(ctx, commits[0].Parents[0], done.Commit)
	files := git.FilesOf(changes)
	done.Files = &files
	return err
}

// turn lands what has the turn, with those that wait where that saves time.
func (q *Queue) turn(ctx context.Context, w *waiter) (Outcome, error) {
	queued, order, err := q.queued(ctx, w.l.spec)
	if err != nil {
		return Outcome{}, err
	}
	batch, err := q.batch(ctx, w.l.spec.Run, queued, order)
	switch {
	case err != nil:
	case len(batch) > 1:
		err = q.landBatch(ctx, batch, "")
	default:
		landPredecessors(ctx, queued, order, w)
	}
	if w.done { // what went wrong after that is for those whose landing it is
		return w.out, nil
	}
	if err != nil {
		return Outcome{}, err
	}
	return w.l.landAlone(ctx)
}

// maxSwaps bounds how often a landing starts over because the branch moved.
const maxSwaps = 5

func (o Options) open(ctx context.Context, id agency.RunID) (*workspace.Run, agency.Run, error) {
	run, err := o.Runs.Run(ctx, id)
	if err != nil {
		return nil, agency.Run{}, err
	}
	var record agency.Run
	err = o.DB.Read(ctx, func(s *store.Snapshot) error {
		record, err = registry.Run(s, id)
		return err
	})
	return run, record, err
}

func identity(run *workspace.Run) git.Identity { return run.Info().Settings.Identity }

// mendable turns a lock of git that stands in the way into an error that ends
// the run as interrupted, not as failed: it is mended outside.
func mendable(err error) error {
	if locked := (*git.Locked)(nil); errors.As(err, &locked) {
		return agency.Errorf(agency.KindTransient, "%w", err).WithMend("%s", agency.MendOf(locked))
	}
	return err
}

// write is one fenced transaction.
func (o Options) write(ctx context.Context, fn func(*store.Tx) error) error {
	return o.DB.WriteFenced(ctx, o.Fence, fn)
}

func appendEvent(tx *store.Tx, ev agency.Event, contract agency.ContractID) error {
	ev.ContractID = contract
	_, err := event.Append(tx, ev)
	return err
}
