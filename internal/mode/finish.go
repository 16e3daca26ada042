package mode

import (
	"cmp"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/deps"
	"agency/internal/flow"
	"agency/internal/land"
	"agency/internal/verify"
)

// leaveOnBranch is the answer at a merge gate that keeps the work on its
// branch although the run was to merge it.
const leaveOnBranch = "branch"

// mergeGateSpec is what a merge gate is about.
type mergeGateSpec struct {
	Run      agency.RunID      `json:"run"`
	Gate     agency.GateID     `json:"gate"`
	Contract agency.ContractID `json:"contract"`
	Target   string            `json:"target"`
	Land     agency.LandMode   `json:"land"`
	Base     agency.OID        `json:"base"`
	Head     agency.OID        `json:"head"`
	Problem  string            `json:"problem,omitempty"`
	Mend     string            `json:"mend,omitempty"` // of the problem
	// Tree is what landed; empty in runs of earlier versions.
	Tree agency.OID `json:"tree,omitempty"`
	// Red is what fails in a target that moved, also without this work.
	Red []string `json:"red,omitempty"`
	// Anew is the merge that would be done now, where it is not what was shown
	// before: Problem says why. Its checks pass unless Red is set.
	Anew *land.Moved `json:"anew,omitempty"`
	// Held says why the run's branch is not where its work is.
	Held string `json:"held,omitempty"`
	// Untested is Input's.
	Untested bool `json:"untested,omitempty"`
}

// shows are the commits or trees whose difference the gate shows.
func (s mergeGateSpec) shows() (from, to agency.OID) {
	if s.Anew != nil {
		return s.Anew.Target, s.Anew.Tree
	}
	return s.Base, s.Head
}

// onlyAnew tells whether nothing but a target that moved on is to be looked at:
// --yes answers that as it answered what was shown before. A branch that
// somebody moved is for a person.
func (s mergeGateSpec) onlyAnew() bool {
	return s.Anew != nil && len(s.Red) == 0 && !s.Anew.ByHand
}

// approving is what an approval of the gate does, in a few words.
func (s mergeGateSpec) approving() string {
	switch {
	case len(s.Red) > 0:
		return "merge into the red " + s.Target + "; verified again if it has moved"
	case s.Anew != nil:
		return "merge into " + s.Target + " what is shown now; verified again if it has moved"
	case s.Problem != "":
		return "try the merge again"
	case s.Land == agency.LandBranch:
		return "keep the work on its branch"
	}
	return "merge into " + s.Target
}

// obstacle is why a merge was not done; the zero obstacle is none.
type obstacle struct {
	why, mend string
	// red is what fails in the target, also without the run's work, and moved
	// where it stands: a person may want the merge with it all the same.
	red   []string
	moved *land.Moved
	held  string // why the branch could not be left where the work is
}

// text is the obstacle with how to mend it.
func (o obstacle) text() string {
	if o.mend == "" {
		return o.why
	}
	return o.why + "; mend: " + o.mend
}

// finish is the merge gate and the merge into the target. A merge that cannot
// be done opens the next merge gate, which says why; nothing is touched until
// then. The decision is the one that ended it: a reject is the caller's.
func finish(c flow.Ctx, in Input, contract agency.Contract, landed land.Landed) (Result, agency.Decision, error) {
	var last obstacle
	head := landed.Commit
	for n := 1; ; n++ {
		name := fmt.Sprintf("merge-%d", n)
		if contract.ID != "main" && contract.ID != "" {
			name = fmt.Sprintf("merge-%s-%d", contract.ID, n)
		}
		spec := mergeGateSpec{
			Run: in.Run, Gate: gateID(in.Run, name), Contract: contract.ID, Target: in.Target, Land: in.Land,
			Base: in.Base, Head: head, Tree: landed.Tree, Problem: last.why, Mend: last.mend, Red: last.red, Untested: in.Untested, Held: last.held,
		}
		if last.moved != nil && last.moved.Why != "" {
			spec.Anew = last.moved
		}
		if _, err := flow.Call(c, openMergeGate, path("gate", name), spec); err != nil {
			return Result{}, agency.Decision{}, err
		}
		d, err := flow.Receive(c, GateSignal(spec.Gate), path("answer", name))
		if err != nil || d.Verb == agency.Reject {
			return Result{}, d, err
		}
		if in.Land == agency.LandBranch || strings.EqualFold(strings.TrimSpace(d.Note), leaveOnBranch) {
			if last, err = onBranch(c, in, name); err != nil || last.why == "" {
				return Result{Succeeded: true, Reason: "landed on its branch"}, d, err
			}
			continue
		}
		commit, hindered, err := merge(c, in, name, contract.ID, shown(c, d, head), last.moved)
		if err != nil || hindered.why == "" {
			return Result{Succeeded: true, Reason: "merged into " + in.Target, Commit: commit}, d, err
		}
		if last = hindered; last.moved != nil && last.moved.Head != "" {
			head = last.moved.Head
		}
	}
}

// shown is the head that an approval is of: that of its gate.
func shown(c flow.Ctx, d agency.Decision, head agency.OID) agency.OID {
	if flow.Version(c, "shown-head", 1) < 1 {
		return ""
	}
	return cmp.Or(d.Head, head)
}

// onBranch makes sure that the run's branch is where its work is, where that
// is all that is wanted: while somebody has it checked out it stays behind.
func onBranch(c flow.Ctx, in Input, name string) (obstacle, error) {
	if flow.Version(c, "held-branch", 1) < 1 {
		return obstacle{}, nil
	}
	b, err := flow.Call(c, land.HeadActivity, path(name, "branch"), land.BranchSpec{Run: in.Run})
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
		out, err := flow.Call(c, land.MergeActivity, path(name, "into", in.Target, try), spec)
		switch {
		case err != nil:
			return "", obstacle{}, err
		case out.Merged != nil:
			return out.Merged.Commit, obstacle{}, nil
		case out.Moved == nil:
			return "", obstacle{why: out.Reason, mend: out.Mend}, nil
		case out.Moved.ByHand && head == "":
			return "", obstacle{why: out.Moved.Why, mend: out.Mend}, nil
		}
		// The target moved: what would land there is tested before it does.
		if contract != "" {
			refused, note, err := supply{
				in: in, contract: contract, key: path(name, "dependencies", try), gate: fmt.Sprintf("dependencies-%s-%d", name, try),
				spec: deps.Spec{Run: in.Run, Contract: contract, Base: out.Moved.Target, Claim: out.Moved.Tree, Commands: in.Commands},
			}.install(c)
			if err != nil || refused != "" {
				return "", obstacle{why: strings.TrimSpace(refused + " " + note)}, err
			}
		}
		o, err := verifyMoved(c, in, *out.Moved, path(name, "verify", try))
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
	case flow.Version(c, "red-target", 1) < 1:
		return obstacle{}, nil
	}
	spec.Base = in.Base
	v, err = flow.Call(c, verify.TreeActivity, path(key, "since-base"), spec)
	if err != nil || v.Pass {
		return obstacle{}, err
	}
	return obstacle{why: in.Target + " has moved on and fails its own checks, with this work and without it", red: v.Reasons, moved: &moved}, nil
}
