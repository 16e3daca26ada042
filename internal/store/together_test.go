package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestTogetherUndoesNoNeighbour: what one item does to the closure that many
// share, and what others do around it, leaves each caller with its own answer.
func TestTogetherUndoesNoNeighbour(t *testing.T) {
	db := open(t, at(t))
	mustWrite(t, db, put("taken"))
	refused := errors.New("refused")
	var kept, shared atomic.Int64
	g := NewTogether(db, func(tx *Tx, items []string, errs []error) error {
		if len(items) > 1 {
			shared.Add(1)
		}
		for i, item := range items {
			what, _, _ := strings.Cut(item, "-")
			switch what {
			case "refused":
				errs[i] = refused
				continue
			case "panic":
				panic("boom")
			case "goexit":
				runtime.Goexit()
			case "fails":
				item = "taken"
			}
			if err := put(item)(tx); err != nil {
				return err
			}
			tx.AfterCommit(func() { kept.Add(1) })
			tx.OnAbort(func() { kept.Add(0) })
		}
		return nil
	})
	want := map[string]func(error) bool{
		"kept":    func(err error) bool { return err == nil },
		"refused": func(err error) bool { return errors.Is(err, refused) },
		"panic":   func(err error) bool { return err != nil && strings.Contains(err.Error(), "panic") },
		"fails":   IsConstraint,
	}
	var wg sync.WaitGroup
	for n := range 20 {
		for what, is := range want {
			if what != "kept" && n%4 != 0 {
				what, is = "kept", want["kept"]
			}
			for k := range 3 {
				item := fmt.Sprintf("%s-%d-%d-%p", what, n, k, &k)
				wg.Go(func() {
					if err := g.Write(context.Background(), item); !is(err) {
						t.Errorf("%s: %v", item, err)
					}
				})
			}
		}
		wg.Go(func() { mustWrite(t, db, put(fmt.Sprint("own-", n))) })
		wg.Go(func() {
			if err := db.Write(context.Background(), func(tx *Tx) error { return errors.Join(put("lost")(tx), refused) }); !errors.Is(err, refused) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	have := tokens(t, db)
	of := map[string]int{}
	for token := range have {
		what, _, _ := strings.Cut(token, "-")
		of[what]++
	}
	if of["kept"] != 3*(20+3*15) || int64(of["kept"]) != kept.Load() || of["own"] != 20 || len(of) != 3 {
		t.Errorf("kept: %v, %d hooks ran", of, kept.Load())
	}
	if shared.Load() == 0 {
		t.Error("nothing was shared")
	}
	// A closure that never returns ends only its own callers.
	if err := g.Write(context.Background(), "goexit"); !errors.Is(err, errGoexit) {
		t.Errorf("goexit: %v", err)
	}
	if err := g.Write(context.Background(), "last"); err != nil || !tokens(t, db)["last"] {
		t.Errorf("after it: %v", err)
	}
}

// TestAFailedShareIsUndoneAtOnce: its abort hooks run before it is tried again,
// and nothing of it is published.
func TestAFailedShareIsUndoneAtOnce(t *testing.T) {
	db := open(t, at(t))
	topic := Topic[string]{Name: "t"}
	var heard []string
	defer Subscribe(db, topic, func(vs []string) { heard = append(heard, vs...) })()
	var log []string
	g := NewTogether(db, func(tx *Tx, items []string, _ []error) error {
		for _, item := range items {
			tx.OnAbort(func() { log = append(log, "undo "+item) })
			log = append(log, "do "+item)
			Publish(tx, topic, item)
			if err := put(strings.TrimSuffix(item, "'"))(tx); err != nil {
				return err
			}
		}
		return nil
	})
	// The two come while a transaction is at work, so that they share the next.
	busy, free := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { mustWrite(t, db, func(*Tx) error { close(busy); <-free; return nil }) })
	<-busy
	wg.Go(func() { _ = g.Write(context.Background(), "a") })
	for len(db.writer.queue.requests) < 1 {
		runtime.Gosched()
	}
	wg.Go(func() {
		if err := g.Write(context.Background(), "a'"); !IsConstraint(err) {
			t.Errorf("a': %v", err)
		}
	})
	for len(db.writer.queue.requests) < 2 {
		runtime.Gosched()
	}
	close(free)
	wg.Wait()
	if got := strings.Join(log, ", "); got != "do a, do a', undo a, undo a', do a, do a', undo a'" {
		t.Error(got)
	}
	if got := strings.Join(heard, " "); got != "a" {
		t.Errorf("heard %s", got)
	}
}
