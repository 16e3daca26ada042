package board

import (
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

// wonder is a question of ann about a contract, to a role.
func wonder(id string) agency.Message {
	m := msg(id, "ann", "")
	m.ToRole, m.Type, m.ContractID = "project_manager", agency.MessageRequestClarification, "c"
	m.RequiresResponse, m.RespondWithin = true, time.Minute
	return m
}

func (d *desk) boardOf(o Options) *Board {
	d.Helper()
	b, err := Open(d.Context(), d.DB, o)
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { _ = b.Close() })
	return b
}

func (d *desk) asked() (question, answer agency.MessageID) {
	d.Helper()
	if err := d.Read(d.Context(), func(q *store.Snapshot) error {
		m, _, err := Question(q, run, "ann")
		if err != nil {
			return err
		}
		a, _, err := Answer(q, run, "q")
		question, answer = m.ID, a.ID
		return err
	}); err != nil {
		d.Fatal(err)
	}
	return question, answer
}

// The first reply of somebody else is the answer; until there is one the
// question is what its sender waits for.
func TestTheFirstReplyIsTheAnswer(t *testing.T) {
	d := newDesk(t)
	d.do(func(tx *store.Tx) error {
		return Join(tx, Agent{Run: run, ID: "ann", Role: "scaffolder", Contract: "c"})
	})
	d.join("bob")
	d.send(wonder("q"))
	if q, _ := d.asked(); q != "" {
		t.Errorf("an agent at work stands still for %q", q)
	}
	d.do(func(tx *store.Tx) error { return Update(tx, run, "ann", Change{Status: AgentWaiting}) })
	about := func(id, from string) agency.Message {
		m := reply(id, from, "ann", "q")
		if from == agency.FromSystem {
			m.Type = agency.MessageErrorOccurred
		}
		return m
	}
	d.send(about("overdue", agency.FromSystem)) // a notice is no answer
	own := reply("own", "ann", "bob", "q")
	d.send(own)
	if q, a := d.asked(); q != "q" || a != "" {
		t.Errorf("before: question %q, answer %q", q, a)
	}
	d.send(about("first", "bob"), about("second", agency.FromHuman))
	if q, a := d.asked(); q != "" || a != "first" {
		t.Errorf("after: question %q, answer %q", q, a)
	}
	d.send(wonder("q2"))
	d.leave("ann")
	if q, _ := d.asked(); q != "" {
		t.Errorf("an agent that has ended waits for %q", q)
	}
}

// A question is met wherever it is, and the counts of what waits stay right.
func TestAQuestionIsMetWhereverItIs(t *testing.T) {
	for _, how := range []string{"pending", "delivered", "read", "processed"} {
		d := newDesk(t)
		b := d.board()
		d.do(func(tx *store.Tx) error {
			return Join(tx, Agent{Run: run, ID: "ann", Role: "scaffolder", Contract: "c"})
		})
		d.do(func(tx *store.Tx) error { return Join(tx, Agent{Run: run, ID: "pm", Role: "project_manager"}) })
		d.send(wonder("q"))
		pm := Recipient{Run: run, Agent: "pm", Role: "project_manager", Session: "s"}
		if how != "pending" {
			d.claim(pm)
		}
		if how == "read" || how == "processed" {
			d.do(func(tx *store.Tx) error { return MarkRead(tx, pm, "q") })
		}
		if how == "processed" {
			d.do(func(tx *store.Tx) error { return MarkProcessed(tx, pm, "q") })
		}
		for range 2 {
			d.do(func(tx *store.Tx) error { return Acknowledge(tx, run, "q") })
		}
		d.want("q:processed")
		if n := b.Pending(run, "", "project_manager"); n != 0 || b.Waiting(Recipient{Run: run, Agent: "pm", Role: "project_manager", Session: "other"}) {
			t.Errorf("%s: %d are counted as pending", how, n)
		}
		d.do(func(tx *store.Tx) error { return MarkProcessed(tx, pm, "q") })
	}
}

// One message is taken by its id, past what waits before it.
func TestOneMessageIsTaken(t *testing.T) {
	d := newDesk(t)
	b := d.board()
	d.join("ann", "bob")
	d.send(msg("1", "bob", "ann"), msg("2", "bob", "ann"))
	take := func(id agency.MessageID) error {
		return d.Write(d.Context(), func(tx *store.Tx) error { _, err := Take(tx, ann(), id); return err })
	}
	if err := take("2"); err != nil {
		t.Fatal(err)
	}
	d.want("1:pending 2:delivered")
	if err := take("2"); agency.KindOf(err) != agency.KindConflict {
		t.Errorf("twice: %v", err)
	}
	if err := take("3"); agency.KindOf(err) != agency.KindNotFound {
		t.Errorf("an unknown one: %v", err)
	}
	if n := b.Pending(run, "ann", ""); n != 1 {
		t.Errorf("%d pending", n)
	}
}

// Who waits for an answer is told in the reply's own transaction, of each that
// comes, and of nothing else.
func TestAnsweredIsToldWithTheReply(t *testing.T) {
	d := newDesk(t)
	var told []agency.MessageID
	b := d.boardOf(Options{Answered: func(_ *store.Tx, m agency.Message) error {
		told = append(told, m.ID)
		return nil
	}})
	d.join("ann", "bob")
	d.send(wonder("q"), msg("plain", "ann", "bob"))
	for _, m := range []agency.Message{
		reply("other", "bob", "ann", "plain"), reply("own", "ann", "bob", "q"), reply("first", "bob", "ann", "q"), reply("late", agency.FromHuman, "ann", "q"),
	} {
		if err := b.Send(d.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]agency.MessageID{"first", "late"}, told); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
