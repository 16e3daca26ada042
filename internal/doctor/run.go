package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/board/state"
	"agency/internal/budget"
	"agency/internal/check"
	"agency/internal/event"
	"agency/internal/git"
	"agency/internal/land"
	"agency/internal/mode"
	"agency/internal/registry"
	"agency/internal/store"
	"agency/internal/verdicts"
	"agency/internal/workspace"
)

// Run says which run's record, tree and leftovers to look at.
type Run struct {
	DB       *store.DB
	Git      *git.Program
	Repo     git.Location // as whoever asks stands in it
	StateDir string
	ID       agency.RunID
	// Live tells that a host works on it now: then what it is in the middle of
	// is no leftover.
	Live bool
}

// look is one check of a run; no finding is good.
type look struct {
	name string
	fn   func(context.Context, *record) (problem string, err error)
}

// record is what the store says about the run, read once.
type record struct {
	Run
	run       agency.Run
	repo      git.Location // zero where it is gone: repoErr says so
	repoErr   error
	contracts []agency.Contract
	messages  []board.Post
	// checkpoints are what agents have done for good, by the log.
	checkpoints []state.Checkpoint
	live        []board.Agent
	verdicts    []agency.Verdict
	receipts    map[agency.ReceiptID]bool
	lines       []budget.Line
	root        budget.State
	gates       []agency.Gate
	events      []agency.Event
}

// CheckAt looks at one run in the store's file db, whose schema is given.
func (r Run) CheckAt(ctx context.Context, db string, schema []store.Set) (found []Finding, err error) {
	if r.DB, err = store.Open(ctx, store.Options{Path: db, Sets: schema, ReadOnly: true}); err != nil {
		return nil, err
	}
	defer func() { _ = r.DB.Close() }() // only read
	if r.Git, err = git.NewProgram(ctx, git.Options{}); err != nil {
		return nil, err
	}
	return r.Check(ctx), nil
}

// Check looks at one run.
func (r Run) Check(ctx context.Context) []Finding {
	rec, err := r.read(ctx)
	if err != nil {
		return []Finding{ofError("record", err)}
	}
	var out []Finding
	for _, l := range []look{
		{"record", contractsFit},
		{"events", eventsFit},
		{"receipts", receiptsExist},
		{"budget", sumsFit},
		{"messages", mailFits},
		{"agents", nobodyLeft},
		{"objects", objectsWhole},
		{"history", stepsOnce},
		{"leftovers", nothingLeft},
		{"processes", noProcesses},
	} {
		problem, err := l.fn(ctx, rec)
		switch {
		case err != nil:
			out = append(out, ofError(l.name, err))
		case problem != "":
			out = append(out, bad(l.name, "", "%s", problem))
		default:
			out = append(out, ok(l.name, ""))
		}
	}
	return out
}

func (r Run) read(ctx context.Context) (*record, error) {
	rec := &record{Run: r, receipts: map[agency.ReceiptID]bool{}}
	err := r.DB.Read(ctx, func(q *store.Snapshot) (err error) {
		if rec.run, err = registry.Run(q, r.ID); err != nil {
			return err
		}
		rec.repo, rec.repoErr = workspace.Locate(q, rec.run, r.Repo)
		if rec.contracts, err = registry.Contracts(q, r.ID); err != nil {
			return err
		}
		if rec.messages, err = board.Posts(q, r.ID); err != nil {
			return err
		}
		if rec.checkpoints, err = state.Checkpoints(q, r.ID, ""); err != nil {
			return err
		}
		if rec.live, err = board.Live(q, r.ID); err != nil {
			return err
		}
		if rec.verdicts, err = verdicts.All(q, r.ID); err != nil {
			return err
		}
		receipts, err := check.Receipts(q, r.ID)
		if err != nil {
			return err
		}
		for _, x := range receipts {
			rec.receipts[x.ID] = true
		}
		if rec.lines, err = budget.Lines(q, r.ID); err != nil {
			return err
		}
		if rec.root, err = budget.Read(q, r.ID, budget.Root); err != nil {
			return err
		}
		if rec.gates, err = registry.Gates(q, r.ID); err != nil {
			return err
		}
		rec.events, err = event.Since(q, 0, event.Filter{Run: r.ID}, 1_000_000)
		return err
	})
	return rec, err
}

