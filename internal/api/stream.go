package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"agency/internal/agency"
)

// DeltaKind is what a piece of an answer is a piece of.
type DeltaKind string

// The kinds of a Delta. A tool's is a line a call: its name, then its arguments as JSON.
const (
	DeltaText     DeltaKind = "text"
	DeltaThinking DeltaKind = "thinking"
	DeltaTool     DeltaKind = "tool"
)

// Delta is what a session's model has said since the one before, without secrets. It is
// not the record of it: what is slow to be read is left out, and an answer that breaks
// off is said again from its beginning.
type Delta struct {
	Session  agency.SessionID  `json:"session"`
	Contract agency.ContractID `json:"contract,omitempty"`
	Agent    agency.AgentID    `json:"agent,omitempty"`
	Role     agency.RoleID     `json:"role,omitempty"`
	Turn     int               `json:"turn,omitempty"`  // of the transcript, from 1
	Model    string            `json:"model,omitempty"` // that is asked, since Asked
	Asked    time.Time         `json:"asked,omitzero"`
	Kind     DeltaKind         `json:"kind,omitempty"`
	Text     string            `json:"text,omitempty"`
	// Begins says that the answer begins here: what the session said before is over. Without a
	// text its Model is asked, and nothing of the answer has come.
	Begins bool `json:"begins,omitempty"`
	// Lost is how many bytes before Text are not told.
	Lost int64 `json:"lost,omitempty"`
	// Done says that nothing more comes of the answer; the transcript has it, if it is whole.
	Done bool `json:"done,omitempty"`
}

// tails are what a Client follows.
type tails struct{ of *connection }

// Events streams a log. The stream ends without error when everything is told
// and Follow is not set; a broken connection is an error for which Unreachable
// is true, and the caller may ask again after the last id it saw.
func (t tails) Events(ctx context.Context, q EventQuery) iter.Seq2[agency.Event, error] {
	return frames(ctx, t.of, "/v1/events", q.values(), q.Follow, func(f Frame) *agency.Event { return f.Event })
}

// Stream streams what the models of a run say; see View.
func (t tails) Stream(ctx context.Context, run agency.RunID) iter.Seq2[Delta, error] {
	return frames(ctx, t.of, runPath(run, "/stream"), nil, true, func(f Frame) *Delta { return f.Delta })
}

// frames reads a stream of frames; endless tells that its end is a broken connection.
func frames[T any](ctx context.Context, c *connection, path string, q url.Values, endless bool, part func(Frame) *T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		resp, err := c.do(ctx, http.MethodGet, path, q, nil)
		if err != nil {
			yield(none, err)
			return
		}
		defer func() { _ = resp.Body.Close() }() // the stream is read to its end, or given up
		dec := json.NewDecoder(resp.Body)
		for {
			var f Frame
			switch err := dec.Decode(&f); {
			case errors.Is(err, io.EOF) && !endless:
				return
			case ctx.Err() != nil:
				yield(none, ctx.Err())
				return
			case err != nil:
				yield(none, lost(err))
				return
			}
			if f.Error != nil {
				yield(none, f.Error.Err())
				return
			}
			if one := part(f); one != nil && !yield(*one, nil) {
				return
			}
		}
	}
}

func (q EventQuery) values() url.Values {
	v := url.Values{"after": {strconv.FormatInt(q.After, 10)}}
	if q.Run != "" {
		v.Set("run", string(q.Run))
	}
	if q.Category != "" {
		v.Set("category", string(q.Category))
	}
	if q.MinSeverity != "" {
		v.Set("severity", string(q.MinSeverity))
	}
	if q.Follow {
		v.Set("follow", "1")
	}
	if q.Pace > 0 {
		v.Set("pace", strconv.FormatInt(q.Pace.Milliseconds(), 10))
	}
	return v
}

// ParseEventQuery reads what a client sent.
func ParseEventQuery(v url.Values) (EventQuery, error) {
	q := EventQuery{
		Run: agency.RunID(v.Get("run")), Category: agency.Category(v.Get("category")),
		MinSeverity: agency.Severity(v.Get("severity")), Follow: v.Get("follow") == "1",
	}
	if s := v.Get("after"); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 0 {
			return q, agency.Errorf(agency.KindInvalid, "after=%q: want an event's id", s)
		}
		q.After = n
	}
	if s := v.Get("pace"); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 0 || n > MostPace.Milliseconds() {
			return q, agency.Errorf(agency.KindInvalid, "pace=%q: want milliseconds, at most %d", s, MostPace.Milliseconds())
		}
		q.Pace = time.Duration(n) * time.Millisecond
	}
	return q, nil
}
