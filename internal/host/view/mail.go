package view

import (
	"context"
	"slices"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/board"
	"agency/internal/registry"
	"agency/internal/store"
)

// Messages are all messages of a run with their deliveries, oldest first.
func (r *Reader) Messages(ctx context.Context, id agency.RunID) (ms []api.MessageDoc, err error) {
	err = r.read(ctx, func(q *store.Snapshot) error {
		run, err := registry.Run(q, id)
		if err != nil {
			return err
		}
		ths, err := threads(q, run)
		if err != nil {
			return err
		}
		order, err := board.Messages(q, id)
		at := map[agency.MessageID]int{}
		for i, m := range order {
			at[m.ID] = i
		}
		for _, t := range ths {
			ms = append(ms, t.Messages...)
		}
		slices.SortFunc(ms, func(a, b api.MessageDoc) int { return at[a.ID] - at[b.ID] })
		return err
	})
	return orEmpty(ms), err
}

// threads are those of a run, in the order in which they began.
func threads(q store.Querier, run agency.Run) ([]api.ThreadDoc, error) {
	all, err := board.Threads(q, run.ID)
	docs := make([]api.ThreadDoc, 0, len(all))
	for _, t := range all {
		first := t.Posts[0]
		d := api.ThreadDoc{ID: t.ID, Contract: first.ContractID, Subject: first.Subject, DeadLetters: t.DeadLetters()}
		for _, p := range t.Posts {
			m := message(t, p, run.State.Final())
			if m.Response == string(board.ResponseAwaited) {
				d.Awaited++
			}
			d.Messages = append(d.Messages, m)
		}
		docs = append(docs, d)
	}
	return docs, err
}

func message(t board.Thread, p board.Post, over bool) api.MessageDoc {
	doc := api.MessageDoc{Message: p.Message}
	response, by := t.Response(p)
	if response == board.ResponseAwaited && over {
		response = board.ResponseNever
	}
	doc.Response, doc.AnsweredBy = string(response), by
	for _, d := range p.Deliveries {
		doc.Deliveries = append(doc.Deliveries, api.DeliveryDoc{
			Agent: d.Agent, Session: d.Session, Status: d.Status, Reason: d.Reason,
			DeliveredAt: d.DeliveredAt, ReadAt: d.ReadAt, ProcessedAt: d.ProcessedAt,
		})
	}
	return doc
}
