package allowance

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/event"
	"agency/internal/store"
	"agency/internal/store/storetest"
)

const run agency.RunID = "run-1"

// rig is a repository with its host, beside others of the same user.
type rig struct {
	*Ledger
	db    *store.DB
	fence agency.Fence
	bell  *budget.Bell
}

// user is what the hosts of a user share.
type user struct {
	path   string
	limits atomic.Pointer[[]Limit]
	now    atomic.Pointer[time.Time]
	dead   sync.Map               // repositories without a host
	alive  func(repo string) bool // nil: all others have one
}

func newUser(path string, limits ...Limit) *user {
	u := &user{path: path}
	u.limits.Store(&limits)
	u.set(time.Date(2026, 11, 24, 23, 0, 0, 0, time.FixedZone("east", 3*3600)))
	return u
}

func (u *user) set(now time.Time) { u.now.Store(&now) }

// host takes a repository over: the file of its runs, as a new host does.
func (u *user) host(ctx context.Context, db *store.DB, repo string) (*rig, error) {
	epoch, err := db.RaiseEpoch(ctx)
	if err != nil {
		return nil, err
	}
	r := &rig{db: db, fence: agency.Fence{Epoch: epoch}, bell: budget.NewBell(db)}
	r.Ledger = New(Options{
		Path: u.path, Runs: db, Repo: repo, Place: "/" + repo, Epoch: epoch,
		Limits: func() ([]Limit, error) { return *u.limits.Load(), nil },
		Alive: func(repo string) bool {
			_, dead := u.dead.Load(repo)
			return !dead && (u.alive == nil || u.alive(repo))
		},
		Ring: r.bell.Ring, Now: func() time.Time { return *u.now.Load() }, Log: slog.New(slog.DiscardHandler),
	})
	if err := r.Refresh(ctx); err != nil {
		return nil, err
	}
	return r, db.WriteFenced(ctx, r.fence, func(tx *store.Tx) error {
		if err := budget.Open(tx, run, budget.Root, "", budget.Limits{}); err != nil {
			return err
		}
		_, err := budget.ChargeLost(tx, run)
		return err
	})
}

