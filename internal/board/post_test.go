package board

import (
	"fmt"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

// TestMessagesOfAllShapesInOneCommit sends messages with each choice of what not
// all messages have, many in one call: each is stored as it was sent.
func TestMessagesOfAllShapesInOneCommit(t *testing.T) {
	d := newDesk(t)
	d.join("ann", "bob", "cid")
	d.send(msg("asked", "ann", "bob"))
	var ms []agency.Message
	for n := range 1 << 8 {
		m := agency.Message{ID: agency.MessageID(fmt.Sprint("m", n)), RunID: run, From: "bob", To: "ann", Type: agency.MessageNote, Body: "words"}
		has := func(bit int) bool { return n&(1<<bit) != 0 }
		if has(0) {
			m.Subject = "about"
		}
		if has(1) {
			m.ContractID = "c1"
		}
		if has(2) {
			m.Priority = 7
		}
		switch {
		case has(3) && has(4):
			m.To = agency.Everyone
		case has(3):
			m.To, m.ToRole = "", "coder"
		}
		if has(5) {
			m.Payload = []byte(`{"n":1}`)
		}
		if has(6) {
			m.InReplyTo = "asked"
		}
		if has(7) {
			m.TTL, m.RequiresResponse, m.RespondWithin = time.Hour, true, time.Minute
		}
		ms = append(ms, m)
	}
	errs := make([]error, len(ms))
	d.do(func(tx *store.Tx) error { return sendAll(tx, nil, ms, errs) })
	d.do(func(tx *store.Tx) error {
		for i, m := range ms {
			if errs[i] != nil {
				t.Errorf("%s: %v", m.ID, errs[i])
				continue
			}
			got, err := Get(tx, run, m.ID)
			if err != nil {
				return err
			}
			m.FromRole, m.ThreadRoot, m.Status, m.CreatedAt = got.FromRole, m.ID, agency.MailPending, got.CreatedAt
			if m.InReplyTo != "" {
				m.ThreadRoot = "asked"
			}
			if diff := cmp.Diff(m, got); diff != "" {
				t.Error(diff)
			}
		}
		return nil
	})
}
