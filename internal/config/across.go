package config

import "reflect"

// ownKeys are the limits across runs and repositories, which stand in the user's own
// file alone.
var ownKeys = []string{"budget.daily_usd", "budget.monthly_usd"}

// ownOnly refuses them in a file that comes with a repository: it would speak for all
// others.
func (ch *checker) ownOnly() {
	for _, key := range ownKeys {
		if by := ch.state.origin(key).Layer; by != LayerDefault && by != LayerUser {
			ch.fault("%s is a limit across repositories and stands in your own file alone: move it to %s", []any{key, ch.in.UserFile.Path}, key)
		}
	}
}

// AcrossRuns are the limits of a user across runs and repositories, each with where
// it stands. 0 is none.
type AcrossRuns struct {
	DailyUSD, MonthlyUSD float64
	Daily, Monthly       Origin
}

// LoadAcrossRuns reads them from the user's own file. Only faults of the file as a whole
// and of its budget count: a host reads it while runs are at work, without what else
// a configuration is made from. The error is KindInvalid.
func LoadAcrossRuns(own Source) (AcrossRuns, error) {
	c := &collector{}
	root, t := readTree(own, c)
	s := newState()
	if root != nil && root.shape == isMap {
		d := &decoder{state: s, layer: LayerUser, text: t, faults: c, env: func(string) (string, bool) { return "", false }}
		for _, e := range root.entries {
			if e.key == "budget" {
				d.object(reflect.ValueOf(&s.config.Budget).Elem(), e.value, e.key)
			}
		}
	}
	b := s.config.Budget
	return AcrossRuns{b.DailyUSD, b.MonthlyUSD, s.origin(ownKeys[0]), s.origin(ownKeys[1])}, c.err()
}
