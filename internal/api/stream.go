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

	"agency/internal/agency"
)

// Events streams a log. The stream ends without error when everything is told
// and Follow is not set; a broken connection is an error for which Unreachable
// is true, and the caller may ask again after the last id it saw.
func (c *Client) Events(ctx context.Context, q EventQuery) iter.Seq2[agency.Event, error] {
	return func(yield func(agency.Event, error) bool) {
		resp, err := c.conn.do(ctx, http.MethodGet, "/v1/events", q.values(), nil)
		if err != nil {
			yield(agency.Event{}, err)
			return
		}
		defer func() { _ = resp.Body.Close() }() // the stream is read to its end, or given up
		dec := json.NewDecoder(resp.Body)
		for {
			var f Frame
			switch err := dec.Decode(&f); {
			case errors.Is(err, io.EOF) && !q.Follow:
				return
			case ctx.Err() != nil:
				yield(agency.Event{}, ctx.Err())
				return
			case err != nil:
				yield(agency.Event{}, lost(err))
				return
			}
			switch {
			case f.Error != nil:
				yield(agency.Event{}, f.Error.Err())
				return
			case f.Event != nil && !yield(*f.Event, nil):
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
	return q, nil
}
