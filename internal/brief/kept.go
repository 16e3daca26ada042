package brief

import (
	"cmp"
	"slices"

	"agency/internal/agency"
	"agency/internal/text"
)

// Bounds of the kept decisions in a brief.
const (
	maxKeptDecisions = 50
	maxKept          = 12 << 10 // bytes of their texts
	maxKeptNamed     = 30       // of those that do not fit
)

// KeptShown are the kept decisions that are shown, by key: the newest as far as they fit.
func (in Input) KeptShown() []agency.SharedDecision {
	shown, _ := in.fitKept()
	slices.SortFunc(shown, func(a, b agency.SharedDecision) int { return cmp.Compare(a.Key, b.Key) })
	return shown
}

// KeptLeftOut names those that are too many or too long to be shown.
func (in Input) KeptLeftOut() string {
	_, left := in.fitKept()
	names := make([]string, len(left))
	for i, d := range left {
		names[i] = oneLine(d.Key)
	}
	return text.Few(names, maxKeptNamed)
}

// fitKept parts the kept decisions into the newest that fit and all that are older.
func (in Input) fitKept() (shown, left []agency.SharedDecision) {
	all := slices.Clone(in.Kept)
	slices.SortStableFunc(all, func(a, b agency.SharedDecision) int { return b.KeptAt.Compare(a.KeptAt) })
	room := min(in.KeptRoom, maxKept)
	for i, d := range all {
		if room -= int64(len(d.Text())); room < 0 || i == maxKeptDecisions {
			return all[:i], all[i:]
		}
	}
	return all, nil
}
