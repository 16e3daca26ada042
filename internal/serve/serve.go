// Package serve answers the requests of package api over HTTP: it checks who
// asks, how large a request is and that a request that only looks changes
// nothing, and hands the rest to small interfaces.
//
// It decides nothing about runs and keeps no state but the count of requests
// in flight. It listens on a unix socket that belongs to one user, and answers
// those of this user's processes that know the token of the host's start.
package serve

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
)

// Worker starts runs and ends them.
type Worker interface {
	Start(ctx context.Context, r api.RunRequest) (api.RunStarted, error)
	Resume(ctx context.Context, run agency.RunID, r api.ResumeRequest) (api.RunDoc, error)
	Merge(ctx context.Context, run agency.RunID, r api.ByRequest) (api.RunDoc, error)
	Remove(ctx context.Context, run agency.RunID, r api.ByRequest) error
}

// Steerer changes the course of a run.
type Steerer interface {
	Pause(ctx context.Context, run agency.RunID, r api.ByRequest) (api.RunDoc, error)
	Cancel(ctx context.Context, run agency.RunID, r api.ByRequest) (api.RunDoc, error)
	Answer(ctx context.Context, run agency.RunID, r api.AnswerRequest) (api.Answered, error)
	Say(ctx context.Context, run agency.RunID, r api.SayRequest) (api.SaidDoc, error)
}

// Keeper has what agents decided together stand in later runs, and takes names from them.
type Keeper interface {
	Keep(ctx context.Context, r api.KeepRequest) ([]agency.KeptDecision, error)
	Free(ctx context.Context, run agency.RunID, r api.FreeRequest) (agency.Reservation, error)
}

// Lifecycle is the host's own life.
type Lifecycle interface {
	Hello() api.Hello
	// Drain answers when every run stands still, and the host then leaves.
	Drain(ctx context.Context) (api.DrainDoc, error)
	// Begin is called when a request begins, its result when it ends.
	Begin() (end func())
	// Hide keeps texts out of everything that is written from now on.
	Hide(texts []string)
}

// Copier has the configuration that a run keeps.
type Copier interface {
	Copy(ctx context.Context, run agency.RunID) (api.CopyDoc, error)
	Choose(ctx context.Context, run agency.RunID, r api.ModelRequest) (api.ModelDoc, error)
}

// Options are what a Server serves.
type Options struct {
	View      api.View
	Copy      Copier
	Work      Worker
	Steer     Steerer
	Keep      Keeper
	Lifecycle Lifecycle
	// Token is what every request must carry; without one all are refused.
	Token api.Token
	// Connections, where set, is told how many clients are connected whenever
	// that changes.
	Connections func(int)
	// Log takes what went wrong while answering; nil discards it.
	Log *slog.Logger
	// WriteTimeout bounds one write to a reader that does not read; 30 s.
	WriteTimeout time.Duration
}

// MaxBody bounds the body of a request in bytes.
const MaxBody = 24 << 20

// Server is the handlers over one host.
type Server struct {
	o        Options
	mux      *http.ServeMux
	patterns []string // that are answered
}

// New makes a server; it does no I/O.
func New(o Options) *Server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.WriteTimeout == 0 {
		o.WriteTimeout = 30 * time.Second
	}
	s := &Server{o: o, mux: http.NewServeMux()}
	s.routes()
	return s
}

// routes is the whole api. What only looks is GET; everything else is POST.
func (s *Server) routes() {
	s.handle("GET /hello", answer(s, func(*http.Request) (api.Hello, error) { return s.o.Lifecycle.Hello(), nil }))
	s.handle("POST /drain", answer(s, func(r *http.Request) (api.DrainDoc, error) { return s.o.Lifecycle.Drain(r.Context()) }))

	s.handle("POST /v1/hide", answer(s, s.hide))

	v := s.o.View
	s.handle("GET /v1/runs", answer(s, func(r *http.Request) ([]api.RunDoc, error) { return v.Runs(r.Context()) }))
	s.handle("GET /v1/disk", answer(s, func(r *http.Request) (map[agency.RunID]int64, error) { return v.DiskUse(r.Context()) }))
	s.handle("GET /v1/outcomes", answer(s, func(r *http.Request) ([]agency.Outcome, error) { return v.Outcomes(r.Context()) }))
	s.handle("GET /v1/decisions", answer(s, s.decisions))
	s.handle("GET /v1/runs/{run}", s.inspect)
	s.handle("GET /v1/runs/{run}/cost", answer(s, s.cost))
	s.handle("GET /v1/runs/{run}/diff", look(s, v.Diff))
	s.handle("GET /v1/runs/{run}/messages", look(s, v.Messages))
	s.handle("GET /v1/runs/{run}/gates", look(s, v.Gates))
	s.handle("GET /v1/runs/{run}/copy", look(s, s.o.Copy.Copy))
	s.handle("GET /v1/runs/{run}/transcript", answer(s, s.transcript))
	s.handle("GET /v1/runs/{run}/stream", s.stream)
	s.handle("GET /v1/events", s.events)

	s.handle("POST /v1/runs", answer(s, s.start))
	s.handle("POST /v1/decisions", answer(s, s.keep))
	s.handle("POST /v1/runs/{run}/resume", change(s, s.o.Work.Resume))
	s.handle("POST /v1/runs/{run}/merge", change(s, s.o.Work.Merge))
	s.handle("POST /v1/runs/{run}/remove", change(s, s.remove))
	s.handle("POST /v1/runs/{run}/pause", change(s, s.o.Steer.Pause))
	s.handle("POST /v1/runs/{run}/cancel", change(s, s.o.Steer.Cancel))
	s.handle("POST /v1/runs/{run}/answer", change(s, s.o.Steer.Answer))
	s.handle("POST /v1/runs/{run}/release", change(s, s.free))
	s.handle("POST /v1/runs/{run}/model", change(s, s.o.Copy.Choose))
	s.handle("POST /v1/runs/{run}/say", change(s, s.o.Steer.Say))
	s.handle("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, agency.Errorf(agency.KindNotFound, "%s %s is not known to this version", r.Method, r.URL.Path))
	})
}

