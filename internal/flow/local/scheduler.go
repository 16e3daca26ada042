package local

// scheduler resumes the branches of a run, one at a time, in an order that
// depends on nothing but the journal.
type scheduler struct {
	all      []*branch
	runnable []*branch
	current  *branch   // holds the token; nil: Run's goroutine
	draining []*branch // cancelled, with activities that have not stopped
}

// add takes a new branch in.
func (s *scheduler) add(b *branch) {
	s.all = append(s.all, b)
	s.enqueue(b)
}

func (s *scheduler) enqueue(b *branch) {
	if !b.queued && !b.over {
		b.queued = true
		s.runnable = append(s.runnable, b)
	}
}

// tick runs branches until all of them wait, or goOn says no.
func (s *scheduler) tick(goOn func() bool) {
	for len(s.runnable) > 0 && goOn() {
		b := s.runnable[0]
		s.runnable = s.runnable[1:]
		b.queued = false
		if !b.over {
			s.step(b)
		}
		if b.over && b.parent == nil {
			return // the run's function has returned: what is left is unwound
		}
	}
}

// step hands the token to b until b waits or ends.
func (s *scheduler) step(b *branch) {
	before := s.current
	s.current = b
	b.resume <- struct{}{}
	<-b.back
	s.current = before
}

// cancel unwinds a branch and those it started, and settles its handle when the
// activities they had at work have stopped.
func (s *scheduler) cancel(b *branch) {
	b.handle.cancelled = true
	s.draining = append(s.draining, b)
	b.kill()
	s.drained()
}

// drained settles the cancelled branches whose activities have stopped.
func (s *scheduler) drained() {
	rest := s.draining[:0]
	for _, b := range s.draining {
		if b.atWork() {
			rest = append(rest, b)
			continue
		}
		b.handle.settle(nil, ErrCancelled)
	}
	s.draining = rest
}

// unwind ends all branches, the youngest first.
func (s *scheduler) unwind() {
	for i := len(s.all) - 1; i >= 0; i-- {
		if b := s.all[i]; !b.over {
			b.killed = true
			s.step(b)
		}
	}
}
