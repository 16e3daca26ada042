package sandbox

import (
	"slices"
	"strings"
	"testing"

	"agency/internal/linux/escape"
	"agency/internal/supervisor"
)

// TestGapsAreWhatGetsThrough holds the list that doctor shows of the landlock tier
// and the attempts together: what gets through stands in it, and what stands in it
// gets through. Loopback is the user's own opening.
func TestGapsAreWhatGetsThrough(t *testing.T) {
	known := map[string]bool{}
	for _, a := range supervisor.Attempts() {
		known[a.Name] = true
	}
	for _, o := range []Options{{}, {Loopback: true}} {
		r := open(t, o)
		through := everyAttempt(t, r, openly(t, r, newWorkspace(t).probing(TierLandlock)))
		for _, g := range r.openGaps() {
			shut := g.Leaves != nil
			for _, name := range g.Leaves {
				if !known[name] {
					t.Errorf("%q is no attempt", name)
				}
				shut = shut && !slices.Contains(through, name)
			}
			if shut {
				t.Errorf("loopback %v: the list says %q, and nothing of it got through", o.Loopback, g.Text)
			}
		}
	}
}

// TestKnownWaysAreTried names, for each way past Landlock that is known, the
// attempts that try it: without its attempt a way would be open and in no list.
func TestKnownWaysAreTried(t *testing.T) {
	var names []string
	for _, a := range supervisor.Attempts() {
		names = append(names, a.Name)
	}
	all := strings.Join(names, "\n")
	for way, tried := range map[string][]string{
		"lists of who may use a file": {"say in a list who may use a file outside"},
		"extended attributes":         {"give a file outside an attribute", "give a file of the user's an attribute", "give a file capabilities"},
		"shared memory of System V":   {"share memory with the machine", "take the machine's semaphores"},
		"shared memory of POSIX":      {"leave a file in the machine's shared memory", "leave messages in the machine's queues"},
		"flags of files":              {"set the flags of a folder that is shown", "make a file that nobody can remove"},
		"priorities":                  {"slow the supervisor down", "slow down all that is the user's", "run before others"},
		"limits of others":            {"limit the supervisor"},
		"signals":                     {"end the supervisor", "send a signal to all that is the user's"},
		"abstract sockets":            {"connect to an abstract socket of the user's"},
		"sockets with a path":         {"connect to the program's own socket", "send to a socket by half of a pair", "send to a socket in a folder that is shown"},
		"UDP":                         {"send a datagram out"},
		"modes, owners and times":     {"change the mode of a file outside", "change the owner of a file outside", "change the times of a file outside"},
		"length":                      {"cut a file outside short"},
		"links and renames":           {"take a file outside into the checkout", "take a file that is shown into the checkout", "put a file of the checkout into a folder that is shown"},
		"pipes and devices":           {"read from a pipe in a folder that is shown", "write to a pipe in a folder that is shown", escape.TrapDevice, escape.TrapDeviceRead},
	} {
		for _, name := range tried {
			if !strings.Contains(all, name+"\n") {
				t.Errorf("%s: nobody tries %q", way, name)
			}
		}
	}
}
