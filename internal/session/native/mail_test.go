package native

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/budget"
	"agency/internal/llm"
	"agency/internal/roster"
	"agency/internal/session"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

// office opens the stage's board and has the sessions use it.
func (k *stage) office() *board.Board {
	k.t.Helper()
	if before, ok := k.mail.(*board.Board); ok {
		must(k.t, before.Close()) // there is one a process
	}
	b, err := board.Open(k.t.Context(), k.db, board.Options{MaySend: roster.MaySend, Role: isRole})
	must(k.t, err)
	k.t.Cleanup(func() { _ = b.Close() })
	k.mail = b
	return b
}

func isRole(id agency.RoleID) bool {
	_, err := roster.Find(id)
	return err == nil
}

func (k *stage) hires(id agency.AgentID, role agency.RoleID) {
	k.t.Helper()
	k.write(func(tx *store.Tx) error { return board.Join(tx, board.Agent{Run: testRun, ID: id, Role: role}) })
}

func (k *stage) send(m agency.Message) {
	k.t.Helper()
	m.RunID = testRun
	k.write(func(tx *store.Tx) error { return board.Send(tx, m) })
}

func (k *stage) delivery(id agency.MessageID) (out []board.Delivery) {
	k.t.Helper()
	k.read(func(q *store.Snapshot) (err error) { out, err = board.Deliveries(q, testRun, id); return err })
	return out
}

func (k *stage) agent(id agency.AgentID) (a board.Agent) {
	k.t.Helper()
	k.read(func(q *store.Snapshot) (err error) { a, err = board.AgentOf(q, testRun, id); return err })
	return a
}

// appears counts in how many blocks of a conversation a message's words stand.
func appears(msgs []llm.Message, words string) int { return strings.Count(fmt.Sprint(msgs), words) }

// Three ways to an agent, each shown once and processed once, whenever the
// process dies: its own mail, its role's, and what everyone gets. What the
// agent sends itself is sent once.
func TestInboxSurvivesDeath(t *testing.T) {
	mails := []agency.MessageID{"own", "role", "all", "late"}
	seen := map[string]bool{}
	for n := 1; ; n += pace() {
		k := newKit(t, budget.Limits{},
			calls("send_message", `{"to":"pm","type":"task_progress","subject":"half","body":"HALF DONE"}`, "run_command", `{"command":"echo x >> main.txt"}`),
			calls("read_file", `{"path":"main.txt"}`), complete)
		k.watchRequests()
		k.office()
		k.hires("pm", agency.RoleProjectManager)
		k.send(agency.Message{ID: "own", From: "human", To: "generalist", Type: agency.MessageNote, Body: "OWN"})
		k.send(agency.Message{ID: "role", From: "pm", ToRole: agency.RoleGeneralist, Type: agency.MessageTaskAssignment, Subject: "s", Body: "ROLE"})
		k.send(agency.Message{ID: "all", From: agency.FromSystem, To: agency.Everyone, Type: agency.MessageStateChanged, Body: "EVERYONE"})
		k.model.hook = func(i int) {
			if i == 1 {
				k.send(agency.Message{ID: "late", From: "pm", To: "generalist", Type: agency.MessageProvideInput, Body: "LATE"})
			}
		}
		out, points := k.survive(spec(), n)
		if len(points) == 0 {
			break
		}
		seen[points[0]] = true
		where := fmt.Sprintf("died at point %d, %s", n, points[0])
		if out.Kind != session.Claimed {
			t.Fatalf("%s: %+v", where, out)
		}
		last := k.model.msgs[len(k.model.msgs)-1]
		for _, id := range mails {
			if c := appears(last, strings.ToUpper(map[agency.MessageID]string{"all": "everyone"}[id]+string(id))); id != "all" && c != 1 {
				t.Errorf("%s: %s is shown %d times", where, id, c)
			}
			for _, d := range k.delivery(id) {
				if d.Agent == "generalist" && d.Status != agency.MailProcessed {
					t.Errorf("%s: %s is %s", where, id, d.Status)
				}
			}
		}
		if c := appears(last, "EVERYONE"); c != 1 {
			t.Errorf("%s: the broadcast is shown %d times", where, c)
		}
		if k.count("message_sent") != len(mails)+1 {
			t.Errorf("%s: %d messages were sent", where, k.count("message_sent"))
		}
		checkRequests(t, k.model)
		k.checkBooks(where)
	}
	for _, point := range []string{"commit", "committed", "asking", "answered", "call", "acted"} {
		if !seen[point] && pace() == 1 {
			t.Errorf("point %s was never reached", point)
		}
	}
}

