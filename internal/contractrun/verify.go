package contractrun

import (
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/roster"
	"agency/internal/session"
	"agency/internal/text"
	"agency/internal/verify"
)

// claims is the verification and the landing of what sessions claim.
type claims struct {
	*state
	conflicts *conflicts
	weakened  []agency.Weakening      // what has been fed back once
	leftovers []string                // and files left behind that have been
	unproved  bool                    // a claim was not verified
	lowBefore bool                    // a low quality score has been fed back
	passing   map[agency.OID][]string // by the trees of claims that were: the tests that they make pass, or promise
	deferred  []agency.Criterion      // of its last claim, to be checked when all have landed
}

// verifyClaim verifies a claim. An end: it does not hold, or a person does not accept
// what it does.
func (a *claims) verifyClaim(c flow.Ctx, claim agency.Claim) (verdict agency.Verdict, end *AttemptEnd, err error) {
	if err := a.Advance(c, "claim", agency.ClaimMade{Outputs: claim.Outputs}); err != nil {
		return verdict, nil, err
	}
	refused, err := a.dependencies(c, claim)
	if err == nil && refused == nil {
		if verdict, err = a.verify(c, "verify", claim); err == nil {
			tried := agency.TriedBy(verdict, a.base)
			tried.Attempt, tried.Tree = a.N, claim.Tree
			a.tried = append(a.tried, tried)
		}
		if err == nil && verdict.Unchanged && claim.Session != "" && !a.how.InTeam {
			end, err = a.nothingToDo(c, claim)
			return verdict, end, err
		}
		if err == nil && !verdict.Pass {
			a.unproved = true
			refused = &session.Feedback{Attempt: a.N, Reason: firstReason(verdict), Verdict: &verdict}
		}
	}
	if err == nil && refused == nil {
		if refused, err = a.conflicts.resolves(c, claim); err == nil && refused == nil {
			refused, err = a.acceptWeakened(c, verdict)
		}
	}
	if err != nil || refused == nil {
		if a.passing == nil {
			a.passing = map[agency.OID][]string{}
		}
		a.passing[claim.Tree], a.deferred = verdict.Passing(), deferredChecks(verdict)
		return verdict, nil, err
	}
	refused.Reviews = a.open()
	e, err := a.Failed(c, *refused)
	return verdict, &e, err
}

// nothingToDo ends the work where its agent claims it and has changed nothing: asked again it
// says the same, and each time is paid. Whether it is right a person sees from what it shows.
func (a *claims) nothingToDo(c flow.Ctx, claim agency.Claim) (*AttemptEnd, error) {
	shown := make([]string, len(claim.Evidence))
	for i, e := range claim.Evidence {
		shown[i] = strings.TrimSpace(fmt.Sprintf("%s %s", e.Kind, e.Ref))
	}
	why := "its agent changed nothing, and claims to be complete"
	if claim.Summary != agency.SaysNothing {
		why += ": " + text.OneLine(claim.Summary, 300)
	}
	if len(shown) > 0 {
		why += "; it names " + text.OneLine(strings.Join(shown, ", "), 300)
	}
	cause := why
	why += fmt.Sprintf("; where that is wrong, say what is missing: agency run --continue %s \"...\"", a.in.Run)
	_, err := a.Failed(c, session.Feedback{Attempt: a.N, Reason: why})
	end := a.Over(agency.FailedNothing, cause, why)
	return &end, err
}

// acceptWeakened asks a person to accept, each by its name, what a claim weakened
// and did not mend. One agent alone goes on to the merge gate, which names it.
func (a *claims) acceptWeakened(c flow.Ctx, v agency.Verdict) (*session.Feedback, error) {
	if len(v.Weakened) == 0 || !a.how.Staged {
		return nil, nil
	}
	lines := make([]string, len(v.Weakened))
	for i, w := range v.Weakened {
		lines[i] = "- " + text.OneLine(w.String(), text.MostLine)
	}
	d, err := Ask(c, agency.Gate{
		ID: GateID(a.in.Run, fmt.Sprintf("weakened-%s-%s", a.Contract.ID, a.nth())), RunID: a.in.Run, Kind: agency.GateWeakened, ContractID: a.Contract.ID,
		Summary: text.FirstLine(fmt.Sprintf("%s passes, but %s weakened: %s", a.Contract.ID, agency.Things(len(v.Weakened), "check was", "checks were"), v.Weakened[0]), 100),
		Body: "The work on " + string(a.Contract.ID) + " passes its checks, and weakens some of them. It was sent back once:\n\n" + strings.Join(lines, "\n") +
			"\n\nApprove to accept each of them by its name and let the work land; reject with a reason to send it back.",
		NoYes: true, Weakened: v.Weakened,
	})
	if err != nil || d.Verb != agency.Reject {
		return nil, err
	}
	return &session.Feedback{Attempt: a.N, Reason: "a person does not accept the weakened checks: " + v.Weakened[0].String(), Note: d.Note, Verdict: &v}, nil
}

