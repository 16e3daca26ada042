package mode

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/contractrun"
	"agency/internal/effects/tierlog"
	"agency/internal/flow"
	"agency/internal/regexp"
	"agency/internal/report"
	"agency/internal/session"
	"agency/internal/text"
)

// The parts of a design, as the phase of the contract in which each is made.
const (
	boundaries   = "boundaries"
	proposal     = "proposal"
	architecture = "architecture"
	redesign     = "redesign"
)

// designWords say what is to be done in each.
//
//go:embed design.md
var designWords string

// designed is a plan of workstreams with the contracts in which those are designed that go
// through architects: the lead's boundaries, a proposal of each domain, and the canonical
// architecture, before anybody splits the work.
func (r *tiers) designed(plan []agency.Contract) []agency.Contract {
	var deep []agency.Contract
	for _, w := range plan {
		if w.TierPath[0] == agency.TierArchitect {
			deep = append(deep, w)
		}
	}
	if len(deep) == 0 {
		return plan
	}
	id := func(name string) agency.ContractID { return r.free(agency.ContractID(agency.TierPrefix + name)) }
	first := r.designContract(id(boundaries), boundaries, agency.RoleLead, "Boundaries and shared assumptions", deep)
	last := r.designContract(id(architecture), architecture, agency.RoleLead, "The canonical architecture", deep)
	out := []agency.Contract{first}
	for _, domain := range domainsOf(deep) {
		own := slices.DeleteFunc(slices.Clone(deep), func(w agency.Contract) bool { return w.Domain != domain })
		one := r.designContract(id(slug(domain)), proposal, agency.RoleArchitect, "Proposal for "+domain, own)
		one.Domain, one.Talent, one.DependsOn = domain, own[0].Specialist(), []agency.ContractID{first.ID}
		last.DependsOn = append(last.DependsOn, one.ID)
		out = append(out, one)
	}
	out = append(out, last)
	for _, w := range plan {
		if w.TierPath[0] == agency.TierArchitect {
			w.DependsOn = append(slices.Clone(w.DependsOn), last.ID)
		}
		out = append(out, w)
	}
	return out
}

// free is an id that no other contract of the run has, after the one that is wanted.
func (r *tiers) free(want agency.ContractID) agency.ContractID {
	want = agency.ContractID(fmt.Sprintf("%.50s", want)) // with room for what is put behind it
	for n := 1; ; n++ {
		if id := numbered(want, n); r.take(id) {
			return id
		}
	}
}

func domainsOf(plan []agency.Contract) (out []string) {
	for _, w := range plan {
		if !slices.Contains(out, w.Domain) {
			out = append(out, w.Domain)
		}
	}
	return out
}

var notInID = regexp.MustCompile(`[^a-z0-9]+`)

// slug is a domain as a part of an id.
func slug(domain string) string {
	s := strings.Trim(notInID.ReplaceAllString(strings.ToLower(domain), "-"), "-")
	return cmp.Or(s[:min(len(s), 30)], "domain")
}

// designContract is a part of a design, over some workstreams.
func (r *tiers) designContract(id agency.ContractID, phase string, role agency.RoleID, title string, of []agency.Contract) agency.Contract {
	var about string
	for _, part := range strings.Split(designWords, "\n## ")[1:] {
		if name, words, _ := strings.Cut(part, "\n"); name == phase {
			about = strings.TrimSpace(words)
		}
	}
	type stream struct {
		ID       agency.ContractID  `json:"id"`
		Name     string             `json:"name"`
		Domain   string             `json:"domain"`
		Notes    string             `json:"notes"`
		Criteria []agency.Criterion `json:"acceptance_criteria"`
	}
	streams := make([]stream, len(of))
	for i, w := range of {
		streams[i] = stream{w.ID, w.Title, w.Domain, w.Description, w.AcceptanceCriteria}
	}
	doc, err := json.Marshal(streams)
	if err != nil { // of texts
		doc = agency.TextInput(err.Error())
	}
	return r.top.Submitted([]agency.Contract{{
		ID: id, Type: agency.TypeDesign, Phase: phase, AssignedRole: role, Title: text.FirstLine(title, 100), Description: about,
		AcceptanceCriteria: []agency.Criterion{{ID: phase, Text: "published: " + phase + ", from which whoever builds on it needs nothing else"}},
		Inputs:             agency.Inputs{"workstreams": doc}, TierPath: []agency.Tier{agency.TierArchitect},
	}})[0]
}

