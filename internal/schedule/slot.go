package schedule

import (
	"context"
	"fmt"

	"agency/internal/agency"
	"agency/internal/flow"
)

// note is what a contract's branch tells the executor about its slot, or that
// the plan has changed.
type note struct {
	Contract agency.ContractID `json:"contract"`
	Look     bool              `json:"look,omitempty"`  // at the plan
	Back     bool              `json:"back,omitempty"`  // wants a slot again
	Human    bool              `json:"human,omitempty"` // waits for a person
	Widen    []string          `json:"widen,omitempty"` // wants a slot in which it may change these, too
	Narrow   bool              `json:"narrow,omitempty"`
}

// Poke asks for a signal into the run itself.
type Poke struct {
	Run     agency.RunID `json:"run"`
	Signal  string       `json:"signal"`
	Payload []byte       `json:"payload,omitempty"`
}

// PokeActivity sends a signal into the run that calls it, once per key. It is
// how branches wake each other: everything that a run waits for is journaled.
var PokeActivity = flow.Activity[Poke, flow.None]{Name: "schedule.poke"}

// Sender makes a signal durable; the same id again changes nothing.
type Sender interface {
	Signal(ctx context.Context, run agency.RunID, name, id string, payload []byte) error
}

// Bind registers the activity.
func Bind(r *flow.Registry, s Sender) {
	flow.Bind(r, PokeActivity, func(ctx context.Context, key agency.StepKey, in Poke) (flow.None, error) {
		return flow.None{}, s.Signal(ctx, in.Run, in.Signal, string(key), in.Payload)
	})
}

// notes is the signal by which branches tell the executor that carries out the plan
// of a contract; empty: of the run.
func notes(of agency.ContractID) flow.Signal[note] {
	return flow.Signal[note]{Name: "slots/" + string(of)}
}

// Slot is a contract's right to be worked on, of which there are a limited
// number. A branch that waits for a person or for others gives it back, so
// that waiting holds up nobody. The zero Slot is of a contract that no executor
// started: it is always held.
type Slot struct {
	run   agency.RunID
	notes flow.Signal[note]
	id    agency.ContractID
	times int
	wide  bool // it may change more than its own files
}

// Leave gives the slot back; human tells that a person is waited for.
func (s *Slot) Leave(c flow.Ctx, human bool) error {
	s.times++
	return s.tell(c, "leave", note{Contract: s.id, Human: human})
}

// Asks tells that a branch without its slot waits for a person from now on.
func (s *Slot) Asks(c flow.Ctx) error {
	return s.tell(c, "asks", note{Contract: s.id, Human: true})
}

// Return waits for a slot again. Contracts that began go before others.
func (s *Slot) Return(c flow.Ctx) error {
	if err := s.tell(c, "back", note{Contract: s.id, Back: true}); err != nil {
		return err
	}
	return s.await(c)
}

// Widen gives the slot back until nobody at work may change these files, and
// waits for one in which the contract may, until Narrow. Without files it keeps
// its slot.
func (s *Slot) Widen(c flow.Ctx, writes []string) error {
	if len(writes) == 0 {
		return nil
	}
	s.times++
	if err := s.tell(c, "widen", note{Contract: s.id, Widen: writes}); err != nil {
		return err
	}
	s.wide = true
	return s.await(c)
}

// Narrow gives up what Widen allowed, where it allowed anything.
func (s *Slot) Narrow(c flow.Ctx) error {
	if !s.wide {
		return nil
	}
	s.wide = false
	return s.tell(c, "narrow", note{Contract: s.id, Narrow: true})
}

func (s *Slot) await(c flow.Ctx) error {
	if s.id == "" {
		return nil
	}
	_, err := flow.Receive(c, granted(s.id), fmt.Sprintf("slot/granted/%d", s.times))
	return err
}

func (s *Slot) tell(c flow.Ctx, step string, n note) error {
	if s.id == "" {
		return nil
	}
	return poke(c, fmt.Sprintf("slot/%s/%d", step, s.times), s.run, s.notes, n)
}

func granted(id agency.ContractID) flow.Signal[flow.None] {
	return flow.Signal[flow.None]{Name: "slot/" + string(id)}
}

func poke[T any](c flow.Ctx, key string, run agency.RunID, s flow.Signal[T], v T) error {
	payload, err := flow.Encode(s, v)
	if err != nil {
		return err
	}
	_, err = flow.Call(c, PokeActivity, key, Poke{Run: run, Signal: s.Name, Payload: payload})
	return err
}
