package board

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/lease"
	"agency/internal/store"
)

// newBoard is a board whose receivers wait for as long as the test runs.
func (d *desk) newBoard() *Board {
	d.Helper()
	log := event.NewLog(d.DB)
	b, err := Open(d.Context(), d.DB, Options{ReceiveTimeout: time.Hour, MaxQueue: 1 << 20, Events: log})
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { _ = errors.Join(b.Close(), log.Close()) })
	return b
}

type received struct {
	agency.Message
	err error
	by  Recipient
}

// receivers is how many wait in Receive or by Await at this moment.
func (b *Board) receivers() int {
	b.boxes.mu.Lock()
	defer b.boxes.mu.Unlock()
	return b.boxes.asleep
}

// receive starts a receiver and comes back when it waits, or has ended.
func (b *Board) receive(ctx context.Context, who Recipient, types ...agency.MessageType) <-chan received {
	out := make(chan received, 1)
	before := b.receivers()
	go func() {
		m, err := b.Receive(ctx, who, types...)
		out <- received{m, err, who}
	}()
	for b.receivers() == before && len(out) == 0 {
		runtime.Gosched()
	}
	return out
}

func (d *desk) boardSend(b *Board, m agency.Message) {
	d.Helper()
	if err := b.Send(d.Context(), m); err != nil {
		d.Fatal(err)
	}
}

func TestAReceiverThatWaitsIsHandedTheMessage(t *testing.T) {
	d := newDesk(t)
	d.join("ann", "bob")
	b := d.newBoard()
	got := b.receive(t.Context(), as("ann", "s1"))
	d.boardSend(b, msg("1", "bob", "ann"))
	m := <-got
	if m.err != nil || m.ID != "1" || m.Status != agency.MailDelivered || m.Body != "text of 1" {
		t.Fatalf("%+v", m)
	}
	d.want("1:delivered")
	if b.Waiting(as("ann", "s1")) || !b.Waiting(as("ann", "s2")) {
		t.Error("what s1 has taken waits for a later session, not for s1")
	}
	got = b.receive(t.Context(), as("ann", "s1"))
	d.boardSend(b, msg("2", "bob", "@scaffolder"))
	if m := <-got; m.ID != "2" || m.To != "ann" {
		t.Errorf("%+v", m)
	}
	stored := d.all()[1]
	if stored.To != "ann" || stored.Status != agency.MailDelivered {
		t.Errorf("%+v", stored)
	}
}

func TestAnAbortedSendKeepsItsReceiverWaiting(t *testing.T) {
	d := newDesk(t)
	d.join("ann", "bob")
	b := d.newBoard()
	got := b.receive(t.Context(), as("ann", "s1"))
	lost := errors.New("the turn failed")
	err := b.db.Write(t.Context(), func(tx *store.Tx) error {
		if err := b.SendTx(tx, msg("1", "bob", "ann")); err != nil {
			return err
		}
		if err := b.SendTx(tx, msg("2", "bob", "ann")); err != nil {
			return err
		}
		return lost
	})
	if !errors.Is(err, lost) {
		t.Fatal(err)
	}
	d.boardSend(b, msg("3", "bob", "ann"))
	if m := <-got; m.ID != "3" {
		t.Errorf("%+v", m)
	}
	d.want("3:delivered")
	b.quiet(t)
}

// quiet checks that nobody waits and that what memory knows is what a new
// count finds.
func (b *Board) quiet(t *testing.T) {
	t.Helper()
	b.boxes.mu.Lock()
	have, coming, waiting := b.boxes.n, len(b.boxes.coming), len(b.boxes.parked)
	b.boxes.mu.Unlock()
	if coming != 0 || waiting != 0 {
		t.Errorf("%d inboxes expect mail and receivers wait at %d when all is done", coming, waiting)
	}
	if err := b.db.Write(t.Context(), census); err != nil {
		t.Fatal(err)
	}
	b.boxes.mu.Lock()
	defer b.boxes.mu.Unlock()
	if !maps.Equal(have.pending, b.boxes.n.pending) {
		t.Errorf("memory counts %v pending, the database %v", have.pending, b.boxes.n.pending)
	}
	if !maps.EqualFunc(have.taken, b.boxes.n.taken, maps.Equal) {
		t.Errorf("memory counts %v taken, the database %v", have.taken, b.boxes.n.taken)
	}
}

func TestWaitingEnds(t *testing.T) {
	d := newDesk(t)
	d.join("ann", "bob")
	b := d.newBoard()
	ctx, cancel := context.WithCancelCause(t.Context())
	got := b.receive(ctx, as("ann", "s1"))
	enough := errors.New("enough")
	cancel(enough)
	if m := <-got; !errors.Is(m.err, enough) {
		t.Errorf("the context ended: %+v", m)
	}
	b.o.ReceiveTimeout = time.Nanosecond
	if _, err := b.Receive(t.Context(), as("ann", "s1")); !errors.Is(err, ErrNoMail) {
		t.Errorf("the time was over: %v", err)
	}
	b.o.ReceiveTimeout = time.Hour
	b.quiet(t)
	got = b.receive(t.Context(), as("ann", "s1"))
	for range 2 {
		_ = b.Close()
	}
	if m := <-got; !errors.Is(m.err, ErrClosed) {
		t.Errorf("the board was closed: %+v", m)
	}
}

