package land

import (
	"context"
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
	return "it conflicts with what landed meanwhile in " + strings.Join(c.Paths, ", ")
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
		Reason: "merged with what landed meanwhile it fails its checks: " + strings.Join(reasons, "; "),
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
		out.Reason = "it was merged structurally with what landed meanwhile in " + strings.Join(c.Structural, ", ") + " and fails its checks: " + strings.Join(reasons, "; ")
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
