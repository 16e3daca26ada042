package wire

import (
	"bytes"
	"net"
	"net/http"
	"strconv"
	"time"

	"agency/internal/llm/rehearsal"
)

// exchange is one answer being played.
type exchange struct {
	s      *Server
	w      http.ResponseWriter
	r      *http.Request
	p      protocol
	take   rehearsal.Take
	stream bool
}

// play writes the answer or its fault. It returns true when an answer was
// written to its end.
func (x *exchange) play() bool {
	f := x.take.Fault
	if f == nil {
		return x.whole()
	}
	if f.Kind == rehearsal.FaultHang {
		<-x.r.Context().Done()
		return false
	}
	if x.wait(x.take.Latency) != nil {
		return false
	}
	switch f.Kind {
	case rehearsal.FaultReset:
		x.reset()
	case rehearsal.FaultCutText:
		x.cut(frameText)
	case rehearsal.FaultCutCall:
		x.cut(frameArgs)
	case rehearsal.FaultDrip:
		return x.drip(f.Over)
	case rehearsal.FaultHTML:
		x.page()
	default:
		x.refuse(*f)
	}
	return false
}

func (x *exchange) wait(d time.Duration) error { return x.s.opts.Sleep(x.r.Context(), d) }

// whole writes a complete answer at the script's pace.
func (x *exchange) whole() bool {
	if !x.stream {
		if x.wait(x.take.Latency) != nil {
			return false
		}
		writeJSON(x.w, http.StatusOK, x.p.document(x.take))
		return true
	}
	frames := x.p.frames(x.take)
	first, each := x.take.Pace(len(frames))
	x.head()
	if x.wait(first) != nil {
		return false
	}
	for i, f := range frames {
		if i > 0 && each > 0 && x.wait(each) != nil {
			return false
		}
		if !x.write(f.data, each > 0) {
			return false
		}
	}
	return x.flush() == nil
}

func (x *exchange) head() {
	x.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	x.w.Header().Set("Cache-Control", "no-store")
	x.w.Header().Set("Request-Id", x.take.ID)
	x.w.WriteHeader(http.StatusOK)
}

func (x *exchange) write(b []byte, flush bool) bool {
	if _, err := x.w.Write(b); err != nil {
		return false
	}
	return !flush || x.flush() == nil
}

func (x *exchange) flush() error { return http.NewResponseController(x.w).Flush() }

// reset answers with a TCP reset: without lingering, close discards and sends
// RST instead of FIN.
func (x *exchange) reset() {
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // no connection of its own (HTTP/2): the stream is reset instead
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // the close below says what is left to say
	}
	_ = conn.Close()
}

// cut ends the connection within a frame of a kind, or within the answer's
// middle where it has none of that kind.
func (x *exchange) cut(kind frameKind) {
	if !x.stream {
		body := x.p.document(x.take)
		x.w.Header().Set("Content-Type", "application/json")
		x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		x.write(body[:len(body)/2], true)
		panic(http.ErrAbortHandler)
	}
	frames := x.p.frames(x.take)
	at := middle(frames, kind)
	x.head()
	for _, f := range frames[:at] {
		x.write(f.data, false)
	}
	x.write(frames[at].data[:len(frames[at].data)*2/3], true)
	panic(http.ErrAbortHandler) // net/http closes the connection without the last chunk
}

func middle(frames []frame, kind frameKind) int {
	var of []int
	for i, f := range frames {
		if f.kind == kind {
			of = append(of, i)
		}
	}
	if len(of) == 0 {
		return len(frames) / 2
	}
	return of[len(of)/2]
}

// dripSteps bounds how often a drip writes: a byte at a time for a short
// answer, a little more for a long one.
const dripSteps = 400

// drip writes the answer slowly over a duration, across all frame borders.
func (x *exchange) drip(over time.Duration) bool {
	var body []byte
	if x.stream {
		x.head()
		for _, f := range x.p.frames(x.take) {
			body = append(body, f.data...)
		}
	} else {
		body = x.p.document(x.take)
		x.w.Header().Set("Content-Type", "application/json")
	}
	step := max(1, len(body)/dripSteps)
	pause := over * time.Duration(step) / time.Duration(max(1, len(body)))
	for len(body) > 0 {
		n := min(step, len(body))
		if !x.write(body[:n], true) || x.wait(pause) != nil {
			return false
		}
		body = body[n:]
	}
	return true
}

// page answers as a proxy does that does not know the address.
func (x *exchange) page() {
	x.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	x.w.WriteHeader(http.StatusOK)
	_, _ = x.w.Write([]byte("<!DOCTYPE html>\n<html><head><title>Welcome to the gateway</title></head><body>" +
		string(bytes.Repeat([]byte("<p>nothing here</p>"), 8)) + "</body></html>\n"))
}

// refuse answers by an error status.
func (x *exchange) refuse(f rehearsal.Fault) {
	setRetryAfter(x.w.Header(), f)
	x.w.Header().Set("Request-Id", x.take.ID)
	switch f.Kind {
	case rehearsal.FaultRateLimited:
		writeJSON(x.w, 429, x.p.failure("rate_limit_error", "rate_limit_exceeded", "too many requests"))
	case rehearsal.FaultQuota:
		writeJSON(x.w, 429, x.p.failure("insufficient_quota", "insufficient_quota", "you exceeded your current quota"))
	case rehearsal.FaultOverloaded:
		writeJSON(x.w, 529, x.p.failure("overloaded_error", "", "overloaded"))
	case rehearsal.FaultAuth:
		writeJSON(x.w, 401, x.p.failure("authentication_error", "invalid_api_key", "invalid key"))
	case rehearsal.FaultNoModel:
		writeJSON(x.w, 404, x.p.failure("not_found_error", "model_not_found", "model: "+x.take.Model+" does not exist"))
	case rehearsal.FaultOverflow:
		writeJSON(x.w, 400, x.p.failure("invalid_request_error", "context_length_exceeded", "prompt is too long: 300000 tokens > 200000 maximum"))
	case rehearsal.FaultInvalid:
		writeJSON(x.w, 400, x.p.failure("invalid_request_error", "", "messages: want an alternation of roles"))
	default:
		writeJSON(x.w, 500, x.p.failure("api_error", "", "internal server error"))
	}
}

func setRetryAfter(h http.Header, f rehearsal.Fault) {
	if f.RetryAfter <= 0 {
		return
	}
	switch f.Form {
	case "date":
		h.Set("Retry-After", time.Now().Add(f.RetryAfter).UTC().Format(http.TimeFormat))
	case "ms":
		h.Set("Retry-After-Ms", strconv.FormatInt(f.RetryAfter.Milliseconds(), 10))
	default:
		h.Set("Retry-After", strconv.FormatFloat(f.RetryAfter.Seconds(), 'f', -1, 64))
	}
}
