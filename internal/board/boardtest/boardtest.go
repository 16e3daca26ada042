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
	"slices"
	"sync"
	"testing"
	"time"

	"agency/internal/agency"

	"pgregory.net/rapid"
)

// Op is one operation of one agent. What a field means is said by the model.
type Op struct {
	Do      string
	Who     string        // the agent
	At      string        // the key, path, scope, message or recipient
	Text    string        // the value or the message's id
	Shared  bool          // of a lock
	Version int64         // of a key, or the priority of a message
	For     time.Duration // time to live or hold
	Fence   agency.Fence
}

// Result is what the client sees; an error is part of it by its kind.
type Result struct {
	Text  string
	Fence agency.Fence // of what was granted
}

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

// Run runs the suite: as many programs as rapid is told to check, and the
// histories of concurrent clients.
func Run(t *testing.T, open Factory) {
	t.Run("Programs", func(t *testing.T) {
		rig := NewRig(t.TempDir(), open)
		defer func() { _ = rig.Close() }() // what counts was durable
		rapid.Check(t, func(t *rapid.T) {
			if err := rig.Play(context.Background(), Programs().Draw(t, "program")); err != nil {
				t.Fatal(err)
			}
		})
	})
	t.Run("Concurrent", func(t *testing.T) {
		rig := NewRig(t.TempDir(), open)
		defer func() { _ = rig.Close() }() // as above
		for round := range 3 {
			if err := rig.Race(t.Context(), int64(round)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Step is an operation, or what happens to the host between two.
type Step struct {
	Op
	Nth     int // of the latest tokens granted: its fence is the operation's
	Restart bool
	Mono    time.Duration // the host's clock goes on by it, the wall clock by Wall
	Wall    time.Duration
}

// Programs are random programs.
func Programs() *rapid.Generator[[]Step] { return rapid.SliceOfN(rapid.Custom(step), 1, 60) }

func step(t *rapid.T) Step {
	pick := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	s := Step{Op: Op{Who: pick("who", "a", "a", "b", "b", "c", "c", "d")}} // d never joins
	const join, state, locks, tokens, mail = 4, 12, 22, 32, 44
	switch kind := rapid.IntRange(0, 49).Draw(t, "kind"); {
	case kind < join:
		s.Do = pick("do", "join", "leave", "beat", "beat")
		if s.Do == "join" && s.Who == "d" {
			s.Who = "a"
		}
	case kind < state:
		s.Do, s.At, s.Text = pick("do", "put", "swap", "swap", "delete", "own", "disown", "get"), pick("key", "k", "l"), pick("value", "1", "2")
		s.Version = rapid.Int64Range(0, 4).Draw(t, "version")
	case kind < locks:
		s.Do, s.At = pick("do", "lock", "lock", "unlock", "checklock", "locks"), pick("path", "f", "F", "f#s", "f#t")
		s.Shared = rapid.Bool().Draw(t, "shared")
	case kind < tokens:
		s.Do, s.At = pick("do", "ask", "ask", "ask", "release", "release", "cancel", "checktoken", "token"), pick("scope", "m", "n")
	case kind < mail:
		s.Do, s.At = pick("do", "send", "send", "claim", "claim", "show", "settle", "mail"), pick("to", "a", "b", "c", "d", "role x", "*")
		s.Version = rapid.Int64Range(0, 1).Draw(t, "priority")
	case kind == mail:
		return Step{Restart: true}
	case kind == mail+1:
		s.Do = "tidy"
	default:
		return Step{
			Mono: time.Duration(rapid.IntRange(1, 15).Draw(t, "seconds")) * time.Second,
			Wall: time.Duration(rapid.SampledFrom([]int{0, 1, 1000, -1000}).Draw(t, "hours")) * time.Hour,
		}
	}
	s.For = time.Duration(rapid.SampledFrom([]int{0, 10, 20}).Draw(t, "for")) * time.Second
	s.Nth = rapid.IntRange(0, 2).Draw(t, "nth")
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

// judge does the operation on the model and compares. An error's kind is what
// counts, and whether a token is one that was given before.
func (m *model) judge(op Op, got Result, err error) string {
	text, grant := m.do(op)
	seen := got.Text
	if err != nil {
		seen = agency.KindOf(err).String()
	}
	if seen != text {
		return fmt.Sprintf("%q (%v), want %q", seen, err, text)
	}
	if grant == nil {
		return ""
	}
	if grant.fence != (agency.Fence{}) {
		if grant.fence != got.Fence {
			return fmt.Sprintf("fence %v, had %v", got.Fence, grant.fence)
		}
		return ""
	}
	if slices.ContainsFunc(m.fences, func(f agency.Fence) bool { return !f.Less(got.Fence) }) {
		return fmt.Sprintf("fence %v is not above those before it: %v", got.Fence, m.fences)
	}
	grant.fence = got.Fence
	m.fences = append(m.fences, got.Fence)
	return ""
}
