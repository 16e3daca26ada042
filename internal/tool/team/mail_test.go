package team

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/roster"
	"agency/internal/tool"
)

// office takes letters to two agents and refuses the rest.
type office struct {
	got  []agency.Message
	wait int // messages of people that are not read
}

func (o *office) Unheard(context.Context) (int, error) { return o.wait, nil }

func (o *office) Send(_ context.Context, l agency.Message) (tool.Sent, error) {
	switch l.To {
	case "pm", "project_manager":
		o.got = append(o.got, l)
		return tool.Sent{ID: "me/main/1/1/1", Listeners: []agency.AgentID{"pm"}}, nil
	case "reviewer", "":
		o.got = append(o.got, l)
		return tool.Sent{ID: "me/main/1/1/1", Within: l.RespondWithin}, nil
	case "verifier":
		return tool.Sent{}, agency.Errorf(agency.KindDenied, "a scaffolder may not write to a t5_verifier")
	case "full":
		return tool.Sent{}, agency.Errorf(agency.KindConflict, "the inbox of full is full")
	}
	return tool.Sent{}, agency.Errorf(agency.KindNotFound, "there is no agent and no role %q", l.To)
}

// A message goes out as it was written; whoever may not have it is an error
// that the model reads, and so is every malformed one.
func TestSendMessage(t *testing.T) {
	for name, tc := range map[string]struct {
		args, want string
		refused    bool
		sent       *agency.Message
	}{
		"an answer": {
			`{"to":"pm","type":"provide_clarification","subject":"port","body":"8080","in_reply_to":"m1","priority":5,"payload":{"port":8080}}`,
			"sent as me/main/1/1/1; it is read before the next turn of pm", false,
			&agency.Message{To: "pm", Type: agency.MessageProvideClarification, Subject: "port", Body: "8080", InReplyTo: "m1", Priority: 5, Payload: []byte(`{"port":8080}`)},
		},
		"in time": {
			`{"type":"task_complete","subject":"s","body":"b","in_reply_to":"m1","respond_within_minutes":90}`, "at work now; it waits. If no answer has come in 1h30m0s, you are told.", false,
			&agency.Message{Type: agency.MessageTaskComplete, Subject: "s", Body: "b", InReplyTo: "m1", RespondWithin: 90 * time.Minute},
		},
		"to no one":    {`{"to":" ","type":"task_complete","subject":"s","body":"b"}`, `"to" is empty`, true, nil},
		"before":       {`{"to":"pm","type":"task_complete","subject":"s","body":"b","respond_within_minutes":-5}`, "respond_within_minutes is -5", true, nil},
		"in a century": {`{"to":"pm","type":"task_complete","subject":"s","body":"b","respond_within_minutes":52560000}`, "respond_within_minutes is 52560000", true, nil},
		"in no number": {`{"to":"pm","type":"task_complete","subject":"s","body":"b","respond_within_minutes":1e30}`, "respond_within_minutes", true, nil},
		"a question":   {`{"to":"pm","type":"request_input","subject":"s","body":"b"}`, "sent as", false, &agency.Message{To: "pm", Type: agency.MessageRequestInput, Subject: "s", Body: "b"}},
		"to nobody":    {`{"to":"reviewer","type":"task_complete","subject":"s","body":"b"}`, "Nobody who could read it is at work now", false, &agency.Message{To: "reviewer", Type: agency.MessageTaskComplete, Subject: "s", Body: "b"}},
		"out of reach": {`{"to":"verifier","type":"task_complete","subject":"s","body":"b"}`, "may not write", true, nil},
		"unknown":      {`{"to":"ann","type":"task_complete","subject":"s","body":"b"}`, `no role "ann"`, false, nil},
		"full":         {`{"to":"full","type":"task_complete","subject":"s","body":"b"}`, "is full", false, nil},
		"a note":       {`{"to":"pm","type":"note","subject":"s","body":"b"}`, `type "note"`, true, nil},
		"a nudge":      {`{"to":"pm","type":"nudge","subject":"s","body":"b"}`, `type "nudge"`, true, nil},
		"empty":        {`{"to":"pm","type":"task_complete","subject":"s","body":" "}`, "empty", true, nil},
		"no type":      {`{"to":"pm","subject":"s","body":"b"}`, `"type" is missing`, true, nil},
		"payload":      {`{"to":"pm","type":"task_complete","subject":"s","body":"b","payload":"x"}`, "not an object", true, nil},
		"long":         {`{"to":"pm","type":"task_complete","subject":"s","body":"` + strings.Repeat("x", maxLetter+1) + `"}`, "longer than", true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := &office{}
			res, err := sendMessage().Run(t.Context(), &tool.Env{Mail: o}, []byte(tc.args))
			if err != nil || !strings.Contains(res.Text, tc.want) || res.Refused != tc.refused || res.Failed != (tc.sent == nil) {
				t.Errorf("%+v, %v", res, err)
			}
			if tc.sent != nil {
				if diff := cmp.Diff([]agency.Message{*tc.sent}, o.got); diff != "" {
					t.Error(diff)
				}
			} else if len(o.got) > 0 {
				t.Errorf("sent %+v", o.got)
			}
		})
	}
}

