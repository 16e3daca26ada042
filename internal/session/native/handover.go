package native

import (
	"context"
	"strings"

	"agency/internal/budget"
	"agency/internal/session"
	"agency/internal/store"
	"agency/internal/text"
)

// A session that has used up its turns or tokens leaves a record of its work, made as a
// compaction's summary is, with which another goes on in its place: the need is stored, the
// record is asked for, and the commit that pays for it ends the session.

// leastWork is how many turns leave something that is worth a record.
const leastWork = 4

// handsOver tells whether the session ends by handing over.
func (s state) handsOver() bool { return s.Due != nil && s.Due.Cause == dueLimit }

// overLimit ends the part by one of its limits, or has it hand over first: who works on a
// contract may leave work and knowledge; a review is made anew by another.
func (w *draft) overLimit(cause session.Cause) {
	limit := cause == session.CauseTurns || cause == session.CauseTokens
	if limit && w.c.succeeded() && w.st.Turn >= leastWork {
		if !w.st.handsOver() {
			w.st.Due = &due{Cause: dueLimit, Limit: cause}
		}
		return
	}
	detail := ""
	if cause == session.CauseRefusals && w.st.Refused != "" {
		detail = "the last one: " + w.st.Refused
	}
	w.end = session.Unfinished(cause, detail, w.st.Tree)
}

// succeeded tells whether another session goes on where this one reaches its limits.
func (p *part) succeeded() bool { return p.Spec.Review == nil && p.Spec.Post == nil }

// handOver has the session's record written and ends it.
func (c compactor) handOver(ctx context.Context) (*session.Outcome, error) {
	if err := c.r.o.between("hand over"); err != nil {
		return nil, err
	}
	about, err := c.about(ctx, c.room())
	if err != nil {
		return nil, err
	}
	f := &compaction{by: "harness", middle: c.req.Messages[min(1, len(c.req.Messages)):]}
	if out, err := c.summarise(ctx, about, f); out != nil || err != nil {
		return out, err
	}
	learnt := f.summary
	if len(about.standing.Todo) > 0 {
		learnt += "\n\nIts plan, as it stands:\n" + text.Head(strings.Join(about.standing.Todo, "\n"), maxSummary/4)
	}
	out, err := c.endBy(ctx, func(tx *store.Tx) (*session.Outcome, error) {
		if f.settle {
			bill := c.Setup.Prices.Bill(f.asked.By, f.asked.Model, f.asked.Usage)
			if err := budget.Settle(tx, c.Spec.Run, c.summaryKey(c.st.Due.Try), bill, f.took); err != nil {
				return nil, err
			}
		}
		end := session.Unfinished(c.st.Due.Limit, "", c.st.Tree)
		end.Learnt = learnt
		nudged, err := c.Nudged(tx)
		end.Afresh = !nudged
		return end, err
	})
	return &out, err
}

// warn tells the agent, once each, that most and that almost all is used of what its
// session may use.
func (w *draft) warn() error {
	if w.end != nil || w.st.Due != nil {
		return nil
	}
	use := w.st.use(w.c.Setup.Limits)
	for _, mark := range []int{90, 75} {
		if use.Percent < mark {
			continue
		}
		if w.st.Warned >= mark {
			return nil
		}
		use.HandsOver = w.c.succeeded()
		words, err := use.Text()
		w.st.Warned = mark
		w.news.Text = strings.TrimSpace(w.news.Text + "\n\n" + words)
		return err
	}
	return nil
}
