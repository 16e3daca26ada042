package view

import (
	"testing"
	"time"

	"agency/internal/budget"
	"agency/internal/overseer"
)

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
