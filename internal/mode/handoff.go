package mode

import (
	"context"
	"fmt"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/check"
	"agency/internal/flow"
	"agency/internal/session"
	"agency/internal/store"
)

// An agent whose work has become another role's asks the manager, who decides.
// Where it agrees, an agent of that role goes on with the contract, in the same
// attempt, slot and workspace, by a conversation of its own; the package on the
// board tells it what was left (R1 4.4).

// handing is a contract that changes hands for the n-th time.
type handing struct {
	Run  agency.RunID          `json:"run"`
	N    int                   `json:"n"`
	Pack agency.HandoffPackage `json:"package"`
	// Words are the package's instructions, Reply the message that agreed.
	Words string           `json:"words"`
	Reply agency.MessageID `json:"reply,omitempty"`
}

var handOver = flow.Activity[handing, flow.None]{Name: "mode.hand_over"}

// keeping is what a person may answer beside handing the contract over.
const keeping = "keep it where it is"

// meetHandoff has the manager decide. Without an answer to who asked, the
// contract has changed hands.
func (a *attempts) meetHandoff(c flow.Ctx, out session.Outcome, at place) (*session.Answer, string, error) {
	if err := a.slot.Leave(c, false); err != nil {
		return nil, "", err
	}
	q := &inquiry{attempts: a, out: out, at: at, options: []string{"hand it over to a " + string(out.Handoff.Role), keeping}}
	if err := q.ask(c); err != nil || q.stop != "" {
		return nil, q.stop, err
	}
	if err := a.slot.Return(c); err != nil {
		return nil, "", err
	}
	if q.met.Type != agency.MessageTaskAccepted {
		text := "error: the contract was not handed over, it is yours. " + q.met.text()
		return &session.Answer{ToolUse: out.ToolUse, Message: q.met.Reply, Text: text}, "", nil
	}
	key, from := q.key("hand-over"), a.agent()
	a.hands++
	a.role = out.Handoff.Role
	_, err := flow.Call(c, handOver, key, handing{
		Run: a.in.Run, N: a.hands, Words: handoffWords(out.Handoff.Reason, q.met), Reply: q.met.Reply,
		Pack: agency.HandoffPackage{
			From: from, To: a.agent(), ToRole: a.role, Contract: a.contract.ID, NextContract: a.contract.ID,
			Base: a.base, Tree: out.Tree, FilesModified: out.Handoff.Files, DependenciesUsed: a.contract.DependsOn,
		},
	})
	return nil, "", err
}

func handoffWords(reason string, agreed *met) string {
	who := "The project manager"
	if agreed.From == agency.FromHuman {
		who = "A person"
	}
	return reason + "\n\n" + who + " agreed: " + agreed.Text
}

// takenOver is the conversation of who goes on with a contract.
func (a *attempts) takenOver(spec session.Spec, tree agency.OID) session.Spec {
	spec.Role, spec.Agent, spec.Hand = a.role, a.agent(), a.hands
	spec.Part, spec.Answer, spec.From = 0, nil, tree
	return spec
}

// handOver makes the next agent known, leaves the package in its inbox and ends
// the one before, all in one commit, once.
func (s *Steps) handOver(ctx context.Context, _ agency.StepKey, in handing) (flow.None, error) {
	return s.write(ctx, func(tx *store.Tx) error {
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
			if err := board.Meet(tx, in.Run, in.Reply); err != nil {
				return err
			}
		}
		err = board.Leave(tx, in.Run, p.From, board.AgentCompleted, fmt.Sprintf("contract %s was handed over to %s", p.Contract, p.To))
		if kind := agency.KindOf(err); kind == agency.KindConflict || kind == agency.KindNotFound {
			return nil // somebody ended it before
		}
		return err
	})
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
