package board

import (
	"encoding/json"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/store"
)

func pack(from agency.AgentID, files ...string) HandoffPackage {
	return HandoffPackage{
		Run: run, From: from, ToRole: "test_engineer", Contract: "c-" + agency.ContractID(from), Status: "complete",
		Outputs: json.RawMessage(`{"done":true}`), FilesModified: files,
	}
}

func (d *desk) hand(b *Board, id agency.MessageID, p HandoffPackage) {
	d.Helper()
	d.do(func(tx *store.Tx) error { return b.HandoffTx(tx, id, p) })
}

func TestHandoff(t *testing.T) {
	d := newDesk(t)
	b := d.board()
	d.join("ada")
	d.do(func(tx *store.Tx) error { return Join(tx, Agent{Run: run, ID: "tom", Role: "test_engineer"}) })
	for range 2 { // the second time is nothing
		d.hand(b, "h1", pack("ada", "./a.go"))
	}
	d.see(OutputsKey(run, "c-ada"), `1:{"done":true}`)
	d.do(func(tx *store.Tx) error {
		ms, err := ClaimAll(tx, Recipient{Run: run, Agent: "tom", Role: "test_engineer", Session: "s"}, 10)
		if len(ms) != 1 {
			t.Fatalf("claimed %+v, %v", ms, err)
		}
		var p HandoffPackage
		if err := json.Unmarshal(ms[0].Payload, &p); err != nil {
			t.Error(err)
		}
		if m := ms[0]; m.Type != agency.MessageTaskComplete || m.Subject != "Handoff: c-ada" || p.FilesModified[0] != "a.go" || p.From != "ada" {
			t.Errorf("%+v, %+v", m, p)
		}
		return err
	})
}

// TestABadHandoffIsNotHalfDone: neither shared nor told.
func TestABadHandoffIsNotHalfDone(t *testing.T) {
	d := newDesk(t)
	b := d.board()
	d.join("ada")
	for name, tt := range map[string]struct {
		change func(*HandoffPackage)
		kind   agency.Kind
	}{
		"no contract":       {func(p *HandoffPackage) { p.Contract = "" }, agency.KindInvalid},
		"no status":         {func(p *HandoffPackage) { p.Status = "" }, agency.KindInvalid},
		"a file outside":    {func(p *HandoffPackage) { p.FilesModified = []string{"../x"} }, agency.KindInvalid},
		"outputs no JSON":   {func(p *HandoffPackage) { p.Outputs = json.RawMessage("{") }, agency.KindInvalid},
		"nobody":            {func(p *HandoffPackage) { p.ToRole = "" }, agency.KindInvalid},
		"an unknown agent":  {func(p *HandoffPackage) { p.To = "zoe" }, agency.KindNotFound},
		"an unknown sender": {func(p *HandoffPackage) { p.From = "zoe" }, agency.KindNotFound},
	} {
		t.Run(name, func(*testing.T) {
			p := pack("ada", "a.go")
			tt.change(&p)
			d.refuse(tt.kind, func(tx *store.Tx) error { return b.HandoffTx(tx, "h1", p) })
		})
	}
	// The message would do, the state would not.
	d.do(func(tx *store.Tx) error {
		if err := Join(tx, Agent{Run: run, ID: "bob", Role: "scaffolder"}); err != nil {
			return err
		}
		return OwnState(tx, OutputsKey(run, "c-ada"), "bob")
	})
	d.refuse(agency.KindDenied, func(tx *store.Tx) error { return b.HandoffTx(tx, "h1", pack("ada", "a.go")) })
	d.see(OutputsKey(run, "c-ada"), "none")
	d.do(func(tx *store.Tx) error {
		ms, err := Messages(tx, run)
		if len(ms) != 0 {
			t.Errorf("sent %+v", ms)
		}
		return err
	})
}

func TestRequestHandoff(t *testing.T) {
	d := newDesk(t)
	b := d.board()
	d.do(func(tx *store.Tx) error {
		return Join(tx, Agent{Run: run, ID: "ada", Role: "scaffolder", Contract: "main"})
	})
	for range 2 {
		if err := b.RequestHandoff(t.Context(), "r1", run, "ada", "reviewer", "it is done"); err != nil {
			t.Fatal(err)
		}
	}
	d.do(func(tx *store.Tx) error {
		m, err := Get(tx, run, "r1")
		if m.ToRole != "project_manager" || !m.RequiresResponse || m.Type != agency.MessageRequestInput || m.ContractID != "main" ||
			!strings.Contains(string(m.Payload), `"reviewer"`) {
			t.Errorf("%+v", m)
		}
		return err
	})
	if err := b.RequestHandoff(t.Context(), "r2", run, "ada", "", "x"); agency.KindOf(err) != agency.KindNotFound {
		t.Errorf("got %v", err)
	}
}
