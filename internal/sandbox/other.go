//go:build !linux

package sandbox

import (
	"context"
	"runtime"
	"time"

	"agency/internal/agency"
)

// machine is what Linux knows about the kernel; nothing here.
type machine struct{}

func (machine) close() {}

func (machine) release(string) {}

// Child does nothing: only Linux starts this program as a sandbox.
func Child() {}

// New makes a Runner. There is a sandbox on Linux only: elsewhere any mode but
// ModeOff is a KindTransient error.
func New(o Options) (*Runner, error) {
	if o.Mode != ModeOff || !plainPossible {
		return nil, errNoSandbox()
	}
	return &Runner{tier: TierNone, stateDir: o.StateDir}, nil
}

func errNoSandbox() error {
	return agency.Errorf(agency.KindTransient, "sandbox: none on %s", runtime.GOOS).WithMend("%s", noSandboxMend)
}

// Sweep finds nothing: there is no sandbox that could have left anything.
func Sweep() int { return 0 }

// Sealed tells that nothing was.
func Sealed(string) bool { return false }

// SweepSealed finds nothing.
func SweepSealed(string, time.Time) error { return nil }

// LeftBehind finds nothing either.
func LeftBehind() []Left { return nil }

// Company has nothing in common.
type Company struct{}

// Census knows of no sandbox.
type Census struct{}

// NewCensus makes one.
func NewCensus() *Census { return &Census{} }

// Still finds nothing alive.
func (*Census) Still(context.Context, string) error { return nil }

// ReachesHosts is false: there is no sandbox that a proxy could lead out of.
func (r *Runner) ReachesHosts() bool { return false }

// Gaps are none, where there is nothing that could have any.
func (*Runner) Gaps() []string { return nil }

func (r *Runner) runSandboxed(context.Context, Spec) (Result, error) {
	return Result{}, errNoSandbox()
}

func probe(context.Context, Options) Report {
	return Report{Mode: ModeOff, Tier: TierNone, Err: errNoSandbox()}
}
