package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"agency/internal/agency"
	"agency/internal/linux/cgroup"
	"agency/internal/linux/socket"
	"agency/internal/supervisor"
)

// box is one sandbox: a PID 1 with its namespaces, that runs one command after
// the other.
type box struct {
	cmd   *exec.Cmd
	conn  *socket.Socket
	group *cgroup.Group
	dead  chan struct{} // closed when PID 1 is gone, and so everything inside
	spent bool          // must not run another command
	lost  bool          // set before dead is closed: its subreaper was killed, and no group knows what it left
	plan  supervisor.Plan
	key   string // the plan as text: what another command must equal to run here

	census *Census // nil: nobody asks

	// Of one whose commands are together (Company).
	busy  atomic.Bool // a command is under way that can write what is shown
	stay  int         // how many go on beside it
	way   func()      // ends the way out of all of them; nil: there is none
	walls sync.Mutex  // of what the group has held
}

// openBox starts a sandbox and waits until it has built its view. The end of
// ctx ends the waiting and the sandbox.
func openBox(ctx context.Context, p supervisor.Plan, g *cgroup.Group) (*box, error) {
	ours, theirs, err := socket.Pair()
	if err != nil {
		return nil, agency.Errorf(agency.KindTransient, "sandbox: %w", err)
	}
	b := &box{cmd: supervisor.Command(p.Landlock, theirs), conn: ours, group: g, dead: make(chan struct{}), plan: p}
	g.Into(b.cmd.SysProcAttr)
	started := make(chan error)
	go b.hold(started)
	err = <-started
	_ = theirs.Close()
	if err != nil {
		_ = ours.Close()
		return nil, agency.Errorf(agency.KindTransient, "sandbox: new namespaces: %w", nameRefusal(err)).WithMend("%s", waysOut())
	}
	if err := b.build(ctx, p); err != nil {
		b.end()
		return nil, err
	}
	return b, nil
}

// build hands PID 1 the plan and waits for its answer.
func (b *box) build(ctx context.Context, p supervisor.Plan) error {
	stop := context.AfterFunc(ctx, b.kill)
	sent := supervisor.WriteFrame(b.conn, p)
	// While PID 1 builds its view: no command runs yet.
	b.group.Adopt(b.cmd.Process.Pid)
	var rep supervisor.Report
	told := supervisor.ReadFrame(b.conn, &rep)
	switch stopped := stop(); {
	case !stopped:
		return ctx.Err()
	case told != nil:
		return agency.Errorf(agency.KindInternal,
			"sandbox: the child did not answer: sandbox.Child must be the first statement of main: %w", errors.Join(sent, told))
	case rep.Setup != "":
		return setupError(rep.Setup)
	}
	return nil
}

// nameRefusal says in words what the kernel says in two odd ways.
func nameRefusal(err error) error {
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EUSERS):
		return errors.New("the machine allows no more user namespaces")
	case errors.Is(err, unix.EPERM):
		return errors.New("the machine refuses user namespaces: operation not permitted")
	}
	return err
}

func setupError(text string) error {
	return agency.Errorf(agency.KindTransient, "sandbox: %s", text).WithMend("%s", waysOut())
}

// hold starts PID 1 and stays until it has ended. The parent-death signal
// follows the thread that forked, so that this one must live as long.
func (b *box) hold(started chan<- error) {
	runtime.LockOSThread()
	err := b.cmd.Start()
	running := err == nil
	if running && !b.plan.Landlock {
		if err = supervisor.MapIDs(b.cmd.Process.Pid); err != nil {
			_ = b.cmd.Process.Kill()
		}
	}
	started <- err
	if running {
		_ = b.cmd.Wait()
		b.lost = b.plan.Landlock && b.group == nil && b.cmd.ProcessState.ExitCode() != supervisor.HostGone
	}
	close(b.dead)
}

// errStale says that a sandbox cannot run the command, and has not begun to.
var errStale = errors.New("stale sandbox")

// run runs one command; wall is what the kernel held against it. After an
// error, as after a report that is not clean, the sandbox is spent. When run
// returns, no process of the command is left.
func (b *box) run(ctx context.Context, req supervisor.Request, o ends) (rep supervisor.Report, wall Cause, err error) {
	b.spent = true
	if err := b.group.Ready(wallsOf(req.Limits)); err != nil {
		return rep, "", errors.Join(errStale, err)
	}
	st, err := openStreams(o)
	if err != nil {
		return rep, "", err
	}
	if o.egress != nil {
		channel, end, err := openChannel(o.egress)
		if err != nil {
			st.handOver()
			st.wait()
			return rep, "", agency.Errorf(agency.KindTransient, "sandbox: proxy: %w", err)
		}
		defer end()
		st.theirs = append(st.theirs, channel)
	}
	stop := context.AfterFunc(ctx, b.kill)
	sent := b.send(req, st.theirs)
	st.handOver()
	told := sent
	if sent == nil {
		told = supervisor.ReadFrame(b.conn, &rep)
	}
	stopped := stop()
	if told != nil || !stopped { // PID 1 that is killed cannot tell; all it ran went with it
		b.end()
	} else if b.plan.Landlock {
		b.group.EndOthers(b.cmd.Process.Pid)
	}
	st.wait()
	wall = wallHeld(b.group)
	switch {
	case sent != nil && ctx.Err() == nil:
		return rep, "", errors.Join(errStale, sent)
	case told != nil:
		return supervisor.Report{Cause: supervisor.Killed}, wall, nil
	case rep.Setup != "":
		return rep, "", errors.Join(errStale, setupError(rep.Setup))
	}
	// Of a folder that is shown as it is only the pipes of this moment are covered.
	b.spent = !stopped || wall != "" || rep.Cause != "" || len(rep.Bound) > 0
	return rep, wall, nil
}

