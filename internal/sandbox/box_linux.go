package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"agency/internal/agency"
)

// causeKilled stands in a report that was never written, until it is known who
// killed the command.
const causeKilled Cause = "killed"

// box is one sandbox: a PID 1 with its namespaces, that runs one command after
// the other.
type box struct {
	cmd   *exec.Cmd
	conn  *socket
	group *group
	dead  chan struct{} // closed when PID 1 is gone, and so everything inside
	spent bool          // must not run another command
	plan  plan
	key   string // the plan as text: what another command must equal to run here
}

// openBox starts a sandbox and waits until it has built its view. The end of
// ctx ends the waiting and the sandbox.
func openBox(ctx context.Context, p plan, g *group) (*box, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, agency.Errorf(agency.KindTransient, "sandbox: %w", err)
	}
	b := &box{cmd: boxCommand(p.Tier, theirs, g), conn: ours, group: g, dead: make(chan struct{}), plan: p}
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
func (b *box) build(ctx context.Context, p plan) error {
	stop := context.AfterFunc(ctx, b.kill)
	sent := writeFrame(b.conn, p)
	// While PID 1 builds its view: no command runs yet.
	b.group.adopt(b.cmd.Process.Pid)
	var rep report
	told := readFrame(b.conn, &rep)
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
	if running && b.plan.Tier != TierLandlock {
		if err = mapIDs(b.cmd.Process.Pid); err != nil {
			_ = b.cmd.Process.Kill()
		}
	}
	started <- err
	if running {
		_ = b.cmd.Wait()
	}
	close(b.dead)
}

func boxCommand(t Tier, control *os.File, g *group) *exec.Cmd {
	// The program of this very process, also when its file is gone.
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{childName}
	// The last is for builds with the race detector, which else waits a second
	// at the end.
	cmd.Env = []string{"GOGC=off", "GOMAXPROCS=2", "GOTRACEBACK=none", "GORACE=atexit_sleep_ms=0"}
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{control} // fdControl
	if t == TierLandlock {
		cmd.Args = []string{keeperName}
		// No parent-death signal: at the end of its control it has processes to
		// end first.
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	} else {
		cmd.SysProcAttr = namespaces()
	}
	g.into(cmd.SysProcAttr)
	return cmd
}

// mapIDs gives PID 1 the user that it is inside. It may wait for that until it
// gets its plan: its capabilities do not come from who it is.
func mapIDs(pid int) error {
	for _, f := range [...]struct{ name, text string }{
		{"uid_map", fmt.Sprintf("%d %d 1\n", insideID(os.Getuid()), os.Getuid())},
		{"setgroups", "deny"}, // else an ordinary user may map no group
		{"gid_map", fmt.Sprintf("%d %d 1\n", insideID(os.Getgid()), os.Getgid())},
	} {
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/%s", pid, f.name), []byte(f.text), 0); err != nil {
			return err
		}
	}
	return nil
}

func namespaces() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Setsid:    true,
		Pdeathsig: syscall.SIGKILL,
		// The last two are what package syscall adds where there is no new user
		// namespace: without them the host's memory would be copied for a process
		// that has no use for it.
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID |
			unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_VM | unix.CLONE_VFORK,
		// Enough to build the view, nothing outside: these hold in the new
		// namespaces only, and no command has them. CHROOT is for coming back
		// from a command's mounts, DAC_OVERRIDE for overlays, whose work folder
		// nobody may enter, SYS_RESOURCE for the counts of the user namespace.
		AmbientCaps: []uintptr{
			unix.CAP_SYS_ADMIN, unix.CAP_SYS_CHROOT, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE, unix.CAP_SYS_RESOURCE,
		},
	}
}

// errStale says that a sandbox cannot run the command, and has not begun to.
var errStale = errors.New("stale sandbox")

// run runs one command; wall is what the kernel held against it. After an
// error, as after a report that is not clean, the sandbox is spent. When run
// returns, no process of the command is left.
func (b *box) run(ctx context.Context, req request, o ends) (rep report, wall Cause, err error) {
	b.spent = true
	if err := b.group.ready(req.Limits); err != nil {
		return rep, "", errors.Join(errStale, err)
	}
	st, err := openStreams(o.stdin, o.out)
	if err != nil {
		return rep, "", err
	}
	if o.way != nil {
		channel, end, err := openChannel(o.way)
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
		told = readFrame(b.conn, &rep)
	}
	stopped := stop()
	if told != nil || !stopped { // PID 1 that is killed cannot tell; all it ran went with it
		b.end()
	}
	st.wait()
	wall = b.group.passed()
	switch {
	case sent != nil && ctx.Err() == nil:
		return rep, "", errors.Join(errStale, sent)
	case told != nil:
		return report{Cause: causeKilled}, wall, nil
	case rep.Setup != "":
		return rep, "", errors.Join(errStale, setupError(rep.Setup))
	}
	b.spent = !stopped || wall != "" || rep.Cause != ""
	return rep, wall, nil
}

// send sends a request with its streams.
func (b *box) send(req request, files []*os.File) error {
	text, err := frame(req)
	if err != nil {
		return err
	}
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	// The files go with the first bytes; the rest may need more than one write.
	const head = 4
	if err := b.conn.sendFiles(text[:head], fds...); err != nil {
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

// kill ends PID 1, and the kernel ends the rest. The keeper of the landlock tier
// has no namespace to take along: it ends its processes itself when it is told.
func (b *box) kill() {
	if b.plan.Tier == TierLandlock {
		_ = b.conn.closeWrite()
		return
	}
	_ = b.cmd.Process.Kill()
}

// end ends the sandbox and waits until it is gone. It is idempotent.
func (b *box) end() {
	b.kill()
	<-b.dead
	_ = b.conn.Close()
}

// close ends the sandbox and gives its group back.
func (b *box) close() {
	b.end()
	b.group.close()
}

// ends are what a command is joined to on the host.
type ends struct {
	stdin []byte
	out   *output
	way   Outlet // nil: it reaches nobody
}

// streams are a command's three, seen from the host.
type streams struct {
	theirs []*os.File
	input  *os.File
	copies sync.WaitGroup
}

func openStreams(stdin []byte, out *output) (*streams, error) {
	s := &streams{}
	in, err := s.openInput(stdin)
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

func (s *streams) openInput(stdin []byte) (*os.File, error) {
	if len(stdin) == 0 {
		return os.Open(os.DevNull)
	}
	r, w, err := os.Pipe()
	s.input = w
	return r, err
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
