// Package tierlog is the transactions of a tiered run's program: what the tiers published, found
// and decided.
package tierlog

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"agency/internal/agency"
	"agency/internal/artifact"
	"agency/internal/effects"
	"agency/internal/event"
	"agency/internal/flow"
	"agency/internal/registry"
	"agency/internal/reservation"
	"agency/internal/store"
	"agency/internal/text"
)

// Activities performs this package's activities.
type Activities struct {
	db    *store.DB
	fence agency.Fence
}

// New makes the performer of a host's runs; fence is the host's.
func New(db *store.DB, fence agency.Fence) *Activities { return &Activities{db, fence} }

// Bind registers the activities.
func (s *Activities) Bind(r *flow.Registry) {
	effects.BindWrite(r, s.db, s.fence, RecordJoint, recordJoint)
	effects.BindWrite(r, s.db, s.fence, RecordAcceptance, recordAcceptance)
	effects.BindWrite(r, s.db, s.fence, RecordNote, recordNote)
	effects.BindWrite(r, s.db, s.fence, DropLine, dropLine)
	effects.BindWrite(r, s.db, s.fence, RecordSwarm, recordSwarm)
	flow.Bind(r, ReadAmendments, s.readAmendments)
	flow.Bind(r, ReadArtifacts, s.readArtifacts)
	flow.Bind(r, ReadSlices, s.readSlices)
	flow.Bind(r, ReadVerdicts, s.readVerdicts)
}

// ArtifactsOf asks for what a contract of a tiered run has published.
type ArtifactsOf struct {
	Run      agency.RunID      `json:"run"`
	Contract agency.ContractID `json:"contract"`
}

// ReadArtifacts gives what a contract has published, by kind.
var ReadArtifacts = flow.Activity[ArtifactsOf, []agency.Artifact]{Name: "tiers.artifacts"}

func (s *Activities) readArtifacts(ctx context.Context, _ agency.StepKey, in ArtifactsOf) (out []agency.Artifact, err error) {
	err = s.db.Read(ctx, func(q *store.Snapshot) error {
		all, err := artifact.List(q, in.Run, agency.ArtifactKinds()...)
		out = slices.DeleteFunc(all, func(a agency.Artifact) bool { return a.Contract != in.Contract })
		return err
	})
	return out, err
}

// Slices asks what verifiers found of contracts.
type Slices struct {
	Run       agency.RunID        `json:"run"`
	Contracts []agency.ContractID `json:"contracts"`
}

// ReadSlices gives the last verdict on each contract, in their order. What landed passes: its
// verifier or a person let it.
var ReadSlices = flow.Activity[Slices, []agency.SliceVerdict]{Name: "tiers.slices"}

func (s *Activities) readSlices(ctx context.Context, _ agency.StepKey, in Slices) (out []agency.SliceVerdict, err error) {
	err = s.db.Read(ctx, func(q *store.Snapshot) error {
		reviews, err := registry.Reviews(q, in.Run)
		if err != nil {
			return err
		}
		for _, id := range in.Contracts {
			c, err := registry.Contract(q, in.Run, id)
			if err != nil {
				return err
			}
			out = append(out, sliceOf(c, reviews))
		}
		return nil
	})
	return out, err
}

func sliceOf(c agency.Contract, reviews []agency.Review) agency.SliceVerdict {
	v := agency.SliceVerdict{Scope: c.ID, Verdict: agency.VerdictFail, Notes: c.Error}
	if c.Status == agency.StatusComplete {
		v.Verdict = agency.VerdictPass
	}
	for _, r := range slices.Backward(reviews) {
		if r.ContractID != c.ID {
			continue
		}
		v.Verifier, v.Notes = r.Reviewer, cmp.Or(v.Notes, r.Summary)
		for _, i := range r.Issues {
			v.Issues = append(v.Issues, fmt.Sprintf("%s, %s: %s", i.Severity, i.Where(), i.Issue))
		}
		return v
	}
	v.Notes = cmp.Or(v.Notes, "nobody verified it")
	return v
}

// Joint is a squad lead's verdict on its workstream, as it holds.
type Joint struct {
	Run        agency.RunID        `json:"run"`
	Workstream agency.ContractID   `json:"workstream"`
	By         agency.AgentID      `json:"by"`
	Round      int                 `json:"round"`
	Verdict    agency.JointVerdict `json:"verdict"`
}

// RecordJoint tells a joint verdict.
var RecordJoint = flow.Activity[Joint, flow.None]{Name: "tiers.joint"}

func recordJoint(tx *store.Tx, _ agency.StepKey, in Joint) error {
	v := in.Verdict
	severity := agency.SeverityInfo
	if v.Verdict != agency.JointPass {
		severity = agency.SeverityWarning
	}
	said := "joint verdict: " + v.Verdict
	if len(v.FailedScopes) > 0 {
		said += ", to be done again: " + agency.JoinIDs(v.FailedScopes, ", ")
	}
	if v.Reason != "" {
		said += " (" + v.Reason + ")"
	}
	ev := agency.NewEvent(in.Run, severity, said, agency.JointVerdictSubmitted{Round: in.Round, JointVerdict: v})
	ev.ContractID, ev.AgentID, ev.Role, ev.Tier = in.Workstream, in.By, agency.RoleSquadLead, string(agency.TierSquadLead)
	return effects.AppendOnce(tx, ev, func(d *agency.JointVerdictSubmitted) bool { return d.Round == in.Round })
}

