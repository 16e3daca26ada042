package mode

import (
	"context"
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/land"
	"agency/internal/session"
	"agency/internal/store"
)

// rises is a line that lands on a level: as the test has it for this level, else it does.
func (s *stage) rises(in land.Spec) (land.Outcome, error) {
	on := in.Line
	if on == "" {
		on = "run"
	}
	out, told := s.landed[string(in.Contract)+" on "+on]
	if !told {
		out = land.Outcome{Landed: &land.Landed{Commit: agency.OID("c-" + string(in.Contract) + "-" + on), Tree: "merged"}}
	}
	s.log("rise %s on %s: %v", in.Source, on, out.Landed != nil)
	if out.Landed == nil {
		return out, nil
	}
	return out, s.db.Write(context.Background(), func(tx *store.Tx) error { return board.Landed(tx, in.Run, in.Contract, out.Landed.Commit) })
}

// apart is a line that could not land.
func apart() land.Outcome {
	return land.Outcome{
		Reason: "it conflicts", Conflict: &agency.Conflict{Head: "above", Paths: []string{"a.go"}, Ours: "o", Theirs: "t"},
		Apart: &land.Apart{Head: "above", From: "from", Ours: "ours", Merged: "both"},
	}
}

// squadOf sets the stage for one workstream of two tasks.
func squadOf(path string, more map[string]session.Outcome) func(*stage, *Input) {
	return func(s *stage, _ *Input) {
		s.byAttempt["plan 1.1"] = streams("w: " + path + " web")
		s.byAttempt["w-tasks 1.1"] = tasks(part("a"), part("b", "a"))
		for part, out := range more {
			s.byAttempt[part] = out
		}
	}
}

// conflicted is the same where its line cannot land on levels.
func conflicted(path string, levels []string, more map[string]session.Outcome) func(*stage, *Input) {
	return func(s *stage, in *Input) {
		squadOf(path, more)(s, in)
		s.landed = map[string]land.Outcome{}
		for _, on := range levels {
			s.landed["w on "+on] = apart()
		}
	}
}

var blockedOn = session.Outcome{Kind: session.Blocked, Reason: "both cannot be"}

var levelCases = map[string]tieredCase{
	"tasks land on the workstream's line, and that after the verdict": {
		squadOf("t3 t4 t5", nil), merged,
		[]string{"begin workstream/w/1", "land a: true", "land b: true", "session w-verdict 1.1", "rise workstream/w/1 on run: true", "session accept 1.1"},
		[]string{"begin integration", "move"},
	},
	"a designed one through the integration of its domain": {
		squadOf("t2 t3 t4 t5", nil), merged,
		[]string{
			"begin integration/web", "begin workstream/w/1", "land b: true", "session w-verdict 1.1", "rise workstream/w/1 on integration/web: true",
			"rise integration/web on run: true", "move integration/web from c-w-integration/web to c-w-run", "session accept 1.1",
		},
		nil,
	},
	"partial rounds go on on the same line": {
		squadOf("t3 t4 t5", map[string]session.Outcome{"w-verdict 1.1": joint(agency.JointPartial, "b")}), merged,
		[]string{"begin workstream/w/1", "session w-verdict 1.1", "land b-r2: true", "session w-verdict-2 1.1", "rise workstream/w/1 on run: true"},
		[]string{"begin workstream/w/2"},
	},
	"a failed workstream leaves nothing": {
		squadOf("t3 t4 t5", map[string]session.Outcome{"w-verdict 1.1": joint(agency.JointFail), "replan 1.1": streams("y: t4 t5 -")}), merged,
		[]string{"land b: true", "session w-verdict 1.1", "session replan 1.1", "land y: true"},
		[]string{"rise"},
	},
	"a new plan begins a line of its own": {
		squadOf("t2 t3 t4 t5", map[string]session.Outcome{"w-verdict 1.1": joint(agency.JointFail), "w-tasks-2 1.1": tasks(part("c"))}), merged,
		[]string{"begin workstream/w/1", "session w-verdict 1.1", "session t2-redesign-w 1.1", "begin workstream/w/2", "land c: true", "rise workstream/w/2 on integration/web: true", "rise integration/web on run: true"},
		[]string{"rise workstream/w/1"},
	},
	"what conflicts on the run's branch is brought together": {
		conflicted("t3 t4 t5", []string{"run"}, nil), merged,
		[]string{"rise workstream/w/1 on run: false", "session w-integrate 1.1", "resolution tree of ours and above from from in [a.go]", "critic w-integrate 1 round 1.1: approve", "land w-integrate: true", "session accept 1.1"},
		[]string{"session w-integrate-2"},
	},
	"what conflicts on both levels is brought together on each": {
		conflicted("t2 t3 t4 t5", []string{"integration/web", "run"}, nil), merged,
		[]string{
			"rise workstream/w/1 on integration/web: false", "session w-integrate 1.1", "land w-integrate: true", "rise integration/web on run: false",
			"session w-integrate-2 1.1", "land w-integrate-2: true", "move integration/web from c-w-integrate to c-w-integrate-2", "session accept 1.1",
		},
		nil,
	},
	"what cannot be brought together goes up": {
		conflicted("t3 t4 t5", []string{"run"}, map[string]session.Outcome{"w-integrate 1.1": blockedOn, "replan 1.1": streams("y: t4 t5 -")}), merged,
		[]string{"rise workstream/w/1 on run: false", "session w-integrate 1.1", "session replan 1.1", "land y: true"},
		[]string{"land w-integrate"},
	},
	"the integration goes back from what the run's branch would not have": {
		conflicted("t2 t3 t4 t5", []string{"run"}, map[string]session.Outcome{"w-integrate 1.1": blockedOn, "w-tasks-2 1.1": {Kind: session.Incomplete, Reason: "no"}, "w-tasks-2 2.1": {Kind: session.Incomplete, Reason: "no"}, "replan 1.1": streams("y: t4 t5 -")}), merged,
		[]string{
			"rise workstream/w/1 on integration/web: true", "rise integration/web on run: false", "session w-integrate 1.1",
			"move integration/web from c-w-integration/web to head", "session t2-redesign-w 1.1", "session replan 1.1", "land y: true",
		},
		[]string{"land w-integrate"},
	},
	"a refusal that nothing can be made of": {
		func(s *stage, in *Input) {
			squadOf("t3 t4 t5", map[string]session.Outcome{"replan 1.1": streams("y: t4 t5 -")})(s, in)
			s.landed = map[string]land.Outcome{"w on run": {Reason: "a git repository", Refused: &land.Refusal{Cause: land.CauseNestedGit}}}
		}, merged,
		[]string{"rise workstream/w/1 on run: false", "session replan 1.1", "land y: true"},
		[]string{"session w-integrate"},
	},
	"workstreams of one domain come together one after the other": {
		func(s *stage, _ *Input) {
			s.byAttempt["plan 1.1"] = streams("w: t2 t3 t4 t5 web", "v: t2 t3 t4 t5 web", "x: t2 t3 t4 t5 Web")
			s.byAttempt["w-tasks 1.1"], s.byAttempt["w-tasks 1.2"] = drafts("c1", part("a")), tasks(part("a"))
			s.byAttempt["v-tasks 1.1"], s.byAttempt["v-tasks 1.2"] = drafts("c1", part("b")), tasks(part("b"))
			s.byAttempt["x-tasks 1.1"] = tasks(part("c"))
			s.landed = map[string]land.Outcome{"w on run": apart(), "v on run": apart()}
		}, merged,
		[]string{"session accept 1.1"},
		nil,
	},
}

