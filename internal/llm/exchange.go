package llm

import (
	"cmp"
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
	// stream. Take gives ErrLeave where the answer ends.
	Whole(body []byte) error
	Take(data []byte) error
	// End decides whether the answer is complete after its stream ended, in
	// order or with an error.
	End(err error) error
	// Count is what the provider has told of the tokens so far, Model the name of
	// the model as it reports it, empty where it has not.
	Count() Count
	Model() string
	Answer() Answer
	// Heard is what was said since it was asked last.
	Heard() []Said
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

// Wire is how an adapter asks.
type Wire struct {
	Path  string                               // under the client's base
	Body  func(dst []byte, req Request) []byte // as in Bodies.Set
	Reply func(Gathering) Reply
	// Learn looks in the words by which a server refused a request for what can be
	// left out or written otherwise, and tells whether the next one is without it.
	// Nil learns nothing.
	Learn func(detail string) bool
}

// Ask is one request and its answer: the shape of Model.Ask.
func (c *Client) Ask(ctx context.Context, req Request, w Wire) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		at := c.At
		res, err := c.post(ctx, req, w)
		if err != nil {
			refused(Explain(ctx, at, req.Model, err), req, yield)
			return
		}
		defer func() { _ = res.Body.Close() }() // what mattered of it was read
		r := w.Reply(Gathering{At: at, Request: req})
		t := teller{reply: r, req: req, yield: yield}
		err = Receive(at, res, r, t.tell)
		switch {
		case errors.Is(err, errLeft):
		case err != nil:
			if t.broke(err) {
				yield(nil, Explain(ctx, at, req.Model, err))
			}
		default:
			yield(Done{Answer: r.Answer()}, nil)
		}
	}
}

// post sends a request, again where the adapter has learned from the refusal.
func (c *Client) post(ctx context.Context, req Request, w Wire) (*http.Response, error) {
	for {
		res, err := c.Post(ctx, w.Path, func(dst []byte) []byte { return w.Body(dst, req) })
		var f *Fault
		if w.Learn == nil || !errors.As(err, &f) || f.Kind != InvalidRequest || !w.Learn(f.Detail) {
			return res, err
		}
	}
}

// refused ends an exchange that gave no answer. Also at the door a provider may
// tell what it counted.
func refused(err error, req Request, yield func(Event, error) bool) {
	if f := (*Fault)(nil); errors.As(err, &f) && f.told.Usage != (agency.Usage{}) && !yield(Counted{Usage: f.told.divided(req.Limit())}, nil) {
		return
	}
	yield(nil, err)
}

// teller yields Counted when an answer begins and when its count changes, and what is
// said.
type teller struct {
	reply Reply
	req   Request
	yield func(Event, error) bool
	begun bool
	told  agency.Usage
}

// tell follows a piece of the answer that was taken, false: the caller has left.
// An error that comes first, counts nothing and has nothing of an answer beside
// it begins none.
func (t *teller) tell(err error) bool {
	count := t.reply.Count()
	now := count.divided(t.req.Limit())
	if !t.count(count, now, err) {
		return false
	}
	for _, s := range t.reply.Heard() {
		if !t.yield(s, nil) {
			return false
		}
	}
	return true
}

func (t *teller) count(count Count, now agency.Usage, err error) bool {
	if now == t.told && (t.begun || !count.Begun && err != nil && !errors.Is(err, ErrLeave)) {
		return true
	}
	t.begun, t.told = true, now
	return t.yield(Counted{Usage: now, Model: t.reply.Model()}, nil)
}

// broke tells of an answer that ended in an error what came of it, where the
// provider counted less: that much is owed at least, be it more than was asked for.
func (t *teller) broke(err error) bool {
	now := t.reply.Answer().Usage
	var cut *tornDocument
	if errors.As(err, &cut) {
		now = EstimateUsage(t.req, Message{})
		now.Out, t.begun = EstimateTokens(cut.received), true
	}
	if !t.begun || now == t.told {
		return true
	}
	return t.yield(Counted{Usage: now, Model: t.reply.Model()}, nil)
}

