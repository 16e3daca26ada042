package preview

import (
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/api"
)

func contractDoc(id agency.ContractID, typ agency.ContractType, role agency.RoleID, status agency.Status) api.ContractDoc {
	return api.ContractDoc{Contract: agency.Contract{ID: id, Type: typ, AssignedRole: role, Status: status, Title: "T " + string(id)}}
}

// What a visionary planned is shown before and after it was accepted, with what plans,
// designs and judges apart from the work.
func TestTierPlan(t *testing.T) {
	path := []agency.Tier{agency.TierImplementer, agency.TierVerifier}
	streams := []agency.Contract{{ID: "a", Title: "Say a", TierPath: path, Phase: "A"}, {ID: "b", Title: "Say b", TierPath: path, Phase: "B", DependsOn: []agency.ContractID{"a"}}}
	run := api.InspectDoc{RunDoc: api.RunDoc{ID: "r", Goal: "g", Mode: agency.ModeTiered}, Contracts: []api.ContractDoc{contractDoc("plan", agency.TypeDesign, agency.RoleVisionary, agency.StatusInProgress)}}
	if _, err := TierPlanOf(run); agency.KindOf(err) != agency.KindNotFound {
		t.Error("before there is a plan:", err)
	}
	run.Planned = []api.PlannedDoc{{Contract: "plan", Contracts: streams, Tiers: &agency.TierFacts{Complexity: agency.Small, Sequence: []string{"A", "B"}}}}
	d, err := TierPlanOf(run)
	if err != nil || len(d.Plans) != 1 || len(d.Work) != 0 || len(d.Steering) != 1 {
		t.Fatalf("at its gate: %+v, %v", d, err)
	}
	if p := d.Plans[0]; !slices.Equal(p.Sequence, []string{"A", "B"}) || !slices.Equal(p.Groups["B"], []agency.ContractID{"b"}) || p.Workstreams[1].Status != "" {
		t.Errorf("at its gate: %+v", p)
	}
	if s := TierPlanText(run, d); !strings.Contains(s, "Groups, one after the other: A, B.") || !strings.Contains(s, "### b: Say b") || strings.Contains(s, "Approve") {
		t.Error(s)
	}
	run.Contracts = append(run.Contracts,
		contractDoc("a", agency.TypeFeature, agency.RoleImplementer, agency.StatusComplete), contractDoc("b", agency.TypeFeature, agency.RoleSquadLead, agency.StatusPending),
		contractDoc("b-tasks", agency.TypeDesign, agency.RoleSquadLead, agency.StatusComplete), contractDoc("b1", agency.TypeDesign, agency.RoleImplementer, agency.StatusPending),
		contractDoc("b-verdict", agency.TypeReview, agency.RoleSquadLead, agency.StatusPending), contractDoc("t2-d", agency.TypeDesign, agency.RoleArchitect, agency.StatusPending),
		contractDoc("accept", agency.TypeReview, agency.RoleVisionary, agency.StatusPending))
	if d, err = TierPlanOf(run); err != nil {
		t.Fatal(err)
	}
	ids := func(all []api.PlannedContract) (out []agency.ContractID) {
		for _, c := range all {
			out = append(out, c.ID)
		}
		return out
	}
	if got := agency.JoinIDs(ids(d.Work), " "); got != "a b b1" {
		t.Error("work:", got)
	}
	if got := agency.JoinIDs(ids(d.Steering), " "); got != "plan b-tasks b-verdict t2-d accept" {
		t.Error("beside it:", got)
	}
	if d.Plans[0].Workstreams[0].Status != agency.StatusComplete {
		t.Error("a landed")
	}
}

// A manager's plan can be looked at while its gate waits.
func TestPlanAtItsGate(t *testing.T) {
	run := api.InspectDoc{RunDoc: api.RunDoc{ID: "r", Goal: "g"}, Contracts: []api.ContractDoc{contractDoc(agency.PlanContract, agency.TypeDesign, agency.RoleProjectManager, agency.StatusInProgress)}}
	if _, err := PlanOf(run); agency.KindOf(err) != agency.KindNotFound {
		t.Error("before there is a plan:", err)
	}
	run.Planned = []api.PlannedDoc{{Contract: agency.PlanContract, RetryBudgetMultiplier: 2, Contracts: []agency.Contract{{ID: "a"}}}}
	if p, err := PlanOf(run); err != nil || len(p.Contracts) != 1 || p.RetryBudgetMultiplier != 2 {
		t.Error(p, err)
	}
}
