package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"time"

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
	for _, a := range attempts() {
		one := Attempt{Name: a.name, Detail: "got through"}
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

func probe(ctx context.Context) Report {
	r, err := New(Options{Mode: ModeFull, Idle: -1})
	if err != nil {
		return Report{Mode: ModeFull, Tier: TierNone, Err: err}
	}
	defer func() { _ = r.Close() }() // never fails
	rep := Report{
		Mode: ModeFull, Tier: TierFull, Seccomp: true,
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
	res, err := r.Run(ctx, Spec{
		Place: Place{Root: dir, At: dir}, LayerDir: dir,
		Tools: Toolchain{
			ReadOnly: []Mount{{Host: self, At: probeAt}},
			Overlays: []Overlay{{Lower: "/usr", At: "/opt/overlay", Name: "probe"}},
		},
		Argv: []string{probeAt, probeArg}, Limits: Limits{Wall: 30 * time.Second},
	})
	if err != nil {
		return err
	}
	rep.Overlay = len(res.OwnCaches) == 0
	if err := json.NewDecoder(bytes.NewReader(res.Stdout)).Decode(&rep.Attempts); err != nil {
		return agency.Errorf(agency.KindTransient, "sandbox: the probe gave no answer (%s, exit %d): %s",
			res.Cause, res.ExitCode, bytes.TrimSpace(res.Output))
	}
	return nil
}

// landlockInForce is the ABI that commands run under, 0 for none.
func landlockInForce() int {
	if abi := min(landlockABI(), landlockMaxABI); abi >= landlockMinABI {
		return abi
	}
	return 0
}