// contractsFit: a run that has ended has no contract that could go on, and one
// that succeeded has them all complete, but for those that a new plan withdrew
// those whose failure was dealt with, and agents of files that others went on without.
func contractsFit(_ context.Context, r *record) (string, error) {
	excused := r.excused()
	for _, c := range r.contracts {
		switch {
		case r.run.State.Final() && !c.Status.Final() && c.Status != agency.StatusBlocked:
			return fmt.Sprintf("the run has %s and contract %s is %s", r.run.State, c.ID, c.Status), nil
		case c.Post != nil && c.Post.Optional: // others went on without its answer
		case r.run.State == agency.StateSucceeded && c.Status != agency.StatusComplete && c.Status != agency.StatusCancelled:
			if excused--; excused >= 0 {
				continue
			}
			return fmt.Sprintf("the run has succeeded and contract %s is %s", c.ID, c.Status), nil
		}
	}
	if r.run.State == agency.StateRunning && !r.Live {
		return "the run is recorded as running and no host works on it; agency resume " + string(r.ID), nil
	}
	return "", nil
}

// excused is how many contracts of a run that succeeded may not be complete: one
// whose place a new plan took, one for each time that a person sent work back and what was
// there before was merged; all where the run went on in another way, or where
// a person took what had landed.
func (r *record) excused() (n int) {
	for _, g := range r.gates {
		if g.ID == mode.IncompleteGate(r.run.ID) && g.Decision.Verb == agency.Approve {
			return len(r.contracts)
		}
		if g.Kind == agency.GateMerge && g.Decision.Verb == agency.Reject {
			n++
		}
	}
	if r.run.MovedTo != "" {
		return len(r.contracts)
	}
	for _, c := range r.contracts {
		if c.ID == mode.ReplanContract && c.Status == agency.StatusComplete {
			n++
		}
	}
	return n
}

// eventsFit: ids rise, the first event starts the run, and its end is told
// once.
func eventsFit(_ context.Context, r *record) (string, error) {
	if len(r.events) == 0 || r.events[0].Type != "run_started" {
		return "the log does not begin with run_started", nil
	}
	ends, last := 0, int64(0)
	for _, ev := range r.events {
		if ev.ID <= last {
			return fmt.Sprintf("event %d follows event %d", ev.ID, last), nil
		}
		last = ev.ID
		switch ev.Type {
		case "run_succeeded", "run_failed", "run_cancelled":
			ends++
		}
	}
	if want := 0; r.run.State.Final() {
		want = 1
		if ends != want {
			return fmt.Sprintf("the run's end is told %d times", ends), nil
		}
	}
	return "", nil
}

func receiptsExist(_ context.Context, r *record) (string, error) {
	for _, v := range r.verdicts {
		ids := append([]agency.ReceiptID(nil), v.Receipts...)
		for _, p := range v.Proofs {
			if p.Receipt != "" {
				ids = append(ids, p.Receipt)
			}
		}
		for _, id := range ids {
			if !r.receipts[id] {
				return fmt.Sprintf("a verdict on %s names the receipt %s, which does not exist", v.ContractID, id), nil
			}
		}
	}
	return "", nil
}

// sumsFit: what the requests cost is what the run has spent, and nothing is
// held back for a request that nobody waits for.
func sumsFit(_ context.Context, r *record) (string, error) {
	var money agency.Money
	var tokens int64
	for _, l := range r.lines {
		money += l.Money
		tokens += l.Billed
	}
	switch {
	case money != r.root.Money || tokens != r.root.Tokens:
		return fmt.Sprintf("the requests sum up to %s and %d tokens, the run to %s and %d", money, tokens, r.root.Money, r.root.Tokens), nil
	case r.root.Reserved != 0 && !r.Live:
		return fmt.Sprintf("%s is held back for a request that nobody waits for", r.root.Reserved), nil
	}
	return "", nil
}

