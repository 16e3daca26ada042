package decision_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/board/boardtest"
	"agency/internal/board/state"
	"agency/internal/decision"
	"agency/internal/registry"
	"agency/internal/store"
)

const run = agency.RunID("run-1")

// table is a run with four at work: ada and ben beside each other, cy on what ada makes,
// and eve on files of which nobody else has any.
type table struct{ *boardtest.Fixture }

func newTable(t *testing.T) table {
	t.Helper()
	f := table{boardtest.NewFixture(t, state.Migrations(), registry.Migrations())}
	f.Do(func(tx *store.Tx) error {
		if err := registry.CreateRun(tx, agency.Run{ID: run, Goal: "g", Mode: agency.ModeMultiAgent, State: agency.StateRunning}, []byte("{}")); err != nil {
			return err
		}
		for _, c := range []agency.Contract{
			{ID: "a", Writes: []string{"api/"}},
			{ID: "b", Writes: []string{"web/**"}, RelevantFiles: []string{"api/errors.go"}},
			{ID: "c", Writes: []string{"cmd/"}, DependsOn: []agency.ContractID{"a"}},
			{ID: "e", Writes: []string{"docs/"}},
		} {
			c.RunID, c.Title, c.Description = run, string(c.ID), string(c.ID)
			if err := registry.CreateContract(tx, c); err != nil {
				return err
			}
		}
		return nil
	})
	for agent, contract := range map[agency.AgentID]agency.ContractID{"ada": "a", "ben": "b", "cy": "c", "eve": "e"} {
		f.join(agent, contract)
	}
	return f
}

func (f table) join(agent agency.AgentID, contract agency.ContractID) {
	f.Helper()
	f.Do(func(tx *store.Tx) error {
		return board.Join(tx, board.Agent{Run: run, ID: agent, Role: "scaffolder", Contract: contract, Status: board.AgentActive})
	})
}

func of(by agency.AgentID, contract agency.ContractID, key, value string) agency.SharedDecision {
	return agency.SharedDecision{Run: run, By: by, Contract: contract, Key: key, Value: value, Why: "it is so"}
}

func (f table) note(d agency.SharedDecision, id string) (now agency.SharedDecision, told []agency.AgentID, err error) {
	err = f.Write(f.Context(), func(tx *store.Tx) (err error) {
		now, told, err = decision.Note(tx, d, id)
		return err
	})
	return now, told, err
}

// mail are the subjects of what waits for an agent.
func (f table) mail(agent agency.AgentID) (subjects []string) {
	f.Helper()
	f.Do(func(tx *store.Tx) error {
		ms, err := board.ClaimAll(tx, board.Recipient{Run: run, Agent: agent, Role: "scaffolder", Session: "s"}, 100)
		for _, m := range ms {
			subjects = append(subjects, m.Subject)
		}
		return err
	})
	return subjects
}

func TestWhomItConcerns(t *testing.T) {
	f := newTable(t)
	docs := of("ada", "a", "docs/form", "short")
	docs.Concerns = []string{"docs/index.md"}
	everyone := of("lead", "", "style", "plain")
	for id, tt := range map[string]struct {
		d    agency.SharedDecision
		want string
	}{
		"1": {of("ada", "a", "api/errors", "typed"), "[ben cy]"},
		"2": {docs, "[cy eve]"}, // cy builds on what ada makes, whatever it is
		"3": {everyone, "[ada ben cy eve]"},
		"4": {of("eve", "e", "docs/tone", "dry"), "[]"},
	} {
		_, told, err := f.note(tt.d, id)
		if got := fmt.Sprint(told); err != nil || got != tt.want {
			t.Errorf("%s: told %s, %v; want %s", tt.d.Key, got, err, tt.want)
		}
	}
}

// The same call again, after a crash, is the same decision and tells nobody twice.
func TestNoteAgain(t *testing.T) {
	f := newTable(t)
	d := of("ada", "a", "api/errors", "typed")
	for range 2 {
		if now, _, err := f.note(d, "turn-1"); err != nil || now.Version != 1 {
			t.Fatalf("%+v, %v", now, err)
		}
	}
	if got := f.mail("ben"); len(got) != 1 || got[0] != "decision api/errors by ada" {
		t.Errorf("told %q", got)
	}
}

