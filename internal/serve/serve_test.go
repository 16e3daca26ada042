package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/stream"
)

// house is a working host of one run in memory; changed counts what a request
// that only looks must not do.
type house struct {
	mu      sync.Mutex
	run     api.RunDoc
	events  []agency.Event
	more    chan struct{}
	changed int
	busy    atomic.Int64
	idle    chan struct{} // told when no request is left
	got     api.AnswerRequest
	// contracts are those of the run.
	contracts []api.ContractDoc
	said      *stream.Hub
	socket    string // at which open serves it
}

func newHouse(n int) *house {
	h := &house{
		run: api.RunDoc{ID: "run-1", Goal: "g", State: agency.StateRunning}, more: make(chan struct{}), idle: make(chan struct{}, 1),
		said: stream.New(func() *agency.Redactor { return nil }, time.Now),
	}
	for i := range n {
		h.events = append(h.events, agency.Event{ID: int64(i + 1), RunID: "run-1", Type: "log", Summary: strings.Repeat("x", 1000)})
	}
	return h
}

func (h *house) known(run agency.RunID) error {
	if run != h.run.ID {
		return agency.Errorf(agency.KindNotFound, "run %s is not known here", run).WithMend("agency ps")
	}
	return nil
}

func (h *house) change() (api.RunDoc, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changed++
	return h.run, nil
}

func (h *house) DiskUse(context.Context) (map[agency.RunID]int64, error) {
	return map[agency.RunID]int64{h.run.ID: 4096}, nil
}

func (h *house) Decisions(_ context.Context, run agency.RunID) ([]agency.SharedDecision, error) {
	return []agency.SharedDecision{{Key: "k", Run: run}}, nil
}

func (h *house) Keep(_ context.Context, r api.KeepRequest) ([]agency.KeptDecision, error) {
	_, err := h.change()
	return []agency.KeptDecision{{SharedDecision: agency.SharedDecision{Key: strings.Join(r.Keys, ","), Run: r.Run, KeptBy: r.By}, Same: r.Drop}}, err
}

func (h *house) Outcomes(context.Context) ([]agency.Outcome, error) { return nil, nil }

func (h *house) Runs(context.Context) ([]api.RunDoc, error) { return []api.RunDoc{h.run}, nil }
func (h *house) Inspect(_ context.Context, run agency.RunID, _ ...api.Extent) (api.InspectDoc, error) {
	return api.InspectDoc{RunDoc: h.run, Contracts: h.contracts}, h.known(run)
}

func (h *house) Cost(_ context.Context, run agency.RunID, of ...api.Extent) (api.CostDoc, error) {
	return api.CostDoc{ByRole: map[string]api.Spend{string(api.OneOf(of)): {}}}, h.known(run)
}

func (h *house) Diff(context.Context, agency.RunID) (api.DiffDoc, error) { return api.DiffDoc{}, nil }

func (h *house) Transcript(_ context.Context, _ agency.RunID, s agency.SessionID, turn ...int) (api.TranscriptDoc, error) {
	return api.TranscriptDoc{Session: api.SessionDoc{ID: s}}, nil
}

func (h *house) Messages(context.Context, agency.RunID) ([]api.MessageDoc, error) { return nil, nil }

func (h *house) Gates(context.Context, agency.RunID) ([]agency.Gate, error) { return nil, nil }

func (h *house) Copy(context.Context, agency.RunID) (api.CopyDoc, error) { return api.CopyDoc{}, nil }

func (h *house) Events(ctx context.Context, q api.EventQuery) iter.Seq2[agency.Event, error] {
	return func(yield func(agency.Event, error) bool) {
		for _, ev := range h.events {
			if ev.ID > q.After && !yield(ev, nil) {
				return
			}
		}
		if !q.Follow {
			return
		}
		select {
		case <-ctx.Done():
		case <-h.more:
			yield(agency.Event{}, agency.Errorf(agency.KindTransient, "disk full"))
		}
	}
}

func (h *house) Stream(ctx context.Context, run agency.RunID) iter.Seq2[api.Delta, error] {
	return func(yield func(api.Delta, error) bool) {
		if err := h.known(run); err != nil {
			yield(api.Delta{}, err)
			return
		}
		tail := h.said.Tail(run)
		defer tail.Close()
		for {
			said, err := tail.Next(ctx)
			for _, d := range said {
				if !yield(d, nil) {
					return
				}
			}
			if err != nil {
				yield(api.Delta{}, err)
				return
			}
		}
	}
}

