package tui

import (
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/api"
)

// Tier is what one tier of a run did: its contracts, what it published, the verdicts that it
// gave, and what it found that the plan did not foresee.
func Tier(st Style, d api.InspectDoc, tier agency.Tier) string {
	var b strings.Builder
	title := fmt.Sprintf("%s  %s\n", st.paint(bold, string(d.ID)), tierName(tier))
	of := about(d)
	for _, c := range d.Contracts {
		if c.Tier == string(tier) {
			b.WriteString(contract(st, d.ID, c, of[c.ID]))
		}
	}
	for _, a := range d.Artifacts {
		if slices.Contains(agency.Publishes(agency.RoleLead), a.Kind) && tier == agency.TierArchitect || a.Kind == agency.ArtifactProposal && tier == agency.TierArchitect ||
			a.Kind == agency.ArtifactTasks && tier == agency.TierSquadLead {
			fmt.Fprintf(&b, "\n%s\n%s\n", st.paint(bold, fmt.Sprintf("%s of %s, version %d, by %s", strings.ReplaceAll(string(a.Kind), "_", " "), a.Contract, a.Version, Line(string(a.By)))),
				indented(strings.TrimSpace(Clean(a.Content)), "  "+quote))
		}
	}
	b.WriteString(landings(st, slices.DeleteFunc(slices.Clone(d.Landings), func(l api.LandingDoc) bool {
		return !slices.ContainsFunc(d.Contracts, func(c api.ContractDoc) bool { return c.ID == l.Contract && c.Tier == string(tier) })
	})))
	switch tier {
	case agency.TierSquadLead:
		b.WriteString(joints(st, d.Joints))
	case agency.TierVerifier:
		b.WriteString(sliceVerdicts(st, d.Reviews))
	case agency.TierVisionary:
		for _, a := range d.Acceptances {
			word := "rejected"
			if a.Accepted {
				word = "accepted"
			}
			fmt.Fprintf(&b, "\n%s\n%s\n", st.paint(bold, word), indented(strings.TrimSpace(Clean(a.Summary)), "  "+quote))
		}
	}
	b.WriteString(amendments(st, d.Amendments, tier))
	switch {
	case b.Len() > 0:
	case d.Mode == agency.ModeTiered:
		b.WriteString("  nothing yet, or no workstream has this tier on its path\n")
	default:
		b.WriteString("  nothing: a run of mode " + string(d.Mode) + " has no tiers\n")
	}
	return title + b.String()
}

func tierName(t agency.Tier) string {
	return map[agency.Tier]string{
		agency.TierVisionary: "T1, the visionary", agency.TierArchitect: "T2, architects", agency.TierSquadLead: "T3, squad leads",
		agency.TierImplementer: "T4, implementers", agency.TierVerifier: "T5, verifiers",
	}[t]
}

func joints(st Style, all []api.JointDoc) string {
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n", st.paint(bold, "Joint verdicts:"))
	for _, j := range all {
		color := green
		if j.Verdict != agency.JointPass {
			color = yellow
		}
		fmt.Fprintf(&b, "  %s: %s", j.Workstream, st.paint(color, Line(j.Verdict)))
		if len(j.FailedScopes) > 0 {
			fmt.Fprintf(&b, ", to be done again: %s", agency.JoinIDs(j.FailedScopes, ", "))
		}
		fmt.Fprintf(&b, ": %s\n", Line(j.Summary))
		if j.Reason != "" {
			fmt.Fprintf(&b, "    the harness: %s\n", Line(j.Reason))
		}
		for _, r := range j.Results {
			fmt.Fprintf(&b, "    %s  %s  %s\n", r.Scope, Line(r.Verdict), Line(r.Notes))
		}
	}
	return b.String()
}

