package host

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/board"
	"agency/internal/contractrun"
	"agency/internal/flow"
	"agency/internal/flow/outbox"
	"agency/internal/registry"
	"agency/internal/roster"
	"agency/internal/store"
)

// Say sends a person's message into a run; whoever it is for reads it before
// its next turn. To an agent that waits for an answer it is the answer: the run
// is woken by it, and taken up where it stood at that wait.
func (h *Host) Say(ctx context.Context, id agency.RunID, r api.SayRequest) (said api.SaidDoc, err error) {
	waits := false
	m := agency.Message{ID: r.ID, RunID: id, From: agency.FromHuman, Type: agency.MessageNote, Body: r.Text}
	err = h.rec.write(ctx, func(tx *store.Tx) error {
		run, err := registry.Run(tx, id)
		if err != nil {
			return err
		}
		if run.State.Final() {
			return agency.Errorf(agency.KindConflict, "run %s %s; nobody would read it", id, run.State.Has())
		}
		m, question := m, false
		if r.InReplyTo != "" {
			m, question, err = answer(tx, run, m, r)
		} else {
			m, question, err = address(tx, run, m, r.To)
		}
		if err != nil {
			return err
		}
		if err := board.Send(tx, m); err != nil || !question {
			return err
		}
		waits = run.State == agency.StateWaiting
		return outbox.Send(tx, id, contractrun.ReplySignal(m.InReplyTo), string(m.ID), flow.None{})
	})
	if err != nil {
		return said, err
	}
	if waits && !h.live.Has(id) {
		if err := h.runs.takeUp(ctx, id); err != nil {
			h.rec.log.Warn("the answer is stored; the run does not go on", "run", id, "error", err)
		}
	}
	if said.Message, err = h.message(ctx, m); err != nil || said.To != agency.Everyone {
		return said, err
	}
	err = h.rec.db.Read(ctx, func(q *store.Snapshot) error {
		has, err := board.Deliveries(q, id, m.ID)
		for _, d := range has {
			said.Readers = append(said.Readers, d.Agent)
		}
		return err
	})
	return said, err
}

// address says to whom a message goes, and which question it answers, where
// its reader waits with one.
func address(tx *store.Tx, run agency.Run, m agency.Message, to string) (_ agency.Message, question bool, err error) {
	all := false
	if to == "" {
		all, err = forAll(tx, run, m.ID)
	}
	switch {
	case err != nil:
	case all:
		m.To = agency.Everyone
	default:
		if m.To, m.ToRole, err = recipient(tx, run, to); err == nil {
			m.InReplyTo, err = asked(tx, m)
		}
	}
	return m, m.InReplyTo != "", err
}

// forAll tells whether what names no reader is for everyone: in a tiered run the one who
// leads has no turn while its workstreams are built, nor while the run waits at a gate, so
// that all who are at work read it, and whoever begins later. Where the one who leads waits with a question it is the answer. A
// message that was sent before keeps its readers.
func forAll(tx *store.Tx, run agency.Run, id agency.MessageID) (bool, error) {
	if old, err := board.Get(tx, run.ID, id); agency.KindOf(err) != agency.KindNotFound {
		return old.To == agency.Everyone, err
	}
	contracts, err := registry.Contracts(tx, run.ID)
	if err != nil || cmp.Or(run.MovedTo, run.Mode) != agency.ModeTiered || run.State != agency.StateWaiting && !builds(contracts) {
		return false, err
	}
	_, asks, err := board.Question(tx, run.ID, agency.AgentID(leader(run, contracts)))
	return !asks, err
}

// builds tells whether workstreams of a tiered run are open.
func builds(contracts []agency.Contract) bool {
	return slices.ContainsFunc(contracts, func(c agency.Contract) bool { return !c.Steers() && !c.Status.Final() })
}

// answer addresses a message that answers another: to its sender, or to those
// to whom a person wrote it. It answers a question where somebody waits for it.
func answer(tx *store.Tx, run agency.Run, m agency.Message, r api.SayRequest) (_ agency.Message, question bool, err error) {
	to, err := board.Get(tx, run.ID, r.InReplyTo)
	if err != nil {
		return m, false, err
	}
	m.InReplyTo, m.ContractID = to.ID, to.ContractID
	question = to.RequiresResponse && to.RespondWithin > 0
	switch {
	case r.To != "":
		m.To, m.ToRole, err = recipient(tx, run, r.To)
	case to.From == agency.FromSystem:
		err = agency.Errorf(agency.KindInvalid, "message %s is the harness's own: nobody would read an answer", to.ID).
			WithMend("agency say %s --reply-to %s --to AGENT TEXT", run.ID, to.ID)
	case to.From != agency.FromHuman:
		m.To = to.From
	case to.To != "":
		m.To = to.To
	default:
		m.ToRole = to.ToRole
	}
	return m, question, err
}