func (h *house) Start(context.Context, api.RunRequest) (api.RunStarted, error) {
	run, err := h.change()
	return api.RunStarted{Run: run}, err
}

func (h *house) Resume(context.Context, agency.RunID, api.ResumeRequest) (api.RunDoc, error) {
	return h.change()
}

func (h *house) Merge(context.Context, agency.RunID, api.ByRequest) (api.RunDoc, error) {
	return h.change()
}

func (h *house) Remove(context.Context, agency.RunID, api.ByRequest) error {
	_, err := h.change()
	return err
}

func (h *house) Pause(context.Context, agency.RunID, api.ByRequest) (api.RunDoc, error) {
	return h.change()
}

func (h *house) Cancel(context.Context, agency.RunID, api.ByRequest) (api.RunDoc, error) {
	return h.change()
}

func (h *house) Answer(_ context.Context, _ agency.RunID, r api.AnswerRequest) (api.Answered, error) {
	h.got = r
	run, err := h.change()
	return api.Answered{Run: run}, err
}

func (h *house) Say(context.Context, agency.RunID, api.SayRequest) (api.SaidDoc, error) {
	_, err := h.change()
	return api.SaidDoc{Message: agency.Message{Status: agency.MailPending}}, err
}

func (h *house) Free(context.Context, agency.RunID, api.FreeRequest) (agency.Reservation, error) {
	_, err := h.change()
	return agency.Reservation{}, err
}

func (h *house) Choose(context.Context, agency.RunID, api.ModelRequest) (api.ModelDoc, error) {
	_, err := h.change()
	return api.ModelDoc{}, err
}
func (h *house) Hello() api.Hello { return api.Hello{Wire: api.Wire, PID: os.Getpid()} }
func (h *house) Drain(context.Context) (api.DrainDoc, error) {
	_, err := h.change()
	return api.DrainDoc{}, err
}

func (h *house) Hide([]string) {}

func (h *house) Begin() func() {
	h.busy.Add(1)
	return func() {
		if h.busy.Add(-1) > 0 {
			return
		}
		select {
		case h.idle <- struct{}{}:
		default:
		}
	}
}

// token is that of every server here.
const token = api.Token("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")

func (h *house) server(write time.Duration) *Server {
	return New(Options{View: h, Copy: h, Work: h, Steer: h, Keep: h, Lifecycle: h, WriteTimeout: write, Token: token})
}

// open serves h on a socket of its own and gives a client for it.
func open(t *testing.T, h *house) *api.Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "h.sock")
	h.socket = path
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.server(200*time.Millisecond).Serve(ctx, l) }()
	file := filepath.Join(dir, "host.token")
	if err := token.Write(file); err != nil {
		t.Fatal(err)
	}
	c := api.Dial(path, file)
	t.Cleanup(func() {
		c.Close()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if n := h.busy.Load(); n != 0 {
			t.Errorf("%d requests never ended", n)
		}
	})
	return c
}

func TestClientAndServerAgree(t *testing.T) {
	h := newHouse(3)
	c := open(t, h)
	ctx := t.Context()
	doc, err := c.Inspect(ctx, "run-1")
	if err != nil || doc.Goal != "g" {
		t.Fatalf("Inspect: %v %v", doc, err)
	}
	want := api.AnswerRequest{Verb: agency.Approve, Note: "n\x1b", BudgetUSD: 2.5, By: "me", Secrets: map[string]string{"p": "k"}}
	if _, err := c.Answer(ctx, "run-1", want); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, h.got); d != "" {
		t.Error(d)
	}
	tr, err := c.Transcript(ctx, "run-1", "run-1/main/attempt 1&x=?")
	if err != nil || tr.Session.ID != "run-1/main/attempt 1&x=?" {
		t.Errorf("Transcript: %v %v", tr.Session.ID, err)
	}
	if _, err := c.Start(ctx, api.RunRequest{ID: "run-2", Config: json.RawMessage("{}")}); err != nil {
		t.Error(err)
	}
	if err := c.Remove(ctx, "run-1", api.ByRequest{}); err != nil {
		t.Error(err)
	}
	for _, run := range []agency.RunID{"run-1", ""} {
		if all, err := c.Decisions(ctx, run); err != nil || len(all) != 1 || all[0].Run != run {
			t.Errorf("Decisions of %q: %v %v", run, all, err)
		}
	}
	if _, err := c.Decisions(ctx, "a/../b"); agency.KindOf(err) != agency.KindInvalid {
		t.Errorf("Decisions of no run's name: %v", err)
	}
	kept, err := c.Keep(ctx, api.KeepRequest{Run: "run-1", Keys: []string{"a", "b"}, Drop: true, By: "me"})
	if err != nil || len(kept) != 1 || kept[0].Key != "a,b" || kept[0].Run != "run-1" || kept[0].KeptBy != "me" || !kept[0].Same {
		t.Errorf("Keep: %+v %v", kept, err)
	}
}

