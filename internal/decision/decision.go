// Package decision is what the agents of a run decide together: a key, its value and
// why, compared with the version that was read before it is changed, and told to those
// whose work it touches. What a person keeps of it holds in the repository's later runs.
package decision

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/board/state"
	"agency/internal/registry"
	"agency/internal/store"
)

// prefix begins the names of those keys of the shared state that are decisions.
const prefix = "decision/"

// Taken is the error of a decision that somebody else has taken or changed meanwhile.
// Its kind is KindConflict.
type Taken struct{ Now agency.SharedDecision }

func (e *Taken) Error() string {
	return fmt.Sprintf("%s is decided already, as version %d by %s", e.Now.Key, e.Now.Version, e.Now.By)
}

// Unwrap gives the error with the kind.
func (e *Taken) Unwrap() error { return agency.Errorf(agency.KindConflict, "taken") }

// Note takes a decision whose version is still the one that its author has read, 0 where
// there was none, and tells those at work whom it concerns. id is the author's of this
// call: the same again is the same decision. *Taken where it is another one by now.
func Note(tx *store.Tx, d agency.SharedDecision, id string) (_ agency.SharedDecision, told []agency.AgentID, err error) {
	raw, err := json.Marshal(content{d.Value, d.Why, d.Contract, d.Concerns})
	if err != nil {
		return d, nil, err
	}
	e, err := state.Swap(tx, state.Write{Key: keyOf(d.Run, d.Key), Value: raw, By: string(d.By), ID: id}, d.Version)
	if late := (*state.VersionConflict)(nil); errors.As(err, &late) {
		if late.Current.Version == 0 || late.Current.Deleted {
			return d, nil, agency.Errorf(agency.KindNotFound, "%s is not decided yet: there is no version %d of it; leave the version out", d.Key, d.Version)
		}
		now, err := read(late.Current)
		if err != nil {
			return d, nil, err
		}
		return d, nil, &Taken{now}
	}
	if err != nil {
		return d, nil, err
	}
	if d, err = read(e); err != nil {
		return d, nil, err
	}
	told, err = tell(tx, d)
	return d, told, err
}