func sliceVerdicts(st Style, all []agency.Review) string {
	var b strings.Builder
	for _, r := range all {
		if r.Role != agency.RoleVerifier {
			continue
		}
		word, color := agency.VerdictPass, green
		if r.Verdict != agency.ReviewApprove {
			word, color = agency.VerdictFail, yellow
		}
		fmt.Fprintf(&b, "\n%s, attempt %d, round %d: %s: %s\n", r.ContractID, r.Attempt, r.Iteration, st.paint(color, word), Line(r.Summary))
		for _, i := range r.Issues {
			fmt.Fprintf(&b, "  %s, %s: %s\n", i.Severity, Line(i.Where()), Line(i.Issue))
		}
	}
	return b.String()
}

// amendments are those that agents of a tier found; of no tier, all.
func amendments(st Style, all []agency.PathAmendment, tier agency.Tier) string {
	var b strings.Builder
	for _, m := range all {
		role, _, _ := strings.Cut(string(m.ProposedBy), "-")
		if tier != "" && agency.RoleID(role).Tier() != tier {
			continue
		}
		fmt.Fprintf(&b, "  %s: %s before %s, by %s: %s\n", m.Workstream, agency.PathText(m.AddTiers), m.InsertBefore, Line(string(m.ProposedBy)), Line(m.Reason))
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n" + st.paint(bold, "Deeper than planned:") + "\n" + b.String()
}

// step is what an event of a role means in a tiered run.
type step struct {
	event agency.EventType
	role  agency.RoleID
}

// codes are the steps of tiered runs in one word each, for the eye on a terminal (docs/cli.md, agency watch).
var codes = map[step]string{
	{"spawned", agency.RoleVisionary}: "PLAN_START", {"plan_submitted", agency.RoleVisionary}: "PLAN_DONE", {"run_judged", agency.RoleVisionary}: "ACCEPT",
	{"spawned", agency.RoleLead}: "LEAD_START", {"completed", agency.RoleLead}: "LEAD_DONE",
	{"spawned", agency.RoleArchitect}: "SPEC_START", {"completed", agency.RoleArchitect}: "SPEC_DONE",
	{"spawned", agency.RoleSquadLead}: "MESH_START", {"plan_submitted", agency.RoleSquadLead}: "MESH_DONE", {"joint_verdict", agency.RoleSquadLead}: "VERDICT",
	{agency.SwarmStartedType, agency.RoleImplementer}: "SWARM_START",
	{"spawned", agency.RoleImplementer}:               "START", {"completed", agency.RoleImplementer}: "DONE", {"failed", agency.RoleImplementer}: "FAIL", {"retried", agency.RoleImplementer}: "RETRY",
	{"spawned", agency.RoleVerifier}: "VERIFY_START", {"review_submitted", agency.RoleVerifier}: "VERDICT",
}

// word is what an event is called: on a terminal a step of a tiered run by its code. What
// programs read has the event's type.
func (l *Log) word(ev agency.Event) string {
	code := codes[step{ev.Type, ev.Role}]
	if ev.Type == agency.PublishedType && ev.Role == agency.RoleLead {
		code = published(ev)
	}
	if code != "" && l.width() > 0 && named(ev) {
		return code
	}
	if ev.Type == "merged" && ev.ContractID != "" && l.width() > 0 { // into the run's branch; the user's is merged into once, at the end
		return "integrated"
	}
	return string(ev.Type)
}

// published is the code of what a lead published, where it ends a step of the design.
func published(ev agency.Event) string {
	d, err := agency.DecodeDetail(ev)
	if p, ok := d.(*agency.Published); ok && err == nil {
		switch p.Kind {
		case agency.ArtifactBoundaries:
			return "BOUNDS_READY"
		case agency.ArtifactArchitecture:
			return "SYNTH_DONE"
		}
	}
	return ""
}

// named tells whether an event is the step that its code names: a leader that begins to
// judge begins no plan, and a session that ends is no contract that is done.
func named(ev agency.Event) bool {
	switch ev.Type {
	case "spawned":
		return !agency.JudgesTier(ev.ContractID)
	case "completed":
		d, err := agency.DecodeDetail(ev)
		c, ok := d.(*agency.Completed)
		return err == nil && ok && c.Session == ""
	}
	return true
}
