package land

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/git"
	"agency/internal/registry"
	"agency/internal/store"
	"agency/internal/text"
	"agency/internal/workspace"
)

// maxSide bounds the change of either side that a packet shows; git has the
// rest.
const maxSide = 6 << 10

// packet is what goes back to the owner: what either side meant and did to the
// paths, all paths where none are named, and the head to work on.
func (l *landing) packet(ctx context.Context, from, head agency.OID, paths []string) (*agency.Conflict, error) {
	c := &agency.Conflict{Head: head, Paths: paths, Ours: l.intent()}
	var err error
	if c.Theirs, err = l.landedSince(ctx, from, head); err != nil {
		return nil, err
	}
	if c.OursDiff, err = l.side(ctx, from, l.spec.Tree, paths); err != nil {
		return nil, err
	}
	c.TheirsDiff, err = l.side(ctx, from, head, paths)
	return c, err
}

func (l *landing) side(ctx context.Context, from, to agency.OID, paths []string) (string, error) {
	return side(ctx, l.run, from, to, paths)
}

func side(ctx context.Context, run *workspace.Run, from, to agency.OID, paths []string) (string, error) {
	b, cut, err := run.Dir().Diff().Patch(ctx, from, to, maxSide, git.PatchOptions{Paths: paths})
	if err != nil {
		return "", err
	}
	text := strings.ToValidUTF8(string(b), "?")
	if cut {
		text += fmt.Sprintf("(cut; the rest: git diff %s %s)\n", from, to)
	}
	return text, nil
}

// apart is what either side of a merge of the run's branch with one of the user's did to the
// paths in conflict, and what the other side meant.
func (q *Queue) apart(ctx context.Context, run *workspace.Run, ours, theirs agency.OID, m Files) (*agency.Conflict, error) {
	c := &agency.Conflict{Head: theirs, Paths: m.Conflicts}
	if len(m.Conflicts) == 0 {
		return c, nil
	}
	var err error
	if c.OursDiff, err = side(ctx, run, m.From, ours, m.Conflicts); err != nil {
		return nil, err
	}
	if c.TheirsDiff, err = side(ctx, run, m.From, theirs, m.Conflicts); err != nil {
		return nil, err
	}
	c.Theirs, err = q.meant(ctx, run, ours, theirs)
	return c, err
}

// maxIntents bounds how many commits say what they meant.
const maxIntents = 20

