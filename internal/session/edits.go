package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/registry"
	"agency/internal/tool"
)

// besideOthers tells whether other contracts of the run may be at work on the
// same files: those of a team say what they stand on.
func (c *conversation) besideOthers() bool { return c.spec.Onto != "" && c.spec.Review == nil }

// findEdits finds the files that a turn which left another tree has changed. A
// tool that writes one file names it; what a command did is seen against where
// the contract began.
func (c *conversation) findEdits(ctx context.Context, d *done) error {
	if !c.besideOthers() || d.tree == "" || d.tree == c.st.Tree {
		return nil
	}
	named := true
	for _, k := range d.calls {
		switch {
		case k.res.Wrote != "":
			d.edited = append(d.edited, k.res.Wrote)
		case k.ran && !k.res.Refused && k.tool.Access == tool.Write && k.tool.Scope == tool.Workspace:
			named = false
		}
	}
	if named {
		return nil
	}
	changed, err := c.desk.History.Changed(ctx)
	if agency.KindOf(err) == agency.KindInvalid { // the model is told what is wrong with the files
		return nil
	}
	for _, line := range changed {
		_, file, _ := strings.Cut(line, " ")
		d.edited = append(d.edited, file)
	}
	return err
}

// noteEdits tells the board what the turn that this commit settles has changed
// for the first time: others may have changed the same, or have declared it.
func (w *draft) noteEdits(d *done) error {
	if d == nil || len(d.edited) == 0 {
		return nil
	}
	c := w.c
	files := slices.DeleteFunc(agency.Unshared(d.edited, c.setup.Shared), func(f string) bool { return c.edited[f] })
	if len(files) == 0 {
		return nil
	}
	slices.Sort(files)
	files = slices.Compact(files)
	contract, err := registry.Contract(w.tx, c.spec.Run, c.spec.Contract)
	if err != nil {
		return err
	}
	run, err := registry.Run(w.tx, c.spec.Run)
	if err != nil {
		return err
	}
	stray, err := w.stray(contract, files)
	if err != nil {
		return err
	}
	w.edited = files
	return board.NoteEdits(w.tx, board.Edits{
		Run: c.spec.Run, Agent: c.spec.Agent, Contract: c.spec.Contract, Turn: fmt.Sprintf("%s/turn-%d", c.id, w.st.Turn),
		Base: c.spec.Onto, First: c.spec.Onto == run.Base, Files: files, Parts: agency.Parts(contract, files), Stray: stray,
	})
}

// stray are the files that the contract does not declare, each with an agent at
// work whose contract does.
func (w *draft) stray(contract agency.Contract, files []string) (out []board.Stray, err error) {
	undeclared := agency.Undeclared(contract, files, w.c.setup.Shared)
	if len(undeclared) == 0 {
		return nil, nil
	}
	live, err := board.Live(w.tx, contract.RunID)
	if err != nil {
		return nil, err
	}
	owner := map[string]agency.AgentID{}
	for _, a := range live {
		if a.Contract == contract.ID || a.Contract == "" {
			continue
		}
		other, err := registry.Contract(w.tx, contract.RunID, a.Contract)
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

// knowEdits remembers what a commit has made known, so that a file is told of
// once.
func (c *conversation) knowEdits(files []string) {
	if len(files) > 0 && c.edited == nil {
		c.edited = map[string]bool{}
	}
	for _, f := range files {
		c.edited[f] = true
	}
}