// An inbox larger than the window is shown by its head and its count, and is
// read to its end over the turns; no request overflows.
func TestFullInbox(t *testing.T) {
	const mails = 60
	seen := 0
	say := make([]any, 20)
	for i := range say {
		say[i] = func(_ context.Context, req llm.Request) any {
			if seen += appears(req.Messages[len(req.Messages)-1:], "END-OF-MAIL"); seen < mails {
				return calls("read_file", `{"path":"main.txt"}`)
			}
			return complete
		}
	}
	k := newKit(t, budget.Limits{}, say...)
	k.office()
	k.lineup.Window = 24_000
	k.hires("pm", agency.RoleProjectManager)
	for i := range mails {
		k.send(agency.Message{
			ID: agency.MessageID(fmt.Sprint("m", i)), From: "pm", To: "generalist", Type: agency.MessageTaskProgress,
			Subject: "s", Body: strings.Repeat("word ", 100) + "END-OF-MAIL", Priority: i % 2,
		})
	}
	k.send(agency.Message{ID: "huge", From: "human", To: "generalist", Type: agency.MessageNote, Body: "HEAD" + strings.Repeat("x", 900_000) + "TAIL", Priority: 9})
	k.must(spec())
	first := k.model.msgs[0]
	if appears(first, "HEAD") != 1 || appears(first, "TAIL") != 1 || appears(first, "more wait in your inbox") != 1 || appears(first, "END-OF-MAIL") == 0 {
		t.Errorf("the first request shows %d letters, count %d", appears(first, "END-OF-MAIL"), appears(first, "more wait"))
	}
	for i, msgs := range k.model.msgs {
		if n := llm.EstimateTokens(llm.Bytes(llm.Request{Messages: msgs})); n > k.lineup.Window {
			t.Errorf("request %d has %d tokens", i, n)
		}
	}
	for i := range mails {
		if d := k.delivery(agency.MessageID(fmt.Sprint("m", i))); d[0].Status != agency.MailProcessed {
			t.Errorf("m%d is %s", i, d[0].Status)
		}
	}
}

// With a board in memory an empty inbox is not looked for in the database.
func TestEmptyInboxCostsNothing(t *testing.T) {
	k := newKit(t, budget.Limits{}, calls("read_file", `{"path":"main.txt"}`), complete)
	k.mail = blind{}
	k.send(agency.Message{ID: "m1", From: "human", To: "generalist", Type: agency.MessageNote, Body: "NEVER SEEN"})
	k.must(spec())
	if d := k.delivery("m1"); d[0].Status != agency.MailPending {
		t.Errorf("%+v", d)
	}
}

// blind is a board that believes that nothing waits.
type blind struct{}

func (blind) Waiting(board.Recipient) bool                            { return false }
func (blind) Pending(agency.RunID, agency.AgentID, agency.RoleID) int { return 0 }
func (blind) SendTx(*store.Tx, agency.Message) error                  { return nil }