func TestAReceiverOfATypeLeavesTheOthers(t *testing.T) {
	d := newDesk(t)
	d.join("ann", "bob")
	b := d.newBoard()
	d.boardSend(b, msg("1", "bob", "ann"))
	got := b.receive(t.Context(), as("ann", "s1"), agency.MessageHalt)
	d.boardSend(b, msg("2", "bob", "ann"))
	halt := msg("3", "bob", "ann")
	halt.Type = agency.MessageHalt
	d.boardSend(b, halt)
	if m := <-got; m.ID != "3" {
		t.Errorf("%+v", m)
	}
	for _, want := range []agency.MessageID{"1", "2"} {
		if m := <-b.receive(t.Context(), as("ann", "s1")); m.ID != want {
			t.Errorf("got %s, want %s", m.ID, want)
		}
	}
	b.quiet(t)
}

func TestReceiversOfARoleAreServedInTurn(t *testing.T) {
	d := newDesk(t)
	d.join("boss", "a1", "a2", "a3")
	b := d.newBoard()
	var line []<-chan received
	for _, id := range []agency.AgentID{"a2", "a1", "a3"} {
		line = append(line, b.receive(t.Context(), as(id, "s")))
	}
	for i, want := range []agency.AgentID{"a2", "a1", "a3"} {
		d.boardSend(b, msg(fmt.Sprint(i), "boss", "@scaffolder"))
		if m := <-line[i]; m.by.Agent != want || m.To != string(want) {
			t.Errorf("message %d went to %s, want %s", i, m.To, want)
		}
	}
	b.quiet(t)
}

func TestAWakenedReceiverThatGoesPassesOn(t *testing.T) {
	d := newDesk(t)
	d.join("boss", "a1", "a2")
	b := d.newBoard()
	first, second := &receiver{who: as("a1", "s"), arrived: make(chan *agency.Message, 1)}, b.receive(t.Context(), as("a2", "s"))
	b.boxes.mu.Lock()
	b.boxes.enter(first)
	list := b.boxes.parked[keyOf(run, roleBox("scaffolder"))]
	slices.Reverse(list) // a1 is first in line
	b.boxes.mu.Unlock()
	d.send(msg("1", "boss", "@scaffolder")) // without a hand-over: a1 is woken to look
	if m := b.boxes.leave(first); m != nil {
		t.Fatalf("a1 was handed %v", m)
	}
	if m := <-second; m.ID != "1" {
		t.Errorf("%+v", m)
	}
	b.quiet(t)
}

