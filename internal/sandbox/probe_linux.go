package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"agency/internal/agency"
)

// probeArg starts this program inside its own sandbox, where it tries to break
// out.
const probeArg = "agency-sandbox-probe"

// probeAt is where this program lies inside then.
const probeAt = "/run/agency/probe"

// runAttempts is the probe: it tries everything and prints what came of it.
func runAttempts() int {
	var out []Attempt
	open := openAttempts()
	for _, a := range attempts() {
		one := Attempt{Name: a.name, Detail: "got through", Gap: slices.Contains(open, a.name)}
		if err := a.try(); err != nil {
			one.Stopped, one.Detail = true, err.Error()
		}
		out = append(out, one)
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		return 1
	}
	return 0
}

func probe(ctx context.Context, mode Mode) Report {
	r, err := New(Options{Mode: mode, Idle: -1})
	if err != nil {
		return Report{Mode: mode, Tier: TierNone, Err: err}
	}
	defer func() { _ = r.Close() }() // never fails
	rep := Report{
		Mode: r.Mode(), Tier: r.tier, Seccomp: true, Refused: r.refused, Gaps: r.Gaps(),
		Landlock: landlockInForce(), Cgroup: r.machine.cgroup.version(),
	}
	if err := r.probeInside(ctx, &rep); err != nil {
		rep.Err = err
	}
	return rep
}

func (r *Runner) probeInside(ctx context.Context, rep *Report) error {
	dir, err := tempDir("agency-probe-")
	if err != nil {
		return agency.Errorf(agency.KindTransient, "sandbox: temporary folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	self, err := os.Executable()
	if err != nil {
		return agency.Errorf(agency.KindTransient, "sandbox: own program: %w", err)
	}
	lower := filepath.Join(dir, "lower")
	if err := os.Mkdir(lower, 0o700); err != nil {
		return agency.Errorf(agency.KindTransient, "sandbox: temporary folder: %w", err)
	}
	program := probeAt
	if r.tier == TierLandlock {
		program = self
	}
	var told bytes.Buffer
	res, err := r.Run(ctx, Spec{
		Place: Place{Root: dir, At: dir}, LayerDir: dir, Stdout: &told,
		Tools: Toolchain{
			ReadOnly: []Mount{{Host: self, At: probeAt}},
			Overlays: []Overlay{{Lower: lower, At: "/opt/overlay", Name: "probe"}},
		},
		Argv: []string{program, probeArg}, Limits: Limits{Wall: 30 * time.Second},
	})
	if err != nil {
		return err
	}
	rep.Overlay = len(res.OwnCaches) == 0
	if err := json.NewDecoder(&told).Decode(&rep.Attempts); err != nil {
		return agency.Errorf(agency.KindTransient, "sandbox: the probe gave no answer (%s, exit %d): %s",
			res.Cause, res.ExitCode, bytes.TrimSpace(res.Output))
	}
	return nil
}

// openAttempts are those which the tier that this process runs in does not
// stop; it says so itself (gaps).
func openAttempts() []string {
	if os.Getppid() == 1 && os.Getpid() != 1 {
		b, err := os.ReadFile("/proc/1/cmdline")
		if err == nil && bytes.HasPrefix(b, []byte(childName)) {
			return nil
		}
	}
	open := []string{"see the host's processes", "hold the user's file watches", "read the kernel's tables"}
	if s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err == nil {
		_ = unix.Close(s)
		open = append(open, "reach the network", "send a datagram out", "reach daemons of the host")
	}
	if landlockInForce() < 6 {
		open = append(open, "end the supervisor")
	}
	return open
}

// landlockInForce is the ABI that commands run under, 0 for none.
func landlockInForce() int {
	if abi := min(landlockABI(), landlockMaxABI); abi >= landlockMinABI {
		return abi
	}
	return 0
}