// initMB is room for PID 1, initTasks its threads.
const (
	initMB    = 64
	initTasks = 32
)

// wallsOf are a little beyond the limits, so that the watch, which can name the
// cause, comes first where it can.
func wallsOf(l supervisor.Limits) cgroup.Walls {
	return cgroup.Walls{MemoryMB: l.MemoryMB + 2*l.TmpMB + initMB, Tasks: l.Tasks + initTasks}
}

// wallHeld names the wall that the kernel held against a command, if any.
func wallHeld(g *cgroup.Group) Cause {
	switch memory, tasks := g.Passed(); {
	case memory:
		return CauseMemory
	case tasks:
		return CauseProcesses
	}
	return ""
}

// send sends a request with its streams.
func (b *box) send(req supervisor.Request, files []*os.File) error {
	text, err := supervisor.Frame(req)
	if err != nil {
		return err
	}
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	// The files go with the first bytes; the rest may need more than one write.
	const head = 4
	if err := b.conn.SendFiles(text[:head], fds...); err != nil {
		return err
	}
	_, err = b.conn.Write(text[head:])
	return err
}

func (b *box) alive() bool {
	select {
	case <-b.dead:
		return false
	default:
		return true
	}
}

// kill ends PID 1, and the kernel ends the rest. The subreaper of the landlock tier
// has no namespace to take along: it ends its processes itself when it is told.
func (b *box) kill() {
	if b.plan.Landlock {
		_ = b.conn.CloseWrite()
		return
	}
	_ = b.cmd.Process.Kill()
}

// end ends the sandbox and waits until it is gone. It is idempotent.
func (b *box) end() {
	b.kill()
	<-b.dead
	if b.plan.Landlock { // whose subreaper may have been killed itself
		b.group.EndOthers(0)
	}
	_ = b.conn.Close()
}

// close ends the sandbox and gives its group back.
func (b *box) close() {
	b.end()
	if b.way != nil {
		b.way()
	}
	if b.census == nil || b.census.leave(b) {
		b.group.Close()
	}
}

// ends are what a command is joined to on the host.
type ends struct {
	stdin  []byte
	input  *os.File // in its place; nil: there is none
	out    *output
	egress Outlet // nil: it reaches nobody
}

// streams are a command's three, seen from the host.
type streams struct {
	theirs []*os.File
	input  *os.File
	copies sync.WaitGroup
}

func openStreams(o ends) (*streams, error) {
	s := &streams{}
	stdin, out := o.stdin, o.out
	in, err := s.openInput(o)
	if err != nil {
		return nil, agency.Errorf(agency.KindTransient, "sandbox: %w", err)
	}
	s.theirs = []*os.File{in}
	var ours []*os.File
	for range 2 {
		r, w, err := os.Pipe()
		if err != nil {
			for _, f := range append(s.theirs, ours...) {
				_ = f.Close()
			}
			s.closeInput()
			return nil, agency.Errorf(agency.KindTransient, "sandbox: %w", err)
		}
		ours, s.theirs = append(ours, r), append(s.theirs, w)
	}
	for i, f := range ours {
		s.copies.Go(func() {
			_, _ = io.Copy(stream{out, i == 0}, f)
			_ = f.Close()
		})
	}
	if s.input != nil {
		s.copies.Go(func() {
			_, _ = s.input.Write(stdin) // who does not read it all ends without
			s.closeInput()
		})
	}
	return s, nil
}

func (s *streams) openInput(o ends) (*os.File, error) {
	switch {
	case o.input != nil:
		return again(o.input)
	case len(o.stdin) == 0:
		return os.Open(os.DevNull)
	}
	r, w, err := os.Pipe()
	s.input = w
	return r, err
}

// again is another descriptor of a file: a sandbox that is stale is tried again with a new one.
func again(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

func (s *streams) closeInput() {
	if s.input != nil {
		_ = s.input.Close()
	}
}

// handOver closes the host's copies of what the command has now.
func (s *streams) handOver() {
	for _, f := range s.theirs {
		_ = f.Close()
	}
}

// wait waits until everything is read. The command's processes are gone, and so
// the other ends closed.
func (s *streams) wait() { s.copies.Wait() }
