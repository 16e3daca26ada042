package land

import (
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/registry"
	"agency/internal/store"
	"agency/internal/text"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations are the tables of this package.
func Migrations() store.Set { return store.Set{Name: "land", FS: migrations} }

// intent is a move of a ref that is about to happen, or has.
type intent struct {
	Step     agency.StepKey
	Run      agency.RunID
	Contract agency.ContractID // "" for the final merge
	Ref      string
	Old, New agency.OID
	Checkout *checkout // where the ref is checked out
	Done     bool
	agency.MergeDetails
}

func putIntent(tx *store.Tx, in intent) error {
	where := ""
	if in.Checkout != nil {
		b, err := json.Marshal(in.Checkout)
		if err != nil {
			return err
		}
		where = string(b)
	}
	how, err := json.Marshal(in.MergeDetails)
	if err != nil {
		return err
	}
	// A try before this one may have stood in another order.
	if err := dropIntent(tx, in.Step); err != nil {
		return err
	}
	_, err = tx.Exec(insertIntent,
		string(in.Step), string(in.Run), string(in.Contract), in.Ref, string(in.Old), string(in.New), where, string(how), store.Micros(tx.Now))
	return err
}

// closeIntent marks a move as done; first tells whether it was not before. A
// move whose row is missing is recorded.
func closeIntent(tx *store.Tx, in intent) (first bool, err error) {
	if _, err := tx.Exec(insertMissing,
		string(in.Step), string(in.Run), string(in.Contract), in.Ref, string(in.New), store.Micros(tx.Now)); err != nil {
		return false, err
	}
	res, err := tx.Exec(markDone, string(in.New), string(in.Step))
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

func dropIntent(tx *store.Tx, step agency.StepKey) error {
	_, err := tx.Exec(deleteOpen, string(step))
	return err
}

// mergeDetails is what the intent of a step said.
func mergeDetails(q store.Querier, step agency.StepKey) (how agency.MergeDetails, err error) {
	var text string
	err = q.QueryRow(selectMergeDetails, string(step)).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) || err == nil && text == "" {
		return how, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &how)
	}
	return how, err
}

// begunAs is the commit that a step was to land, "" where it never came so far.
func begunAs(q store.Querier, step agency.StepKey) (commit agency.OID, err error) {
	err = q.QueryRow(selectNew, string(step)).Scan(&commit)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return commit, err
}

// openMerges are the final merges that were begun and not acknowledged, of one
// run or, where it is empty, of all.
func openMerges(q store.Querier, run agency.RunID) ([]intent, error) {
	return store.All(q, scanIntent, selectOpenMerges, string(run), string(run))
}

// lastDone is the newest acknowledged move of a ref, zero where there is none.
func lastDone(q store.Querier, run agency.RunID, ref string) (intent, error) {
	in, err := scanIntent(q.QueryRow(selectLastDone, string(run), ref))
	if errors.Is(err, sql.ErrNoRows) {
		return intent{}, nil
	}
	return in, err
}

func scanIntent(row store.Scanner) (intent, error) {
	var in intent
	var step, run, contract, old, new, where, how string
	if err := row.Scan(&step, &run, &contract, &in.Ref, &old, &new, &where, &in.Done, &how); err != nil {
		return in, err
	}
	if how != "" {
		if err := json.Unmarshal([]byte(how), &in.MergeDetails); err != nil {
			return in, err
		}
	}
	in.Step, in.Run, in.Contract = agency.StepKey(step), agency.RunID(run), agency.ContractID(contract)
	in.Old, in.New = agency.OID(old), agency.OID(new)
	if where != "" {
		in.Checkout = &checkout{}
		return in, json.Unmarshal([]byte(where), in.Checkout)
	}
	return in, nil
}

// Landing is one entry of a run's list of landings.
type Landing struct {
	Contract agency.ContractID `json:"contract_id"`
	// Level is what it landed on, empty for the final merge, Branch which of that: a branch's short name, or words.
	Level  agency.LandingLevel `json:"level"`
	Branch string              `json:"branch"`
	Commit agency.OID          `json:"commit"`
	Step   agency.StepKey      `json:"step"`
	agency.MergeDetails
}

// Landings lists what a run has landed, oldest first; the final merge has no
// contract.
func Landings(q store.Querier, run agency.RunID) ([]Landing, error) {
	return store.All(q, func(row store.Scanner) (Landing, error) {
		in, err := scanIntent(row)
		if err != nil {
			return Landing{}, err
		}
		kind, name := placeWords(in.Ref)
		if in.Contract == "" {
			kind = ""
		}
		return Landing{Contract: in.Contract, Level: kind, Branch: name, Commit: in.New, Step: in.Step, MergeDetails: in.MergeDetails}, nil
	}, selectLandings, string(run))
}

// Bounds of what a merge says of the work: how many runs that go on from each other, and how
// many contracts; of each one of several so many characters.
const (
	mostRuns      = 12
	mostContracts = 40
	mostOfEach    = 300
)

// saidOf is what the agents say of what landed on a run's branch, oldest first, with what it
// took over from others: one alone in its own words, each of several in a line.
func saidOf(q store.Querier, run agency.Run) (string, error) {
	var words, lines []string
	for upTo, n := agency.OID(""), 0; n < mostRuns; n++ {
		landed, err := Landings(q, run.ID)
		if err != nil {
			return "", err
		}
		said, err := registry.Said(q, run.ID, "")
		if err != nil {
			return "", err
		}
		var own, short []string
		for _, l := range landed {
			if s := said[l.Contract]; s != "" {
				delete(said, l.Contract)
				own, short = append(own, s), append(short, fmt.Sprintf("- %s: %s", l.Contract, text.OneLine(s, mostOfEach)))
			}
			if l.Commit == upTo {
				break
			}
		}
		words, lines = append(own, words...), append(short, lines...)
		f := run.Follows
		if f == nil || f.Commit == "" || f.What == agency.FollowUndo {
			break
		}
		upTo = f.Commit
		if run, err = registry.Run(q, f.Run); agency.KindOf(err) == agency.KindNotFound { // it was removed
			break
		} else if err != nil {
			return "", err
		}
	}
	if len(words) == 1 {
		return words[0], nil
	}
	return strings.Join(text.FewOf(lines, mostContracts), "\n"), nil
}

// DeleteRun drops a run's rows.
func DeleteRun(tx *store.Tx, run agency.RunID) error {
	_, err := tx.Exec(deleteIntents, string(run))
	return err
}
