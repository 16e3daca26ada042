package team

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/git"
	"agency/internal/tool"
)

type submitReviewArgs struct {
	Verdict    string       `json:"verdict" jsonschema:"enum=approve,enum=request_changes,enum=needs_discussion"`
	Summary    string       `json:"summary" jsonschema_description:"What the change does and what you think of it, in a few sentences."`
	Issues     []issueItem  `json:"issues,omitempty" jsonschema_description:"What you found, the heaviest first. Empty where you found nothing."`
	Criteria   []judgedItem `json:"criteria,omitempty" jsonschema_description:"One entry for each acceptance criterion of the contract."`
	Strengths  []string     `json:"strengths,omitempty" jsonschema_description:"What is good and should stay as it is."`
	Conditions []string     `json:"approval_conditions,omitempty" jsonschema_description:"What must be true for you to approve."`
}

type issueItem struct {
	Severity   string `json:"severity" jsonschema:"enum=critical,enum=major,enum=minor,enum=nitpick"`
	File       string `json:"file,omitempty" jsonschema_description:"Path of the file, relative to the repository's root."`
	Line       int    `json:"line,omitempty" jsonschema_description:"Line in the file as it is now, from 1."`
	LineEnd    int    `json:"line_end,omitempty"`
	Criterion  string `json:"criterion,omitempty" jsonschema_description:"Id of the acceptance criterion that it is about."`
	Issue      string `json:"issue" jsonschema_description:"What is wrong, and what goes wrong because of it."`
	Suggestion string `json:"suggestion,omitempty" jsonschema_description:"What to do instead."`
	CodeBefore string `json:"code_before,omitempty"`
	CodeAfter  string `json:"code_after,omitempty"`
}

type judgedItem struct {
	Criterion string `json:"criterion" jsonschema_description:"Id of an acceptance criterion."`
	Met       bool   `json:"met"`
	Finding   string `json:"finding" jsonschema_description:"What shows it: file and line, test, or receipt."`
}

const (
	// maxIssues is how many findings a review may have: more than a producer can
	// act on is no review.
	maxIssues = 100
	// maxFinding bounds each text of a review, in bytes.
	maxFinding = 4 << 10
)

func submitReview() tool.Tool {
	return tool.Define(texts, "submit_review", tool.Write, func(ctx context.Context, env *tool.Env, a submitReviewArgs) (tool.Result, error) {
		r, faults, err := a.review(ctx, env)
		if err != nil {
			return tool.Result{}, err
		}
		if len(faults) > 0 {
			return tool.Refuse("the review is not accepted. Its faults, all of them:\n- " + strings.Join(faults, "\n- ")), nil
		}
		return tool.Result{Text: "review recorded", Effect: tool.Reviewed{Review: r}}, nil
	}).Concludes()
}

// review is what the arguments say, with everything that is wrong with them.
func (a submitReviewArgs) review(ctx context.Context, env *tool.Env) (r agency.Review, faults []string, err error) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	r.Summary, r.Issues = tool.Cap(strings.TrimSpace(a.Summary), maxFinding), []agency.Issue{}
	if r.Said, err = agency.ParseReviewVerdict(strings.TrimSpace(a.Verdict)); err != nil {
		fault("%s", err)
	}
	if r.Summary == "" {
		fault("the summary is empty")
	}
	if r.Said == agency.ReviewChanges && len(a.Issues) == 0 && !slices.ContainsFunc(a.Criteria, func(c judgedItem) bool { return !c.Met }) {
		fault("request_changes names no issue: nobody could mend anything")
	}
	if len(a.Issues) > maxIssues {
		fault("%d issues, the most is %d: name those that matter", len(a.Issues), maxIssues)
		a.Issues = nil
	}
	changed, err := env.History.Changed(ctx)
	if err != nil {
		return r, nil, err
	}
	for i, item := range a.Issues {
		issue, wrong := item.issue(env, changed)
		for _, w := range wrong {
			fault("issue %d: %s", i+1, w)
		}
		r.Issues = append(r.Issues, issue)
	}
	for i, item := range a.Criteria {
		if !knows(env, item.Criterion) {
			fault("criteria %d: %s", i+1, noCriterion(env, item.Criterion))
		}
		r.Criteria = append(r.Criteria, agency.CriterionFinding{Criterion: item.Criterion, Met: item.Met, Finding: tool.Cap(strings.TrimSpace(item.Finding), maxFinding)})
	}
	for _, c := range changed {
		r.Files = append(r.Files, c.Path)
	}
	r.Strengths, r.Conditions = trimmed(a.Strengths), trimmed(a.Conditions)
	return r, faults, nil
}

