package artifact

import (
	"path/filepath"
	"slices"
	"testing"

	"agency/internal/agency"
	"agency/internal/board/state"
	"agency/internal/event"
	"agency/internal/lease"
	"agency/internal/store"
	"agency/internal/store/storetest"
)

// Each version of an artifact is told once, however often the call that wrote it runs.
func TestPublishedIsToldOnce(t *testing.T) {
	db := storetest.Open(t, store.Options{
		Path: filepath.Join(t.TempDir(), "a.db"), Sets: []store.Set{event.Migrations(), lease.Migrations(), state.Migrations()},
	})
	a := agency.Artifact{Kind: agency.ArtifactAssumptions, Run: "runs", Contract: "design", By: "ada", Content: "one\ntwo"}
	for _, call := range []string{"1", "1", "2", "2"} {
		err := db.Write(t.Context(), func(tx *store.Tx) error {
			_, err := Publish(tx, a, agency.RoleLead, call)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		a.Content = "three"
	}
	var said []string
	err := db.Read(t.Context(), func(q *store.Snapshot) error {
		all, err := event.Of[agency.Published](q, event.Filter{Run: "runs", Types: []agency.EventType{agency.PublishedType}})
		for _, e := range all {
			said = append(said, string(e.Role)+": "+e.Summary)
		}
		return err
	})
	want := []string{"t2_lead: shared assumptions published: one", "t2_lead: shared assumptions published, version 2: three"}
	if err != nil || !slices.Equal(said, want) {
		t.Errorf("%v: %q, want %q", err, said, want)
	}
}
