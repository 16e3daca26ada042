package tool

import (
	"context"
	"encoding/json"
	"strings"
)

type finalReportArgs struct {
	Report string `json:"report" jsonschema_description:"The report. JSON is written as text."`
	Format string `json:"format,omitempty" jsonschema:"enum=markdown,enum=json" jsonschema_description:"markdown where absent."`
}

// maxReport is the most bytes of a report.
const maxReport = 64 << 10

func finalReport() Tool {
	return define("final_report", Write, func(_ context.Context, _ *Env, a finalReportArgs) (Result, error) {
		words := strings.TrimSpace(a.Report)
		switch {
		case words == "" || len(words) > maxReport:
			return refuse("the report is empty or longer than " + size(maxReport)), nil
		case a.Format == "json" && !json.Valid([]byte(words)):
			return refuse("the report is not JSON"), nil
		case a.Format != "" && a.Format != "markdown" && a.Format != "json":
			return refuse("format " + quoteName(a.Format) + " is none of markdown, json"), nil
		}
		return Result{Text: "report recorded", Effect: Report{Text: words}}, nil
	}).last()
}
