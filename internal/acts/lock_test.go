package acts

import (
	"strings"
	"testing"
	"time"

	"agency/internal/bounded/boundedtest"
	"agency/internal/race"
)

// A lockfile of the largest size is judged in time and within what the host may
// hold of it, whatever it is made of: what is too much of it is told as unread.
func TestLargeLocksAreJudgedInTime(t *testing.T) {
	if race.Enabled {
		t.Skip("reads much, by the clock")
	}
	fill := func(begin, s, end string) string {
		return begin + strings.Repeat(s, (maxLock-len(begin)-len(end))/len(s)) + end
	}
	for name, c := range map[string]struct{ path, text, want string }{
		"objects":  {"package-lock.json", fill("[", `{"":0},`, `{}]`), ""},
		"empty":    {"package-lock.json", fill("[", `{},`, `{}]`), ""},
		"depth":    {"composer.lock", fill("", `[`, ``), unreadable},
		"one text": {"package-lock.json", fill(`"`, `://a`, `"`), "downloads from a"},
		"one line": {"yarn.lock", fill("", `x://a `, ""), "downloads from a"},
		"hosts":    {"yarn.lock", fill("", "x://a\n", ""), "downloads from a"},
	} {
		does := ""
		held, took := boundedtest.Cost(5*time.Millisecond, func() { does = change{c.path, absent, c.text}.judged() })
		if !strings.Contains(does, c.want) {
			t.Errorf("%s: %.200s", name, does)
		}
		if held > 64<<20 || took > 4*time.Second {
			t.Errorf("%s: %s and %d MB", name, took, held>>20)
		} else {
			t.Logf("%s: %s and %d MB", name, took, held>>20)
		}
	}
}
