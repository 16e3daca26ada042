package native

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"agency/internal/agency"
	"agency/internal/brief"
	"agency/internal/brief/staging"
	"agency/internal/budget"
	"agency/internal/llm"
	"agency/internal/session"
	"agency/internal/session/briefing"
	"agency/internal/session/record"
	"agency/internal/store"
	"agency/internal/text"
)

// A conversation that comes near its model's window goes on in a new epoch: a
// first message that is written anew from the store, with a summary of what
// was said, and the last turns as they are. The order is: the need is stored
// (state.Due), the summary is reserved, asked, and stored in one commit with
// the whole new epoch. A process that dies before that commit does it again;
// after it nothing is asked again.

// due says that the conversation must be compacted before the next request.
type due struct {
	Cause dueCause      `json:"cause"`
	Limit session.Cause `json:"limit,omitempty"` // which one, with dueLimit
	Try   int           `json:"try,omitempty"`   // of the summary's request
}

type dueCause string

const (
	dueNear     dueCause = "near"     // the next request would come too near the window
	dueOverflow dueCause = "overflow" // the provider refused one as too long
	dueLimit    dueCause = "limit"    // the session has used up what it may, and hands over
)

// causeModel is the third cause of an epoch: another model answered.
const causeModel = "model"

const (
	// summaryOut is the most tokens of a summary, digestBytes what it is made
	// from at most.
	summaryOut  = 2048
	digestBytes = 96 << 10
	maxSummary  = 12 << 10
	// summaryTries is how many processes may die over one summary before it is
	// written without a model.
	summaryTries = 3
	// maxCompactions is how often in a row a conversation is compacted without a turn
	// between: each time to half of the time before.
	maxCompactions = 4
)

// compaction is how a conversation goes on in a new epoch.
type compaction struct {
	head    message
	kept    []message     // the last turns
	middle  []llm.Message // what the summary stands for
	summary string
	by      string // model, harness
	asked   asked
	settle  bool // the summary was asked for
	took    time.Duration
}

// compactor shortens a conversation that nears its window.
type compactor struct{ *conversation }

// compact begins a new epoch. An outcome means that the part has ended: not
// even what must be told fits the window.
func (c compactor) compact(ctx context.Context) (*session.Outcome, error) {
	if c.st.handsOver() {
		return c.handOver(ctx)
	}
	if c.st.Compactions >= maxCompactions {
		return c.tooSmall(ctx)
	}
	if err := c.r.o.between("compact"); err != nil {
		return nil, err
	}
	room := c.room()
	about, err := c.about(ctx, room)
	if err != nil {
		return nil, err
	}
	f := &compaction{by: "harness"}
	if f.head, err = c.head(ctx, about, room); err != nil {
		return nil, err
	}
	if f.middle, f.kept, err = c.split(room - messageBytes(f.head)); err != nil {
		return nil, err
	}
	if f.summary = about.summary; len(f.middle) > 0 {
		if out, err := c.summarise(ctx, about, f); out != nil || err != nil {
			return out, err
		}
	}
	about.standing.Summary = f.summary
	about.drop(f.kept)
	if f.head, err = c.head(ctx, about, room); err != nil {
		return nil, err
	}
	next := c.next(f)
	if c.window.full(llm.EstimateTokens(llm.Bytes(next)) + next.MaxOutput) {
		if len(f.kept) == 0 {
			return c.tooSmall(ctx)
		}
		f.middle, f.kept = append(f.middle, plain(f.kept)...), nil
		next = c.next(f)
		if c.window.full(llm.EstimateTokens(llm.Bytes(next)) + next.MaxOutput) {
			return c.tooSmall(ctx)
		}
	}
	return nil, c.commitCompaction(ctx, f, next)
}

// about is what the store, and not the model's memory, knows of a session.
type about struct {
	facts    *briefing.Facts
	standing brief.Standing
	summary  string // of the last compaction
}