// A message to an inbox that is full is refused in words that say what to do; what waits
// there stays, and once it has been read the same message goes through.
func TestSendToAFullInbox(t *testing.T) {
	const most = 2
	k := &stage{}
	send := calls("send_message", `{"to":"pm","type":"task_progress","subject":"how far","body":"LETTER"}`)
	reads := func(_ context.Context, _ llm.Request) any {
		k.write(func(tx *store.Tx) error {
			pm := board.Recipient{Run: testRun, Agent: "pm", Role: agency.RoleProjectManager, Session: "of-pm"}
			ms, err := board.ClaimAll(tx, pm, 100)
			if len(ms) != most || ms[0].ID != "m0" || ms[1].ID != "m1" {
				t.Errorf("waiting are %+v", ms)
			}
			if err != nil {
				return err
			}
			return board.MarkRead(tx, pm, "m0", "m1")
		})
		return send
	}
	k = newKit(t, budget.Limits{}, send, send, reads, complete)
	b, err := board.Open(t.Context(), k.db, board.Options{MaySend: roster.MaySend, Role: isRole, MaxQueue: most})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	k.mail = b
	k.hires("pm", agency.RoleProjectManager)
	for i := range most {
		k.send(agency.Message{ID: agency.MessageID(fmt.Sprint("m", i)), From: "human", To: "pm", Type: agency.MessageNote, Body: "b"})
	}
	k.must(spec())
	for i, want := range []string{
		"true error: message generalist/main/1/1/1: the inbox of pm is full: 2 messages wait there",
		"true error: message generalist/main/1/2/1: the inbox of pm is full: 2 messages wait there",
		"false sent as generalist/main/1/3/1; it is read before the next turn of pm",
	} {
		msgs := k.model.msgs[i+1]
		r, _ := msgs[len(msgs)-1].Blocks[0].(llm.ToolResult)
		if got := fmt.Sprint(r.IsError, " ", r.Text); !strings.HasPrefix(got, want) || r.IsError && !strings.Contains(got, "send it again when some have been read") {
			t.Errorf("call %d: %s, want %s", i+1, got, want)
		}
	}
	for id, want := range map[agency.MessageID]agency.MessageStatus{"m0": agency.MailRead, "m1": agency.MailRead, "generalist/main/1/3/1": agency.MailPending} {
		if d := k.delivery(id); len(d) != 1 || d[0].Status != want {
			t.Errorf("%s: %+v, want %s", id, d, want)
		}
	}
	posts, err := store.Get(t.Context(), k.db, board.Posts, agency.RunID(testRun))
	if err != nil || len(posts) != most+1 {
		t.Errorf("%d messages are kept, %v: a refused one is half sent", len(posts), err)
	}
}

// Who may not be written to is an error that the model reads, and nothing is
// half sent.
func TestRefusedRecipients(t *testing.T) {
	k := newKit(t, budget.Limits{},
		calls("send_message", `{"to":"rev","type":"task_progress","subject":"s","body":"b"}`),
		calls("send_message", `{"to":"ann","type":"task_progress","subject":"s","body":"b"}`),
		calls("send_message", `{"to":"gone","type":"task_progress","subject":"s","body":"b"}`),
		calls("send_message", `{"to":"pm","type":"task_progress","subject":"s","body":"b","in_reply_to":"m9"}`),
		calls("send_message", `{"to":"project_manager","type":"task_progress","subject":"s","body":"b"}`),
		complete)
	k.office()
	k.hires("pm", agency.RoleProjectManager)
	k.hires("rev", agency.RoleReviewer)
	k.hires("gone", agency.RoleProjectManager)
	k.write(func(tx *store.Tx) error { return board.Leave(tx, testRun, "gone", board.AgentCompleted, "done") })
	k.must(spec())
	var got []string
	for _, msgs := range k.model.msgs[1:] {
		r, _ := msgs[len(msgs)-1].Blocks[0].(llm.ToolResult)
		got = append(got, fmt.Sprint(r.IsError, " ", r.Text))
	}
	for i, want := range []string{"true error: message generalist/main/1/1/1: a generalist may not write to a reviewer", "true error: there is no agent and no role \"ann\"; agents at work: pm (project_manager), rev (reviewer)", "true error: ", "true error: ", "false sent as generalist/main/1/5/1; it is read before the next turn of pm"} {
		if !strings.HasPrefix(got[i], want) {
			t.Errorf("call %d: %s, want %s", i+1, got[i], want)
		}
	}
	if n := k.count("message_sent"); n != 1 {
		t.Errorf("%d messages were sent", n)
	}
}

