package contractrun

import (
	"fmt"
	"slices"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/effects"
	"agency/internal/flow"
	"agency/internal/land"
	"agency/internal/session"
	"agency/internal/text"
)

// Resume is the signal by which a person lets a paused run go on.
var Resume = flow.Signal[struct{}]{Name: "resume"}

// Shared is what contracts with the same lead have in common.
type Shared struct {
	Facts
	Lead Lead
	// Line is the line of the run on which its contracts land, and begin from; empty: the
	// run's branch.
	Line string
	*waits
	managed bool // the lead answers the contracts' questions, and they wait together

	// Replanned tells that the lead has planned anew, which it does once.
	Replanned bool

	fixes     int                     // contracts that mend what tests have shown
	Plan      []agency.Contract       // that is carried out
	Ended     []agency.ContractID     // of it
	landings  []agency.ContractID     // contracts whose work on its level grew, in order
	answering *flow.Future[flow.None] // the lead's last session over a question
}

// waits is what all contracts of a run wait for together: one resume lets all
// of them go on, one answer about the budget counts for all.
type waits struct {
	teams []*Shared

	pauses int
	pause  *flow.Future[flow.None] // the next resume

	raises int
	asked  *flow.Future[flow.None] // the budget gate that is open
	answer agency.Decision
}

// Alone is for a run of one contract at a time, which the lead writes. Questions go
// to a person.
func Alone(in Facts, lead Lead) *Shared { return &Shared{Facts: in, Lead: lead, waits: &waits{}} }

// Team is for contracts beside each other whose lead answers their questions.
func Team(in Facts, lead Lead) *Shared { return Alone(in, lead).Below(lead) }

// Below is Team in the same run for a lead that carries out a contract of this one.
func (w *Shared) Below(lead Lead) *Shared {
	below := &Shared{Facts: w.Facts, Lead: lead, waits: w.waits, managed: true}
	w.teams = append(w.teams, below)
	return below
}

// Level is what its contracts land on, as those name it who land and who look at it.
func (w *Shared) Level() land.BranchSpec { return land.BranchSpec{Run: w.Run, Line: w.Line} }

// Landed notes that the work of a contract on its level grew.
func (w *Shared) Landed(ids ...agency.ContractID) { w.landings = append(w.landings, ids...) }

// End notes that contracts have come to their end.
func (w *Shared) End(ids ...agency.ContractID) { w.Ended = append(w.Ended, ids...) }

// askLead begins a session of the lead: one at a time, for it is one agent. How
// the one before ended is not its matter.
func (w *Shared) askLead(c flow.Ctx, key string, ask func(flow.Ctx) error) flow.Future[flow.None] {
	before := w.answering
	asked := flow.Go(c, key, func(c flow.Ctx) error {
		if before != nil {
			_, _ = before.Get(c)
		}
		return ask(c)
	})
	w.answering = &asked
	return asked
}

// resumed waits until the run is not paused. It asks for the signal first and
// looks then: a resume that comes between the two is not missed.
func (w *Shared) resumed(c flow.Ctx, key string) error {
	if !w.managed {
		_, err := flow.Receive(c, Resume, key)
		return err
	}
	for n := 1; ; n++ {
		if w.pause == nil {
			w.pauses++
			f := flow.Go(c, fmt.Sprintf("%s/signal/%d", key, w.pauses), func(c flow.Ctx) error {
				_, err := flow.Receive(c, Resume, "resume")
				return err
			})
			w.pause = &f
		}
		f := w.pause
		paused, err := flow.Call(c, effects.ReadPaused, fmt.Sprintf("%s/paused/%d", key, n), w.Run)
		if err != nil || !paused {
			return err
		}
		if _, err := f.Get(c); err != nil {
			return err
		}
		if w.pause == f {
			w.pause = nil
		}
	}
}

