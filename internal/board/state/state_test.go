package state

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/board/boardtest"
	"agency/internal/event"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

const run = agency.RunID("run-1")

// desk is a store whose clocks the test moves.
type desk struct{ *boardtest.Fixture }

func newDesk(t *testing.T) desk {
	t.Helper()
	return desk{boardtest.NewFixture(t, Migrations())}
}

func key(name string) Key { return Key{Namespace: OfRun, Run: run, Name: name} }

func value(name, json string) Write {
	return Write{Key: key(name), Value: []byte(json), By: "ada"}
}

func (d desk) put(w Write) (e Entry) {
	d.Helper()
	d.Do(func(tx *store.Tx) (err error) { e, err = Put(tx, w); return err })
	return e
}

func (d desk) get(k Key) string {
	d.Helper()
	var e Entry
	err := d.Read(d.Context(), func(s *store.Snapshot) (err error) { e, err = Get(s, k); return err })
	if agency.KindOf(err) == agency.KindNotFound {
		return "none"
	}
	if err != nil {
		d.Fatal(err)
	}
	return fmt.Sprintf("%d:%s", e.Version, e.Value)
}

func (d desk) see(k Key, want string) {
	d.Helper()
	if got := d.get(k); got != want {
		d.Errorf("%s is %s, want %s", k, got, want)
	}
}

func TestCompareAndSwap(t *testing.T) {
	d := newDesk(t)
	swap := func(json string, version int64) func(*store.Tx) error {
		return func(tx *store.Tx) error { _, err := Swap(tx, value("k", json), version); return err }
	}
	d.Refuse(agency.KindConflict, swap("1", 1)) // not there
	d.Do(swap("1", 0))
	d.Refuse(agency.KindConflict, swap("2", 0))
	d.Do(swap("2", 1))
	err := d.Write(t.Context(), swap("3", 1))
	var late *VersionConflict
	if !errors.As(err, &late) || late.Current.Version != 2 || string(late.Current.Value) != "2" || late.Wanted != 1 {
		t.Fatalf("got %v", err)
	}
	d.Do(func(tx *store.Tx) error { _, err := Delete(tx, key("k"), "ada"); return err })
	d.see(key("k"), "none")
	d.Refuse(agency.KindNotFound, func(tx *store.Tx) error { _, err := Delete(tx, key("k"), "ada"); return err })
	d.Refuse(agency.KindConflict, swap("4", 2)) // the deletion was a version
	d.Do(swap("4", 0))
	d.see(key("k"), "4:4")
	var past []Entry
	d.Do(func(tx *store.Tx) (err error) {
		past, err = entries(tx, selectVersions+`WHERE `+isSpace+` AND key = ? ORDER BY version`, key("k").columns()...)
		return err
	})
	var got []string
	for i, e := range past {
		got = append(got, fmt.Sprintf("%d:%s:%t", e.Version, e.Value, e.Deleted))
		if i > 0 && e.Previous != past[i-1].ID || e.Key != key("k") {
			t.Errorf("version %d: %+v", e.Version, e)
		}
	}
	if diff := cmp.Diff([]string{"1:1:false", "2:2:false", "3::true", "4:4:false"}, got); diff != "" {
		t.Error(diff)
	}
	var evs []agency.Event
	d.Do(func(tx *store.Tx) (err error) {
		evs, err = event.Since(tx, 0, event.Filter{Types: []agency.EventType{"state_changed"}, Agent: "ada"}, 0)
		return err
	})
	if len(evs) != 4 || evs[3].RelatedState != past[3].ID {
		t.Errorf("events: %+v", evs)
	}
}

func TestTheSameWriteAgain(t *testing.T) {
	d := newDesk(t)
	w := value("k", "1")
	w.ID = "s1/turn-1/0"
	first := d.put(w)
	d.put(value("k", "2"))
	if again := d.put(w); again.ID != first.ID || again.Version != 1 {
		t.Errorf("wrote %+v, then %+v", first, again)
	}
	d.see(key("k"), "2:2")
}

// The keys of an agent are its own alone.
func TestAgentsKeys(t *testing.T) {
	d := newDesk(t)
	mine := Write{Key: Key{Namespace: OfAgent, Run: run, Of: "bob", Name: "k"}, Value: []byte("1"), By: "ada"}
	d.Refuse(agency.KindDenied, func(tx *store.Tx) error { _, err := Put(tx, mine); return err })
	mine.By = "bob"
	d.put(mine)
}

