package native

import (
	"context"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/flow"
	"agency/internal/llm"
	"agency/internal/registry"
	"agency/internal/roster"
	"agency/internal/session"
	"agency/internal/store"
)

// posted is a session of an agent of a file.
func posted(t *testing.T, p roster.Persona, post agency.Post, say ...any) (*stage, session.Spec) {
	k := newKit(t, budget.Limits{}, say...)
	p.Name, post.Agent = "ann", "ann"
	k.setup.Persona = p
	k.write(func(tx *store.Tx) error {
		if _, err := tx.Exec(`DELETE FROM contracts`); err != nil {
			return err
		}
		return registry.CreateContract(tx, agency.Contract{ID: "main", RunID: testRun, AssignedRole: agency.RoleAgent, Title: "t", Description: "The input,\nword for word.", Post: &post})
	})
	s := spec()
	s.Role, s.Agent, s.Post = agency.RoleAgent, "main", &post
	return k, s
}

// An agent of a file is told its input and nothing else, is offered its own tools, and goes
// on after its report with what it is asked more.
func TestAgentAnswersAndIsAskedAgain(t *testing.T) {
	k, s := posted(t, roster.Persona{Text: "I am Ann.", Tools: []string{"read_file"}}, agency.Post{Reached: agency.ReachedRun},
		calls("read_file", `{"path":"main.txt"}`),
		calls("final_report", `{"report":"It says one."}`),
		calls("final_report", `{"report":"And two."}`),
	)
	k.setup.Limits.Turns = 3
	out := k.must(s)
	if out.Kind != session.Reported || out.Report != "It says one." || out.Turns != 2 || out.Left != 1 || out.Room < 1000 {
		t.Fatalf("ended %+v", out)
	}
	if first := k.model.msgs[0]; len(first) != 1 || first[0].Words() != "The input,\nword for word." {
		t.Errorf("it was told %v", first)
	}
	if sent := string(k.model.seen[0]); !strings.Contains(sent, `# ann (agent)\n\nI am Ann.\n`) || !strings.Contains(sent, `"read_file"`) || !strings.Contains(sent, `"final_report"`) || strings.Contains(sent, `"write_file"`) {
		t.Errorf("it was sent %s", sent)
	}
	s.Part, s.Answer = 2, &session.Answer{ToolUse: out.ToolUse, Say: "## CLARIFICATION REQUEST FROM bob\n\nWhat else?"}
	if out = k.must(s); out.Report != "And two." || out.Left != 0 {
		t.Errorf("asked again: %+v", out)
	}
	last := k.model.msgs[2][len(k.model.msgs[2])-1]
	if r, ok := last.Blocks[0].(llm.ToolResult); !ok || r.Text != "report recorded" || !strings.Contains(last.Words(), "What else?") {
		t.Errorf("it was asked again by %+v", last)
	}
	s.Part = 3
	if out = k.must(s); out.Kind != session.Incomplete || out.Cause != session.CauseTurns {
		t.Errorf("without a turn left: %+v", out)
	}
	checkRequests(t, k.model)
	k.checkBooks("after being asked again")
}

// An answer in plain words, said again after the reminder, is the answer, and it may be asked more;
// words that are no JSON are none where that is wanted.
func TestAgentAnswersInPlainWords(t *testing.T) {
	words := []any{calls("read_file", `{"path":"main.txt"}`), says("It says one."), says("It says ONE."), calls("final_report", `{"report":"And two."}`)}
	k, s := posted(t, roster.Persona{Text: "I am Ann.", Tools: []string{"read_file"}}, agency.Post{Reached: agency.ReachedRun}, words...)
	out := k.must(s)
	if out.Kind != session.Reported || out.Report != "It says ONE." || out.Turns != 3 {
		t.Fatalf("ended %+v", out)
	}
	s.Part, s.Answer = 2, &session.Answer{ToolUse: out.ToolUse, Say: "What else?"}
	if out = k.must(s); out.Report != "And two." {
		t.Errorf("asked again: %+v", out)
	}
	checkRequests(t, k.model)
	k, s = posted(t, roster.Persona{Text: "I am Ann.", JSON: true}, agency.Post{Reached: agency.ReachedRun}, words[1:3]...)
	if out := k.must(s); out.Cause != session.CauseNoEnding {
		t.Errorf("no JSON: %+v", out)
	}
}

