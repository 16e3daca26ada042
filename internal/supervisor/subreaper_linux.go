package supervisor

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"agency/internal/linux"
	"agency/internal/linux/landlock"
	"agency/internal/linux/meter"
)

// subreaperProcess is what PID 1 is in the full tier: it runs one command after the
// other under Landlock, seccomp and limits, and sees to it that none leaves a
// process behind. It has no namespace that would do that for it: it adopts what
// a command leaves, and ends it.
func subreaperProcess() int {
	gone := func() { linux.KillDescendants(os.Getpid()) }
	return serve(gone, func(p Plan) (func(*incoming) (Report, error), error) {
		if landlock.InForce() == 0 {
			return nil, fmt.Errorf("this kernel has no Landlock of version %d or later", landlock.MinABI)
		}
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return nil, fmt.Errorf("orphans: %w", err)
		}
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			return nil, fmt.Errorf("dumpable: %w", err)
		}
		scope, err := landlock.Scope(freeFiles)
		if err != nil {
			return nil, err
		}
		k := &subreaper{plan: p, disks: p.Disks(), scope: scope}
		return k.run, nil
	})
}

type subreaper struct {
	plan  Plan
	disks meter.Disks
	scope int // the rules of each command's first process, -1 for none
}

func (k *subreaper) run(in *incoming) (Report, error) {
	if len(in.files) != 3 {
		return Report{}, fmt.Errorf("%d files came with a request", len(in.files))
	}
	if in.request.Port != 0 && !landlock.KnowsPorts() {
		return Report{}, errors.New("this kernel's Landlock knows no ports")
	}
	rules, err := landlock.Rules(append(grantsOf(k.plan), landlock.Grant{Path: in.request.Tmp, Write: true}), in.request.Port)
	if err != nil {
		return Report{}, err
	}
	defer func() { _ = unix.Close(rules) }()
	return command(k.plan, in, locks{rules, k.scope}, k.disks)
}