// about reads everything that is told again.
func (c compactor) about(ctx context.Context, room int64) (*about, error) {
	a := &about{}
	b := c.briefing()
	var err error
	if a.facts, err = b.Facts(ctx); err != nil {
		return nil, err
	}
	a.facts.Staged = staging.Fit(a.facts.Staged, room/4) // most of it was read by now
	if a.standing, err = b.Standing(ctx, a.facts, c.st.Notes); err != nil {
		return nil, err
	}
	a.standing.Epoch, a.standing.Turn = c.st.epoch()+1, c.st.Turn
	return a, c.DB.Read(ctx, func(q *store.Snapshot) error {
		a.summary, err = record.Summary(q, c.id)
		return err
	})
}

// drop leaves out the messages of others that the kept turns show whole.
func (a *about) drop(kept []message) {
	var shown []string
	for _, m := range kept {
		shown = append(shown, m.Shows...)
	}
	a.standing.Messages = slices.DeleteFunc(a.standing.Messages, func(m agency.Message) bool { return slices.Contains(shown, string(m.ID)) })
}

// head is the first message after a compaction.
func (c compactor) head(ctx context.Context, a *about, room int64) (message, error) {
	first, err := c.briefing().First(ctx, a.facts, &a.standing, room)
	if err != nil {
		return message{}, err
	}
	return c.pack(first)
}

func (c compactor) tooSmall(ctx context.Context) (*session.Outcome, error) {
	return c.incomplete(ctx, session.CauseWindow, fmt.Sprintf("the window counts as %d tokens, and not even the contract fits it; set windows in agency.yaml, or name a model with a larger one", c.window.tokens()))
}

func messageBytes(m message) int64 {
	return llm.Bytes(llm.Request{Messages: []llm.Message{m.Message}})
}

func plain(in []message) []llm.Message {
	out := make([]llm.Message, len(in))
	for i, m := range in {
		out[i] = m.Message
	}
	return out
}

// split parts the conversation after its first message: as many of the last
// turns as fit are kept, from an answer on, so that each call has its result.
// Of the last turn alone, results are shortened where it does not fit whole.
func (c compactor) split(room int64) (middle []llm.Message, kept []message, err error) {
	rest := c.req.Messages[min(1, len(c.req.Messages)):]
	from, last := len(rest), len(rest)
	size := int64(0)
	for i := len(rest) - 1; i >= 0; i-- {
		size += llm.Bytes(llm.Request{Messages: rest[i : i+1]})
		if rest[i].Role != llm.Assistant {
			continue
		}
		if last == len(rest) {
			last = i
		}
		if size > room {
			break
		}
		from = i
	}
	tail := rest[from:]
	if from == len(rest) && last < len(rest) {
		if short := shorten(rest[last:], room); short != nil {
			from, tail = last, short
		}
	}
	for _, m := range tail {
		p, err := c.pack(m)
		if err != nil {
			return nil, nil, err
		}
		kept = append(kept, p)
	}
	return rest[:from], kept, nil
}

// shorten caps the results of one turn so that it fits; nil where it cannot.
func shorten(turn []llm.Message, room int64) []llm.Message {
	results, texts := 0, int64(0)
	for _, m := range turn {
		for _, b := range m.Blocks {
			if r, ok := b.(llm.ToolResult); ok {
				results, texts = results+1, texts+int64(len(r.Text))
			}
		}
	}
	fixed := llm.Bytes(llm.Request{Messages: turn}) - texts
	if results == 0 || room-fixed < int64(results)*leastResult {
		return nil
	}
	return capResults(turn, int((room-fixed)/int64(results))-64)
}

// next is the first request of the new epoch.
func (c compactor) next(f *compaction) llm.Request {
	req := c.req
	req.MaxOutput = c.window.output()
	req.Messages = append([]llm.Message{f.head.Message}, plain(f.kept)...)
	return req
}