// TestManyAgentsLoseNothing lets agents send and receive at once, with
// receivers that give up at any moment and sends that are taken back: each
// message that was sent is received once.
func TestManyAgentsLoseNothing(t *testing.T) {
	const agents, each = 10, 12
	d := newDesk(t)
	b := d.newBoard()
	names := make([]agency.AgentID, agents)
	for i := range names {
		names[i] = agency.AgentID(fmt.Sprintf("a%d", i))
	}
	d.join(names...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	sent, got := map[agency.MessageID]bool{}, map[agency.MessageID]int{}
	done := make(chan struct{})
	check := func() {
		mu.Lock()
		defer mu.Unlock()
		if len(sent) == agents*each && len(got) == len(sent) {
			select {
			case <-done:
			default:
				close(done)
			}
		}
	}
	var receivers, senders sync.WaitGroup
	for i, name := range names {
		senders.Go(func() { b.sendMany(t, rand.New(rand.NewPCG(1, uint64(i))), names, i, each, &mu, sent) })
		receivers.Go(func() {
			dice := rand.New(rand.NewPCG(2, uint64(i)))
			for ctx.Err() == nil {
				short, stop := context.WithTimeout(ctx, time.Duration(dice.IntN(3000))*time.Microsecond)
				m, err := b.Receive(short, as(name, "s"))
				stop()
				if err != nil {
					continue
				}
				mu.Lock()
				got[m.ID]++
				mu.Unlock()
				check()
			}
		})
	}
	senders.Wait()
	check()
	<-done
	cancel()
	receivers.Wait()
	for id, n := range got {
		if n != 1 || !sent[id] {
			t.Errorf("message %s was received %d times, acknowledged: %v", id, n, sent[id])
		}
	}
	b.quiet(t)
}

func (b *Board) sendMany(t *testing.T, dice *rand.Rand, names []agency.AgentID, me, each int, mu *sync.Mutex, sent map[agency.MessageID]bool) {
	taken := errors.New("taken back")
	for n := 0; n < each; n++ {
		m := msg(fmt.Sprintf("m%d-%d", me, n), string(names[me]), "@scaffolder")
		if to := dice.IntN(len(names)); to != me && dice.IntN(3) > 0 {
			m.To, m.ToRole = string(names[to]), ""
		}
		m.Priority = dice.IntN(3)
		fail := dice.IntN(4) == 0
		err := b.db.Write(t.Context(), func(tx *store.Tx) error {
			if err := b.SendTx(tx, m); err != nil || !fail {
				return err
			}
			return taken
		})
		switch {
		case fail && errors.Is(err, taken):
			n-- // the same id again
		case err != nil:
			t.Error(err)
		default:
			mu.Lock()
			sent[m.ID] = true
			mu.Unlock()
		}
	}
}

func TestSubscribersMissNothing(t *testing.T) {
	d := newDesk(t)
	d.join("ann", "bob")
	b := d.newBoard()
	d.boardSend(b, msg("before", "bob", "ann"))
	halt := msg("halt", "bob", "ann")
	halt.Type = agency.MessageHalt
	d.boardSend(b, halt)
	var got []agency.MessageID
	for m, err := range b.Subscribe(t.Context(), run, 0, agency.MessageTaskProgress, agency.MessageNudge) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, m.ID); len(got) == 1 {
			d.boardSend(b, msg("after", "ann", "bob"))
			continue
		}
		break
	}
	if !slices.Equal(got, []agency.MessageID{"before", "after"}) {
		t.Error(got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range b.Subscribe(ctx, run, 1<<40) {
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

func TestKeepEndsWhatIsOver(t *testing.T) {
	db, err := store.Open(t.Context(), store.Options{
		Path: filepath.Join(t.TempDir(), "t.db"), Sets: []store.Set{event.Migrations(), lease.Migrations(), Migrations()},
	})
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{T: t, DB: db}
	t.Cleanup(func() { _ = db.Close() })
	d.join("ann", "bob")
	b := d.newBoard()
	ctx, cancel := context.WithCancel(t.Context())
	kept := make(chan error, 1)
	go func() { kept <- b.Maintain(ctx) }()
	m := msg("1", "bob", "ann")
	m.TTL, m.RequiresResponse, m.RespondWithin = time.Millisecond, true, 2*time.Millisecond
	d.boardSend(b, m)
	want := map[agency.MessageID]bool{"1/ann/failed": true, "1/overdue": true}
	for len(want) > 0 {
		n, err := b.Receive(t.Context(), as("bob", "s"))
		if err != nil {
			t.Fatal(err)
		}
		delete(want, n.ID)
	}
	cancel()
	if err := <-kept; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestAwaitWakesOnceAndTakesNothing: who is parked for mail is woken by its own
// and its role's mail, by what waits already and by what is put back, and by
// nothing that is not kept.
func TestAwaitWakesOnceAndTakesNothing(t *testing.T) {
	d := newDesk(t)
	d.join("ann", "bob", "cid")
	b := d.board()
	woken := make(chan string, 10)
	await := func(id agency.AgentID) (stop func()) {
		return b.Await(Recipient{Run: run, Agent: id, Role: "coder", Session: "s1"}, func() { woken <- string(id) })
	}
	none := func(when string) {
		t.Helper()
		if n := len(woken); n != 0 {
			t.Errorf("%s: %d were woken", when, n)
		}
	}
	stopAnn, stopCid := await("ann"), await("cid")
	if n := b.receivers(); n != 2 {
		t.Errorf("%d wait", n)
	}
	if err := d.Write(t.Context(), func(tx *store.Tx) error {
		return errors.Join(b.SendTx(tx, msg("lost", "bob", "ann")), context.Canceled)
	}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	none("a message that is not kept")
	d.boardSend(b, msg("1", "bob", "ann"))
	if got := <-woken; got != "ann" {
		t.Errorf("%s was woken", got)
	}
	d.boardSend(b, msg("2", "bob", "ann"))
	none("woken once")
	d.want("1:pending 2:pending")
	await("ann") // they wait still
	if got := <-woken; got != "ann" {
		t.Errorf("%s was woken", got)
	}
	stopAnn() // was woken: nothing
	stopCid()
	if n := b.receivers(); n != 0 {
		t.Errorf("%d wait after stop", n)
	}
	who := as("ann", "s1")
	d.do(func(tx *store.Tx) error { _, err := ClaimAll(tx, who, 10); return err })
	await("ann")
	await("cid")
	d.do(func(tx *store.Tx) error { return Return(tx, who, "2") })
	if got := <-woken; got != "ann" {
		t.Errorf("%s was woken", got)
	}
	d.boardSend(b, msg("3", "bob", "@coder"))
	if got := <-woken; got != "cid" {
		t.Errorf("%s was woken", got)
	}
	none("all is told")
}
