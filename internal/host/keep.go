package host

import (
	"context"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/decision"
	"agency/internal/registry"
	"agency/internal/reservation"
	"agency/internal/store"
)

// keeping is what a host does with what agents settled between them.
type keeping struct{ rec *records }

// Keep has decisions of a run stand in later runs of the repository, or no more. They are
// the repository's own: the run may be removed.
func (k keeping) Keep(ctx context.Context, r api.KeepRequest) (out []agency.KeptDecision, err error) {
	if r.Drop && len(r.Keys) == 0 {
		return nil, agency.Errorf(agency.KindInvalid, "no key is named").WithMend("agency decisions drop KEY")
	}
	err = k.rec.write(ctx, func(tx *store.Tx) error {
		out = []agency.KeptDecision{}
		if r.Drop {
			gone, err := decision.Drop(tx, r.Keys)
			for _, d := range gone {
				out = append(out, agency.KeptDecision{SharedDecision: d})
			}
			return err
		}
		if _, err := registry.Run(tx, r.Run); err != nil {
			return err
		}
		out, err = decision.Keep(tx, r.Run, r.Keys, r.By)
		return err
	})
	return out, err
}

// Free takes a reserved name from the contract that has it. Whoever works on the contract is
// told, and a change of it that takes the name does not land before it is reserved again.
func (k keeping) Free(ctx context.Context, id agency.RunID, r api.FreeRequest) (out agency.Reservation, err error) {
	err = k.rec.write(ctx, func(tx *store.Tx) error {
		run, err := registry.Run(tx, id)
		if err != nil {
			return err
		}
		if run.State.Final() {
			return agency.Errorf(agency.KindConflict, "run %s has %s: its names are no matter any more", id, run.State)
		}
		out, err = reservation.Free(tx, id, r.Name, r.By)
		return err
	})
	return out, err
}
