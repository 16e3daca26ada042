package sandbox

import (
	"os/exec"
	"testing"
)

// TestGitWithoutTheMachines: a configuration of the machine's that is there and
// cannot be read would end each git of a command.
func TestGitWithoutTheMachines(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	w := newWorkspace(t, sh("git init -q g && git -C g status --short && echo done")...)
	if res := openly(t, open(t, Options{}), w); res.ExitCode != 0 || printed(res) != "done" {
		t.Errorf("exit code %d: %s", res.ExitCode, res.Output)
	}
}
