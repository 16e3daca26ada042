package main

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/ui/tui"
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

// Whatever a command says to people is broken between words: a terminal would break it within one.
func TestWhatIsSaidFitsTheTerminal(t *testing.T) {
	var out, beside bytes.Buffer
	st := tui.Style{Width: 40}
	a := terminal{out: tui.NewScreen(&out, st), err: tui.NewScreen(&beside, st), style: st, errStyle: st}
	a.printf(a.out, "wrote %s: %s\n", "agency.yaml", "go, tested by go test ./..., installed by commands.setup of the file")
	a.note("%s", "the run write-notes-about-the-shop-zf72hqbx waits")
	a.report(agency.Errorf(agency.KindInvalid, "the limit of 180 seconds for the whole of it is passed: %w", errors.New("commands.setup")).
		WithMend("agency cancel write-notes-zf72hqbx, or agency reject x --reason TEXT"))
	said := out.String() + beside.String()
	for line := range strings.Lines(said) {
		if len(line) > st.Width {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
	for _, word := range []string{"commands.setup", "--reason", "write-notes-about-the-shop-zf72hqbx", "write-notes-zf72hqbx,", "180"} {
		found := false
		for one := range strings.FieldsSeq(said) {
			found = found || one == word
		}
		if !found {
			t.Errorf("%q is broken in\n%s", word, said)
		}
	}
}
