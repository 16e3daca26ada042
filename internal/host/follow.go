package host

import (
	"context"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/land"
	"agency/internal/mode"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/session/record"
	"agency/internal/store"
)

// follow finds out what a run begins with that begins where another one stands. Nothing that
// a client says of it counts but the run, the contract and what is wanted.
func follow(ctx context.Context, db *store.DB, r *api.RunRequest) error {
	if r.Follows == nil {
		return nil
	}
	return db.Read(ctx, func(q *store.Snapshot) error {
		former, err := registry.Run(q, r.Follows.Run)
		if err != nil {
			return err
		}
		f := agency.Follows{
			Run: former.ID, What: r.Follows.What, Contract: r.Follows.Contract,
			Rebase: r.Follows.Rebase, Planned: r.Follows.Planned, Goal: former.Goal, State: former.State, Merged: former.Merged != "",
		}
		if former.Mode == agency.ModeAgent || former.Dry {
			return agency.Errorf(agency.KindConflict, "run %s has no work: nothing of it lands", former.ID).WithMend("agency inspect %s", former.ID)
		}
		all, err := registry.Runs(q)
		if err != nil {
			return err
		}
		var taken []land.Landing
		switch f.What {
		case agency.FollowOn:
			taken, err = goOn(q, all, former, &f)
		case agency.FollowLand:
			taken, err = landAt(q, all, former, &f)
		case agency.FollowUndo:
			f.Commit = former.Merged
			err = undoable(all, former)
		default:
			err = agency.Errorf(agency.KindInvalid, "a run cannot follow another one by %q", f.What)
		}
		if err != nil {
			return err
		}
		gates, err := registry.Gates(q, former.ID)
		if err != nil {
			return err
		}
		own := slices.ContainsFunc(taken, func(l land.Landing) bool { return !mode.TakenOver(former, l.Contract) })
		f.Goals = f.GoalsBefore(all, former, own, agency.WordsOf(gates))
		if !f.Undone { // else the conversation holds that its work is there
			if f.Said, err = lastSaid(q, former.ID, f.Contract); err != nil {
				return err
			}
		}
		r.Follows, r.Target, r.Feature, r.Plan = &f, former.Target, nil, nil
		return nil
	})
}

// goOn takes over what a run that has ended had verified and not merged.
func goOn(q *store.Snapshot, all []agency.Run, former agency.Run, f *agency.Follows) ([]land.Landing, error) {
	if !former.State.Final() {
		return nil, agency.Errorf(agency.KindConflict, "run %s %s: it goes on itself", former.ID, former.State.Has()).
			WithMend("agency say %[1]s TEXT, or agency resume %[1]s, or agency cancel %[1]s first", former.ID)
	}
	f.Undone = agency.UndoneBy(all, former.ID) != nil
	for _, n := range followers(all, former.ID) {
		if n.Merged != "" && n.Follows.What == agency.FollowOn {
			return nil, agency.Errorf(agency.KindConflict, "run %s has gone on from %s and is merged", n.ID, former.ID).WithMend("agency run --continue %s TEXT", n.ID)
		}
	}
	if f.Merged {
		f.Merged = !f.Undone
		return nil, nil
	}
	landed, err := landings(q, former)
	if err != nil {
		return nil, err
	}
	return takeOver(f, former, landed), nil
}

// landAt takes over what a run had verified up to a contract.
func landAt(q *store.Snapshot, all []agency.Run, former agency.Run, f *agency.Follows) ([]land.Landing, error) {
	landed, err := landings(q, former)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(landed, func(l land.Landing) bool { return l.Contract == f.Contract })
	if f.Contract == "" {
		at = len(landed) - 1
	}
	if at < 0 {
		var ids []agency.ContractID
		for _, l := range landed {
			ids = append(ids, l.Contract)
		}
		what := "its branch has nothing yet"
		if len(ids) > 0 {
			what = "its branch has " + agency.JoinIDs(ids, ", ")
		}
		return nil, agency.Errorf(agency.KindNotFound, "%s of run %s is not integrated: %s", strings.TrimSpace("contract "+string(f.Contract)), former.ID, what).WithMend("agency inspect %s", former.ID)
	}
	if f.Merged {
		return nil, agency.Errorf(agency.KindConflict, "run %s is merged already, as %s", former.ID, former.Merged)
	}
	for _, n := range followers(all, former.ID) {
		was := slices.IndexFunc(landed, func(l land.Landing) bool { return l.Commit == n.Follows.Commit })
		if n.Merged != "" && n.Follows.What != agency.FollowUndo && was >= at {
			return nil, agency.Errorf(agency.KindConflict, "run %s has merged that already, as %s", n.ID, n.Merged.Short()).WithMend("agency inspect %s", n.ID)
		}
	}
	return takeOver(f, former, landed[:at+1]), nil
}

// takeOver has a run begin with what landed on the branch of the former one.
func takeOver(f *agency.Follows, former agency.Run, landed []land.Landing) []land.Landing {
	if n := len(landed); n > 0 {
		f.Base, f.Dirty, f.Commit = former.Base, former.Dirty, landed[n-1].Commit
	}
	return landed
}

// landings are those on a run's branch, oldest first.
func landings(q *store.Snapshot, run agency.Run) ([]land.Landing, error) {
	all, err := land.Landings(q, run.ID)
	return slices.DeleteFunc(all, func(l land.Landing) bool { return l.Contract == "" || l.Branch != run.Branch }), err
}

// lastSaid is the conversation that brought about the last landing of a run, or of a contract;
// where nothing landed, the last one of who works.
func lastSaid(q *store.Snapshot, run agency.RunID, of agency.ContractID) (said agency.SessionID, err error) {
	all, err := record.Sessions(q, run)
	for _, s := range slices.Backward(all) {
		if s.Role == agency.RoleReviewer || of != "" && s.Contract != of || strings.HasPrefix(string(s.Contract), string(mode.BacklogContract)) {
			continue
		}
		if s.Outcome == string(session.Claimed) {
			return s.ID, err
		}
		if said == "" {
			said = s.ID
		}
	}
	return said, err
}

// followers are the runs among some that begin where one stands.
func followers(all []agency.Run, of agency.RunID) (out []agency.Run) {
	for _, r := range all {
		if r.Follows != nil && r.Follows.Run == of {
			out = append(out, r)
		}
	}
	return out
}

// undoable refuses to take back what was not merged, or is taken back already.
func undoable(all []agency.Run, former agency.Run) error {
	if former.Merged == "" {
		return agency.Errorf(agency.KindConflict, "nothing of run %s was merged: there is nothing to take back", former.ID).WithMend("agency inspect %s", former.ID)
	}
	if by := agency.UndoneBy(all, former.ID); by != nil {
		return agency.Errorf(agency.KindConflict, "run %s is taken back once only: run %s has, as %s", former.ID, by.ID, by.Merged.Short()).
			WithMend("agency undo %s, to have it back", by.ID)
	}
	for _, n := range followers(all, former.ID) {
		if n.Follows.What == agency.FollowUndo && n.Merged == "" && n.State != agency.StateFailed && n.State != agency.StateCancelled {
			return agency.Errorf(agency.KindConflict, "run %s is taken back once only: run %s does that, and %s", former.ID, n.ID, n.State.Has()).WithMend("agency inspect %s", n.ID)
		}
	}
	return nil
}