// issue is one finding, with what is wrong with it. A place outside of the
// change is told, not refused: a caller that was forgotten is one.
func (i issueItem) issue(env *tool.Env, changed []git.Change) (out agency.Issue, faults []string) {
	out = agency.Issue{
		Severity: agency.IssueSeverity(strings.ToLower(strings.TrimSpace(i.Severity))), Line: i.Line, LineEnd: i.LineEnd, Criterion: i.Criterion,
		Issue: tool.Cap(strings.TrimSpace(i.Issue), maxFinding), Suggestion: tool.Cap(strings.TrimSpace(i.Suggestion), maxFinding),
		CodeBefore: tool.Cap(i.CodeBefore, maxFinding), CodeAfter: tool.Cap(i.CodeAfter, maxFinding),
	}
	if !slices.Contains(agency.IssueSeverities(), out.Severity) {
		faults = append(faults, fmt.Sprintf("severity %s is none of critical, major, minor, nitpick", tool.QuoteName(i.Severity)))
	}
	if out.Issue == "" {
		faults = append(faults, "it does not say what is wrong")
	}
	if i.Criterion != "" && !knows(env, i.Criterion) {
		faults = append(faults, noCriterion(env, i.Criterion))
	}
	if strings.TrimSpace(i.File) == "" {
		if i.Line != 0 || i.LineEnd != 0 {
			faults = append(faults, "it has a line and no file")
		}
		return out, faults
	}
	rel, status, err := place(env, i.File, changed)
	if err != nil {
		return out, append(faults, err.Error())
	}
	out.File = rel
	switch {
	case status == 'D':
		out.Note = "the file is deleted by the change; lines are those before it"
	case status == 0:
		out.Note = "the file is not part of the change"
	}
	if status != 'D' {
		faults = append(faults, i.lines(env, rel)...)
	}
	return out, faults
}

// place finds a file of the repository and what the change did to it: the status of
// a git.Change, 0 where it left it alone.
func place(env *tool.Env, p string, changed []git.Change) (rel string, status byte, err error) {
	if rel, err = env.Files.Rel(strings.TrimSpace(p)); err != nil {
		return "", 0, err
	}
	for _, c := range changed {
		if c.Path == rel {
			return rel, c.Status, nil
		}
	}
	resolved, info, err := env.Files.Stat(rel)
	if err != nil {
		return rel, 0, err
	}
	if info.IsDir() {
		return rel, 0, agency.Errorf(agency.KindInvalid, "%s is a folder; name a file", rel)
	}
	return resolved, 0, nil
}

// lines tells what is wrong with an issue's lines.
func (i issueItem) lines(env *tool.Env, rel string) []string {
	if i.Line == 0 && i.LineEnd == 0 {
		return nil
	}
	if i.Line < 1 || i.LineEnd != 0 && i.LineEnd < i.Line {
		return []string{fmt.Sprintf("lines %d to %d of %s are no range; lines count from 1", i.Line, i.LineEnd, rel)}
	}
	text, err := env.Files.Text(rel)
	if err != nil { // binary or huge: it has no lines
		return []string{fmt.Sprintf("%s has no lines: %s", rel, err)}
	}
	have := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		have++
	}
	if last := max(i.Line, i.LineEnd); last > have {
		return []string{fmt.Sprintf("line %d of %s does not exist; the file has %d", last, rel, have)}
	}
	return nil
}

func knows(env *tool.Env, criterion string) bool { return slices.Contains(env.Criteria, criterion) }

func noCriterion(env *tool.Env, criterion string) string {
	return fmt.Sprintf("the contract has no criterion %s; it has: %s", tool.QuoteName(criterion), strings.Join(env.Criteria, ", "))
}

func trimmed(in []string) (out []string) {
	for _, s := range in {
		if s = tool.Cap(strings.TrimSpace(s), maxFinding); s != "" && len(out) < maxIssues {
			out = append(out, s)
		}
	}
	return out
}
