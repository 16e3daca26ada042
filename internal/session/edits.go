package session

import (
	"context"
	"fmt"
	"slices"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/registry"
	"agency/internal/store"
)

// Edits are the files that a session changes beside others of its run.
type Edits struct {
	*Member
	// Shared are the globs of files whose change by several contracts is no
	// matter.
	Shared []string
	known  map[string]bool // to the board
}

// Find finds the files that a turn which left another tree has changed. A tool
// that writes files names them; what a command did is seen against where the
// contract began.
func (e *Edits) Find(ctx context.Context, tools *Toolset, calls []Call) (edited []string, err error) {
	if !e.concurrent() {
		return nil, nil
	}
	named := true
	for _, k := range calls {
		switch {
		case k.Result.Wrote != "":
			edited = append(append(edited, k.Result.Wrote), k.Result.AlsoWrote...)
		case k.Writes():
			named = false
		}
	}
	if named {
		return edited, nil
	}
	changed, err := tools.changed(ctx)
	if agency.KindOf(err) == agency.KindInvalid { // the model is told what is wrong with the files
		return edited, nil
	}
	return append(edited, changed...), err
}

// Note tells the board which files a settled turn has changed for the first
// time: others may have changed the same, or have declared it. What it returns
// is for Noted, after the commit.
func (e *Edits) Note(tx *store.Tx, turn int, edited []string) (files []string, err error) {
	if len(edited) == 0 {
		return nil, nil
	}
	files = slices.DeleteFunc(agency.Unshared(edited, e.Shared), func(f string) bool { return e.known[f] })
	if len(files) == 0 {
		return nil, nil
	}
	slices.Sort(files)
	files = slices.Compact(files)
	contract, err := registry.Contract(tx, e.Spec.Run, e.Spec.Contract)
	if err != nil {
		return nil, err
	}
	run, err := registry.Run(tx, e.Spec.Run)
	if err != nil {
		return nil, err
	}
	stray, err := e.stray(tx, contract, files)
	if err != nil {
		return nil, err
	}
	return files, board.NoteEdits(tx, board.Edits{
		Run: e.Spec.Run, Agent: e.Spec.Agent, Contract: e.Spec.Contract, Turn: fmt.Sprintf("%s/turn-%d", e.Spec.ID(), turn),
		Base: e.Spec.Onto, First: e.Spec.Onto == run.Base, Files: files, Parts: agency.Parts(contract, files), Stray: stray,
	})
}

// stray are the files that the contract does not declare, each with an agent at
// work whose contract does.
func (e *Edits) stray(tx *store.Tx, contract agency.Contract, files []string) (out []board.Stray, err error) {
	undeclared := agency.Undeclared(contract, files, e.Shared)
	if len(undeclared) == 0 {
		return nil, nil
	}
	live, err := board.Live(tx, contract.RunID)
	if err != nil {
		return nil, err
	}
	owner := map[string]agency.AgentID{}
	for _, a := range live {
		if a.Contract == contract.ID || a.Contract == "" {
			continue
		}
		other, err := registry.Contract(tx, contract.RunID, a.Contract)
		if agency.KindOf(err) == agency.KindNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, f := range undeclared {
			if _, _, meets := agency.Overlap(other.WriteSet(), []string{f}, nil); meets && owner[f] == "" && a.Role == other.AssignedRole {
				owner[f] = a.ID
			}
		}
	}
	for _, f := range undeclared {
		out = append(out, board.Stray{File: f, Owner: owner[f]})
	}
	return out, nil
}

// Noted remembers what a commit has made known, so that a file is told of once.
func (e *Edits) Noted(files []string) {
	if len(files) > 0 && e.known == nil {
		e.known = map[string]bool{}
	}
	for _, f := range files {
		e.known[f] = true
	}
}
