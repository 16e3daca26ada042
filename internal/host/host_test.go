package host

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/config"
	"agency/internal/flow"
	"agency/internal/registry"
)

func TestWhereARunStands(t *testing.T) {
	gate := []agency.Gate{{Kind: agency.GateMerge, Summary: "ready"}}
	tests := []struct {
		name  string
		quiet bool
		ctl   registry.Control
		gates []agency.Gate
		want  agency.RunState
	}{
		{"at work", false, registry.Control{}, nil, agency.StateRunning},
		{"at work, told to pause", false, registry.Control{Pause: true}, nil, agency.StateRunning},
		{"at work, a gate open", false, registry.Control{}, gate, agency.StateRunning},
		{"at a gate", true, registry.Control{}, gate, agency.StateWaiting},
		{"paused", true, registry.Control{Pause: true}, nil, agency.StatePaused},
		{"paused at a gate", true, registry.Control{Pause: true}, gate, agency.StatePaused},
		{"handed over", true, registry.Control{Pause: true, HandOver: true}, nil, agency.StateInterrupted},
		{"handed over at a gate", true, registry.Control{Pause: true, HandOver: true}, gate, agency.StateWaiting},
		{"a timer", true, registry.Control{}, nil, agency.StateRunning},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, _ := stateOf("r1", tt.quiet, tt.ctl, tt.gates); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestVaultTakesKeysOut(t *testing.T) {
	v := NewSecrets()
	if got := v.Redact([]byte("text")); string(got) != "text" {
		t.Errorf("no secrets: %q", got)
	}
	v.Put("run-1", map[string]string{"a": "sk-Zq81hhd72k", "b": "sk-Zq81hhd72k-lo9ng", "c": "lm-studio", "d": `Wi7th"qu9ote\sl4ash`})
	quoted, err := json.Marshal(`Wi7th"qu9ote\sl4ash`)
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"a sk-Zq81hhd72k b":            "a [redacted] b",
		"a sk-Zq81hhd72k-lo9ng b":      "a [redacted] b",
		"lm-studio stays":              "lm-studio stays",
		`Wi7th"qu9ote\sl4ash`:          "[redacted]",
		string(quoted):                 `"[redacted]"`,
		strings.Repeat("sk-", 3):       "sk-sk-sk-",
		"sk-Zq81hhd72ksk-Zq81hhd72k x": "[redacted][redacted] x",
	} {
		if got := string(v.Redact([]byte(in))); got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
	}
	v.Put("run-1", map[string]string{"a": ""})
	if key, ok := v.Key("run-1", "a"); !ok || key != "sk-Zq81hhd72k" {
		t.Error("a client without a key took another's away")
	}
	if _, ok := v.Key("run-2", "a"); ok {
		t.Error("a run sees another's key")
	}
	if got := v.Placeholders("run-1"); !slices.Equal(got, []string{"c"}) {
		t.Errorf("placeholders %v", got)
	}
	// A word of the configuration, or of the repository's path, is none.
	v.Put("run-3", map[string]string{"a": "gw-Kd72hhs91x", "b": "Repo-7f3kQ9x2Lm"}, "https://gw-Kd72hhs91x.example.com", "/src/repo-7f3kq9x2lm")
	if got := string(v.Redact([]byte("gw-Kd72hhs91x repo-7f3kq9x2lm Repo-7f3kQ9x2Lm"))); strings.Contains(got, "redacted") {
		t.Errorf("ordinary words are taken out: %s", got)
	}
}

func TestAnswersFitTheirGate(t *testing.T) {
	tests := []struct {
		name string
		kind agency.GateKind
		d    agency.Decision
		ok   bool
	}{
		{"approve a merge", agency.GateMerge, agency.Decision{Verb: agency.Approve}, true},
		{"answer a question", agency.GateQuestion, agency.Decision{Verb: agency.Approve, Note: "x"}, true},
		{"approve a question without an answer", agency.GateQuestion, agency.Decision{Verb: agency.Approve}, false},
		{"decline a question", agency.GateQuestion, agency.Decision{Verb: agency.Reject}, true},
		{"grant a budget", agency.GateBudget, agency.Decision{Verb: agency.Approve, BudgetUSD: 5}, true},
		{"grant a negative budget", agency.GateBudget, agency.Decision{Verb: agency.Approve, BudgetUSD: -5}, false},
		{"reject a merge for a reason", agency.GateMerge, agency.Decision{Verb: agency.Reject, Note: "too slow"}, true},
		{"reject a merge without one", agency.GateMerge, agency.Decision{Verb: agency.Reject, Note: " "}, false},
		{"reject a plan without one", agency.GatePlan, agency.Decision{Verb: agency.Reject}, false},
		{"a budget at a merge", agency.GateMerge, agency.Decision{Verb: agency.Approve, BudgetUSD: 5}, false},
	}
	for _, tt := range tests {
		if err := checkAnswer(agency.Gate{Kind: tt.kind}, tt.d); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	for note, ok := range map[string]bool{"1": true, " 2 ": true, "0": false, "3": false, "-1": false, "seven": true, "7 of them": true} {
		g := agency.Gate{Kind: agency.GateQuestion, Options: []string{"a", "b"}}
		if err := checkAnswer(g, agency.Decision{Verb: agency.Approve, Note: note}); (err == nil) != ok {
			t.Errorf("%q of two options: %v", note, err)
		}
	}
}

func TestCopySurvivesTheStore(t *testing.T) {
	c := RunConfig{Config: config.Defaults(), Env: map[string]string{"PATH": "/bin"}}
	c.Config.Commands.Test = "go test ./..."
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseRunConfig(b)
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(got)
	if err != nil || string(again) != string(b) {
		t.Errorf("changed: %v\n%s\n%s", err, b, again)
	}
	if got.Commands().Test != "go test ./..." {
		t.Errorf("commands %+v", got.Commands())
	}
}

// A message reaches whoever leads at the time, also the one who plans before
// its first session; an agent, a role or a contract that is named; and nobody
// else.
func TestRecipients(t *testing.T) {
	planning := []agency.Contract{{ID: "plan", AssignedRole: "project_manager", Status: agency.StatusInProgress}}
	planned := append(slices.Clone(planning), agency.Contract{ID: "main", AssignedRole: "generalist", Status: agency.StatusInProgress})
	planned[0].Status = agency.StatusComplete
	team := append(slices.Clone(planned[:1]), agency.Contract{ID: "api", AssignedRole: "scaffolder", Status: agency.StatusInProgress})
	agents := []board.Agent{{ID: "project_manager", Role: "project_manager"}, {ID: "scaf-1", Role: "scaffolder", Contract: "api"}}
	for _, tc := range []struct {
		mode      agency.Mode
		contracts []agency.Contract
		to        string
		agent     agency.AgentID
		role      agency.RoleID
	}{
		{agency.ModeSingle, nil, "", "generalist", ""},
		{agency.ModeSingle, nil, "generalist", "generalist", ""},
		{agency.ModeContract, nil, "", "project_manager", ""},
		{agency.ModeContract, planning, "manager", "project_manager", ""},
		{agency.ModeContract, planned, "", "generalist", ""},
		{agency.ModeContract, planned, "project_manager", "project_manager", ""},
		{agency.ModeMultiAgent, team, "", "project_manager", ""},
		{agency.ModeMultiAgent, team, "manager", "project_manager", ""},
		{agency.ModeMultiAgent, planning, "scaf-1", "scaf-1", ""},
		{agency.ModeMultiAgent, planning, "scaffolder", "", "scaffolder"},
		{agency.ModeMultiAgent, planning, "api", "scaf-1", ""},
	} {
		agent, role, err := whom(agency.Run{ID: "run-1", Mode: tc.mode}, tc.to, tc.contracts, agents)
		if err != nil || agent != tc.agent || role != tc.role {
			t.Errorf("%s to %q: %q %q %v", tc.mode, tc.to, agent, role, err)
		}
	}
	_, _, err := whom(agency.Run{ID: "run-1", Mode: agency.ModeSingle}, "reviewer", nil, nil)
	if agency.KindOf(err) != agency.KindNotFound || agency.MendOf(err) == "" {
		t.Errorf("got %v", err)
	}
}

// What interrupted a run is told without the key of the step.
func TestInterruptionIsForPeople(t *testing.T) {
	down := agency.Errorf(agency.KindTransient, "provider served: key refused").WithMend("agency resume r")
	for _, err := range []error{down, &flow.Interrupt{Key: "r/contract/a/attempt-1/session/1", Err: down}} {
		if got, want := failureText(err), "provider served: key refused; agency resume r"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
