package board

import (
	"database/sql"
	"slices"
	"time"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
)

// AgentStatus says what an agent is doing. An agent whose status is
// completed, failed or terminated has ended; it lives again when it joins.
type AgentStatus string

// The statuses of an agent.
const (
	AgentInitializing AgentStatus = "initializing"
	AgentActive       AgentStatus = "active"
	AgentWaiting      AgentStatus = "waiting" // for a message or a person; needs no heartbeat
	AgentBlocked      AgentStatus = "blocked" // cannot go on by itself; needs no heartbeat
	AgentCompleted    AgentStatus = "completed"
	AgentFailed       AgentStatus = "failed"
	AgentTerminated   AgentStatus = "terminated"
)

// Ended tells whether an agent of this status will not act any more.
func (s AgentStatus) Ended() bool {
	return s == AgentCompleted || s == AgentFailed || s == AgentTerminated
}

// works tells whether a heartbeat is expected.
func (s AgentStatus) works() bool { return s == AgentInitializing || s == AgentActive }

func (s AgentStatus) live() bool { return s.works() || s == AgentWaiting || s == AgentBlocked }

// Metrics are what an agent has used and done, over all of its sessions.
type Metrics struct {
	Turns     int64
	Tokens    int64
	Files     int64
	ToolCalls int64
	Errors    int64
}

// Agent is one agent of a run as the others see it.
type Agent struct {
	Run      agency.RunID
	ID       agency.AgentID
	Role     agency.RoleID
	Name     string
	Contract agency.ContractID
	Status   AgentStatus
	Activity string
	Metrics
	LastTool          string
	LastFile          string
	StartedAt         time.Time
	LastActivityAt    time.Time
	LastHeartbeatAt   time.Time
	CompletedAt       time.Time
	HeartbeatInterval time.Duration
	Missed            int
}

// HeartbeatInterval is what an agent that names no other is held to.
const HeartbeatInterval = 5 * time.Second

// Join makes an agent known to its run, live and able to get mail. Joining
// again changes role, name and contract and, where the agent had ended, opens
// it again; what it has used before goes on counting.
func Join(tx *store.Tx, a Agent) error {
	if a.Status == "" {
		a.Status = AgentInitializing
	}
	if a.HeartbeatInterval == 0 {
		a.HeartbeatInterval = HeartbeatInterval
	}
	switch {
	case a.Run == "" || a.ID == "" || a.Role == "":
		return agency.Errorf(agency.KindInvalid, "agent %q of role %q in run %q: want all three", a.ID, a.Role, a.Run)
	case a.ID == agency.FromHuman || a.ID == agency.FromSystem || a.ID == agency.Everyone:
		return agency.Errorf(agency.KindInvalid, "agent %q: the name is taken by a party that is no agent", a.ID)
	case !a.Status.live():
		return agency.Errorf(agency.KindInvalid, "agent %s joins as %q: want a status of a live agent", a.ID, a.Status)
	case a.HeartbeatInterval < 0:
		return agency.Errorf(agency.KindInvalid, "agent %s: a heartbeat every %s", a.ID, a.HeartbeatInterval)
	}
	awake, err := clock(tx)
	if err != nil {
		return err
	}
	now := store.Micros(tx.Now)
	_, err = tx.Exec(joinAgent,
		string(a.Run), string(a.ID), string(a.Role), a.Name, string(a.Contract), string(a.Status), a.Activity,
		now, int64(a.HeartbeatInterval), int64(awake))
	delete(agentsKnown(tx), Member{a.Run, a.ID})
	return err
}

// Change is what an agent tells of itself; a zero field stays as it was, Add is
// added.
type Change struct {
	Status   AgentStatus
	Activity string
	Add      Metrics
	LastTool string
	LastFile string
}

// Update tells what an agent is doing; it counts as a heartbeat. KindNotFound
// for an agent that never joined, KindConflict for one that has ended.
func Update(tx *store.Tx, run agency.RunID, id agency.AgentID, c Change) error {
	if c.Status != "" && !c.Status.live() {
		return agency.Errorf(agency.KindInvalid, "agent %s: status %q: want active, waiting or blocked; an agent ends by leaving", id, c.Status)
	}
	awake, err := clock(tx)
	if err != nil {
		return err
	}
	res, err := tx.Exec(updateAgent,
		string(c.Status), c.Activity, c.Add.Turns, c.Add.Tokens, c.Add.Files, c.Add.ToolCalls, c.Add.Errors,
		c.LastTool, c.LastFile, store.Micros(tx.Now), int64(awake), string(run), string(id))
	return heardOf(tx, run, id, res, err)
}

// Heartbeat says that an agent is there; its locks are renewed (see Alive).
func Heartbeat(tx *store.Tx, run agency.RunID, id agency.AgentID) error {
	awake, err := clock(tx)
	if err != nil {
		return err
	}
	res, err := tx.Exec(recordHeartbeat, store.Micros(tx.Now), int64(awake), string(run), string(id))
	return heardOf(tx, run, id, res, err)
}

