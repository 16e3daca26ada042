package roster

import (
	"slices"
	"strings"
)

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
		{"check_file_sizes", "RF", false},
		{"create_checkpoint", "STCGI", false},
		{"rollback_checkpoint", "STCGI", false},
		{"create_subcontract", "P", false},
		{"update_subcontract", "P", false},
		{"get_subcontract_status", "P", false},
		{"mark_subcontract_complete", "P", false},
		{"spawn_agent", "P", false},
		{"wait_for_agents", "P", false},
		{"collect_results", "P", false},
		{"submit_plan", "PV", true},
		{"final_report", "PO", true},
		{"get_feature_status", "PG", false},
		{"mark_feature_complete", "P", false},
		{"request_clarification", "STCGI", false},
		{"request_handoff", "STR", false},
		{"request_implementation_change", "T", false},
		{"send_message", everyone, false},
		{"request_human_input", "PVQG", false},
		{"submit_review", "R", true},
		{"signal_complete", "STCGILA", true},
		{"signal_blocked", exceptOverseer, true},
	}
}

// Phase is what a manager's session is for: it plans one contract or many, it
// plans and leads those who work, it answers a question of one of them, or it
// reports on what came of its plan.
type Phase string

// The phases. Other roles have none.
const (
	Always    Phase = ""
	Planning  Phase = "planning"
	Leading   Phase = "leading"
	Answering Phase = "answering"
	Reporting Phase = "reporting"
)

// only are the tools that a manager is offered in some phases and not in others.
func only() map[string][]Phase {
	plans, leads := []Phase{Planning, Leading}, []Phase{Leading}
	return map[string][]Phase{
		"create_subcontract": plans, "submit_plan": plans,
		"request_human_input": {Planning, Leading, Answering}, "signal_blocked": {Planning, Leading, Answering},
		"spawn_agent": leads, "wait_for_agents": leads, "collect_results": leads,
		"update_subcontract": leads, "get_subcontract_status": leads, "mark_subcontract_complete": leads,
		"mark_feature_complete": {Planning, Leading, Reporting}, "final_report": {Answering, Reporting},
	}
}

// OfBacklog tells whether a tool is about the backlog: it is offered only where
// there is one.
func OfBacklog(tool string) bool {
	return tool == "get_feature_status" || tool == "mark_feature_complete"
}

// OffersIn tells whether the role may call a tool in a phase.
func (r Role) OffersIn(p Phase, tool string) bool {
	want, some := only()[tool]
	return r.Offers(tool) && (p == Always || !some || slices.Contains(want, p))
}

func (r row) offers(letter byte) bool { return strings.IndexByte(r.roles, letter) >= 0 }
