package agency

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"agency/internal/regexp"
	"agency/internal/text"
)

// Tier is a way of thinking in a tiered run, by its place from the goal down
// (docs/design.md, Tiers).
type Tier string

// The tiers.
const (
	TierVisionary   Tier = "t1"
	TierArchitect   Tier = "t2"
	TierSquadLead   Tier = "t3"
	TierImplementer Tier = "t4"
	TierVerifier    Tier = "t5"
)

// Tier is that of a role; empty for a role of other modes.
func (r RoleID) Tier() Tier {
	if t, _, _ := strings.Cut(string(r), "_"); len(t) == 2 && t[0] == 't' && t[1] >= '1' && t[1] <= '5' {
		return Tier(t)
	}
	return ""
}

// TierPaths are the ways that a workstream may take: how deep depends on the work. No way
// leaves out who implements or who verifies.
func TierPaths() [][]Tier {
	whole := []Tier{TierArchitect, TierSquadLead, TierImplementer, TierVerifier}
	return [][]Tier{whole, whole[1:], whole[2:]}
}

// PathText is a way as people read it.
func PathText(path []Tier) string { return joined(path, " → ") }

func joined[T ~string](of []T, sep string) string {
	words := make([]string, len(of))
	for i, t := range of {
		words[i] = string(t)
	}
	return strings.Join(words, sep)
}

// TierPlan is what the visionary of a tiered run submits: workstreams, each a contract with
// a domain and a way through the tiers, and groups of them, one after the other.
type TierPlan struct {
	Complexity   Complexity
	Workstreams  []Contract // TierPath, Domain and Phase, which is its group, are its author's
	Groups       map[string][]ContractID
	Sequence     []string
	SelfCritique string // what its author found and amended, where it says so
}

// Ordered are the workstreams as contracts of a plan: whoever begins a way has it, and a
// group waits for the one before.
func (p TierPlan) Ordered() []Contract {
	out := slices.Clone(p.Workstreams)
	for i := range out {
		w := &out[i]
		if len(w.TierPath) > 0 {
			w.AssignedRole = RoleSquadLead
			if w.TierPath[0] == TierImplementer {
				w.AssignedRole = RoleImplementer
			}
		}
		if at := slices.Index(p.Sequence, w.Phase); at > 0 {
			w.DependsOn = union(w.DependsOn, p.Groups[p.Sequence[at-1]])
		}
	}
	return out
}

// ValidateTiers names every fault at once of what only a plan of workstreams has; what it
// has in common with other plans is ValidatePlan's on what is Ordered.
func ValidateTiers(p TierPlan) (faults []PlanFault) {
	add := func(id ContractID, format string, args ...any) {
		faults = append(faults, PlanFault{Contract: id, What: fmt.Sprintf(format, args...)})
	}
	if len(p.Workstreams) == 0 {
		add("", "the plan has no workstreams")
	}
	known := map[ContractID]string{}
	for _, w := range p.Workstreams {
		known[w.ID] = w.Phase
		for _, what := range pathFaults(w) {
			add(w.ID, "%s", what)
		}
		switch {
		case w.Phase == "":
			add(w.ID, "has no parallel_group")
		case p.Groups[w.Phase] == nil:
			add(w.ID, "its parallel_group %q is none of parallelism.groups%s", w.Phase, text.Suggestion(w.Phase, slices.Sorted(maps.Keys(p.Groups))))
		case !slices.Contains(p.Groups[w.Phase], w.ID):
			add(w.ID, "parallelism.groups.%s does not name it", w.Phase)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Groups)) {
		for _, id := range p.Groups[name] {
			if group, ok := known[id]; !ok {
				add("", "parallelism.groups.%s names %q, which is no workstream", name, id)
			} else if group != name {
				add(id, "parallelism.groups.%s names it, and its parallel_group is %q", name, group)
			}
		}
		if !slices.Contains(p.Sequence, name) {
			add("", "parallelism.sequence does not name the group %q: it would never start", name)
		}
	}
	seen := map[string]bool{}
	for _, name := range p.Sequence {
		switch {
		case seen[name]:
			add("", "parallelism.sequence is a circle: the group %q comes twice (%s)", name, strings.Join(p.Sequence, " -> "))
		case p.Groups[name] == nil:
			add("", "parallelism.sequence names %q, which is no group", name)
		}
		seen[name] = true
	}
	if _, err := ParseComplexity(string(p.Complexity)); err != nil {
		add("", "complexity: %v", err)
	}
	return faults
}

// TierFacts is what a plan of workstreams says of them all.
type TierFacts struct {
	Complexity   Complexity `json:"complexity"`
	Sequence     []string   `json:"sequence,omitempty"` // of its groups
	SelfCritique string     `json:"self_critique_summary,omitempty"`
	Amended      []string   `json:"amended,omitempty"` // after its author looked for its faults
}

