package session

import (
	"context"
	"strings"

	"agency/internal/agency"
	"agency/internal/brief"
	"agency/internal/registry"
	"agency/internal/store"
	"agency/internal/tool"
)

// reviewed ends a reviewer's session with its review: what it is of is the
// spec's to say, never the critic's.
func (c *conversation) reviewed(d *done, k *call, r agency.Review) {
	of := c.spec.Review
	if of == nil {
		k.res = tool.Refusal("this session has nothing to review; end it by another tool")
		return
	}
	r.ContractID, r.Session, r.Reviewer = c.spec.Contract, c.id, c.spec.Agent
	r.Attempt, r.Iteration, r.Tree, r.Base = c.spec.Attempt, of.Iteration, of.Claim.Tree, of.Base
	d.end = &Outcome{Kind: Reviewed, Review: &r, Tree: d.tree}
}

// reviewBrief is what a reviewer is shown beside the contract: all changes, what
// the harness recorded of them, and the reviews before.
func (c *conversation) reviewBrief(ctx context.Context, room int64) (*brief.ReviewRequest, error) {
	of := c.spec.Review
	if of == nil {
		return nil, nil
	}
	out := &brief.ReviewRequest{
		Iteration: of.Iteration, Claim: of.Claim, Verdict: of.Verdict, Frozen: of.Frozen, Quarrel: of.Quarrel,
	}
	err := c.r.o.DB.Read(ctx, func(q *store.Snapshot) error {
		all, err := registry.Reviews(q, c.spec.Run)
		for _, r := range all {
			if r.ContractID == c.spec.Contract && (r.Attempt < c.spec.Attempt || r.Iteration < of.Iteration) {
				out.Earlier = append(out.Earlier, r)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if out.Files, err = c.desk.History.Changed(ctx); err != nil {
		return nil, err
	}
	if out.Diff, err = c.desk.History.Diff(ctx, ""); err != nil {
		return nil, err
	}
	if most := int(room / 2); len(out.Diff) > most {
		out.Diff, out.Cut = cutDiff(out.Diff, most), true
	}
	return out, nil
}

// cutDiff keeps whole files of a diff as far as they fit: a hunk that breaks
// off would be reviewed as it stands.
func cutDiff(diff string, most int) string {
	var b strings.Builder
	parts := strings.SplitAfter(diff, "\ndiff --git ")
	for i, p := range parts {
		if i < len(parts)-1 {
			p = strings.TrimSuffix(p, "diff --git ")
		}
		if i > 0 {
			p = "diff --git " + p
		}
		if b.Len()+len(p) > most {
			break
		}
		b.WriteString(p)
	}
	return b.String()
}
