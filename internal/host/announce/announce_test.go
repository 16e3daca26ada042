package announce

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/event"
	"agency/internal/host"
	"agency/internal/notify"
	"agency/internal/registry"
	"agency/internal/store"
	"agency/internal/store/storetest"
)

// clock is moved by hand; what is due rings as it is passed.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	bells map[int]bell
	n     int
}

type bell struct {
	at time.Time
	f  func()
}

func (c *clock) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.now }

func (c *clock) After(d time.Duration, f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	n := c.n
	c.bells[n] = bell{c.now.Add(d), f}
	return func() bool { c.mu.Lock(); defer c.mu.Unlock(); _, was := c.bells[n]; delete(c.bells, n); return was }
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	var due []func()
	for n, b := range c.bells {
		if !b.at.After(c.now) {
			due = append(due, b.f)
			delete(c.bells, n)
		}
	}
	c.mu.Unlock()
	for _, f := range due {
		f()
	}
}

// place is a webhook on loopback that answers as it is told.
type place struct {
	*httptest.Server
	mu   sync.Mutex
	code int
	keys []string
	got  []notify.Message
	hit  chan struct{}
}

func newPlace(t *testing.T) *place {
	p := &place{code: 200, hit: make(chan struct{}, 1000)}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		var m notify.Message
		_ = json.Unmarshal(b, &m)
		p.mu.Lock()
		p.keys, p.got = append(p.keys, r.Header.Get(notify.HeaderKey)), append(p.got, m)
		code := p.code
		p.mu.Unlock()
		w.WriteHeader(code)
		p.hit <- struct{}{}
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *place) answer(code int) { p.mu.Lock(); p.code = code; p.mu.Unlock() }

func (p *place) seen() ([]string, []notify.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.keys), slices.Clone(p.got)
}

// rig is a store with one run that announces to one place.
type rig struct {
	t     *testing.T
	path  string
	clock *clock
	place *place
	db    *store.DB
	log   *event.Log
	keys  *host.Secrets
	stop  func()
	a     *Announcer
}

const theRun agency.RunID = "run-1"

func newRig(t *testing.T, hours string) *rig {
	r := &rig{t: t, path: filepath.Join(t.TempDir(), "s.db"), place: newPlace(t), clock: &clock{now: time.Date(2026, 3, 4, 23, 0, 0, 0, time.Local), bells: map[int]bell{}}}
	r.start(true)
	c := config.Defaults()
	c.NotifyQuietHours, c.Notify = hours, []config.Notify{{Type: notify.Webhook, URL: "${HOOK}"}}
	raw, err := json.Marshal(host.RunConfig{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	r.write(func(tx *store.Tx) error {
		return registry.CreateRun(tx, agency.Run{ID: theRun, Goal: "Mend it\nand more", Mode: agency.ModeSingle, State: agency.StatePlanning}, raw)
	})
	return r
}

func (r *rig) start(keys bool) {
	r.db = storetest.Open(r.t, store.Options{Path: r.path, Sets: []store.Set{event.Migrations(), registry.Migrations(), Migrations()}, Now: r.clock.Now})
	r.log, r.keys = event.NewLog(r.db), host.NewSecrets()
	if keys {
		r.bring()
	}
	r.a = New(Options{DB: r.db, Events: r.log, Secrets: r.keys, Sender: notify.Sender{}, Repo: "calc", Clock: host.Clock{Now: r.clock.Now, After: r.clock.After}})
	r.keys.OnPut(r.a.Ring)
	ctx, cancel := context.WithCancel(context.Background())
	var run sync.WaitGroup
	run.Go(func() { r.a.Run(ctx) })
	r.stop = sync.OnceFunc(func() {
		cancel()
		run.Wait()
		_ = r.log.Close()
		_ = r.db.Close()
	})
	r.t.Cleanup(func() { r.stop() })
	r.until("the announcer has begun", func() bool {
		mark, err := store.Get(r.t.Context(), r.db, readMark, struct{}{})
		return err == nil && mark >= 0
	})
}

func (r *rig) bring() {
	r.keys.Put(theRun, map[string]string{config.NotifyKey(0, "url"): r.place.URL})
}

func (r *rig) write(f func(*store.Tx) error) {
	r.t.Helper()
	if err := r.db.Write(r.t.Context(), f); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) gate(id agency.GateID) {
	r.t.Helper()
	r.write(func(tx *store.Tx) error {
		return registry.OpenGate(tx, agency.Gate{ID: id, RunID: theRun, Kind: agency.GateMerge, Summary: "ready \u202eto land"})
	})
}

func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	give := time.After(20 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-give:
			r.t.Fatalf("not yet: %s", what)
		}
	}
}

func (r *rig) sent(n int) {
	r.t.Helper()
	r.until("messages", func() bool { keys, _ := r.place.seen(); return len(keys) >= n })
}

func (r *rig) idle() {
	r.t.Helper()
	r.until("all is settled", func() bool {
		evs, err := r.log.Since(r.t.Context(), 0, event.Filter{Types: told}, 0)
		mark, err2 := store.Get(r.t.Context(), r.db, readMark, struct{}{})
		return err == nil && err2 == nil && mark >= evs[len(evs)-1].ID && r.a.AtWork() == 0
	})
}

// waits until the clock has been set for so many events.
func (r *rig) waits(n int) {
	r.t.Helper()
	r.until("it waits", func() bool { r.clock.mu.Lock(); defer r.clock.mu.Unlock(); return r.clock.n >= n })
}

