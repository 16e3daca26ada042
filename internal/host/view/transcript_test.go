package view

import (
	"encoding/json"
	"testing"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/report"
)

// The results of a conversation that people gave name them, also where the same is asked again.
func TestWhoAnsweredIsNamed(t *testing.T) {
	gate := func(of agency.ContractID, body, by string) agency.Gate {
		return agency.Gate{Kind: agency.GateQuestion, ContractID: of, Body: report.Quote(body), Decision: agency.Decision{Verb: agency.Approve, By: by}}
	}
	gates := []agency.Gate{gate("other", "Which?", "eve"), gate("main", "Which?", "ann"), gate("main", "Which?\n\nscaffolder asks this", "bob"), {Kind: agency.GateQuestion, ContractID: "main", Body: "Why?"}}
	ask := func(id, question string) api.MessageLine {
		args, _ := json.Marshal(map[string]string{"question": question})
		return api.MessageLine{Kind: "tool_call", CallID: id, Args: args}
	}
	result := func(id string) api.MessageLine { return api.MessageLine{Kind: "tool_result", CallID: id} }
	lines := []api.MessageLine{ask("a", "Which?"), result("a"), ask("b", "Which?"), result("b"), ask("c", "Why?"), result("c"), {Kind: "tool_call", CallID: "d", Args: json.RawMessage(`{"path": "x"}`)}, result("d")}
	answeredBy(lines, "main", gates)
	for i, want := range []string{"", "ann", "", "bob", "", "", "", ""} {
		if lines[i].By != want {
			t.Errorf("line %d: by %q, want %q", i, lines[i].By, want)
		}
	}
}