func (s *Server) handle(pattern string, h http.HandlerFunc) {
	s.patterns = append(s.patterns, pattern)
	s.mux.HandleFunc(pattern, h)
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := api.Admit(r, api.HostName); err != nil {
		s.fail(w, err)
		return
	}
	if !s.knows(r) { // before anything is looked at or counted: no route can forget it
		w.Header().Set("WWW-Authenticate", "Bearer")
		s.failAs(w, http.StatusUnauthorized, api.Denied(os.Getpid()))
		return
	}
	proved(r)
	defer s.o.Lifecycle.Begin()()
	if err := speaks(r); err != nil {
		s.fail(w, err)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, MaxBody)
	s.mux.ServeHTTP(w, r)
}

// knows tells whether a request carries the token, in a time that does not
// depend on how much of it is right.
func (s *Server) knows(r *http.Request) bool {
	said, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && s.o.Token != "" && subtle.ConstantTimeCompare([]byte(said), []byte(s.o.Token)) == 1
}

// speaks refuses another version of the wire.
func speaks(r *http.Request) error {
	if r.URL.Path == "/hello" || r.URL.Path == "/drain" {
		return nil
	}
	if have := r.Header.Get("Agency-Wire"); have != strconv.Itoa(api.Wire) {
		return agency.Errorf(agency.KindConflict, "the host speaks wire version %d, the client %q", api.Wire, have).
			WithMend("use one build of agency, or wait until the host is idle and leaves")
	}
	return nil
}

