package daemon

import (
	"context"
	"errors"
	"os"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
)

// Want says what a client needs a host for.
type Want struct {
	// Work is set for run and resume: they let a newer build take over from an
	// older host.
	Work bool
}

// Connected is a client with what happened on the way.
type Connected struct {
	*api.Client
	Hello api.Hello
	// Drained are the runs that an older host left for this one; whoever
	// connected resumes them with the keys that it can bring.
	Drained []agency.RunID
}

// connectTimeout bounds the time in which a host must be found or started. A
// hand-over is not bounded: it waits for the end of a turn.
const connectTimeout = 20 * time.Second

// Connect finds the repository's host or starts one. Two clients that do so at
// once end at the same host: the lock decides which of their children lives.
func Connect(ctx context.Context, o Options, want Want) (*Connected, error) {
	limit, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	var drained []agency.RunID
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		c, err := greet(limit, o.Place, answerTimeout)
		switch {
		case err == nil && (mustHandOver(c.Hello, o.Build, want) || c.movedFrom(o.Place)):
			runs, derr := handOver(ctx, c)
			if derr != nil {
				return nil, derr
			}
			drained = append(drained, runs...)
			limit, cancel = context.WithTimeout(ctx, connectTimeout) //nolint:govet // the deferred cancel frees the first, the process the second
			defer cancel()
		case err == nil:
			c.Drained = drained
			return c, checkWire(c)
		case limit.Err() != nil:
			return nil, noAnswer(ctx, holderOf(o.Place), o.Place)
		case !api.Unreachable(err) && !timedOut(err):
			return nil, err
		}
		err = spawn(limit, o)
		var held *Held
		switch {
		case err == nil:
			continue
		case errors.As(err, &held) && held.By.Foreign():
			return nil, foreign(held, o.Place)
		case errors.As(err, &held): // it is starting or leaving
		default:
			return nil, err
		}
		if err := pause(limit, wait); err != nil {
			return nil, noAnswer(ctx, held, o.Place)
		}
	}
}

// holderOf is the holder of a place's lock as an error, nobody's where it is
// free.
func holderOf(p Place) *Held {
	by, _, _ := HolderOf(p) // it is only named
	return &Held{by}
}

// answerTimeout is how long a host may take to say that it is there. One that
// is stopped (a debugger, SIGSTOP) accepts connections and never answers.
const answerTimeout = 5 * time.Second

// timedOut tells that a host listens and does not answer.
func timedOut(err error) bool { return errors.Is(err, context.DeadlineExceeded) }

// movedFrom tells whether the host serves the repository at a path where it no
// longer is: the folder was moved while the host lived.
func (c *Connected) movedFrom(p Place) bool {
	if c.Hello.CommonDir == p.Repo.CommonDir {
		return false
	}
	there, err := os.Stat(c.Hello.CommonDir)
	if err != nil {
		return true
	}
	here, err := os.Stat(p.Repo.CommonDir)
	return err == nil && !os.SameFile(there, here)
}

// ErrSilent is a host that lives and cannot be asked; what is recorded can be
// read without it.
var ErrSilent = errors.New("the host of this repository does not answer")

// Await connects to a host that lives, and starts none; api.Unreachable where there
// is none. It waits for one that is just starting or leaving: until it answers, or
// has given the lock back. ErrSilent: it does neither.
func Await(ctx context.Context, p Place) (*Connected, error) { return await(ctx, p, answerTimeout) }

func await(ctx context.Context, p Place, answer time.Duration) (*Connected, error) {
	limit, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	for {
		c, err := greet(limit, p, answer)
		switch {
		case err == nil && c.movedFrom(p):
			c.Close()
			return nil, ErrSilent // what it knows of files is of another place
		case timedOut(err) && ctx.Err() == nil:
			return nil, ErrSilent
		case err == nil || !api.Unreachable(err):
			return c, err
		}
		by, held, herr := HolderOf(p)
		if herr != nil || !held || by.Foreign() {
			return nil, err // what is recorded can be read without it
		}
		if pause(limit, 10*time.Millisecond) != nil {
			return nil, err
		}
	}
}

func greet(ctx context.Context, p Place, answer time.Duration) (*Connected, error) {
	c := &Connected{Client: p.Dial()}
	limit, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	var err error
	if c.Hello, err = c.Client.Hello(limit); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func mustHandOver(h api.Hello, mine api.Build, want Want) bool {
	return want.Work && (mine.NewerThan(h.Build) || h.Wire < api.Wire)
}

// handOver lets the older host stop its runs at their next turn boundary and
// leave.
func handOver(ctx context.Context, c *Connected) ([]agency.RunID, error) {
	defer c.Close()
	doc, err := c.Drain(ctx)
	if err != nil && !api.Unreachable(err) {
		return nil, err
	}
	return doc.Runs, nil
}

func checkWire(c *Connected) error {
	if c.Hello.Wire == api.Wire {
		return nil
	}
	c.Close()
	return agency.Errorf(agency.KindConflict, "the host of this repository is build %s and speaks wire version %d, this build %d",
		c.Hello.Build.Version, c.Hello.Wire, api.Wire).WithMend("use one build, or wait until the host (process %d) is idle and leaves", c.Hello.PID)
}

func foreign(h *Held, p Place) error {
	return agency.Errorf(agency.KindTransient, "the state folder %s is in use by %s", p.State, h.By).
		WithMend("run agency there, or give this one a state folder of its own: export XDG_STATE_HOME=FOLDER")
}

func noAnswer(ctx context.Context, h *Held, p Place) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return agency.Errorf(agency.KindTransient, "the host of this repository (%s) holds %s and does not answer on %s", h.By, p.LockFile(), p.Socket).
		WithMend("if it is stopped, let it go on: kill -CONT %d; if it hangs, end it: kill -9 %d, then agency resume RUN", h.By.PID, h.By.PID)
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