// wanted are the artifacts without which a part of a design is not done.
func wanted(phase string) []agency.ArtifactKind {
	switch phase {
	case boundaries:
		return []agency.ArtifactKind{agency.ArtifactBoundaries, agency.ArtifactAssumptions}
	case proposal:
		return []agency.ArtifactKind{agency.ArtifactProposal}
	}
	return []agency.ArtifactKind{agency.ArtifactArchitecture}
}

// design takes a part of a design to its end: what it publishes, which a person looks at
// where the run is so configured.
func (r *tiers) design(c flow.Ctx, a *contractrun.Run) (failure string, err error) {
	looked, back := false, sentBack{old: versions{}}
	if a.Contract.Reworks() != a.Contract.ID {
		before, err := published(c, r.in.Run, a, "before")
		if err != nil {
			return "", err
		}
		back.old = versionsOf(before)
	}
	var rejected versions
	for a.Next() {
		if err := a.Advance(c, "start", agency.Started{Agent: a.Agent()}); err != nil {
			return "", err
		}
		out, err := a.Converse(c)
		if err != nil {
			return "", err
		}
		var made []agency.Artifact
		if out.Kind == session.Claimed && a.Contract.Phase == architecture {
			out, err = r.resolve(c, a, out, &back)
		}
		if err == nil && out.Kind == session.Claimed {
			made, err = published(c, r.in.Run, a, "artifacts")
		}
		if err != nil {
			return "", err
		}
		f := session.Feedback{Attempt: a.N, Reason: out.Reason}
		switch missing := missingOf(a.Contract.Phase, made, back.old); {
		case out.Kind == session.Blocked:
			return "blocked: " + out.Reason, nil
		case out.Kind == session.Stopped:
			a.Stopped = true
			return out.Reason, nil
		case out.Kind != session.Claimed:
		case len(missing) > 0:
			f.Reason = "nothing was published as " + strings.Join(missing, " and as ") + back.since(r.in.Tiers.ConflictCycles)
		case rejected != nil && maps.Equal(rejected, versionsOf(made)):
			f.Reason = "nothing was published anew since a person rejected it"
		default:
			note, ask, err := r.inspectDesign(c, a, made)
			if err != nil {
				return "", err
			}
			if !ask {
				return "", a.ClaimComplete(c)
			}
			if looked {
				return "a person rejected it again: " + note, nil
			}
			looked, rejected, f.Reason, f.Note = true, versionsOf(made), "a person rejected it", note
			if err := a.Grant(c); err != nil {
				return "", err
			}
		}
		a.Feedback = f
		if _, err := a.Failed(c, f); err != nil {
			return "", err
		}
	}
	return a.UsedUp(""), nil
}

// published are the artifacts of the contract, or of the one that it reworks.
func published(c flow.Ctx, run agency.RunID, a *contractrun.Run, key string) ([]agency.Artifact, error) {
	return flow.Call(c, tierlog.ReadArtifacts, a.Key(key), tierlog.ArtifactsOf{Run: run, Contract: a.Contract.Reworks()})
}

// versions are those of artifacts of a contract.
type versions map[agency.ArtifactKind]int64

func versionsOf(made []agency.Artifact) versions {
	out := versions{}
	for _, x := range made {
		out[x.Kind] = x.Version
	}
	return out
}

// missingOf are the kinds without which a part of a design is not done, of which nothing is
// newer than what no longer counts.
func missingOf(phase string, made []agency.Artifact, old versions) (out []string) {
	now := versionsOf(made)
	for _, kind := range wanted(phase) {
		if now[kind] <= old[kind] {
			out = append(out, string(kind))
		}
	}
	return out
}

// sentBack is how often proposals were sent back, by which version of the conflicts, and
// the versions that no longer count since: what was published before the proposals changed
// is not made of them.
type sentBack struct {
	times, looks int
	version      int64
	old          versions
}

