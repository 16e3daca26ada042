package view

import "agency/internal/agency"

const MostKnown = mostKnown

// Kept are the runs of which the reader keeps what it read.
func (r *Reader) Kept() (ids []agency.RunID) {
	for _, l := range r.looks.all {
		ids = append(ids, l.run)
	}
	return ids
}
