package report

import (
	"fmt"
	"slices"

	"agency/internal/agency"
	"agency/internal/git"
)

// over is what became of a file by some landings, one after the other.
type over struct {
	first, last git.Change
	by          agency.OID // the last of them
}

// there tells whether the file is there in the end, same whether it is what it was
// before.
func (o over) there() bool { return o.last.Status != 'D' }

func (o over) same() bool {
	if o.first.Status == 'A' {
		return !o.there()
	}
	return o.there() && o.first.Old.ID != "" && o.first.Old.ID == o.last.New.ID && o.first.Old.Mode == o.last.New.Mode
}

// byLandings is what became of each file by the landings that count; landed is newest first.
func byLandings(landed []git.CommitChanges, counts func(agency.OID) bool) map[string]over {
	out := map[string]over{}
	for _, l := range slices.Backward(landed) {
		if !counts(l.Commit) {
			continue
		}
		for _, c := range l.Changes {
			o, known := out[c.Path]
			if !known {
				o.first = c
			}
			o.last, o.by = c, l.Commit
			out[c.Path] = o
		}
	}
	return out
}

// everyOne has all landings count.
func everyOne(agency.OID) bool { return true }

// filesOver are the files that landings changed in the end: one that was created and
// changed was created, one that is again what it was is none.
func filesOver(net map[string]over) *agency.Files {
	f := agency.Files{Created: []string{}, Modified: []string{}, Deleted: []string{}}
	for path, o := range net {
		switch {
		case o.same():
		case o.first.Status == 'A':
			f.Created = append(f.Created, path)
		case !o.there():
			f.Deleted = append(f.Deleted, path)
		default:
			f.Modified = append(f.Modified, path)
		}
	}
	for _, list := range [][]string{f.Created, f.Modified, f.Deleted} {
		slices.Sort(list)
	}
	return &f
}

// undone takes back what was verified of the files that a contract promised, where a
// landing after its own took them away again or put them back as they were.
func (g *gatherer) undone(of agency.ContractID, proofs []agency.Proof) []agency.Proof {
	out := slices.Clone(proofs)
	for i := range out {
		p := &out[i]
		if p.Check == nil || p.Proof == agency.ProofOpen {
			continue
		}
		for _, path := range []string{p.Check.File, p.Check.Created, p.Check.Modified} {
			o, touched := g.net[path]
			by := g.commit[o.by]
			switch {
			case path == "" || !touched || by == of:
			case !o.there():
				p.Note = fmt.Sprintf("%s took it away again", or(by))
				p.Proof, p.Missed, p.Undone = agency.ProofOpen, true, true
			case path == p.Check.Modified && o.same():
				p.Note = fmt.Sprintf("%s put it back as it was", or(by))
				p.Proof, p.Missed, p.Undone = agency.ProofOpen, true, true
			}
		}
	}
	return out
}

// or names whose landing it was; a commit on the run's branch need be none.
func or(by agency.ContractID) string {
	if by == "" {
		return "a later commit"
	}
	return string(by)
}