func TestComparedWithWhatWasRead(t *testing.T) {
	f := newTable(t)
	if _, _, err := f.note(of("ada", "a", "id", "uuid"), "1"); err != nil {
		t.Fatal(err)
	}
	blind := of("ben", "b", "id", "number")
	_, _, err := f.note(blind, "2")
	if taken := (*decision.Taken)(nil); !errors.As(err, &taken) || taken.Now.Value != "uuid" || taken.Now.By != "ada" || agency.KindOf(err) != agency.KindConflict {
		t.Fatalf("a decision that nobody read was replaced: %v", err)
	}
	blind.Version = 1
	now, _, err := f.note(blind, "3")
	if err != nil || now.Version != 2 || now.Value != "number" || now.By != "ben" {
		t.Fatalf("%+v, %v", now, err)
	}
	late := of("ada", "a", "id", "uuid again")
	late.Version = 1
	if _, _, err := f.note(late, "4"); agency.KindOf(err) != agency.KindConflict {
		t.Fatalf("a decision of which an old version was read was replaced: %v", err)
	}
	none := of("ada", "a", "never", "x")
	none.Version = 2
	if _, _, err := f.note(none, "5"); agency.KindOf(err) != agency.KindNotFound || !strings.Contains(err.Error(), "never is not decided yet") {
		t.Fatalf("a version of nothing was changed: %v", err)
	}
	for begins, want := range map[string]int{"": 1, "i": 1, "x": 0} {
		var all []agency.SharedDecision
		err := f.Read(t.Context(), func(q *store.Snapshot) (err error) { all, err = decision.List(q, run, begins); return err })
		if err != nil || len(all) != want {
			t.Errorf("%d decisions begin with %q, %v; want %d", len(all), begins, err, want)
		}
	}
}

// Of many who decide the same at once one is right, and all others learn what holds.
func TestManyAtOnce(t *testing.T) {
	f := newTable(t)
	const n = 16
	var wg sync.WaitGroup
	got := make([]error, n)
	for i := range n {
		wg.Go(func() {
			_, _, got[i] = f.note(of([]agency.AgentID{"ada", "ben", "cy", "eve"}[i%4], "", "port", fmt.Sprint(8000+i)), fmt.Sprint(i))
		})
	}
	wg.Wait()
	won := 0
	for _, err := range got {
		if err == nil {
			won++
		} else if taken := (*decision.Taken)(nil); !errors.As(err, &taken) || taken.Now.Version != 1 || !strings.HasPrefix(taken.Now.Value, "80") {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d of %d decided", won, n)
	}
}

// Who begins to work after a decision is told with the commit by which others see it;
// once, in however many parts; and who begins anew is told what it decided itself.
func TestCatchUp(t *testing.T) {
	f := newTable(t)
	for i, d := range []agency.SharedDecision{of("ada", "a", "api/errors", "typed"), of("eve", "e", "docs/tone", "dry"), of("dan", "c", "flags", "long")} {
		if _, _, err := f.note(d, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	catchUp := func(anew bool) {
		f.Do(func(tx *store.Tx) error { _, err := decision.CatchUp(tx, run, "c", "dan", anew); return err })
	}
	f.join("dan", "c")
	catchUp(false)
	if got := fmt.Sprint(f.mail("dan")); got != "[decision api/errors by ada]" {
		t.Errorf("told %s", got)
	}
	catchUp(false)
	if got := f.mail("dan"); len(got) > 0 {
		t.Errorf("told again: %q", got)
	}
	catchUp(true)
	if got := fmt.Sprint(f.mail("dan")); got != "[decision flags by dan]" {
		t.Errorf("told %s", got)
	}
}

// What an agent was told of a decision holds for its next attempt until the key is decided
// anew; what it was told otherwise holds on.
func TestStillHolding(t *testing.T) {
	f := newTable(t)
	for i, d := range []agency.SharedDecision{
		of("ada", "a", "api/errors", "values"), of("ada", "a", "api/errors", "types"), of("ada", "a", "api/names", "short"),
	} {
		d.Version = []int64{0, 1, 0}[i]
		if _, _, err := f.note(d, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	f.Do(func(tx *store.Tx) error {
		err := board.Send(tx, agency.Message{ID: "m", RunID: run, From: agency.FromHuman, To: "ben", Type: agency.MessageStateChanged, Body: "by hand"})
		return err
	})
	f.Do(func(tx *store.Tx) error {
		all, err := board.Messages(tx, run)
		if err != nil {
			return err
		}
		holds, err := decision.StillHolding(tx, run, all)
		var bodies []string
		for _, m := range holds {
			if m.To != "ben" {
				continue
			}
			bodies = append(bodies, strings.SplitN(m.Body, "\n", 2)[0])
		}
		if got := strings.Join(bodies, "; "); got != "api/errors, version 2, by ada: types; api/names, version 1, by ada: short; by hand" {
			t.Errorf("%s", got)
		}
		return err
	})
}
