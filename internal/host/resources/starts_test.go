package resources

import (
	"slices"
	"testing"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/config"
)

// A command needs what it needs however somebody spells it, and nothing because its name is
// mentioned.
func TestHowCommandsAreSpelled(t *testing.T) {
	for configured, lines := range map[string]map[string]bool{
		"./check.sh": {
			"./check.sh": true, "sh ./check.sh": true, "sh check.sh": true, "bash -c './check.sh'": true, "bash -ec \"cd x; ../check.sh\"": true,
			"cd x && ./check.sh": true, "cd x && sh ../check.sh --all": true, "env A=1 ./check.sh": true, "A=1 ./check.sh": true,
			"timeout 10 ./check.sh": true, "timeout -k 5 10s nice -n 5 sh -x check.sh": true, "(./check.sh) | tail": true, "$PWD/check.sh": true,
			"if true; then ./check.sh; fi": true, "x=$(./check.sh)": true, "eval ./check.sh": true, ". ./check.sh": true,
			"sh <<'E'\n./check.sh\nE": true, "bash -c \"sh -c './check.sh'\"": true, "exec ./check.sh": true, "for i in 1 2; do ./check.sh; done": true,
			"sh < check.sh": true, "cat ./check.sh | sh": true, "cat check.sh | bash -e": true, "echo ./check.sh | sh": true, "bash <<< ./check.sh": true,
			"cat check.sh | grep x": false, "grep x < check.sh": false, "cat other.sh | sh": false,
			"cat check.sh": false, "git add check.sh": false, "./recheck.sh": false, "sh other.sh": false, "": false, "echo done": false,
		},
		"sh check.sh":   {"./check.sh": true, "sh ./check.sh": true, "bash check.sh -v": true, "sh": false, "cat check.sh": false},
		"go test ./...": {"go test ./...": true, "go test -count=1 ./... -v": true, "cd x && go test ./...": true, "/usr/bin/go test ./...": true, "go test ./one": false, "go vet ./...": false},
		"npm ci && npm test": {
			"npm ci; npm test -- --watch=false": true, "npm test": false, "npm ci": false, "npm ci && npm test": true,
		},
		"make check": {"make -j4 check": true, "make": false, "make check )": true},
		"cd web && ./check.sh": {
			"web/check.sh": true, "cd web && ls": false,
		},
	} {
		c := config.Commands{Test: configured, Needs: map[string][]string{"test": {"gpu"}}}
		for line, want := range lines {
			if got := slices.Contains(ofCommand(c, check.Command{Line: line}), "gpu"); got != want {
				t.Errorf("%q is configured, and %q needs it: %t", configured, line, got)
			}
		}
	}
	c := config.Commands{Lint: "vet", Needs: map[string][]string{"lint": {"gpu"}, "test": {"tpu"}}}
	if got := ofCommand(c, check.Command{Kind: agency.CheckLint, Line: "whatever runs it"}); !slices.Equal(got, []string{"gpu"}) {
		t.Error("of its own kind:", got)
	}
	if got := ofCommand(c, check.Command{Line: "vet x"}); !slices.Equal(got, []string{"gpu"}) {
		t.Error("typed:", got)
	}
}
