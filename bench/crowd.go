package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"

	"agency/bench/peer"
	"agency/internal/agency"
	"agency/internal/daemon"
	"agency/internal/session"
	"agency/internal/store"
	"agency/internal/workspace"
)

const (
	crowdSessions = 1000
	crowdTurns    = 10 // of 2 KB each: 20 KB of transcript
	crowdAim      = 150 * 1024
)

// crowdRow lets a thousand sessions run at once in one process, holds them all
// in the request after their last read, and looks at the resident set: its
// growth over the process with an open store, a session. They share one
// checkout, which is only read.
func crowdRow() row {
	return row{figures: []string{"crowd/resident", "crowd/failures"}, measure: measureCrowd}
}

func measureCrowd(ctx context.Context, b *bench) ([]figure, error) {
	gate := &gate{want: crowdSessions, all: make(chan struct{}), open: make(chan struct{})}
	srv, err := serve(turnScript(crowdTurns), false, gate.wrap)
	if err != nil {
		return nil, err
	}
	defer func() { _ = srv.close() }() // nothing depends on it any more
	r, err := b.again(ctx, "crowd", peer.Job{URL: srv.url + "/v1", Sessions: crowdSessions, Turns: crowdTurns})
	if err != nil {
		return nil, err
	}
	each, settled := float64(r.Resident)/crowdSessions, float64(r.Settled)/crowdSessions
	return []figure{
		{"crowd/resident", each / crowdAim, atMost(1), []string{
			fmt.Sprintf("%.1f KB a session, %.1f after a collection", each/1024, settled/1024),
			r.Memory,
			fmt.Sprintf("%.1f s of wall, %.1f s of CPU for %d turns", r.Wall.Seconds(), r.CPU.Seconds(), r.Turns),
		}},
		{"crowd/failures", float64(r.Failures), atMost(0), []string{"first: " + r.Note}},
	}, nil
}

// gate stands before the server and holds each conversation's last request
// until all have come and the contender has looked.
type gate struct {
	want int
	mu   sync.Mutex
	held int
	all  chan struct{} // closed when all are held
	open chan struct{} // closed by the contender
}

func (g *gate) wrap(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/all", func(http.ResponseWriter, *http.Request) { <-g.all })
	mux.HandleFunc("/open", func(http.ResponseWriter, *http.Request) { close(g.open) })
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has left
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		// Inside of a text the quotes are escaped.
		if bytes.Count(body, []byte(`"role":"assistant"`)) >= crowdTurns {
			g.hold()
		}
		next.ServeHTTP(w, r)
	})
	return mux
}

func (g *gate) hold() {
	g.mu.Lock()
	if g.held++; g.held == g.want {
		close(g.all)
	}
	g.mu.Unlock()
	<-g.open
}

// crowdContender holds all of the job's sessions at one time.
func crowdContender(ctx context.Context, job peer.Job) (report peer.Report, err error) {
	daemon.TuneMemory() // as the host does
	model, err := openaiModel(job.URL)
	if err != nil {
		return report, err
	}
	r, err := newRig(ctx, job.Dir, model, notes(job.Turns, 2000))
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if r.shared, err = r.work.Prepare(ctx, "shared", r.base, workspace.Work); err != nil {
		return report, err
	}
	ids := make([]agency.ContractID, job.Sessions)
	if err := r.write(ctx, func(tx *store.Tx) error { return r.contracts(tx, ids) }); err != nil {
		return report, err
	}
	debug.FreeOSMemory()
	before, err := resident()
	if err != nil {
		return report, err
	}
	m := peer.NewMeter(peer.Job{}) // the job's profile is of the heap here
	m.Start()
	var all sync.WaitGroup
	errs := make([]error, len(ids))
	for i, id := range ids {
		all.Go(func() { errs[i] = r.toClaim(ctx, id) })
	}
	grown, settled, memory, lookErr := look(job, before)
	all.Wait()
	m.Stop(len(ids) * (job.Turns + 1))
	report = m.Report()
	report.Resident, report.Settled, report.Memory = grown, settled, memory
	for _, err := range errs {
		if err != nil {
			if report.Failures++; report.Note == "" {
				report.Note = err.Error()
			}
		}
	}
	return report, lookErr
}

func (r *rig) contracts(tx *store.Tx, ids []agency.ContractID) error {
	for i := range ids {
		ids[i] = agency.ContractID(fmt.Sprintf("c%04d", i+1))
		if err := r.contract(tx, ids[i]); err != nil {
			return err
		}
	}
	return nil
}

// toClaim holds a session; anything but a claim is an error.
func (r *rig) toClaim(ctx context.Context, id agency.ContractID) error {
	out, err := r.hold(ctx, id, 1)
	if err == nil && out.Kind != session.Claimed {
		err = fmt.Errorf("session of %s ended as %s: %s", id, out.Kind, out.Reason)
	}
	return err
}

// look waits until all sessions are held, measures, and lets them go. What the
// memory is used for is told of the process after a collection.
func look(job peer.Job, before int64) (grown, settled int64, memory string, err error) {
	root := strings.TrimSuffix(job.URL, "/v1")
	if err := get(root + "/all"); err != nil {
		return 0, 0, "", err
	}
	now, err := resident()
	debug.FreeOSMemory()
	after, afterErr := resident()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	memory = fmt.Sprintf("%.1f KB live heap, %.1f KB heap spans, %.1f KB stacks, %.1f KB of the runtime", kb(m.HeapAlloc), kb(m.HeapInuse), kb(m.StackInuse), kb(m.MSpanInuse+m.GCSys+m.OtherSys))
	return now - before, after - before, memory, errors.Join(err, afterErr, writeHeap(job.Profile), get(root+"/open"))
}

// kb is a number of bytes as kilobytes a session.
func kb(bytes uint64) float64 { return float64(bytes) / 1024 / crowdSessions }

// writeHeap writes what the process holds to a file; empty: nowhere.
func writeHeap(path string) error {
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(pprof.WriteHeapProfile(f), f.Close())
}

func get(url string) error {
	res, err := http.Get(url)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// resident is the process's resident set in bytes.
func resident() (int64, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, fmt.Errorf("resident set: %w", err)
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, fmt.Errorf("resident set: %q", text)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}
