package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"agency/internal/agency"
	"agency/internal/artifact"
	"agency/internal/check"
	"agency/internal/decision"
	"agency/internal/event"
	"agency/internal/registry"
	"agency/internal/reservation"
	"agency/internal/roster"
	"agency/internal/store"
	"agency/internal/text"
	"agency/internal/tool"
	"agency/internal/verdicts"
)

// Env is what a call of the turn may reach.
func (t *Effects) Env(idx int) *tool.Env {
	criteria := make([]string, len(t.Criteria))
	for i, c := range t.Criteria {
		criteria[i] = c.ID
	}
	return &tool.Env{
		Files: t.Tools.Files, Checks: t.Tools.Checks, History: t.Tools.History,
		Checkpoints: checkpoints{t.Tools.Tree, fmt.Sprintf("cp-%d-%d-%d", t.Spec.Attempt, t.N, idx+1)},
		Commands:    commands{t.Tools.Commands, t.Tools.Background, fmt.Sprintf("bg-%d-%d", t.N, idx+1)},
		Task:        tool.Task{Contract: t.Spec.Contract, Criteria: criteria, Limits: tool.ChangeLimits{Files: t.Rules.MaxFiles, Lines: t.Rules.MaxLines}},
		Mail:        letters{t.Mail, t.N, idx},
		Decisions:   decisions{t.Member, t.N, idx},
		Names:       reservations{t.Member},
		Artifacts:   artifacts{decisions{t.Member, t.N, idx}},
		Redact:      t.DB.Redact,
		Records:     t.Member,
		Pages:       t.Tools.Pages,
		Team:        members{t.Member, t.Noted},
	}
}

// checkpoints gives a call's checkpoint the same id when the call runs again.
type checkpoints struct {
	tree Tree
	id   string
}

func (p checkpoints) Create(ctx context.Context, label string) (tool.Checkpoint, error) {
	return p.tree.Checkpoint(ctx, p.id, label)
}

func (p checkpoints) Rollback(ctx context.Context, id string) (tool.Checkpoint, error) {
	return p.tree.Rollback(ctx, id)
}

// Progress tells the backlog's tools what has become of a feature in the run.
func (m *Member) Progress(ctx context.Context, id agency.FeatureID) (out []tool.TeamContract, err error) {
	err = m.DB.Read(ctx, func(q *store.Snapshot) error {
		contracts, err := registry.Contracts(q, m.Spec.Run)
		if err != nil {
			return err
		}
		verdicts, err := verdicts.All(q, m.Spec.Run)
		if err != nil {
			return err
		}
		for _, c := range contracts {
			if c.FeatureID != id || c.Status == agency.StatusCancelled {
				continue
			}
			one := tool.TeamContract{Contract: c}
			for _, v := range verdicts {
				if v.ContractID == c.ID && v.Pass {
					one.Proofs = v.Proofs
				}
			}
			out = append(out, one)
		}
		return nil
	})
	return out, err
}

// team are the contracts of those whom the agent leads.
func (m *Member) team(ctx context.Context) ([]agency.Contract, error) {
	all, err := store.Get(ctx, m.DB, registry.Contracts, m.Spec.Run)
	return roster.Team(all, m.Spec.Contract), err
}

// members tells the tools how the work on contracts stands.
type members struct {
	*Member
	drafts []agency.Contract
}

func (m members) Contracts(ctx context.Context) ([]tool.TeamContract, error) {
	started, err := m.team(ctx)
	if err != nil {
		return nil, err
	}
	var out []tool.TeamContract
	for _, s := range started {
		out = append(out, tool.TeamContract{Contract: s, Agent: agency.MemberID(s.AssignedRole, s.ID)})
	}
	for _, d := range m.drafts {
		out = append(out, tool.TeamContract{Contract: d, Noted: true})
	}
	return out, nil
}

func (m members) Contract(ctx context.Context, id agency.ContractID) (out tool.TeamContract, err error) {
	all, err := m.Contracts(ctx)
	if err != nil {
		return out, err
	}
	at := slices.IndexFunc(all, func(o tool.TeamContract) bool { return o.ID == id })
	if at < 0 {
		contracts := make([]agency.Contract, len(all))
		for i, o := range all {
			contracts[i] = o.Contract
		}
		return out, agency.Errorf(agency.KindNotFound, "there is no contract %q; noted or started are: %s", text.Head(string(id), 80), contractNames(contracts))
	}
	out = all[at]
	if out.Noted {
		return out, nil
	}
	return out, m.DB.Read(ctx, func(q *store.Snapshot) error { return measure(q, m.Spec.Run, &out) })
}

