package team

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/tool"
)

type finalReportArgs struct {
	Report string `json:"report" jsonschema_description:"The report. JSON is written as text."`
	Format string `json:"format,omitempty" jsonschema:"enum=markdown,enum=json" jsonschema_description:"markdown where absent."`
	// Decision is asked for by the contracts that want one.
	Decision    agency.Ruling `json:"decision,omitempty" jsonschema:"enum=land,enum=rework,enum=reword,enum=reassign,enum=split,enum=person" jsonschema_description:"Only where your contract asks for a decision."`
	AssignTo    string        `json:"assign_to,omitempty" jsonschema_description:"With the decision reassign: the role that goes on."`
	Description string        `json:"description,omitempty" jsonschema_description:"With the decision reword: what the contract says from now on."`
}

// maxReport is the most bytes of a report.
const maxReport = 64 << 10

func finalReport() tool.Tool {
	return tool.Define(texts, "final_report", tool.Write, func(_ context.Context, _ *tool.Env, a finalReportArgs) (tool.Result, error) {
		words := strings.TrimSpace(a.Report)
		switch {
		case words == "" || len(words) > maxReport:
			return tool.Refuse("the report is empty or longer than " + tool.Size(maxReport)), nil
		case a.Format == "json" && !json.Valid([]byte(words)):
			return tool.Refuse("the report is not JSON"), nil
		case a.Format != "" && a.Format != "markdown" && a.Format != "json":
			return tool.Refuse("format " + tool.QuoteName(a.Format) + " is none of markdown, json"), nil
		}
		decided, fault := a.decided()
		if fault != "" {
			return tool.Refuse(fault), nil
		}
		return tool.Result{Text: "report recorded", Effect: tool.Report{Text: words, Decided: decided}}, nil
	}).Concludes()
}

// decided is the decision with what it needs, or what is wrong with it.
func (a finalReportArgs) decided() (d agency.Decided, fault string) {
	d = agency.Decided{Ruling: a.Decision, Role: agency.RoleID(strings.TrimSpace(a.AssignTo)), Wording: strings.TrimSpace(a.Description)}
	switch {
	case d.Ruling != "" && !slices.Contains(agency.Rulings(), d.Ruling):
		return d, "decision " + tool.QuoteName(string(d.Ruling)) + " is none of land, rework, reword, reassign, split, person"
	case d.Ruling == agency.RulingReassign && !slices.Contains(holders(), string(d.Role)):
		return d, "assign_to " + tool.QuoteName(a.AssignTo) + " is no role that can go on with it; roles: " + strings.Join(holders(), ", ")
	case d.Ruling == agency.RulingReword && (d.Wording == "" || len(d.Wording) > maxReport):
		return d, "the description that the contract is to have is missing or longer than " + tool.Size(maxReport)
	}
	return d, ""
}