func (r *rig) warnings() (out []string) {
	evs, err := r.log.Since(r.t.Context(), 0, event.Filter{Types: []agency.EventType{"log"}}, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, ev := range evs {
		out = append(out, ev.Summary)
	}
	return out
}

// An event is told once, also over restarts, with the command that answers it.
func TestToldOnce(t *testing.T) {
	r := newRig(t, "")
	r.gate("g1")
	r.sent(1)
	r.idle()
	r.stop()
	r.start(true)
	r.write(func(tx *store.Tx) error { return registry.SetState(tx, theRun, agency.StateFailed, "it broke") })
	r.sent(2)
	r.idle()
	keys, got := r.place.seen()
	if len(keys) != 2 || keys[0] == keys[1] {
		t.Fatalf("keys %q", keys)
	}
	want := []string{"goal: Mend it", "ready to land", "run: run-1 (agency-1)", "agency approve g1", "agency reject g1 --reason TEXT", "agency inspect run-1"}
	if got[0].Title != "calc: the merge gate waits for you" || !slices.Equal(got[0].Lines, want) {
		t.Errorf("%q %q", got[0].Title, got[0].Lines)
	}
	if got[1].Event != "failure" || got[1].Title != "calc: the run failed" {
		t.Errorf("%+v", got[1])
	}
}

// A host that dies between sending and recording tells it again under the same key.
func TestKilledAfterSending(t *testing.T) {
	r := newRig(t, "")
	r.place.answer(503) // taken, as far as the host will ever know not
	r.gate("g1")
	r.sent(1)
	r.stop()
	r.place.answer(200)
	r.start(true)
	r.sent(2)
	r.idle()
	if keys, _ := r.place.seen(); len(keys) != 2 || keys[0] != keys[1] {
		t.Errorf("keys %q", keys)
	}
}

// A place that does not answer is tried for minutes, then given up with a warning that
// names it and not where it is; meanwhile the host counts it as work, afterwards not.
func TestGivenUp(t *testing.T) {
	r := newRig(t, "")
	r.place.answer(503)
	r.gate("g1")
	r.sent(1)
	for n := 0; len(r.warnings()) == 0; n++ {
		if n > 1000 {
			t.Fatal("it is tried for ever")
		}
		r.clock.pass(time.Second)
		select {
		case <-r.place.hit:
		case <-time.After(2 * time.Millisecond):
		}
	}
	r.idle()
	if keys, _ := r.place.seen(); len(keys) < 4 || len(keys) > 20 {
		t.Errorf("%d tries", len(keys))
	}
	if w := r.warnings(); len(w) != 1 || !strings.HasPrefix(w[0], "notify[0] (webhook) was not told: it answered with status 503") || strings.Contains(w[0], r.place.URL) {
		t.Errorf("%q", w)
	}
}

// What quiet hours hold is told in one message when they end, by the next host too.
func TestQuietHours(t *testing.T) {
	for _, restart := range []bool{false, true} {
		r := newRig(t, "22:00-07:00")
		r.gate("g1")
		r.gate("g2")
		r.write(func(tx *store.Tx) error {
			return registry.SetState(tx, theRun, agency.StateInterrupted, "the provider is down")
		})
		if restart {
			r.stop()
		}
		if keys, _ := r.place.seen(); len(keys) != 0 {
			t.Fatalf("told in quiet hours: %q", keys)
		}
		if restart {
			r.clock.pass(9 * time.Hour)
			r.start(true)
		} else {
			r.waits(3)
			if r.a.AtWork() != 3 {
				t.Errorf("%d are at work, and a host that leaves tells nobody when the quiet hours end", r.a.AtWork())
			}
			r.clock.pass(9 * time.Hour)
		}
		r.sent(1)
		r.idle()
		keys, got := r.place.seen()
		if len(keys) != 1 || got[0].Title != "calc: 3 announcements from the quiet hours" || got[0].Event != "gate,failure" || len(got[0].Lines) != 3 {
			t.Errorf("restart %v: %d messages: %+v", restart, len(keys), got)
		}
		r.stop()
	}
}

// Without its keys a message is held, which is said once, and sent when a client brings them.
func TestHeldForKeys(t *testing.T) {
	r := newRig(t, "")
	r.stop()
	r.start(false)
	r.gate("g1")
	r.until("it is said", func() bool { return len(r.warnings()) == 1 })
	r.stop()
	r.start(false)
	r.gate("g2")
	r.until("it is said", func() bool { return len(r.warnings()) == 2 }) // of g2; g1's stands
	if r.a.AtWork() != 0 {
		t.Error("what waits for keys keeps the host")
	}
	r.bring()
	r.sent(2)
	r.idle()
	if w := r.warnings(); !strings.Contains(w[0], "HOOK") || strings.Contains(w[0], "127.0.0.1") {
		t.Errorf("%q", w)
	}
}

// A gate that has been answered is no news any more.
func TestAnsweredMeanwhile(t *testing.T) {
	r := newRig(t, "22:00-07:00")
	r.gate("g1")
	r.gate("g2")
	r.write(func(tx *store.Tx) error {
		_, err := registry.Decide(tx, "g1", agency.Decision{Verb: agency.Approve, By: "tess"})
		return err
	})
	r.waits(2)
	r.clock.pass(9 * time.Hour)
	r.sent(1)
	r.idle()
	if _, got := r.place.seen(); len(got) != 1 || !slices.Contains(got[0].Lines, "agency approve g2") {
		t.Errorf("%+v", got)
	}
}
