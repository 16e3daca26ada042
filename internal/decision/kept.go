package decision

import (
	"cmp"
	"encoding/json"
	"slices"

	"agency/internal/agency"
	"agency/internal/board/state"
	"agency/internal/store"
	"agency/internal/text"
)

// mostNamed is how many keys an error lists.
const mostNamed = 20

// Keep has decisions of a run stand in later runs of its repository: those of some keys, all
// where none is named. One that is kept under a key with another text is replaced, and
// named. KindNotFound: the run has not decided a key; KindInvalid: what looks like a key of a
// service, or was a secret, stands in one. Nothing is kept then.
func Keep(tx *store.Tx, run agency.RunID, keys []string, by string) (out []agency.KeptDecision, err error) {
	decided, err := List(tx, run, "")
	if err != nil {
		return nil, err
	}
	if len(decided) == 0 {
		return nil, agency.Errorf(agency.KindNotFound, "the agents of run %s decided nothing together", run).WithMend("agency ps")
	}
	if len(keys) == 0 {
		keys = keysOf(decided)
	}
	before, err := Kept(tx, "")
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		d, ok := find(decided, key)
		if !ok {
			return nil, unknown(key, "run "+string(run)+" has not decided", decided).WithMend("agency decisions list %s", run)
		}
		if err := safe(tx, d); err != nil {
			return nil, err
		}
		k := agency.KeptDecision{SharedDecision: d}
		if old, ok := find(before, key); ok {
			if k.Same = old.Value == d.Value && old.Why == d.Why; k.Same {
				k.SharedDecision = old
				out = append(out, k)
				continue
			}
			k.Before = &old
		}
		if k.SharedDecision, err = keep(tx, d, by); err != nil {
			return nil, err
		}
		before = append(slices.DeleteFunc(before, func(o agency.SharedDecision) bool { return o.Key == key }), k.SharedDecision)
		out = append(out, k)
	}
	return out, nil
}

func keep(tx *store.Tx, d agency.SharedDecision, by string) (agency.SharedDecision, error) {
	d.KeptBy, d.KeptAt = cmp.Or(by, agency.FromHuman), tx.Now
	raw, err := json.Marshal(d)
	if err != nil {
		return d, err
	}
	e, err := state.Put(tx, state.Write{Key: keptKey(d.Key), Value: raw, By: agency.FromHuman})
	if err != nil {
		return d, err
	}
	return readKept(e)
}

// Drop ends the keeping of decisions: later runs are told of them no more. KindNotFound: one
// is not kept; all others still are then.
func Drop(tx *store.Tx, keys []string) (out []agency.SharedDecision, err error) {
	kept, err := Kept(tx, "")
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		d, ok := find(kept, key)
		if !ok {
			return nil, unknown(key, "this repository does not keep", kept).WithMend("agency decisions list --kept")
		}
		if _, err := state.Delete(tx, keptKey(key), agency.FromHuman); err != nil {
			return nil, err
		}
		kept = slices.DeleteFunc(kept, func(o agency.SharedDecision) bool { return o.Key == key })
		out = append(out, d)
	}
	return out, nil
}

// Kept are the decisions that stand in every run of the repository, of those whose keys
// begin with a text, by key.
func Kept(q store.Querier, begins string) (out []agency.SharedDecision, err error) {
	entries, err := state.List(q, keptKey(begins))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		d, err := readKept(e)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

// InForce are the decisions that hold for agents of a run, by key: what the run decided
// itself, and what is kept for the repository under keys of which it has decided nothing.
func InForce(q store.Querier, run agency.RunID, begins string) ([]agency.SharedDecision, error) {
	own, err := List(q, run, begins)
	if err != nil {
		return nil, err
	}
	kept, err := Kept(q, begins)
	if err != nil {
		return nil, err
	}
	for _, d := range kept {
		if _, again := find(own, d.Key); !again {
			own = append(own, d)
		}
	}
	slices.SortFunc(own, func(a, b agency.SharedDecision) int { return cmp.Compare(a.Key, b.Key) })
	return own, nil
}

// Standing are the kept decisions as a run goes by them: one that it has decided anew is
// the run's own.
func Standing(q store.Querier, run agency.RunID) ([]agency.SharedDecision, error) {
	kept, err := Kept(q, "")
	if err != nil || len(kept) == 0 {
		return nil, err
	}
	own, err := List(q, run, "")
	for i := range kept {
		if d, again := find(own, kept[i].Key); again {
			d.KeptAt = kept[i].KeptAt // its place among them
			kept[i] = d
		}
	}
	return kept, err
}

func find(all []agency.SharedDecision, key string) (agency.SharedDecision, bool) {
	at := slices.IndexFunc(all, func(d agency.SharedDecision) bool { return d.Key == key })
	if at < 0 {
		return agency.SharedDecision{}, false
	}
	return all[at], true
}

func keysOf(all []agency.SharedDecision) (keys []string) {
	for _, d := range all {
		keys = append(keys, d.Key)
	}
	return keys
}

// unknown is the error of a key that nothing is known under.
func unknown(key, what string, all []agency.SharedDecision) *agency.Error {
	near, there := text.Suggestion(key, keysOf(all)), ""
	if near == "" && len(all) > 0 {
		there = "; there are: " + text.Few(keysOf(all), mostNamed)
	}
	return agency.Errorf(agency.KindNotFound, "%s %s%s%s", what, text.OneLine(key, 128), near, there)
}

func keptKey(name string) state.Key { return state.Key{Namespace: state.Global, Name: prefix + name} }

// readKept reads what keep wrote: the decision as its run had it, and who kept it.
func readKept(e state.Entry) (d agency.SharedDecision, err error) {
	err = json.Unmarshal(e.Value, &d)
	return d, err
}

// All are what people are shown: the decisions of a run, of none where run is empty, and
// those that are kept, by key. One that is kept as the run has it is there once, as kept.
func All(q store.Querier, run agency.RunID) (out []agency.SharedDecision, err error) {
	if run != "" {
		if out, err = List(q, run, ""); err != nil {
			return nil, err
		}
	}
	kept, err := Kept(q, "")
	for _, d := range kept {
		at := slices.IndexFunc(out, func(o agency.SharedDecision) bool { return o.Run == d.Run && o.ID == d.ID })
		if at < 0 {
			out = append(out, d)
		} else {
			out[at] = d
		}
	}
	slices.SortStableFunc(out, func(a, b agency.SharedDecision) int { return cmp.Compare(a.Key, b.Key) })
	return out, err
}
