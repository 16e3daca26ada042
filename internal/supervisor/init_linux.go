package supervisor

import (
	"fmt"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"agency/internal/linux/meter"
	"agency/internal/linux/socket"
	"agency/internal/rootfs"
)

// initProcess is PID 1 of the sandbox: it builds what all commands see, then
// runs one command after the other, each in a pid namespace of its own, which
// the kernel empties when it ends. It keeps the capabilities of its own
// namespaces and shows itself to no command. It ends when the host does.
func initProcess() int { return serve(func() {}, newInit) }

// initState is what PID 1 keeps between commands.
type initState struct {
	plan  Plan
	used  bool        // a command has run
	home  []namespace // of its own threads, to come back to
	disks meter.Disks
	view  *rootfs.View
	crowd crowd // of a plan with Together
}

type namespace struct {
	fd   int
	flag int
}

func newInit(p Plan) (func(*incoming) (Report, error), error) {
	v, err := rootfs.Build(p.Plan)
	if err != nil {
		return nil, err
	}
	bound()
	p.NoUnix = len(v.Bound) > 0
	s := &initState{plan: p, disks: p.Disks(), view: v}
	for name, flag := range map[string]int{"mnt": unix.CLONE_NEWNS, "ipc": unix.CLONE_NEWIPC, "net": unix.CLONE_NEWNET} {
		fd, err := unix.Open("/proc/thread-self/ns/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("namespace %s: %w", name, err)
		}
		s.home = append(s.home, namespace{fd, flag})
	}
	// PID 1's memory, environment and files are nobody's business inside.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("dumpable: %w", err)
	}
	return s.run, nil
}

// run runs one command to its end. When it returns, no process of the command
// is left, and nothing that was made for it alone.
func (s *initState) run(in *incoming) (Report, error) {
	rep, err := s.try(in)
	for _, n := range s.home {
		// A sandbox that cannot come back is of no more use: its host sees that
		// it ends.
		if unix.Setns(n.fd, n.flag) != nil {
			os.Exit(HostGone)
		}
	}
	return rep, err
}

func (s *initState) try(in *incoming) (rep Report, err error) {
	leash, channel, err := s.beside(in)
	if err != nil {
		return rep, err
	}
	own := unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWNET
	if s.plan.Together {
		own = unix.CLONE_NEWNS
	}
	if !s.used {
		// Nothing has been in the network of PID 1 itself, nor will be again.
		own &^= unix.CLONE_NEWNET
	} else if err := s.view.Refresh(); err != nil {
		return rep, err
	}
	s.used = true
	if err := unix.Unshare(own); err != nil {
		return rep, fmt.Errorf("namespaces: %w", err)
	}
	if err := loopbackUp(); err != nil {
		return rep, fmt.Errorf("loopback: %w", err)
	}
	if channel >= 0 {
		k, err := socket.Carry(channel, ProxyPort)
		if err != nil {
			return rep, fmt.Errorf("proxy: %w", err)
		}
		if !s.plan.Together { // it is of all that are and will be in this network
			defer k.Close()
		}
	}
	refused, err := s.view.ForCommand(in.request.Layers, in.request.Limits.TmpMB, in.request.Stays)
	if err != nil {
		return rep, err
	}
	rules, err := rulesOf(s.plan, in.request.Stays)
	if err != nil {
		return rep, err
	}
	defer func() { _ = unix.Close(rules) }()
	seen := Report{OwnCaches: refused, Bound: s.view.Bound}
	if s.plan.Together {
		return s.together(in, locks{rules, -1}, leash, seen)
	}
	rep, err = command(s.plan, in, locks{rules, -1}, s.disks)
	rep.OwnCaches, rep.Bound = seen.OwnCaches, seen.Bound
	return rep, err
}

// beside takes from what came with a request what is beside the three streams: the leash,
// and the channel to the proxy; -1 for none.
func (s *initState) beside(in *incoming) (leash, channel int, err error) {
	leash, channel, want := -1, -1, 3
	if s.plan.Together {
		want++
	}
	if n := len(in.files); n != want && n != want+1 {
		return leash, channel, fmt.Errorf("%d files came with a request", n)
	}
	if s.plan.Together {
		leash = in.files[3]
	}
	if len(in.files) > want {
		channel = in.files[want]
	}
	in.files = in.files[:3]
	return leash, channel, nil
}

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