// Joints are the joint verdicts of a run, in their order, with the workstreams.
func Joints(q store.Querier, run agency.RunID) (out []Joint, err error) {
	all, err := event.Of[agency.JointVerdictSubmitted](q, event.Filter{Run: run, Types: []agency.EventType{agency.JointVerdictType}})
	for _, told := range all {
		out = append(out, Joint{run, told.ContractID, told.AgentID, told.Detail.Round, told.Detail.JointVerdict})
	}
	return out, err
}

// ReadVerdicts are the joint verdicts of a run as text, the last one of each workstream, and
// which went deeper than planned.
var ReadVerdicts = flow.Activity[agency.RunID, string]{Name: "tiers.verdicts"}

func (s *Activities) readVerdicts(ctx context.Context, _ agency.StepKey, run agency.RunID) (lines string, err error) {
	err = s.db.Read(ctx, func(q *store.Snapshot) error {
		all, err := Joints(q, run)
		for i, j := range all {
			if !slices.ContainsFunc(all[i+1:], func(o Joint) bool { return o.Workstream == j.Workstream }) {
				lines += fmt.Sprintf("- %s: %s. %s\n", j.Workstream, j.Verdict.Verdict, j.Verdict.Summary)
			}
		}
		if err != nil {
			return err
		}
		grown, err := registry.PathAmendments(q, run, "")
		for _, m := range grown {
			lines += fmt.Sprintf("- %s went through %s, too: %s\n", m.Workstream, agency.PathText(m.AddTiers), m.Reason)
		}
		return err
	})
	return lines, err
}

// Judged is what the visionary says of the whole.
type Judged struct {
	Run     agency.RunID      `json:"run"`
	Session agency.SessionID  `json:"session,omitempty"`
	Round   int               `json:"round"`
	Said    agency.Acceptance `json:"said"`
}

// RecordAcceptance tells whether the visionary accepts the run; the words with which it does
// are the report's.
var RecordAcceptance = flow.Activity[Judged, flow.None]{Name: "tiers.accept"}

func recordAcceptance(tx *store.Tx, _ agency.StepKey, in Judged) error {
	severity, said := agency.SeverityInfo, "accepted: "
	if !in.Said.Accepted {
		severity, said = agency.SeverityWarning, "rejected: "
	} else if err := registry.KeepWords(tx, in.Run, agency.ManagerWords{Session: in.Session, Text: in.Said.Summary}); err != nil {
		return err
	}
	ev := agency.NewEvent(in.Run, severity, said+text.FirstLine(in.Said.Summary, 200), agency.AcceptanceSubmitted{Round: in.Round, Acceptance: in.Said})
	ev.Role, ev.Tier, ev.AgentID = agency.RoleVisionary, string(agency.TierVisionary), agency.AgentID(agency.RoleVisionary)
	return effects.AppendOnce(tx, ev, func(d *agency.AcceptanceSubmitted) bool { return d.Round == in.Round })
}

// ReadAmendments gives the amendments of a workstream's path.
var ReadAmendments = flow.Activity[ArtifactsOf, []agency.PathAmendment]{Name: "tiers.amendments"}

func (s *Activities) readAmendments(ctx context.Context, _ agency.StepKey, in ArtifactsOf) (out []agency.PathAmendment, err error) {
	err = s.db.Read(ctx, func(q *store.Snapshot) error {
		out, err = registry.PathAmendments(q, in.Run, in.Contract)
		return err
	})
	return out, err
}

// Note is a line for the log.
type Note struct {
	Run      agency.RunID      `json:"run"`
	Contract agency.ContractID `json:"contract,omitempty"`
	Text     string            `json:"text"`
}

// RecordNote writes a line into the log.
var RecordNote = flow.Activity[Note, flow.None]{Name: "tiers.note"}

func recordNote(tx *store.Tx, _ agency.StepKey, in Note) error {
	ev := agency.NewEvent(in.Run, agency.SeverityInfo, in.Text, agency.Log{})
	ev.ContractID = in.Contract
	old, err := effects.FindEvent(tx, in.Run, in.Contract, ev.Type, func(e agency.Event, _ *agency.Log) bool { return e.Summary == in.Text })
	if err != nil || old != nil {
		return err
	}
	_, err = event.Append(tx, ev)
	return err
}

// Swarm is the tasks of a workstream that begin.
type Swarm struct {
	Run        agency.RunID      `json:"run"`
	Workstream agency.ContractID `json:"workstream"`
	agency.SwarmStarted
}

// RecordSwarm tells that they do, once a round.
var RecordSwarm = flow.Activity[Swarm, flow.None]{Name: "tiers.swarm"}

func recordSwarm(tx *store.Tx, key agency.StepKey, in Swarm) error {
	in.Step = key
	said := agency.Things(len(in.Tasks), "task begins", "tasks begin")
	if n := min(in.Parallel, len(in.Tasks)-in.Waiting); n > 1 {
		said += fmt.Sprintf(", %d at once", n)
	}
	if in.Waiting > 0 {
		said += fmt.Sprintf(", %d after others", in.Waiting)
	}
	ev := agency.NewEvent(in.Run, agency.SeverityInfo, said+": "+text.Head(agency.JoinIDs(in.Tasks, ", "), 200), in.SwarmStarted)
	ev.ContractID, ev.Role, ev.Tier = in.Workstream, agency.RoleImplementer, string(agency.TierImplementer)
	return effects.AppendOnce(tx, ev, func(d *agency.SwarmStarted) bool { return d.Step == key })
}

// DropLine gives back the names that the tasks of a workstream have reserved: what they landed
// on its line was dropped.
var DropLine = flow.Activity[ArtifactsOf, flow.None]{Name: "tiers.drop"}

func dropLine(tx *store.Tx, _ agency.StepKey, in ArtifactsOf) error {
	return reservation.Drop(tx, in.Run, in.Contract)
}