// since says why what was published may not count.
func (b sentBack) since(most int) string {
	switch {
	case b.times == 0:
		return ""
	case b.times < most:
		return " after the proposals came back"
	}
	return " after the proposals came back; nothing can be sent back any more: decide what is left yourself"
}

// resolve has architects change their proposals as the lead asks, in bounded cycles; the
// lead goes on with what they made of it.
func (r *tiers) resolve(c flow.Ctx, a *contractrun.Run, out session.Outcome, back *sentBack) (session.Outcome, error) {
	for back.times < r.in.Tiers.ConflictCycles {
		back.looks++
		made, err := published(c, r.in.Run, a, fmt.Sprintf("conflicts/%d", back.looks))
		if err != nil {
			return out, err
		}
		i := slices.IndexFunc(made, func(x agency.Artifact) bool { return x.Kind == agency.ArtifactConflicts && x.Version > back.version })
		if i < 0 || out.Kind != session.Claimed {
			return out, nil
		}
		back.version, back.old = made[i].Version, versionsOf(made)
		briefs, err := agency.ReadConflicts(made[i].Content)
		if err != nil { // it was looked at when it was published
			return out, nil
		}
		said := strangers(r.top.Plan, a, briefs)
		if said == "" {
			back.times++
			if said, err = r.sendBack(c, a, briefs, back.times); err != nil {
				return out, err
			}
			said += "Publish the architecture by them, whole: one that was published before does not count. "
		}
		left := "You may send proposals back once more."
		if back.times == r.in.Tiers.ConflictCycles {
			left = "Nothing can be sent back any more: decide what is left yourself, and publish the architecture."
		}
		if out, err = a.GoOn(c, session.Answer{Say: said + left}); err != nil {
			return out, err
		}
	}
	return out, nil
}

// strangers says which conflicts name a domain that no architect has; empty: none. Nothing
// is sent back then, and no cycle is spent.
func strangers(plan []agency.Contract, a *contractrun.Run, briefs []agency.Rework) string {
	var domains, none []string
	for _, w := range plan {
		if w.AssignedRole == agency.RoleArchitect && slices.Contains(a.Contract.DependsOn, w.ID) {
			domains = append(domains, w.Domain)
		}
	}
	for _, b := range briefs {
		if !slices.ContainsFunc(domains, func(d string) bool { return strings.EqualFold(d, b.Domain) }) {
			none = append(none, fmt.Sprintf("%q", b.Domain))
		}
	}
	if len(none) == 0 {
		return ""
	}
	return fmt.Sprintf("Nothing was sent back: no architect has the domain %s; those that have one are of %s. Publish the conflicts anew, or the architecture. ", strings.Join(none, " or "), strings.Join(domains, ", "))
}

// sendBack has the architects of the domains that are named change their proposals, beside
// each other, and says what came of it.
func (r *tiers) sendBack(c flow.Ctx, a *contractrun.Run, briefs []agency.Rework, cycle int) (string, error) {
	var all []flow.Future[flow.None]
	lines := make([]string, len(briefs))
	for i, b := range briefs {
		of := slices.IndexFunc(r.top.Plan, func(w agency.Contract) bool {
			return w.AssignedRole == agency.RoleArchitect && strings.EqualFold(w.Domain, b.Domain) && slices.Contains(a.Contract.DependsOn, w.ID)
		})
		one := r.top.Plan[of]
		one.ID = agency.ContractID(fmt.Sprintf("%s-c%d-%d", one.ID, cycle, i+1))
		one.ParentID, one.DependsOn = a.Contract.ID, []agency.ContractID{r.top.Plan[of].ID}
		one.Title = text.FirstLine("Change of the proposal for "+one.Domain, 100)
		one.Inputs = agency.TextInputs(map[string]string{agency.BriefInput: b.Brief})
		one.Inputs["workstreams"] = r.top.Plan[of].Inputs["workstreams"]
		one.Description += "\n\nThe lead architect sends your proposal back: `inputs.brief` says what has to change, and your proposal as it is stands beside it. Publish it anew, whole."
		all = append(all, flow.Go(c, a.Key("back/"+string(one.ID)), func(c flow.Ctx) error {
			again := contractrun.New(one, r.top.Work())
			if err := again.Create(c); err != nil {
				return err
			}
			failure, err := r.design(c, again)
			if err == nil && failure != "" {
				err = again.GiveUp(c, failure)
			}
			lines[i] = fmt.Sprintf("- %s: published anew", one.Domain)
			if failure != "" {
				lines[i] = fmt.Sprintf("- %s: %s", one.Domain, failure)
			}
			return err
		}))
	}
	for _, f := range all {
		if _, err := f.Get(c); err != nil {
			return "", err
		}
	}
	return "The proposals that you sent back:\n\n" + strings.Join(lines, "\n") + "\n\nread_artifact shows them as they are now. ", nil
}