// heardOf refuses an agent that a statement has not found alive.
func heardOf(tx *store.Tx, run agency.RunID, id agency.AgentID, res sql.Result, err error) error {
	if err != nil {
		return err
	}
	if n, _ := res.RowsAffected(); n == 0 {
		return absent(tx, run, id)
	}
	return nil
}

// MustLive refuses an agent that never joined or has ended: nobody would release
// what it is given.
func MustLive(q store.Querier, run agency.RunID, id agency.AgentID) error {
	a, err := AgentOf(q, run, id)
	if err == nil && a.Status.Ended() {
		err = absent(q, run, id)
	}
	return err
}

// absent is the error of an operation that found no live agent.
func absent(q store.Querier, run agency.RunID, id agency.AgentID) error {
	a, err := AgentOf(q, run, id)
	if err != nil {
		return err
	}
	return agency.Errorf(agency.KindConflict, "agent %s of run %s has ended: %s", id, run, a.Status)
}

// Leave ends an agent as completed, failed or terminated. Mail that only it could read
// becomes dead letters.
// Leaving again changes nothing.
func Leave(tx *store.Tx, run agency.RunID, id agency.AgentID, status AgentStatus, reason string) error {
	if !status.Ended() {
		return agency.Errorf(agency.KindInvalid, "agent %s leaves as %q: want completed, failed or terminated", id, status)
	}
	a, err := AgentOf(tx, run, id)
	if err != nil || a.Status.Ended() {
		return err
	}
	if _, err := tx.Exec(endAgent, string(status), reason, store.Micros(tx.Now), string(run), string(id)); err != nil {
		return err
	}
	delete(agentsKnown(tx), Member{run, id})
	_, err = Bury(tx, run, id, "the recipient has ended: "+string(status))
	return err
}

// Missed counts the heartbeats that the working agents of a run owe and
// returns those that owe one or more; the first that is missed is an event.
func Missed(tx *store.Tx, run agency.RunID) ([]Agent, error) {
	awake, err := clock(tx)
	if err != nil {
		return nil, err
	}
	late, err := Late(tx, run)
	if err != nil {
		return nil, err
	}
	for i := range late {
		a := &late[i]
		known := a.Missed
		if err := tx.QueryRow(countMissed,
			int64(awake), string(run), string(a.ID)).Scan(&a.Missed); err != nil {
			return nil, err
		}
		if known > 0 {
			continue
		}
		ev := agency.NewEvent(run, agency.SeverityWarning, "no heartbeat of "+string(a.ID)+" for "+(time.Duration(a.Missed)*a.HeartbeatInterval).String(), agency.Log{Missed: a.Missed})
		ev.AgentID, ev.Role, ev.ContractID = a.ID, a.Role, a.Contract
		if _, err := event.Append(tx, ev); err != nil {
			return nil, err
		}
	}
	return late, nil
}

// Late are the working agents of a run that owe a heartbeat or more, with what
// Missed counted last.
func Late(q store.Querier, run agency.RunID) ([]Agent, error) {
	awake, err := clock(q)
	if err != nil {
		return nil, err
	}
	return agents(q, selectLateAgents, string(run), int64(awake))
}

// Live are the agents of a run that have not ended, by id.
func Live(q store.Querier, run agency.RunID) ([]Agent, error) {
	return agents(q, selectLiveAgents, string(run))
}

// Agents are all agents that ever joined a run, by id.
func Agents(q store.Querier, run agency.RunID) ([]Agent, error) {
	return agents(q, selectAllAgents, string(run))
}

// AgentOf reads one agent; KindNotFound where it never joined.
func AgentOf(q store.Querier, run agency.RunID, id agency.AgentID) (Agent, error) {
	found, err := agents(q, selectAgent, string(run), string(id))
	if err != nil {
		return Agent{}, err
	}
	if len(found) == 0 {
		return Agent{}, agency.Errorf(agency.KindNotFound, "run %s has no agent %q", run, id).
			WithMend("agency inspect %s --json lists the agents of the run", run)
	}
	return found[0], nil
}

func agents(q store.Querier, query string, args ...any) ([]Agent, error) {
	all, err := store.All(q, func(row store.Scanner) (a Agent, err error) {
		var started, active, beat, completed int64
		err = row.Scan(&a.Run, &a.ID, &a.Role, &a.Name, &a.Contract, &a.Status, &a.Activity, &a.Turns, &a.Tokens,
			&a.Files, &a.ToolCalls, &a.Errors, &a.LastTool, &a.LastFile, &started, &active, &beat, &completed,
			&a.HeartbeatInterval, &a.Missed)
		a.StartedAt, a.LastActivityAt, a.LastHeartbeatAt = store.Time(started), store.Time(active), store.Time(beat)
		a.CompletedAt = moment(completed)
		return a, err
	}, query, args...)
	return slices.Clip(all), err
}
