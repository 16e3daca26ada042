package config

import (
	"strings"
	"testing"

	"agency/internal/agency"
)

// Limits across repositories stand in the user's own file alone: elsewhere they are an
// error that says where, and where to.
func TestLimitsAcrossRunsAreTheUsersAlone(t *testing.T) {
	const own = "mode: single\nbudget:\n  daily_usd: 5\n  monthly_usd: 20.5\n"
	in := repoInput("mode: single\n")
	in.UserFile = Source{Path: "own.yaml", Data: []byte(own)}
	l := load(t, in)
	if b := l.Config.Budget; b.DailyUSD != 5 || b.MonthlyUSD != 20.5 {
		t.Errorf("%+v", b)
	}
	for _, tt := range []struct{ name, text, want string }{
		{"day", "mode: single\nbudget: {usd: 3, daily_usd: 4}\n", "agency.yaml:2:29: budget.daily_usd is a limit across repositories and stands in your own file alone: move it to own.yaml"},
		{"month", "budget:\n  monthly_usd: 0\n", "agency.yaml:2:16: budget.monthly_usd is a limit"},
	} {
		for _, user := range []string{"", own} {
			in := repoInput(tt.text)
			in.UserFile = Source{Path: "own.yaml", Data: []byte(user)}
			if _, err := Load(in); agency.KindOf(err) != agency.KindInvalid || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s in the repository's file: %v", tt.name, err)
			}
		}
		in := repoInput("")
		in.UserFile = Source{Path: "own.yaml"}
		in.TeamFile = Source{Path: "team.yaml", Data: []byte("goal: x\n" + tt.text)}
		if _, err := Load(in); err == nil || !strings.Contains(err.Error(), "team.yaml:") || !strings.Contains(err.Error(), "move it to own.yaml") {
			t.Errorf("%s in a run's file: %v", tt.name, err)
		}
	}
	a, err := LoadAcrossRuns(Source{Path: "own.yaml", Data: []byte(own + "providers: {x: {type: openai, api_key: '${NOT_SET}'}}\n")})
	if err != nil || a.DailyUSD != 5 || a.MonthlyUSD != 20.5 || a.Daily.String() != "own.yaml:3" || a.Monthly.String() != "own.yaml:4" {
		t.Errorf("%+v, %v", a, err)
	}
	for _, none := range []string{"", "mode: single\n", "budget: {daily_usd: 0}\n", "budget:\n"} {
		if a, err := LoadAcrossRuns(Source{Path: "own.yaml", Data: []byte(none)}); err != nil || a.DailyUSD != 0 || a.MonthlyUSD != 0 {
			t.Errorf("%q: %+v, %v", none, a, err)
		}
	}
	if a, err := LoadAcrossRuns(Source{Path: "own.yaml"}); err != nil || a.DailyUSD != 0 {
		t.Errorf("no file: %+v, %v", a, err)
	}
	for _, bad := range []string{"budget: {daily_usd: -1}", "budget: {daily_usd: much}", "budget: [", "budget: {dayly_usd: 3}"} {
		if _, err := LoadAcrossRuns(Source{Path: "own.yaml", Data: []byte(bad)}); agency.KindOf(err) != agency.KindInvalid || !strings.Contains(err.Error(), "own.yaml:1:") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// Commands that run outside of the sandbox stand in the user's own file alone: no trust makes
// those of a repository count, also where the user has hooks of the same name.
func TestHooksStandInTheOwnFile(t *testing.T) {
	const own = "hooks: {gate: 'bell ${AGENCY_RUN}', finished: done}\n"
	in := repoInput("mode: single\n")
	in.UserFile = Source{Path: "own.yaml", Data: []byte(own)}
	if h := load(t, in).Config.Hooks; h.Gate != "bell ${AGENCY_RUN}" || h.Finished != "done" {
		t.Errorf("%+v", h)
	}
	for _, text := range []string{"hooks: {gate: theirs}\n", "hooks: {finished: theirs}\n", "hooks:\n  gate: bell ${AGENCY_RUN}\n", "hooks: {gate: ''}\n"} {
		for _, user := range []string{"", own} {
			in := repoInput(text)
			in.UserFile = Source{Path: "own.yaml", Data: []byte(user)}
			if _, err := Load(in); agency.KindOf(err) != agency.KindInvalid || !strings.Contains(err.Error(), "stand in your own file alone: move it to own.yaml") {
				t.Errorf("%q in the repository's file: %v", text, err)
			}
			in = repoInput("")
			in.UserFile = Source{Path: "own.yaml", Data: []byte(user)}
			in.TeamFile = Source{Path: "team.yaml", Data: []byte("goal: x\n" + text)}
			if _, err := Load(in); err == nil || !strings.Contains(err.Error(), "team.yaml:") {
				t.Errorf("%q in a run's file: %v", text, err)
			}
		}
	}
}
