package session

import (
	"context"
	"errors"
	"time"
)

// errTime is the cause of a context when the session's time at work is up.
var errTime = errors.New("the session's time at work is up")

// stint is a stretch of time at work. Waiting for a provider that asked for
// patience, or for our own backoff, is not work: it counts towards no limit.
type stint struct {
	now    func() time.Time
	cancel context.CancelCauseFunc
	timer  *time.Timer // nil: no limit
	left   time.Duration
	since  time.Time // zero while it rests
	took   time.Duration
}

// atWork begins a stint and bounds the context by what is left of the
// session's time at work. The stint must be ended.
func (c *conversation) atWork(ctx context.Context) (context.Context, *stint) {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &stint{now: c.r.o.Now, cancel: cancel, since: c.r.o.Now()}
	if limit := c.setup.Limits.Timeout(); limit > 0 {
		s.left = max(limit-c.st.Work, time.Second)
		s.timer = time.AfterFunc(s.left, func() { cancel(errTime) })
	}
	return ctx, s
}

// rest stops the clock; resting again is nothing.
func (s *stint) rest() {
	if s.since.IsZero() {
		return
	}
	s.took += s.now().Sub(s.since)
	s.since = time.Time{}
	if s.timer != nil {
		s.timer.Stop()
	}
}

// work starts the clock again after a rest.
func (s *stint) work() {
	if !s.since.IsZero() {
		return
	}
	s.since = s.now()
	if s.timer != nil {
		s.timer.Reset(max(0, s.left-s.took))
	}
}

// end ends the stint and says how long it worked.
func (s *stint) end() time.Duration {
	s.rest()
	s.cancel(nil)
	return s.took
}
