package serve

import (
	"encoding/json"
	"iter"
	"net/http"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
)

// events streams a log as one JSON frame a line. A reader that does not read
// holds back only its own stream, and is cut off after the write timeout: it
// asks again after the last id that it saw.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	q, err := api.ParseEventQuery(r.URL.Query())
	if err == nil && q.Run != "" {
		err = agency.CheckRunID(q.Run)
	}
	if err != nil {
		s.fail(w, err)
		return
	}
	pass(s, w, r, s.o.View.Events(r.Context(), q), func(ev agency.Event) api.Frame { return api.Frame{Event: &ev} })
}

// stream streams what the models of a run say, likewise. What a reader is too slow for
// is left out: those who speak wait for nobody.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	run, err := runOf(r)
	if err != nil {
		s.fail(w, err)
		return
	}
	pass(s, w, r, s.o.View.Stream(r.Context(), run), func(d api.Delta) api.Frame { return api.Frame{Delta: &d} })
}

// pass writes a sequence as frames until it ends, errs or the reader leaves.
func pass[T any](s *Server, w http.ResponseWriter, r *http.Request, seq iter.Seq2[T, error], frame func(T) api.Frame) {
	out := frames{w: w, ctl: http.NewResponseController(w), timeout: s.o.WriteTimeout}
	w.Header().Set("Content-Type", "application/x-ndjson")
	if err := out.flush(); err != nil {
		return
	}
	for one, err := range seq {
		if r.Context().Err() != nil {
			return
		}
		f := frame(one)
		if err != nil {
			fault := api.FaultOf(err)
			f = api.Frame{Error: &fault}
		}
		if werr := out.send(f); werr != nil || err != nil {
			return
		}
	}
}

type frames struct {
	w       http.ResponseWriter
	ctl     *http.ResponseController
	timeout time.Duration
}

func (f frames) send(frame api.Frame) error {
	b, err := json.Marshal(frame)
	if err != nil {
		return err
	}
	_ = f.ctl.SetWriteDeadline(time.Now().Add(f.timeout)) // not every connection has deadlines
	if _, err := f.w.Write(append(b, '\n')); err != nil {
		return err
	}
	return f.flush()
}

func (f frames) flush() error { return f.ctl.Flush() }
