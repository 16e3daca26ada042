package supervisor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"agency/internal/linux/escape"
	"agency/internal/linux/landlock"
	"agency/internal/rootfs"
)

// ProbeArg starts this program inside a sandbox, where it tries to break out.
const ProbeArg = "agency-sandbox-probe"

// Tried is what came of one attempt.
type Tried struct {
	Name    string
	Stopped bool
	Detail  string // what the kernel answered, or what was reached
}

// runAttempts is the probe: it tries everything and prints what came of it.
func runAttempts() int {
	var out []Tried
	for _, a := range Attempts() {
		one := Tried{Name: a.Name, Detail: "got through"}
		if err := a.Try(); err != nil {
			one.Stopped, one.Detail = true, err.Error()
		}
		out = append(out, one)
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		return 1
	}
	return 0
}

// Attempts are what doctor shows, made by the probe inside and, one by one, by
// the tests.
func Attempts() []escape.Attempt {
	return escape.Attempts(escape.Inside{
		Init: childName, Hidden: rootfs.HiddenProc[:], Watchers: maxWatchers, Scoped: landlock.InForce() >= landlock.ScopeABI,
	})
}

// inSandbox says whether this process was started by a sandbox.
func inSandbox() bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", os.Getppid()))
	return err == nil && (bytes.HasPrefix(b, []byte(childName)) || bytes.HasPrefix(b, []byte(subreaperName)))
}
