package daemon

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/budget/allowance"
	"agency/internal/config"
	"agency/internal/git"
	"agency/internal/host/settings"
	"agency/internal/registry"
	"agency/internal/store"
)

// allowanceDB is the store of what a user spends across repositories.
func allowanceDB(state string) string { return filepath.Join(state, "allowance.db") }

// limitsAcross are the limits that the user's own file sets across runs.
func limitsAcross(f settings.Files) ([]allowance.Limit, error) {
	set, err := settings.AcrossRuns(f)
	var out []allowance.Limit
	for _, l := range []struct {
		period allowance.Period
		key    string
		usd    float64
		at     config.Origin
	}{
		{allowance.Day, "budget.daily_usd", set.DailyUSD, set.Daily},
		{allowance.Month, "budget.monthly_usd", set.MonthlyUSD, set.Monthly},
	} {
		if l.usd > 0 {
			out = append(out, allowance.Limit{Period: l.period, Money: agency.USD(l.usd), Where: l.key + ", " + l.at.String()})
		}
	}
	return out, err
}

// ledger is what a host holds its runs to across repositories; nil where it serves a
// program's own runs, for which no user's file counts.
func ledger(o Options, db *store.DB, epoch int64, ring func()) *allowance.Ledger {
	guard, ok := o.Settings.(settings.Guard)
	if !ok {
		return nil
	}
	return allowance.New(allowance.Options{
		Path: allowanceDB(o.Place.Root), Runs: db, Repo: o.Place.ID, Place: o.Place.Repo.WorkTree, Epoch: epoch,
		Limits: func() ([]allowance.Limit, error) { return limitsAcross(guard.Files) },
		Alive:  func(repo string) bool { return hasHost(o.Place, repo) },
		Records: recordsOf(o.Place, func(path string, err error) {
			o.Log.Error("what was spent there does not count to the limits across runs", "store", path, "error", err)
		}),
		Ring: ring, Now: o.Now, Log: o.Log,
	})
}

// recordsOf reads what the repositories of a user have paid, from the stores of all
// their hosts; lost is told of one that cannot be read.
func recordsOf(p Place, lost func(path string, err error)) allowance.Records {
	return func(ctx context.Context, since time.Time) []allowance.Record {
		paths, err := recordsIn(p.Root)
		if err != nil {
			lost(p.Root, err)
		}
		var out []allowance.Record
		for _, path := range paths {
			r := allowance.Record{Repo: filepath.Base(filepath.Dir(path))}
			if r.Place, r.Paid, err = paidIn(ctx, path, since); err != nil {
				lost(path, err)
				continue
			}
			r.Place = cmp.Or(r.Place, "repository "+r.Repo)
			out = append(out, r)
		}
		return out
	}
}

// recordsIn are the stores of all repositories in a state folder.
func recordsIn(root string) ([]string, error) {
	return filepath.Glob(filepath.Join(globbed(root), "repos", "*", "agency.db"))
}

// Places are those of all repositories of a user that have a record. Where each repository
// lies is not known: its runs say.
func Places(env config.Env) (out []Place, err error) {
	f, err := config.FindFolders(env)
	if err != nil {
		return nil, err
	}
	paths, err := recordsIn(f.State)
	for _, path := range paths {
		p, err := placeOf(git.Location{}, filepath.Base(filepath.Dir(path)), f)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, err
}

// globbed is a path as filepath.Glob takes it for itself.
func globbed(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// paidIn is what the runs of a store have paid, and the working tree that the last of them
// was for.
func paidIn(ctx context.Context, path string, since time.Time) (place string, paid []budget.Paid, err error) {
	db, err := store.Open(ctx, store.Options{Path: path, Sets: Migrations(), ReadOnly: true})
	if err != nil {
		return "", nil, err
	}
	err = db.Read(ctx, func(q *store.Snapshot) error {
		runs, err := registry.Runs(q)
		if err != nil {
			return err
		}
		if n := len(runs); n > 0 {
			place = runs[n-1].Repo
		}
		paid, err = budget.PaidSince(q, since)
		return err
	})
	return place, paid, errors.Join(err, db.Close())
}

// Allowances says how the limits stand that the user's own file sets across runs;
// nothing is written. lost is told of a repository whose record cannot be read.
func (p Place) Allowances(ctx context.Context, now time.Time, lost func(path string, err error)) (out []allowance.Standing, err error) {
	limits, err := limitsAcross(settings.Files{User: p.Config, State: p.Root})
	if err != nil || len(limits) == 0 {
		return nil, err
	}
	db, err := store.Open(ctx, store.Options{Path: allowanceDB(p.Root), Sets: []store.Set{allowance.Migrations()}, ReadOnly: true})
	if agency.KindOf(err) == agency.KindNotFound {
		return allowance.Stand(ctx, nil, limits, recordsOf(p, lost), now)
	}
	if err != nil {
		return nil, err
	}
	err = db.Read(ctx, func(q *store.Snapshot) error {
		out, err = allowance.Stand(ctx, q, limits, recordsOf(p, lost), now)
		return err
	})
	return out, errors.Join(err, db.Close())
}

// hasHost tells whether a repository of the same user has a host, or may have one.
func hasHost(p Place, repo string) bool {
	other, err := placeOf(git.Location{}, repo, config.Folders{State: p.Root})
	if err != nil {
		return true
	}
	_, held, err := HolderOf(other)
	return held || err != nil
}