func TestStateExpires(t *testing.T) {
	d := newDesk(t)
	w := value("k", "1")
	w.TTL = time.Minute
	d.put(w)
	d.Wall = d.Wall.Add(1000 * time.Hour) // says nothing about it
	d.Mono = time.Minute - 1
	d.see(key("k"), "1:1")
	d.Mono++
	d.see(key("k"), "none")
	var all []Entry
	d.Do(func(tx *store.Tx) (err error) { all, err = List(tx, key("")); return err })
	if len(all) != 0 {
		t.Errorf("listed: %+v", all)
	}
	d.Do(func(tx *store.Tx) error {
		for _, want := range []int{1, 0} {
			if n, err := expire(tx, 10); n != want || err != nil {
				t.Errorf("swept %d, %v; want %d", n, err, want)
			}
		}
		return nil
	})
	d.Do(func(tx *store.Tx) error { _, err := Swap(tx, value("k", "2"), 2); return err }) // its end was version 2
	d.Mono += board.MaxTime
	d.see(key("k"), "3:2")
}

func TestStatesAreListedByPrefix(t *testing.T) {
	d := newDesk(t)
	other := value("a/1", "9")
	other.Key = Key{Namespace: OfContract, Run: run, Of: "main", Name: "a/1"}
	global := other
	global.Key = Key{Namespace: Global, Name: "a/1"}
	for _, w := range []Write{value("b", "1"), value("a/2", "2"), value("a/1", "3"), other, global} {
		d.put(w)
	}
	for _, tt := range []struct {
		k    Key
		want string
	}{
		{key(""), "a/1=3 a/2=2 b=1"},
		{key("a/"), "a/1=3 a/2=2"},
		{key("c"), ""},
		{Key{Namespace: OfContract, Run: run, Of: "main"}, "a/1=9"},
		{Key{Namespace: Global}, "a/1=9"},
	} {
		var all []Entry
		d.Do(func(tx *store.Tx) (err error) { all, err = List(tx, tt.k); return err })
		var got []string
		for _, e := range all {
			got = append(got, e.Name+"="+string(e.Value))
			if e.Namespace != tt.k.Namespace || e.Run != tt.k.Run || e.Of != tt.k.Of {
				t.Errorf("%+v in %s", e, tt.k)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %s, want %s", tt.k, got, tt.want)
		}
	}
}

func TestBadState(t *testing.T) {
	d := newDesk(t)
	for name, change := range map[string]func(*Write){
		"no writer":       func(w *Write) { w.By = "" },
		"no key":          func(w *Write) { w.Name = "" },
		"a long key":      func(w *Write) { w.Name = strings.Repeat("x", MaxKey+1) },
		"key not UTF-8":   func(w *Write) { w.Name = "\xff" },
		"no run":          func(w *Write) { w.Run = "" },
		"global with run": func(w *Write) { w.Namespace = Global },
		"no contract":     func(w *Write) { w.Namespace = OfContract },
		"odd namespace":   func(w *Write) { w.Namespace = "session" },
		"no JSON":         func(w *Write) { w.Value = []byte(`{"a":`) },
		"two values":      func(w *Write) { w.Value = []byte(`1 2`) },
		"nothing":         func(w *Write) { w.Value = nil },
		"no integer":      func(w *Write) { w.Type, w.Value = TypeInteger, []byte(`1.5`) },
		"too large":       func(w *Write) { w.Type, w.Value = TypeInteger, []byte(`9223372036854775808`) },
		"no string":       func(w *Write) { w.Type, w.Value = TypeString, []byte(`1`) },
		"no boolean":      func(w *Write) { w.Type, w.Value = TypeBoolean, []byte(`null`) },
		"odd type":        func(w *Write) { w.Type = "float" },
		"too long":        func(w *Write) { w.Value = []byte(`"` + strings.Repeat("x", MaxValue) + `"`) },
		"lives backwards": func(w *Write) { w.TTL = -1 },
		"lives for ever":  func(w *Write) { w.TTL = board.MaxTime + 1 },
	} {
		t.Run(name, func(*testing.T) {
			w := value("k", "1")
			change(&w)
			d.Refuse(agency.KindInvalid, func(tx *store.Tx) error { _, err := Put(tx, w); return err })
		})
	}
	for typ, v := range map[ValueType]string{TypeInteger: " -7 ", TypeString: `"x"`, TypeBoolean: "false", TypeJSON: "[1]"} {
		w := value("k", v)
		w.Type = typ
		d.put(w)
	}
}

// Clients that add to one key at once, each in a transaction, lose nothing.
func TestTransactionsLoseNothing(t *testing.T) {
	d := newDesk(t)
	const clients, each = 8, 10
	done := make(chan error)
	for range clients {
		go func() {
			var err error
			for range each {
				err = errors.Join(err, d.Write(t.Context(), func(tx *store.Tx) error {
					e, err := Get(tx, key("n"))
					if err != nil && agency.KindOf(err) != agency.KindNotFound {
						return err
					}
					_, err = Put(tx, value("n", fmt.Sprint(e.Version+1)))
					return err
				}))
			}
			done <- err
		}()
	}
	for range clients {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	d.see(key("n"), "80:80")
}
