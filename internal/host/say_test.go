package host

import (
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/board"
	"agency/internal/registry"
	"agency/internal/store"
)

// A person's answer goes to who wrote the message, in its thread; what nobody
// would read is refused.
func TestAnswersToMessages(t *testing.T) {
	k := newKeeper(t)
	k.run("run-1", 24)
	k.do(func(tx *store.Tx) error {
		for _, a := range []board.Agent{{ID: "ann", Role: "scaffolder", Contract: "api"}, {ID: "bob", Role: "scaffolder"}} {
			a.Run = "run-1"
			if err := board.Join(tx, a); err != nil {
				return err
			}
		}
		for _, m := range []agency.Message{
			{ID: "note", From: "ann", To: "bob", ContractID: "api"},
			{ID: "asks", From: "ann", To: "bob", RequiresResponse: true, RespondWithin: time.Minute},
			{ID: "said", From: agency.FromHuman, To: "bob"},
			{ID: "role", From: agency.FromHuman, ToRole: "scaffolder"},
			{ID: "told", From: agency.FromSystem, To: "bob"},
		} {
			m.RunID, m.Type, m.Body = "run-1", agency.MessageNote, "words"
			if err := board.Send(tx, m); err != nil {
				return err
			}
		}
		return nil
	})
	for name, tt := range map[string]struct {
		to       api.SayRequest
		want     string // the recipient
		question bool
		kind     agency.Kind
	}{
		"an agent's":            {api.SayRequest{InReplyTo: "note"}, "ann", false, 0},
		"a question":            {api.SayRequest{InReplyTo: "asks"}, "ann", true, 0},
		"its own":               {api.SayRequest{InReplyTo: "said"}, "bob", false, 0},
		"its own, to a role":    {api.SayRequest{InReplyTo: "role"}, "scaffolder", false, 0},
		"of another, to it too": {api.SayRequest{InReplyTo: "note", To: "bob"}, "bob", false, 0},
		"the harness's":         {api.SayRequest{InReplyTo: "told"}, "", false, agency.KindInvalid},
		"the harness's, to":     {api.SayRequest{InReplyTo: "told", To: "bob"}, "bob", false, 0},
		"none":                  {api.SayRequest{InReplyTo: "nowhere"}, "", false, agency.KindNotFound},
		"to nobody":             {api.SayRequest{InReplyTo: "note", To: "cid"}, "", false, agency.KindNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			k.do(func(tx *store.Tx) error {
				run, err := registry.Run(tx, "run-1")
				if err != nil {
					return err
				}
				m, question, err := answer(tx, run, agency.Message{RunID: "run-1", From: agency.FromHuman}, tt.to)
				switch {
				case agency.KindOf(err) != tt.kind:
					t.Errorf("%v, want %v", err, tt.kind)
				case err == nil && (m.To+string(m.ToRole) != tt.want || question != tt.question || m.InReplyTo != tt.to.InReplyTo):
					t.Errorf("question %t: %+v", question, m)
				}
				return nil
			})
		})
	}
}
