package mode

import (
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/registry"
	"agency/internal/store"
	"agency/internal/verify"
)

// showsRed tells whether a gate of this kind asks about work whose checks a
// person wants to know. The merge gate shows those of what landed itself.
func showsRed(k agency.GateKind) bool {
	return k == agency.GateWeakened || k == agency.GateEscalation || k == agency.GateBudget
}

// addRed adds to a gate which checks are red where it asks: of its contract, or
// without one of all that are at work or have failed, and what its last verdict
// left without proof.
func addRed(q *store.Snapshot, g *agency.Gate) error {
	contracts, err := registry.Contracts(q, g.RunID)
	if err != nil {
		return err
	}
	receipts, err := check.Receipts(q, g.RunID)
	if err != nil {
		return err
	}
	verdicts, err := verify.Verdicts(q, g.RunID)
	if err != nil {
		return err
	}
	for _, c := range contracts {
		if g.ContractID != "" && c.ID != g.ContractID || g.ContractID == "" && c.Status == agency.StatusComplete {
			continue
		}
		red := check.LastRed(receipts, c.ID)
		g.Red = append(g.Red, red...)
		g.Body += redText(c.ID, red)
		g.Body += doubtText(lastVerdict(verdicts, c.ID))
	}
	return nil
}

func lastVerdict(all []agency.Verdict, id agency.ContractID) (last agency.Verdict) {
	for _, v := range all {
		if v.ContractID == id {
			last = v
		}
	}
	return last
}

func redText(id agency.ContractID, red []agency.Red) string {
	if len(red) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n\nRed on the work on %s, as it was last checked:\n", id)
	for _, r := range red {
		fmt.Fprintf(&b, "- %s\n", r.Head())
		for _, l := range r.Lines() {
			fmt.Fprintf(&b, "    - %s\n", l)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// doubtText is what a verdict leaves to a person's judgement.
func doubtText(v agency.Verdict) string {
	s := ""
	if line := v.Unproved.Line(); line != "" {
		s += "\n\nunproved: " + line
	}
	if line := agency.ExpectationsLine(v.Expectations); line != "" {
		s += "\n\nedited expectations: " + line
	}
	return s
}
