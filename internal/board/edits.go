package board

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"

	"agency/internal/agency"
	"agency/internal/store"
	"agency/internal/text"
)

//go:embed edits.md
var editsText string

var editsNote = template.Must(template.New("edits.md").Option("missingkey=error").Parse(editsText))

// Edits are files that an agent has changed in a turn.
type Edits struct {
	Run      agency.RunID
	Agent    agency.AgentID
	Contract agency.ContractID
	Turn     string // by which the notes about it are named
	// Base is the commit that the work stands on; First: it is where the run
	// began.
	Base  agency.OID
	First bool
	Files []string
	Parts []string // those of Files of which the contract declares symbols only
	Stray []Stray  // those that it did not declare
}

// Stray is a file that an agent changed and did not declare. Owner is an agent
// at work whose contract declares it; empty: nobody's does.
type Stray struct {
	File  string
	Owner agency.AgentID
}

// NoteEdits records what an agent has changed. A file that another contract has
// changed apart from it, so that neither stands on the other's work, is an open
// conflict, an event and a note to both; a stray file is an event and a note to
// its owner. Nothing is refused. What was recorded before is nothing.
func NoteEdits(tx *store.Tx, e Edits) error {
	at, err := standsOn(tx, e)
	if err != nil {
		return err
	}
	notes := map[agency.AgentID]*editNote{}
	of := func(other agency.AgentID) *editNote {
		if notes[other] == nil {
			notes[other] = &editNote{Edits: e, Other: other}
		}
		return notes[other]
	}
	for _, file := range e.Files {
		apart, first, err := edited(tx, e, file, at)
		if err != nil {
			return err
		}
		if !first {
			e.Stray = slices.DeleteFunc(slices.Clone(e.Stray), func(s Stray) bool { return s.File == file })
		}
		for _, o := range apart {
			n := of(o.agent)
			n.Both, n.Landed = append(n.Both, file), o.landed > 0
		}
		if len(apart) == 0 {
			continue
		}
		c := Conflict{Kind: FileWrite, Resource: file}
		for _, o := range append(apart, editor{e.Contract, e.Agent, 0}) {
			c.Agents = append(c.Agents, o.agent)
			c.Evidence = append(c.Evidence, editOf(o.contract))
		}
		if _, err := RecordConflict(tx, e.Run, c); err != nil {
			return err
		}
	}
	var stray []string
	for _, s := range e.Stray {
		if stray = append(stray, s.File); s.Owner != "" {
			of(s.Owner).Theirs = append(of(s.Owner).Theirs, s.File)
		}
	}
	if err := tellStray(tx, e, stray); err != nil {
		return err
	}
	for _, other := range slices.Sorted(maps.Keys(notes)) {
		if err := notes[other].send(tx); err != nil {
			return err
		}
	}
	return nil
}

// editOf is the evidence that a contract has changed a file.
func editOf(contract agency.ContractID) agency.MessageID {
	return agency.MessageID("edit/" + string(contract))
}

// standsOn is how many landings the work has before it. A commit that is not
// known is a landing of which the record is on its way: it has all others.
func standsOn(q store.Querier, e Edits) (n int64, err error) {
	if e.First {
		return 0, nil
	}
	err = q.QueryRow(selectBefore, string(e.Run), string(e.Base)).Scan(&n)
	return n, err
}

// editor is a contract that has changed a file.
type editor struct {
	contract agency.ContractID
	agent    agency.AgentID
	landed   int64 // which landing it was; 0: it has not landed
}

// edited records one file. Where it is the contract's first change of it, it
// returns the others who have changed it apart from this contract.
func edited(tx *store.Tx, e Edits, file string, at int64) (apart []editor, first bool, err error) {
	part := slices.Contains(e.Parts, file)
	res, err := tx.Exec(insertEdit,
		string(e.Run), file, string(e.Contract), string(e.Agent), part)
	if err != nil {
		return nil, false, err
	}
	if n, _ := res.RowsAffected(); n == 0 {
		return nil, false, nil
	}
	others, err := store.All(tx, func(row store.Scanner) (o editor, err error) {
		err = row.Scan(&o.contract, &o.agent, &o.landed)
		return o, err
	}, selectOtherEdits, string(e.Run), file, string(e.Contract), part)
	return slices.DeleteFunc(others, func(o editor) bool { return o.landed > 0 && o.landed <= at || o.agent == e.Agent }), err == nil, err
}

func tellStray(tx *store.Tx, e Edits, files []string) error {
	if len(files) == 0 {
		return nil
	}
	ev := agency.NewEvent(e.Run, agency.SeverityWarning, fmt.Sprintf("undeclared write: %s changed %s", e.Agent, strings.Join(files, ", ")), agency.Log{})
	ev.AgentID, ev.ContractID = e.Agent, e.Contract
	return appendEvent(tx, ev)
}

// editNote is what two agents are told of each other.
type editNote struct {
	Edits
	Other  agency.AgentID
	Both   []string // changed by both
	Landed bool     // the other's change has landed
	Theirs []string // declared by the other's contract, and changed
}

// View is the note as one of the two reads it.
type editView struct {
	With         string
	Both, Theirs []string
	Mine         bool // Theirs are the reader's, changed by With
	Landed       bool
}

// send tells both, as far as they are there to be told.
func (n *editNote) send(tx *store.Tx) error {
	files := slices.Compact(slices.Sorted(slices.Values(slices.Concat(n.Both, n.Theirs))))
	for _, v := range []struct {
		to agency.AgentID
		editView
	}{
		{n.Agent, editView{With: string(n.Other), Both: n.Both, Theirs: n.Theirs, Landed: n.Landed}},
		{n.Other, editView{With: string(n.Agent), Both: n.Both, Theirs: n.Theirs, Mine: true}},
	} {
		a, err := AgentOf(tx, n.Run, v.to)
		if agency.KindOf(err) == agency.KindNotFound || err == nil && a.Status.Ended() {
			continue
		}
		if err != nil {
			return err
		}
		var body bytes.Buffer
		if err := editsNote.Execute(&body, v.editView); err != nil {
			return err
		}
		if err := Send(tx, agency.Message{
			ID: agency.MessageID(fmt.Sprintf("edits/%s/%s/%s", n.Turn, n.Other, v.to)), RunID: n.Run, From: agency.FromSystem, To: string(v.to),
			Type: agency.MessageFileModified, ContractID: cmp.Or(a.Contract, n.Contract),
			Subject: "Also changed by " + v.With + ": " + text.Few(files, 3), Body: body.String(),
		}); err != nil {
			return err
		}
	}
	return nil
}

// Landed records that a contract has landed as a commit, in the transaction
// that acknowledges the landing: these come in the order of the branch. Once
// more is nothing.
func Landed(tx *store.Tx, run agency.RunID, contract agency.ContractID, commit agency.OID) error {
	_, err := tx.Exec(insertLanding, string(run), string(commit), string(contract))
	return err
}

// EditsOf are the files that the contracts of a run have changed, those that
// landed too.
func EditsOf(q store.Querier, run agency.RunID) (map[agency.ContractID][]string, error) {
	out := map[agency.ContractID][]string{}
	return out, store.Each(q, func(row store.Scanner) error {
		var id agency.ContractID
		var path string
		err := row.Scan(&id, &path)
		out[id] = append(out[id], path)
		return err
	}, selectEdits, string(run))
}

// EndEdits forgets what a contract has changed that ended and never landed.
func EndEdits(tx *store.Tx, run agency.RunID, contract agency.ContractID) error {
	_, err := tx.Exec(deleteEdits, string(run), string(contract))
	return err
}
