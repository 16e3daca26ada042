package native

import (
	"fmt"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/budget"
	"agency/internal/llm"
	"agency/internal/session"
	"agency/internal/store"
)

func asks(question string) llm.Answer {
	return calls("request_clarification", fmt.Sprintf(`{"question":%q}`, question))
}

// answers replies to what a part waits for, as mode does, and gives the next.
func (k *stage) answers(s session.Spec, out session.Outcome, text string) session.Spec {
	k.t.Helper()
	reply := out.Awaits + "/answer"
	k.write(func(tx *store.Tx) error {
		err := board.Send(tx, agency.Message{
			ID: reply, RunID: testRun, From: agency.FromHuman, To: string(s.Agent), Type: agency.MessageProvideClarification, Body: text, InReplyTo: out.Awaits,
		})
		if err != nil {
			return err
		}
		return board.Acknowledge(tx, testRun, out.Awaits)
	})
	s.Part, s.Answer = s.Part+1, &session.Answer{ToolUse: out.ToolUse, Text: text, Message: reply}
	return s
}

// result is the text of the last call's result in a request.
func (k *stage) result(request int) string {
	k.t.Helper()
	return k.resultIn(k.model.msgs[request])
}

func (k *stage) resultIn(msgs []llm.Message) string {
	k.t.Helper()
	for _, b := range msgs[len(msgs)-1].Blocks {
		if r, ok := b.(llm.ToolResult); ok {
			return r.Text
		}
	}
	k.t.Fatalf("no result in %v", msgs[len(msgs)-1])
	return ""
}

// A question is a message of the commit that parks the session, and its answer
// the result of the call, shown once and processed, wherever the process dies.
func TestClarificationSurvivesDeath(t *testing.T) {
	for n := 1; ; n += pace() {
		k := newKit(t, budget.Limits{}, asks("Which?"), complete)
		k.watchRequests()
		s := spec()
		out, points := k.survive(s, n)
		where := fmt.Sprint(points)
		if out.Kind != session.Parked || out.For != session.ForInbox || out.Question != "Which?" || out.Awaits != "ask/main/1/1/1" {
			t.Fatalf("%s: %+v", where, out)
		}
		if d := k.delivery(out.Awaits); len(d) != 1 || d[0].Status != agency.MailPending || d[0].Role != agency.RoleProjectManager {
			t.Errorf("%s: the question is %+v", where, d)
		}
		if a := k.agent("generalist"); a.Activity != "waits for inbox" || a.Status != board.AgentWaiting {
			t.Errorf("%s: the agent is %s, %q", where, a.Status, a.Activity)
		}
		next := k.answers(s, out, "THE SECOND")
		end, more := k.survive(next, max(1, n-6))
		if end.Kind != session.Claimed {
			t.Fatalf("%s, %s: %+v", where, more, end)
		}
		last := k.model.msgs[len(k.model.msgs)-1]
		if c := appears(last, "THE SECOND"); c != 1 || k.resultIn(last) != "THE SECOND" {
			t.Errorf("%s, %s: the answer is shown %d times, the result is %q", where, more, c, k.resultIn(last))
		}
		for _, id := range []agency.MessageID{out.Awaits, next.Answer.Message} {
			if d := k.delivery(id); len(d) != 1 || d[0].Status != agency.MailProcessed {
				t.Errorf("%s, %s: %s is %+v", where, more, id, d)
			}
		}
		if k.count("message_sent") != 2 {
			t.Errorf("%s, %s: %d messages were sent", where, more, k.count("message_sent"))
		}
		checkRequests(t, k.model)
		k.checkBooks(where)
		if len(points)+len(more) == 0 {
			break
		}
	}
}

// The same question is answered from the record, in the next attempt too; an
// attempt has a few, and then a named refusal.
func TestClarificationsAreFew(t *testing.T) {
	k := newKit(t, budget.Limits{}, asks("Which one?"), asks("  which \nONE? "), asks("b?"), asks("c?"), asks("d?"), complete)
	s := spec()
	for _, answer := range []string{"the first", "of b", "of c"} {
		out := k.must(s)
		if out.For != session.ForInbox {
			t.Fatalf("%+v", out)
		}
		s = k.answers(s, out, answer)
	}
	if out := k.must(s); out.Kind != session.Claimed {
		t.Fatalf("%+v", out)
	}
	if got := k.result(2); !strings.Contains(got, "asked this before") || !strings.HasSuffix(got, "the first") {
		t.Errorf("the same again: %q", got)
	}
	if got := k.result(5); !strings.HasPrefix(got, "error: too many questions: this attempt has asked all 3") {
		t.Errorf("one too many: %q", got)
	}
	k.model.say = []any{asks("b?"), asks("e?"), complete}
	k.model.msgs = nil
	second := spec()
	second.Attempt = 2
	out := k.must(second)
	if out.For != session.ForInbox || out.Question != "e?" || out.Awaits != "ask/main/2/2/1" || !strings.Contains(k.result(1), "of b") {
		t.Errorf("the next attempt: %+v", out)
	}
}

// What is too long is refused, what a terminal would obey is kept as text, and
// only the first question of a turn is asked.
func TestOddClarifications(t *testing.T) {
	k := newKit(t, budget.Limits{},
		asks(strings.Repeat("long ", 20<<10)), asks(strings.Repeat("x", 8<<10+1)), asks(" \n "),
		calls("request_clarification", `{"question":"\u001b[31mRed?\u202e\u0007"}`, "request_clarification", `{"question":"And?"}`), complete)
	s := spec()
	out := k.must(s)
	if out.For != session.ForInbox || out.Question != "\x1b[31mRed?\u202e\a" || out.Awaits != "ask/main/1/4/1" {
		t.Fatalf("%+v", out)
	}
	for i := 1; i <= 3; i++ {
		if got := k.result(i); !strings.HasPrefix(got, "error: ") || len(got) > 1000 {
			t.Errorf("request %d: %.200q", i, got)
		}
	}
	if out := k.must(k.answers(s, out, strings.Repeat("y", 100<<10))); out.Kind != session.Claimed {
		t.Fatalf("%+v", out)
	}
	if got := k.result(4); len(got) > 40<<10 {
		t.Errorf("the answer has %d bytes", len(got))
	}
	last := k.model.msgs[4][len(k.model.msgs[4])-1]
	if got := last.Blocks[1].(llm.ToolResult).Text; !strings.Contains(got, "not run") {
		t.Errorf("the second question: %q", got)
	}
}

// A letter's id names its conversation, so that two of one attempt do not
// clash.
func TestLettersOfRounds(t *testing.T) {
	k := newKit(t, budget.Limits{}, calls("send_message", `{"to":"pm","type":"task_progress","subject":"s","body":"first"}`), complete)
	k.hires("pm", agency.RoleProjectManager)
	k.must(spec())
	k.model.say = []any{calls("send_message", `{"to":"pm","type":"task_progress","subject":"s","body":"second"}`), complete}
	again := spec()
	again.Round = 2
	k.must(again)
	if n := k.count("message_sent"); n != 2 {
		t.Errorf("%d letters were sent", n)
	}
}
