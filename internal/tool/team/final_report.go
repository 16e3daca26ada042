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
	Decision agency.Ruling `json:"decision,omitempty" jsonschema:"enum=land,enum=rework,enum=person" jsonschema_description:"Only where your contract asks for a decision."`
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
		case !slices.Contains([]agency.Ruling{"", agency.RulingLand, agency.RulingRework, agency.RulingPerson}, a.Decision):
			return tool.Refuse("decision " + tool.QuoteName(string(a.Decision)) + " is none of land, rework, person"), nil
		}
		return tool.Result{Text: "report recorded", Effect: tool.Report{Text: words, Decision: a.Decision}}, nil
	}).Ends()
}
