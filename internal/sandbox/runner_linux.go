package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"agency/internal/agency"
	"agency/internal/beneath"
	"agency/internal/linux/cgroup"
	"agency/internal/linux/landlock"
	"agency/internal/linux/meter"
	"agency/internal/supervisor"
)

// machine is what New found out about this kernel, and what is kept on it.
type machine struct {
	cgroup *cgroup.Hierarchy
	pool   *pool
	ports  bool // Landlock knows the ports of TCP
}

func newMachine(h *cgroup.Hierarchy, idle time.Duration, c *Census) machine {
	if idle == 0 {
		idle = defaultIdle
	}
	return machine{cgroup: h, pool: &pool{cgroup: h, idle: idle, census: c}, ports: landlock.KnowsPorts()}
}

func (m machine) release(dir string) {
	if m.pool != nil {
		m.pool.release(dir)
	}
}

func (m machine) close() {
	m.pool.close()
	m.cgroup.Close()
}

// Child is the first statement of main and of every TestMain whose package
// runs commands. Where this process was started to be a sandbox, or the probe
// in one, it never returns; everywhere else it does nothing.
func Child() { supervisor.Child() }

// New makes a Runner. Unless the mode is off it tries the full tier once, and
// in mode auto, where the machine refuses that, the landlock tier. Where there
// is none the error is KindTransient and names the setting in force and the
// other way out, sandbox.mode: off.
func New(o Options) (*Runner, error) {
	r := &Runner{tier: TierFull, stateDir: o.StateDir, loopback: o.Loopback, outlets: o.Outlets, sight: newSight(o)}
	tiers := []Tier{TierFull, TierLandlock}
	switch o.Mode {
	case "", ModeAuto:
	case ModeFull:
		tiers = tiers[:1]
	case ModeLandlock:
		tiers = tiers[1:]
	case ModeOff:
		r.tier = TierNone
		return r, nil
	default:
		return nil, agency.Errorf(agency.KindInvalid, "sandbox.mode %q: want auto, full or off", o.Mode)
	}
	var first error
	for _, r.tier = range tiers {
		err := r.settle(o)
		if err == nil {
			r.refused = first
			return r, nil
		}
		first = cmp.Or(first, err)
	}
	return nil, first
}

// settle tries the tier, with control groups if it can.
func (r *Runner) settle(o Options) error {
	h := cgroup.Find()
	if t := o.Tried; t != nil && t.tier == r.tier && (t.machine.cgroup == nil) == (h == nil) {
		r.bound, r.machine = t.bound, newMachine(h, o.Idle, o.Census)
		return nil
	}
	r.machine = newMachine(h, -1, nil)
	err := r.try(context.Background())
	if err != nil && h != nil {
		h.Close() // it may be the cgroup that is refused
		h = nil
		r.machine = newMachine(h, -1, nil)
		err = r.try(context.Background())
	}
	r.machine = newMachine(h, o.Idle, o.Census)
	return err
}

