package effects

import (
	"encoding/json"
	"reflect"

	"agency/internal/agency"
)

// fact is a fact about a contract as the journal keeps it: its kind, and
// one payload, which is the fact itself.
type fact struct{ agency.Fact }

// factKinds are the facts that the program of a run tells, by their words in
// the journal.
var factKinds = map[string]agency.Fact{
	"started":   agency.Started{},
	"parked":    agency.Parking{},
	"unparked":  agency.Unparked{},
	"claimed":   agency.ClaimMade{},
	"verified":  agency.Verified{},
	"approved":  agency.Reviewed{},
	"reworked":  agency.Reworked{},
	"returned":  agency.Returned{},
	"reworded":  agency.Reworded{},
	"landing":   agency.LandingBegun{},
	"landed":    agency.HasLanded{},
	"answered":  agency.Answered{},
	"granted":   agency.Granted{},
	"given_up":  agency.GaveUp{},
	"withdrawn": agency.Withdrawn{},
}

type factRecord struct {
	Kind    string          `json:"kind"`
	Payload json.RawMessage `json:"payload"`
}

// MarshalJSON writes the kind and the payload.
func (f fact) MarshalJSON() ([]byte, error) {
	for kind, of := range factKinds {
		if reflect.TypeOf(of) != reflect.TypeOf(f.Fact) {
			continue
		}
		payload, err := json.Marshal(f.Fact)
		if err != nil {
			return nil, err
		}
		return json.Marshal(factRecord{kind, payload})
	}
	return nil, agency.Errorf(agency.KindInternal, "the journal has no kind for the fact %T", f.Fact)
}

// UnmarshalJSON reads the payload as what its kind says.
func (f *fact) UnmarshalJSON(b []byte) error {
	var r factRecord
	if err := json.Unmarshal(b, &r); err != nil {
		return err
	}
	of, ok := factKinds[r.Kind]
	if !ok {
		return agency.Errorf(agency.KindInternal, "a fact of the unknown kind %q", r.Kind)
	}
	into := reflect.New(reflect.TypeOf(of))
	if err := json.Unmarshal(r.Payload, into.Interface()); err != nil {
		return err
	}
	f.Fact = into.Elem().Interface().(agency.Fact)
	return nil
}
