package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"time"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/sandbox"
	"agency/internal/workspace"
)

// bench is a clean checkout of one tree on which commands run. The checkout is
// made when the first command must really run: what is known needs none.
type bench struct {
	j     *job
	name  string // of the checkout and of its cache layer
	stage check.Stage
	tree  agency.OID

	ready bool
	place sandbox.Place
	setup *agency.Receipt
	made  []agency.ReceiptID
	// twice are receipts of several runs of a command, by its line.
	twice map[string][]agency.Receipt
	// measure are the files whose lines the suite finds out in passing.
	measure []string
	// env is added to the environment of its commands.
	env []string
}

// newBench names the checkout by the step, so that a crash leaves nothing that
// cannot be found again.
func newBench(j *job, stage check.Stage, tree agency.OID) *bench {
	sum := sha256.Sum256([]byte(string(j.task.Run) + "\x00" + string(j.key) + "\x00" + string(stage)))
	return &bench{j: j, name: string(stage) + "-" + hex.EncodeToString(sum[:8]), stage: stage, tree: tree}
}

// subject is what a command runs on. The base is the user's code and shares the
// caches of all verifications; a claim has caches of its own.
func (b *bench) subject() check.Subject {
	s := check.Subject{
		Place: b.place, Tree: b.tree, Run: b.j.task.Run, Contract: b.j.task.Contract,
		Stage: b.stage, Layer: check.LayerVerify, Fence: b.j.fence, Env: b.env,
		Work: string(b.j.key),
	}
	s.Place.At = b.j.run.Info().Repo.WorkTree
	if b.stage != check.StageBase {
		s.Scratch = b.name
	}
	return s
}

// run gives the receipt of a command, known or new.
func (b *bench) run(ctx context.Context, cmd check.Command) (agency.Receipt, error) {
	if cmd.Kind == agency.CheckSetup {
		return b.runSetup(ctx, cmd)
	}
	if b.stage == check.StageBase { // once a base tree, whoever needs it first
		done, err := b.j.v.baselines.take(ctx, string(b.tree)+"\x00"+cmd.Line)
		if err != nil {
			return agency.Receipt{}, err
		}
		defer done()
	}
	if !b.anew() {
		if r, ok, err := b.j.checker.Known(ctx, b.subject(), cmd); err != nil || ok {
			return b.note(r), err
		}
	}
	s := b.subject()
	if cmd.Kind == agency.CheckTest {
		s.Measure = b.measure
	}
	return b.execute(ctx, s, cmd)
}

// anew tells whether no known receipt counts for this checkout.
func (b *bench) anew() bool { return b.j.task.Anew && b.stage != check.StageBase }

// fresh runs a command even where its receipt is known.
func (b *bench) fresh(ctx context.Context, cmd check.Command) (agency.Receipt, error) {
	return b.execute(ctx, b.subject(), cmd)
}

// alone runs a command for some tests, even where its receipt is known.
func (b *bench) alone(ctx context.Context, cmd check.Command) (agency.Receipt, error) {
	s := b.subject()
	s.Stage = check.StageAlone
	return b.execute(ctx, s, cmd)
}

func (b *bench) execute(ctx context.Context, s check.Subject, cmd check.Command) (agency.Receipt, error) {
	if err := b.prepare(ctx); err != nil {
		return agency.Receipt{}, err
	}
	s.Place = b.subject().Place
	s.Fresh = true
	r, err := b.j.checker.Run(ctx, s, cmd)
	b.j.took += seconds(r.Duration)
	return b.note(r), err
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// runSetup tells whether the checkout can be set up. A known receipt is enough
// to judge; the command runs again when a later one needs what it makes.
func (b *bench) runSetup(ctx context.Context, cmd check.Command) (agency.Receipt, error) {
	if b.setup != nil {
		return *b.setup, nil
	}
	if !b.anew() {
		if r, ok, err := b.j.checker.Known(ctx, b.subject(), cmd); err != nil || ok {
			return b.note(r), err
		}
	}
	if err := b.prepare(ctx); err != nil {
		return agency.Receipt{}, err
	}
	return *b.setup, nil
}

// prepare makes the checkout and sets it up.
func (b *bench) prepare(ctx context.Context) error {
	if b.ready {
		return nil
	}
	w, err := b.j.run.Clean(ctx, b.name, b.tree)
	if err != nil {
		return err
	}
	if b.place, err = w.Place(); err != nil {
		return err
	}
	b.ready = true
	cmd := b.j.task.Commands.Command(agency.CheckSetup)
	if cmd.Line == "" {
		return nil
	}
	s := b.subject()
	s.Fresh = true
	r, err := b.j.checker.Run(ctx, s, cmd)
	if err != nil {
		return err
	}
	b.j.took += seconds(r.Duration)
	r = b.note(r)
	b.setup = &r
	return nil
}

// rerunLine makes a test line that runs only these tests on this checkout.
func (b *bench) rerunLine(ctx context.Context, line string, tests []string) (string, bool, error) {
	if err := b.prepare(ctx); err != nil {
		return "", false, err
	}
	root, err := os.OpenRoot(b.place.Root)
	if err != nil {
		return "", false, err
	}
	defer func() { _ = root.Close() }() // only read
	out, ok := check.Rerun(line, tests, root.FS())
	return out, ok, nil
}

// shuffled is a test command in another order, where its runner can.
func (b *bench) shuffled(ctx context.Context, cmd check.Command) (check.Command, bool, error) {
	if err := b.prepare(ctx); err != nil {
		return cmd, false, err
	}
	root, err := os.OpenRoot(b.place.Root)
	if err != nil {
		return cmd, false, err
	}
	defer func() { _ = root.Close() }() // only read
	var ok bool
	cmd.Line, ok = check.Shuffled(cmd.Line, root.FS())
	return cmd, ok, nil
}

// again gives receipts of two runs of the base's suite: a test that was red
// once may be so by chance. Claims on one base run it again once.
func (b *bench) again(ctx context.Context, cmd check.Command) ([]agency.Receipt, error) {
	if have, ok := b.twice[cmd.Line]; ok {
		return have, nil
	}
	done, err := b.j.v.baselines.take(ctx, string(b.tree)+"\x00"+cmd.Line)
	if err != nil {
		return nil, err
	}
	defer done()
	runs, err := b.j.checker.Runs(ctx, b.subject(), cmd)
	if err != nil {
		return nil, err
	}
	if len(runs) < 2 {
		b.renew()
		r, err := b.fresh(ctx, cmd)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	if b.twice == nil {
		b.twice = map[string][]agency.Receipt{}
	}
	b.twice[cmd.Line] = runs
	return runs, nil
}

// renew makes the next command find a clean checkout again: what ran before may
// have changed files.
func (b *bench) renew() { b.ready = false }

func (b *bench) note(r agency.Receipt) agency.Receipt {
	for _, id := range b.made {
		if id == r.ID {
			return r
		}
	}
	if r.ID != "" {
		b.made = append(b.made, r.ID)
	}
	return r
}

// close removes the checkout and its caches. It also runs when the context has
// ended.
func (b *bench) close(ctx context.Context) error {
	var err error
	if b.place.Root != "" {
		err = b.j.run.Remove(context.WithoutCancel(ctx), b.name, workspace.Verify)
	}
	return errors.Join(err, b.j.checker.Drop(b.name))
}
