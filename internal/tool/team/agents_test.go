package team

import (
	"encoding/json"
	"strings"
	"testing"

	"agency/internal/roster"
	"agency/internal/tool"

	"github.com/google/go-cmp/cmp"
)

// mixed may do all that an agent of a file may.
var mixed = roster.Persona{
	Name: "a", Team: "t", Members: []string{"m"}, JSON: true,
	Calls:  []roster.Callee{{Name: "helper", Description: "Helps", Chat: true}, {Name: "other"}},
	Routes: []roster.Callee{{Name: "legal"}, {Name: "billing"}},
}

func named(t *testing.T, p roster.Persona, name string) tool.Tool {
	t.Helper()
	for _, one := range ForAgent(p) {
		if one.Name == name {
			return one
		}
	}
	t.Fatalf("%s has no tool %s", p.Name, name)
	return tool.Tool{}
}

// Who an agent is decides by which tools it asks others, speaks and ends.
func TestForAgent(t *testing.T) {
	for want, p := range map[string]roster.Persona{
		"final_report": {Name: "a"},
		"agent__helper agent__other ask_clarification end_agent handoff_to team_broadcast final_report": mixed,
		"agent__other final_report":   {Name: "a", Calls: mixed.Calls[1:]},
		"handoff_to team_broadcast":   {Name: "a", Team: "t", Member: true, Routes: mixed.Routes},
		"team_broadcast final_report": {Name: "a", Team: "t"},
	} {
		var got []string
		for _, one := range ForAgent(p) {
			if got = append(got, one.Name); !json.Valid(one.Schema) || one.Description == "" {
				t.Errorf("%s: schema %s, description %q", one.Name, one.Schema, one.Description)
			}
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", p, diff)
		}
	}
	for _, p := range []roster.Persona{mixed, {Name: "a"}, {Name: "m", Team: "t", Member: true}} { // what people are shown of it
		var got []string
		for _, one := range ForAgent(p) {
			got = append(got, one.Name)
		}
		if diff := cmp.Diff(append(p.Asking(), p.Endings()...), got); diff != "" {
			t.Error(diff)
		}
	}
	if s := string(named(t, mixed, "handoff_to").Schema); !strings.Contains(s, `"enum":["legal","billing"]`) {
		t.Errorf("a model is not shown to whom it may hand over: %s", s)
	}
	if d := named(t, mixed, "agent__helper").Description; !strings.HasPrefix(d, "Helps\n\n") {
		t.Errorf("the tool of an agent is described %q", d)
	}
}

func TestAgentCalls(t *testing.T) {
	member := roster.Persona{Name: "m", Team: "t", Member: true}
	long := strings.Repeat("x", maxPrompt+1)
	for name, tc := range map[string]struct {
		p          roster.Persona
		tool, args string
		want       tool.Effect // nil: it is refused
		says       string
	}{
		"call":                 {mixed, "agent__helper", `{"prompt":" do it ","reason":"r"}`, tool.CallAgent{Agent: "helper", Prompt: "do it", Reason: "r"}, ""},
		"call without words":   {mixed, "agent__helper", `{"prompt":" "}`, nil, `"prompt" is empty`},
		"call too long":        {mixed, "agent__helper", `{"prompt":"` + long + `"}`, nil, "longer than 64 KB"},
		"call, misspelt":       {mixed, "agent__helper", `{"promt":"x"}`, nil, "The right form: agent__helper {"},
		"ask again":            {mixed, "ask_clarification", `{"clarification_id":" helper-1 ","question":"why?"}`, tool.AskAgain{ID: "helper-1", Question: "why?"}, ""},
		"ask nothing":          {mixed, "ask_clarification", `{"clarification_id":"helper-1","question":""}`, nil, `"question" is empty`},
		"let go":               {mixed, "end_agent", `{"clarification_id":"helper-1"}`, tool.Release{ID: "helper-1"}, ""},
		"hand over":            {mixed, "handoff_to", `{"agent":"legal","message":" look "}`, tool.HandTo{Agent: "legal", Message: "look"}, ""},
		"hand over in silence": {mixed, "handoff_to", `{"agent":"billing"}`, tool.HandTo{Agent: "billing"}, ""},
		"hand over to nobody":  {mixed, "handoff_to", `{"agent":"leagl"}`, nil, `there is no agent "leagl" to hand over to (did you mean legal?). Yours are: legal, billing`},
		"hand over to helper":  {mixed, "handoff_to", `{"agent":"helper"}`, nil, "Yours are: legal, billing"},
		"speak":                {member, "team_broadcast", `{"message":"so"}`, tool.Broadcast{Message: "so"}, ""},
		"last word":            {member, "team_broadcast", `{"message":"so","final":true,"status":"failed"}`, tool.Broadcast{Message: "so", Final: true, Failed: true}, ""},
		"speak nothing":        {member, "team_broadcast", `{"message":""}`, nil, `"message" is empty`},
		"odd status":           {member, "team_broadcast", `{"message":"so","final":true,"status":"meh"}`, nil, "none of success, failed"},
		"failed, and stays":    {member, "team_broadcast", `{"message":"so","status":"failed"}`, nil, `goes with "final"`},
		"a supervisor leaves":  {mixed, "team_broadcast", `{"message":"so","final":true}`, nil, "leaves by final_report"},
		"report":               {roster.Persona{Name: "a"}, "final_report", `{"report":" done "}`, tool.Report{Text: "done"}, ""},
		"report in JSON":       {mixed, "final_report", `{"report":"{\"a\":1}"}`, tool.Report{Text: `{"a":1}`}, ""},
		"report not in JSON":   {mixed, "final_report", `{"report":"done"}`, nil, "the report is not JSON"},
		"report nothing":       {mixed, "final_report", `{"report":"\n"}`, nil, `"report" is empty`},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := named(t, tc.p, tc.tool).Run(t.Context(), &tool.Env{}, json.RawMessage(tc.args))
			if err != nil || res.Refused != (tc.want == nil) || !strings.Contains(res.Text, tc.says) {
				t.Fatalf("answers %+v, %v", res, err)
			}
			if diff := cmp.Diff(tc.want, res.Effect); diff != "" {
				t.Errorf("comes to (-want +got):\n%s", diff)
			}
		})
	}
}
