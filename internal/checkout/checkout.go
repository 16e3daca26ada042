// Package checkout runs commands on clean checkouts of trees, and keeps the receipts
// that they make. It judges nothing of them.
package checkout

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/bounded"
	"agency/internal/check"
	"agency/internal/sandbox"
	"agency/internal/workspace"
)

// Maker makes the checkouts of one step of a run. It is used by one caller at a
// time.
type Maker struct {
	Run      *workspace.Run
	Checker  *check.Checker
	Turns    *Turns // shared by all who run commands on bases
	Key      agency.StepKey
	ID       agency.RunID
	Contract agency.ContractID
	Fence    agency.Fence
	Commands check.Commands // of the run's own copy of its configuration
	Anew     bool           // no known receipt counts but on the base
	Idle     bool           // its commands stand back

	took   time.Duration
	closed []agency.ReceiptID
}

// Aside makes checkouts of the same step for another caller, whose commands stand back and
// of whose receipts and time this one knows nothing.
func (m *Maker) Aside() *Maker {
	return &Maker{
		Run: m.Run, Checker: m.Checker, Turns: m.Turns, Key: m.Key, ID: m.ID, Contract: m.Contract, Fence: m.Fence, Commands: m.Commands, Idle: true,
	}
}

// Took is how long all commands took that really ran.
func (m *Maker) Took() time.Duration { return m.took }

// Closed are the receipts of the checkouts that are closed, in that order.
func (m *Maker) Closed() []agency.ReceiptID { return m.closed }

// New names a checkout by the step, so that a crash leaves nothing that cannot be
// found again. It is made when the first command must really run: what is known
// needs none.
func (m *Maker) New(stage check.Stage, tree agency.OID) *Checkout {
	sum := sha256.Sum256([]byte(string(m.ID) + "\x00" + string(m.Key) + "\x00" + string(stage)))
	return &Checkout{maker: m, name: string(stage) + "-" + hex.EncodeToString(sum[:8]), stage: stage, tree: tree}
}

// Checkout is a clean checkout of one tree on which commands run.
type Checkout struct {
	// Measure are the files whose lines the suite finds out in passing.
	Measure []string
	// Env is added to the environment of its commands.
	Env []string

	maker    *Maker
	name     string // of the checkout and of its cache layer
	stage    check.Stage
	tree     agency.OID
	ready    bool
	built    time.Duration // of processors, for the tests of the command builtFor
	builtFor string
	mixed    bool // a command that is not the run's own was at work in it
	place    sandbox.Place
	setup    *agency.Receipt
	made     []agency.ReceiptID
	// twice are receipts of several runs of a command, by its line.
	twice map[string][]agency.Receipt
}

// Made are the receipts of its commands, each once.
func (b *Checkout) Made() []agency.ReceiptID { return b.made }

// Subject is what a command runs on, with caches of this checkout alone.
func (b *Checkout) Subject() check.Subject {
	s := check.Subject{
		Place: b.place, Tree: b.tree, Run: b.maker.ID, Contract: b.maker.Contract,
		Stage: b.stage, Layer: check.LayerVerify, Fence: b.maker.Fence, Env: b.Env,
		Work: string(b.maker.Key), Idle: b.maker.Idle,
	}
	s.Place.At = b.maker.Run.Info().Repo.WorkTree
	s.Scratch = b.name
	return s
}

// seals tells whether all may begin with what a command builds here: one of the run's own
// on what the run began from. The base of a later contract is agents' work, and what a
// plan wants to be run is their words.
func (b *Checkout) seals(cmd check.Command) bool {
	return b.stage == check.StageBase && b.tree == b.maker.Run.BaseTree() && !b.mixed && b.maker.own(cmd)
}

// own tells whether a command stands in the configuration as it is.
func (m *Maker) own(cmd check.Command) bool {
	return cmd.Line != "" && cmd.Line == m.Commands.Command(cmd.Kind).Line
}

// Run gives the receipt of a command, known or new. A known one of the setup is
// enough to judge: it runs again when a later command needs what it makes.
func (b *Checkout) Run(ctx context.Context, cmd check.Command) (agency.Receipt, error) {
	isSetup := cmd.Kind == agency.CheckSetup
	if isSetup && b.setup != nil {
		return *b.setup, nil
	}
	if b.stage == check.StageBase && !isSetup { // once a base tree, whoever needs it first
		done, err := b.maker.Turns.Take(ctx, string(b.tree)+"\x00"+cmd.Line)
		if err != nil {
			return agency.Receipt{}, err
		}
		defer done()
	}
	if !b.maker.Anew || b.stage == check.StageBase {
		if r, ok, err := b.maker.Checker.Known(ctx, b.Subject(), cmd); err != nil || ok {
			return b.note(r), err
		}
	}
	if isSetup {
		if err := b.Prepare(ctx); err != nil {
			return agency.Receipt{}, err
		}
		return *b.setup, nil
	}
	s := b.Subject()
	if cmd.Kind == agency.CheckTest {
		s.Measure = b.Measure
	}
	return b.execute(ctx, s, cmd)
}

// Build has a command build what it needs and run none of it, where all may begin with
// that and there is nothing yet that they could begin with; it tells whether it did. Nothing
// is kept of its result. It does not stand back: others wait for it.
func (b *Checkout) Build(ctx context.Context, cmd check.Command) (did bool, err error) {
	if !b.maker.Checker.Unbuilt() || !b.seals(cmd) {
		return false, nil
	}
	line := ""
	err = b.Files(ctx, func(files fs.FS) { line, did = check.Building(cmd.Line, files) })
	if err != nil || !did {
		return false, err
	}
	s := b.Subject()
	s.Seals, s.Idle = true, false
	_, res, err := b.maker.Checker.Ask(ctx, s, check.Command{Line: line, Timeout: cmd.Timeout}, b.maker.Checker.Hosts(cmd))
	b.built, b.builtFor = res.CPU, cmd.Line
	b.Renew() // what stands around the tests has run
	return true, err
}

