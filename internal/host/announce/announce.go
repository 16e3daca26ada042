// Package announce tells people outside of the terminal what they need to know of runs: that
// a gate waits, that a run failed or was interrupted, that one ended.
//
// What is told follows from the event log alone: an event is told once at each place that its
// run's copy of the configuration names, and what has been told is recorded after it. A host
// that is killed between the two tells it again under the same key; none is lost. Runs wait
// for nothing here.
//
// How a place is reached is package notify's business.
package announce

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/event"
	"agency/internal/host"
	"agency/internal/notify"
	"agency/internal/store"
)

// How long a message is tried: the first pause, the longest, and when it is given up. A
// host stays at most this long for a place that does not answer.
const (
	firstPause = time.Second
	lastPause  = time.Minute
	patience   = 3 * time.Minute
	// lookAgain is after what time the hours are looked at anew: a machine that sleeps
	// does not count them.
	lookAgain = time.Minute
)

// Sender reaches places; notify.Sender does.
type Sender interface {
	Send(ctx context.Context, c notify.Channel, m notify.Message) error
	Reach(ctx context.Context, c notify.Channel) error
}

// Options are what an Announcer is made from.
type Options struct {
	DB      *store.DB
	Fence   agency.Fence
	Events  *event.Log
	Secrets *host.Secrets
	Sender  Sender
	Repo    string     // how people call the repository
	Clock   host.Clock // its zero: the real one
	Log     *slog.Logger
}

// Announcer tells what happens in the runs of one repository. All but AtWork, Reach and
// Forget is done by Run.
type Announcer struct {
	o       Options
	changed func()
	working atomic.Int64
	rings   chan struct{}

	queue
}

// queue is what Run alone knows.
type queue struct {
	items   []*item          // all that is not settled, in the order of the events
	places  map[string]*line // by the channel
	recent  map[string]notify.Channel
	copies  map[agency.RunID]config.Config
	mark    int64 // as stored
	seen    int64 // the last event that has been looked at
	said    map[part]standing
	results chan result
	flying  sync.WaitGroup
	disarm  func() bool
}

// item is an event for one place of its run.
type item struct {
	ev      agency.Event
	at      part
	place   config.Notify
	message string    // of which it is a part, where it is not one by itself
	held    bool      // by quiet hours
	since   time.Time // it could have been sent; zero: not yet
}

// line is what waits for one channel. One message is under way at a time.
type line struct {
	busy  bool
	fails int
	next  time.Time
}

type result struct {
	channel string
	items   []*item
	err     error
}

// New makes an announcer; nothing runs yet.
func New(o Options) *Announcer {
	o.Clock = o.Clock.OrReal()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Announcer{o: o, changed: func() {}, rings: make(chan struct{}, 1), queue: queue{
		places: map[string]*line{}, recent: map[string]notify.Channel{}, copies: map[agency.RunID]config.Config{}, results: make(chan result), disarm: func() bool { return false },
	}}
}

// AtWork counts the messages that are being sent or tried again, or that quiet hours hold:
// whoever sleeps is to be told when they end, and no other host would come for it. What
// waits for keys does not count: a host may leave, and the next one tells it.
func (a *Announcer) AtWork() int { return int(a.working.Load()) }

// OnChange calls f whenever AtWork may have changed. Set it before Run.
func (a *Announcer) OnChange(f func()) { a.changed = f }

// Ring has the announcer look at what waits: a client may have brought keys.
func (a *Announcer) Ring() {
	select {
	case a.rings <- struct{}{}:
	default:
	}
}

// Forget removes what is known of a run.
func (a *Announcer) Forget(tx *store.Tx, run agency.RunID) error { return forget(tx, run) }

// Run tells what is to be told, first what an earlier host left, until the context ends. A
// message under way is then cut off, and told again by the next host.
func (a *Announcer) Run(ctx context.Context) {
	for err := a.begin(ctx); err != nil; err = a.begin(ctx) { // a full disk, say
		if !a.rest(ctx, err) {
			return
		}
	}
	events := make(chan agency.Event)
	var tail sync.WaitGroup
	after := a.seen // from now on the loop's
	tail.Go(func() { a.follow(ctx, after, events) })
	defer tail.Wait()
	defer a.flying.Wait()
	a.send(ctx)
	for {
		select {
		case ev, more := <-events:
			if !more {
				return
			}
			a.look(ctx, ev)
		case r := <-a.results:
			a.heard(ctx, r)
		case <-a.rings:
		case <-ctx.Done():
			return
		}
		a.send(ctx)
	}
}

