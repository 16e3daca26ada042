package roster

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestGeneralist(t *testing.T) {
	r, err := Find(agency.RoleGeneralist)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"apply_patch", "command_output", "create_checkpoint", "delete_file", "edit_file", "extract_function", "fetch_page", "get_coverage_report", "get_feature_status", "get_git_diff", "get_git_log",
		"get_symbol_references", "list_directory", "list_uncovered_lines", "note_decision", "outline", "query_codebase", "read_decisions", "read_file", "release", "rename_symbol",
		"request_clarification", "request_human_input", "reserve", "rollback_checkpoint", "run_command", "run_lint", "run_tests",
		"run_tests_with_coverage", "run_type_check",
		"search_files", "send_message", "signal_blocked", "signal_complete", "smart_edit", "stop_command", "symbol_search",
		"todo", "use_skill", "write_file",
	}
	if diff := cmp.Diff(want, r.Tools()); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"signal_blocked", "signal_complete"}, r.Endings()); diff != "" {
		t.Errorf("endings (-want +got):\n%s", diff)
	}
	if got, want := r.Limits, (Limits{50, 32, 0, 100_000, 1800}); got != want {
		t.Errorf("limits %+v, want %+v", got, want)
	}
}

func TestRows(t *testing.T) {
	authors := []agency.RoleID{agency.RoleScaffolder, agency.RoleTestEngineer, agency.RoleCleanup, agency.RoleGeneralist, agency.RoleImplementer}
	for _, r := range Roles() {
		if r.Offers("write_file") != slices.Contains(authors, r.ID) {
			t.Errorf("role %s: write_file offered: %v", r.ID, r.Offers("write_file"))
		}
		if r.ID == agency.RoleOverseer && !slices.Equal(r.Tools(), []string{
			"calculate_progress_rate", "detect_loop_pattern", "escalate_to_human", "final_report", "get_agent_history", "get_agent_status", "get_time_elapsed", "get_token_usage", "halt_agent", "send_nudge",
		}) {
			t.Errorf("the overseer is offered %v", r.Tools())
		}
		if r.Offers("send_message") != (len(reach()[r.ID]) > 0) {
			t.Errorf("role %s may write to %v", r.ID, reach()[r.ID])
		}
		if r.Offers("no_such_tool") {
			t.Errorf("role %s is offered a tool that does not exist", r.ID)
		}
		for _, e := range r.Endings() {
			if !slices.Contains(r.Tools(), e) {
				t.Errorf("role %s: ending %s is not among its tools", r.ID, e)
			}
		}
	}
}

// A manager is offered what its session is for; who has no phase, all.
func TestPhases(t *testing.T) {
	r, err := Find(agency.RoleProjectManager)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		phase Phase
		tool  string
		want  bool
	}{
		{Planning, "submit_plan", true},
		{Planning, "final_report", false},
		{Planning, "read_file", true},
		{Planning, "write_file", false},
		{Reporting, "submit_plan", false},
		{Reporting, "create_subcontract", false},
		{Reporting, "final_report", true},
		{Reporting, "read_file", true},
		{Answering, "final_report", true},
		{Answering, "send_message", true},
		{Answering, "request_human_input", true},
		{Answering, "submit_plan", false},
		{Answering, "mark_feature_complete", false},
		{Leading, "submit_plan", true},
		{Leading, "create_subcontract", true},
		{Leading, "spawn_agent", true},
		{Leading, "final_report", false},
		{Planning, "spawn_agent", false},
		{Planning, "update_subcontract", false},
		{Reporting, "collect_results", false},
		{Always, "submit_plan", true},
	} {
		if got := r.OffersIn(tt.phase, tt.tool); got != tt.want {
			t.Errorf("phase %q, %s offered: %v", tt.phase, tt.tool, got)
		}
	}
}

func TestFind(t *testing.T) {
	if _, err := Find("critic"); agency.KindOf(err) != agency.KindInvalid {
		t.Errorf("an unknown role gives %v", err)
	}
}

