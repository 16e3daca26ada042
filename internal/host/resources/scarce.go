package resources

import (
	"context"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/config"
	"agency/internal/flow"
	"agency/internal/regexp"
	"agency/internal/registry"
	"agency/internal/store"
)

// contracts is what checks are told of the contracts of runs with a configuration.
func (r *Runs) contracts(c config.Config) check.Contracts {
	out := check.Contracts{Landed: r.landed}
	if len(c.Resources) > 0 {
		out.Slots = r.slots.Counted(c.Resources)
		out.Rest = r.rest
		out.Needs = func(ctx context.Context, run agency.RunID, id agency.ContractID, cmd check.Command) ([]string, error) {
			own, err := r.named(ctx, run, id)
			return append(own, ofCommand(c.Commands, cmd)...), err
		}
	}
	return out
}

// pauseEvery is how often it is looked whether the run of a command that waits is to pause,
// or is resumed.
const pauseEvery = time.Second

// rest has a command that waits for what is scarce give way while its run is paused: a person
// who pauses a run waits for nothing that others have. The run is quiet meanwhile.
func (r *Runs) rest(ctx context.Context, run agency.RunID, leave func()) (rested bool, err error) {
	if run == "" {
		return false, nil
	}
	var work func()
	for {
		ctl, err := store.Get(ctx, r.o.DB, registry.ReadControl, run)
		switch {
		case err != nil:
			return rested, err
		case !ctl.Pause:
			if work != nil {
				work()
			}
			return rested, nil
		case !rested:
			leave()
			work, rested = flow.Rest(ctx), true
		}
		next := time.NewTimer(pauseEvery)
		select {
		case <-next.C:
		case <-ctx.Done(): // it never worked again
			next.Stop()
			return rested, context.Cause(ctx)
		}
	}
}

// ofCommand is what a command needs by the configuration: one of the repository's own, or
// a line that has one of them in it or starts it otherwise, whoever types it.
func ofCommand(c config.Commands, cmd check.Command) (out []string) {
	for kind, line := range map[agency.CheckKind]string{
		agency.CheckTest: c.Test, agency.CheckLint: c.Lint, agency.CheckTypecheck: c.Typecheck, agency.CheckBuild: c.Build, agency.CheckSetup: c.Setup,
	} {
		if cmd.Kind == kind || holds(cmd.Line, strings.TrimSpace(line)) || starts(cmd.Line, line) {
			out = append(out, c.Needs[string(kind)]...)
		}
	}
	return out
}

// holds tells whether a line has another in it, and not as a part of its words.
func holds(line, other string) bool {
	const apart = `[^\w./-]`
	line, other = strings.Join(strings.Fields(line), " "), strings.Join(strings.Fields(other), " ")
	return other != "" && regexp.MustCompile(`(^|`+apart+`)`+regexp.QuoteMeta(other)+`($|`+apart+`)`).MatchString(line)
}

// named are the resources that a contract names, and those that it belongs to.
func (r *Runs) named(ctx context.Context, run agency.RunID, id agency.ContractID) (out []string, err error) {
	if run == "" || id == "" {
		return nil, nil
	}
	err = r.o.DB.Read(ctx, func(q *store.Snapshot) error {
		out = nil
		for seen := []agency.ContractID{""}; !slices.Contains(seen, id); {
			seen = append(seen, id)
			c, err := registry.Contract(q, run, id)
			if agency.KindOf(err) == agency.KindNotFound { // a look at the base before there is any
				return nil
			}
			if err != nil {
				return err
			}
			out, id = append(out, c.Resources...), c.ParentID
		}
		return nil
	})
	return out, err
}