// Calls of one turn park a session together; a word to its team parks it alone, and what
// comes beside it is refused.
func TestAgentAsksAndSpeaks(t *testing.T) {
	p := roster.Persona{Calls: []roster.Callee{{Name: "bob"}, {Name: "eve", Chat: true}}, Team: "crew", Member: true}
	k, s := posted(t, p, agency.Post{Reached: agency.ReachedMember, Team: "crew"},
		calls("agent__bob", `{"prompt":"b"}`, "agent__eve", `{"prompt":"e"}`, "ask_clarification", `{"clarification_id":"x","question":"q"}`, "team_broadcast", `{"message":"no"}`),
		calls("team_broadcast", `{"message":"Here is what I know."}`, "agent__bob", `{"prompt":"more"}`),
		calls("final_report", `{"report":"no member reports"}`, "team_broadcast", `{"message":"That was it.","final":true}`, "team_broadcast", `{"message":"And more."}`),
	)
	out := k.must(s)
	if len(out.Asks) != 3 || out.Asks[0].Call.Agent != "bob" || out.Asks[1].Call.Prompt != "e" || out.Asks[2].Again.ID != "x" || out.Broadcast() != "" {
		t.Fatalf("asks %+v", out.Asks)
	}
	s.Part, s.Answer = 2, &session.Answer{}
	for _, a := range out.Asks {
		s.Answer.Replies = append(s.Answer.Replies, session.Reply{ToolUse: a.ToolUse, Text: "r"})
	}
	out = k.must(s)
	if out.Broadcast() != "Here is what I know." || len(out.Asks) != 1 {
		t.Fatalf("speaks by %+v", out)
	}
	if got := k.lastResults(1)[3]; !strings.HasPrefix(got, "error: not run: the call before it") {
		t.Errorf("a word beside calls is answered %q", got)
	}
	s.Part, s.Answer = 3, &session.Answer{Replies: []session.Reply{{ToolUse: out.ToolUse, Text: "## BROADCASTS"}}}
	out = k.must(s)
	if out.Kind != session.Reported || out.Report != "That was it." || out.Failed {
		t.Fatalf("leaves by %+v", out)
	}
	if got := k.lastResults(2); got[0] != "## BROADCASTS" || !strings.HasPrefix(got[1], "error: not run: the call before it") {
		t.Errorf("it goes on with %q", got)
	}
	checkRequests(t, k.model)
}

// A router ends by handing over; plain text is asked for an ending once, by its tools' names.
func TestAgentHandsOver(t *testing.T) {
	p := roster.Persona{Routes: []roster.Callee{{Name: "bob"}}}
	k, s := posted(t, p, agency.Post{Reached: agency.ReachedRun}, says("Let me see."), calls("handoff_to", `{"agent":"eve"}`), calls("handoff_to", `{"agent":"bob","message":"Yours."}`))
	out := k.must(s)
	if out.Kind != session.HandedOff || out.HandTo.Agent != "bob" || out.HandTo.Message != "Yours." {
		t.Fatalf("ended %+v", out)
	}
	if words := k.model.msgs[1][len(k.model.msgs[1])-1].Words(); !strings.Contains(words, "call handoff_to or final_report with what you have") {
		t.Errorf("plain text is answered %q", words)
	}
	if got := k.lastResults(2)[0]; !strings.Contains(got, `there is no agent "eve" to hand over to`) {
		t.Errorf("a wrong name is answered %q", got)
	}
}

// Others go on without an agent that its provider refuses, or that has no answer while the
// provider answers another session. Where nobody is answered the run rests, as it does where
// the key is refused, and for an agent that nobody goes on without.
func TestOptionalAgentFailsAlone(t *testing.T) {
	for name, tc := range map[string]struct {
		kind      llm.FaultKind
		optional  bool
		meanwhile bool // another session is answered
		fails     bool
	}{
		"refused":          {llm.InvalidRequest, true, false, true},
		"no such model":    {llm.ModelNotFound, true, false, true},
		"refused, needed":  {llm.InvalidRequest, false, true, false},
		"server, alone":    {llm.Server, true, true, true},
		"cut, alone":       {llm.StreamCut, true, true, true},
		"server, with all": {llm.Server, true, false, false},
		"server, needed":   {llm.Server, false, true, false},
		"key":              {llm.Auth, true, true, false},
		"no network":       {llm.Network, true, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			var run func(context.Context, agency.StepKey, session.Spec) (session.Outcome, error)
			other := session.Spec{}
			k, s := posted(t, roster.Persona{}, agency.Post{Reached: agency.ReachedAdvisor, Optional: tc.optional}, func(ctx context.Context, req llm.Request) any {
				if req.Messages[0].Words() == "another" {
					return calls("final_report", `{"report":"here"}`)
				}
				if tc.meanwhile {
					if out, err := run(ctx, "", other); err != nil || out.Report != "here" {
						t.Errorf("the other one: %+v, %v", out, err)
					}
				}
				return &llm.Fault{Kind: tc.kind, Provider: "test"}
			})
			k.write(func(tx *store.Tx) error {
				return registry.CreateContract(tx, agency.Contract{ID: "other", RunID: testRun, AssignedRole: agency.RoleAgent, Title: "t", Description: "another", Post: s.Post})
			})
			other = s
			other.Contract, other.Agent = "other", "other"
			run = k.process(nil)
			out, err := run(flow.WithScope(t.Context(), flow.Scope{Run: testRun, Fence: k.fence}), "", s)
			switch {
			case tc.fails && (err != nil || out.Kind != session.Incomplete || out.Cause != session.CauseProvider || !strings.Contains(out.Reason, "provider test: ")):
				t.Errorf("ended %+v, %v", out, err)
			case !tc.fails && (agency.KindOf(err) != agency.KindTransient || !strings.Contains(err.Error(), "agent ann: provider test: ")):
				t.Errorf("ended %+v, %v", out, err)
			}
			if s := k.spent(); s.Reserved != 0 {
				t.Errorf("reserved %v", s.Reserved)
			}
		})
	}
}

// What mends a provider's fault names the run that it is told of, and ends with what goes on.
func TestMendsNameTheRun(t *testing.T) {
	for mend, want := range map[string]string{
		"": "mend the provider's key or the model's name, then agency resume r1",
		"name another one: agency model RUN p/NAME": "name another one: agency model r1 p/NAME, then agency resume r1",
	} {
		if got := orMend(mend, "r1"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
