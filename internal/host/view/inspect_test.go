package view

import (
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/budget"
	"agency/internal/config"
	"agency/internal/overseer"
)

// What waits for what is scarce is shown of its contract and its agent until something
// else is heard of whoever waits, and of no run that stands still.
func TestWaitsForResource(t *testing.T) {
	wait := func(by agency.AgentID) agency.Event {
		ev := agency.NewEvent("r", agency.SeverityInfo, "", agency.ResourceWaited{Resource: "gpu", InUse: 2, Of: 2})
		ev.ContractID, ev.AgentID = "c", by
		return ev
	}
	next := func(by agency.AgentID, d agency.Detail) agency.Event {
		ev := agency.NewEvent("r", agency.SeverityInfo, "", d)
		ev.ContractID, ev.AgentID = "c", by
		return ev
	}
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	retried := func(after time.Duration) agency.Event {
		ev := next("a", agency.Retried{Session: "s", Attempt: 1, Cause: "rate_limited", WaitSeconds: 60})
		ev.Time = noon.Add(after - time.Minute)
		return ev
	}
	const says = "gpu (2 of 2 in use)"
	for name, tt := range map[string]struct {
		state           agency.RunState
		events          []agency.Event
		contract, agent string
	}{
		"an agent":        {agency.StateRunning, []agency.Event{wait("a")}, says, "waits for " + says},
		"a verification":  {agency.StateRunning, []agency.Event{wait("")}, says, "claim"},
		"others go on":    {agency.StateRunning, []agency.Event{wait("a"), next("b", agency.TurnCompleted{})}, says, "waits for " + says},
		"has it":          {agency.StateRunning, []agency.Event{wait("a"), next("a", agency.ResourceTaken{})}, "", "claim"},
		"ended otherwise": {agency.StateRunning, []agency.Event{wait("a"), next("a", agency.Failed{})}, "", "claim"},
		"after a crash":   {agency.StateRunning, []agency.Event{wait("a"), agency.NewEvent("r", agency.SeverityInfo, "", agency.ResumedAfterCrash{})}, "", "claim"},
		"its model":       {agency.StateRunning, []agency.Event{retried(time.Second)}, "its model: rate limited, try 2 at " + noon.Add(time.Second).Local().Format(time.TimeOnly), "waits for its model: rate limited, try 2 at " + noon.Add(time.Second).Local().Format(time.TimeOnly)},
		"asked again":     {agency.StateRunning, []agency.Event{retried(-time.Second)}, "", "claim"},
		"interrupted":     {agency.StateInterrupted, []agency.Event{wait("a")}, "", "claim"},
	} {
		doc, events := api.InspectDoc{}, told{trail: overseer.NewTrail(config.Defaults().Overseer), scarce: waits{}}
		doc.State = tt.state
		doc.Contracts = []api.ContractDoc{{Contract: agency.Contract{ID: "c"}}, {Contract: agency.Contract{ID: "d"}}}
		doc.Agents = []api.AgentDoc{{ID: "a", Contract: "c", Activity: "claim"}}
		for _, ev := range tt.events {
			events.add(ev)
		}
		events.scarce.show(&doc, noon)
		if got := doc.Contracts[0].WaitsFor; got != tt.contract || doc.Contracts[1].WaitsFor != "" || doc.Agents[0].Activity != tt.agent {
			t.Errorf("%s: contract %q, agent %q", name, got, doc.Agents[0].Activity)
		}
	}
}

// A contract that has not begun waits for those before it that are not complete.
func TestWaitsForContracts(t *testing.T) {
	doc := api.InspectDoc{}
	doc.State = agency.StateRunning
	for _, c := range []agency.Contract{
		{ID: "a", Status: agency.StatusComplete},
		{ID: "b", Status: agency.StatusInProgress, DependsOn: []agency.ContractID{"a"}},
		{ID: "c", Status: agency.StatusPending, DependsOn: []agency.ContractID{"a", "b"}},
		{ID: "d", Status: agency.StatusPending},
	} {
		doc.Contracts = append(doc.Contracts, api.ContractDoc{Contract: c})
	}
	waits{}.show(&doc, time.Time{})
	for i, want := range []string{"", "", "b", ""} {
		if got := doc.Contracts[i].WaitsFor; got != want {
			t.Errorf("%s waits for %q, want %q", doc.Contracts[i].ID, got, want)
		}
	}
}

// A run waits for the answer that was asked for longest, once it takes long.
func TestRunWaitsForAnAnswer(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)
	asked := []budget.Asked{{Model: "p/m", Since: noon.Add(-5 * time.Second)}, {Model: "p/n", Since: noon}}
	for want, of := range map[string][]budget.Asked{"an answer of p/m, asked at 11:59:55": asked, "": asked[1:]} {
		if got := awaited(of, noon); got != want {
			t.Errorf("waits for %q, want %q", got, want)
		}
	}
}

// An agent whose model takes its time waits for it; what is worse of it is said first.
func TestWaitsForAModel(t *testing.T) {
	long, now := time.Now().Add(-time.Minute), time.Now()
	for name, tt := range map[string]struct {
		was   overseer.Condition
		asked budget.Asked
		want  overseer.Condition
	}{
		"for a minute":          {overseer.Working, budget.Asked{Node: "session/s", Model: "p/m", Since: long}, overseer.Waiting},
		"asked just now":        {overseer.Working, budget.Asked{Node: "session/s", Model: "p/m", Since: now}, overseer.Working},
		"another does":          {overseer.Working, budget.Asked{Node: "session/t", Model: "p/m", Since: long}, overseer.Working},
		"goes round in circles": {overseer.Looping, budget.Asked{Node: "session/s", Model: "p/m", Since: long}, overseer.Looping},
	} {
		got := waitsFor(overseer.Health{Condition: tt.was}, "session/s", []budget.Asked{tt.asked})
		if got.Condition != tt.want || got.Condition == overseer.Waiting && (got.Why != "for an answer of p/m" || !got.Since.Equal(long)) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
