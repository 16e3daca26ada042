package llm

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"

	"agency/internal/agency"
)

// Reply gathers one answer as an adapter's wire writes it.
type Reply interface {
	// Whole takes a body that came in one piece, Take the data of one event of a
	// stream; both hand the deltas to yield. left says that yield answered false.
	// Take gives ErrLeave where the answer ends.
	Whole(body []byte, yield func(Event, error) bool) (left bool, err error)
	Take(data []byte, yield func(Event, error) bool) (left bool, err error)
	// End decides whether the answer is complete after its stream ended, in
	// order or with an error.
	End(err error) error
	// Count is what the provider has told of the tokens so far, Model the name of
	// the model as it reports it, empty where it has not.
	Count() Count
	Model() string
	Answer() Answer
}

// Count is what a provider has told of an answer's tokens; the zero value is
// nothing.
type Count struct {
	Usage      agency.Usage
	CacheKnown bool // as in Answer
	// Begun says that something of the answer came, Early that more of it came
	// after the count.
	Begun, Early bool
	// Undivided says that only a sum was told, which is the Out of Usage.
	Undivided bool
}

// Exchange is one request and its answer: the shape of Model.Ask. post sends
// the request, reply is made from the answer's header.
func Exchange(ctx context.Context, at Endpoint, req Request, post func() (*http.Response, error), reply func(*http.Response) Reply) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		res, err := post()
		if err != nil {
			refused(Explain(ctx, at, req.Model, err), req, yield)
			return
		}
		defer func() { _ = res.Body.Close() }() // what mattered of it was read
		r := &telling{Reply: reply(res), req: req}
		left, err := Receive(at, res, r, yield)
		switch {
		case left:
		case err != nil:
			yield(nil, Explain(ctx, at, req.Model, err))
		default:
			yield(Done{Answer: r.Answer()}, nil)
		}
	}
}

// refused ends an exchange that gave no answer. Also at the door a provider may
// tell what it counted.
func refused(err error, req Request, yield func(Event, error) bool) {
	if f := (*Fault)(nil); errors.As(err, &f) && f.told.Usage != (agency.Usage{}) && !yield(Counted{Usage: f.told.divided(req)}, nil) {
		return
	}
	yield(nil, err)
}

// telling is a reply that yields Counted when the answer begins and when its
// count changes.
type telling struct {
	Reply
	req   Request
	begun bool
	told  agency.Usage
}

// Whole is for Reply.
func (t *telling) Whole(body []byte, yield func(Event, error) bool) (left bool, err error) {
	left, err = t.Reply.Whole(body, yield)
	return t.tell(left, err, yield)
}

// Take is for Reply.
func (t *telling) Take(data []byte, yield func(Event, error) bool) (left bool, err error) {
	left, err = t.Reply.Take(data, yield)
	return t.tell(left, err, yield)
}

// tell follows an event that was taken. An error that comes first, counts
// nothing and has nothing of an answer beside it begins none.
func (t *telling) tell(left bool, err error, yield func(Event, error) bool) (bool, error) {
	count := t.Count()
	now := count.divided(t.req)
	news := now != t.told || !t.begun && (count.Begun || err == nil || errors.Is(err, ErrLeave))
	if left || !news {
		return left, err
	}
	t.begun, t.told = true, now
	if !yield(Counted{Usage: now, Model: t.Model()}, nil) {
		return true, nil
	}
	return false, err
}

// Receive reads an answer in whatever form it came. left says that the caller
// has left the loop.
func Receive(at Endpoint, res *http.Response, r Reply, yield func(Event, error) bool) (left bool, err error) {
	form, err := Sniff(at, res)
	if err != nil {
		return false, err
	}
	if form == FormJSON {
		body, err := io.ReadAll(res.Body)
		if err != nil {
			return false, err
		}
		return r.Whole(body, yield)
	}
	var took error
	err = ReadEvents(res.Body, func(data []byte) error {
		if len(data) == 0 {
			return nil
		}
		if left, took = r.Take(data, yield); left {
			return ErrLeave
		}
		return took
	})
	if left || took != nil && !errors.Is(took, ErrLeave) {
		return left, took
	}
	return false, r.End(err)
}

// Parsed names JSON that does not parse: half of it is a stream that was cut.
// A field of a wrong type is passed over.
func Parsed(at Endpoint, data []byte, err error) error {
	var wrongType *json.UnmarshalTypeError
	switch {
	case err == nil, errors.As(err, &wrongType):
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF), strings.Contains(err.Error(), "unexpected end of JSON input"):
		return &Fault{Kind: StreamCut, Provider: at.Provider, Detail: "within an event"}
	}
	return BadBody(at, http.StatusOK, data)
}

// Some tells whether a field of JSON is there.
func Some(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// Unended is the fault of a stream that ended too soon, after so many events;
// want says what never came.
func Unended(at Endpoint, events int, want string) *Fault {
	if events == 0 {
		return &Fault{Kind: BadAnswer, Provider: at.Provider, Detail: "no event in the answer"}
	}
	return &Fault{Kind: StreamCut, Provider: at.Provider, Detail: "ended without " + want}
}

// Gathered is an answer as an adapter found it.
type Gathered struct {
	At        Endpoint
	Request   Request
	Model     string // as the provider reports it, "" where it does not
	RequestID string
	Raw       string
	Blocks    []Block
	Stop      StopReason
	Count     Count
}

// Answer settles what every wire settles alike: the stop reason, and an
// estimate of what the provider did not count.
func (g Gathered) Answer() Answer {
	out := Answer{Provider: g.At.Provider, Model: g.Model, RequestID: g.RequestID, Raw: g.Raw}
	if out.Model == "" {
		out.Model = g.Request.Model
	}
	out.Message = Message{Role: Assistant, Blocks: g.Blocks}
	out.Stop = FinishStop(g.Stop, g.Blocks)
	out.Usage, out.CacheKnown = g.Count.complete(g.Request, out.Message)
	return out
}

// complete fills in what a provider did not count. No prompt has no tokens; an
// answer that has words has some; and one that went on after the last count
// has at least what can be seen of it.
func (c Count) complete(req Request, m Message) (u agency.Usage, cacheKnown bool) {
	guess := EstimateUsage(req, m)
	u, cacheKnown = c.divided(req), c.CacheKnown
	if u.In <= 0 && !c.Undivided {
		u.In, u.Cached, u.CacheWrite, u.Estimated, cacheKnown = guess.In, 0, 0, true, false
	}
	if (c.Early || u.Out <= 0 && len(m.Blocks) > 0) && guess.Out > u.Out {
		u.Out, u.Estimated = guess.Out, true
	}
	return u, cacheKnown
}

// divided is the usage, where only a sum was told in the dearest way: as output
// as far as the request allows.
func (c Count) divided(req Request) agency.Usage {
	u := c.Usage
	if c.Undivided {
		out := min(u.Out, req.Limit())
		u.In, u.Out, u.Estimated = u.Out-out, out, true
	}
	return u
}
