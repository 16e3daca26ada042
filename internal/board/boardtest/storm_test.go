package boardtest_test

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/store"
)

// stormer is a client of a host that will be killed. Each of its operations is
// a transaction; it says so before it gives something up, and after everything
// else, so that what it says is true.
type stormer struct {
	db        *backend
	who, next string
	clock     *atomic.Int64
}

// word is what a client said: what happened to it, of which message,
// and when by the clock of its host.
type word struct {
	who, what, of string
	at            int64
	host          int
}

func (s *stormer) say(what, of string) {
	fmt.Printf("%s %s %s %d .\n", s.who, what, cmp.Or(of, "-"), s.clock.Add(1))
}

func parse(t *testing.T, line string) (w word) {
	t.Helper()
	if _, err := fmt.Sscanf(line, "%s %s %s %d .", &w.who, &w.what, &w.of, &w.at); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return w
}

// round uses each face once.
func (s *stormer) round(ctx context.Context, i int) error {
	token := fmt.Sprintf("%s/%s/%d", s.db.session, s.who, i)
	if err := s.db.Write(ctx, func(tx *store.Tx) error { return token3(tx, s.who, s.next, token) }); err != nil {
		return err
	}
	s.say("sent", token)
	return s.mail(ctx)
}

// mail takes the next message and, in another transaction, acts on it.
func (s *stormer) mail(ctx context.Context) error {
	who := board.Recipient{Run: stormRun, Agent: agency.AgentID(s.who), Role: "x", Session: s.db.session}
	var m agency.Message
	var ok bool
	if err := s.db.Write(ctx, func(tx *store.Tx) (err error) { m, ok, err = board.Claim(tx, who); return err }); err != nil || !ok {
		return err
	}
	s.say("claimed", string(m.ID))
	if err := s.db.Write(ctx, func(tx *store.Tx) error {
		if err := board.MarkRead(tx, who, m.ID); err != nil {
			return err
		}
		return board.MarkProcessed(tx, who, m.ID)
	}); err != nil {
		return err
	}
	s.say("processed", string(m.ID))
	return nil
}

// mails: a message is handed out once a host, acted on once ever, and what was
// acted on stays so; what was only taken waits again.
func mails(t *testing.T, q *store.Snapshot, told []word) error {
	seen := map[string]int{}
	for _, w := range told {
		once := w.what + " " + w.of
		if w.what == "claimed" {
			once = fmt.Sprint(once, " ", w.host)
		}
		if w.what == "claimed" || w.what == "processed" {
			seen[once]++
		}
		if seen[once] > 1 {
			t.Errorf("%s: %d times", once, seen[once])
		}
	}
	posts, err := board.Posts(q, stormRun)
	for _, p := range posts {
		if len(p.Deliveries) != 1 {
			t.Errorf("%s has %d deliveries", p.ID, len(p.Deliveries))
			continue
		}
		switch d := p.Deliveries[0]; {
		case d.Status != agency.MailPending && d.Status != agency.MailProcessed:
			t.Errorf("%s is %s after a restart", p.ID, d.Status)
		case d.Status != agency.MailProcessed && seen["processed "+string(p.ID)] > 0:
			t.Errorf("%s was acted on and is %s", p.ID, d.Status)
		}
	}
	return err
}