func TestPrompt(t *testing.T) {
	golden(t, agency.RoleGeneralist, View{Repo: "/home/ann/shop"}, "testdata/generalist.md")
	golden(t, agency.RoleProjectManager, View{Repo: "/home/ann/shop", Contracts: 1, Phase: Planning, MaxFiles: 5, MaxLines: 500}, "testdata/project_manager.md")
	golden(t, agency.RoleProjectManager, View{
		Repo: "/home/ann/shop", Phase: Planning, Resources: []string{"build", "gpu"}, MaxFiles: 5, MaxLines: 500, Present: Present{Backlog: true},
		Talents: []Talent{{Name: "sre", Description: "Choose for what fails"}, {Name: "api-tester", Description: "Choose for interfaces"}},
	}, "testdata/project_manager_many.md")
	golden(t, agency.RoleProjectManager, View{Repo: "/home/ann/shop", Phase: Leading, MaxFiles: 5, MaxLines: 500, Present: Present{Backlog: true}}, "testdata/project_manager_leading.md")
	golden(t, agency.RoleProjectManager, View{Repo: "/home/ann/shop", Phase: Reporting}, "testdata/project_manager_report.md")
	golden(t, agency.RoleProjectManager, View{Repo: "/home/ann/shop", Phase: Answering}, "testdata/project_manager_answer.md")
	golden(t, agency.RoleScaffolder, View{Repo: "/home/ann/shop", Network: true, Present: Present{Others: true}, Talent: Talent{Name: "sre", Text: "### Look\n\nAt what fails."}}, "testdata/scaffolder.md")
	golden(t, agency.RoleTestEngineer, View{Repo: "/home/ann/shop", Present: Present{Others: true, Lacking: Lacking{Lint: true, Coverage: true}}}, "testdata/test_engineer.md")
	golden(t, agency.RoleCleanup, View{Repo: "/home/ann/shop"}, "testdata/cleanup.md")
	golden(t, agency.RoleOverseer, View{}, "testdata/overseer.md")
	golden(t, agency.RoleReviewer, View{Repo: "/home/ann/shop"}, "testdata/reviewer.md")
	golden(t, agency.RoleReviewer, View{Repo: "/home/ann/shop", Present: Present{Others: true}}, "testdata/reviewer_team.md")
	golden(t, agency.RoleVisionary, View{Repo: "/home/ann/shop", Phase: Planning, Resources: []string{"gpu"}, Talents: []Talent{{Name: "sre", Description: "Choose for what fails"}}}, "testdata/t1_visionary.md")
	golden(t, agency.RoleVisionary, View{Repo: "/home/ann/shop", Phase: Reporting}, "testdata/t1_visionary_report.md")
	golden(t, agency.RoleLead, View{Repo: "/home/ann/shop"}, "testdata/t2_lead.md")
	golden(t, agency.RoleArchitect, View{Repo: "/home/ann/shop"}, "testdata/t2_architect.md")
	golden(t, agency.RoleSquadLead, View{Repo: "/home/ann/shop", Phase: Planning, MaxFiles: 5, MaxLines: 500}, "testdata/t3_lead.md")
	golden(t, agency.RoleSquadLead, View{Repo: "/home/ann/shop", Phase: Reporting}, "testdata/t3_lead_report.md")
	golden(t, agency.RoleSquadLead, View{Repo: "/home/ann/shop", Phase: Answering}, "testdata/t3_lead_answer.md")
	golden(t, agency.RoleImplementer, View{Repo: "/home/ann/shop", Present: Present{Others: true}}, "testdata/t4_implementer.md")
	golden(t, agency.RoleVerifier, View{Repo: "/home/ann/shop", Present: Present{Others: true}}, "testdata/t5_verifier.md")
}

