package contractrun

import (
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/effects"
	"agency/internal/flow"
)

// Ask opens a gate and waits for its one decision.
func Ask(c flow.Ctx, g agency.Gate) (agency.Decision, error) {
	if _, err := flow.Call(c, effects.OpenGate, Path("gate", string(g.ID)), g); err != nil {
		return agency.Decision{}, err
	}
	return flow.Receive(c, GateSignal(g.ID), Path("answer", string(g.ID)))
}

// GateSignal is the signal that carries a gate's decision into the run; the
// host sends it in the transaction that records the decision.
func GateSignal(id agency.GateID) flow.Signal[agency.Decision] {
	return flow.Signal[agency.Decision]{Name: "gate/" + string(id)}
}

// GateID derives a gate's id from the step that opens it.
func GateID(run agency.RunID, name string) agency.GateID {
	return agency.GateID(string(run) + "." + name)
}

// Path joins the parts of a step's key.
func Path(parts ...any) string {
	s := make([]string, len(parts))
	for i, p := range parts {
		s[i] = fmt.Sprint(p)
	}
	return strings.Join(s, "/")
}
