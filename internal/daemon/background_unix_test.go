//go:build unix

package daemon

import (
	"os/exec"
	"strings"
	"testing"

	"agency/internal/agency"
)

// A host that something killed while it started is no end of a run: the
// command says so by the kind that means the world outside, so that a script
// tries again. One that ended by itself has a fault of its own.
func TestUnreadyHostSaysHowItEnded(t *testing.T) {
	for script, want := range map[string]agency.Kind{
		"kill -KILL $$": agency.KindTransient,
		"kill -TERM $$": agency.KindTransient,
		"kill -SEGV $$": agency.KindInternal,
		"exit 2":        agency.KindInternal,
	} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
		_ = cmd.Run() // that it fails is its purpose
		err := unready(cmd.ProcessState, "/state/host.log")
		if got := agency.KindOf(err); got != want {
			t.Errorf("%s: kind %v, want %v: %v", script, got, want, err)
		}
		if !strings.Contains(agency.MendOf(err), "/state/host.log") {
			t.Errorf("%s: %q names no log", script, agency.MendOf(err))
		}
	}
}
