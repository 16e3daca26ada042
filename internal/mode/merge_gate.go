package mode

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/contractrun"
	"agency/internal/contractrun/planning"
	"agency/internal/deps"
	"agency/internal/effects"
	"agency/internal/flow"
	"agency/internal/land"
	"agency/internal/text"
	"agency/internal/verify"
)

// obstacle is why a merge was not done; the zero obstacle is none.
type obstacle struct {
	why, mend string
	// red is what fails in the target, also without the run's work, and moved
	// where it stands: a person may want the merge with it all the same.
	red   []string
	moved *land.Moved
	held  string // why the branch could not be left where the work is
	apart bool   // target and run changed the same lines
}

// text is the obstacle with how to mend it.
func (o obstacle) text() string {
	if o.mend == "" {
		return o.why
	}
	return o.why + "; mend: " + o.mend
}

// delivery is what landed and is to be merged.
type delivery struct {
	contract agency.Contract // that did it; the zero contract: several
	named    bool            // its merge gates bear the contract's id: another may be shown before or after
	landed   land.Landed
	whole    bool             // all that was to be done is: the run's feature is
	said     agency.SessionID // the conversation that brought it about; empty: several did
	onto     agency.OID       // the target's commit that it holds, and was verified on; empty: the run's base
	asked    int              // merge gates that were opened for it
	back     bool             // a person has sent work back
	failed   string           // why what was asked for then was not done
	cause    agency.Failure   // of the same
	stopped  bool             // a person ended the run
	hindered obstacle         // why it cannot be merged or brought together as it is
	// rework makes better what a person rejected, or says why it failed.
	rework func(c flow.Ctx, of again) (delivery, error)
}

// again is work that a person sent back.
type again struct {
	delivery
	n       int         // which time the work is done, from 2
	reasons []string    // of the rejects so far, the last one this time's; of a rebase those that were met
	with    *land.Files // it is brought together with its target, as far as both merge
}

// deliver takes what landed through the merge gate. As often as it is rejected there more
// work is done, verified as the first was, and shown; where that fails, what was there before
// is asked about again. What ends this is a merge, a person who cancels the run, or its budget.
func deliver(c flow.Ctx, in Input, d delivery) (Result, error) {
	rework, reasons, met, missed := d.rework, []string(nil), 0, "" // met are the first so many reasons; missed is why the last one is not
	for n := 1; ; n++ {
		if d.whole && d.failed == "" {
			var err error
			if d.landed, err = markDone(c, in, d.landed, n); err != nil {
				return Result{}, err
			}
		}
		rebase := n == 1 && in.Follows != nil && in.Follows.Rebase
		if !rebase {
			end, decision, err := mergeGate(c, in, &d)
			rebase = decision.Rebases()
			if err != nil || decision.Verb != agency.Reject && !rebase {
				return end, err
			}
			if !rebase {
				reasons = append(reasons, decision.Note)
			}
		}
		of := again{delivery: d, n: n + 1, reasons: reasons}
		if rebase {
			var err error
			if of.with, d.hindered, err = of.both(c, in); err != nil {
				return Result{}, err
			}
			if of.with == nil {
				if n == 1 && in.Follows != nil && in.Follows.Rebase {
					return failed(agency.Failure{Kind: agency.FailedTarget, Cause: d.hindered.text()}), nil
				}
				continue
			}
			of.reasons = reasons[:met]
		}
		better, err := rework(c, of)
		switch {
		case err != nil || better.stopped:
			return failed(better.cause), err
		case better.failed != "": // also where a person grants no more money
			d.failed = better.failed
			if rebase {
				d.hindered = sameFiles(in.Target, of.with.Conflicts)
			} else {
				missed = better.failed
			}
		case rebase: // what was asked for before and failed is as open as it was
			d = better
			d.failed = missed
		default:
			d, met, missed = better, len(reasons), ""
		}
		d.back = true
	}
}

// sameFiles is the obstacle that target and run changed the same files; none: it is none.
func sameFiles(target string, files []string) obstacle {
	if len(files) == 0 {
		return obstacle{}
	}
	return obstacle{why: target + " has changed where the run has, too: " + text.Few(files, 5), apart: true}
}

// both are the files of what landed and of its target, as far as they merge; none: the obstacle
// says why.
func (a again) both(c flow.Ctx, in Input) (*land.Files, obstacle, error) {
	at, err := flow.Call(c, land.HeadActivity, contractrun.Path(a.together(), "head"), land.BranchSpec{Run: in.Run})
	switch {
	case err != nil:
		return nil, obstacle{}, err
	case at.Head != a.landed.Commit: // what is on it has not been looked at
		return nil, obstacle{why: "somebody moved the run's branch: it is brought together with " + in.Target + " only after you have seen what is on it, which an approval shows"}, nil
	}
	files, err := flow.Call(c, land.FilesActivity, contractrun.Path(a.together(), "files"), land.FilesSpec{
		Run: in.Run, Contract: a.together(), Base: a.landed.Commit, With: in.Target,
	})
	if err != nil || files.Refused != "" {
		return nil, obstacle{why: files.Refused, mend: files.Mend}, err
	}
	return &files, obstacle{}, nil
}