// meant is what the commits meant that one branch has and another has not: the goal of the run
// that made one, where it is known here, and else its message.
func (q *Queue) meant(ctx context.Context, run *workspace.Run, ours, theirs agency.OID) (string, error) {
	commits, err := run.Dir().Commits().Log(ctx, theirs, git.LogOptions{Not: []agency.OID{ours}, FirstParent: true, Limit: maxIntents})
	if err != nil {
		return "", err
	}
	var lines []string
	for _, c := range slices.Backward(commits) {
		line := text.Head(strings.TrimSpace(plain(c.Message)), 1000)
		if id := agency.RunID(c.Trailer(trailerRun)); id != "" {
			of, err := store.Get(ctx, q.o.DB, registry.Run, id)
			switch {
			case err == nil:
				line = fmt.Sprintf("run %s: %s", id, text.Head(strings.TrimSpace(plain(of.Goal)), 2000))
			case agency.KindOf(err) != agency.KindNotFound:
				return "", err
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(slices.Compact(lines), "\n"), nil
}

func conflictReason(c *agency.Conflict) string {
	if c == nil {
		return ""
	}
	return "it conflicts with what was integrated meanwhile in " + strings.Join(c.Paths, ", ")
}

func (l *landing) intent() string {
	return strings.TrimSpace(l.contract.Title + "\n" + l.contract.Description + criteria(l.contract))
}

// criteria is a line for each criterion of a contract.
func criteria(c agency.Contract) string {
	var b strings.Builder
	for _, k := range c.AcceptanceCriteria {
		fmt.Fprintf(&b, "\n  - %s: %s", k.ID, k.Text)
	}
	return b.String()
}

// landedSince is a line for each landing after a commit, with its criteria.
func (l *landing) landedSince(ctx context.Context, from, head agency.OID) (string, error) {
	commits, err := l.run.Dir().Commits().Log(ctx, head, git.LogOptions{Not: []agency.OID{from}, FirstParent: true})
	if err != nil {
		return "", err
	}
	slices.Reverse(commits)
	var b strings.Builder
	for _, c := range commits {
		title, _, _ := strings.Cut(c.Message, "\n")
		if id := c.Trailer(trailerContract); id != "" {
			var of agency.Contract
			if err := l.o.DB.Read(ctx, func(q *store.Snapshot) (err error) {
				of, err = registry.Contract(q, l.spec.Run, agency.ContractID(id))
				return err
			}); err != nil && agency.KindOf(err) != agency.KindNotFound {
				return "", err
			}
			title = id + ": " + title + criteria(of)
		}
		fmt.Fprintln(&b, title)
	}
	return strings.TrimSpace(b.String()), nil
}

// red sends a landing back whose merged tree fails its checks.
func (l *landing) red(ctx context.Context, c Candidate, reasons []string) (Outcome, error) {
	out := Outcome{
		Red:    &Red{Tree: c.Tree, Reasons: reasons},
		Reason: "merged with what was integrated meanwhile it fails its checks: " + strings.Join(reasons, "; "),
	}
	if c.Tree == c.Claim {
		out.Reason = "it fails the full checks: " + strings.Join(reasons, "; ")
		return out, nil
	}
	var err error
	if out.Conflict, err = l.packet(ctx, l.from, c.Head, c.Structural); err != nil {
		return out, err
	}
	out.Conflict.Detail = strings.Join(reasons, "\n")
	if len(c.Structural) > 0 {
		out.Reason = "it was merged structurally with what was integrated meanwhile in " + strings.Join(c.Structural, ", ") + " and fails its checks: " + strings.Join(reasons, "; ")
		if out.Conflict.With, err = l.changers(ctx, l.from, c.Head, c.Structural); err != nil {
			return out, err
		}
	}
	return out, l.tellConflict(ctx, out.Reason, c.Structural)
}

// tellConflict notes that a landing goes back to its owner, and why.
func (l *landing) tellConflict(ctx context.Context, why string, paths []string) error {
	return l.o.write(ctx, func(tx *store.Tx) error {
		return appendEvent(tx, agency.NewEvent(l.spec.Run, agency.SeverityWarning, why,
			agency.MergeConflicted{Contract: l.spec.Contract, Paths: paths}), l.spec.Contract)
	})
}

// changers are the contracts that landed after a commit and changed any of the
// paths, oldest first.
func (l *landing) changers(ctx context.Context, from, head agency.OID, paths []string) ([]agency.ContractID, error) {
	commits, err := l.run.Dir().Commits().Log(ctx, head, git.LogOptions{Not: []agency.OID{from}, FirstParent: true})
	if err != nil {
		return nil, err
	}
	var out []agency.ContractID
	for _, c := range slices.Backward(commits) {
		id := agency.ContractID(c.Trailer(trailerContract))
		if id == "" || c.Trailer(trailerRun) != string(l.spec.Run) || len(c.Parents) == 0 || slices.Contains(out, id) {
			continue
		}
		changes, err := l.run.Dir().Diff().Changes(ctx, c.Parents[0], c.ID)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(changes, func(ch git.Change) bool { return slices.Contains(paths, ch.Path) }) {
			out = append(out, id)
		}
	}
	return out, nil
}

// FilesSpec asks for files that no agent makes, in the workspace of a contract on a commit.
// Exactly one of the last three is set.
type FilesSpec struct {
	Run      agency.RunID      `json:"run"`
	Contract agency.ContractID `json:"contract"`
	Base     agency.OID        `json:"base"`
	Of       agency.OID        `json:"of,omitempty"`   // those of a commit
	Back     agency.OID        `json:"back,omitempty"` // of the base, without what a merge commit of BackOf brought
	BackOf   agency.RunID      `json:"back_of,omitempty"`
	With     string            `json:"with,omitempty"` // of the base, merged with a branch of the user's
}

// Files are a tree; in a conflict it holds marks. Of a merge with a branch, From is what both
// come from, and Conflict is told to who brings them together: its Head is the branch's.
type Files struct {
	Tree      agency.OID       `json:"tree"`
	Conflicts []string         `json:"conflicts,omitempty"`
	From      agency.OID       `json:"from,omitempty"`
	Refused   string           `json:"refused,omitempty"` // why there are none
	Mend      string           `json:"mend,omitempty"`    // of that
	Conflict  *agency.Conflict `json:"conflict,omitempty"`
}

// Files makes them. Done again, it comes to the same.
func (q *Queue) Files(ctx context.Context, _ agency.StepKey, spec FilesSpec) (out Files, err error) {
	run, _, err := q.o.open(ctx, spec.Run)
	if err != nil {
		return out, err
	}
	w, err := run.Prepare(ctx, string(spec.Contract), spec.Base, workspace.Work)
	if err != nil {
		return out, err
	}
	with := agency.OID("")
	if spec.With != "" {
		with, err = run.User().Refs().Get(ctx, branchRef(spec.With))
		if err == nil && with == "" {
			return Files{Refused: fmt.Sprintf("branch %s does not exist (any more)", spec.With), Mend: fmt.Sprintf("git branch %s %s", spec.With, run.Base())}, nil
		}
		if err == nil {
			out.From, err = run.Dir().Commits().MergeBase(ctx, spec.Base, with)
		}
		if err != nil {
			return out, err
		}
		if out.From == "" {
			return Files{Refused: spec.With + " was rewritten from its first commit on, and shares none with the run any more"}, nil
		}
	}
	if spec.Back != "" {
		if with, out.Refused, err = without(ctx, run, spec.Back, spec.BackOf); err != nil || out.Refused != "" {
			return out, err
		}
	}
	if with == "" {
		out.Tree, err = run.Dir().Refs().ResolveTree(ctx, spec.Of)
	} else {
		var m git.Merge
		m, err = run.Dir().Commits().Merge(ctx, spec.Base, with)
		out.Tree, out.Conflicts = m.Tree, m.Conflicts
	}
	if err == nil && spec.With != "" {
		out.Conflict, err = q.apart(ctx, run, spec.Base, with, out)
	}
	if err != nil {
		return out, err
	}
	return out, w.Restore(ctx, out.Tree)
}

// without is a commit on top of a run's own merge that takes it back to its first parent: what
// the target had. Another commit, at which the run was found to be merged, brought other work,
// or not all of this one.
func without(ctx context.Context, run *workspace.Run, merge agency.OID, of agency.RunID) (id agency.OID, refused string, err error) {
	c := run.Dir().Commits()
	all, err := c.Log(ctx, merge, git.LogOptions{Limit: 1})
	if err != nil || len(all) == 0 {
		return "", "", errors.Join(err, agency.Errorf(agency.KindInternal, "there is no commit %s", merge))
	}
	switch by := all[0].Trailer(trailerRun); {
	case len(all[0].Parents) != 2 || all[0].Trailer(trailerContract) != "" || by == "":
		return "", fmt.Sprintf("run %s was merged by hand, up to %s: take it back by hand, too (git log, git revert)", of, merge.Short()), nil
	case by != string(of):
		return "", fmt.Sprintf("run %s merged what run %s had verified, as %s: agency undo %[1]s", by, of, merge.Short()), nil
	}
	before, err := run.Dir().Refs().ResolveTree(ctx, all[0].Parents[0])
	if err != nil {
		return "", "", err
	}
	id, err = c.Write(ctx, before, []agency.OID{merge}, "taken back", identity(run))
	return id, "", err
}
