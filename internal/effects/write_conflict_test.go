package effects

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/registry"
	"agency/internal/session/record"
	"agency/internal/store"
)

// What becomes of a conflict over a file when one of its agents has ended.
func TestDecideFiles(t *testing.T) {
	const working, failed, complete = agency.StatusInProgress, agency.StatusFailed, agency.StatusComplete
	sides := func(b agency.Status, landed agency.OID) []side {
		return []side{{"a", "s-a", complete, "ca", 1}, {"b", "s-b", b, landed, 2}}
	}
	edits := board.Conflict{Kind: board.FileWrite, Status: board.ConflictOpen}
	queue := edits
	queue.LandingFailed = true
	given := queue
	given.Status = board.ConflictEscalated
	for name, tt := range map[string]struct {
		c     board.Conflict
		sides []side
		agent agency.AgentID
		want  string
	}{
		"the other is at work":             {edits, sides(working, ""), "s-a", "waits"},
		"both landed":                      {edits, sides(complete, "cb"), "s-b", "commit cb of b on [a]"},
		"the order of the branch counts":   {edits, []side{{"a", "s-a", complete, "ca", 2}, {"b", "s-b", complete, "cb", 1}}, "s-a", "commit ca of a on [b]"},
		"it failed":                        {edits, sides(failed, ""), "s-b", "b never landed"},
		"it did nothing in the end":        {edits, sides(complete, ""), "s-b", "b never landed"},
		"three, one of them fails":         {edits, append(sides(complete, "cb"), side{"c", "s-c", failed, "", 0}), "s-c", "commit cb of b on [a]"},
		"three, one of them is at work":    {edits, append(sides(complete, "cb"), side{"c", "s-c", working, "", 0}), "s-b", "waits"},
		"it failed in the queue":           {queue, sides(working, ""), "s-b", "escalated"},
		"it is escalated already":          {given, sides(working, ""), "s-b", "waits"},
		"it was escalated, and failed":     {given, sides(failed, ""), "s-b", "b never landed"},
		"it was escalated, and withdrawn":  {given, sides(agency.StatusCancelled, ""), "s-b", "b never landed"},
		"it went through after all":        {given, sides(complete, "cb"), "s-b", "commit cb of b on [a]"},
		"the queue's, and nothing changed": {queue, sides(complete, ""), "s-b", "b never landed"},
	} {
		got := "waits"
		switch end := decideFiles(tt.c, tt.sides, tt.agent); {
		case end.escalate:
			got = "escalated"
		case end.last != nil:
			got = fmt.Sprintf("commit %s of %s on %v", end.last.landed, end.last.contract, end.before)
		case end.dropped != nil:
			got = string(end.dropped.contract) + " never landed"
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// holding is work whose landings hold only what it says.
type holding struct {
	shop
	holds map[agency.OID][]agency.ContractID
}

func (h holding) Landed(_ context.Context, _ agency.RunID, commit agency.OID, _ agency.ContractID, others []agency.ContractID) error {
	for _, id := range others {
		if !slices.Contains(h.holds[commit], id) {
			return agency.Errorf(agency.KindInvalid, "%s does not hold %s", commit, id)
		}
	}
	return nil
}

// What two lines have changed apart from each other is resolved by the landing that brings
// them together, be it of an integration, and not by one that holds one of them.
func TestTheIntegrationResolvesTheConflict(t *testing.T) {
	s := newStage(t, record.Migrations())
	h := holding{holds: map[agency.OID][]agency.ContractID{"c-w-integrate": {"a", "b"}, "c-v": {"a"}}}
	steps := New(s.db, agency.Fence{}, h, h.shop, h.shop, h.shop)
	ends := func(id agency.ContractID) {
		t.Helper()
		n := 0
		for _, f := range []agency.Fact{agency.Started{Agent: agency.MemberID(agency.RoleImplementer, id)}, agency.ClaimMade{}, agency.Verified{}, agency.LandingBegun{}, agency.HasLanded{}} {
			if n++; n == 5 {
				if err := s.db.Write(t.Context(), func(tx *store.Tx) error {
					_, err := tx.Exec(`INSERT INTO land_intent (step, run_id, contract, ref, old, new, done, created_at) VALUES (?, ?, ?, 'refs/heads/x', '', ?, 1, ?)`, "land-"+string(id), string(run), string(id), "c-"+string(id), store.Micros(tx.Now))
					return err
				}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := steps.advance(t.Context(), agency.StepKey(fmt.Sprintf("%s/%d", id, n)), NewStep(run, id, f)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.db.Write(t.Context(), func(tx *store.Tx) error {
		for _, id := range []agency.ContractID{"a", "b", "v", "w-integrate"} {
			if err := createContract(tx, agency.StepKey("create-"+id), agency.Contract{ID: id, RunID: run, AssignedRole: agency.RoleImplementer, Type: agency.TypeFeature, Title: "t", Description: "d", RetryBudget: 3}); err != nil {
				return err
			}
		}
		_, err := board.RecordConflict(tx, run, board.Conflict{
			Kind: board.FileWrite, Resource: "f.go", Evidence: []agency.MessageID{"e"},
			Agents: []agency.AgentID{agency.MemberID(agency.RoleImplementer, "a"), agency.MemberID(agency.RoleImplementer, "b")},
		})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	ends("a")
	ends("b") // on another line
	ends("v") // which has the first alone
	if got := s.ends(); len(got) != 1 || strings.Contains(got[0], "resolved") {
		t.Fatal(got)
	}
	ends("w-integrate")
	want := `contract w-integrate was integrated with the work of a and b (commit c-w-integrate)`
	if got := s.ends(); len(got) != 1 || !strings.Contains(got[0], "resolved") || !strings.HasSuffix(got[0], want) {
		t.Error(got)
	}
	if c, err := store.Get(t.Context(), s.db, func(q store.Querier, id agency.ContractID) (agency.Contract, error) {
		return registry.Contract(q, run, id)
	}, "w-integrate"); err != nil || c.Status != agency.StatusComplete {
		t.Error(c.Status, err)
	}
}
