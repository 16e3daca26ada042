//go:build linux

package torture

import (
	"bytes"
	"strings"
	"testing"

	_ "embed"

	"agency/internal/git/gittest"
)

//go:embed testdata/team.yaml
var teamScript []byte

// TestStormOfATeam kills runs of six contracts beside each other at random
// instants (docs/design.md, Durability). Two change one file where it conflicts, one fails
// its first attempt, one writes to another.
func TestStormOfATeam(t *testing.T) {
	if *team == 0 && !*long {
		t.Skip("six agents beside each other take longer than a suite has: -team N, or -long")
	}
	runs(t, newTeam, *team, *team)
}

// newTeam is a rig for a team. Its repository is checked in shell: what is
// tested are the kills, and a compiler's time would leave few instants between.
func newTeam(t *testing.T) *rig {
	t.Helper()
	r := newServed(t, teamRules(), "commands: {test: sh check.sh, build: \"\", lint: \"\"}\nshared_writes: [pair.txt]\n")
	r.goal = []string{"Say yes to everything", "--mode", "multi_agent", "--max-parallel", "6"}
	r.lands = 6
	r.mates = []string{"project_manager", "scaffolder-two", "scaffolder-left", "test_engineer-four"}
	gittest.WriteFiles(t, r.repo.Dir,
		"check.sh", "for f in *.txt; do\n\tif grep -q perhaps \"$f\"; then echo \"FAIL $f\"; exit 1; fi\ndone\necho ok\n",
		"one.txt", "no\n", "two.txt", "no\n", "three.txt", "no\n", "four.txt", "no\n",
		"pair.txt", "left no\nright no\n",
	)
	r.repo.Commit("start")
	return r
}

// teamRules writes the rules of work for each contract: a conversation's rules
// stand in a folder of their own.
func teamRules() []byte {
	plan, work, _ := bytes.Cut(teamScript, []byte("---\n"))
	out := string(plan)
	for _, id := range []string{"one", "two", "three", "four", "left", "right"} {
		out += strings.ReplaceAll(string(work), "NAME", id)
	}
	return []byte(out)
}