// Serve answers connections of l until ctx ends, then lets requests in flight
// end for a second and returns. Connections of other users are refused.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	waiting := &unproved{}
	hs := &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 8 << 10, // ours are below one
		ConnContext: waiting.accepted, ConnState: counter(waiting, s.o.Connections),
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    slog.NewLogLogger(s.o.Log.Handler(), slog.LevelWarn),
	}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if hs.Shutdown(end) != nil {
			_ = hs.Close() // the readers that are left have had their second
		}
	})
	err := hs.Serve(OwnPeers(l, s.o.Log))
	if !stop() {
		<-stopped
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// counter counts open connections; clients keep theirs while they live. It
// tells in the order in which it counts: a count told late would stay.
func counter(waiting *unproved, tell func(int)) func(net.Conn, http.ConnState) {
	var mu sync.Mutex
	open := 0
	return func(c net.Conn, state http.ConnState) {
		if state == http.StateClosed || state == http.StateHijacked {
			waiting.drop(c)
		}
		if tell == nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		switch state {
		case http.StateNew:
			open++
		case http.StateClosed, http.StateHijacked:
			open--
		default:
			return
		}
		tell(open)
	}
}

func look[T any](s *Server, fn func(context.Context, agency.RunID) (T, error)) http.HandlerFunc {
	return answer(s, func(r *http.Request) (T, error) {
		run, err := runOf(r)
		if err != nil {
			var none T
			return none, err
		}
		return fn(r.Context(), run)
	})
}

// inspect answers with a run, whole or in the extent that is asked for.
func (s *Server) inspect(w http.ResponseWriter, r *http.Request) {
	of, err := api.ParseExtent(r.URL.Query())
	if err != nil {
		s.fail(w, err)
		return
	}
	doc := func(r *http.Request) (api.InspectDoc, error) {
		run, err := runOf(r)
		if err != nil {
			return api.InspectDoc{}, err
		}
		return s.o.View.Inspect(r.Context(), run, of)
	}
	if of == api.Tree {
		answerAs(s, "application/octet-stream", api.EncodeTree, doc)(w, r)
		return
	}
	answer(s, doc)(w, r)
}

func (s *Server) cost(r *http.Request) (api.CostDoc, error) {
	of, err := api.ParseExtent(r.URL.Query())
	if err != nil {
		return api.CostDoc{}, err
	}
	run, err := runOf(r)
	if err != nil {
		return api.CostDoc{}, err
	}
	return s.o.View.Cost(r.Context(), run, of)
}

func change[I, O any](s *Server, fn func(context.Context, agency.RunID, I) (O, error)) http.HandlerFunc {
	return answer(s, func(r *http.Request) (O, error) {
		var none O
		run, err := runOf(r)
		if err != nil {
			return none, err
		}
		in, err := body[I](r)
		if err != nil {
			return none, err
		}
		return fn(r.Context(), run, in)
	})
}

func (s *Server) start(r *http.Request) (api.RunStarted, error) {
	in, err := body[api.RunRequest](r)
	if err != nil {
		return api.RunStarted{}, err
	}
	return s.o.Work.Start(r.Context(), in)
}

func (s *Server) hide(r *http.Request) (struct{}, error) {
	in, err := body[api.HideRequest](r)
	if err == nil {
		s.o.Lifecycle.Hide(in.Texts)
	}
	return struct{}{}, err
}

func (s *Server) decisions(r *http.Request) ([]agency.SharedDecision, error) {
	run := agency.RunID(r.URL.Query().Get("run"))
	if run != "" {
		if err := agency.CheckRunID(run); err != nil {
			return nil, err
		}
	}
	return s.o.View.Decisions(r.Context(), run)
}

func (s *Server) keep(r *http.Request) ([]agency.KeptDecision, error) {
	in, err := body[api.KeepRequest](r)
	if err != nil {
		return nil, err
	}
	return s.o.Keep.Keep(r.Context(), in)
}

func (s *Server) free(ctx context.Context, run agency.RunID, r api.FreeRequest) (agency.Reservation, error) {
	return s.o.Keep.Free(ctx, run, r)
}

func (s *Server) remove(ctx context.Context, run agency.RunID, in api.ByRequest) (struct{}, error) {
	return struct{}{}, s.o.Work.Remove(ctx, run, in)
}

func (s *Server) transcript(r *http.Request) (api.TranscriptDoc, error) {
	run, err := runOf(r)
	if err != nil {
		return api.TranscriptDoc{}, err
	}
	q := r.URL.Query()
	turn, _ := strconv.Atoi(q.Get("turn")) // none: all of them
	return s.o.View.Transcript(r.Context(), run, agency.SessionID(q.Get("session")), turn)
}

func runOf(r *http.Request) (agency.RunID, error) {
	run := agency.RunID(r.PathValue("run"))
	return run, agency.CheckRunID(run)
}

func body[T any](r *http.Request) (T, error) {
	var in T
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	err := dec.Decode(&in)
	if err == nil {
		var extra json.RawMessage
		if derr := dec.Decode(&extra); !errors.Is(derr, io.EOF) {
			err = errors.New("something follows the document")
		}
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return in, agency.Errorf(agency.KindInvalid, "the request is larger than %d bytes", large.Limit)
	case err != nil:
		return in, agency.Errorf(agency.KindInvalid, "the request's body: %w", err)
	}
	return in, nil
}

func answer[T any](s *Server, fn func(*http.Request) (T, error)) http.HandlerFunc {
	return answerAs(s, "application/json", func(out T) ([]byte, error) { return json.Marshal(out) }, fn)
}

func answerAs[T any](s *Server, kind string, encode func(T) ([]byte, error), fn func(*http.Request) (T, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		out, err := fn(r)
		if err != nil {
			s.fail(w, err)
			return
		}
		b, err := encode(out)
		if err != nil {
			s.fail(w, err)
			return
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Content-Length", strconv.Itoa(len(b))) // so that whoever reads it has room for all
		s.write(w, b)
	}
}

func (s *Server) fail(w http.ResponseWriter, err error) {
	s.failAs(w, api.StatusOf(agency.KindOf(err)), err)
}

func (s *Server) failAs(w http.ResponseWriter, status int, err error) {
	if agency.KindOf(err) == agency.KindInternal {
		s.o.Log.Error("request", "error", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	s.write(w, api.EncodeFault(err))
}

func (s *Server) write(w http.ResponseWriter, b []byte) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.o.WriteTimeout)) // not every connection has deadlines
	if _, err := w.Write(b); err != nil {
		s.o.Log.Debug("client left", "error", err)
	}
}