// together is the id of the contract that brings work together with its target.
func (a again) together() agency.ContractID { return numbered(rebaseContract, a.n) }

// fulfil takes the contract in which it is done again to its landing, or says why it failed
// for good.
func (a again) fulfil(c flow.Ctx, contract agency.Contract, how contractrun.Work) (delivery, error) {
	how.Again, how.After, how.GoesOn = true, a.contract.ID, a.said
	better := delivery{named: true, whole: true, onto: a.onto}
	if a.with != nil {
		contract = a.bothContract(contract)
		how, better.onto = how.Onto(a.landed.Commit, *a.with), a.with.Conflict.Head
	}
	better.contract = contract
	if a.with != nil && len(a.with.Conflicts) == 0 {
		r, err := contractrun.Begin(c, contract, how)
		if err == nil {
			better.landed, better.failed, err = r.Adopt(c, agency.Claim{Contract: contract.ID, Summary: contract.Title, Tree: a.with.Tree}, better.onto)
			better.cause = r.Cause(better.failed)
		}
		better.said = a.said
		return better, err
	}
	r := contractrun.New(contract, how)
	var err error
	better.landed, better.failed, err = r.CreateAndFulfil(c)
	better.cause = r.Cause(better.failed)
	if err == nil && better.failed != "" {
		err = r.GiveUp(c, better.failed)
	}
	better.said, better.stopped = r.Session(), r.Stopped && !r.Denied()
	return better, err
}

// bothContract is the contract in which what landed is brought together with its target.
func (a again) bothContract(first agency.Contract) agency.Contract {
	c := agency.GoneOn(first)
	c.ID, c.Title = a.together(), "Bring both together: "+text.FirstLine(first.GoalAnchor, 80)
	c.Description = "This was done and landed on the run's branch. The branch that it is for has changed meanwhile. Bring both together, so that all holds that either side meant; undo nothing of the other side."
	c.AcceptanceCriteria = append(slices.Clone(first.AcceptanceCriteria), agency.Criterion{ID: "both", Text: "what the branch that it is for has changed meanwhile holds, too"})
	if len(a.with.Conflicts) == 0 {
		c.RetryBudget = 1
	} else {
		a.with.Conflict.Ours = strings.TrimSpace(first.GoalAnchor + "\n" + strings.Join(a.reasons, "\n"))
	}
	return c
}

// reason is why it was sent back last; empty: it was not.
func (a again) reason() string {
	if n := len(a.reasons); n > 0 {
		return a.reasons[n-1]
	}
	return ""
}

// criteria are the reasons for which work was sent back.
func (a again) criteria() (out []agency.Criterion) {
	for i, reason := range a.reasons {
		out = append(out, agency.Criterion{ID: string(numbered("review", i+1)), Text: reason})
	}
	return out
}

// mergeGate is the merge gate and the merge into the target. A merge that cannot
// be done opens the next merge gate, which says why; nothing is touched until
// then. The decision is the one that ended it: a reject is the caller's.
func mergeGate(c flow.Ctx, in Input, of *delivery) (Result, agency.Decision, error) {
	last := of.hindered
	head := of.landed.Commit
	if of.onto != "" { // it was verified as it would be merged
		last.moved = &land.Moved{Target: of.onto, Head: head, Tree: of.landed.Tree}
	}
	for {
		of.asked++
		n := of.asked
		name := fmt.Sprintf("merge-%d", n)
		if of.named {
			name = fmt.Sprintf("merge-%s-%d", of.contract.ID, n)
		}
		spec := effects.MergeGate{
			Run: in.Run, Gate: contractrun.GateID(in.Run, name), Contract: of.contract.ID, Target: in.Target, Land: in.Land,
			Base: cmp.Or(of.onto, in.Base), Head: head, Tree: of.landed.Tree, Problem: last.why, Mend: last.mend, Red: last.red, Untested: in.Untested, Held: last.held,
			Again: of.back, Failed: of.failed, Apart: last.apart,
		}
		if in.Plan != nil {
			spec.Given = planning.Writes(in.Plan.Contracts)
		}
		if last.moved != nil && last.moved.Why != "" {
			spec.Anew = last.moved
		}
		if _, err := flow.Call(c, effects.OpenMergeGate, contractrun.Path("gate", name), spec); err != nil {
			return Result{}, agency.Decision{}, err
		}
		d, err := flow.Receive(c, contractrun.GateSignal(spec.Gate), contractrun.Path("answer", name))
		if err != nil || d.Verb == agency.Reject || d.Rebases() {
			if of.hindered = (obstacle{}); last.apart { // it stays, should what is asked for now fail
				of.hindered = last
			}
			return Result{}, d, err
		}
		if in.Land == agency.LandBranch || d.LeavesOnBranch() {
			if last, err = onBranch(c, in, name); err != nil || last.why == "" {
				return Result{Succeeded: true, Reason: "left on its branch, not merged"}, d, err
			}
			continue
		}
		commit, hindered, err := merge(c, in, name, of.contract.ID, cmp.Or(d.Head, head), last.moved)
		if err != nil || hindered.why == "" {
			return Result{Succeeded: true, Reason: "merged into " + in.Target, Commit: commit}, d, err
		}
		if last = hindered; last.moved != nil && last.moved.Head != "" {
			head = last.moved.Head
		}
	}
}