// List are the decisions of a run whose keys begin with a text, by key.
func List(q store.Querier, run agency.RunID, begins string) (out []agency.SharedDecision, err error) {
	entries, err := state.List(q, keyOf(run, begins))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		d, err := read(e)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

// CatchUp tells an agent that begins to work on a contract the decisions that concern it and
// of which it has not been told; anew: its own too, for it does not remember them. With the
// commit by which it is seen by others, so that none is lost between. n is how many there
// are of them.
func CatchUp(tx *store.Tx, run agency.RunID, contract agency.ContractID, agent agency.AgentID, anew bool) (n int, err error) {
	all, err := List(tx, run, "")
	if err != nil || len(all) == 0 {
		return 0, err
	}
	contracts, err := registry.Contracts(tx, run)
	if err != nil {
		return 0, err
	}
	slices.SortFunc(all, func(a, b agency.SharedDecision) int { return cmp.Compare(a.ID, b.ID) })
	for _, d := range all {
		if d.By == agent && !anew || d.By != agent && !concerns(d, contract, contracts) {
			continue
		}
		if err := send(tx, d, agent, contract); err != nil && !gone(err) {
			return n, err
		}
		n++
	}
	return n, nil
}

// Concerns tells whether a decision touches a contract: its files are among those that it
// is about, or the one contract builds on the other. What a contract writes that says
// nothing of it may be anything; a decision that names no file is about those of its
// author's contract, and about all where that has none.
func Concerns(d agency.SharedDecision, c agency.Contract, contracts []agency.Contract) bool {
	files := d.Concerns
	if at := slices.IndexFunc(contracts, func(o agency.Contract) bool { return o.ID == d.Contract }); at >= 0 {
		author := contracts[at]
		if author.ID == c.ID || slices.Contains(c.DependsOn, author.ID) || slices.Contains(author.DependsOn, c.ID) {
			return true
		}
		if len(files) == 0 {
			files = author.WriteSet()
		}
	}
	writes := c.WriteSet()
	if len(files) == 0 || len(writes) == 0 {
		return true
	}
	_, _, touch := agency.Overlap(files, slices.Concat(writes, c.RelevantFiles), nil)
	return touch
}

// tell writes to each agent at work whom a decision concerns, and that has not written it.
func tell(tx *store.Tx, d agency.SharedDecision) (told []agency.AgentID, err error) {
	live, err := board.Live(tx, d.Run)
	if err != nil {
		return nil, err
	}
	contracts, err := registry.Contracts(tx, d.Run)
	if err != nil {
		return nil, err
	}
	for _, a := range live {
		if a.ID == d.By || !concerns(d, a.Contract, contracts) {
			continue
		}
		switch err := send(tx, d, a.ID, a.Contract); {
		case err == nil:
			told = append(told, a.ID)
		case !gone(err):
			return nil, err
		}
	}
	return told, nil
}

func concerns(d agency.SharedDecision, contract agency.ContractID, contracts []agency.Contract) bool {
	at := slices.IndexFunc(contracts, func(c agency.Contract) bool { return c.ID == contract })
	return at >= 0 && Concerns(d, contracts[at], contracts)
}

// send tells an agent, once however often.
func send(tx *store.Tx, d agency.SharedDecision, to agency.AgentID, contract agency.ContractID) error {
	return board.Send(tx, agency.Message{
		ID: messageID(d, to), RunID: d.Run, From: agency.FromSystem, To: string(to), Type: agency.MessageStateChanged,
		ContractID: contract, Subject: "decision " + d.Key + " by " + string(d.By), Body: d.Text(),
	})
}

// gone tells of who has ended or whose inbox is full: read_decisions has it all.
func gone(err error) bool {
	return agency.KindOf(err) == agency.KindConflict || agency.KindOf(err) == agency.KindNotFound
}

// messageID is that of the message by which an agent is told.
func messageID(d agency.SharedDecision, to agency.AgentID) agency.MessageID {
	return agency.MessageID(fmt.Sprintf("%s%d/%s", toldPrefix, d.ID, to))
}

// toldPrefix begins the ids of the messages by which agents are told.
const toldPrefix = "decision/"

// StillHolding are those of messages that hold still: one that tells of a decision does until
// its key is decided anew.
func StillHolding(q store.Querier, run agency.RunID, told []agency.Message) ([]agency.Message, error) {
	all, err := List(q, run, "")
	return slices.DeleteFunc(told, func(m agency.Message) bool {
		ofDecision := m.Type == agency.MessageStateChanged && strings.HasPrefix(string(m.ID), toldPrefix)
		return ofDecision && !slices.ContainsFunc(all, func(d agency.SharedDecision) bool { return messageID(d, agency.AgentID(m.To)) == m.ID })
	}), err
}

// content is a decision as the value of its key.
type content struct {
	Value    string            `json:"value"`
	Why      string            `json:"why"`
	Contract agency.ContractID `json:"contract_id,omitempty"`
	Concerns []string          `json:"concerns,omitempty"`
}

func keyOf(run agency.RunID, name string) state.Key {
	return state.Key{Namespace: state.OfRun, Run: run, Name: prefix + name}
}

func read(e state.Entry) (agency.SharedDecision, error) {
	var c content
	if err := json.Unmarshal(e.Value, &c); err != nil {
		return agency.SharedDecision{}, fmt.Errorf("%s: %w", e.Key, err)
	}
	return agency.SharedDecision{
		ID: e.ID, Key: strings.TrimPrefix(e.Name, prefix), Value: c.Value, Why: c.Why, Concerns: c.Concerns,
		Version: e.Version, Run: e.Run, Contract: c.Contract, By: agency.AgentID(e.CreatedBy), At: e.CreatedAt,
	}, nil
}