// An answer goes to whoever wrote the message, in its thread; there is none to
// a person or to the harness.
func TestAnswers(t *testing.T) {
	k := newKit(t, budget.Limits{},
		calls("send_message", `{"type":"provide_input","subject":"s","body":"8080","in_reply_to":"m2"}`),
		calls("send_message", `{"type":"provide_input","subject":"s","body":"b","in_reply_to":"m3"}`),
		calls("send_message", `{"type":"provide_input","subject":"s","body":"b","in_reply_to":"m9"}`),
		calls("send_message", `{"type":"provide_input","subject":"s","body":"b"}`), complete)
	k.office()
	k.hires("pm", agency.RoleProjectManager)
	k.send(agency.Message{ID: "m1", From: "pm", To: "generalist", Type: agency.MessageNote, Body: "b", RequiresResponse: true, RespondWithin: time.Hour})
	k.send(agency.Message{ID: "m2", From: "pm", To: "generalist", Type: agency.MessageNote, Body: "b", InReplyTo: "m1"})
	k.send(agency.Message{ID: "m3", From: "human", To: "generalist", Type: agency.MessageNote, Body: "b"})
	k.must(spec())
	for i, want := range []string{
		"sent as generalist/main/1/1/1; it is read before the next turn of pm.",
		"error: message m3 is of a person or of the harness: nobody would read an answer to it",
		`error: run test-run has no message "m9"`, `error: "to" is empty, and so is "in_reply_to"`,
	} {
		if got := k.result(i + 1); !strings.HasPrefix(got, want) {
			t.Errorf("call %d: %s, want %s", i+1, got, want)
		}
	}
	k.read(func(q *store.Snapshot) error {
		m, err := board.Get(q, testRun, "generalist/main/1/1/1")
		if m.To != "pm" || m.ThreadRoot != "m1" || m.InReplyTo != "m2" {
			t.Errorf("%+v", m)
		}
		return err
	})
}

// A question has a deadline, its own or the configuration's; who asked is told
// once that nobody answered, in the thread of the question, and not where
// somebody did.
func TestQuestionsHaveDeadlines(t *testing.T) {
	k := newKit(t, budget.Limits{},
		calls("send_message", `{"to":"pm","type":"request_input","subject":"s","body":"WHICH PORT"}`,
			"send_message", `{"to":"pm","type":"task_progress","subject":"s","body":"AND THE HOST","respond_within_minutes":5}`,
			"send_message", `{"to":"pm","type":"task_progress","subject":"s","body":"DONE"}`,
			"send_message", `{"to":"pm","type":"request_input","subject":"s","body":"ANSWERED","respond_within_minutes":1}`),
		calls("read_file", `{"path":"main.txt"}`), calls("read_file", `{"path":"main.txt"}`),
		calls("send_message", `{"to":"pm","type":"request_input","subject":"s","body":"b","respond_within_minutes":-1}`, "send_message", `{"to":"pm","type":"request_input","subject":"s","body":"b","respond_within_minutes":43201}`),
		complete)
	k.setup.RespondWithin = 10 * time.Minute
	k.office()
	k.hires("pm", agency.RoleProjectManager)
	sweep := func() { k.write(func(tx *store.Tx) error { _, err := board.Sweep(tx, 10); return err }) }
	k.model.hook = func(n int) {
		switch n {
		case 2:
			k.send(agency.Message{ID: "re", From: "pm", To: "generalist", Type: agency.MessageProvideInput, Body: "YES", InReplyTo: "generalist/main/1/1/4"})
			k.leap.Store(int64(6 * time.Minute))
			sweep()
		case 3:
			k.leap.Store(int64(11 * time.Minute))
			sweep()
			sweep() // once is enough
		}
	}
	k.must(spec())
	if got := k.resultIn(k.model.msgs[1]); !strings.Contains(got, "If no answer has come in") {
		t.Errorf("%s", got)
	}
	for i, want := range map[int]string{1: "", 2: "no response of pm to message generalist/main/1/1/2 within 5m0s", 3: "no response of pm to message generalist/main/1/1/1 within 10m0s"} {
		last := fmt.Sprint(k.model.msgs[i][len(k.model.msgs[i])-1])
		if n := strings.Count(last, "no response of"); n != min(1, len(want)) || !strings.Contains(last, want) {
			t.Errorf("request %d tells %d times: %s", i, n, last)
		}
	}
	last := fmt.Sprint(k.model.msgs[4])
	if n := strings.Count(last, "respond_within_minutes is -1") + strings.Count(last, "respond_within_minutes is 43201"); n != 2 {
		t.Errorf("odd times: %s", last)
	}
	k.read(func(q *store.Snapshot) error {
		want := map[agency.MessageID]board.Response{"1": board.ResponseOverdue, "2": board.ResponseOverdue, "3": "", "4": board.ResponseGiven}
		threads, err := board.Threads(q, testRun)
		for _, th := range threads {
			id, ours := strings.CutPrefix(string(th.ID), "generalist/main/1/1/")
			if r, _ := th.Response(th.Posts[0]); ours && r != want[agency.MessageID(id)] {
				t.Errorf("the response to %s is %q, want %q", id, r, want[agency.MessageID(id)])
			}
			delete(want, agency.MessageID(id))
		}
		if len(want) != 0 {
			t.Errorf("no threads of %v", want)
		}
		return err
	})
}