func TestLandingLevels(t *testing.T) { playTiered(t, levelCases) }

// play plays one case, and gives its stage.
func (tt tieredCase) play(t *testing.T) *stage {
	s, in := newStage(t), tieredInput
	s.byAttempt = map[string]session.Outcome{}
	tt.set(s, &in)
	if got := s.run(Tiered, in); got != tt.want {
		t.Fatalf("ended %+v: %q", got, s.said)
	}
	return s
}

// Nothing of a squad's tasks is on the run's branch before its line is.
func TestTasksLandOnTheirLine(t *testing.T) {
	s := levelCases["a designed one through the integration of its domain"].play(t)
	for _, l := range s.lands {
		want := map[agency.ContractID]string{"a": "workstream/w/1", "b": "workstream/w/1"}[l.Contract]
		if l.Source == "" && l.Line != want {
			t.Errorf("%s landed on %q", l.Contract, l.Line)
		}
	}
	for _, sp := range s.specs {
		lower := sp.Contract == "a" || sp.Contract == "b" || strings.HasPrefix(string(sp.Contract), "w-verdict")
		if want := map[bool]string{true: "workstream/w/1"}[lower]; sp.Review == nil && sp.Line != want {
			t.Errorf("session %s begins from %q, want %q", sp.ID(), sp.Line, want)
		}
	}
}

// Who brings a line together with a level begins with the files of both on the head that
// would not have it, and lands there with the line.
func TestJoining(t *testing.T) {
	s := levelCases["what conflicts on both levels is brought together on each"].play(t)
	i := slices.IndexFunc(s.specs, func(sp session.Spec) bool { return sp.Contract == "w-integrate" && sp.Review == nil })
	if sp := s.specs[i]; sp.Onto != "above" || sp.From != "both" || sp.Line != "integration/web" || sp.Feedback == nil || sp.Feedback.Conflict == nil || sp.Role != agency.RoleImplementer {
		t.Errorf("%+v", sp)
	}
	for _, l := range s.lands {
		want := map[agency.ContractID][2]string{"w-integrate": {"integration/web", "workstream/w/1"}, "w-integrate-2": {"", "integration/web"}}[l.Contract]
		if strings.HasPrefix(string(l.Contract), "w-integrate") && [2]string{l.Line, l.Source} != want {
			t.Errorf("%s landed %q on %q", l.Contract, l.Source, l.Line)
		}
	}
	if c := s.contract("w-integrate"); c.ParentID != "w" || c.Status != agency.StatusComplete {
		t.Errorf("%+v", c)
	}
}

// Of a domain, one is on the run's branch, or back, before the next looks at its integration.
func TestOneOfADomainAtATime(t *testing.T) {
	s := levelCases["workstreams of one domain come together one after the other"].play(t)
	at, domains := map[string]string{}, map[string]bool{}
	for _, line := range s.said {
		f := strings.Fields(line)
		if f[0] == "rise" && strings.HasPrefix(f[3], "integration/") {
			on := strings.TrimSuffix(f[3], ":")
			domains[on] = true
			if at[on] != "" {
				t.Errorf("%s while %s is on it", line, at[on])
			}
			at[on] = f[1]
		}
		if f[0] == "move" {
			at[f[1]] = ""
		}
	}
	if len(domains) != 2 {
		t.Errorf("%v", domains)
	}
}
