package roster

import "strings"

// row is one line of the table of INTERFACES 5 with the letters of the roles
// that are offered the tool. Rows of tools that this version does not have are
// left out, so that no role is told of a tool that does not exist.
type row struct {
	tool   string
	roles  string
	ending bool
}

// exceptOverseer is every role that may look at the repository.
const exceptOverseer = "PSTRCGVLAQIF"

// everyone is every role: each may send to some other (reach.go).
const everyone = "PSTROCGVLAQIF"

func rows() []row {
	return []row{
		{"read_file", exceptOverseer, false},
		{"list_directory", exceptOverseer, false},
		{"search_files", exceptOverseer, false},
		{"write_file", "STCGI", false},
		{"edit_file", "STCGI", false},
		{"delete_file", "STCGI", false},
		{"run_command", "SCGI", false},
		{"run_tests", "STRCGIF", false},
		{"run_tests_with_coverage", "TGF", false},
		{"get_coverage_report", "TRGF", false},
		{"list_uncovered_lines", "TRGF", false},
		{"run_lint", "STRCGIF", false},
		{"run_type_check", "STRCGIF", false},
		{"get_git_diff", exceptOverseer, false},
		{"get_git_log", exceptOverseer, false},
		{"create_checkpoint", "STCGI", false},
		{"rollback_checkpoint", "STCGI", false},
		{"create_subcontract", "P", false},
		{"submit_plan", "PV", true},
		{"final_report", "PO", true},
		{"get_feature_status", "PG", false},
		{"mark_feature_complete", "P", false},
		{"request_handoff", "STR", false},
		{"send_message", everyone, false},
		{"request_human_input", "PVQG", false},
		{"submit_review", "R", true},
		{"signal_complete", "STCGILA", true},
		{"signal_blocked", exceptOverseer, true},
	}
}

// Phase is what a manager's session is for: it plans, or it reports on what
// came of its plan.
type Phase string

// The phases. Other roles have none.
const (
	Always    Phase = ""
	Planning  Phase = "planning"
	Reporting Phase = "reporting"
)

// only are the tools that a manager is offered in one phase and not in another.
func only() map[string]Phase {
	return map[string]Phase{
		"create_subcontract": Planning, "submit_plan": Planning, "request_human_input": Planning, "signal_blocked": Planning,
		"final_report": Reporting,
	}
}

// OffersIn tells whether the role may call a tool in a phase.
func (r Role) OffersIn(p Phase, tool string) bool {
	want := only()[tool]
	return r.Offers(tool) && (p == Always || want == Always || want == p)
}

func (r row) offers(letter byte) bool { return strings.IndexByte(r.roles, letter) >= 0 }
