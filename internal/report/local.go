package report

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/git"
)

// LocalEdits are the edits of the user that a run starts from: base is their
// commit. nil: it has no parent, so that it is none.
func LocalEdits(ctx context.Context, d git.Dir, base agency.OID) (*agency.LocalEdits, error) {
	commits, err := d.Commits().Log(ctx, base, git.LogOptions{Limit: 1})
	if err != nil || len(commits) == 0 || len(commits[0].Parents) == 0 {
		return nil, err
	}
	l := &agency.LocalEdits{Commit: base, Parent: commits[0].Parents[0], Files: []agency.LocalFile{}}
	stats, err := d.Diff().Stats(ctx, l.Parent, base)
	for _, s := range stats {
		l.Files = append(l.Files, agency.LocalFile{Path: s.Path, Added: s.Added, Deleted: s.Deleted, Binary: s.Binary})
	}
	return l, err
}

// Landed are the commits on the branch of a run, newest first, each with what it changed. What
// the run took over from another one is one landing: the commits below it are not the run's.
func Landed(ctx context.Context, d git.Dir, run agency.Run, head agency.OID) ([]git.CommitChanges, error) {
	all, err := d.Diff().LogChanges(ctx, head, run.Base)
	if f := run.Follows; err != nil || f == nil || f.Commit == "" || f.What == agency.FollowUndo {
		return all, err
	}
	below, err := d.Diff().LogChanges(ctx, run.Follows.Commit, run.Base)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(l git.CommitChanges) bool {
		return slices.ContainsFunc(below, func(o git.CommitChanges) bool { return o.Commit == l.Commit })
	})
	for i, l := range slices.Backward(all) {
		if len(l.Changes) > 0 {
			continue
		}
		commits, err := d.Commits().Log(ctx, l.Commit, git.LogOptions{Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(commits) == 1 && slices.Equal(commits[0].Parents, []agency.OID{run.Base, run.Follows.Commit}) {
			all[i].Changes, err = d.Diff().Changes(ctx, run.Base, l.Commit)
			return all, err
		}
	}
	return all, nil
}

// LocalText is the edits, a line a file; "" where there are none.
func LocalText(l *agency.LocalEdits) string {
	if l == nil {
		return ""
	}
	var b strings.Builder
	for _, f := range l.Files {
		change := fmt.Sprintf("+%d -%d", f.Added, f.Deleted)
		if f.Binary {
			change = "binary"
		}
		fmt.Fprintf(&b, "- %s %s\n", names([]string{f.Path}), change)
	}
	return b.String()
}

// CostLine is what the run cost, as the gate and the report say it.
func CostLine(r agency.Rollup) string {
	s := fmt.Sprintf("%s for %s, %d tokens; %.0f s at work", money(r.CostUSD, r.Unpriced), agency.Things(r.Requests, "request", "requests"), r.Tokens, r.WallSeconds)
	if r.Lost > 0 {
		s += "; " + agency.Things(r.Lost, "of them lost its answer and is", "of them lost their answers and are") + " charged at the most that it can have cost"
	}
	return s
}

// TestsLine is how many tests there were before and after, as the gate and the
// report say it; "" where neither was measured.
func TestsLine(r agency.Rollup) string {
	if r.Before == nil && r.After == nil {
		return ""
	}
	s := fmt.Sprintf("before: %s; after: %s", tests(r.Before), tests(r.After))
	if r.TestsAdded != nil {
		s += fmt.Sprintf("; %d added", *r.TestsAdded)
	}
	return s
}
