package outbox

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/flow/local"
	"agency/internal/store"
	"agency/internal/store/storetest"
)

const run agency.RunID = "run-1"

var words = flow.Signal[string]{Name: "words"}

func open(t *testing.T, path string) *store.DB {
	return storetest.Open(t, store.Options{Path: path, Sets: []store.Set{local.Migrations(), Migrations()}})
}

func decide(t *testing.T, db *store.DB, ids ...string) {
	t.Helper()
	err := db.Write(t.Context(), func(tx *store.Tx) error {
		for _, id := range ids {
			if err := Send(tx, run, words, id, "say "+id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// hears runs a program that takes n signals and then looks for one more.
func hears(t *testing.T, e flow.Engine, n int) (got []string) {
	t.Helper()
	err := e.Run(t.Context(), run, func(c flow.Ctx) error {
		got = nil
		for i := range n {
			s, err := flow.Receive(c, words, fmt.Sprint("take/", i))
			if err != nil {
				return err
			}
			got = append(got, s)
		}
		more, err := flow.Select(c, "more", flow.OnSignal(words), flow.OnTimer(0))
		if more == 0 {
			got = append(got, "one too many")
		}
		return err
	}, flow.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// mortal is an engine whose host dies once a signal is durable.
type mortal struct {
	flow.Engine
	left int
}

var errDied = errors.New("died")

func (m *mortal) Signal(ctx context.Context, run agency.RunID, name, id string, payload []byte) error {
	if m.left == 0 {
		return errDied
	}
	m.left--
	err := m.Engine.Signal(ctx, run, name, id, payload)
	if m.left == 0 && err == nil {
		return errDied
	}
	return err
}

// A host that dies after a decision, before it is delivered, or anywhere while
// several are, leaves them to the next one, which delivers each once, in order.
func TestKilledBeforeDelivery(t *testing.T) {
	for taken := range 4 {
		path := filepath.Join(t.TempDir(), "s.db")
		db := open(t, path)
		decide(t, db, "a", "b")
		decide(t, db, "c")
		dying := &mortal{Engine: local.New(local.Options{DB: db}), left: taken}
		if err := NewRelay(db, agency.Fence{}, dying).Deliver(t.Context()); !errors.Is(err, errDied) {
			t.Fatalf("after %d: %v", taken, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		db = open(t, path)
		next := local.New(local.Options{DB: db})
		for range 2 {
			if err := NewRelay(db, agency.Fence{}, next).Deliver(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if left, err := store.Get(t.Context(), db, pending, struct{}{}); len(left) != 0 || err != nil {
			t.Errorf("after %d: %d signals are left, %v", taken, len(left), err)
		}
		if got := hears(t, next, 3); !slices.Equal(got, []string{"say a", "say b", "say c"}) {
			t.Errorf("after %d: heard %q", taken, got)
		}
	}
}

// What was not committed is not sent, and what a removed run was to be sent is
// gone with it.
func TestOnlyWhatIsCommitted(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "s.db"))
	refused := errors.New("refused")
	err := db.Write(t.Context(), func(tx *store.Tx) error { return errors.Join(Send(tx, run, words, "a", "a"), refused) })
	if !errors.Is(err, refused) {
		t.Fatal(err)
	}
	decide(t, db, "b")
	if err := db.Write(t.Context(), func(tx *store.Tx) error { return DeleteRun(tx, run) }); err != nil {
		t.Fatal(err)
	}
	e := local.New(local.Options{DB: db})
	if err := NewRelay(db, agency.Fence{}, e).Deliver(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := hears(t, e, 0); len(got) != 0 {
		t.Errorf("heard %q", got)
	}
}

// A running relay delivers what many decide at once, beside those who deliver
// themselves, to a run that waits for it.
func TestRelayBesideDeliveries(t *testing.T) {
	const n = 8
	db := open(t, filepath.Join(t.TempDir(), "s.db"))
	decide(t, db, "before")
	e := local.New(local.Options{DB: db})
	relay := NewRelay(db, agency.Fence{}, e)
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { relay.Run(ctx, func(err error) { t.Error(err) }) })
	for i := range n {
		work.Go(func() {
			decide(t, db, fmt.Sprint(i))
			if i%2 == 0 {
				if err := relay.Deliver(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	got := hears(t, e, n+1)
	stop()
	work.Wait()
	slices.Sort(got)
	if len(slices.Compact(got)) != n+1 || slices.Contains(got, "one too many") {
		t.Errorf("heard %q", got)
	}
}
