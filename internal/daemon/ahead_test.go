//go:build unix

package daemon

import (
	"encoding/json"
	"testing"

	"agency/internal/agency"
	"agency/internal/check"
)

const asks = `
version: 1
name: asks
rules:
  - when: {turn: 1}
    calls: [{tool: request_human_input, args: {question: "Which?", options: ["this", "that"]}}]
`

// The tests of what a claim will be held against run while the model works, and stand
// back where others want a processor; what nobody claims ends with the host.
func TestBaseRunsAhead(t *testing.T) {
	w := newWork(t, asks)
	w.cfg.Commands.Test = `test "$(nice)" -ge 10`
	d, c := w.start(Options{})
	if _, err := c.Start(t.Context(), w.request("run-1", false)); err != nil {
		t.Fatal(err)
	}
	ev := w.until(c, "run-1", 0, "tests_run")
	var of agency.TestsRun
	if err := json.Unmarshal(ev.Details, &of); err != nil || of.Stage != string(check.StageBase) || of.ExitCode != 0 {
		t.Errorf("event %s of %+v, %v", ev.Summary, of, err)
	}
	if n := count(t, c, "run-1", "claimed"); n > 0 {
		t.Errorf("%d claims, and the script makes none", n)
	}
	d.Close()
}
