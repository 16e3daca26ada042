package effects

import (
	"fmt"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/check"
	"agency/internal/flow"
	"agency/internal/store"
)

// An agent whose work has become another role's asks the manager, who decides.
// Where it agrees, an agent of that role goes on with the contract, in the same
// attempt, slot and workspace, by a conversation of its own; the package on the
// board tells it what was left.

// Handover is a contract that changes hands for the n-th time.
type Handover struct {
	Run  agency.RunID          `json:"run"`
	N    int                   `json:"n"`
	Pack agency.HandoffPackage `json:"package"`
	// Words are the package's instructions, Reply the message that agreed.
	Words string           `json:"words"`
	Reply agency.MessageID `json:"reply,omitempty"`
}

// HandOver gives a contract to an agent of another role.
var HandOver = flow.Activity[Handover, flow.None]{Name: "mode.hand_over"}

// handOver makes the next agent known, leaves the package in its inbox and ends
// the one before, all in one commit, once.
func handOver(tx *store.Tx, _ agency.StepKey, in Handover) error {
	p := in.Pack
	_, err := board.Get(tx, in.Run, agency.HandoffID(p.NextContract, in.N))
	if agency.KindOf(err) != agency.KindNotFound {
		return err
	}
	p.Run, p.Instructions, p.Status = in.Run, in.Words, agency.StatusInProgress
	receipts, err := check.Receipts(tx, in.Run)
	if err != nil {
		return err
	}
	p.Checks, p.Warnings = checksOf(receipts, p.Contract)
	if err := board.Join(tx, board.Agent{Run: in.Run, ID: p.To, Role: p.ToRole, Contract: p.NextContract, Status: board.AgentInitializing}); err != nil {
		return err
	}
	if err := board.Handoff(tx, in.N, p); err != nil {
		return err
	}
	if in.Reply != "" { // what it agreed to is done
		if err := board.Acknowledge(tx, in.Run, in.Reply); err != nil {
			return err
		}
	}
	err = board.Leave(tx, in.Run, p.From, board.AgentCompleted, fmt.Sprintf("contract %s was handed over to %s", p.Contract, p.To))
	if kind := agency.KindOf(err); kind == agency.KindConflict || kind == agency.KindNotFound {
		return nil // somebody ended it before
	}
	return err
}

// checksOf are the last results of the commands that ran for a contract, and
// which of them were red.
func checksOf(all []agency.Receipt, contract agency.ContractID) (lines, red []string) {
	f := findings{receipts: all}
	for _, r := range f.checked(contract) {
		line := fmt.Sprintf("%s: exit code %d", r.Command, r.ExitCode)
		if r.Parsed {
			line += fmt.Sprintf(", passed %d, failed %d, skipped %d", r.Passed, r.Failed, r.Skipped)
		}
		lines = append(lines, line)
		if r.ExitCode != 0 {
			red = append(red, "red: "+r.Command)
		}
	}
	return lines, red
}
