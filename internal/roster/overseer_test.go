package roster

import (
	"testing"

	"agency/internal/agency"
)

// The overseer sees states and never code: no tool that shows a file, a diff or
// what a command prints is offered to it (docs/design.md, Modes).
func TestOverseerSeesNoCode(t *testing.T) {
	role, err := Find(agency.RoleOverseer)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{
		"read_file", "list_directory", "search_files", "get_git_diff", "get_git_log", "run_command", "run_tests", "run_lint",
		"run_type_check", "check_file_sizes", "get_coverage_report", "list_uncovered_lines",
		"outline", "symbol_search", "get_symbol_references", "query_codebase",
	} {
		if role.Offers(tool) {
			t.Errorf("the overseer is offered %s", tool)
		}
	}
}