// measure adds what the records show of the work on a contract.
func measure(q *store.Snapshot, run agency.RunID, c *tool.TeamContract) error {
	verdicts, err := verdicts.All(q, run)
	if err != nil {
		return err
	}
	var passed agency.Verdict
	for _, v := range verdicts {
		if v.ContractID == c.ID {
			c.Verdict = &v
			if v.Pass {
				passed = v
			}
		}
	}
	receipts, err := check.Receipts(q, run)
	if err != nil {
		return err
	}
	c.Receipts = LatestReceipts(receipts, c.ID)
	reviews, err := registry.Reviews(q, run)
	if err != nil {
		return err
	}
	if c.Proofs = passed.Proofs; !passed.Pass { // a review has none: nothing of it was to be verified
		c.Proofs = agency.ProveWithoutVerdict(c.Contract, reviews)
	}
	for _, r := range reviews {
		if r.ContractID != c.ID {
			continue
		}
		c.Reviews = append(c.Reviews, r)
		if passed.Pass && r.Tree == passed.Tree {
			c.Proofs = agency.ProveByReview(c.Proofs, r)
		}
	}
	return nil
}

// Planned is the plan of a manager as it stands, a line a contract.
func (m *Member) Planned(ctx context.Context, n Notes) (out []string, err error) {
	if !m.Spec.Leads && len(n.Drafts) == 0 {
		return nil, nil
	}
	all, err := members{m, n.Drafts}.Contracts(ctx)
	for _, o := range all {
		if o.Noted || m.Spec.Leads {
			out = append(out, o.Stands())
		}
	}
	return text.FewOf(out, maxPlanned), err
}

// maxPlanned is how many contracts of a plan a new epoch names.
const maxPlanned = 200

// maxReceipts is how many commands are named with their last result.
const maxReceipts = 12

// LatestReceipts is the last receipt of each command that ran for a contract, oldest
// first.
func LatestReceipts(all []agency.Receipt, contract agency.ContractID) []agency.Receipt {
	var out []agency.Receipt
	for _, r := range all {
		if r.ContractID != contract || check.Stage(r.Stage).Trial() {
			continue
		}
		out = slices.DeleteFunc(out, func(o agency.Receipt) bool { return o.Kind == r.Kind && o.Command == r.Command })
		out = append(out, r)
	}
	return out[max(0, len(out)-maxReceipts):]
}

// decisions are those of the session's run, as a call of a tool takes and reads them.
type decisions struct {
	*Member
	turn, idx int // of the call
}

// Note is the decision of the call, which is the same one when the call runs again.
func (d decisions) Note(ctx context.Context, want agency.SharedDecision) (now agency.SharedDecision, told []agency.AgentID, err error) {
	want.Run, want.Contract, want.By = d.Spec.Run, d.Spec.Contract, d.Spec.Agent
	err = d.Write(ctx, func(tx *store.Tx) (err error) {
		now, told, err = decision.Note(tx, want, string(d.messageID(string(d.Spec.Agent), d.turn, d.idx)))
		return err
	})
	if taken := (*decision.Taken)(nil); errors.As(err, &taken) {
		return taken.Now, nil, err
	}
	return now, told, err
}

// List are the decisions that hold in the run, kept ones too, whose keys begin with a text.
func (d decisions) List(ctx context.Context, begins string) (out []agency.SharedDecision, err error) {
	err = d.DB.Read(ctx, func(q *store.Snapshot) error {
		out, err = decision.InForce(q, d.Spec.Run, begins)
		return err
	})
	return out, err
}

// reservations are the names of the session's run, as a call of a tool takes them for its contract.
type reservations struct{ *Member }