// Steers tells whether a contract of a tiered run is one that the run makes to plan, design
// or judge, beside the workstreams and tasks by which files change.
func (c Contract) Steers() bool {
	return (c.Type == TypeDesign || c.Type == TypeReview) && c.AssignedRole.Tier() != "" && c.AssignedRole != RoleImplementer
}

// SpecialistInput is the input of a workstream that names who designs it.
const SpecialistInput = "t2_specialist"

// Specialist is the talent of who designs a workstream; empty where it names none.
func (c Contract) Specialist() string { return c.Inputs.Text(SpecialistInput) }

// AgainInput names the contract whose work one does once more; AgainAll stands for all that
// landed, of what a person rejected.
const (
	AgainInput = "again"
	AgainAll   = "all that landed"
)

// Reworks is the contract under which stands what this one publishes: that whose proposal it
// changes, which a lead sent back, else itself. What was changed is a version of one thing.
func (c Contract) Reworks() ContractID {
	if c.AssignedRole == RoleArchitect && len(c.Inputs[BriefInput]) > 0 && len(c.DependsOn) == 1 {
		return c.DependsOn[0]
	}
	return c.ID
}

// Redoes tells whether a contract does another's work once more, on top of what landed of it.
func (c Contract) Redoes(id ContractID) bool {
	of := c.Inputs.Text(AgainInput)
	return of != "" && (of == string(id) || of == AgainAll)
}

// TierPrefix begins the ids of the contracts in which architects design.
const TierPrefix = "t2-"

var judgingTierID = regexp.MustCompile(`^accept(-\d+)?$|-verdict(-\d+)?$`)

// JudgesTier tells whether a contract of a tiered run is one in which who leads judges what
// came of a plan, by its id.
func JudgesTier(id ContractID) bool { return judgingTierID.MatchString(string(id)) }

var ownTierID = regexp.MustCompile(`^(accept|replan|rework)(-\d+)?$|^` + TierPrefix + `|-(tasks|verdict|retask|integrate)(-\d+)?$|-r\d+$`)

// longestTierID leaves room for what a run of tiers appends to the id of a workstream or task.
const longestTierID = 48

// OwnTierID tells whether an id is of the form of those that a run of tiers makes itself, or
// leaves no room for them.
func OwnTierID(id ContractID) bool {
	return len(id) > longestTierID || ownTierID.MatchString(string(id))
}

func pathFaults(w Contract) (out []string) {
	for _, t := range w.TierPath {
		if !slices.Contains([]Tier{TierArchitect, TierSquadLead, TierImplementer, TierVerifier}, t) {
			out = append(out, fmt.Sprintf("tier_path names %q, which is none of t2, t3, t4, t5", t))
		}
	}
	if len(out) > 0 {
		return out
	}
	if slices.ContainsFunc(TierPaths(), func(p []Tier) bool { return slices.Equal(p, w.TierPath) }) {
		if w.Domain == "" && w.TierPath[0] != TierImplementer {
			out = append(out, "has no domain")
		}
		return out
	}
	why := ""
	if !slices.Contains(w.TierPath, TierVerifier) {
		why = ": t5 can never be left out"
	}
	return []string{fmt.Sprintf("tier_path is [%s]%s; want %s", joined(w.TierPath, ", "), why, pathsText())}
}

// PlanChanges says what one version of a plan has that the one before had not, a line each
// as in a diff.
func PlanChanges(before, after []Contract) (out []string) {
	find := func(in []Contract, id ContractID) (Contract, bool) {
		i := slices.IndexFunc(in, func(c Contract) bool { return c.ID == id })
		if i < 0 {
			return Contract{}, false
		}
		return in[i], true
	}
	for _, old := range before {
		now, ok := find(after, old.ID)
		if !ok {
			out = append(out, fmt.Sprintf("- %s: %s", old.ID, old.Title))
			continue
		}
		was, is := old.planLines(), now.planLines()
		for _, name := range slices.Sorted(maps.Keys(was)) {
			if was[name] != is[name] {
				out = append(out, fmt.Sprintf("- %s %s: %s", old.ID, name, was[name]), fmt.Sprintf("+ %s %s: %s", old.ID, name, is[name]))
			}
		}
	}
	for _, now := range after {
		if _, ok := find(before, now.ID); !ok {
			out = append(out, fmt.Sprintf("+ %s: %s (%s)", now.ID, now.Title, PathText(now.TierPath)))
		}
	}
	return out
}

