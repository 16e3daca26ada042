package effects

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/budget"
	"agency/internal/check"
	"agency/internal/event"
	"agency/internal/git"
	"agency/internal/land"
	"agency/internal/lease"
	"agency/internal/registry"
	"agency/internal/report"
	"agency/internal/store"
	"agency/internal/store/storetest"
	"agency/internal/verdicts"
)

const run = agency.RunID("run-1")

const no, ok = agency.ReviewChanges, agency.ReviewApprove

// stage is a store with a run.
type stage struct {
	t  *testing.T
	db *store.DB
}

func newStage(t *testing.T, more ...store.Set) *stage {
	t.Helper()
	db := storetest.Open(t, store.Options{
		Path: filepath.Join(t.TempDir(), "t.db"),
		Sets: append([]store.Set{
			event.Migrations(), lease.Migrations(), registry.Migrations(), budget.Migrations(), board.Migrations(),
			check.Migrations(), verdicts.Migrations(), land.Migrations(),
		}, more...),
	})
	err := db.Write(context.Background(), func(tx *store.Tx) error {
		r := agency.Run{ID: run, Goal: "the goal", Mode: agency.ModeSingle, State: agency.StateRunning, Branch: "agency/run-1/main"}
		if err := registry.CreateRun(tx, r, json.RawMessage("{}")); err != nil {
			return err
		}
		return budget.Open(tx, run, budget.Root, "", budget.Limits{Money: agency.Dollar, Tokens: 100})
	})
	if err != nil {
		t.Fatal(err)
	}
	return &stage{t: t, db: db}
}

func (s *stage) steps(has shop) *Activities { return New(s.db, agency.Fence{}, has, has, has, has) }

// ends are the conflicts of the run, each in a line.
func (s *stage) ends() (out []string) {
	s.t.Helper()
	var all []board.Conflict
	if err := s.db.Read(context.Background(), func(q *store.Snapshot) (err error) { all, err = board.Conflicts(q, run); return err }); err != nil {
		s.t.Fatal(err)
	}
	for _, c := range all {
		out = append(out, fmt.Sprintf("%s %v %s by %q: %s (%s %s)", c.Resource, c.Agents, c.Status, c.By, c.How, c.Proof.Kind, c.Proof.Ref))
	}
	return out
}

func (s *stage) stored() (out []agency.Review) {
	s.t.Helper()
	if err := s.db.Read(context.Background(), func(q *store.Snapshot) (err error) { out, err = registry.Reviews(q, run); return err }); err != nil {
		s.t.Fatal(err)
	}
	return out
}

// shop is a run's work that is nowhere.
type shop struct {
	off    bool
	acts   []agency.Act
	landed []git.CommitChanges
}

func (s shop) Landed(context.Context, agency.RunID, agency.OID, agency.ContractID, []agency.ContractID) error {
	return nil
}

func (s shop) SandboxOff(context.Context, agency.RunID) (bool, error) { return s.off, nil }

func (shop) Signing(context.Context, agency.RunID) (string, error) { return "", nil }

func (s shop) Change(context.Context, agency.RunID, agency.OID, agency.OID) (Change, error) {
	return Change{Stat: " a.go | 2 +-\n", Acts: s.acts}, nil
}

func (s shop) Landings(context.Context, agency.RunID) (report.Input, error) {
	return report.Input{Landed: s.landed}, nil
}

func (shop) Level(context.Context, agency.RunID, agency.Level) (string, *agency.Price, error) {
	return "", nil, nil
}

func (shop) Staff(context.Context, agency.RunID, agency.RoleID, agency.Level) (agency.Staffing, error) {
	return agency.Staffing{}, nil
}

func (shop) Routing(context.Context, agency.RunID) (agency.Routing, error) {
	return agency.Routing{}, nil
}

func (shop) MarkDone(context.Context, agency.RunID, string, agency.OID, agency.FeatureID, agency.FeatureEvidence) (agency.OID, error) {
	return "", nil
}
