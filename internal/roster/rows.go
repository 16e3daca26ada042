package roster

import (
	"slices"

	"agency/internal/agency"
)

// row is one line of the table of tools with the roles that are offered the
// tool. Rows of tools that this version does not have are left out, so that no
// role is told of a tool that does not exist.
type row struct {
	tool   string
	roles  []agency.RoleID
	ending bool
}

func rows() []row {
	var seeing, leading []agency.RoleID // who may look at the repository, and write to some other (reach.go); who leads
	for _, r := range Roles() {
		if Leads(r.ID) {
			leading = append(leading, r.ID)
		}
		if r.ID != agency.RoleOverseer {
			seeing = append(seeing, r.ID)
		}
	}
	of := func(roles ...agency.RoleID) []agency.RoleID { return roles }
	managing := of(agency.RoleProjectManager)
	designing, squads := of(agency.RoleLead, agency.RoleArchitect), of(agency.RoleSquadLead)
	builders := of(agency.RoleScaffolder, agency.RoleCleanup, agency.RoleGeneralist, agency.RoleImplementer)
	authors := append(of(agency.RoleTestEngineer), builders...)
	checking := append(of(agency.RoleReviewer, agency.RoleVerifier), authors...)
	testing := of(agency.RoleTestEngineer, agency.RoleGeneralist, agency.RoleVerifier)
	covering := append(of(agency.RoleReviewer), testing...)
	return append(slices.Concat(overseerRows(), managerRows(managing), tierRows(designing)), []row{
		{"read_file", seeing, false},
		{"list_directory", seeing, false},
		{"search_files", seeing, false},
		{"query_codebase", seeing, false},
		{"outline", seeing, false},
		{"symbol_search", seeing, false},
		{"get_symbol_references", seeing, false},
		{"use_skill", seeing, false},
		{"fetch_page", seeing, false},
		{"todo", seeing, false},
		{"write_file", authors, false},
		{"edit_file", authors, false},
		{"apply_patch", authors, false},
		{"delete_file", authors, false},
		{"smart_edit", authors, false},
		{"rename_symbol", builders, false},
		{"extract_function", builders, false},
		{"run_command", builders, false},
		{"command_output", builders, false},
		{"stop_command", builders, false},
		{"run_tests", checking, false},
		{"run_tests_with_coverage", testing, false},
		{"get_coverage_report", covering, false},
		{"list_uncovered_lines", covering, false},
		{"run_lint", checking, false},
		{"run_type_check", checking, false},
		{"get_git_diff", seeing, false},
		{"get_git_log", seeing, false},
		{"check_file_sizes", of(agency.RoleReviewer, agency.RoleVerifier), false},
		{"create_checkpoint", authors, false},
		{"rollback_checkpoint", authors, false},
		{"submit_plan", append(of(agency.RoleVisionary), managing...), true},
		{"final_report", append(of(agency.RoleOverseer), leading...), true},
		{"get_feature_status", append(of(agency.RoleGeneralist), managing...), false},
		{"request_clarification", authors, false},
		{"request_handoff", of(agency.RoleScaffolder, agency.RoleTestEngineer, agency.RoleReviewer), false},
		{"request_implementation_change", of(agency.RoleTestEngineer), false},
		{"send_message", seeing, false},
		{"note_decision", slices.Concat(leading, designing, authors), false},
		{"read_decisions", seeing, false},
		{"reserve", slices.Concat(squads, designing, authors), false},
		{"release", slices.Concat(squads, designing, authors), false},
		{"request_human_input", append(of(agency.RoleGeneralist), leading...), false},
		{"submit_review", of(agency.RoleReviewer), true},
		{"signal_complete", append(designing, authors...), true},
		{"signal_blocked", seeing, true},
	}...)
}

// managerRows are the lines of what who manages alone is offered.
func managerRows(managing []agency.RoleID) []row {
	return []row{
		{"create_subcontract", managing, false},
		{"update_subcontract", managing, false},
		{"get_subcontract_status", managing, false},
		{"mark_subcontract_complete", managing, false},
		{"spawn_agent", managing, false},
		{"wait_for_agents", managing, false},
		{"collect_results", managing, false},
		{"mark_feature_complete", managing, false},
	}
}

