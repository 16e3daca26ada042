package mode

import (
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/deps"
	"agency/internal/ecosystem"
	"agency/internal/land"
	"agency/internal/registry"
	"agency/internal/store"
)

// lacking is a change whose setup nobody has configured.
var lacking = deps.Need{
	Files: []string{"package-lock.json"}, Packages: []ecosystem.Package{{Name: "left-pad", To: "1.3.0"}, {Name: "same", From: "1.0.0", To: "2.0.0"}, {Name: "gone", From: "3.0.0"}},
	Setup: "npm ci", Proposed: true, Lacking: []string{"registry.example"}, Foreign: []string{"evil.example"},
}

var allowed = deps.Need{Files: []string{"package-lock.json"}, Setup: "npm ci", Granted: []string{"registry.example"}}

func TestDependencies(t *testing.T) {
	const end = "; verify main 1: true; land main: true; gate merge-1: approve; merge into trunk, verified false: true"
	const again = "; session main 2.1; verify main 2: true; land main: true; gate merge-1: approve; merge into trunk, verified false: true"
	for name, tt := range map[string]struct {
		set  func(*stage, *Input)
		said string
	}{
		"allowed by the configuration": {
			func(s *stage, _ *Input) { s.needs = []deps.Need{allowed} },
			`session main 1.1; install tree by "npm ci" from [registry.example]: true` + end,
		},
		"every gate": {
			func(s *stage, in *Input) { s.needs, in.DependencyGate = []deps.Need{allowed}, true },
			`session main 1.1; gate dependencies-main-1-1: approve; install tree by "npm ci" from [registry.example]: true` + end,
		},
		"approved": {
			func(s *stage, _ *Input) { s.needs = []deps.Need{lacking} },
			`session main 1.1; gate dependencies-main-1-1: approve; install tree by "npm ci" from [registry.example]: true` + end,
		},
		"rejected": {
			func(s *stage, _ *Input) {
				s.needs = []deps.Need{lacking}
				s.answers = map[string]agency.Decision{"dependencies-main-1-1": {Verb: agency.Reject, Note: "use what is there"}}
			},
			"session main 1.1; gate dependencies-main-1-1: reject" + again,
		},
		"setup fails by the change": {
			func(s *stage, _ *Input) {
				s.needs, s.installs = []deps.Need{allowed}, []deps.Installed{{Reason: "not in sync"}}
			},
			`session main 1.1; install tree by "npm ci" from [registry.example]: false` + again,
		},
		"a host is away": {
			func(s *stage, _ *Input) {
				s.needs, s.installs = []deps.Need{allowed}, []deps.Installed{{Reason: "ENOTFOUND", Network: true}}
			},
			`session main 1.1; install tree by "npm ci" from [registry.example]: false; gate dependencies-main-1-2: approve; ` +
				`install tree by "npm ci" from [registry.example]: true` + end,
		},
		"the merged tree": {
			func(s *stage, _ *Input) {
				s.needs = []deps.Need{{}, lacking}
				s.merges = []land.MergeOutcome{{Moved: &land.Moved{Target: "new", Tree: "mix"}}}
			},
			"session main 1.1; verify main 1: true; land main: true; gate merge-1: approve; merge into trunk, verified false: false; " +
				`gate dependencies-merge-1-1-1: approve; install mix by "npm ci" from [registry.example]: true; ` +
				"verify tree mix on new; verify tree mix on base; merge into trunk, verified true: true",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, in := newStage(t), input
			tt.set(s, &in)
			if got := s.play(in); !got.Succeeded {
				t.Errorf("ended %+v", got)
			}
			if got := strings.Join(s.said, "; "); got != tt.said {
				t.Errorf("happened:\n  %s\nwant:\n  %s", got, tt.said)
			}
		})
	}
}

// TestDependenciesGate holds what the gate says: what changed, what runs, what
// it may reach, and what to write.
func TestDependenciesGate(t *testing.T) {
	s := newStage(t)
	s.needs = []deps.Need{lacking}
	s.answers = map[string]agency.Decision{"dependencies-main-1-1": {Verb: agency.Reject, Note: "use what is there"}}
	s.play(input)
	var gates []agency.Gate
	if err := s.db.Read(t.Context(), func(q *store.Snapshot) (err error) {
		gates, err = registry.Gates(q, run)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	g := gates[0]
	if g.Kind != agency.GateDependencies || g.Kind.YesAnswers() || !g.NoYes {
		t.Errorf("gate %+v", g)
	}
	for _, want := range []string{
		"`package-lock.json`", "adds left-pad 1.3.0", "changes same from 1.0.0 to 2.0.0", "removes gone 3.0.0", "    npm ci\n",
		"No `commands.setup` is configured", "on port 443 only: registry.example.", "does not name registry.example",
		"**Only the change itself names these hosts**, and approving does not allow them: evil.example.",
		"    commands:\n      setup: 'npm ci'\n    sandbox:\n      setup_hosts: [registry.example]\n",
	} {
		if !strings.Contains(g.Body, want) {
			t.Errorf("the gate does not say %q:\n%s", want, g.Body)
		}
	}
	if f := s.specs[1].Feedback; f == nil || f.Note != "use what is there" || !strings.Contains(f.Reason, "left-pad") {
		t.Errorf("feedback %+v", f)
	}
}
