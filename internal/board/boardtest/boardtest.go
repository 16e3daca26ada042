// Package boardtest is what every backend of the board must pass: random
// programs of operations, restarts and leaps of the clocks against a model in
// memory, and a check that what concurrent clients saw has an order.
//
// It knows the board by its operations only, so that it serves another backend
// as it is. It does not look into tables.
package boardtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agency/internal/agency"
)

// Op is one operation of one agent. What a field means is said by the model.
type Op struct {
	Do      string
	Who     string        // the agent
	At      string        // the key, message or recipient
	Text    string        // the value or the message's id
	Version int64         // of a key, or the priority of a message
	For     time.Duration // time to live
}

// Result is what the client sees; an error is part of it by its kind.
type Result struct{ Text string }

// Backend is a board of one host.
type Backend interface {
	// Do does one operation on a run; it is durable when Do returns.
	Do(ctx context.Context, run agency.RunID, op Op) (Result, error)
	// Kill ends the host as kill -9 does.
	Kill() error
}

// Factory opens the board in a folder for a new host that takes up the run,
// where there is one.
type Factory func(ctx context.Context, dir string, clock *Clock, run agency.RunID) (Backend, error)

// Clock is what the host's clocks show. Its monotonic clock begins anew with
// each host.
type Clock struct {
	mu   sync.Mutex
	mono time.Duration
	wall time.Time
}

// NewClock begins on a day in 2026.
func NewClock() *Clock { return &Clock{wall: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

// Now is the wall clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wall
}

// Mono is the monotonic clock.
func (c *Clock) Mono() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mono
}

func (c *Clock) move(mono, wall time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mono += mono
	c.wall = c.wall.Add(wall)
}

func (c *Clock) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mono = 0
}

// Run runs the suite: programs from seeds that it logs, and the histories of
// concurrent clients.
func Run(t *testing.T, open Factory, programs int) {
	seed := rand.Uint64()
	t.Run("Programs", func(t *testing.T) {
		rig := NewRig(t.TempDir(), open)
		defer func() { _ = rig.Close() }() // what counts was durable
		for n := range programs {
			if n%200 == 199 { // what many runs have left would be counted at each start
				_ = rig.Close()
				rig = NewRig(t.TempDir(), open)
			}
			p := Program(seed + uint64(n))
			if err := rig.Play(t.Context(), p); err != nil {
				p, err = rig.shrink(t.Context(), p, err)
				t.Fatalf("program of seed %d: %v\n%+v", seed+uint64(n), err, p)
			}
		}
	})
	t.Run("Concurrent", func(t *testing.T) {
		rig := NewRig(t.TempDir(), open)
		defer func() { _ = rig.Close() }() // as above
		for round := range uint64(3) {
			if err := rig.Race(t.Context(), seed+round); err != nil {
				t.Fatalf("seed %d: %v", seed+round, err)
			}
		}
	})
}

// shrink leaves out what a failure does not need.
func (r *Rig) shrink(ctx context.Context, p []Step, err error) ([]Step, error) {
	for i := len(p) - 1; i >= 0; i-- {
		less := slices.Delete(slices.Clone(p), i, i+1)
		if e := r.Play(ctx, less); e != nil {
			p, err = less, e
		}
	}
	return p, err
}

// Step is an operation, or what happens to the host between two.
type Step struct {
	Op
	Restart bool
	Mono    time.Duration // the host's clock goes on by it, the wall clock by Wall
	Wall    time.Duration
}

// faces are the parts of the board with their operations and what they are
// done to.
func faces() [][2]string {
	return [][2]string{
		{"put swap swap delete get", "k l"},
		{"send write write claim claim show settle mail", "a b c d role:x role:y *"},
	}
}

// Program is a random program, of one face of the board or of all.
func Program(seed uint64) []Step {
	random := rand.New(rand.NewPCG(seed, 0))
	of := faces()
	if n := random.IntN(2 * len(of)); n < len(of) {
		of = of[n : n+1]
	}
	out := make([]Step, 10+random.IntN(50))
	for i := range out {
		out[i] = step(random, of)
	}
	return out
}

func step(random *rand.Rand, of [][2]string) Step {
	pick := func(words string) string {
		list := strings.Fields(words)
		return list[random.IntN(len(list))]
	}
	s := Step{Op: Op{
		Who: pick("a a b b c c d"), Text: pick("1 2"), // d never joins
		Version: random.Int64N(5), For: time.Duration(random.IntN(3)) * 10 * time.Second,
	}}
	switch n := random.IntN(40); {
	case n == 0:
		return Step{Restart: true}
	case n == 1:
		s.Do = "tidy"
	case n < 5:
		if s.Do = pick("join leave beat"); s.Do == "join" && s.Who == "d" {
			s.Who = "a"
		}
	case n < 9:
		hours := []time.Duration{0, 1, 1000, -1000}[random.IntN(4)]
		return Step{Mono: time.Duration(1+random.IntN(15)) * time.Second, Wall: hours * time.Hour}
	default:
		face := of[random.IntN(len(of))]
		s.Do, s.At = pick(face[0]), pick(face[1])
	}
	return s
}

// Rig plays programs on a backend, each with a run of its own.
type Rig struct {
	open    Factory
	dir     string
	clock   *Clock
	backend Backend
	runs    int
}

// NewRig makes a rig whose backend is opened when it is needed.
func NewRig(dir string, open Factory) *Rig { return &Rig{open: open, dir: dir, clock: NewClock()} }

// Close ends the backend.
func (r *Rig) Close() error {
	if r.backend == nil {
		return nil
	}
	b := r.backend
	r.backend = nil
	return b.Kill()
}

func (r *Rig) ready(ctx context.Context) (run agency.RunID, err error) {
	r.runs++
	run = agency.RunID(fmt.Sprint("run-", r.runs))
	if r.backend == nil {
		r.backend, err = r.open(ctx, r.dir, r.clock, run)
	}
	return run, err
}

// Play runs a program and says where the backend differs from the model.
func (r *Rig) Play(ctx context.Context, program []Step) error {
	run, err := r.ready(ctx)
	if err != nil {
		return err
	}
	m := newModel()
	begin := []Step{{Op: Op{Do: "tidy"}}} // which asks the clock, so that it is not behind later
	for _, who := range []string{"a", "b", "c"} {
		begin = append(begin, Step{Op: Op{Do: "join", Who: who}})
	}
	for i, s := range append(begin, program...) {
		switch {
		case s.Restart:
			if err := r.restart(ctx, run); err != nil {
				return err
			}
			m.restart()
			continue
		case s.Mono > 0:
			r.clock.move(s.Mono, s.Wall)
			m.now += s.Mono
			s = Step{Op: Op{Do: "missed"}}
		}
		op := m.complete(s, i)
		got, err := r.backend.Do(ctx, run, op)
		if diff := m.judge(op, got, err); diff != "" {
			return fmt.Errorf("step %d, %s of %s at %q: %s", i, op.Do, op.Who, op.At, diff)
		}
	}
	return nil
}

func (r *Rig) restart(ctx context.Context, run agency.RunID) error {
	if err := r.Close(); err != nil {
		return err
	}
	r.clock.reset()
	b, err := r.open(ctx, r.dir, r.clock, run)
	r.backend = b
	return err
}

// judge does the operation on the model and compares. An error's kind is what counts.
func (m *model) judge(op Op, got Result, err error) string {
	text, seen := m.do(op), got.Text
	if err != nil {
		seen = agency.KindOf(err).String()
	}
	if seen != text {
		return fmt.Sprintf("%q (%v), want %q", seen, err, text)
	}
	return ""
}
