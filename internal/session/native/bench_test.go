//go:build linux

package native

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"sync"
	"testing"

	"agency/internal/budget"
	"agency/internal/llm"
	"agency/internal/session"
	"agency/internal/store"

	"golang.org/x/sys/unix"
)

func cpu() int64 {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkTurn is what a durable turn without file changes costs beside the
// model: two transactions, one read of a file.
func BenchmarkTurn(b *testing.B) {
	look := calls("read_file", `{"path":"main.txt"}`)
	k := newKit(b, budget.Limits{})
	k.model.say = []any{look}
	k.lineup.Model = forever{look}
	k.setup.Limits.Turns, k.setup.Limits.Tokens = b.N, 0
	k.setup.Limits.Seconds = 0
	before := cpu()
	b.ResetTimer()
	out, err := k.do(b.Context(), spec())
	if err != nil || out.Cause != session.CauseTurns {
		b.Fatal(out, err)
	}
	b.ReportMetric(float64(cpu()-before)/float64(b.N)/1e3, "cpu-µs/turn")
	began := cpu()
	for i := range b.N {
		must(b, k.db.Write(b.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec(`INSERT INTO session_message (session_id, seq, turn, blob) VALUES ('bare', ?, 1, 'x')`, i)
			return err
		}))
	}
	b.ReportMetric(float64(cpu()-began)/float64(b.N)/1e3, "cpu-µs/bare-commit")
}

// forever gives the same answer again and again.
type forever struct{ answer llm.Answer }

func (f forever) Ask(context.Context, llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) { yield(llm.Done{Answer: f.answer}, nil) }
}

// TestManyIdleSessions: sessions that wait for their model hold at
// most 150 KB each, with transcripts of 20 KB.
func TestManyIdleSessions(t *testing.T) {
	const n = 200 // each takes a snapshot of one workspace, one after the other
	k := newKit(t, budget.Limits{})
	long := calls("read_file", `{"path":"big.txt"}`)
	idle := &idleModel{first: long, release: make(chan struct{}), arrived: make(chan struct{}, n)}
	k.lineup.Model = idle
	must(t, writeBig(t, k))
	// One session first, so that what all share is there already.
	warm := spec()
	warm.Attempt = n + 1
	ctx, cancel := context.WithCancel(withScope(t, k))
	var wg sync.WaitGroup
	process := k.process(nil)
	start := func(s session.Spec) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if _, err := process(ctx, "", s); ctx.Err() == nil {
				t.Errorf("%s ended: %v", s.ID(), err)
				idle.arrived <- struct{}{}
			}
		}()
	}
	start(warm)
	<-idle.arrived
	before := resident()
	for i := range n {
		s := spec()
		s.Attempt = i + 1
		start(s)
	}
	for range n {
		<-idle.arrived
	}
	each := (resident() - before) / int64(n)
	cancel()
	wg.Wait()
	t.Logf("%d bytes a session", each)
	if each > 150<<10 {
		t.Errorf("%d bytes a session", each)
	}
}

func writeBig(t *testing.T, k *stage) error {
	w, err := k.Toolset(t.Context(), spec())
	if err != nil {
		return err
	}
	defer func() { _ = w.Files.Close() }()
	_, err = toolNamed("write_file").Run(t.Context(), k.toolEnv(w),
		[]byte(fmt.Sprintf(`{"path":"big.txt","content":%q}`, strings.Repeat("twenty kilobytes of text\n", 650))))
	return err
}

func resident() int64 {
	for range 3 { // pools are emptied by the second
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// idleModel answers the first turn and then waits.
type idleModel struct {
	first   llm.Answer
	release chan struct{}
	arrived chan struct{}
}

func (m *idleModel) Ask(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if len(req.Messages) == 1 {
			yield(llm.Done{Answer: m.first}, nil)
			return
		}
		m.arrived <- struct{}{}
		<-ctx.Done()
		yield(nil, ctx.Err())
	}
}
