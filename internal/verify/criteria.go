package verify

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/git"
)

// maxChecks bounds the commands that a claim's evidence can have the harness
// run.
const maxChecks = 20

// criteria looks at the checks of the criteria, and at what the evidence names
// for those that have none: commands run on clean checkouts of both sides, files
// are looked up in the trees.
func (j *job) criteria(ctx context.Context, f *facts, claim, base *bench) error {
	f.refWorth = map[agency.Check]agency.RefWorth{}
	f.refs, f.theirs = map[agency.Check]agency.Receipt{}, map[agency.Check][]string{}
	planned := plannedChecks(j.task)
	left := j.task.Commands.Command(agency.CheckTest).Timeout // for all evidence together
	for i, c := range checksOf(j.task) {
		var err error
		switch {
		case c.File != "":
			err = j.files(ctx, f, c, i < planned)
		case c.Command != "" && i < planned:
			err = j.command(ctx, f, c, claim, base)
		case c.Command != "":
			left, err = j.evidence(ctx, f, c, claim, left)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// plannedChecks is how many of a task's checks its plan has set: they come
// first.
func plannedChecks(t task) int {
	t.ClaimInfo.Evidence = nil
	return len(checksOf(t))
}

// evidence runs a command that the agent chose, on the claim alone: that it
// passes proves nothing, that it fails is worth knowing. All of them together
// take no longer than one check may.
func (j *job) evidence(ctx context.Context, f *facts, c agency.Check, claim *bench, left time.Duration) (time.Duration, error) {
	if left <= 0 {
		return 0, nil
	}
	r, err := onClean(ctx, claim, check.Command{Kind: agency.CheckCommand, Line: c.Command, Timeout: left})
	if err != nil {
		return 0, err
	}
	f.refs[c], f.refWorth[c] = r, agency.RefWorth{Passes: passes(r)}
	return left - seconds(r.Duration), nil
}

// checksOf are the checks of criteria and evidence, each once, in order.
func checksOf(t task) []agency.Check {
	var out []agency.Check
	add := func(c agency.Check) {
		if !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	own := map[string]bool{}
	for _, cr := range t.Criteria {
		if cr.Check != nil {
			own[cr.ID] = true
			add(*cr.Check)
		}
	}
	limit := len(out) + maxChecks
	for _, e := range t.ClaimInfo.Evidence {
		known := slices.ContainsFunc(t.Criteria, func(c agency.Criterion) bool { return c.ID == e.Criterion })
		if !known || own[e.Criterion] || e.Ref == "" || len(out) >= limit {
			continue
		}
		switch e.Kind {
		case agency.CheckCommand:
			add(agency.Check{Command: e.Ref})
		case agency.CheckFile:
			add(agency.Check{File: e.Ref})
		case agency.CheckTest:
			add(agency.Check{Test: e.Ref})
		}
	}
	return out
}

// files looks whether a file or folder is in the trees. That it is there says
// nothing of what stands in it: where the run wrote it, only the agent does.
func (j *job) files(ctx context.Context, f *facts, c agency.Check, planned bool) error {
	now, err := j.tree(ctx, j.task.claim)
	if err != nil {
		return err
	}
	was, err := j.tree(ctx, j.task.base)
	if err != nil {
		return err
	}
	w := agency.RefWorth{Passes: hasFile(now, c.File), Why: "it is there, and was before"}
	if planned && !hasFile(was, c.File) {
		w.Why = c.File + " is there; the run wrote it"
	}
	f.refWorth[c] = w
	return nil
}

func hasFile(entries []git.Entry, name string) bool {
	name = path.Clean(name)
	return slices.ContainsFunc(entries, func(e git.Entry) bool {
		return e.Path == name || strings.HasPrefix(e.Path, name+"/")
	})
}

// command runs a check that the plan set on the claim, and on the base when it
// passes there: only then the base decides what it proves.
func (j *job) command(ctx context.Context, f *facts, c agency.Check, claim, base *bench) error {
	cmd := j.asCommand(c)
	r, err := onClean(ctx, claim, cmd)
	if err != nil {
		return err
	}
	f.refs[c] = r
	w := agency.RefWorth{Passes: passes(r)}
	defer func() { f.refWorth[c] = w }()
	if !w.Passes && !j.task.Beside {
		return nil
	}
	was, err := onClean(ctx, base, cmd)
	if err != nil {
		return err
	}
	if w.Why = "its check passed before the change too"; !w.Passes {
		f.theirs[c] = stillRed(was, r)
	}
	w.Proves = w.Passes && !passes(was) // so far: what it reads is looked at later
	return nil
}

func (j *job) asCommand(c agency.Check) check.Command {
	return check.Command{Kind: agency.CheckCommand, Line: c.Command, Timeout: j.task.Commands.Command(agency.CheckTest).Timeout}
}

// stillRed are the tests by which a command fails on the claim as it did on the
// base, where it fails by nothing else and some that failed there pass now. A
// command that runs all tests cannot pass while other contracts still mend what
// is theirs.
func stillRed(base, claim agency.Receipt) []string {
	if !base.Parsed || !claim.Parsed || base.Cause != "" || claim.Cause != "" {
		return nil
	}
	was, now := statuses(base), statuses(claim)
	var red []string
	for name, s := range now {
		if s != agency.TestFailed {
			continue
		}
		if was[name] != agency.TestFailed {
			return nil
		}
		red = append(red, name)
	}
	if len(red) != claim.Failed || len(agency.NewlyPassing(was, now)) == 0 {
		return nil
	}
	slices.Sort(red)
	return red
}

func statuses(r agency.Receipt) map[string]agency.TestStatus {
	out := make(map[string]agency.TestStatus, len(r.Tests))
	for _, t := range r.Tests {
		out[t.Name] = t.Status
	}
	return out
}

// onClean runs a command on a checkout that nothing but setup has touched: the
// tests of a claim could have left what its command looks for.
func onClean(ctx context.Context, b *bench, cmd check.Command) (agency.Receipt, error) {
	b.renew()
	return b.run(ctx, cmd)
}

// passes tells whether a command proves something: `go test -run TestX` exits 0
// where there is no TestX.
func passes(r agency.Receipt) bool {
	return r.OK() && (!r.Parsed || r.Passed > 0)
}
