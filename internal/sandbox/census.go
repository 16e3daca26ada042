package sandbox

import (
	"fmt"
	"strings"
	"time"

	"agency/internal/agency"
)

// Left is a process of a command that lives where none should: that was ended in vain,
// or that nobody is there to end any more, for who kept it was killed, and so was
// their host.
type Left struct {
	PID     int
	Age     time.Duration // since it began; of LeftBehind alone
	Command string        // as it was started, shortened
}

// errAlive names what lives, and how it is ended by hand.
func errAlive(dir string, left []Left) error {
	if len(left) == 0 {
		return agency.Errorf(agency.KindTransient, "sandbox: whether anybody is at work in %s cannot be told: the processes of this machine come and go too fast", dir).
			WithMend("look with agency doctor for processes that were left, and go on")
	}
	const named = 5
	var who, pids []string
	for i, p := range left {
		if i < named {
			who = append(who, fmt.Sprintf("process %d (%s)", p.PID, p.Command))
		}
		pids = append(pids, fmt.Sprint(p.PID))
	}
	if n := len(left) - named; n > 0 {
		who = append(who, fmt.Sprintf("%d more", n))
	}
	return agency.Errorf(agency.KindTransient, "sandbox: of the commands in %s still live, though they were ended: %s", dir, strings.Join(who, ", ")).
		WithMend("kill -KILL %s; what stays all the same waits for a disk or the kernel: mend that, or restart the machine", strings.Join(pids, " "))
}
