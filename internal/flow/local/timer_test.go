package local

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"agency/internal/flow"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

// handClock is moved by the test. Waiting on it is seen through asked.
type handClock struct {
	mu    sync.Mutex
	now   time.Duration
	rings []ring
	asked chan time.Duration // the durations that were waited for
}

type ring struct {
	at time.Duration
	c  chan time.Time
}

func newHandClock() *handClock { return &handClock{asked: make(chan time.Duration, 1000)} }

func (c *handClock) Mono() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) After(d time.Duration) (<-chan time.Time, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := ring{at: c.now + d, c: make(chan time.Time, 1)}
	if d <= 0 {
		r.c <- time.Time{}
	} else {
		c.rings = append(c.rings, r)
	}
	c.asked <- d
	return r.c, func() {}
}

// advance moves the clock and rings what is due.
func (c *handClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now += d
	rest := c.rings[:0]
	for _, r := range c.rings {
		if r.at <= c.now {
			r.c <- time.Time{}
		} else {
			rest = append(rest, r)
		}
	}
	c.rings = rest
}

func nap(c flow.Ctx) error { return flow.Sleep(c, "nap", 100*time.Second) }

// begin starts a run whose first wait is over when it returns.
func begin(ctx context.Context, r *rig, clock *handClock, main func(flow.Ctx) error) (ended chan error) {
	e := New(Options{DB: r.db, Fence: r.fence, Registry: r.reg, Version: "v1", Clock: clock})
	ended = make(chan error, 1)
	go func() { ended <- e.Run(ctx, testRun, main, flow.Hooks{}) }()
	return ended
}

func (r *rig) elapsed() (out map[string]time.Duration) {
	r.Helper()
	out = map[string]time.Duration{}
	err := r.db.Read(r.Context(), func(s *store.Snapshot) error {
		rows, err := s.Query("SELECT key, elapsed FROM flow_timer")
		if err != nil {
			return err
		}
		for rows.Next() {
			var key string
			var n int64
			if err := rows.Scan(&key, &n); err != nil {
				return err
			}
			out[key] = time.Duration(n)
		}
		return rows.Err()
	})
	if err != nil {
		r.Fatal(err)
	}
	return out
}

func TestTimerSurvivesAnOrderlyStop(t *testing.T) {
	r := newRig(t)
	clock := newHandClock()
	stop := errors.New("host leaves")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := begin(ctx, r, clock, nap)
	<-clock.asked
	clock.advance(7 * time.Second) // less than what is written while running
	cancel(stop)
	if err := <-ended; !errors.Is(err, stop) {
		t.Fatalf("got %v", err)
	}
	if diff := cmp.Diff(map[string]time.Duration{"nap": 7 * time.Second}, r.elapsed()); diff != "" {
		t.Fatal(diff)
	}
	clock.advance(time.Hour) // down: does not count
	ended = begin(t.Context(), r, clock, nap)
	<-clock.asked
	clock.advance(92 * time.Second)
	for d := range clock.asked { // written now and then, until 1 s is left
		if d == time.Second {
			break
		}
		if d <= 0 {
			t.Fatal("the timer fired early")
		}
	}
	select {
	case err := <-ended:
		t.Fatalf("ended early: %v", err)
	default:
	}
	clock.advance(time.Second)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if left := r.elapsed(); len(left) != 0 {
		t.Fatalf("rows of finished timers: %v", left)
	}
}

func TestTimerLosesLittleInACrash(t *testing.T) {
	r := newRig(t)
	clock := newHandClock()
	ended := begin(t.Context(), r, clock, nap)
	if d := <-clock.asked; d != 10*time.Second {
		t.Fatalf("first write of progress after %s, want a tenth of the timer", d)
	}
	clock.advance(11 * time.Second)
	<-clock.asked // the write is over
	if diff := cmp.Diff(map[string]time.Duration{"nap": 11 * time.Second}, r.elapsed()); diff != "" {
		t.Fatal(diff)
	}
	clock.advance(89 * time.Second)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// A signal that comes just after the run has looked for signals is not lost.
func TestSignalAfterTheLook(t *testing.T) {
	r := newRig(t)
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	looks := 0
	r.e.seams.looked = func() {
		if looks++; looks <= 3 {
			r.send("go", strconv.Itoa(looks), "1")
		}
	}
	err := r.e.Run(ctx, testRun, func(c flow.Ctx) error {
		for n := range 3 {
			if _, err := flow.Receive(c, flow.Signal[int]{Name: "go"}, fmt.Sprint("go/", n)); err != nil {
				return err
			}
		}
		return nil
	}, flow.Hooks{Quiet: func(q bool) {
		if q {
			stop(errors.New("it waits for a signal that is there"))
		}
	}})
	if err != nil {
		t.Error(err)
	}
}
