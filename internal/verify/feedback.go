package verify

import (
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/check"
)

// feedbackOutput bounds what of a failed command's output goes back.
const feedbackOutput = 6 << 10

// Feedback is a verdict as its agent reads it, in Markdown: what failed first,
// then the output of the commands that did. Receipts are those that the verdict
// names; others are passed over.
func Feedback(v agency.Verdict, receipts []agency.Receipt) string {
	var b strings.Builder
	if v.Pass {
		b.WriteString("The claim passed verification.\n")
	} else {
		b.WriteString("The claim failed verification on a clean checkout:\n")
	}
	for _, r := range v.Reasons {
		fmt.Fprintf(&b, "- %s\n", strings.Join(strings.Fields(r), " "))
	}
	if len(v.Weakened) > 0 {
		b.WriteString("\nChecks got weaker. Restore what is listed; if it has to be so, claim again and say why: a person will decide.\n")
	}
	named := map[agency.ReceiptID]bool{}
	for _, id := range v.Receipts {
		named[id] = true
	}
	left := 4 * feedbackOutput
	for _, r := range receipts {
		if !named[r.ID] || r.OK() || r.Tree != v.Tree || left <= 0 {
			continue
		}
		part := excerpt(check.Summary(r), min(feedbackOutput, left))
		left -= len(part)
		fence := fenceFor(part)
		fmt.Fprintf(&b, "\n`%s`\n\n%s\n%s\n%s\n", r.Command, fence, strings.TrimRight(part, "\n"), fence)
	}
	return b.String()
}

// excerpt keeps mostly the head: a summary names failures first.
func excerpt(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	head, tail := s[:limit*3/4], s[len(s)-limit/4:]
	return strings.ToValidUTF8(head, "") + "\n[...]\n" + strings.ToValidUTF8(tail, "")
}

// fenceFor is a code fence that the text cannot close.
func fenceFor(s string) string {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence
}
