package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agency/internal/agency"
)

// machine is what New found out about this kernel, and what is kept on it.
type machine struct {
	cgroup *hierarchy
	pool   *pool
	ports  bool // Landlock knows the ports of TCP
}

func newMachine(h *hierarchy, idle time.Duration) machine {
	if idle == 0 {
		idle = defaultIdle
	}
	return machine{cgroup: h, pool: &pool{cgroup: h, idle: idle}, ports: knowsPorts()}
}

func (m machine) release(dir string) {
	if m.pool != nil {
		m.pool.release(dir)
	}
}

func (m machine) close() {
	m.pool.close()
	m.cgroup.close()
}

// New makes a Runner. Unless the mode is off it tries the full tier once, and
// in mode auto, where the machine refuses that, the landlock tier. Where there
// is none the error is KindTransient and names the setting in force and the
// other way out, sandbox.mode: off.
func New(o Options) (*Runner, error) {
	r := &Runner{mode: o.Mode, tier: TierFull, stateDir: o.StateDir, loopback: o.Loopback, outlets: o.Outlets}
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
	for _, t := range tiers {
		r.tier = t
		err := r.settle(o.Idle)
		if err == nil {
			r.refused = first
			return r, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// settle tries the tier, with control groups if it can.
func (r *Runner) settle(idle time.Duration) error {
	h := findHierarchy()
	r.machine = newMachine(h, -1)
	err := r.try(context.Background())
	if err != nil && h != nil {
		h.close() // it may be the cgroup that is refused
		h = nil
		r.machine = newMachine(h, -1)
		err = r.try(context.Background())
	}
	r.machine = newMachine(h, idle)
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
	_, err = r.runWalled(ctx, Spec{
		Place: Place{Root: dir, At: dir, ReadOnly: true}, Argv: []string{"/dev/null/nothing"},
		Limits: Limits{}.orDefault(),
	})
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
