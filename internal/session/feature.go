package session

import (
	"context"

	"agency/internal/agency"
	"agency/internal/registry"
	"agency/internal/store"
	"agency/internal/tool"
	"agency/internal/verify"
)

// features tells the backlog's tools what has become of a feature in the run.
type features struct{ c *conversation }

func (f features) Progress(ctx context.Context, id agency.FeatureID) (out []tool.FeatureContract, err error) {
	err = f.c.r.o.DB.Read(ctx, func(q *store.Snapshot) error {
		contracts, err := registry.Contracts(q, f.c.spec.Run)
		if err != nil {
			return err
		}
		verdicts, err := verify.Verdicts(q, f.c.spec.Run)
		if err != nil {
			return err
		}
		for _, c := range contracts {
			if c.FeatureID != id || c.Status == agency.StatusCancelled {
				continue
			}
			one := tool.FeatureContract{ID: c.ID, Title: c.Title, Status: c.Status}
			for _, v := range verdicts {
				if v.ContractID == c.ID && v.Pass {
					one.Proofs = v.Proofs
				}
			}
			out = append(out, one)
		}
		return nil
	})
	return out, err
}
