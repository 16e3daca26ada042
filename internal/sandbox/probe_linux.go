package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"

	"agency/internal/agency"
	"agency/internal/beneath"
	"agency/internal/linux/escape"
	"agency/internal/linux/landlock"
	"agency/internal/supervisor"
)

// probeAt is where this program lies inside then.
const probeAt = "/run/agency/probe"

func probe(ctx context.Context, o Options) Report {
	o.Idle = -1
	r, err := New(o)
	if err != nil {
		return Report{Mode: o.Mode, Tier: TierNone, Err: err}
	}
	defer func() { _ = r.Close() }() // never fails
	rep := Report{
		Mode: r.Mode(), Tier: r.tier, Seccomp: true, Refused: r.refused, Gaps: r.Gaps(),
		Landlock: landlock.InForce(), Cgroup: r.machine.cgroup.Version(),
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
	defer func() { _ = beneath.Remove(dir) }()
	self, err := os.Executable()
	if err != nil {
		return agency.Errorf(agency.KindTransient, "sandbox: own program: %w", err)
	}
	lower := filepath.Join(dir, "lower")
	if err := os.Mkdir(lower, 0o700); err != nil {
		return agency.Errorf(agency.KindTransient, "sandbox: temporary folder: %w", err)
	}
	around, err := escape.TrapsParent()
	if err != nil {
		return agency.Errorf(agency.KindTransient, "sandbox: temporary folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(around) }()
	planted, err := escape.PlantTraps(around)
	if err != nil {
		return agency.Errorf(agency.KindTransient, "sandbox: %w", err)
	}
	defer planted.Close()
	program, shown := probeAt, escape.TrapsAt
	if r.tier == TierLandlock {
		program, shown = self, planted.Dir
	}
	var told bytes.Buffer
	res, err := r.Run(ctx, Spec{
		Place: Place{Root: dir, At: dir}, LayerDir: dir, Stdout: &told,
		Tools: Toolchain{
			ReadOnly: []Mount{{Host: self, At: probeAt, Own: true}, {Host: planted.Dir, At: escape.TrapsAt, Own: true}},
			Overlays: []Overlay{{Lower: lower, At: "/opt/overlay", Name: "probe"}},
		},
		Env:  []string{escape.TrapsEnv + "=" + shown, escape.TrapsOwnEnv + "=" + filepath.Join(around, escape.TrapOwn)},
		Argv: []string{program, supervisor.ProbeArg}, Limits: Limits{Wall: 30 * time.Second},
	})
	if err != nil {
		return err
	}
	rep.Overlay = len(res.OwnCaches) == 0
	if err := json.NewDecoder(&told).Decode(&rep.Attempts); err != nil {
		return agency.Errorf(agency.KindTransient, "sandbox: the probe gave no answer (%s, exit %d): %s",
			res.Cause, res.ExitCode, bytes.TrimSpace(res.Output))
	}
	judge(rep.Attempts, r.openGaps())
	return nil
}

func (r *Runner) openGaps() []supervisor.Gap {
	return supervisor.Gaps(r.tier == TierLandlock, r.loopback, r.bound)
}

// Gaps are what the tier in force does not keep from a command, each in a few
// words; none in the full tier, but where the kernel refuses overlays.
func (r *Runner) Gaps() []string {
	var out []string
	for _, g := range r.openGaps() {
		out = append(out, g.Text)
	}
	return out
}

// judge says of each attempt whether the tier in force names it as its gap.
func judge(made []Attempt, gaps []supervisor.Gap) {
	for _, g := range gaps {
		for i := range made {
			made[i].Gap = made[i].Gap || slices.Contains(g.Leaves, made[i].Name)
		}
	}
}