// begin takes up what an earlier host left, all of it before anything is sent: what quiet
// hours held meanwhile is one message.
func (a *Announcer) begin(ctx context.Context) error {
	var left []agency.Event
	err := a.o.DB.WriteFenced(ctx, a.o.Fence, func(tx *store.Tx) (err error) {
		if a.mark, err = begin(tx); err == nil {
			a.said, err = readParts(tx, struct{}{})
		}
		if err == nil {
			left, err = event.Since(tx, a.mark, event.Filter{Types: told}, 0)
		}
		return err
	})
	if err != nil {
		return err
	}
	a.seen = a.mark
	for _, ev := range left {
		a.look(ctx, ev)
	}
	return ctx.Err()
}

// follow hands on the events after one.
func (a *Announcer) follow(ctx context.Context, after int64, events chan<- agency.Event) {
	defer close(events)
	for {
		lost := ctx.Err()
		for ev, err := range a.o.Events.Tail(ctx, after, event.Filter{Types: told}) {
			if lost = err; err != nil {
				break
			}
			select {
			case events <- ev:
				after = ev.ID
			case <-ctx.Done():
				return
			}
		}
		if !a.rest(ctx, lost) {
			return
		}
	}
}

// rest waits after an error of the store, and tells whether the context lives.
func (a *Announcer) rest(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	a.o.Log.Error("announcements", "error", err)
	rang := make(chan struct{})
	stop := a.o.Clock.After(lastPause, func() { close(rang) })
	defer stop()
	select {
	case <-rang:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// look takes an event up for each place that wants it.
func (a *Announcer) look(ctx context.Context, ev agency.Event) {
	a.seen = ev.ID
	class := classOf(ev)
	if class == "" {
		return
	}
	c, ok := a.copyOf(ctx, ev.RunID)
	if !ok {
		return
	}
	for i, n := range places(c) {
		p := part{ev.ID, i}
		if !n.wants(ev, class) || a.said[p].state == done {
			continue
		}
		a.items = append(a.items, &item{
			ev: ev, at: p, place: n.Notify, message: a.said[p].message,
			held: !n.hook() && !c.QuietUntil(ev.Time.Local()).IsZero(),
		})
	}
}

// copyOf is the configuration of a run that is to be told of. Of a dry run its client
// tells, and of one that has been removed nobody does.
func (a *Announcer) copyOf(ctx context.Context, run agency.RunID) (config.Config, bool) {
	if c, ok := a.copies[run]; ok {
		return c, true
	}
	c, err := store.Get(ctx, a.o.DB, readCopy, run)
	for tries := 1; err != nil && agency.KindOf(err) != agency.KindNotFound && tries < 3; tries++ {
		if !a.rest(ctx, err) { // a copy that cannot be read by any try holds up no other run
			return c, false
		}
		c, err = store.Get(ctx, a.o.DB, readCopy, run)
	}
	if err != nil {
		return c, false
	}
	a.copies[run] = c
	return c, true
}

// send starts what can be sent now and sets the clock for the rest.
func (a *Announcer) send(ctx context.Context) {
	now, wake := a.o.Clock.Now(), time.Time{}
	soon := func(t time.Time) {
		if wake.IsZero() || t.Before(wake) {
			wake = t
		}
	}
	ready, working := map[string][]*item{}, 0
	var order []string
	for _, it := range a.items {
		c := a.copies[it.ev.RunID]
		if until := c.QuietUntil(now.Local()); !until.IsZero() && it.place.Type != notify.Command {
			it.held, it.since = true, time.Time{}
			soon(minTime(until, now.Add(lookAgain)))
			if _, ok := a.channel(ctx, it); ok {
				working++
			}
			continue
		}
		key, ok := a.channel(ctx, it)
		if !ok {
			it.since = time.Time{}
			continue
		}
		if it.since.IsZero() {
			it.since = now
		}
		if ready[key] == nil {
			order = append(order, key)
		}
		ready[key] = append(ready[key], it)
		working++
	}
	for _, key := range order {
		l := a.places[key]
		switch {
		case l.busy:
		case l.next.After(now):
			soon(l.next)
		default:
			a.start(ctx, key, l, ready[key])
			if l.next.After(now) { // the store refused
				soon(l.next)
			}
		}
	}
	a.arm(wake, now)
	a.settle(ctx)
	if int64(min(working, len(a.items))) != a.working.Swap(int64(min(working, len(a.items)))) {
		a.changed()
	}
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func (a *Announcer) arm(wake, now time.Time) {
	a.disarm()
	if !wake.IsZero() {
		a.disarm = a.o.Clock.After(wake.Sub(now), a.Ring)
	}
}

// start sends the next message of a line: an event, or all that quiet hours held for it.
func (a *Announcer) start(ctx context.Context, channel string, l *line, ready []*item) {
	batch := together(ready)
	key := batch[0].message
	var news []news
	var live []*item
	err := a.o.DB.Read(ctx, func(s *store.Snapshot) error {
		for _, it := range batch {
			n, ok, err := tell(s, it.ev)
			if err != nil {
				return err
			}
			if ok {
				news, live = append(news, n), append(live, it)
			}
		}
		return nil
	})
	if err != nil {
		a.failedToRead(ctx, l, err)
		return
	}
	if len(live) < len(batch) { // what is no news any more is over
		a.drop(ctx, slices.DeleteFunc(slices.Clone(batch), func(it *item) bool { return slices.Contains(live, it) }))
	}
	if len(live) == 0 {
		a.Ring() // there may be more
		return
	}
	if key == "" {
		key = keyOf(live[0])
		if len(live) > 1 {
			key += fmt.Sprintf(".and-%d", len(live)-1)
			if err := a.note(ctx, live, standing{sending, key}); err != nil {
				a.failedToRead(ctx, l, err)
				return
			}
		}
	}
	m := message(a.o.Repo, key, news[0])
	if len(live) > 1 {
		m = digest(a.o.Repo, key, news)
	}
	c := a.recent[channel]
	l.busy = true
	a.flying.Go(func() {
		err := a.o.Sender.Send(ctx, c, m)
		select {
		case a.results <- result{channel, live, err}:
		case <-ctx.Done():
			if err == nil { // it is told, and the next host must know
				a.settled(context.WithoutCancel(ctx), live, nil)
			}
		}
	})
}

// keyOf is the key of an event at a place, the same at each try.
func keyOf(it *item) string { return fmt.Sprintf("%s.%d.%d", it.ev.RunID, it.ev.ID, it.at.place) }

// together are those of what is ready that go out now: the parts of a message that an
// earlier host began, all that quiet hours held, or the first.
func together(ready []*item) []*item {
	first := ready[0]
	return slices.DeleteFunc(slices.Clone(ready), func(it *item) bool {
		if it == first {
			return false
		}
		if first.message != "" {
			return it.message != first.message
		}
		return !first.held || !it.held || it.message != ""
	})
}

// heard is how a message fared.
func (a *Announcer) heard(ctx context.Context, r result) {
	l := a.places[r.channel]
	l.busy = false
	if r.err == nil {
		l.fails, l.next = 0, time.Time{}
		a.finish(ctx, r.items, nil)
		return
	}
	if errors.Is(r.err, context.Canceled) && ctx.Err() != nil {
		return
	}
	now := a.o.Clock.Now()
	pause := min(firstPause<<min(l.fails, 10), lastPause)
	pause = pause/2 + rand.N(pause) // so that many hosts do not come at once
	l.fails++
	l.next = now.Add(pause)
	if agency.KindOf(r.err) == agency.KindInvalid {
		l.fails, l.next = 0, time.Time{}
		a.finish(ctx, r.items, r.err)
		return
	}
	// All that has waited too long for this place goes with it.
	var over []*item
	for _, it := range a.items {
		if key, ok := a.channel(ctx, it); ok && key == r.channel && !it.since.IsZero() && !l.next.Before(it.since.Add(patience)) {
			over = append(over, it)
		}
	}
	if len(over) > 0 {
		a.finish(ctx, over, r.err)
	}
}