func (u *user) rig(t testing.TB, repo string) *rig {
	t.Helper()
	r, err := u.host(t.Context(), runs(t, filepath.Join(t.TempDir(), "runs.db")), repo)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func runs(t testing.TB, path string) *store.DB {
	return storetest.Open(t, store.Options{Path: path, Sets: []store.Set{event.Migrations(), budget.Migrations()}})
}

// ask reserves a request of ten for the prompt and so much for the answer as a session does,
// and gives the key by which it holds.
func (r *rig) ask(ctx context.Context, key string, out, least int64) (holds string, most agency.Money, err error) {
	for {
		next := r.bell.Next()
		left, err := r.Look(ctx)
		if err != nil {
			return "", 0, err
		}
		req := budget.Request{Key: key, Node: budget.Root, In: 10, Out: out, Least: least, Price: agency.Price{Out: 0.001}, Model: "m", Allowance: left}
		err = r.db.WriteFenced(ctx, r.fence, func(tx *store.Tx) error {
			got, err := budget.Reserve(tx, run, req)
			most = agency.Money(got)
			return err
		})
		if err == nil {
			if err = r.Hold(ctx, run, key, most); err == nil {
				return key, most, nil
			}
			rerr := r.db.WriteFenced(ctx, r.fence, func(tx *store.Tx) error { return budget.Release(tx, run, key) })
			key += "'" // a try more
			if rerr != nil {
				return "", 0, rerr
			}
		}
		var e *budget.Exhausted
		if !errors.As(err, &e) || !e.Outstanding {
			return "", 0, err
		}
		again := time.NewTimer(5 * time.Millisecond) // of other hosts no bell is heard
		select {
		case <-next:
		case <-again.C:
		case <-ctx.Done():
			return "", 0, ctx.Err()
		}
	}
}

func (r *rig) settle(ctx context.Context, key string, cost agency.Money) error {
	return r.db.WriteFenced(ctx, r.fence, func(tx *store.Tx) error {
		return budget.Settle(tx, run, key, budget.Bill{Cost: cost}, 0)
	})
}

func (r *rig) left(t testing.TB) budget.Allowance {
	t.Helper()
	a, err := r.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Two repositories spend of one limit; who meets it is told which, where it stands and
// who spent it.
func TestTwoRepositoriesShareADay(t *testing.T) {
	u := newUser(filepath.Join(t.TempDir(), "a.db"), Limit{Day, 100, "budget.daily_usd, own.yaml:3"}, Limit{Month, 1000, "budget.monthly_usd, own.yaml:4"})
	one, two := u.rig(t, "one"), u.rig(t, "two")
	_, most, err := one.ask(t.Context(), "1", 70, 20)
	if err != nil || most != 70 {
		t.Fatalf("%d, %v", most, err)
	}
	if a := two.left(t); a.Left != 30 || a.Held != 70 || a.Name != "day 2026-11-24" {
		t.Errorf("%+v", a)
	}
	var e *budget.Exhausted
	if err := two.Hold(t.Context(), run, "x", 31); !errors.As(err, &e) || !e.Outstanding || agency.KindOf(err) != agency.KindExhausted {
		t.Errorf("more than is left is held: %v", err)
	}
	must(t, two.Hold(t.Context(), run, "x", 30))
	must(t, two.Hold(t.Context(), run, "x", 25)) // another model in its place
	must(t, one.settle(t.Context(), "1", 60))
	if a := one.left(t); a.Left != 15 || a.Held != 25 {
		t.Errorf("%+v", a)
	}
	must(t, two.Hold(t.Context(), run, "x", 40))
	if _, _, err := one.ask(canceled(t), "2", 20, 20); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	must(t, one.Close())
	must(t, one.Close())
	three := u.rig(t, "three")
	must(t, two.Close())
	u.dead.Store("two", true) // it ended in the middle of a request
	if a := three.left(t); a.Left != 0 || a.Held != 0 {
		t.Errorf("what a dead host held is not spent: %+v", a)
	}
	_, _, err = three.ask(t.Context(), "3", 50, 5)
	if !errors.As(err, &e) || e.Outstanding || e.Above != "the day's limit of $0.0000 (budget.daily_usd, own.yaml:3)" || e.Period() != "day" {
		t.Errorf("%v, %+v", err, e)
	}
	lines, err := three.Tell(t.Context())
	if text := strings.Join(lines, "\n"); err != nil || len(lines) != 2 || !strings.Contains(text, "by runs: run-1") || !strings.Contains(text, "(/one)") || !strings.Contains(text, "(/two)") {
		t.Errorf("%s, %v", text, err)
	}
	// More is allowed from the next look at the file on.
	u.limits.Store(&[]Limit{{Day, 200, "own.yaml:3"}})
	must(t, three.Refresh(t.Context()))
	if a := three.left(t); a.Left != 100 {
		t.Errorf("%+v", a)
	}
	u.limits.Store(&[]Limit{})
	must(t, three.Refresh(t.Context()))
	if a := three.left(t); a.Limited {
		t.Errorf("%+v", a)
	}
}

func canceled(t testing.TB) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// Without a limit nothing is opened, and nothing is held.
func TestNothingIsOpenedWithoutALimit(t *testing.T) {
	u := newUser(filepath.Join(t.TempDir(), "a.db"))
	r := u.rig(t, "one")
	if _, _, err := r.ask(t.Context(), "1", 100, 100); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(u.path); !errors.Is(err, os.ErrNotExist) {
		t.Error("the store was opened")
	}
	u.limits.Store(&[]Limit{{Day, 100, "own.yaml:3"}})
	must(t, r.Refresh(t.Context()))
	if a := r.left(t); a.Left != 100 {
		t.Errorf("%+v", a)
	}
}

// The day and the month are those of the user's calendar, and a clock that is set back
// gives nothing back.
func TestTheCalendarIsTheUsers(t *testing.T) {
	u := newUser(filepath.Join(t.TempDir(), "a.db"), Limit{Day, 100, "d"}, Limit{Month, 250, "m"})
	r := u.rig(t, "one")
	zone := time.FixedZone("west", -5*3600)
	spend := func(at time.Time, cost agency.Money, want agency.Money, name string) {
		t.Helper()
		u.set(at)
		key := at.String() + strconv.Itoa(int(cost))
		if cost > 0 {
			must(t, func() error { _, _, err := r.ask(t.Context(), key, int64(cost), int64(cost)); return err }())
			must(t, r.settle(t.Context(), key, cost))
		}
		if a := r.left(t); a.Left != want || a.Name != name {
			t.Errorf("%s: %+v, want %d of the %s", at, a, want, name)
		}
	}
	at := func(month time.Month, day, hour int) time.Time {
		return time.Date(2026, month, day, hour, 0, 0, 0, zone)
	}
	spend(at(11, 24, 23), 90, 10, "day 2026-11-24")
	spend(at(11, 25, 0), 80, 20, "day 2026-11-25") // the same day in Greenwich
	spend(at(11, 24, 22), 0, -70, "day 2026-11-24")
	spend(at(11, 25, 1), 0, 20, "day 2026-11-25")
	spend(at(11, 26, 1), 0, 80, "month 2026-11")
	spend(at(12, 1, 0), 0, 100, "day 2026-12-01")
	spend(at(11, 30, 23), 0, 80, "month 2026-11")
}
