// Package toolset lists the tools that there are.
package toolset

import (
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/tool"
	"agency/internal/tool/file"
	"agency/internal/tool/oversee"
	"agency/internal/tool/shell"
	"agency/internal/tool/symbol"
	"agency/internal/tool/team"
	"agency/internal/tool/web"
)

// For are the tools of this version as a role has them.
func For(role agency.RoleID) []tool.Tool {
	all := All()
	if role == agency.RoleVisionary {
		all[slices.IndexFunc(all, func(t tool.Tool) bool { return t.Name == "submit_plan" })] = team.SubmitWorkstreams()
	}
	return all
}

// All are the tools of this version, sorted by name.
func All() []tool.Tool {
	all := slices.Concat(file.Tools(), oversee.Tools(), shell.Tools(), symbol.Tools(), team.Tools(), web.Tools())
	slices.SortFunc(all, func(a, b tool.Tool) int { return strings.Compare(a.Name, b.Name) })
	return all
}
