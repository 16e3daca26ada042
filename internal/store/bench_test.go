package store

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// message is the write that the figures are for: what a board does for one
// message.
func message(n int64) func(*Tx) error {
	return func(tx *Tx) error {
		_, err := tx.Exec("INSERT INTO note (token, body) VALUES (?, ?)", strconv.FormatInt(n, 10),
			"a message of about one hundred bytes, as agents send them to each other many times in a session ...")
		return err
	}
}

// senders shares b.N messages among callers that each wait for their own.
func senders(b *testing.B, callers int, send func(int64) error) {
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for range callers {
		wg.Go(func() {
			for {
				n := next.Add(1)
				if n > int64(b.N) {
					return
				}
				if err := send(n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
}

func BenchmarkSend(b *testing.B) {
	for _, c := range []struct {
		name     string
		callers  int
		noGather bool
	}{{"group-64", 64, false}, {"group-64-without-gather", 64, true}, {"group-8", 8, false}, {"lone", 1, false}, {"lone-without-gather", 1, true}} {
		b.Run(c.name, func(b *testing.B) {
			o := at(b)
			o.seams.noGather = c.noGather
			db := open(b, o)
			senders(b, c.callers, func(n int64) error { return db.Write(context.Background(), message(n)) })
		})
	}
	b.Run("one-transaction-a-message-64", func(b *testing.B) {
		o := at(b)
		if err := open(b, o).Close(); err != nil {
			b.Fatal(err)
		}
		db := raw(b, o.Path)
		if _, err := db.Exec("PRAGMA synchronous = FULL"); err != nil {
			b.Fatal(err)
		}
		st, err := db.Prepare("INSERT INTO note (token, body) VALUES (?, ?)")
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = st.Close() }()
		senders(b, 64, func(n int64) error {
			_, err := st.Exec(strconv.FormatInt(n, 10), "a message of about one hundred bytes, as agents send them to each other many times in a session ...")
			return err
		})
	})
}
