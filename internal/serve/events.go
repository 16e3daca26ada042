package serve

import (
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"sync"
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
	pass(s.frames(w, q.Pace), r, s.o.View.Events(r.Context(), q), func(ev agency.Event) api.Frame { return api.Frame{Event: &ev} })
}

// stream streams what the models of a run say, likewise. What a reader is too slow for
// is left out: those who speak wait for nobody.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	run, err := runOf(r)
	if err != nil {
		s.fail(w, err)
		return
	}
	pass(s.frames(w, 0), r, s.o.View.Stream(r.Context(), run), func(d api.Delta) api.Frame { return api.Frame{Delta: &d} })
}

// pass writes a sequence as frames until it ends, errs or the reader leaves.
func pass[T any](out *frames, r *http.Request, seq iter.Seq2[T, error], frame func(T) api.Frame) {
	defer out.close()
	out.w.Header().Set("Content-Type", "application/x-ndjson")
	if err := out.ctl.Flush(); err != nil {
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

// frames are written to one reader, who is woken at most once in each pace: the first of
// them goes out at once, and what comes within the pace after it in one piece.
type frames struct {
	w       http.ResponseWriter
	ctl     *http.ResponseController
	timeout time.Duration
	pace    time.Duration // 0: each goes out at once

	mu   sync.Mutex // held while w is used
	last time.Time  // something went out
	due  *time.Timer
	err  error
}

var errClosed = errors.New("the answer is over")

func (s *Server) frames(w http.ResponseWriter, pace time.Duration) *frames {
	return &frames{w: w, ctl: http.NewResponseController(w), timeout: s.o.WriteTimeout, pace: pace}
}

func (f *frames) send(frame api.Frame) error {
	b, err := json.Marshal(frame)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	_ = f.ctl.SetWriteDeadline(time.Now().Add(f.timeout)) // not every connection has deadlines
	if _, err := f.w.Write(append(b, '\n')); err != nil {
		return err
	}
	switch wait := f.pace - time.Since(f.last); {
	case f.due != nil: // it goes out with what waits
	case wait > 0:
		f.due = time.AfterFunc(wait, f.late)
	default:
		return f.flush()
	}
	return nil
}

// late lets out what waited; an error of it is that of the next frame.
func (f *frames) late() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return
	}
	f.due = nil
	_ = f.ctl.SetWriteDeadline(time.Now().Add(f.timeout)) // as above
	f.err = f.flush()
}

func (f *frames) flush() error {
	f.last = time.Now()
	return f.ctl.Flush()
}

// close keeps what is late from writing to an answer that is over; the end of the
// handler lets out what is left.
func (f *frames) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = errClosed
}