func (r *record) privateDir() string {
	return filepath.Join(r.StateDir, "runs", string(r.ID), "git")
}

func objectsWhole(ctx context.Context, r *record) (string, error) {
	if _, err := os.Stat(r.privateDir()); errors.Is(err, fs.ErrNotExist) {
		return "the run's git directory is gone", nil
	}
	return "", fsck(ctx, r.privateDir())
}

// stepsOnce: each step's key stands once in the history of the run's branch,
// and the run was merged into its target at most once.
func stepsOnce(ctx context.Context, r *record) (string, error) {
	if r.run.Mode == agency.ModeAgent { // nothing of it lands, so that it has no branch
		return "", nil
	}
	if r.repoErr != nil {
		return "", r.repoErr
	}
	user := r.Git.At(r.repo)
	head, at, err := land.HeadOf(ctx, user, r.Git.Open(r.privateDir()), "refs/heads/"+r.run.Branch)
	if err != nil {
		return "", err
	}
	if head == "" {
		return "the branch " + r.run.Branch + " is gone", nil
	}
	steps := map[string]int{}
	commits, err := at.Commits().Log(ctx, head, git.LogOptions{})
	if err != nil {
		return "", err
	}
	for _, c := range commits {
		if c.Trailer("Agency-Run") != string(r.ID) {
			continue
		}
		if key := c.Trailer("Agency-Step"); key != "" {
			steps[key]++
		}
	}
	for key, n := range steps {
		if n != 1 {
			return fmt.Sprintf("the step %s stands %d times in the history", key, n), nil
		}
	}
	return mergedOnce(ctx, user, r)
}

func mergedOnce(ctx context.Context, user git.Dir, r *record) (string, error) {
	at, err := user.Refs().Get(ctx, "refs/heads/"+r.run.Target)
	if err != nil || at == "" || r.run.Merged == "" {
		return "", err
	}
	commits, err := user.Commits().Log(ctx, at, git.LogOptions{})
	if err != nil {
		return "", err
	}
	merges := 0
	for _, c := range commits {
		if c.Trailer("Agency-Run") == string(r.ID) && c.Trailer("Agency-Step") == "" && len(c.Parents) == 2 {
			merges++
		}
	}
	if merges > 1 {
		return fmt.Sprintf("the run was merged %d times into %s", merges, r.run.Target), nil
	}
	return "", nil
}

// nothingLeft: the user's repository has no worktree and no lock of ours, and
// the run's folder no checkout that is made anew each time.
func nothingLeft(ctx context.Context, r *record) (string, error) {
	if r.repoErr != nil {
		return "", r.repoErr
	}
	trees, err := r.Git.At(r.repo).Refs().Worktrees(ctx)
	if err != nil {
		return "", err
	}
	for _, t := range trees {
		if strings.HasPrefix(t.Path, r.StateDir+string(filepath.Separator)) {
			return "git worktree list shows " + t.Path, nil
		}
	}
	if r.Live {
		return "", nil
	}
	if _, err := os.Lstat(filepath.Join(r.repo.GitDir, "index.lock")); err == nil {
		return "an index.lock stands in " + r.repo.GitDir, nil
	}
	for _, kind := range []string{"verify", "integrate"} {
		entries, err := os.ReadDir(filepath.Join(r.StateDir, "runs", string(r.ID), kind))
		if err == nil && len(entries) > 0 {
			return fmt.Sprintf("a checkout is left: %s/%s", kind, entries[0].Name()), nil
		}
	}
	return "", nil
}

func noProcesses(_ context.Context, r *record) (string, error) {
	if r.Live {
		return "", nil
	}
	pids := processesIn(filepath.Join(r.StateDir, "runs", string(r.ID)))
	if len(pids) > 0 {
		return fmt.Sprintf("processes %v still work in the run's folder", pids), nil
	}
	return "", nil
}
