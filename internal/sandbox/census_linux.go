package sandbox

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"agency/internal/linux"
	"agency/internal/linux/cgroup"
	"agency/internal/supervisor"
)

// Census knows the sandboxes of all Runners that share it, and so who could
// still be at work in a folder. It is safe for concurrent use.
type Census struct {
	mu    sync.Mutex
	boxes map[*box]bool // true: it has ended, and what it ran has not
	// lost counts the occasions on which processes may have been left that no
	// sandbox here knows: what a host before this one had, a subreaper that was killed.
	lost int

	patience time.Duration
	kill     func(b *box, left []Left) // b is nil for what no sandbox knows
}

// NewCensus makes one that knows of none. Its first Still looks at the whole
// machine: a host before this one may have left something.
func NewCensus() *Census {
	return &Census{boxes: map[*box]bool{}, lost: 1, patience: cgroup.EmptyPatience, kill: endLiving}
}

func (c *Census) enter(b *box) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.boxes[b] = false
}

// leave forgets a sandbox that has ended, unless something of it lives: then its
// group must not be used again, and Still tells.
func (c *Census) leave(b *box) bool {
	left := b.living()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(left) > 0 {
		c.boxes[b] = true
		return false
	}
	delete(c.boxes, b)
	if b.lost {
		c.lost++
	}
	return true
}

// Still makes sure that no process of a command lives that was shown anything of
// a folder of the host: what does is ended, be its command under way or not, and
// looked for again. The error, KindTransient, names what cannot be ended. Where
// nothing lives it costs a look at a file of the kernel's for each sandbox that
// waits there.
func (c *Census) Still(ctx context.Context, dir string) error {
	real := resolved(dir)
	for until := time.Now().Add(c.patience); ; time.Sleep(time.Millisecond) {
		left := c.living(real)
		switch {
		case len(left) == 0:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case time.Now().After(until):
			return errAlive(dir, slices.Concat(slices.Collect(maps.Values(left))...))
		}
		for b, l := range left {
			c.kill(b, l)
		}
	}
}

// living is what lives of the sandboxes that show anything of a folder, and,
// without a sandbox, what no subreaper is left to end.
func (c *Census) living(dir string) map[*box][]Left {
	c.mu.Lock()
	lost := c.lost
	ended := map[*box]bool{}
	for b, over := range c.boxes {
		if b.plan.Shows(dir) {
			ended[b] = over
		}
	}
	c.mu.Unlock()
	found, unknown := map[*box][]Left{}, false
	for b, over := range ended {
		left := b.living()
		switch {
		case len(left) > 0:
			found[b] = left
		case over:
			c.settle(b)
		case !b.alive() && b.lost: // and has not left yet
			unknown = true
		}
	}
	if lost == 0 && !unknown {
		return found
	}
	for range 2 { // what forks during a look is seen in the next
		if left, sure := supervisor.Left(); len(left) > 0 || !sure {
			found[nil] = named(left) // there, though it may be empty: to be looked for again
			return found
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost == lost {
		c.lost = 0
	}
	return found
}

// settle gives back the group of a sandbox of which at last nothing lives.
func (c *Census) settle(b *box) {
	c.mu.Lock()
	_, there := c.boxes[b]
	delete(c.boxes, b)
	c.mu.Unlock()
	if there {
		b.group.Close()
	}
}

// endLiving ends a sandbox with all that it runs, or what no sandbox knows.
func endLiving(b *box, left []Left) {
	if b == nil {
		for _, s := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
			for _, p := range left {
				supervisor.SignalLeft(strconv.Itoa(p.PID), s)
			}
		}
		return
	}
	b.kill()
	pids := make([]string, len(left)) // a subreaper may be stopped, or gone
	for i, p := range left {
		pids[i] = strconv.Itoa(p.PID)
	}
	linux.KillAll(pids)
}

// living are the processes of a sandbox's commands: all that is in its group but
// its subreaper, or, without one, what the subreaper has below it, to which all that a
// command leaves comes. A namespace whose PID 1 is gone is empty.
func (b *box) living() []Left {
	subreaper := strconv.Itoa(b.cmd.Process.Pid)
	if !linux.Running(subreaper) {
		<-b.dead // who waits for it is about to know
	}
	ended := !b.alive()
	if b.plan.Together && !ended && !b.busy.Load() {
		return nil // what goes on only looks on, as what is shown apart
	}
	if pids, ok := b.group.Processes(); ok {
		if ended {
			return named(pids)
		}
		if slices.Contains(pids, subreaper) {
			return named(slices.DeleteFunc(pids, func(p string) bool { return p == subreaper }))
		}
	}
	if ended {
		return nil
	}
	return named(linux.Children(subreaper))
}

// named leaves of processes those that run, with what they were started as.
func named(pids []string) []Left {
	var out []Left
	for _, p := range pids {
		if n, err := strconv.Atoi(p); err == nil && linux.Running(p) {
			out = append(out, Left{PID: n, Command: linux.Command(p)})
		}
	}
	return out
}

// sweepPatience bounds how long Sweep waits for the death of what it kills.
const sweepPatience = 5 * time.Second

// Sweep ends what commands have left on this machine whose subreapers are no more,
// and sandboxes of the full tier whose host is; the first thing that a new host
// does. It says how many processes it found.
func Sweep() int {
	ended := map[string]bool{}
	for until := time.Now().Add(sweepPatience); time.Now().Before(until); time.Sleep(time.Millisecond) {
		left, sure := supervisor.Left()
		if len(left) == 0 && sure {
			break
		}
		for _, s := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
			for _, pid := range left {
				if supervisor.SignalLeft(pid, s) {
					ended[pid] = true
				}
			}
		}
	}
	return len(ended)
}

// LeftBehind lists what Sweep would end.
func LeftBehind() []Left {
	left, _ := supervisor.Left()
	out := named(left)
	for i := range out {
		out[i].Age = linux.Age(strconv.Itoa(out[i].PID))
	}
	return out
}
