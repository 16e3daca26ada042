package doctor

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/board/state"
	"agency/internal/budget"
)

// TestRecord breaks a good record in every way that doctor looks for, one at a
// time.
func TestRecord(t *testing.T) {
	good := func() *record {
		return &record{
			run:       agency.Run{ID: "r", State: agency.StateSucceeded},
			contracts: []agency.Contract{{ID: "c", Status: agency.StatusComplete}, {ID: "gone", Status: agency.StatusCancelled}},
			events:    []agency.Event{{ID: 1, Type: "run_started"}, {ID: 4, Type: "run_succeeded"}},
			receipts:  map[agency.ReceiptID]bool{"x": true},
			verdicts:  []agency.Verdict{{ContractID: "c", Receipts: []agency.ReceiptID{"x"}, Proofs: []agency.Proof{{Receipt: "x"}, {}}}},
			lines:     []budget.Line{{Money: 2, Billed: 10}, {Money: 3, Billed: 5}},
			root:      budget.State{Money: 5, Tokens: 15},
			messages: []board.Post{
				{Message: agency.Message{ID: "m", Status: agency.MailProcessed}, Deliveries: []board.Delivery{{Agent: "a", Status: agency.MailProcessed}, {Agent: "b", Status: agency.MailRead}}},
			},
			checkpoints: []state.Checkpoint{
				{ID: 2, Type: state.MessageDone, Reference: "m", Agent: "a"},
				{ID: 3, Type: state.StateCommitted, Reference: "1", Agent: "a"},
				{ID: 3, Type: state.MessageDone, Reference: "removed", Agent: "a"},
			},
		}
	}
	looks := []look{
		{"record", contractsFit},
		{"events", eventsFit},
		{"receipts", receiptsExist},
		{"budget", sumsFit},
		{"messages", mailFits},
		{"agents", nobodyLeft},
	}
	for _, c := range []struct {
		name, look, want string
		harm             func(*record)
	}{
		{"good", "", "", func(*record) {}},
		{"an open contract", "record", "contract c is in_progress", func(r *record) { r.contracts[0].Status = agency.StatusInProgress }},
		{"a failed contract", "record", "contract c is failed", func(r *record) { r.contracts[0].Status = agency.StatusFailed }},
		{"a failed contract that a new plan stands in for", "", "", func(r *record) {
			r.contracts = append(r.contracts, agency.Contract{ID: "f", Status: agency.StatusFailed}, agency.Contract{ID: "replan", Status: agency.StatusComplete})
		}},
		{"a second one", "record", "contract g is failed", func(r *record) {
			r.contracts = append(r.contracts, agency.Contract{ID: "f", Status: agency.StatusFailed}, agency.Contract{ID: "replan", Status: agency.StatusComplete},
				agency.Contract{ID: "g", Status: agency.StatusFailed})
		}},
		{"no new plan came", "record", "contract f is failed", func(r *record) {
			r.contracts = append(r.contracts, agency.Contract{ID: "f", Status: agency.StatusFailed}, agency.Contract{ID: "replan", Status: agency.StatusFailed})
		}},
		{"a person takes what landed", "", "", func(r *record) {
			r.contracts = append(r.contracts, agency.Contract{ID: "f", Status: agency.StatusFailed}, agency.Contract{ID: "after-f", Status: agency.StatusBlocked})
			r.gates = []agency.Gate{{ID: "r.incomplete", Decision: agency.Decision{Verb: agency.Approve}}}
		}},
		{"a person was asked only", "record", "contract f is failed", func(r *record) {
			r.contracts = append(r.contracts, agency.Contract{ID: "f", Status: agency.StatusFailed})
			r.gates = []agency.Gate{{ID: "r.incomplete"}}
		}},
		{"one agent does it after the plan failed", "", "", func(r *record) {
			r.contracts = append(r.contracts, agency.Contract{ID: "plan", Status: agency.StatusFailed})
			r.run.MovedTo = agency.ModeSingle
		}},
		{"nobody works", "record", "no host works on it", func(r *record) {
			r.run.State, r.contracts, r.events = agency.StateRunning, nil, r.events[:1]
		}},
		{"a host works", "", "", func(r *record) {
			r.run.State, r.contracts, r.events, r.Live, r.root.Reserved = agency.StateRunning, nil, r.events[:1], true, 1
		}},
		{"no events", "events", "does not begin", func(r *record) { r.events = nil }},
		{"another first event", "events", "does not begin", func(r *record) { r.events[0].Type = "run_succeeded" }},
		{"an event twice", "events", "event 1 follows event 1", func(r *record) { r.events = append(r.events[:1:1], r.events...) }},
		{"no end", "events", "told 0 times", func(r *record) { r.events = r.events[:1] }},
		{"two ends", "events", "told 2 times", func(r *record) { r.events = append(r.events, agency.Event{ID: 5, Type: "run_failed"}) }},
		{"a verdict without its receipt", "receipts", "names the receipt y", func(r *record) { r.verdicts[0].Receipts[0] = "y" }},
		{"a proof without its receipt", "receipts", "names the receipt y", func(r *record) { r.verdicts[0].Proofs[0].Receipt = "y" }},
		{"money", "budget", "sum up to", func(r *record) { r.lines[0].Money++ }},
		{"tokens", "budget", "sum up to", func(r *record) { r.root.Tokens-- }},
		{"held back", "budget", "held back", func(r *record) { r.root.Reserved = 1 }},
		{"a checkpoint that the record does not have", "messages", "event 4 says that b has acted on message m", func(r *record) {
			r.checkpoints = append(r.checkpoints, state.Checkpoint{ID: 4, Type: state.MessageDone, Reference: "m", Agent: "b"})
		}},
		{"an agent of a run that has ended", "agents", "agent a is still waiting", func(r *record) {
			r.live = []board.Agent{{ID: "a", Status: board.AgentWaiting}}
		}},
		{"a message that nobody read", "messages", "message m is still delivered", func(r *record) { r.messages[0].Status = agency.MailDelivered }},
	} {
		r := good()
		c.harm(r)
		for _, l := range looks {
			problem, err := l.fn(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if want := l.name == c.look; (problem != "") != want || want && !strings.Contains(problem, c.want) {
				t.Errorf("%s: %s says %q", c.name, l.name, problem)
			}
		}
	}
}

// TestProcessesIn finds a process that works in a folder, and none in a sibling
// whose name begins alike.
func TestProcessesIn(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sub := filepath.Join(dir, "runs", "sub")
	if err := os.MkdirAll(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", "echo ready; read end")
	cmd.Dir = sub
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	r := &record{Run: Run{StateDir: dir, ID: "sub"}}
	if got := processesIn(filepath.Join(dir, "runs")); !slices.Contains(got, cmd.Process.Pid) {
		t.Errorf("%v without %d", got, cmd.Process.Pid)
	}
	if got := processesIn(filepath.Join(dir, "run")); len(got) != 0 {
		t.Errorf("a sibling: %v", got)
	}
	if problem, err := noProcesses(t.Context(), r); err != nil || !strings.Contains(problem, "still work") {
		t.Errorf("%q %v", problem, err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // read ends with 1 at the end of its input
	if problem, err := noProcesses(t.Context(), r); err != nil || problem != "" {
		t.Errorf("%q %v", problem, err)
	}
}
