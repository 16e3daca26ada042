package native

import (
	"fmt"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/budget"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

// What a session beside others changes, by tools and by commands, is known in
// the commit of its turn, once, whenever the process dies: the same file is a
// conflict of which both are told, an undeclared one an event and a note.
func TestEditsSurviveDeath(t *testing.T) {
	note := "edits/test-run/mine/attempt-1/turn-2/scaffolder-other/"
	want := strings.Join([]string{
		"conflict: scaffolder-other and generalist have changed main.txt apart from each other",
		"undeclared write: generalist changed new.txt, odd.txt",
		"to generalist: " + note + "generalist", "to scaffolder-other: " + note + "scaffolder-other",
	}, "\n")
	for n := 1; ; n += pace() {
		k := newKit(t, budget.Limits{},
			calls("write_file", `{"path":"mine.txt","content":"x"}`, "write_file", `{"path":"go.sum","content":"x"}`),
			calls("write_file", `{"path":"odd.txt","content":"x"}`, "run_command", `{"command":"echo x >> main.txt; echo y > new.txt; rm check.sh"}`),
			calls("write_file", `{"path":"main.txt","content":"again"}`, "run_command", `{"command":"echo z > new.txt"}`),
			complete)
		k.office()
		k.setup.Shared = []string{"*.sum", "check.sh"}
		out, points := k.survive(k.besides(), n)
		where := "undisturbed"
		if len(points) > 0 {
			where = fmt.Sprintf("died at point %d, %s", n, points[0])
		}
		if out.Kind != session.Claimed {
			t.Fatalf("%s: %+v", where, out)
		}
		if diff := cmp.Diff(want, k.told()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", where, diff)
		}
		if c := appears(k.model.msgs[len(k.model.msgs)-1], "Both you and `scaffolder-other` have changed"); c != 1 {
			t.Errorf("%s: the agent reads of it %d times", where, c)
		}
		if len(points) == 0 {
			return
		}
	}
}

// besides makes two contracts at work beside each other and returns the session
// of one. The agent of the other has changed main.txt, and its plan declares
// new.txt.
func (k *stage) besides() session.Spec {
	s := spec()
	s.Contract, s.Onto = "mine", k.repo.Rev("HEAD")
	k.setup.Parent = budget.ContractNode("mine")
	k.write(func(tx *store.Tx) error {
		mine := agency.Contract{
			ID: "mine", RunID: testRun, AssignedRole: agency.RoleGeneralist, Title: "mine", Description: "mine", Writes: []string{"m*.txt"},
			AcceptanceCriteria: []agency.Criterion{{ID: "goal", Text: "changed"}},
		}
		if err := registry.CreateContract(tx, mine); err != nil {
			return err
		}
		other := agency.Contract{
			ID: "other", RunID: testRun, AssignedRole: agency.RoleScaffolder, Title: "other", Description: "other", Writes: []string{"new.txt"},
			AcceptanceCriteria: []agency.Criterion{{ID: "goal", Text: "changed"}},
		}
		if err := registry.CreateContract(tx, other); err != nil {
			return err
		}
		if err := board.Join(tx, board.Agent{Run: testRun, ID: "scaffolder-other", Role: agency.RoleScaffolder, Contract: "other", Status: board.AgentWaiting}); err != nil {
			return err
		}
		return board.NoteEdits(tx, board.Edits{
			Run: testRun, Agent: "scaffolder-other", Contract: "other", Turn: "t", Base: k.repo.Rev("HEAD"), Files: []string{"main.txt"},
		})
	})
	return s
}

// told are the warnings of the log and the messages of the run, in order.
func (k *stage) told() string {
	var out []string
	for _, e := range k.events() {
		if e.Severity.AtLeast(agency.SeverityWarning) && e.Type == "log" {
			out = append(out, e.Summary)
		}
	}
	k.read(func(q *store.Snapshot) error {
		ms, err := board.Messages(q, testRun)
		for _, m := range ms {
			out = append(out, "to "+m.To+": "+string(m.ID))
		}
		return err
	})
	return strings.Join(out, "\n")
}

// One agent alone has nobody to be apart from.
func TestNobodyBesides(t *testing.T) {
	k := newKit(t, budget.Limits{}, calls("run_command", `{"command":"echo x >> main.txt"}`), complete)
	s := k.besides()
	s.Onto = ""
	if out := k.must(s); out.Kind != session.Claimed {
		t.Errorf("%+v", out)
	}
	if got := k.told(); got != "" {
		t.Error(got)
	}
}
