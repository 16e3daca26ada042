package agency

import "testing"

// How far a contract has come rises with what is proved and reached, never falls within
// an attempt, and begins anew with the next.
func TestProgress(t *testing.T) {
	var p Progress
	last := 0.0
	for i, step := range []struct {
		d    Detail
		want func(now float64) bool
	}{
		{StateChanged{To: "working"}, func(now float64) bool { return now == 0.05 }},
		{VerdictSubmitted{Verdict: VerdictFail, Criteria: 4, Shown: 3}, func(now float64) bool { return now > last && now < 0.6 }},
		{VerdictSubmitted{Verdict: VerdictFail, Criteria: 4}, func(now float64) bool { return now == last }},
		{Retried{Session: "s", Attempt: 2}, func(now float64) bool { return now == last }},
		{VerdictSubmitted{Verdict: VerdictPass, Criteria: 4, Shown: 4}, func(now float64) bool { return now == 0.6 }},
		{ReviewSubmitted{Verdict: string(ReviewChanges)}, func(now float64) bool { return now == last }},
		{StateChanged{To: "working"}, func(now float64) bool { return now == last }},
		{ReviewSubmitted{Verdict: string(ReviewApprove)}, func(now float64) bool { return now == 0.8 }},
		{StateChanged{To: "queued"}, func(now float64) bool { return now > last }},
		{StateChanged{To: "landing"}, func(now float64) bool { return now > last && now < 1 }},
		{Retried{Attempt: 2}, func(now float64) bool { return now == 0.05 }},
		{Completed{Session: "s"}, func(now float64) bool { return now == 0.05 }},
		{Completed{}, func(now float64) bool { return now == 1 }},
	} {
		ev := NewEvent("r", SeverityInfo, "", step.d)
		ev.ContractID = "a"
		d, err := DecodeDetail(ev)
		if err != nil {
			t.Fatal(err)
		}
		p.Add(ev, d)
		now := p.Of("a")
		if !step.want(now) {
			t.Errorf("%d %s: %g after %g", i, ev.Type, now, last)
		}
		last = now
	}
}
