package effects

import (
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/budget"
)

// What a gate says that an approval makes of a limit is what the approval makes of it.
func TestRaisesSaysWhatIsRaised(t *testing.T) {
	st := budget.State{Limits: budget.Limits{Money: agency.Dollar, Tokens: 20_000, Wall: time.Hour}, Tokens: 19_000, Wall: time.Hour + time.Minute}
	for _, tt := range []struct {
		grant agency.Grant
		says  string
		want  budget.Limits
	}{
		{agency.Grant{Node: "run", Limit: "usd", Need: agency.Dollar}, "", budget.Limits{Money: 10 * agency.Dollar, Tokens: 20_000, Wall: time.Hour}},
		{
			agency.Grant{Node: "run", Limit: "tokens", NeedTokens: 9_000},
			"raise the limit of the whole run from 20 k to 109 k tokens",
			budget.Limits{Money: agency.Dollar, Tokens: 109_000, Wall: time.Hour},
		},
		{
			agency.Grant{Node: "stage/work", Limit: "tokens", NeedTokens: 100},
			"raise the limit of stage/work from 20 k to 40 k tokens",
			budget.Limits{Money: agency.Dollar, Tokens: 40_000, Wall: time.Hour},
		},
		{
			agency.Grant{Node: "run", Limit: "wall"},
			"raise the limit of the whole run from 1h0m0s to 2h1m0s at work",
			budget.Limits{Money: agency.Dollar, Tokens: 20_000, Wall: 2*time.Hour + time.Minute},
		},
	} {
		if says := Raises(st, tt.grant); says != tt.says {
			t.Errorf("%+v: %q, want %q", tt.grant, says, tt.says)
		}
		got := raised(st, BudgetRaise{Node: tt.grant.Node, Limit: tt.grant.Limit, Need: tt.grant.Need, NeedTokens: tt.grant.NeedTokens})
		if got != tt.want {
			t.Errorf("%+v: the limits become %+v, want %+v", tt.grant, got, tt.want)
		}
	}
}

// The limit that a gate tells of an approval without a sum is in whole cents, at least what
// that approval used to come to, and it is what setting it by its sum comes to.
func TestPlainSaysWhatIsSet(t *testing.T) {
	st := budget.State{Limits: budget.Limits{Money: agency.Dollar}, Money: agency.USD(0.9), Reserved: agency.USD(0.05)}
	for _, tt := range []struct {
		need float64
		want float64
	}{{0, 2}, {0.01, 2}, {0.30001, 3.96}} {
		grant := agency.Grant{Node: "run", Limit: "usd", Need: agency.USD(tt.need)}
		plain := Plain(st, grant)
		if plain != agency.USD(tt.want) {
			t.Errorf("%v: %s, want %v", tt.need, plain, tt.want)
		}
		if got := raised(st, BudgetRaise{Node: "run", Limit: "usd", USD: plain.Float(), Need: grant.Need}); got.Money != plain {
			t.Errorf("%v: the limit becomes %s instead of %s", tt.need, got.Money, plain)
		}
	}
}
