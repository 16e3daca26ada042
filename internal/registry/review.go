package registry

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
)

// AddReview records a review and tells it, once a step.
func AddReview(tx *store.Tx, run agency.RunID, step agency.StepKey, r agency.Review) error {
	r.At = tx.Now
	doc, err := json.Marshal(r)
	if err != nil {
		return err
	}
	added, err := execOnce(tx, insertReview, string(run), string(step), string(r.ContractID), string(tx.Redact(doc)))
	if err != nil || !added {
		return err
	}
	severity := agency.SeverityInfo
	if r.Verdict != agency.ReviewApprove {
		severity = agency.SeverityWarning
	}
	ev := agency.NewEvent(run, severity, summaryOf(r), agency.ReviewSubmitted{
		Verdict: string(r.Verdict), Issues: len(r.Issues), Iteration: r.Iteration, Said: string(r.Said), Reason: r.Reason, Summary: r.Summary,
		Critical: r.Count(agency.IssueCritical), Major: r.Count(agency.IssueMajor), Minor: r.Count(agency.IssueMinor), Nitpick: r.Count(agency.IssueNitpick),
		Places: places(r),
	})
	ev.ContractID, ev.AgentID, ev.Role = r.ContractID, r.Reviewer, cmp.Or(r.Role, agency.RoleReviewer)
	ev.Tier = string(ev.Role.Tier())
	_, err = event.Append(tx, ev)
	return err
}

// summaryOf is a review as the log's reader sees it: with the first thing that has to
// be mended, for a number of issues says nothing about the work.
func summaryOf(r agency.Review) string {
	text := fmt.Sprintf("round %d: %s", r.Iteration, r.Line())
	if first := r.Blocking(); r.Verdict == agency.ReviewChanges && len(first) > 0 {
		text += ": " + first[0].Where() + ": " + first[0].Issue
	}
	return text
}

// Reviews reads all reviews of a run in the order in which they were given.
func Reviews(q store.Querier, run agency.RunID) ([]agency.Review, error) {
	return ReviewsAfter(q, run, 0)
}

// ReviewsAfter are those of a run that were given after its first n.
func ReviewsAfter(q store.Querier, run agency.RunID, n int) ([]agency.Review, error) {
	return store.All(q, scanReview, selectReviews, string(run), n)
}

func scanReview(row store.Scanner) (agency.Review, error) {
	return scanDoc[agency.Review](row, "a review's record")
}

// places are what the blocking issues of a review are about: a file, a criterion, or
// both, each once.
func places(r agency.Review) (out []string) {
	for _, i := range r.Blocking() {
		if p := i.File + "#" + i.Criterion; !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}