// tornDocument is the error of an answer in one piece that was cut, after so many
// bytes.
type tornDocument struct {
	error
	received int64
}

func (e *tornDocument) Unwrap() error { return e.error }

// errLeft says that whoever was told of an answer wants no more of it.
var errLeft = errors.New("the caller has left")

// Receive reads an answer in whatever form it came. told hears of each piece what
// became of it, and answers false where it wants no more.
func Receive(at Endpoint, res *http.Response, r Reply, told func(error) bool) error {
	whole, err := sniff(at, res)
	if err != nil {
		return err
	}
	var took error
	take := func(do func([]byte) error, data []byte) error {
		if took = do(data); !told(took) {
			took = errLeft
		}
		return took
	}
	if whole {
		body, err := io.ReadAll(res.Body)
		cut := err != nil
		if !cut {
			err = take(r.Whole, body)
			var f *Fault
			cut = errors.As(err, &f) && f.Kind == StreamCut
		}
		if cut {
			err = &tornDocument{err, int64(len(body))}
		}
		return err
	}
	err = ReadEvents(res.Body, func(data []byte) error {
		if len(data) == 0 {
			return nil
		}
		return take(r.Take, data)
	})
	if took != nil && !errors.Is(took, ErrLeave) {
		return took
	}
	return r.End(err)
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

// Gathering is what the Reply of every wire holds.
type Gathering struct {
	At      Endpoint
	Request Request
	Tally   Tally
	Named   string // the model as the provider reports it, "" where it does not
	said    []Said
}

// Say notes a piece of the answer, as far as there is something in it.
func (g *Gathering) Say(kind SaidKind, text string) {
	if text != "" {
		g.said = append(g.said, Said{kind, text})
	}
}

// Heard is what was said since it was asked last; it is valid until the next is said.
func (g *Gathering) Heard() []Said {
	said := g.said
	g.said = g.said[:0]
	return said
}

// Count is what the provider has told of the tokens so far.
func (g *Gathering) Count() Count { return g.Tally.Count() }

// Model is the model as the provider reports it.
func (g *Gathering) Model() string { return g.Named }

// Parse decodes JSON of the provider; see Parsed.
func (g *Gathering) Parse(data []byte, into any) error {
	return Parsed(g.At, data, json.Unmarshal(data, into))
}

// Reasoning is what the model thought, with the provider's own record of it.
func (g *Gathering) Reasoning(opaque []byte, text string) Reasoning {
	return Reasoning{Provider: g.At.Provider, Model: g.Request.Model, Opaque: CanonicalJSON(opaque), Text: text}
}

// Settle settles what every wire settles alike: the stop reason, and an
// estimate of what the provider did not count.
func (g *Gathering) Settle(stop StopReason, blocks []Block) Answer {
	out := Answer{Model: cmp.Or(g.Named, g.Request.Model), Message: Message{Role: Assistant, Blocks: blocks}}
	out.Stop = FinishStop(stop, blocks)
	out.Usage, out.CacheKnown = g.Count().complete(g.Request, out.Message)
	return out
}

// complete fills in what a provider did not count. No prompt has no tokens; an
// answer that has words has some; and one that went on after the last count
// has at least what can be seen of it.
func (c Count) complete(req Request, m Message) (u agency.Usage, cacheKnown bool) {
	guess := EstimateUsage(req, m)
	u, cacheKnown = c.divided(max(req.Limit(), guess.Out)), c.CacheKnown
	if u.In <= 0 && !c.Undivided {
		u.In, u.Cached, u.CacheWrite, u.Estimated, cacheKnown = guess.In, 0, 0, true, false
	}
	if (c.Early || u.Out <= 0 && len(m.Blocks) > 0) && guess.Out > u.Out {
		u.Out, u.Estimated = guess.Out, true
	}
	return u, cacheKnown
}

// divided is the usage, where only a sum was told in the dearest way: as output
// as far as it may be of so many tokens.
func (c Count) divided(most int64) agency.Usage {
	u := c.Usage
	if c.Undivided {
		out := min(u.Out, most)
		u.In, u.Out, u.Estimated = u.Out-out, out, true
	}
	return u
}