// summarise has the middle summed up by the model, in one small request of its
// own, and without a model where that fails.
func (c compactor) summarise(ctx context.Context, about *about, f *compaction) (*session.Outcome, error) {
	f.summary = extract(about.summary, f.middle)
	req, err := c.summaryRequest(about, f.middle)
	if err != nil {
		return nil, err
	}
	ok, err := c.reserveSummary(ctx, req)
	if err != nil || !ok {
		return nil, err
	}
	if err := c.r.o.between("summary asked"); err != nil {
		return nil, err
	}
	ask := asker(c)
	defer ask.Stream.Done()
	a, took, err := ask.request(ctx, req, ask.forSummary(req))
	f.took, f.asked = took, a
	var fault *llm.Fault
	var spent *budget.Exhausted
	switch {
	case err == nil:
		f.settle = true
		if words := a.Message.Words(); words != "" && len(a.Message.Calls()) == 0 && (a.Stop == llm.StopEndTurn || a.Stop == llm.StopLength) {
			f.summary, f.by = text.Head(words, maxSummary), "model"
		}
		return nil, nil
	case errors.Is(err, errTime):
		return c.incomplete(ctx, session.CauseTime, "")
	case errors.Is(err, errPaused):
		return ask.paused(ctx)
	case errors.As(err, &fault), errors.Is(err, errOnce), errors.As(err, &spent):
		return nil, nil
	}
	return nil, err
}

// summaryRequest asks for the summary. It is bounded whatever the
// conversation was.
func (c compactor) summaryRequest(about *about, middle []llm.Message) (llm.Request, error) {
	room := min(digestBytes, int(c.window.tokens()))
	system, text, err := brief.Record(brief.RecordInput{
		Role: c.role, Contract: about.facts.Contract, Before: about.summary, Digest: digest(middle, room), HandOver: c.st.handsOver(),
	})
	if err != nil {
		return llm.Request{}, err
	}
	first, err := c.pack(llm.UserText(text))
	if err != nil {
		return llm.Request{}, err
	}
	return llm.Request{
		Model: c.req.Model, System: system, Messages: []llm.Message{first.Message},
		MaxOutput: min(summaryOut, c.window.output()), Session: c.req.Session,
	}, nil
}

func (c compactor) summaryKey(try int) string {
	return fmt.Sprintf("%s/epoch-%d/try-%d", c.id, c.st.epoch()+1, try)
}

// reserveSummary holds the worst case of the summary's request. It is not to
// be had where the budget does not allow it or too many processes died over it.
func (c compactor) reserveSummary(ctx context.Context, req llm.Request) (ok bool, err error) {
	st := c.st
	d := *st.Due
	st.Due = &d
	if err := c.Account.Look(ctx); err != nil {
		return false, err
	}
	err = c.Write(ctx, func(tx *store.Tx) error {
		ok = false
		if d.Try = c.st.Due.Try; d.Try > 0 { // lost in a crash
			if err := budget.Charge(tx, c.Spec.Run, c.summaryKey(d.Try), budget.Bill{}); err != nil {
				return err
			}
		}
		if d.Try >= summaryTries {
			return nil
		}
		d.Try++
		_, err := c.Account.Reserve(tx, c.summaryKey(d.Try), c.lineup.Names[0], llm.EstimateTokens(llm.Bytes(req)), req.MaxOutput, req.MaxOutput)
		var spent *budget.Exhausted
		switch {
		case errors.As(err, &spent):
			return nil
		case err != nil:
			return err
		}
		ok = true
		return (&draft{c: c.conversation, tx: tx, st: st, turn: c.turn}).save()
	})
	if ok && err == nil {
		c.st = st
	}
	return ok, err
}

