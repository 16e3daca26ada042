package daemon

import (
	"path/filepath"

	"agency/internal/agency"
	"agency/internal/budget/allowance"
	"agency/internal/config"
	"agency/internal/git"
	"agency/internal/host/settings"
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
		Ring:   ring, Now: o.Now, Log: o.Log,
	})
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
