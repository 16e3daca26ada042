package board

import (
	"context"
	"iter"
	"slices"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
)

// Subscribe yields the messages of a run, of the given types where there are
// any, each once and in the order in which they were sent: those that were
// sent after the event of id after, then those to come, until the context ends
// (its cause is the last error) or the caller breaks. It takes nothing from
// any inbox, and a slow subscriber misses nothing: it is served from the log
// of events.
func (b *Board) Subscribe(ctx context.Context, run agency.RunID, after int64, types ...agency.MessageType) iter.Seq2[agency.Message, error] {
	return func(yield func(agency.Message, error) bool) {
		for ev, err := range b.o.Events.Tail(ctx, after, event.Filter{Run: run, Category: agency.CategoryMessage}) {
			if err != nil {
				yield(agency.Message{}, err)
				return
			}
			m, ok, err := b.sentBy(ctx, ev, types)
			if err == nil && !ok {
				continue
			}
			if !yield(m, err) || err != nil {
				return
			}
		}
	}
}

// sentBy is the message whose sending an event tells, if it is of one of the
// types.
func (b *Board) sentBy(ctx context.Context, ev agency.Event, types []agency.MessageType) (m agency.Message, ok bool, err error) {
	if ev.Type != "message_sent" {
		return m, false, nil
	}
	d, err := agency.DecodeDetail(ev)
	if err != nil {
		return m, false, err
	}
	s, ok := d.(*agency.MessageSent)
	if !ok || len(types) > 0 && s.Type != "" && !slices.Contains(types, s.Type) {
		return m, false, nil
	}
	err = b.db.Read(ctx, func(q *store.Snapshot) error {
		m, err = Get(q, ev.RunID, s.Message)
		return err
	})
	if agency.KindOf(err) == agency.KindNotFound { // its run has been removed meanwhile
		return m, false, nil
	}
	return m, err == nil && (len(types) == 0 || slices.Contains(types, m.Type)), err
}