// A run is asked for whole or as a tree, and in no other extent.
func TestExtentOfARun(t *testing.T) {
	h := newHouse(0)
	h.contracts = []api.ContractDoc{{Contract: agency.Contract{ID: "c1", Title: "part", Description: "all of it", Attempts: 2}}}
	c := open(t, h)
	whole, err := c.Inspect(t.Context(), "run-1")
	if err != nil || len(whole.Contracts) != 1 || whole.Contracts[0].Description != "all of it" {
		t.Errorf("whole: %+v %v", whole.Contracts, err)
	}
	tree, err := c.Inspect(t.Context(), "run-1", api.Tree)
	if err != nil || tree.Goal != "g" || len(tree.Contracts) != 1 || tree.Contracts[0].Title != "part" || tree.Contracts[0].Attempts != 2 || tree.Contracts[0].Description != "" {
		t.Errorf("tree: %+v %v", tree.Contracts, err)
	}
	if _, err := c.Inspect(t.Context(), "run-1", "half"); agency.KindOf(err) != agency.KindInvalid {
		t.Errorf("an extent that there is not: %v", err)
	}
	for _, of := range []api.Extent{api.Whole, api.Tree} {
		cost, err := c.Cost(t.Context(), "run-1", of)
		if _, asked := cost.ByRole[string(of)]; !asked || err != nil {
			t.Errorf("the cost in extent %q: %v %v", of, cost, err)
		}
	}
	if _, err := c.Cost(t.Context(), "run-1", "half"); agency.KindOf(err) != agency.KindInvalid {
		t.Errorf("the cost in an extent that there is not: %v", err)
	}
	if _, err := c.Inspect(t.Context(), "run-9", api.Tree); agency.KindOf(err) != agency.KindNotFound {
		t.Errorf("the tree of a run that there is not: %v", err)
	}
}

func TestErrorsKeepKindTextAndMend(t *testing.T) {
	c := open(t, newHouse(0))
	_, err := c.Inspect(t.Context(), "run-9")
	if agency.KindOf(err) != agency.KindNotFound || agency.MendOf(err) != "agency ps" || err.Error() != "run run-9 is not known here" {
		t.Errorf("got %v kind %v mend %q", err, agency.KindOf(err), agency.MendOf(err))
	}
	if api.Unreachable(err) {
		t.Error("an answer was taken for a host that is gone")
	}
}

func TestNoHostIsUnreachable(t *testing.T) {
	c := api.Dial(filepath.Join(t.TempDir(), "none.sock"), "none")
	defer c.Close()
	_, err := c.Hello(t.Context())
	if !api.Unreachable(err) || agency.KindOf(err) != agency.KindTransient {
		t.Errorf("got %v", err)
	}
	for _, err := range c.Events(t.Context(), api.EventQuery{Follow: true}) {
		if !api.Unreachable(err) {
			t.Errorf("events: got %v", err)
		}
	}
}

func TestEventsAreCompleteAndResumable(t *testing.T) {
	h := newHouse(500)
	c := open(t, h)
	var after int64
	for len := range 3 { // leave early twice, as a client that dies does
		for ev, err := range c.Events(t.Context(), api.EventQuery{Run: "run-1", After: after}) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.ID != after+1 {
				t.Fatalf("after %d came %d", after, ev.ID)
			}
			after = ev.ID
			if len < 2 && after%100 == 0 {
				break
			}
		}
	}
	if after != 500 {
		t.Errorf("ended at %d", after)
	}
}

