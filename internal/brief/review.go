package brief

import (
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/block"
)

// ReviewRequest is what a reviewer is shown of the claim under review.
type ReviewRequest struct {
	Iteration int
	Claim     agency.Claim
	Verdict   *agency.Verdict
	Receipts  []agency.Receipt // that the verdict names
	Files     []string         // changed, each after its status
	Diff      string
	Cut       bool            // Diff holds the first files only
	Earlier   []agency.Review // of the contract, oldest first
	// Frozen holds the review to the criteria and the first review's findings.
	Frozen bool
	// Oscillating says that producer and critic have gone in a circle.
	Oscillating bool
}

// ReviewFeedback is what a producer is told when a review sends its claim back
// into the same conversation. left is how many rounds the attempt has.
func ReviewFeedback(r agency.Review, left int) (string, error) {
	return execute("rework.md", struct {
		agency.Review
		Left int
	}{r, left})
}

// ChangesText is a review as its producer reads it: what must be
// mended, each with its place, then what else was said. Every word of the critic
// stands on one line or in a block.
func ChangesText(r agency.Review) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Iteration: %d\nVerdict: %s\n", r.Iteration, r.Verdict)
	if r.Reason != "" {
		fmt.Fprintf(&b, "By the harness, %s\n", oneLine(r.Reason))
	}
	fmt.Fprintf(&b, "\n%s\n", block.Data("summary of the review", r.Summary))
	section := func(title string, issues []agency.Issue) {
		if len(issues) > 0 {
			fmt.Fprintf(&b, "\n### %s\n", title)
		}
		for _, i := range issues {
			b.WriteString(issueText(i))
		}
	}
	section("Issues to fix (required)", r.Blocking())
	var other []agency.Issue
	for _, i := range r.Issues {
		if !i.Severity.Blocks() {
			other = append(other, i)
		}
	}
	section("Smaller issues (fix where it is cheap)", other)
	section("Notes beyond the contract (leave them)", r.Notes)
	for _, c := range r.Criteria {
		if !c.Met {
			fmt.Fprintf(&b, "\nCriterion %s is not met: %s\n", oneLine(c.Criterion), oneLine(c.Finding))
		}
	}
	lines(&b, "Conditions for approval", r.Conditions)
	lines(&b, "Good, to be kept", r.Strengths)
	return strings.TrimRight(b.String(), "\n")
}

func lines(b *strings.Builder, title string, all []string) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "\n### %s\n\n", title)
	for _, l := range all {
		fmt.Fprintf(b, "- %s\n", oneLine(l))
	}
}

func issueText(i agency.Issue) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n**%s: %s**", strings.ToUpper(oneLine(i.Severity)), oneLine(i.Where()))
	if i.Criterion != "" {
		fmt.Fprintf(&b, " (criterion %s)", oneLine(i.Criterion))
	}
	fmt.Fprintf(&b, "\n\n- Issue: %s\n", oneLine(i.Issue))
	if i.Suggestion != "" {
		fmt.Fprintf(&b, "- Suggestion: %s\n", oneLine(i.Suggestion))
	}
	if i.Note != "" {
		fmt.Fprintf(&b, "- Note: %s\n", oneLine(i.Note))
	}
	if i.CodeBefore != "" {
		b.WriteString("\n" + block.Data("code as it is", i.CodeBefore) + "\n")
	}
	if i.CodeAfter != "" {
		b.WriteString("\n" + block.Data("suggested code", i.CodeAfter) + "\n")
	}
	return b.String()
}

// reviewText is an earlier review in a few lines, for the next critic.
func reviewText(r agency.Review) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Attempt %d, round %d by %s: %s. %s\n", r.Attempt, r.Iteration, oneLine(r.Reviewer), oneLine(r.Line()), oneLine(r.Summary))
	for _, i := range r.Issues {
		fmt.Fprintf(&b, "- %s, %s: %s\n", oneLine(i.Severity), oneLine(i.Where()), oneLine(i.Issue))
	}
	for _, c := range r.Conditions {
		fmt.Fprintf(&b, "- condition: %s\n", oneLine(c))
	}
	return strings.TrimRight(b.String(), "\n")
}
