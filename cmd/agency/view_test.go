package main

import (
	"context"
	"path/filepath"
	"testing"

	"agency/internal/api"
)

// recorded is what a run left, read without a host.
type recorded struct{ api.View }

func (recorded) Runs(context.Context) ([]api.RunDoc, error) {
	return []api.RunDoc{{ID: "one"}}, nil
}

// A host that leaves between two questions of a command is no error: the record is read.
func TestHostLeavesWhileLookedAt(t *testing.T) {
	left := api.Dial(filepath.Join(t.TempDir(), "gone.sock"), filepath.Join(t.TempDir(), "token"))
	defer left.Close()
	for want, second := range map[bool]api.View{true: recorded{}, false: left} {
		views, closed := []api.View{left, second, second}, 0
		var got string
		err := lookTwice(func() (api.View, func(), error) {
			v := views[0]
			views = views[1:]
			return v, func() { closed++ }, nil
		}, func(v api.View) error {
			run, err := pick(t.Context(), v, "")
			got = string(run.ID)
			return err
		})
		if (err == nil) != want || want && got != "one" || closed != 2 || api.Unreachable(err) == want {
			t.Errorf("%t: run %q, %v, closed %d", want, got, err, closed)
		}
	}
}