// Reserve gives the session's contract a name, the same one when the call runs again.
func (n reservations) Reserve(ctx context.Context, want agency.Reservation) (now agency.Reservation, got bool, err error) {
	want.Run, want.Contract, want.By = n.Spec.Run, n.Spec.Contract, n.Spec.Agent
	err = n.Write(ctx, func(tx *store.Tx) (err error) {
		now, got, err = reservation.Reserve(tx, want)
		return err
	})
	return now, got, err
}

// Release gives a name of the session's contract back.
func (n reservations) Release(ctx context.Context, name string) (given bool, err error) {
	err = n.Write(ctx, func(tx *store.Tx) (err error) {
		given, err = reservation.Release(tx, n.Spec.Run, n.Spec.Contract, name)
		return err
	})
	return given, err
}

// artifacts are those of the session's run, as a call of a tool writes and reads them.
type artifacts struct{ call decisions }

// Publish writes one of the session's contract, which is the same when the call runs again.
func (a artifacts) Publish(ctx context.Context, kind agency.ArtifactKind, content string) (now agency.Artifact, err error) {
	d := a.call
	may := agency.Publishes(d.Spec.Role)
	if !slices.Contains(may, kind) {
		return now, agency.Errorf(agency.KindDenied, "a %s publishes no %q; it publishes %s", roster.Name(d.Spec.Role), kind, tool.Joined(may, ", "))
	}
	err = d.Write(ctx, func(tx *store.Tx) (err error) {
		c, err := registry.Contract(tx, d.Spec.Run, d.Spec.Contract)
		if err != nil {
			return err
		}
		now, err = artifact.Publish(tx, agency.Artifact{
			Kind: kind, Run: d.Spec.Run, Contract: c.Reworks(), By: d.Spec.Agent, Content: string(d.DB.Redact([]byte(content))),
		}, d.Spec.Role, string(d.messageID(string(d.Spec.Agent)+"/artifact", d.turn, d.idx)))
		return err
	})
	return now, err
}

// Read are the artifacts of a kind.
func (a artifacts) Read(ctx context.Context, kind agency.ArtifactKind) (out []agency.Artifact, err error) {
	err = a.call.DB.Read(ctx, func(q *store.Snapshot) error {
		out, err = artifact.List(q, a.call.Spec.Run, kind)
		return err
	})
	return out, err
}

// Amend adds tiers to the path of the workstream that the session's work is a part of; of a
// designer to any.
func (a artifacts) Amend(ctx context.Context, m agency.PathAmendment) (path []agency.Tier, err error) {
	d := a.call
	m.ProposedBy = d.Spec.Agent
	err = d.Write(ctx, func(tx *store.Tx) error {
		w, err := registry.Contract(tx, d.Spec.Run, m.Workstream)
		if agency.KindOf(err) == agency.KindNotFound || err == nil && (len(w.TierPath) < 2 || w.Type == agency.TypeDesign) {
			return agency.Errorf(agency.KindNotFound, "%q is no workstream of this run", text.Head(string(m.Workstream), 80))
		}
		if err != nil {
			return err
		}
		own, err := registry.Contract(tx, d.Spec.Run, d.Spec.Contract)
		if err != nil {
			return err
		}
		if d.Spec.Role.Tier() != agency.TierArchitect && own.ID != w.ID && own.ParentID != w.ID {
			return agency.Errorf(agency.KindDenied, "%s is not the workstream that you work on", w.ID)
		}
		before, err := registry.PathAmendments(tx, d.Spec.Run, w.ID)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(before, func(one agency.PathAmendment) bool {
			return one.ProposedBy == m.ProposedBy && one.Reason == m.Reason && one.InsertBefore == m.InsertBefore
		}); i >= 0 { // the same call once more
			path = agency.PathWith(w.TierPath, before[:i+1])
			return nil
		}
		if path, err = agency.Amended(agency.PathWith(w.TierPath, before), m.AddTiers, m.InsertBefore); err != nil {
			return err
		}
		ev := agency.NewEvent(d.Spec.Run, agency.SeverityWarning, fmt.Sprintf("%s goes through %s: %s", w.ID, agency.PathText(path), text.FirstLine(m.Reason, 150)), m)
		ev.AgentID, ev.Role, ev.Tier, ev.ContractID = d.Spec.Agent, d.Spec.Role, d.Spec.Tier, w.ID
		_, err = event.Append(tx, ev)
		return err
	})
	return path, err
}