// What an agent does is on the board with the turn that did it.
func TestAgentStatus(t *testing.T) {
	var during []board.Agent
	k := newKit(t, budget.Limits{},
		calls("write_file", `{"path":"new.txt","content":"x"}`, "read_file", `{"path":"none.txt"}`),
		calls("request_human_input", `{"question":"Which?"}`), complete)
	k.model.hook = func(int) { during = append(during, k.agent("generalist")) }
	s := spec()
	out := k.must(s)
	parked := k.agent("generalist")
	s.Part, s.Answer = 2, &session.Answer{ToolUse: out.ToolUse, Text: "this"}
	k.must(s)
	end := k.agent("generalist")
	want := board.Metrics{Turns: 1, Tokens: during[1].Tokens, Files: 1, ToolCalls: 2, Errors: 1}
	if diff := cmp.Diff(want, during[1].Metrics); diff != "" || during[0].Status != board.AgentActive || during[1].LastFile != "new.txt" ||
		during[1].LastTool != "read_file" || during[1].Activity != "read_file none.txt" || during[1].Tokens == 0 {
		t.Errorf("%+v\n%s", during[1], diff)
	}
	if parked.Status != board.AgentWaiting || parked.Activity != "waits for human" || parked.Turns != 2 {
		t.Errorf("parked: %+v", parked)
	}
	if during[2].Status != board.AgentActive || end.Status != board.AgentWaiting || end.Turns != 3 || end.Contract != "main" || end.LastTool != "signal_complete" {
		t.Errorf("resumed %+v, at the end %+v", during[2], end)
	}
}

// An agent whose model thinks for long is not late.
func TestHeartbeats(t *testing.T) {
	k := newKit(t, budget.Limits{}, complete)
	k.heartbeat = time.Millisecond
	k.model.hook = func(int) {
		before := k.agent("generalist").LastHeartbeatAt
		for k.agent("generalist").LastHeartbeatAt.Equal(before) {
			if t.Context().Err() != nil {
				return
			}
		}
	}
	k.must(spec())
}

// A new attempt is told what binds it still, once, and not what only informed.
func TestMailOfEarlierAttempts(t *testing.T) {
	k := newKit(t, budget.Limits{}, calls("read_file", `{"path":"main.txt"}`), complete, complete)
	k.hires("pm", agency.RoleProjectManager)
	k.send(agency.Message{ID: "m1", From: "human", To: "generalist", Type: agency.MessageNote, Body: "NEVER TOUCH"})
	k.send(agency.Message{ID: "m2", From: "pm", To: "generalist", Type: agency.MessageProvideInput, Subject: "s", Body: "PORT 8080"})
	k.send(agency.Message{ID: "m3", From: "pm", To: "generalist", Type: agency.MessageTaskProgress, Subject: "s", Body: "CHATTER"})
	k.must(spec())
	s := spec()
	s.Attempt, s.Feedback = 2, &session.Feedback{Attempt: 1, Reason: "red"}
	k.must(s)
	msgs := k.model.msgs[len(k.model.msgs)-1]
	if appears(msgs, "NEVER TOUCH") != 1 || appears(msgs, "PORT 8080") != 1 || appears(msgs, "CHATTER") != 0 {
		t.Errorf("the second attempt begins with %+v", msgs)
	}
}

// What a person says during the turn in which an agent is done is read by it before it is.
func TestSaidDuringTheLastTurn(t *testing.T) {
	k := newKit(t, budget.Limits{}, complete, complete)
	k.office()
	said := false
	k.between = func(point string) error {
		if point == "call" && !said {
			said = true
			k.send(agency.Message{ID: "m1", From: agency.FromHuman, To: "generalist", Type: agency.MessageNote, Body: "ALSO THIS"})
		}
		return nil
	}
	k.must(spec())
	if len(k.model.msgs) != 2 || appears(k.model.msgs[1], "ALSO THIS") != 1 {
		t.Errorf("%d requests, the last shows it %d times", len(k.model.msgs), appears(k.model.msgs[len(k.model.msgs)-1], "ALSO THIS"))
	}
	if d := k.delivery("m1"); d[0].Status != agency.MailProcessed {
		t.Errorf("it is %s", d[0].Status)
	}
}