// onBranch makes sure that the run's branch is where its work is, where that
// is all that is wanted: while somebody has it checked out it stays behind.
func onBranch(c flow.Ctx, in Input, name string) (obstacle, error) {
	b, err := flow.Call(c, land.HeadActivity, contractrun.Path(name, "branch"), land.BranchSpec{Run: in.Run})
	if err != nil || b.Held == "" {
		return obstacle{}, err
	}
	return obstacle{why: b.Held, held: b.Held}, nil
}

// Merge lands a run that ended on its branch.
func Merge(c flow.Ctx, in Input) (Result, error) {
	commit, o, err := merge(c, in, "merge", "", "", nil)
	switch {
	case err != nil:
		return Result{}, err
	case len(o.red) > 0:
		return Result{Reason: fmt.Sprintf("%s: %s; mend %s first, or merge the run's branch with git", o.why, o.red[0], in.Target)}, nil
	case o.why != "":
		return Result{Reason: o.text()}, nil
	}
	return Result{Succeeded: true, Reason: "merged into " + in.Target, Commit: commit}, nil
}

// mergeTries bounds how often a target may move while its merge is verified.
const mergeTries = 5

// merge puts the run's branch into the target. Where the target has moved, the
// merged tree is verified first, unless it stands where a person accepted it.
// What is not as it was shown is shown again: a merge with the same changes as
// before is not. The obstacle says what a person must mend or look at. Without a
// shown head nobody is there to answer a gate.
func merge(c flow.Ctx, in Input, name string, contract agency.ContractID, head agency.OID, accepted *land.Moved) (agency.OID, obstacle, error) {
	spec := land.MergeSpec{Run: in.Run, Target: in.Target, Head: head, Verified: accepted}
	for try := 1; try <= mergeTries; try++ {
		out, err := flow.Call(c, land.MergeActivity, contractrun.Path(name, "into", in.Target, try), spec)
		switch {
		case err != nil:
			return "", obstacle{}, err
		case out.Merged != nil:
			return out.Merged.Commit, obstacle{}, nil
		case out.Moved == nil:
			return "", obstacle{why: out.Reason, mend: out.Mend, apart: out.Refused != nil && out.Refused.Cause == land.CauseConflict}, nil
		case out.Moved.ByHand && head == "":
			return "", obstacle{why: out.Moved.Why, mend: out.Mend}, nil
		}
		// The target moved: what would land there is tested before it does.
		if contract != "" {
			refused, note, err := contractrun.Dependencies{
				In: in.Facts, Contract: contract, Key: contractrun.Path(name, "dependencies", try), Gate: fmt.Sprintf("dependencies-%s-%d", name, try),
				Spec: deps.Spec{Run: in.Run, Contract: contract, Base: out.Moved.Target, Claim: out.Moved.Tree, Commands: in.Commands},
			}.Install(c)
			if err != nil || refused != "" {
				return "", obstacle{why: strings.TrimSpace(refused + " " + note)}, err
			}
		}
		o, err := verifyMoved(c, in, *out.Moved, contractrun.Path(name, "verify", try))
		if why := out.Moved.Why; err == nil && why != "" && head != "" {
			if o.why == "" {
				o.moved = out.Moved
			} else {
				why += "; and " + o.why
			}
			o.why = why
		}
		if err != nil || o.why != "" {
			return "", o, err
		}
		spec.Verified, spec.Head = out.Moved, headOf(spec.Head, *out.Moved)
	}
	return "", obstacle{why: fmt.Sprintf("%s moved %d times while its merge was verified", in.Target, mergeTries)}, nil
}

// headOf is the head that a merge is of once its result is verified; "" stays.
func headOf(was agency.OID, now land.Moved) agency.OID {
	if was == "" {
		return ""
	}
	return now.Head
}

// verifyMoved verifies the merge with a target that has moved. What fails there
// without the run's work as well is no fault of the run; but a person who was
// shown green checks decides whether it is merged into a red target.
func verifyMoved(c flow.Ctx, in Input, moved land.Moved, key string) (obstacle, error) {
	spec := verify.Spec{Run: in.Run, Type: agency.TypeVerify, Base: moved.Target, Claim: moved.Tree, Commands: in.Commands}
	v, err := flow.Call(c, verify.TreeActivity, key, spec)
	switch {
	case err != nil:
		return obstacle{}, err
	case !v.Pass:
		return obstacle{why: fmt.Sprintf("%s has moved on, and the merge of both fails its checks: %s", in.Target, strings.Join(v.Reasons, "; "))}, nil
	}
	spec.Base = in.Base
	v, err = flow.Call(c, verify.TreeActivity, contractrun.Path(key, "since-base"), spec)
	if err != nil || v.Pass {
		return obstacle{}, err
	}
	return obstacle{why: in.Target + " has moved on and fails its own checks, with this work and without it", red: v.Reasons, moved: &moved}, nil
}