// Fresh runs a command even where its receipt is known.
func (b *Checkout) Fresh(ctx context.Context, cmd check.Command) (agency.Receipt, error) {
	return b.execute(ctx, b.Subject(), cmd)
}

// Alone runs a command for some tests, even where its receipt is known.
func (b *Checkout) Alone(ctx context.Context, cmd check.Command) (agency.Receipt, error) {
	s := b.Subject()
	s.Stage = check.StageAlone
	return b.execute(ctx, s, cmd)
}

func (b *Checkout) execute(ctx context.Context, s check.Subject, cmd check.Command) (agency.Receipt, error) {
	if err := b.Prepare(ctx); err != nil {
		return agency.Receipt{}, err
	}
	s.Place = b.Subject().Place
	return b.really(ctx, s, cmd)
}

// really runs a command on the checkout that is there.
func (b *Checkout) really(ctx context.Context, s check.Subject, cmd check.Command) (agency.Receipt, error) {
	s.Fresh, s.Seals = true, s.Stage == check.StageBase && b.seals(cmd)
	b.mixed = b.mixed || !s.Seals
	if cmd.Line == b.builtFor {
		s.Ahead, b.built, b.builtFor = b.built, 0, ""
	}
	r, err := b.maker.Checker.Run(ctx, s, cmd)
	b.maker.took += Seconds(r.Duration)
	return b.note(r), err
}

// Seconds are the duration of a receipt.
func Seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// Prepare makes the checkout and sets it up.
func (b *Checkout) Prepare(ctx context.Context) error {
	if b.ready {
		return nil
	}
	w, err := b.maker.Run.Clean(ctx, b.name, b.tree)
	if err != nil {
		return err
	}
	if b.place, err = w.Place(); err != nil {
		return err
	}
	b.ready, b.mixed = true, false
	setup := b.maker.Commands.Command(agency.CheckSetup)
	if setup.Line == "" {
		return nil
	}
	r, err := b.really(ctx, b.Subject(), setup)
	if err == nil {
		b.setup = &r
	}
	return err
}

// Root opens the checkout's folder, which the caller closes.
func (b *Checkout) Root(ctx context.Context) (*os.Root, error) {
	if err := b.Prepare(ctx); err != nil {
		return nil, err
	}
	return os.OpenRoot(b.place.Root)
}

// Files hands out the checkout's files.
func (b *Checkout) Files(ctx context.Context, do func(fs.FS)) error {
	root, err := b.Root(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // only read
	do(bounded.FS(root))
	return nil
}

// RerunLine makes a test line that runs only these tests on this checkout; false
// where its runner cannot.
func (b *Checkout) RerunLine(ctx context.Context, line string, tests []string) (out string, ok bool, err error) {
	err = b.Files(ctx, func(files fs.FS) { out, ok = check.Rerun(line, tests, files) })
	return out, ok, err
}

// Shuffled is a test command in another order, where its runner can.
func (b *Checkout) Shuffled(ctx context.Context, cmd check.Command) (_ check.Command, ok bool, err error) {
	err = b.Files(ctx, func(files fs.FS) { cmd.Line, ok = check.Shuffled(cmd.Line, files) })
	return cmd, ok, err
}

// Again gives receipts of two runs of the base's suite: a test that was red
// once may be so by chance. Claims on one base run it again once.
func (b *Checkout) Again(ctx context.Context, cmd check.Command) ([]agency.Receipt, error) {
	if have, ok := b.twice[cmd.Line]; ok {
		return have, nil
	}
	done, err := b.maker.Turns.Take(ctx, string(b.tree)+"\x00"+cmd.Line)
	if err != nil {
		return nil, err
	}
	defer done()
	runs, err := b.maker.Checker.Runs(ctx, b.Subject(), cmd)
	if err != nil {
		return nil, err
	}
	if len(runs) < 2 {
		b.Renew()
		r, err := b.Fresh(ctx, cmd)
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

// RunClean runs a command where nothing but the setup has touched the checkout: the
// tests of a claim could have left what its command looks for.
func (b *Checkout) RunClean(ctx context.Context, cmd check.Command) (agency.Receipt, error) {
	b.Renew()
	return b.Run(ctx, cmd)
}

// Renew makes the next command find a clean checkout again: what ran before may
// have changed files.
func (b *Checkout) Renew() { b.ready = false }

func (b *Checkout) note(r agency.Receipt) agency.Receipt {
	if r.ID != "" && !slices.Contains(b.made, r.ID) {
		b.made = append(b.made, r.ID)
	}
	return r
}

// Close removes the checkout and its caches. It also runs when the context has
// ended.
func (b *Checkout) Close(ctx context.Context) error {
	b.maker.closed = append(b.maker.closed, b.made...)
	var err error
	if b.place.Root != "" {
		err = b.maker.Run.Remove(context.WithoutCancel(ctx), b.name, workspace.Verify)
	}
	return errors.Join(err, b.maker.Checker.Drop(b.name))
}

// Turns lets one caller at a time work under a name.
type Turns struct {
	mu    sync.Mutex
	names map[string]chan struct{}
}

// Take waits for its turn, which done gives back, or for the end of ctx.
func (t *Turns) Take(ctx context.Context, name string) (done func(), err error) {
	t.mu.Lock()
	if t.names == nil {
		t.names = map[string]chan struct{}{}
	}
	turn := t.names[name]
	if turn == nil {
		turn = make(chan struct{}, 1)
		t.names[name] = turn
	}
	t.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
