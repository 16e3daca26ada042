package tui

import (
	"fmt"

	"agency/internal/agency"
	"agency/internal/api"
)

// Features is the backlog, a line a feature.
func Features(st Style, all []api.FeatureDoc) string {
	if len(all) == 0 {
		return "no features; add one with: agency features add ID DESCRIPTION\n"
	}
	t := table{head: []string{"FEATURE", "STATUS", "SIZE", "WHAT"}}
	done := 0
	for _, f := range all {
		status := string(f.Status)
		switch {
		case f.Status == agency.FeatureDone:
			done++
		case f.Ready:
			status += ", ready"
		case len(f.WaitsFor) > 0:
			status += ", waits for " + agency.JoinIDs(f.WaitsFor, ", ")
		}
		t.add(Line(string(f.ID)), Line(status), string(f.Size), cut(Line(f.Description), 60))
	}
	return t.render(st, "") + fmt.Sprintf("\n%d of %d done\n", done, len(all))
}