// inspectDesign has a person look at what was published where the run is so configured; a
// reject comes with a note.
func (r *tiers) inspectDesign(c flow.Ctx, a *contractrun.Run, made []agency.Artifact) (note string, rejected bool, err error) {
	on, next := r.in.Tiers.LeadGate, "architects of the domains make their proposals within these"
	switch a.Contract.Phase {
	case proposal:
		return "", false, nil
	case architecture, redesign:
		on, next = r.in.Tiers.SynthesisGate, "squad leads split the workstreams into tasks by this"
	}
	if !on {
		return "", false, nil
	}
	var b strings.Builder
	for _, x := range made {
		content := x.Content
		if briefs, err := agency.ReadConflicts(content); err == nil && x.Kind == agency.ArtifactConflicts {
			content = "Sent back to the architects; what follows was made of what came back."
			for _, one := range briefs {
				content += fmt.Sprintf("\n- %s: %s", one.Domain, one.Brief)
			}
		}
		fmt.Fprintf(&b, "## %s, version %d\n\n%s\n\n", strings.ReplaceAll(string(x.Kind), "_", " "), x.Version, report.Quote(content))
	}
	fmt.Fprintf(&b, "Next: %s.\n\nApprove to go on; reject with a reason to have it designed again.\n", next)
	d, err := contractrun.Ask(c, agency.Gate{
		ID: contractrun.GateID(r.in.Run, fmt.Sprintf("%s-%d", a.Contract.ID, a.N)), RunID: r.in.Run, Kind: agency.GateInspection, ContractID: a.Contract.ID,
		Summary: text.FirstLine(a.Contract.Title+": "+next, 100), Body: b.String(), Approving: next, Rejecting: "have it designed again; a second time it fails",
	})
	return d.Note, d.Verb == agency.Reject, err
}

// redesign has the lead architect look again at a workstream that its squad could not bring
// to its goal, or found to need a design.
func (s *squad) redesign(c flow.Ctx, why string) error {
	of := s.of.Contract
	one := s.designContract(s.free(agency.ContractID(agency.TierPrefix+"redesign-"+string(of.ID))), redesign, agency.RoleLead, "Design of "+of.Title, []agency.Contract{of})
	one.Domain, one.Talent, one.ParentID = of.Domain, of.Specialist(), of.ID
	one.Inputs["why"] = agency.TextInput(why)
	a := contractrun.New(one, s.top.Work())
	if err := a.Create(c); err != nil {
		return err
	}
	failure, err := s.design(c, a)
	if err == nil && failure != "" {
		s.of.Stopped = a.Stopped
		return a.GiveUp(c, failure)
	}
	return err
}

// path is the way of the squad's workstream with what agents found that it has to go through
// beside what was planned.
func (s *squad) path(c flow.Ctx, path []agency.Tier) ([]agency.Tier, error) {
	s.looks[s.of.Contract.ID]++
	all, err := flow.Call(c, tierlog.ReadAmendments, contractrun.Path("amendments", s.of.Contract.ID, s.looks[s.of.Contract.ID]), tierlog.ArtifactsOf{Run: s.in.Run, Contract: s.of.Contract.ID})
	if err != nil {
		return nil, err
	}
	return agency.PathWith(path, all), nil
}
