package local

import (
	"context"
	"errors"
	"testing"

	"agency/internal/agency"
	"agency/internal/flow"
)

// A run that has stopped says so before it waits for what still runs: from then
// on nothing that it is sent is taken up.
func TestEndingIsToldBeforeTheWait(t *testing.T) {
	r := newRig(t)
	stuck := flow.Activity[flow.None, flow.None]{Name: "stuck"}
	broken := flow.Activity[flow.None, flow.None]{Name: "broken"}
	began, ending := make(chan struct{}), make(chan struct{})
	flow.Bind(r.reg, stuck, func(_ context.Context, _ agency.StepKey, in flow.None) (flow.None, error) {
		close(began)
		<-ending // whatever becomes of its context
		return in, nil
	})
	flow.Bind(r.reg, broken, func(_ context.Context, _ agency.StepKey, in flow.None) (flow.None, error) {
		<-began
		return in, agency.Errorf(agency.KindTransient, "away")
	})
	told := 0
	err := r.e.Run(t.Context(), testRun, r.fence, func(c flow.Ctx) error {
		_ = flow.Start(c, stuck, "stuck", flow.None{})
		_, err := flow.Call(c, broken, "broken", flow.None{})
		return err
	}, Hooks{Ending: func() { told++; close(ending) }})
	if at := (*flow.Interrupt)(nil); !errors.As(err, &at) || told != 1 {
		t.Errorf("told %d times, %v", told, err)
	}
}
