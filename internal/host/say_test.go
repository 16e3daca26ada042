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

// What names no reader goes to everyone while workstreams of a tiered run are built; before
// and after that, where the one who leads waits with a question, and in other modes to who leads.
func TestWhoReadsWhatNamesNobody(t *testing.T) {
	work := func(status agency.Status) agency.Contract {
		return agency.Contract{ID: "words", Type: agency.TypeFeature, AssignedRole: agency.RoleImplementer, Status: status}
	}
	plan := agency.Contract{ID: agency.PlanContract, Type: agency.TypeDesign, AssignedRole: agency.RoleVisionary, Status: agency.StatusInProgress}
	if builds([]agency.Contract{plan, work(agency.StatusComplete)}) || !builds([]agency.Contract{plan, work(agency.StatusBlocked)}) {
		t.Error("it builds while work is open, and no longer")
	}
	for name, tt := range map[string]struct {
		mode      agency.Mode
		contracts []agency.Contract
		asks      bool
		waits     bool // at a gate
		want      string
	}{
		"building":    {agency.ModeTiered, []agency.Contract{plan, work(agency.StatusInProgress)}, false, false, agency.Everyone},
		"plan gate":   {agency.ModeTiered, []agency.Contract{plan}, false, true, agency.Everyone},
		"planning":    {agency.ModeTiered, []agency.Contract{plan}, false, false, "t1_visionary"},
		"asks":        {agency.ModeTiered, []agency.Contract{plan, work(agency.StatusPending)}, true, false, "t1_visionary"},
		"of any mode": {agency.ModeMultiAgent, []agency.Contract{work(agency.StatusPending)}, false, false, "project_manager"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKeeper(t)
			k.run("run-1", 24)
			k.do(func(tx *store.Tx) error {
				run, err := registry.Run(tx, "run-1")
				if err != nil {
					return err
				}
				run.Mode = tt.mode
				if tt.waits {
					run.State = agency.StateWaiting
				}
				for _, c := range tt.contracts {
					c.RunID = run.ID
					if err := registry.CreateContract(tx, c); err != nil {
						return err
					}
				}
				if tt.asks {
					if err := board.Join(tx, board.Agent{Run: run.ID, ID: "t1_visionary", Role: agency.RoleVisionary, Contract: "plan", Status: board.AgentWaiting}); err != nil {
						return err
					}
					if err := board.Send(tx, agency.Message{ID: "q", RunID: run.ID, From: "t1_visionary", ToRole: agency.RoleVisionary, ContractID: "plan", Type: agency.MessageRequestInput, Body: "which?", RequiresResponse: true, RespondWithin: time.Hour}); err != nil {
						return err
					}
				}
				m, _, err := address(tx, run, agency.Message{ID: "m", RunID: run.ID, From: agency.FromHuman, Type: agency.MessageNote, Body: "b"}, "")
				if err != nil || m.To != tt.want {
					t.Errorf("to %q, %v; want %q", m.To, err, tt.want)
				}
				if err := board.Send(tx, m); err != nil {
					return err
				}
				run.Mode = agency.ModeTiered
				if again, err := forAll(tx, run, "m"); err != nil || again != (tt.want == agency.Everyone) {
					t.Errorf("said again it is for everyone: %t, %v", again, err)
				}
				return nil
			})
		})
	}
}

// A run whose host died as the answer to its gate was stored waits for nobody: the next
// host says that it goes on when it is resumed. One that waits at a gate waits on.
func TestWhatWaitsAtNoGateIsInterrupted(t *testing.T) {
	for gate, want := range map[bool]agency.RunState{false: agency.StateInterrupted, true: agency.StateWaiting} {
		k := newKeeper(t)
		k.run("run-1", 24)
		k.do(func(tx *store.Tx) error {
			if gate {
				if err := registry.OpenGate(tx, agency.Gate{ID: "run-1.plan-1", RunID: "run-1", Kind: agency.GatePlan, CreatedAt: k.wall}); err != nil {
					return err
				}
			}
			if err := registry.SetState(tx, "run-1", agency.StateWaiting, "plan gate: the plan"); err != nil {
				return err
			}
			run, err := registry.Run(tx, "run-1")
			if err != nil {
				return err
			}
			if err := recoverRun(tx, run, k.wall); err != nil {
				return err
			}
			if run, err = registry.Run(tx, "run-1"); err == nil && run.State != want {
				t.Errorf("with a gate %t it is %s: %s", gate, run.State, run.Reason)
			}
			return err
		})
	}
}