// try runs nothing in a full sandbox: a command that is not there. Whatever
// the machine refuses, it refuses now.
func (r *Runner) try(ctx context.Context) error {
	dir, err := tempDir("agency-try-")
	if err != nil {
		return agency.Errorf(agency.KindTransient, "sandbox: temporary folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	shown := filepath.Join(dir, "shown")
	if err := os.Mkdir(shown, 0o700); err != nil {
		return agency.Errorf(agency.KindTransient, "sandbox: temporary folder: %w", err)
	}
	spec := Spec{
		Place: Place{Root: dir, At: dir, ReadOnly: true}, Argv: []string{"/dev/null/nothing"},
		Tools:  Toolchain{ReadOnly: []Mount{{Host: shown, At: shown, Own: true}}},
		Limits: Limits{}.orDefault(),
	}
	res, err := r.runSandboxed(ctx, spec)
	r.bound = len(res.Bound) > 0
	return err
}

// settings are the system settings that refuse user namespaces, each with the
// value that does and the command that mends it.
var settings = [...]struct{ path, refuses, name, allow string }{
	{"kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone", "1"},
	{"user/max_user_namespaces", "0", "user.max_user_namespaces", "15000"},
	{"kernel/apparmor_restrict_unprivileged_userns", "1", "kernel.apparmor_restrict_unprivileged_userns", "0"},
}

// waysOut names the system setting that is in force, and the mode without a
// sandbox.
func waysOut() string { return waysOutOf("/proc/sys") }

func waysOutOf(sys string) string {
	const off = "or set sandbox.mode: off to run without a sandbox"
	for _, s := range settings {
		b, err := os.ReadFile(filepath.Join(sys, s.path))
		if err == nil && strings.TrimSpace(string(b)) == s.refuses {
			return s.name + " is " + s.refuses + ": sudo sysctl -w " + s.name + "=" + s.allow + ", " + off
		}
	}
	return "allow unprivileged user namespaces and a fresh /proc (in a container: start it without its seccomp and /proc masks), " + off
}

// tempDir is a folder of its own, by its real path.
func tempDir(pattern string) (string, error) {
	dir, err := os.MkdirTemp("", pattern)
	if err != nil {
		return "", err
	}
	return resolved(dir), nil
}

// runSandboxed runs one command in the tier in force.
func (r *Runner) runSandboxed(ctx context.Context, s Spec) (Result, error) {
	if err := checkOwner(s.Place); err != nil {
		return Result{}, err
	}
	prepare := r.prepareFull
	if r.tier == TierLandlock {
		prepare = r.prepareLandlock
	}
	c, err := prepare(s)
	if err != nil {
		return Result{}, err
	}
	defer c.release()
	egress, err := r.egressOf(s)
	if err != nil {
		return Result{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.Limits.Wall, errWall)
	defer cancel()
	if c, over := endedBy(ctx); over {
		return Result{Cause: c, ExitCode: killedCode}, nil
	}
	out := newOutput(s)
	began := time.Now()
	to := ends{s.Stdin, s.Input, out, egress}
	if c.listener != nil {
		to.egress = nil
		defer openListener(egress, c.listener)()
	}
	rep, wall, err := r.start(ctx, s, c, to)
	if err != nil {
		if c, over := endedBy(ctx); over { // between the look above and the start
			return Result{Cause: c, ExitCode: killedCode}, nil
		}
		return Result{}, err
	}
	res := Result{Duration: time.Since(began)}
	out.into(&res)
	res.setReport(ctx, rep, wall)
	if s.Seals && r.tier == TierFull && res.Cause == CauseExited && len(res.OwnCaches) == 0 {
		_ = c.seal() // else whoever comes next builds it again
	}
	if egress != nil && egress.Refused() != nil {
		res.tell("proxy: " + egress.Refused().Error())
	}
	if r.tier == TierLandlock {
		r.tellOpen(s, &res)
	}
	if len(res.Bound) > 0 && res.ExitCode != 0 && bytes.Contains(res.Output, refusedSocket) {
		res.tell("sockets that have a path are refused: the kernel makes no overlay of " + strings.Join(res.Bound, ", "))
	}
	return res, nil
}

// start runs a command that is laid out, alone or in its company.
func (r *Runner) start(ctx context.Context, s Spec, c prepared, to ends) (supervisor.Report, Cause, error) {
	if s.Beside != nil && r.tier == TierFull {
		return s.Beside.run(ctx, r.machine.pool, c, to, s.Begun)
	}
	if s.Begun != nil {
		s.Begun() // nobody has to find its sandbox
	}
	return r.machine.pool.run(ctx, c, to)
}

// ReachesHosts says whether commands reach what Spec.Hosts names, through a
// proxy: in the full tier, and in the landlock tier where the kernel can hold
// them to its port and the user has not opened the network anyway.
func (r *Runner) ReachesHosts() bool {
	return r.tier == TierFull || r.tier == TierLandlock && !r.loopback && r.machine.ports
}

// egressOf is the way out of a command, nil for none.
func (r *Runner) egressOf(s Spec) (Outlet, error) {
	switch {
	case len(s.Hosts) == 0 || !r.ReachesHosts():
		return nil, nil
	case r.outlets == nil:
		return nil, agency.Errorf(agency.KindInternal, "sandbox: a command may reach hosts, and nothing was given that leads there")
	}
	return r.outlets.Open(s.Hosts), nil
}

// checkOwner refuses root in a checkout that is another user's: what the
// command writes would be root's, and what root alone may read would be open
// to the command.
func checkOwner(p Place) error {
	at, owner := beneath.Foreign(p.At, p.Root)
	if at == "" {
		return nil
	}
	return agency.Errorf(agency.KindDenied, "sandbox: %s belongs to %s and this is root", at, owner).
		WithMend("run it as that user: sudo -u %s agency ...", owner)
}

// setReport reads what a supervisor tells of a command; wall is what the kernel held
// against that.
func (res *Result) setReport(ctx context.Context, rep supervisor.Report, wall Cause) {
	res.CPU = time.Duration(rep.CPUMicros) * time.Microsecond
	res.MaxRSSKB = rep.MaxRSSKB
	res.OwnCaches, res.Bound = rep.OwnCaches, rep.Bound
	switch {
	case rep.NotStarted != "":
		res.Cause, res.ExitCode = CauseNotStarted, notStartedCode(rep.Errno)
		res.tell(rep.NotStarted)
	case rep.Cause == supervisor.Killed:
		res.Cause, res.ExitCode = CauseSignalled, killedCode
		if c, ok := endedBy(ctx); ok {
			res.Cause = c
		}
	case rep.Cause != "":
		res.Cause, res.ExitCode = Cause(rep.Cause), killedCode
	default:
		res.setStatus(syscall.WaitStatus(rep.Wait))
	}
	if wall != "" && (res.Cause == CauseSignalled || res.Cause == CauseTimeout || res.Cause == CauseExited && res.ExitCode != 0) {
		res.Cause, res.ExitCode = wall, killedCode
	}
}

// inside are the limits as a supervisor is told them: files in memory may take half
// of the memory again in each of their folders, and threads are eight times the
// processes, for compilers of the day run eight and more each.
func (l Limits) inside() supervisor.Limits {
	return supervisor.Limits{
		Limits: meter.Limits{CPU: l.CPU, MemoryMB: l.MemoryMB, Processes: l.Processes},
		TmpMB:  max(l.MemoryMB/2, 16), Tasks: l.Processes*8 + 64, OpenFiles: l.OpenFiles, FileSizeMB: l.FileSizeMB, Nice: l.Nice,
	}
}
