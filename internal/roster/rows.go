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
		{"request_handoff", "STR", false},
		{"send_message", everyone, false},
		{"request_human_input", "PVQG", false},
		{"signal_complete", "STCGILA", true},
		{"signal_blocked", exceptOverseer, true},
	}
}

func (r row) offers(letter byte) bool { return strings.IndexByte(r.roles, letter) >= 0 }
