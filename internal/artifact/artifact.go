// Package artifact is what one tier of a run hands to the next in words: boundaries,
// proposals, the canonical architecture. Each stands on the shared state under its kind and
// the contract in which it was published, with its versions.
package artifact

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/board/state"
	"agency/internal/event"
	"agency/internal/store"
	"agency/internal/text"
)

// prefix begins the names of those keys of the shared state that are artifacts.
const prefix = "artifact/"

// Publish writes an artifact of a contract, in the place of the one of its kind before, and
// tells it. id is the author's of this call: the same again is the same version.
func Publish(tx *store.Tx, a agency.Artifact, role agency.RoleID, id string) (agency.Artifact, error) {
	raw, err := json.Marshal(a.Content)
	if err != nil {
		return a, err
	}
	key := keyOf(a.Run, string(a.Kind)+"/"+string(a.Contract))
	before, err := state.Get(tx, key)
	if err != nil && agency.KindOf(err) != agency.KindNotFound {
		return a, err
	}
	e, err := state.Put(tx, state.Write{Key: key, Value: raw, By: string(a.By), ID: id})
	if err != nil {
		return a, err
	}
	if a, err = read(e); err != nil || e.ID == before.ID {
		return a, err
	}
	ev := agency.NewEvent(a.Run, agency.SeverityInfo, told(a), agency.Published{Kind: a.Kind, Version: a.Version})
	ev.ContractID, ev.AgentID, ev.Role, ev.RelatedState = a.Contract, a.By, role, e.ID
	_, err = event.Append(tx, ev)
	return a, err
}

// told is an artifact in a line.
func told(a agency.Artifact) string {
	again := ""
	if a.Version > 1 {
		again = fmt.Sprintf(", version %d", a.Version)
	}
	return a.Kind.Words() + " published" + again + ": " + text.FirstLine(a.Content, 100)
}

// List are the artifacts of a run of some kinds: by kind, then in the order in which they
// were last published.
func List(q store.Querier, run agency.RunID, kinds ...agency.ArtifactKind) (out []agency.Artifact, err error) {
	for _, kind := range kinds {
		entries, err := state.List(q, keyOf(run, string(kind)+"/"))
		if err != nil {
			return nil, err
		}
		slices.SortFunc(entries, func(a, b state.Entry) int { return cmp.Compare(a.ID, b.ID) })
		for _, e := range entries {
			a, err := read(e)
			if err != nil {
				return nil, err
			}
			out = append(out, a)
		}
	}
	return out, nil
}

func keyOf(run agency.RunID, name string) state.Key {
	return state.Key{Namespace: state.OfRun, Run: run, Name: prefix + name}
}

func read(e state.Entry) (a agency.Artifact, err error) {
	if err := json.Unmarshal(e.Value, &a.Content); err != nil {
		return a, fmt.Errorf("%s: %w", e.Key, err)
	}
	kind, contract, _ := strings.Cut(strings.TrimPrefix(e.Name, prefix), "/")
	a.Kind, a.Contract, a.Run = agency.ArtifactKind(kind), agency.ContractID(contract), e.Run
	a.By, a.Version, a.At = agency.AgentID(e.CreatedBy), e.Version, e.CreatedAt
	return a, nil
}
