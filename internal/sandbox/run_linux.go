package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"
	"time"

	"agency/internal/agency"
)

// runWalled runs one command in the tier in force.
func (r *Runner) runWalled(ctx context.Context, s Spec) (Result, error) {
	if err := checkOwner(s.Place); err != nil {
		return Result{}, err
	}
	prepare := r.prepareFull
	if r.tier == TierLandlock {
		prepare = r.prepareLandlock
	}
	p, req, release, err := prepare(s)
	if err != nil {
		return Result{}, err
	}
	defer release()
	way, err := r.wayOf(s)
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
	to := ends{s.Stdin, out, way}
	if req.door != nil {
		to.way = nil
		defer openDoor(way, req.door)()
	}
	rep, wall, err := r.machine.pool.run(ctx, p, req, to)
	if err != nil {
		if c, over := endedBy(ctx); over { // between the look above and the start
			return Result{Cause: c, ExitCode: killedCode}, nil
		}
		return Result{}, err
	}
	res := Result{Duration: time.Since(began)}
	out.into(&res)
	rep.into(&res, ctx, wall)
	tellRefused(way, &res)
	if r.tier == TierLandlock {
		r.tellOpen(s, &res)
	}
	return res, nil
}

// ReachesHosts says whether commands reach what Spec.Hosts names, through a
// proxy: in the full tier, and in the landlock tier where the kernel can hold
// them to its port and the user has not opened the network anyway.
func (r *Runner) ReachesHosts() bool {
	return r.tier == TierFull || r.tier == TierLandlock && !r.loopback && r.machine.ports
}

// wayOf is the way out of a command, nil for none.
func (r *Runner) wayOf(s Spec) (Outlet, error) {
	switch {
	case len(s.Hosts) == 0 || !r.ReachesHosts():
		return nil, nil
	case r.outlets == nil:
		return nil, agency.Errorf(agency.KindInternal, "sandbox: a command may reach hosts, and nothing was given that leads there")
	}
	return r.outlets.Open(s.Hosts), nil
}

// tellRefused adds to a command's output why it was refused what it could reach.
func tellRefused(way Outlet, res *Result) {
	if way == nil {
		return
	}
	if err := way.Refused(); err != nil {
		res.Output = append(res.Output, ("sandbox: proxy: " + err.Error() + "\n")...)
	}
}

func (r *Runner) prepareFull(s Spec) (plan, request, func(), error) {
	layers, err := takeLayers(s.LayerDir, s.Tools.Overlays)
	if err != nil {
		return plan{}, request{}, nil, agency.Errorf(agency.KindTransient, "sandbox: cache layers: %w", err)
	}
	p, err := makePlan(s)
	if err != nil {
		layers.release()
		return plan{}, request{}, nil, agency.Errorf(planKind(err), "sandbox: %w", err)
	}
	return p, makeRequest(s, p, layers.layers), layers.release, nil
}

// planKind tells a folder that is not there from one that may not be mounted:
// the first can come back, as that of a repository that was moved, and is no
// result of the command.
func planKind(err error) agency.Kind {
	if errors.Is(err, fs.ErrNotExist) {
		return agency.KindTransient
	}
	return agency.KindInvalid
}

// checkOwner refuses root in a checkout that is another user's: what the
// command writes would be root's, and what root alone may read would be open
// to the command.
func checkOwner(p Place) error {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, dir := range []string{p.At, p.Root} {
		fi, err := os.Stat(dir)
		if err != nil {
			continue
		}
		st, ok := fi.Sys().(*syscall.Stat_t)
		if !ok || st.Uid == 0 {
			continue
		}
		name := strconv.Itoa(int(st.Uid))
		if u, err := user.LookupId(name); err == nil {
			name = u.Username
		}
		return agency.Errorf(agency.KindDenied, "sandbox: %s belongs to %s and this is root", dir, name).
			WithMend("run it as that user: sudo -u %s agency ...", name)
	}
	return nil
}

// into turns a child's report into a result. wall is what the kernel held
// against the command.
func (rep report) into(res *Result, ctx context.Context, wall Cause) {
	res.CPU = time.Duration(rep.CPUMicros) * time.Microsecond
	res.MaxRSSKB = rep.MaxRSSKB
	res.OwnCaches = rep.OwnCaches
	switch {
	case rep.NotStarted != "":
		res.Cause, res.ExitCode = CauseNotStarted, rep.Code
		res.Output = append(res.Output, ("sandbox: " + rep.NotStarted + "\n")...)
	case rep.Cause == causeKilled:
		res.Cause, res.ExitCode = CauseSignalled, killedCode
		if c, ok := endedBy(ctx); ok {
			res.Cause = c
		}
	case rep.Cause != "":
		res.Cause, res.ExitCode = rep.Cause, killedCode
	default:
		res.setStatus(syscall.WaitStatus(rep.Wait))
	}
	if wall != "" && (res.Cause == CauseSignalled || res.Cause == CauseTimeout || res.Cause == CauseExited && res.ExitCode != 0) {
		res.Cause, res.ExitCode = wall, killedCode
	}
}
