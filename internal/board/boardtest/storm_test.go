package boardtest_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/board/lock"
	"agency/internal/store"
)

const stormFile = "shared.go"

var stormToken = lock.TokenKey{Run: stormRun, Type: lock.TokenTestRun, Scope: "all"}

// stormer is a client of a host that will be killed. Each of its operations is
// a transaction; it says so before it gives something up, and after everything
// else, so that what it says is true.
type stormer struct {
	db        *backend
	who, next string
	clock     *atomic.Int64
}

// word is what a client said: what happened to it, of which message or fence,
// and when by the clock of its host.
type word struct {
	who, what, of string
	fence         agency.Fence
	at            int64
	host          int
}

func (s *stormer) say(what, of string, f agency.Fence) {
	fmt.Printf("%s %s %s %d %d %d .\n", s.who, what, cmp.Or(of, "-"), f.Epoch, f.N, s.clock.Add(1))
}

func parse(t *testing.T, line string) (w word) {
	t.Helper()
	if _, err := fmt.Sscanf(line, "%s %s %s %d %d %d .", &w.who, &w.what, &w.of, &w.fence.Epoch, &w.fence.N, &w.at); err != nil {
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
	s.say("sent", token, agency.Fence{})
	for _, do := range []func(context.Context) error{s.mail, s.lock, s.token} {
		if err := do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// mail takes the next message and, in another transaction, acts on it.
func (s *stormer) mail(ctx context.Context) error {
	who := board.Recipient{Run: stormRun, Agent: agency.AgentID(s.who), Role: "x", Session: s.db.session}
	var m agency.Message
	var ok bool
	if err := s.db.Write(ctx, func(tx *store.Tx) (err error) { m, ok, err = board.Claim(tx, who); return err }); err != nil || !ok {
		return err
	}
	s.say("claimed", string(m.ID), agency.Fence{})
	if err := s.db.Write(ctx, func(tx *store.Tx) error {
		if err := board.MarkRead(tx, who, m.ID); err != nil {
			return err
		}
		return board.MarkProcessed(tx, who, m.ID)
	}); err != nil {
		return err
	}
	s.say("processed", string(m.ID), agency.Fence{})
	return nil
}

// lock takes the file that all want, if it is free, and gives it back.
func (s *stormer) lock(ctx context.Context) error {
	me := agency.AgentID(s.who)
	var f agency.Fence
	err := s.db.Write(ctx, func(tx *store.Tx) (err error) {
		f, err = lock.Lock(tx, lock.Request{Run: stormRun, Agent: me, Path: stormFile})
		return err
	})
	if agency.KindOf(err) == agency.KindConflict {
		return nil
	}
	if err != nil {
		return err
	}
	s.say("locked", "", f)
	if err := s.db.Write(ctx, func(tx *store.Tx) error { return lock.Check(tx, stormRun, stormFile, f) }); err != nil {
		return err
	}
	s.say("unlocking", "", f)
	if err := s.db.Write(ctx, func(tx *store.Tx) error { return lock.Unlock(tx, stormRun, me, stormFile, f) }); err != nil {
		return err
	}
	s.say("unlocked", "", f)
	return nil
}

// token asks for the token, and gives it back where it is this one's turn.
func (s *stormer) token(ctx context.Context) error {
	me := agency.AgentID(s.who)
	var got lock.Token
	if err := s.db.Write(ctx, func(tx *store.Tx) (err error) {
		got, err = lock.RequestToken(tx, lock.TokenRequest{TokenKey: stormToken, Agent: me})
		return err
	}); err != nil {
		return err
	}
	if got.Holder != me {
		s.say("waits", "", agency.Fence{})
		return nil
	}
	s.say("held", "", got.Fence)
	s.say("releasing", "", got.Fence)
	if err := s.db.Write(ctx, func(tx *store.Tx) error { return lock.ReleaseToken(tx, stormToken, me, got.Fence) }); err != nil {
		return err
	}
	s.say("released", "", got.Fence)
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

// apart: nobody got what another had until that one began to give it up, and
// its fence is greater; a host that came later is later.
func apart(t *testing.T, told []word, got, givesUp string) {
	t.Helper()
	type grant struct{ from, until word }
	later := func(a, b word) bool {
		return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.at, b.at)) > 0
	}
	var all []grant
	mine := map[string]int{} // what a client has: the last of its grants
	slices.SortStableFunc(told, func(a, b word) int { return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.at, b.at)) })
	for _, w := range told {
		switch w.what {
		case got:
			// After a restart its holder asks again, and gets the same by a new fence.
			if i, has := mine[w.who]; has && all[i].until.what == "" {
				all[i].until = w
			}
			mine[w.who] = len(all)
			all = append(all, grant{from: w})
		case givesUp:
			all[mine[w.who]].until = w
		}
	}
	slices.SortFunc(all, func(a, b grant) int {
		if a.from.fence.Less(b.from.fence) {
			return -1
		}
		return 1
	})
	for i, b := range all {
		if i == 0 {
			continue
		}
		a := all[i-1]
		if a.from.fence == b.from.fence {
			t.Errorf("%s and %s both %s by %v", a.from.who, b.from.who, got, a.from.fence)
		}
		if a.until.what == "" || later(a.until, b.from) {
			t.Errorf("%+v, but %s had it: %+v", b.from, a.from.who, a)
		}
	}
	t.Logf("%d times %s", len(all), got)
}

// holders: who was told that it has something, and did not begin to give it up,
// has it or its place, and its old fence does not count.
func holders(t *testing.T, q *store.Tx, told []word) error {
	locks, err := lock.List(q, stormRun)
	if err != nil {
		return err
	}
	token, err := lock.TokenOf(q, stormToken)
	if err != nil {
		return err
	}
	has := map[string]bool{"token " + string(token.Holder): token.Holder != ""}
	for _, l := range locks {
		has["lock "+string(l.Agent)] = true
	}
	waits := map[string]bool{}
	for _, w := range token.Waiting {
		waits[string(w.Agent)] = true
	}
	last := map[string]word{}
	for _, w := range told {
		switch w.what {
		case "locked", "unlocking", "unlocked":
			last["lock "+w.who] = w
		case "waits", "held", "releasing", "released":
			last["token "+w.who] = w
		}
	}
	for thing, w := range last {
		switch w.what {
		case "locked", "held":
			if !has[thing] {
				t.Errorf("%s was told that it %s and has it no more: %v, %+v", thing, w.what, locks, token)
			}
			if err := stale(q, w); err == nil {
				t.Errorf("%s: the fence of a host that is dead still counts: %v", thing, w.fence)
			}
		case "waits":
			if !has[thing] && !waits[w.who] {
				t.Errorf("%s lost its place: %+v", thing, token)
			}
		}
	}
	return nil
}

func stale(q *store.Tx, w word) error {
	if w.what == "locked" {
		return lock.Check(q, stormRun, stormFile, w.fence)
	}
	return lock.CheckToken(q, stormToken, w.fence)
}