// overseerRows are the lines of what the overseer alone is offered.
func overseerRows() []row {
	overseeing := []agency.RoleID{agency.RoleOverseer}
	return []row{
		{"get_agent_status", overseeing, false},
		{"get_agent_history", overseeing, false},
		{"get_token_usage", overseeing, false},
		{"get_time_elapsed", overseeing, false},
		{"detect_loop_pattern", overseeing, false},
		{"calculate_progress_rate", overseeing, false},
		{"send_nudge", overseeing, false},
		{"halt_agent", overseeing, false},
		{"escalate_to_human", overseeing, false},
	}
}

// tierRows are the lines of what only tiered runs have.
func tierRows(designing []agency.RoleID) []row {
	of := func(roles ...agency.RoleID) []agency.RoleID { return roles }
	return []row{
		{"publish_artifact", append(of(agency.RoleSquadLead), designing...), false},
		{"read_artifact", append(of(agency.RoleVisionary, agency.RoleSquadLead, agency.RoleImplementer, agency.RoleVerifier), designing...), false},
		{"propose_path_amendment", append(of(agency.RoleSquadLead, agency.RoleImplementer), designing...), false},
		{"submit_tasks", of(agency.RoleSquadLead), true},
		{"submit_verdict", of(agency.RoleSquadLead, agency.RoleVerifier), true},
		{"accept_run", of(agency.RoleVisionary), true},
		{"reject_run", of(agency.RoleVisionary), true},
	}
}

// Phase is what a leader's session is for: it plans one contract or many, it
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
		"create_subcontract": plans, "submit_plan": plans, "submit_tasks": plans,
		"submit_verdict": {Reporting}, "accept_run": {Reporting}, "reject_run": {Reporting},
		"request_human_input": {Planning, Leading, Answering}, "signal_blocked": {Planning, Leading, Answering},
		"spawn_agent": leads, "wait_for_agents": leads, "collect_results": leads,
		"update_subcontract": leads, "get_subcontract_status": leads, "mark_subcontract_complete": leads,
		"mark_feature_complete": {Planning, Leading, Reporting}, "final_report": {Answering, Reporting},
	}
}

// Present is what a session has for which there are tools: they are offered only where
// there is some.
type Present struct {
	Backlog, Skills bool // in the checkout
	Others          bool // agents beside its own
	Patches         bool // a model that was trained on apply_patch
	Pages           bool // hosts that may be reached
	Lacking         Lacking
}

// Lacking is what the repository has no command for.
type Lacking struct{ Tests, Lint, Types, Coverage bool }

// Lacks tells whether a tool is about something that is not there.
func (p Present) Lacks(tool string) bool {
	switch tool {
	case "get_feature_status", "mark_feature_complete":
		return !p.Backlog
	case "run_tests":
		return p.Lacking.Tests
	case "run_lint":
		return p.Lacking.Lint
	case "run_type_check":
		return p.Lacking.Types
	case "run_tests_with_coverage", "get_coverage_report", "list_uncovered_lines":
		return p.Lacking.Tests || p.Lacking.Coverage
	case "apply_patch":
		return !p.Patches
	case "use_skill":
		return !p.Skills
	case "fetch_page":
		return !p.Pages
	case "note_decision", "read_decisions", "reserve", "release":
		return !p.Others
	}
	return false
}

// OffersIn tells whether the role may call a tool in a phase.
func (r Role) OffersIn(p Phase, tool string) bool {
	want, some := only()[tool]
	if p == Reporting && tool == "final_report" && r.ID.Tier() != "" { // who reports by a verdict
		return false
	}
	return r.Offers(tool) && (p == Always || !some || slices.Contains(want, p))
}

// OffersWith tells whether the role may call a tool in a phase, by what its session has. Who
// works alone has nobody to write to, and asks a person where it can.
func (r Role) OffersWith(p Phase, have Present, tool string) bool {
	alone := !have.Others && !Leads(r.ID)
	if have.Lacks(tool) || alone && (tool == "send_message" || tool == "request_clarification" && r.Offers("request_human_input")) {
		return false
	}
	return r.OffersIn(p, tool)
}

func (r row) offers(role agency.RoleID) bool { return slices.Contains(r.roles, role) }
