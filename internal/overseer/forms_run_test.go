package overseer

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"agency/internal/config"
)

// count is what histories of one kind came to.
type count struct {
	histories, found, turns, alarms, halts, delay, worst int
}

// seenIn is what the watch says of a history.
func seenIn(t *testing.T, s *story) []Detection {
	t.Helper()
	w := NewWatch(config.Defaults().Overseer)
	var out []Detection
	for _, e := range s.events {
		found, faults := w.Observe(e)
		if len(faults) > 0 {
			t.Fatalf("%s: %v", s.name, faults)
		}
		for _, d := range found {
			if !strings.HasPrefix(string(d.Agent), "other-") {
				out = append(out, d)
			} else if d.Severity != Low {
				t.Errorf("%s: a bystander: %+v", s.name, d)
			}
		}
	}
	return out
}

const seeds = 4

// halves name those on which thresholds were chosen, and those that judge them.
var halves = []string{"judged", "chosen"}

func tell(t *testing.T, sum map[string]*count) {
	t.Helper()
	t.Logf("%-34s %9s %6s %6s %7s %6s %6s", "kind", "histories", "found", "delay", "longest", "alarms", "halts")
	for _, key := range slices.Sorted(maps.Keys(sum)) {
		c := sum[key]
		t.Logf("%-34s %9d %5.0f%% %6.1f %7d %5.1f%% %6d", key, c.histories, 100*float64(c.found)/float64(c.histories), float64(c.delay)/float64(max(c.found, 1)), c.worst,
			100*float64(c.alarms)/float64(max(c.turns, 1)), c.halts)
	}
}

// TestTroubles prints what is found of agents in trouble, and how soon.
func TestTroubles(t *testing.T) {
	all := maps.Clone(troubles)
	maps.Copy(all, moreTroubles)
	sum := map[string]*count{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		tr := all[name]
		for _, f := range forms {
			if slices.Contains(strings.Split(tr.hidden, ";"), f.name) {
				continue
			}
			for seed := range uint64(seeds) {
				s := newStory(name+", "+f.name, seed)
				s.works(4 + int(seed)*2)
				s.starts(tr.wants...)
				for i := range 10 {
					tr.turn(s, i)
				}
				f.of(s)
				c := counted(sum, halves[seed%2]+" "+tr.behaviour)
				c.histories++
				at := 0
				seen := seenIn(t, s)
				for _, d := range seen {
					turn := s.turnOf(d.At)
					if turn >= s.from && at == 0 && slices.Contains(tr.wants, d.Behaviour) {
						at = turn - s.from + 1
					}
					if turn < s.from {
						c.alarms++
						t.Logf("%s: early, turn %d: %s %v", s.name, turn, d.Behaviour, d.Evidence)
					}
				}
				c.turns += s.from - 1
				if at == 0 || at > 8 {
					t.Errorf("%s begins at turn %d, found after %d: %v", s.name, s.from, at, seen)
					continue
				}
				c.found++
				c.delay += at
				c.worst = max(c.worst, at)
			}
		}
	}
	tell(t, sum)
}

func counted(sum map[string]*count, key string) *count {
	if sum[key] == nil {
		sum[key] = new(count)
	}
	return sum[key]
}

// untold are the forms that leave out what makes a session a healthy one.
var untold = map[string][]string{
	"a document is compacted":                 {events},
	"parked and woken":                        {events},
	"a log that grows":                        {events},
	"polls a build by its share":              {"gists", events},
	"polls a build by its log":                {"gists", events},
	"mends what does not compile, one by one": {events},
	"tests first, then the code":              {events},
	"bisects by a script":                     {"two digests", "gists", events},
}

// TestSound prints what is said of agents who get on.
func TestSound(t *testing.T) {
	sum := map[string]*count{}
	for _, name := range slices.Sorted(maps.Keys(sound)) {
		for _, f := range forms {
			if slices.Contains(untold[name], f.name) {
				continue
			}
			for seed := range uint64(seeds) {
				s := newStory(name+", "+f.name, seed)
				sound[name](s)
				f.of(s)
				c := counted(sum, halves[seed%2]+" "+f.name)
				c.histories++
				c.turns += s.turn
				for _, d := range seenIn(t, s) {
					c.alarms++
					t.Logf("%s: turn %d of %d: %s %s %v", s.name, s.turnOf(d.At), s.turn, d.Severity, d.Behaviour, d.Evidence)
					if d.Action == ActionHalt || d.Action == ActionPause {
						c.halts++
						t.Errorf("%s would be halted", s.name)
					}
				}
			}
		}
	}
	tell(t, sum)
	for key, c := range sum {
		if c.alarms*100 > c.turns {
			t.Errorf("%s: %d false alarms in %d turns", key, c.alarms, c.turns)
		}
	}
}