func TestEventsEndWithTheirError(t *testing.T) {
	h := newHouse(1)
	c := open(t, h)
	close(h.more)
	var last error
	for _, err := range c.Events(t.Context(), api.EventQuery{Follow: true}) {
		last = err
	}
	if last == nil || last.Error() != "disk full" || agency.KindOf(last) != agency.KindTransient {
		t.Errorf("got %v", last)
	}
}

// A reader that stops reading is cut off; the others do not notice it.
func TestStuckReaderHoldsNobody(t *testing.T) {
	h := newHouse(3000)
	c := open(t, h)
	stuck, err := net.Dial("unix", h.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stuck.Close() }()
	_, _ = fmt.Fprintf(stuck, "GET /v1/events?run=run-1 HTTP/1.1\r\nHost: agency\r\nConnection: close\r\nAgency-Wire: %d\r\nAuthorization: Bearer %s\r\n\r\n", api.Wire, string(token))
	if _, err := io.ReadFull(stuck, make([]byte, 1)); err != nil { // its request has begun
		t.Fatal(err)
	}
	var seen int64
	for seen < 3000 { // on a machine that is busy this reader may be cut too: it asks again
		for ev, err := range c.Events(t.Context(), api.EventQuery{After: seen}) {
			if err != nil && !api.Unreachable(err) {
				t.Fatal(err)
			}
			if err == nil && ev.ID != seen+1 {
				t.Fatalf("after %d came %d", seen, ev.ID)
			}
			seen = max(seen, ev.ID)
		}
	}
	<-h.idle // the server gave the stuck reader up; only now may that one read on
	b, err := io.ReadAll(stuck)
	if err != nil || bytes.Count(b, []byte("\n")) >= 3000 {
		t.Errorf("the stuck reader got all: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	wire := fmt.Sprint(api.Wire)
	tests := []struct {
		name, method, path, body string
		header                   map[string]string
		status                   int
		text                     string
	}{
		{"wire", "GET", "/v1/runs", "", map[string]string{"Agency-Wire": "0"}, 409, "speaks wire version"},
		{"no wire", "GET", "/v1/runs", "", map[string]string{"Agency-Wire": ""}, 409, "speaks wire version"},
		{"host", "GET", "http://evil.example/v1/runs", "", nil, 403, "evil.example"},
		{"host with a port", "GET", "http://agency:80/hello", "", nil, 403, "agency:80"},
		{"no host", "GET", "http://agency/hello", "", map[string]string{"Host": ""}, 403, "host"},
		{"page", "GET", "/v1/runs", "", map[string]string{"Origin": "http://127.0.0.1"}, 403, "browser"},
		{"page's fetch", "POST", "/v1/runs/run-1/cancel", "{}", map[string]string{"Sec-Fetch-Site": "none"}, 403, "browser"},
		{"form", "POST", "/v1/runs/run-1/cancel", "{}", map[string]string{"Content-Type": "text/plain"}, 400, "application/json"},
		{"get cancels", "GET", "/v1/runs/run-1/cancel", "", nil, 404, "not known"},
		{"get starts", "GET", "/drain", "", nil, 404, "not known"},
		{"no token", "GET", "/hello", "", map[string]string{"Authorization": ""}, 401, "token"},
		{"not json", "POST", "/v1/runs/run-1/cancel", "x", nil, 400, "body"},
		{"two documents", "POST", "/v1/runs/run-1/cancel", "{}{}", nil, 400, "follows"},
		{"unknown field", "POST", "/v1/runs/run-1/cancel", `{"x":1}`, nil, 400, "unknown field"},
		{"large", "POST", "/v1/runs/run-1/say", `{"text":"` + strings.Repeat("a", MaxBody) + `"}`, nil, 400, "larger than"},
		{"path", "GET", "/v1/runs/..%2f..%2fx", "", nil, 400, "run id"},
		{"unknown", "GET", "/v2/x", "", nil, 404, "not known"},
		{"after", "GET", "/v1/events?after=-1", "", nil, 400, "after"},
		{"events of no run", "GET", "/v1/events?run=A", "", nil, 400, "run id"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHouse(1)
			r := httptest.NewRequest(tt.method, tt.path, strings.NewReader(tt.body))
			r.Header.Set("Agency-Wire", wire)
			r.Header.Set("Authorization", "Bearer "+string(token))
			r.Header.Set("Content-Type", "application/json")
			if strings.HasPrefix(tt.path, "/") {
				r.Host = api.HostName
			}
			for k, v := range tt.header {
				r.Header.Set(k, v)
			}
			if host, given := tt.header["Host"]; given {
				r.Host = host
			}
			w := httptest.NewRecorder()
			h.server(0).ServeHTTP(w, r)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.text) {
				t.Errorf("got %d %s", w.Code, w.Body)
			}
			if h.changed != 0 {
				t.Error("it changed something")
			}
		})
	}
}