// planLines is what a plan says of a contract, on a line each.
func (c Contract) planLines() map[string]string {
	criteria := make([]string, len(c.AcceptanceCriteria))
	for i, cr := range c.AcceptanceCriteria {
		criteria[i] = cr.ID + ": " + cr.Text
	}
	return map[string]string{
		"title": c.Title, "description": text.FirstLine(c.Description, 200), "path": PathText(c.TierPath), "group": c.Phase, "domain": c.Domain,
		"talent": c.Talent, "writes": strings.Join(c.Writes, ", "), "resources": strings.Join(c.Resources, ", "), "depends on": JoinIDs(c.DependsOn, ", "), "criteria": strings.Join(criteria, "; "),
	}
}

// JointVerdict is what a squad lead makes of the verdicts on the slices of a workstream,
// with what the harness allows: work that is red never passes.
type JointVerdict struct {
	Results      []SliceVerdict `json:"t5_results"`
	Verdict      string         `json:"joint_verdict"` // JointPass, JointPartial or JointFail
	FailedScopes []ContractID   `json:"failed_scopes,omitempty"`
	Summary      string         `json:"summary"`
	// Reason is why the harness decided otherwise than the lead.
	Reason string `json:"reason,omitempty"`
}

// The joint verdicts.
const (
	JointPass    = "pass"
	JointPartial = "partial"
	JointFail    = "fail"
)

// SliceVerdict is what a verifier found of one slice.
type SliceVerdict struct {
	Verifier AgentID    `json:"verifier_id"`
	Scope    ContractID `json:"scope"`
	Verdict  string     `json:"verdict"` // pass or fail
	Issues   []string   `json:"issues,omitempty"`
	Notes    string     `json:"notes,omitempty"`
}

// Measured is the joint verdict that holds: receipts win over what its author said. Red are
// the reasons why the whole cannot pass, failed the slices that did not.
func (v JointVerdict) Measured(red []string, failed []ContractID) JointVerdict {
	v.FailedScopes = union(v.FailedScopes, failed)
	switch {
	case v.Verdict == JointPass && len(v.FailedScopes) > 0:
		v.Verdict, v.Reason = JointPartial, "not passed: "+JoinIDs(v.FailedScopes, ", ")
	case v.Verdict == JointPass && len(red) > 0:
		v.Verdict, v.Reason = JointFail, red[0]
	case v.Verdict == JointPartial && len(v.FailedScopes) == 0:
		v.Verdict, v.Reason = JointFail, "no slice is named that failed"
	}
	return v
}

// ArtifactKind is what an artifact says.
type ArtifactKind string

// The kinds of artifacts.
const (
	ArtifactBoundaries   ArtifactKind = "boundaries"         // which domain owns what
	ArtifactAssumptions  ArtifactKind = "shared_assumptions" // that hold for all domains
	ArtifactProposal     ArtifactKind = "proposal"           // the design of a domain
	ArtifactConflicts    ArtifactKind = "conflicts"          // between proposals, with what each domain has to change
	ArtifactArchitecture ArtifactKind = "architecture"       // the canonical one, with the interfaces of each workstream
	ArtifactTasks        ArtifactKind = "task_list"
	ArtifactSummary      ArtifactKind = "summary"
)

// ArtifactKinds are all kinds, in the order in which they come about.
func ArtifactKinds() []ArtifactKind {
	return []ArtifactKind{
		ArtifactBoundaries, ArtifactAssumptions, ArtifactProposal, ArtifactConflicts, ArtifactArchitecture, ArtifactTasks, ArtifactSummary,
	}
}

// Words is the kind as people read it.
func (k ArtifactKind) Words() string { return strings.ReplaceAll(string(k), "_", " ") }

// Publishes are the kinds of artifacts that a role may publish.
func Publishes(role RoleID) []ArtifactKind {
	switch role {
	case RoleLead:
		return []ArtifactKind{ArtifactBoundaries, ArtifactAssumptions, ArtifactConflicts, ArtifactArchitecture, ArtifactSummary}
	case RoleArchitect:
		return []ArtifactKind{ArtifactProposal, ArtifactSummary}
	case RoleSquadLead:
		return []ArtifactKind{ArtifactTasks, ArtifactSummary}
	}
	return nil
}

// MaxArtifact is the most bytes of an artifact.
const MaxArtifact = 64 << 10

// Artifact is what one tier hands to others in words.
type Artifact struct {
	Kind     ArtifactKind `json:"kind"`
	Run      RunID        `json:"run_id"`
	Contract ContractID   `json:"contract_id"` // in which it was published
	By       AgentID      `json:"by"`
	Version  int64        `json:"version"` // 1 is the first
	Content  string       `json:"content"`
	At       time.Time    `json:"at"`
}