// verify judges a claim. A weakening, a file left behind or a low quality score goes back
// once; if it stays, or if there is no attempt left to mend it, a person decides.
func (a *claims) verify(c flow.Ctx, key string, claim agency.Claim) (agency.Verdict, error) {
	spec := a.verifySpec(claim)
	verdict, err := flow.Call(c, verify.Activity, a.Key(key), spec)
	if err != nil {
		return verdict, err
	}
	a.weakened = append(a.weakened, verdict.Weakened...)
	for _, l := range verdict.Leftovers {
		a.leftovers = append(a.leftovers, l.Path)
	}
	low := a.low(verdict)
	if verdict.Pass || !a.last() {
		return verdict, nil
	}
	if len(verdict.Weakened)+len(verdict.Leftovers) > 0 {
		spec.WeakenedBefore, spec.LeftBefore = a.weakened, a.leftovers
		verdict, err = flow.Call(c, verify.Activity, a.Key(key+"/again"), spec)
		low = err == nil && a.low(verdict)
	}
	if low {
		spec.LowBefore = true
		verdict, err = flow.Call(c, verify.Activity, a.Key(key+"/low"), spec)
	}
	return verdict, err
}

// low tells whether a claim fails by its quality score alone, which is fed back then.
func (a *claims) low(v agency.Verdict) bool {
	low := !v.Pass && v.Quality != nil && len(v.Quality.Low) > 0
	a.lowBefore = a.lowBefore || low
	return low
}

// verifySpec is how a claim of this attempt is verified.
func (a *claims) verifySpec(claim agency.Claim) verify.Spec {
	return verify.Spec{
		Run: a.in.Run, Contract: a.Contract.ID, Type: a.Contract.Type, Attempt: a.N, Criteria: a.Contract.AcceptanceCriteria,
		Base: a.base, Claim: claim.Tree, ClaimInfo: claim, Writes: a.Contract.Writes,
		Commands: a.in.Commands, WeakenedBefore: a.weakened, LeftBefore: a.leftovers, OthersOpen: a.conflicts.othersOpen,
		LowBefore: a.lowBefore, Thresholds: agency.Bound(a.Contract.QualityThresholds),
		After: a.how.After, About: a.Contract.RelevantFiles,
		Expected: slices.Concat(a.Contract.ExpectedOutputs.FilesCreated, a.Contract.ExpectedOutputs.FilesModified),
	}
}

// deferredChecks are the criteria of a verdict whose checks are to be made again.
func deferredChecks(v agency.Verdict) (out []agency.Criterion) {
	for _, p := range v.Proofs {
		if len(p.Others) > 0 {
			out = append(out, p.Criterion)
		}
	}
	return out
}

// A check that runs all tests cannot pass while others still mend what is
// theirs. It then counts for no more than the agent's word, and is made again
// when all have landed: what it shows then is a failure of its contract.

// open tells whether contracts of the run's plans are open beside one: what is red
// may be theirs to mend. One that is carried out by a plan of its own is as open as
// that; on a line only those count that land there, too.
func (w *Shared) open(beside agency.ContractID) bool {
	return slices.ContainsFunc(w.teams, func(t *Shared) bool {
		return (w.Line == "" || w.Line == t.Line) && slices.ContainsFunc(t.Plan, func(p agency.Contract) bool {
			return p.ID != beside && p.AssignedRole != agency.RoleReviewer && p.Type != agency.TypeDesign && !roster.Leads(p.AssignedRole) && !slices.Contains(t.Ended, p.ID)
		})
	})
}

func firstReason(v agency.Verdict) string {
	if len(v.Reasons) == 0 {
		return "the claim was not verified"
	}
	return v.Reasons[0]
}
