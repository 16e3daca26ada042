package supervisor

import (
	"os"
	"slices"
	"sync"

	"agency/internal/linux/meter"
)

// crowd are the commands of a sandbox that are under way, as they came. All that they use
// counts together, and it is the last that looks at it and is ended where it is too much: it
// made it so. The next look is that of the one before it.
type crowd struct {
	mu sync.Mutex
	of []*meter.Watch
}

func (c *crowd) join(w *meter.Watch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of = append(c.of, w)
}

func (c *crowd) leave(w *meter.Watch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of = slices.DeleteFunc(c.of, func(o *meter.Watch) bool { return o == w })
}

func (c *crowd) last(w *meter.Watch) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.of) > 0 && c.of[len(c.of)-1] == w
}

// together runs one of several commands, for as long as its host holds its leash. One that
// stays is awaited beside the requests that follow: on threads that are where PID 1 is at
// home, in the network and among the objects that all of them share. PID 1 takes it along
// when it ends, as all else.
func (s *initState) together(in *incoming, l locks, leash int, seen Report) (Report, error) {
	hold := os.NewFile(uintptr(leash), "leash")
	u, err := start(s.plan, in, l, s.disks)
	if err != nil {
		_ = hold.Close()
		return Report{}, err
	}
	u.leash, u.looks = leash, func() bool { return s.crowd.last(u.watch) }
	s.crowd.join(u.watch)
	ended := func() (Report, error) {
		rep, err := u.await()
		s.crowd.leave(u.watch)
		rep.OwnCaches, rep.Bound = seen.OwnCaches, seen.Bound
		return rep, err
	}
	if !in.request.Stays {
		defer func() { _ = hold.Close() }()
		return ended()
	}
	go func() {
		defer func() { _ = hold.Close() }()
		rep, err := ended()
		if err != nil {
			rep = Report{Setup: err.Error()}
		}
		_ = WriteFrame(hold, rep) // to a host that may have let go of it
	}()
	return Report{}, nil
}