// BriefInput is the input that says what has to change of a proposal that was sent back.
const BriefInput = "brief"

// Rework is a brief that sends an architect back to a proposal.
type Rework struct {
	Domain string `json:"domain"`
	Brief  string `json:"brief"`
}

// ReadConflicts reads an artifact of conflicts.
func ReadConflicts(content string) (out []Rework, err error) {
	if err := json.Unmarshal([]byte(content), &out); err != nil {
		return nil, Errorf(KindInvalid, "conflicts want a JSON list of {\"domain\": ..., \"brief\": ...}: %v", err)
	}
	for _, r := range out {
		if strings.TrimSpace(r.Domain) == "" || strings.TrimSpace(r.Brief) == "" {
			return nil, Errorf(KindInvalid, "each conflict names its domain and a brief")
		}
	}
	return out, nil
}

// Acceptance is what a visionary says of a whole that landed, against the goal.
type Acceptance struct {
	Accepted    bool         `json:"accepted"`
	Summary     string       `json:"summary"`
	Workstreams []ContractID `json:"workstreams,omitempty"` // that are not as they should be
}

// The details of the events of tiered runs.
type (
	// JointVerdictSubmitted is the verdict on a workstream that holds.
	JointVerdictSubmitted struct {
		Round int `json:"round"` // from 1: how often the workstream was judged
		JointVerdict
	}
	// AcceptanceSubmitted is what the visionary says of the whole.
	AcceptanceSubmitted struct {
		Round int `json:"round"`
		Acceptance
	}
	// PathAmendment says that a tier found more to do than the plan foresaw: it is told to
	// the tier above and shown at the next gate, and nobody has to approve it.
	PathAmendment struct {
		ProposedBy   AgentID    `json:"proposed_by"`
		Reason       string     `json:"reason"`
		Workstream   ContractID `json:"workstream"`
		AddTiers     []Tier     `json:"add_tiers"`
		InsertBefore Tier       `json:"insert_before"`
	}
	// Published says that a tier has written an artifact, or another version of it.
	Published struct {
		Kind    ArtifactKind `json:"kind"`
		Version int64        `json:"version"` // 1 is the first
	}
	// SwarmStarted says that the tasks of a workstream begin, each as soon as what it depends
	// on has landed.
	SwarmStarted struct {
		Round    int          `json:"round"` // from 1: how often the workstream was begun
		Tasks    []ContractID `json:"tasks"`
		Waiting  int          `json:"waiting"`  // tasks that depend on others of them
		Parallel int          `json:"parallel"` // at work at once at most
		Step     StepKey      `json:"step"`
	}
)

// The types of the events of tiered runs that are looked for.
const (
	JointVerdictType  EventType = "joint_verdict"
	AcceptanceType    EventType = "run_judged"
	PathAmendmentType EventType = "path_amendment"
	PublishedType     EventType = "published"
	SwarmStartedType  EventType = "swarm_started"
)

func (JointVerdictSubmitted) kind() (EventType, Category) {
	return JointVerdictType, CategoryVerification
}

func (AcceptanceSubmitted) kind() (EventType, Category) {
	return AcceptanceType, CategoryVerification
}
func (PathAmendment) kind() (EventType, Category) { return PathAmendmentType, CategoryCoordination }
func (Published) kind() (EventType, Category)     { return PublishedType, CategoryCoordination }
func (SwarmStarted) kind() (EventType, Category)  { return SwarmStartedType, CategoryCoordination }

// Amended is the way of a workstream with tiers that it was not planned to go through. What
// would leave a way that there is not is KindInvalid; it may only grow.
func Amended(path, add []Tier, before Tier) ([]Tier, error) {
	at := slices.Index(path, before)
	if at < 0 {
		return nil, Errorf(KindInvalid, "insert_before is %q, and the path is %s", before, PathText(path))
	}
	want := slices.Insert(slices.Clone(path), at, add...)
	if len(add) == 0 || !slices.ContainsFunc(TierPaths(), func(p []Tier) bool { return slices.Equal(p, want) }) {
		return nil, Errorf(KindInvalid, "%s would be the path; there are %s", PathText(want), pathsText())
	}
	return want, nil
}

// PathWith is a path with what agents found that it needs beside; an amendment that does not
// fit any more changes nothing.
func PathWith(path []Tier, amendments []PathAmendment) []Tier {
	for _, m := range amendments {
		if grown, err := Amended(path, m.AddTiers, m.InsertBefore); err == nil {
			path = grown
		}
	}
	return path
}

func pathsText() string {
	var ways []string
	for _, p := range TierPaths() {
		ways = append(ways, "["+joined(p, ", ")+"]")
	}
	return strings.Join(ways, ", ")
}
