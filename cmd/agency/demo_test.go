//go:build unix

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/ui/tui"
)

// stuck is a script whose agent gives up.
const stuck = `version: 1
name: stuck
rules:
  - when: {offers: signal_blocked}
    calls: [{tool: signal_blocked, args: {reason: the script is broken, attempted: nothing}}]
`

// A demo whose script is broken meets a gate that nobody answers: it ends, says
// once what it waits for, and how to look on. Its host ends with it, so it names
// no command that would answer.
func TestDemoThatIsStuck(t *testing.T) {
	for _, mode := range []agency.Mode{agency.ModeSingle, agency.ModeMultiAgent} {
		var out, said bytes.Buffer
		a := &app{repository: repository{terminal: terminal{out: tui.NewScreen(&out, tui.Style{}), err: tui.NewScreen(&said, tui.Style{})}, now: time.Now, env: os.LookupEnv}}
		s, remove, err := a.makeSample(t.Context(), "", mode)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.Script, []byte(stuck), 0o600); err != nil {
			t.Fatal(err)
		}
		err = (&demonstration{app: a, s: s, f: demoFlags{mode: string(mode)}}).play(t.Context())
		if codeOf(err) != exitFailed {
			t.Errorf("%s: %v\n%s%s", mode, err, &out, &said)
		}
		for text, n := range map[string]int{"ESCALATION GATE": 1, "the script is broken": 1, "agency approve": 0, "agency resume": 0} {
			if got := strings.Count(out.String(), text); n == 0 && got > 0 || got < n {
				t.Errorf("%s: %d times %q:\n%s", mode, got, text, &out)
			}
		}
		want := "agency: look on with: agency demo --mode " + string(mode) + " --watch\n"
		if !strings.Contains(said.String(), "the demo stops at its escalation gate, which --yes does not answer: ") || !strings.Contains(said.String(), want) {
			t.Errorf("%s: said %s", mode, &said)
		}
		remove()
		if _, err := os.Stat(s.Dir); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", s.Dir, err)
		}
	}
}