// No request with GET changes anything, whatever its path.
func TestGetChangesNothing(t *testing.T) {
	h := newHouse(1)
	s := h.server(0)
	for _, p := range []string{"", "/cost", "/diff", "/gates", "/messages", "/copy", "/transcript?session=s", "/resume", "/pause", "/cancel", "/answer", "/say", "/merge", "/remove"} {
		r := httptest.NewRequest(http.MethodGet, "/v1/runs/run-1"+p, nil)
		r.Header.Set("Agency-Wire", fmt.Sprint(api.Wire))
		r.Header.Set("Authorization", "Bearer "+string(token))
		r.Host = api.HostName
		s.ServeHTTP(httptest.NewRecorder(), r)
	}
	if h.changed != 0 {
		t.Errorf("%d changes", h.changed)
	}
}

// When two connections end at once, the last count told is the true one: a host
// that was told of one too many would never be idle.
func TestConnectionsAreToldInOrder(t *testing.T) {
	var last int
	var other sync.WaitGroup
	var state func(net.Conn, http.ConnState)
	closing := false
	state = counter(&unproved{}, func(n int) {
		if closing && n == 1 {
			other.Go(func() { state(nil, http.StateClosed) })
			for range 1000 {
				runtime.Gosched() // time enough for the other to be faster
			}
		}
		last = n
	})
	state(nil, http.StateNew)
	state(nil, http.StateNew)
	closing = true
	state(nil, http.StateClosed)
	other.Wait()
	if last != 0 {
		t.Errorf("%d connections are told where none is left", last)
	}
}

func TestSocketIsPrivate(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "h.sock")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = Listen(path)
	if agency.KindOf(err) != agency.KindDenied || agency.MendOf(err) == "" {
		t.Errorf("a folder that others can enter: %v", err)
	}
	link := filepath.Join(t.TempDir(), "l")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if err := CheckFolder(link); agency.KindOf(err) != agency.KindDenied {
		t.Errorf("a link: %v", err)
	}
}

func TestOtherUsersAreRefused(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "p.sock"))
	if err != nil {
		t.Fatal(err)
	}
	own := OwnPeers(l, slog.New(slog.DiscardHandler)).(peers)
	own.uid++ // as if the host belonged to somebody else
	accepted := make(chan error, 1)
	go func() { _, err := own.Accept(); accepted <- err }()
	c, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the connection stayed open: %v", err)
	}
	_ = l.Close()
	if err := <-accepted; !errors.Is(err, net.ErrClosed) {
		t.Errorf("accepted: %v", err)
	}
}

func FuzzServe(f *testing.F) {
	f.Add("POST", "/v1/runs", `{"id":"run-1","goal":"g"}`)
	f.Add("GET", "/v1/events?after=1&follow=0", "")
	f.Add("POST", "/v1/runs/run-1/answer", `{"verb":"approve"}`)
	h := newHouse(2)
	s := h.server(0)
	f.Fuzz(func(t *testing.T, method, path, body string) {
		r, err := http.NewRequest(method, "http://agency"+path, strings.NewReader(body))
		if err != nil {
			return
		}
		r.Header.Set("Agency-Wire", fmt.Sprint(api.Wire))
		r.Header.Set("Authorization", "Bearer "+string(token))
		r.Header.Set("Content-Type", "application/json")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r.WithContext(ctx))
		if w.Code >= 500 {
			t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
	})
}