// An agent of a file is told its own words, and of others what its place lets it do.
// However an agent is called, models take the name of its tool, and no two are the same.
func TestCalleeTools(t *testing.T) {
	fit, seen := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`), map[string]string{}
	long := strings.Repeat("a", 57)
	for _, name := range []string{"x", "lib.v2", "lib_v2", "lib.v.2", long, long + "b", long + "c", long + ".d", "A"} {
		tool := Callee{Name: name}.Tool()
		if other, twice := seen[tool]; twice || !fit.MatchString(tool) || !strings.HasPrefix(tool, "agent__") {
			t.Errorf("%s is called by %s, as %s", name, tool, other)
		}
		seen[tool] = name
	}
	if (Callee{Name: "lib_v2"}).Tool() != "agent__lib_v2" || (Callee{Name: long}).Tool() != "agent__"+long {
		t.Error("a name that fits is another")
	}
}

func TestPersonaPrompt(t *testing.T) {
	legal := Callee{Name: "legal", Description: "For contracts"}
	for name, p := range map[string]Persona{
		"alone":      {Name: "ann", Text: "I am Ann.", JSON: true},
		"reader":     {Name: "ann", Text: "I am Ann.", Tools: []string{"get_git_diff", "read_file"}, Calls: []Callee{legal, {Name: "bob", Chat: true}}},
		"router":     {Name: "ann", Text: "I am Ann.", Routes: []Callee{legal, {Name: "bob"}}},
		"member":     {Name: "ann", Text: "I am Ann.", Team: "crew", Members: []string{"ann", "bob"}, Charter: "Be brief.", Member: true},
		"supervisor": {Name: "ann", Text: "I am Ann.", Team: "crew", Members: []string{"bob", "eve"}},
	} {
		got, err := p.Prompt(View{Repo: "/home/ann/shop"})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(got, "# ann (agent)\n\nI am Ann.\n") {
			t.Errorf("%s: begins %.60q", name, got)
		}
		same(t, got, "testdata/agent_"+name+".md")
	}
}

// same holds a prompt to its golden file.
func same(t *testing.T, got, file string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the prompt changed (-golden +now), run with -update if that is meant:\n%s", diff)
	}
}

func golden(t *testing.T, role agency.RoleID, v View, file string) {
	t.Helper()
	r, err := Find(role)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Prompt(v)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, file)
	if !strings.HasPrefix(got, "# "+r.Title+" ("+string(role)+")\n") {
		t.Errorf("first line: %q", got[:40])
	}
	if role != agency.RoleGeneralist {
		return
	}
	granted, err := r.Prompt(View{Repo: "/r", Network: true})
	if err != nil || !strings.Contains(granted, "hosts that the user granted") {
		t.Errorf("with network: %v\n%s", err, granted)
	}
}

// A prompt names no tool that its session is not offered. Those that it is describe
// themselves.
func TestPromptsNameTheirTools(t *testing.T) {
	named := regexp.MustCompile("`([a-z]+(?:_[a-z]+)*)`")
	for _, role := range Roles() {
		for _, v := range []View{{}, {Present: Present{Backlog: true}}, {Contracts: 1}, {Phase: Planning, Contracts: 1}, {Phase: Leading, Present: Present{Backlog: true}}, {Phase: Answering}, {Phase: Reporting, Present: Present{Backlog: true}}, {Present: Present{Others: true}}, {Present: Present{Lacking: Lacking{true, true, true, true}}}} {
			text, err := role.Prompt(v)
			if Leads(role.ID) != (v.Phase != Always) || v.Phase == Leading && role.ID != agency.RoleProjectManager {
				continue // no phase of this role
			}
			if err != nil {
				t.Fatal(err)
			}
			v.role = role
			in := map[string]bool{}
			for _, m := range named.FindAllStringSubmatch(text, -1) {
				in[m[1]] = true
			}
			for _, end := range v.Endings() {
				if !in[end] {
					t.Errorf("%s, phase %q: no word of its ending %s", role.ID, v.Phase, end)
				}
			}
			for _, row := range rows() {
				if in[row.tool] && !v.Has(row.tool) {
					t.Errorf("%s, phase %q, backlog %v: %s is named and not offered", role.ID, v.Phase, v.Backlog, row.tool)
				}
			}
		}
	}
}