// commitCompaction stores the new epoch whole: what the summary cost, its messages,
// the state, and the event.
func (c compactor) commitCompaction(ctx context.Context, f *compaction, next llm.Request) error {
	st, before := c.st, c.st.Bytes
	st.First += len(c.req.Messages)
	st.Epoch, st.Due, st.Compactions = st.epoch()+1, nil, st.Compactions+1
	st.Bytes, st.SeenIn, st.SeenBytes = llm.Bytes(next), 0, 0
	st.Work += f.took
	st.Tokens += f.asked.Usage.Billed()
	if !f.settle {
		st.Carry += f.took
	}
	bill := c.Setup.Prices.Bill(f.asked.By, f.asked.Model, f.asked.Usage)
	err := c.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		w := &draft{c: c.conversation, tx: tx, st: st, turn: c.turn}
		if f.settle {
			if err := budget.Settle(tx, c.Spec.Run, c.summaryKey(c.st.Due.Try), bill, f.took); err != nil {
				return err
			}
		}
		if err := w.addCompaction(f, before, bill); err != nil {
			return err
		}
		for i, m := range append([]message{f.head}, f.kept...) {
			if err := record.KeepImages(tx, c.id, m.Message); err != nil {
				return err
			}
			if err := record.AppendMessage(tx, c.id, st.First+i, st.Turn+1, m.data, i > 0); err != nil {
				return err
			}
		}
		if err := record.SetMaxOutput(tx, c.id, next.MaxOutput); err != nil {
			return err
		}
		return w.save()
	})
	if err != nil {
		return err
	}
	c.st, c.req = st, next
	return c.r.o.between("epoch begun")
}

func (w *draft) addCompaction(f *compaction, before int64, bill budget.Bill) error {
	c, st := w.c, w.st
	err := record.AddCompaction(w.tx, c.id, record.Compaction{
		Epoch: st.Epoch, Turn: st.Turn, Cause: string(c.st.Due.Cause), First: st.First, Summarised: len(f.middle), Before: before, After: st.Bytes,
		Summary: f.summary, By: f.by, Model: bill.Model, Usage: bill.Usage, Cost: bill.Cost, Unpriced: bill.Unpriced && f.settle,
	})
	if err != nil {
		return err
	}
	text := fmt.Sprintf("epoch %d begins after turn %d: %d messages became a summary, about %d tokens became %d",
		st.Epoch, st.Turn, len(f.middle), llm.EstimateTokens(before), llm.EstimateTokens(st.Bytes))
	if c.st.Due.Cause == dueOverflow {
		text += " (the model refused the request as too long)"
	}
	return c.Log(w.tx, agency.SeverityInfo, text, agency.EpochBegun{
		Session: c.id, Epoch: st.Epoch, Turn: st.Turn, Cause: string(c.st.Due.Cause), Model: st.Model,
		Folded: len(f.middle), Before: llm.EstimateTokens(before), After: llm.EstimateTokens(st.Bytes),
	})
}

// overflow notes that the provider refused the request as too long. The
// conversation is compacted before it is sent again.
func (c compactor) overflow(ctx context.Context, model, detail string) error {
	learned := c.window.learn(c.st.promptTokens()+maxOutput(c.req), detail)
	st := c.st
	st.Due = &due{Cause: dueOverflow}
	err := c.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		if err := record.LearnWindow(tx, c.Spec.Run, model, learned); err != nil {
			return err
		}
		w := &draft{c: c.conversation, tx: tx, st: st, turn: c.turn}
		if err := w.save(); err != nil {
			return err
		}
		text := fmt.Sprintf("%s does not take the request: %s; from now on its window counts as %d tokens", model, text.Head(detail, 200), learned)
		return c.Log(tx, agency.SeverityWarning, text, agency.Log{Text: text})
	})
	if err != nil {
		return err
	}
	c.st, c.window.learned = st, learned
	return c.r.o.between("overflow")
}

// switched begins an epoch where another model answered than before: its
// cache knows nothing of the conversation.
func (w *draft) switched(model string) error {
	before := w.st.Model
	w.st.Model = model
	if before == "" || before == model {
		return nil
	}
	w.st.Epoch = w.st.epoch() + 1
	text := fmt.Sprintf("epoch %d begins: %s answers instead of %s", w.st.Epoch, model, before)
	return w.c.Log(w.tx, agency.SeverityInfo, text, agency.EpochBegun{
		Session: w.c.id, Epoch: w.st.Epoch, Turn: w.st.Turn, Cause: causeModel, Model: model, From: before,
	})
}