// asked is the question that an agent waits for an answer to; a message that
// was sent before keeps the one that it had.
func asked(tx *store.Tx, m agency.Message) (agency.MessageID, error) {
	if m.To == "" {
		return "", nil
	}
	if old, err := board.Get(tx, m.RunID, m.ID); agency.KindOf(err) != agency.KindNotFound {
		return old.InReplyTo, err
	}
	q, ok, err := board.Question(tx, m.RunID, agency.AgentID(m.To))
	if err != nil || !ok {
		return "", err
	}
	c, err := registry.Contract(tx, m.RunID, q.ContractID)
	if agency.KindOf(err) == agency.KindNotFound {
		return q.ID, nil
	}
	if c.Stage != agency.StageWorking && c.Stage != agency.StageParked {
		return "", err // what it did is being looked at: it waits for that
	}
	return q.ID, err
}

// recipient finds who is meant, and makes the agent that leads known before its
// first session, so that it has an inbox from the beginning.
func recipient(tx *store.Tx, run agency.Run, to string) (agent string, role agency.RoleID, err error) {
	contracts, err := registry.Contracts(tx, run.ID)
	if err != nil {
		return "", "", err
	}
	agents, err := board.Live(tx, run.ID)
	if err != nil {
		return "", "", err
	}
	id, role, err := whom(run, to, contracts, agents)
	if err != nil || id == "" {
		return "", role, err
	}
	if slices.ContainsFunc(agents, func(a board.Agent) bool { return a.ID == id }) {
		return string(id), "", nil
	}
	return string(id), "", board.Join(tx, board.Agent{Run: run.ID, ID: id, Role: agency.RoleID(id), Status: board.AgentWaiting})
}

// whom says who is meant: the one who leads where nobody is named; else an
// agent, whoever of a role is at work, or the agent of a contract.
func whom(run agency.Run, to string, contracts []agency.Contract, agents []board.Agent) (agency.AgentID, agency.RoleID, error) {
	lead := leader(run, contracts)
	if to == "" || to == "manager" || to == string(lead) {
		return agency.AgentID(lead), "", nil
	}
	has := func(fits func(board.Agent) bool) (agency.AgentID, bool) {
		i := slices.IndexFunc(agents, fits)
		if i < 0 {
			return "", false
		}
		return agents[i].ID, true
	}
	if id, ok := has(func(a board.Agent) bool { return string(a.ID) == to }); ok {
		return id, "", nil
	}
	if _, ok := has(func(a board.Agent) bool { return string(a.Role) == to }); ok {
		return "", agency.RoleID(to), nil
	}
	if id, ok := has(func(a board.Agent) bool { return string(a.Contract) == to }); ok {
		return id, "", nil
	}
	known := []string{string(lead)}
	for _, a := range agents {
		known = append(known, string(a.ID))
	}
	slices.Sort(known)
	return "", "", agency.Errorf(agency.KindNotFound, "run %s has no agent, role or contract %q at work; there are: %s",
		run.ID, to, strings.Join(slices.Compact(known), ", ")).WithMend("agency say %s --to %s TEXT", run.ID, lead)
}

// leader is the role that leads: in a team who plans the goal, else whose contract
// is open, the latest first, and before there is one the first that the mode asks.
// The agent of such a role has its name.
func leader(run agency.Run, contracts []agency.Contract) agency.RoleID {
	if cmp.Or(run.MovedTo, run.Mode).Team() {
		for _, c := range contracts {
			if c.ParentID == "" && roster.Leads(c.AssignedRole) {
				return c.AssignedRole
			}
		}
		return agency.RoleProjectManager
	}
	for _, c := range slices.Backward(contracts) {
		if !c.Status.Final() && c.AssignedRole != "" {
			return c.AssignedRole
		}
	}
	if run.Mode != agency.ModeSingle && len(contracts) == 0 {
		return agency.RoleProjectManager
	}
	return agency.RoleGeneralist
}