// budget asks a person once for all whose money is used up, and raises the
// limit. Before is how often it had been raised when the asking part began:
// one that was out of money until then goes on. A rejection is for all, also for
// who runs out of money while the run comes to its end.
func (w *Shared) budget(c flow.Ctx, key string, out session.Outcome, before int) (stop string, err error) {
	if w.answer.Verb == agency.Reject {
		return noBudget + out.Reason, nil
	}
	if w.raises > before {
		return "", nil
	}
	if w.asked == nil {
		name := fmt.Sprintf("budget-%d", w.raises+1)
		f := flow.Go(c, key+"/"+name, func(c flow.Ctx) (err error) {
			w.answer, err = askBudget(c, w.Facts, "", name, "raise", out)
			return err
		})
		w.asked = &f
	}
	f := w.asked
	if _, err := f.Get(c); err != nil {
		return "", err
	}
	if w.asked == f {
		w.asked = nil
		w.raises++
	}
	if w.answer.Verb == agency.Reject {
		return noBudget + out.Reason, nil
	}
	return "", nil
}

// noBudget begins why a run waits or ends for want of it: what is left may be
// less than a request reserves before it is sent, which is the most that its
// answer can cost.
const noBudget = "the budget does not hold the next request: "

// askBudget opens a budget gate and does what its answer says; raise is the key
// of that step.
func askBudget(c flow.Ctx, in Facts, contract agency.ContractID, name, raise string, out session.Outcome) (agency.Decision, error) {
	e := out.Exhausted
	if e == nil {
		e = &budget.Exhausted{Node: budget.Root}
	}
	g := agency.Gate{
		ID: GateID(in.Run, name), RunID: in.Run, Kind: agency.GateBudget, ContractID: contract, Summary: noBudget + out.Reason,
		Body: text.OneLine(out.Reason, text.MostLine) + ".\n\nA request reserves the most that its answer can cost before it is sent. Nothing more is spent until this is answered. ",
	}
	if e.Limit != "" {
		g.Grant = &agency.Grant{Node: e.Node, Limit: e.Limit, Need: e.Money, NeedTokens: e.Tokens}
	}
	if e.Above != "" {
		g.Approving = "go on, once that limit is raised or the " + e.Period() + " is over"
		enough := ""
		if e.Enough > 0 {
			enough = " to " + e.Enough.Typed() + " or more"
		}
		g.Body += "No answer raises this limit, which counts for all your runs: raise it where it stands" + enough + ", then approve; or approve when the " + e.Period() + " is over. Reject to end the run."
	} else if e.Limit == "tokens" || e.Limit == "wall" {
		g.Body += "No sum in dollars raises this limit: approve to raise it. Reject to end the run."
	} else {
		of := "the whole run"
		if e.Node != budget.Root {
			of = e.Node
		}
		g.Body += "Approve with `--budget USD` to set a new limit in dollars for " + of + "; without it the limit that is reached is doubled, or more, so that it holds ten requests like this one. Reject to end the run."
	}
	d, err := Ask(c, g)
	if err != nil || d.Verb == agency.Reject || e.Above != "" {
		return d, err
	}
	_, err = flow.Call(c, effects.RaiseBudget, raise, effects.BudgetRaise{
		Run: in.Run, Node: e.Node, Limit: e.Limit, USD: d.BudgetUSD, Need: e.Money, NeedTokens: e.Tokens,
	})
	return d, err
}

// outrun tells whether what a contract needs has landed, or was mended,
// after its base was taken.
func (a *state) outrun() bool {
	needs := append(a.Contract.DependsOn[:len(a.Contract.DependsOn):len(a.Contract.DependsOn)], a.how.mends...)
	return slices.ContainsFunc(a.how.Shared.landings[a.seenLandings:], func(id agency.ContractID) bool { return slices.Contains(needs, id) })
}

// seeLandings notes that the base was taken after all that has landed by now.
func (a *state) seeLandings() {
	a.seenLandings = len(a.how.Shared.landings)
}
