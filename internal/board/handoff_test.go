package board

import (
	"encoding/json"
	"testing"

	"agency/internal/agency"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

func pack(from agency.AgentID, files ...string) agency.HandoffPackage {
	return agency.HandoffPackage{
		Run: run, From: from, To: "tom", ToRole: "test_engineer", Contract: "c-" + agency.ContractID(from), Status: agency.StatusInProgress,
		NextContract: "next", Instructions: "only the tests", Outputs: json.RawMessage(`{"done":true}`), FilesModified: files, Warnings: []string{"red"},
	}
}

func (d *desk) tester() {
	d.Helper()
	d.do(func(tx *store.Tx) error {
		return Join(tx, Agent{Run: run, ID: "tom", Role: "test_engineer", Contract: "next"})
	})
}

// TestHandoff: the package is in the inbox of the next agent, once, also where
// its sender has ended meanwhile.
func TestHandoff(t *testing.T) {
	for name, ended := range map[string]bool{"": false, "its sender has ended": true} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.board()
			d.join("ada")
			d.tester()
			if ended {
				d.leave("ada")
			}
			d.do(func(tx *store.Tx) error { return Handoff(tx, 1, pack("ada", "./a.go")) })
			again := pack("ada", "b.go") // what a second look finds
			d.do(func(tx *store.Tx) error { return Handoff(tx, 1, again) })
			want := pack("ada", "a.go")
			d.do(func(tx *store.Tx) error {
				ms, err := ClaimAll(tx, Recipient{Run: run, Agent: "tom", Role: "test_engineer", Session: "s"}, 10)
				if len(ms) != 1 {
					t.Fatalf("claimed %+v, %v", ms, err)
				}
				p, ok := agency.HandoffOf(ms[0])
				if diff := cmp.Diff(want, p); diff != "" || !ok || ms[0].ContractID != "next" {
					t.Errorf("%+v (-want +got):\n%s", ms[0], diff)
				}
				return err
			})
			d.do(func(tx *store.Tx) error { return Handoff(tx, 2, pack("ada")) })
			d.do(func(tx *store.Tx) error {
				ms, err := Conversation(tx, run, "next")
				if len(ms) != 2 || ms[1].ID != agency.HandoffID("next", 2) {
					t.Errorf("handed over twice: %+v", ms)
				}
				return err
			})
		})
	}
}

// TestABadHandoffIsNotHalfDone: neither shared nor told.
func TestABadHandoffIsNotHalfDone(t *testing.T) {
	d := newDesk(t)
	d.join("ada")
	d.tester()
	for name, tt := range map[string]struct {
		change func(*agency.HandoffPackage)
		kind   agency.Kind
	}{
		"no contract":       {func(p *agency.HandoffPackage) { p.Contract = "" }, agency.KindInvalid},
		"no status":         {func(p *agency.HandoffPackage) { p.Status = "" }, agency.KindInvalid},
		"no next contract":  {func(p *agency.HandoffPackage) { p.NextContract = "" }, agency.KindInvalid},
		"a file outside":    {func(p *agency.HandoffPackage) { p.FilesModified = []string{"../x"} }, agency.KindInvalid},
		"outputs no JSON":   {func(p *agency.HandoffPackage) { p.Outputs = json.RawMessage("{") }, agency.KindInvalid},
		"nobody":            {func(p *agency.HandoffPackage) { p.To, p.ToRole = "", "" }, agency.KindInvalid},
		"an unknown agent":  {func(p *agency.HandoffPackage) { p.To = "zoe" }, agency.KindNotFound},
		"an unknown sender": {func(p *agency.HandoffPackage) { p.From = "zoe" }, agency.KindNotFound},
	} {
		t.Run(name, func(*testing.T) {
			p := pack("ada", "a.go")
			tt.change(&p)
			d.refuse(tt.kind, func(tx *store.Tx) error { return Handoff(tx, 1, p) })
		})
	}
	d.do(func(tx *store.Tx) error {
		ms, err := Messages(tx, run)
		if len(ms) != 0 {
			t.Errorf("sent %+v", ms)
		}
		return err
	})
}