// desk lets everything be handed over but to a generalist.
type desk struct{ tool.Records }

func (desk) MayHandOver(_ context.Context, to agency.RoleID) error {
	if to == "generalist" {
		return agency.Errorf(agency.KindDenied, "not to you")
	}
	return nil
}

func TestRequestHandoff(t *testing.T) {
	res, err := requestHandoff().Run(t.Context(), &tool.Env{Records: desk{}}, []byte(`{"role":" test_engineer ","reason":" only tests are left "}`))
	if err != nil || res.Failed {
		t.Fatalf("%+v, %v", res, err)
	}
	if diff := cmp.Diff(tool.Effect(tool.Handoff{Role: "test_engineer", Reason: "only tests are left"}), res.Effect); diff != "" {
		t.Error(diff)
	}
	for args, want := range map[string]string{
		`{"role":"overseer","reason":"x"}`:                                         `no work can be handed to a role "overseer"; roles: `,
		`{"role":"reviewer","reason":"x"}`:                                         `no work can be handed to a role "reviewer"`, // it changes nothing
		`{"role":"nobody","reason":"x"}`:                                           `no work can be handed to a role "nobody"`,
		`{"role":"test_engineer","reason":" "}`:                                    "the reason is empty",
		`{"role":"generalist","reason":"x"}`:                                       "not to you",
		`{"role":"test_engineer"}`:                                                 `"reason" is missing`,
		`{"role":"cleanup","reason":"` + strings.Repeat("x", maxQuestion+1) + `"}`: "longer than",
	} {
		if res, err := requestHandoff().Run(t.Context(), &tool.Env{Records: desk{}}, []byte(args)); err != nil || !res.Failed || res.Effect != nil || !strings.Contains(res.Text, want) {
			t.Errorf("%.60s: %+v, %v", args, res, err)
		}
	}
}

// record is what was asked before.
type record struct {
	tool.Records
	asked tool.Asked
}

func (r record) Asked(context.Context, string) (tool.Asked, error) { return r.asked, nil }

// What is no question is refused before anybody is asked.
func TestRequestClarification(t *testing.T) {
	for name, tc := range map[string]struct {
		args, want string
		asked      tool.Asked
		effect     tool.Effect
	}{
		"asked":     {`{"question":" Which? "}`, "asked", tool.Asked{Most: 3, Left: 3}, tool.Clarification{Text: "Which?"}},
		"again":     {`{"question":"Which?"}`, "asked this before. The answer of human was:\n\nb", tool.Asked{Answer: "b", By: "human"}, nil},
		"too many":  {`{"question":"Which?"}`, "error: too many questions: this attempt has asked all 3", tool.Asked{Most: 3}, nil},
		"empty":     {`{"question":" "}`, "error: the question is empty", tool.Asked{Left: 1}, nil},
		"ten MB":    {`{"question":"` + strings.Repeat("x", 10<<20) + `"}`, "error: the arguments have 10 MB", tool.Asked{Left: 1}, nil},
		"long":      {`{"question":"` + strings.Repeat("x", 9<<10) + `"}`, "error: the question is empty or longer than 8192 bytes", tool.Asked{Left: 1}, nil},
		"no letter": {`{"question":"` + "\xff" + `"}`, "asked", tool.Asked{Left: 1}, tool.Clarification{Text: "\uFFFD"}},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := requestClarification().Run(t.Context(), &tool.Env{Records: record{asked: tc.asked}}, []byte(tc.args))
			if err != nil || !strings.Contains(res.Text, tc.want) || len(res.Text) > 1000 {
				t.Errorf("%.300s, %v", res.Text, err)
			}
			if diff := cmp.Diff(tc.effect, res.Effect); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Nobody ends its work who has not read what a person wrote meanwhile, whatever it ends with.
func TestPeopleAreReadFirst(t *testing.T) {
	parks := []string{"request_clarification", "request_handoff", "request_human_input", "request_implementation_change"} // and goes on with the answer
	ends := append(Tools(), SubmitWorkstreams(), handoffTo([]roster.Callee{{Name: "b"}}), agentReport(false), teamBroadcast(true))
	for _, of := range ends {
		if !of.Last || of.Joins || slices.Contains(parks, of.Name) {
			continue
		}
		res, err := of.Run(t.Context(), &tool.Env{Mail: &office{wait: 1}}, []byte("{}"))
		if err != nil || !res.Refused || !strings.Contains(res.Text, "a person has written to you") || res.Effect != nil {
			t.Errorf("%s: %+v, %v", of.Name, res, err)
		}
	}
	res, err := signalComplete().Run(t.Context(), &tool.Env{Mail: &office{}}, []byte(`{"evidence":"it works"}`))
	if _, ends := res.Effect.(tool.Complete); err != nil || !ends {
		t.Errorf("nothing waits: %+v, %v", res, err)
	}
}
