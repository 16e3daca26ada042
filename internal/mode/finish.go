package mode

import (
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

// finish is the merge gate and the merge into the target. A merge that cannot
// be done opens the next merge gate, which says why; nothing is touched until
// then. The decision is the one that ended it: a reject is the caller's.
func finish(c flow.Ctx, in Input, contract agency.Contract, landed land.Landed) (Result, agency.Decision, error) {
	problem := ""
	for n := 1; ; n++ {
		name := fmt.Sprintf("merge-%d", n)
		if contract.ID != "main" && contract.ID != "" {
			name = fmt.Sprintf("merge-%s-%d", contract.ID, n)
		}
		spec := mergeGateSpec{
			Run: in.Run, Gate: gateID(in.Run, name), Contract: contract.ID, Target: in.Target, Land: in.Land,
			Base: in.Base, Head: landed.Commit, Tree: landed.Tree, Problem: problem,
		}
		if _, err := flow.Call(c, openMergeGate, path("gate", name), spec); err != nil {
			return Result{}, agency.Decision{}, err
		}
		d, err := flow.Receive(c, GateSignal(spec.Gate), path("answer", name))
		if err != nil || d.Verb == agency.Reject {
			return Result{}, d, err
		}
		if in.Land == agency.LandBranch || strings.EqualFold(strings.TrimSpace(d.Note), leaveOnBranch) {
			return Result{Succeeded: true, Reason: "landed on its branch"}, d, nil
		}
		commit, why, err := merge(c, in, name, contract.ID)
		if err != nil || why == "" {
			return Result{Succeeded: true, Reason: "merged into " + in.Target, Commit: commit}, d, err
		}
		problem = why
	}
}

// Merge lands a run that ended on its branch.
func Merge(c flow.Ctx, in Input) (Result, error) {
	commit, why, err := merge(c, in, "merge", "")
	if err != nil {
		return Result{}, err
	}
	if why != "" {
		return Result{Reason: why}, nil
	}
	return Result{Succeeded: true, Reason: "merged into " + in.Target, Commit: commit}, nil
}

// mergeTries bounds how often a target may move while its merge is verified.
const mergeTries = 5

// merge puts the run's branch into the target. Where the target has moved, the
// merged tree is verified first. Why says what a person must mend. Without a
// contract nobody is there to answer a gate.
func merge(c flow.Ctx, in Input, name string, contract agency.ContractID) (commit agency.OID, why string, err error) {
	spec := land.MergeSpec{Run: in.Run, Target: in.Target}
	for try := 1; try <= mergeTries; try++ {
		out, err := flow.Call(c, land.MergeActivity, path(name, "into", in.Target, try), spec)
		switch {
		case err != nil:
			return "", "", err
		case out.Merged != nil:
			return out.Merged.Commit, "", nil
		case out.Moved == nil:
			return "", out.Reason, nil
		}
		// The target moved: what would land there is tested before it does.
		if contract != "" {
			refused, note, err := supply{
				in: in, contract: contract, key: path(name, "dependencies", try), gate: fmt.Sprintf("dependencies-%s-%d", name, try),
				spec: deps.Spec{Run: in.Run, Contract: contract, Base: out.Moved.Target, Claim: out.Moved.Tree, Commands: in.Commands},
			}.install(c)
			if err != nil || refused != "" {
				return "", strings.TrimSpace(refused + " " + note), err
			}
		}
		v, err := flow.Call(c, verify.TreeActivity, path(name, "verify", try), verify.Spec{
			Run: in.Run, Type: agency.TypeVerify, Base: out.Moved.Target, Claim: out.Moved.Tree, Commands: in.Commands,
		})
		if err != nil {
			return "", "", err
		}
		if !v.Pass {
			return "", fmt.Sprintf("%s has moved on, and the merge of both fails its checks: %s", in.Target, strings.Join(v.Reasons, "; ")), nil
		}
		spec.Verified = out.Moved
	}
	return "", fmt.Sprintf("%s moved %d times while its merge was verified", in.Target, mergeTries), nil
}
