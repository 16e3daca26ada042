package agency

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"agency/internal/text"
)

// Mode says which agents stand at which arrow of a run (docs/design.md, Modes).
type Mode string

// The modes.
const (
	ModeSingle         Mode = "single"
	ModeContract       Mode = "contract"
	ModeProducerCritic Mode = "producer_critic"
	ModeMultiAgent     Mode = "multi_agent"
	ModeTiered         Mode = "tiered"
	ModeFull           Mode = "full"
	// ModeAgent has an agent answer an input. No configuration names it.
	ModeAgent Mode = "agent"
)

// Built tells whether this version can run a mode.
func (m Mode) Built() bool {
	return m == ModeSingle || m == ModeContract || m == ModeProducerCritic || m == ModeAgent || m.Team()
}

// Team tells whether many contracts are worked on beside each other.
func (m Mode) Team() bool { return m == ModeMultiAgent || m == ModeFull || m == ModeTiered }

// MaxGoal bounds a goal in bytes: what is longer belongs into a file of the
// repository that the goal names.
const MaxGoal = 100_000

// CheckGoal refuses what is no text that a person would have written.
func CheckGoal(goal string) error {
	switch {
	case len(goal) > MaxGoal:
		return Errorf(KindInvalid, "the goal has %d bytes, more than %d", len(goal), MaxGoal).
			WithMend("commit what is long as a file, and name the file in the goal")
	case strings.ContainsRune(goal, 0) || !utf8.ValidString(goal):
		return Errorf(KindInvalid, "the goal is not text: it holds a NUL, or is not UTF-8")
	}
	return nil
}

// RunState is where a run stands.
type RunState string

// The states. Succeeded, failed and cancelled are final.
const (
	StatePlanning    RunState = "planning"
	StateRunning     RunState = "running"
	StateWaiting     RunState = "waiting"
	StatePaused      RunState = "paused"
	StateSucceeded   RunState = "succeeded"
	StateFailed      RunState = "failed"
	StateCancelled   RunState = "cancelled"
	StateInterrupted RunState = "interrupted"
)

// Final tells whether a run in this state can never go on.
func (s RunState) Final() bool {
	return s == StateSucceeded || s == StateFailed || s == StateCancelled
}

// Bad tells whether a run in this state was cut off or ended without success.
func (s RunState) Bad() bool {
	return s == StateFailed || s == StateCancelled || s == StateInterrupted
}

// Has is the state as what has become of a run: "was cancelled", "has failed".
func (s RunState) Has() string {
	switch s {
	case StateSucceeded, StateFailed:
		return "has " + string(s)
	case StateCancelled, StatePaused, StateInterrupted:
		return "was " + string(s)
	}
	return "is " + string(s)
}

// ExitCode is what a command that followed the run to this state returns
// (docs/design.md, Gates): 0 success, 1 no success, 4 the environment, 130 paused.
func (s RunState) ExitCode() int {
	switch s {
	case StateSucceeded:
		return 0
	case StateInterrupted:
		return 4
	case StatePaused:
		return 130
	default:
		return 1
	}
}

// LandMode says what happens to the run's branch at the end.
type LandMode string

// The ways to land.
const (
	LandBranch      LandMode = "branch"
	LandMerge       LandMode = "merge"
	LandPullRequest LandMode = "pull_request"
)

// Run is one execution of a goal against one repository. Everything but State,
// Reason, Merged and the times is fixed when the run starts.
type Run struct {
	ID RunID `json:"id"`
	// Number is unique in the repository, and given when the run is recorded.
	Number int    `json:"number,omitempty"`
	Goal   string `json:"goal"`
	Mode   Mode   `json:"mode"`
	// Feature is the entry of the backlog that the goal is, where it is one.
	Feature *Feature `json:"feature,omitempty"`
	// Follows is the run where this one begins; nil: none.
	Follows *Follows `json:"follows,omitempty"`
	// Agent is who answers the goal, and Answer what came of it, in mode agent.
	Agent  string `json:"agent,omitempty"`
	Answer string `json:"answer,omitempty"`
	// MovedTo is the mode in which it works since it moved; empty: it did not.
	MovedTo Mode     `json:"moved_to,omitempty"`
	State   RunState `json:"state"`
	Reason  string   `json:"reason,omitempty"` // why the state is what it is, for people
	// Failure is why it failed, was interrupted or was cancelled; nil: it was not, or an older
	// build recorded it.
	Failure *Failure `json:"failure,omitempty"`
	// Repo is the working tree's absolute path; agents see their files there.
	Repo   string `json:"repo"`
	Base   OID    `json:"base"`   // commit the run starts from
	Target string `json:"target"` // short name of the branch that the work is for
	Branch string `json:"branch"` // short name of the run's branch: PREFIX/RUN/main
	// Land, Yes and Strict are the wishes of whoever started the run.
	Land   LandMode `json:"land"`
	Yes    bool     `json:"yes,omitempty"`
	Strict bool     `json:"strict,omitempty"`
	Dirty  bool     `json:"include_dirty,omitempty"` // the base contains local edits
	Dry    bool     `json:"dry_run,omitempty"`       // it ends with its plan
	// Crashed is set while it is interrupted because its host had no time to
	// write where it stood.
	Crashed bool `json:"crashed,omitempty"`
	// Version is the build that started the run.
	Version    string    `json:"version"`
	Merged     OID       `json:"merged_commit,omitempty"`
	CreatedAt  time.Time `json:"created_at"`
	FinishedAt time.Time `json:"finished_at,omitzero"`
}

// WorksIn is the mode in which the run works now.
func (r Run) WorksIn() Mode {
	if r.MovedTo != "" {
		return r.MovedTo
	}
	return r.Mode
}

// GateKind says what a gate asks.
type GateKind string

// The kinds of gates.
const (
	GatePlan         GateKind = "plan"
	GateInspection   GateKind = "inspection"
	GateMerge        GateKind = "merge"
	GateBudget       GateKind = "budget"
	GateQuestion     GateKind = "question"
	GateDependencies GateKind = "dependencies"
	GateDanger       GateKind = "danger"
	GateEscalation   GateKind = "escalation"
	GateWeakened     GateKind = "weakened"
	GateFault        GateKind = "fault"
)

// YesAnswers tells whether --yes may answer a gate of this kind.
func (k GateKind) YesAnswers() bool {
	return k == GatePlan || k == GateInspection || k == GateMerge
}

// ranks are how much a gate of a kind holds up: first what may do harm or has stopped the
// whole run, then what an agent cannot go on without, then what is done and waits.
var ranks = map[GateKind]int{
	GateDanger: 0, GateWeakened: 0, GateFault: 0, GateBudget: 1, GateEscalation: 2, GateQuestion: 3,
	GateDependencies: 4, GateMerge: 5, GatePlan: 6, GateInspection: 7,
}

// MoreUrgent compares two gates that wait: what is more urgent comes first, then what
// waits longer. A kind of a newer version comes too early rather than being overlooked.
func MoreUrgent(a GateKind, since time.Time, b GateKind, bSince time.Time) int {
	return cmp.Or(cmp.Compare(ranks[a], ranks[b]), since.Compare(bSince))
}

// Waiting are those of gates that wait, the most urgent first.
func Waiting(gates []Gate) []Gate {
	var out []Gate
	for _, g := range gates {
		if g.Open() {
			out = append(out, g)
		}
	}
	slices.SortStableFunc(out, func(a, b Gate) int { return MoreUrgent(a.Kind, a.CreatedAt, b.Kind, b.CreatedAt) })
	return out
}

// Verb is a gate's decision.
type Verb string

// The decisions. An undecided gate has the empty Verb.
const (
	Approve Verb = "approve"
	Reject  Verb = "reject"
)

// Gate is a place where the run waits for a person. It has one decision; the
// first wins.
type Gate struct {
	ID      GateID   `json:"id"`
	RunID   RunID    `json:"run_id"`
	Kind    GateKind `json:"kind"`
	Summary string   `json:"summary"`        // one line
	Body    string   `json:"body,omitempty"` // what the person needs to decide, as Markdown
	Options []string `json:"options,omitempty"`
	// ContractID names the contract that asked, where one did.
	ContractID ContractID `json:"contract_id,omitempty"`
	// NoYes is set where --yes must not answer although the kind allows it:
	// a merge gate that names weakened tests, or what acts on others' machines.
	NoYes bool `json:"no_yes,omitempty"`
	// Weakened is what approving accepts, each by its name.
	Weakened []Weakening `json:"weakened,omitempty"`
	// Acts are the files of what a merge gate is about that act on others'
	// machines; those that nobody declared are among Weakened, too.
	Acts []Act `json:"acts_elsewhere,omitempty"`
	// Writes are those of the contracts that a plan gate shows: a person who
	// approves it has declared them.
	Writes map[ContractID][]string `json:"writes,omitempty"`
	// Red are the checks that do not pass of what the gate is about.
	Red []Red `json:"red,omitempty"`
	// Review is set where the gate decides whether work lands that a review does
	// not approve of.
	Review bool `json:"review,omitempty"`
	// Approving and Rejecting say what the answers do where the kind alone does
	// not.
	Approving string `json:"approving,omitempty"`
	Rejecting string `json:"rejecting,omitempty"`
	// Grant is what a budget gate asks for that a grant to the run can give.
	Grant *Grant `json:"grant,omitempty"`
	// Base and Head are what the difference that a merge gate shows is between;
	// an approval is of this head alone.
	Base      OID       `json:"base,omitempty"`
	Head      OID       `json:"head,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	Decision  Decision  `json:"decision,omitzero"`
}

// Grant is the limit at which a request did not fit, and what would hold it.
type Grant struct {
	Node  string `json:"node"`  // of the run's budget, such as run; or a limit across runs, such as day 2026-11-24
	Limit string `json:"limit"` // that is reached: usd, tokens or wall
	// Need and NeedTokens are what the request that waits reserves.
	Need       Money `json:"need,omitempty"`
	NeedTokens int64 `json:"need_tokens,omitempty"`
	// EnoughUSD is the smallest limit in dollars that held it when the gate opened.
	EnoughUSD float64 `json:"enough_usd,omitempty"`
	// PlainUSD is the limit in dollars that an approval without a sum sets.
	PlainUSD float64 `json:"plain_usd,omitempty"`
	// Raises says what a plain approval makes of a limit that is not of dollars, which no
	// sum in dollars raises.
	Raises string `json:"raises,omitempty"`
}

// ByYes is who answers a gate where nobody looked at it.
const ByYes = "--yes"

// ByHarness is who closes a gate at which there is nothing to decide any more.
const ByHarness = "the harness"

// Decision is how a gate was answered.
type Decision struct {
	Verb      Verb      `json:"verb"`
	Note      string    `json:"note,omitempty"` // the answer, or the reason of a reject
	BudgetUSD float64   `json:"budget_usd,omitempty"`
	By        string    `json:"by"` // the user's name, ByYes or ByHarness
	At        time.Time `json:"at"`
	// Base and Head are those of the gate that was answered.
	Base OID `json:"base,omitempty"`
	Head OID `json:"head,omitempty"`
}

// Choice is which of the options a person chose at a question, from 0, by its
// words or its number; -1: none of them. An option may be a number itself.
func (d Decision) Choice(options []string) int {
	if i := slices.Index(options, d.Note); i >= 0 {
		return i
	}
	if n, err := strconv.Atoi(strings.TrimSpace(d.Note)); err == nil && n >= 1 && n <= len(options) {
		return n - 1
	}
	return -1
}

// Answer is what a person said at a question, or the option that was chosen.
func (d Decision) Answer(options []string) string {
	if i := d.Choice(options); i >= 0 {
		return options[i]
	}
	if d.Note == "" {
		return "yes"
	}
	return d.Note
}

// LeavesOnBranch tells whether the answer at a merge gate keeps the work on its
// branch although the run was to merge it.
func (d Decision) LeavesOnBranch() bool {
	return strings.EqualFold(strings.TrimSpace(d.Note), "branch")
}

// Rebases tells whether the answer at a merge gate has the work brought together with what
// its target has come to.
func (d Decision) Rebases() bool {
	return d.Verb == Approve && strings.EqualFold(strings.TrimSpace(d.Note), RebaseNote)
}

// RebaseNote is the note of such an answer.
const RebaseNote = "rebase"

// Open tells whether the gate still waits.
func (g Gate) Open() bool { return g.Decision.Verb == "" }

// Following is why a run begins where another one stands.
type Following string

// The closed set of them.
const (
	FollowOn   Following = "continue" // more is wanted
	FollowLand Following = "land"     // what was verified is to be merged, and nothing more
	FollowUndo Following = "undo"     // what was merged is to be taken back
)

// Words say it of the run that follows, and of the one that is followed.
func (f Following) Words() (of, by string) {
	switch f {
	case FollowOn:
		return "goes on from", "goes on from it"
	case FollowLand:
		return "lands what was verified by", "lands what it had verified"
	case FollowUndo:
		return "takes back", "takes it back"
	}
	return string(f), string(f)
}

// Follows is what a run begins with that begins where another one stands. A client names
// Run, What and Contract; all else is the host's to find out, once.
type Follows struct {
	Run  RunID     `json:"run_id"`
	What Following `json:"what"`
	// Contract is up to which its landings count; empty: all.
	Contract ContractID `json:"contract_id,omitempty"`
	Goal     string     `json:"goal,omitempty"`
	State    RunState   `json:"state,omitempty"` // in which it was
	Merged   bool       `json:"merged,omitempty"`
	Undone   bool       `json:"undone,omitempty"` // a person had its merge taken back
	// Base is the commit from which it began, where its work has not been merged, and Dirty
	// says that this holds local edits; empty: the run begins at its target.
	Base  OID  `json:"base,omitempty"`
	Dirty bool `json:"include_dirty,omitempty"`
	// Commit is the landing that is taken over, or the merge that is taken back.
	Commit OID `json:"commit,omitempty"`
	// Rebase has it brought together with its target before anybody is asked.
	Rebase bool `json:"rebase,omitempty"`
	// Planned has what is wanted now planned and done as the run's mode does; else one agent
	// works on it.
	Planned bool `json:"planned,omitempty"`
	// Said is the conversation that brought it about, which goes on where it fits.
	Said SessionID `json:"session_id,omitempty"`
	// Goals are what was wanted before, oldest first, the goal of Run as the last.
	Goals []FormerGoal `json:"goals,omitempty"`
}

// UndoneBy is the run of some that took back what another one of them merged; nil: none
// did, or that was taken back itself, and the work is in the target again.
func UndoneBy(all []Run, of RunID) *Run {
	for _, r := range all {
		if f := r.Follows; f != nil && f.Run == of && f.What == FollowUndo && r.Merged != "" && UndoneBy(all, r.ID) == nil {
			return &r
		}
	}
	return nil
}

// FormerGoal is what was wanted of a run before, and what has become of it.
type FormerGoal struct {
	Run   RunID    `json:"run_id"`
	Goal  string   `json:"goal"` // its beginning, where it is long
	State RunState `json:"state"`
	Now   GoalFate `json:"now"`
	By    RunID    `json:"merged_by,omitempty"` // the run that merged it
	Said  []Word   `json:"said,omitempty"`      // by people, at its gates
}

// GoalFate is what has become of a goal.
type GoalFate string

// The closed set of them.
const (
	GoalOpen   GoalFate = "open"   // nothing of it landed
	GoalLanded GoalFate = "landed" // what was verified of it is taken over
	GoalMerged GoalFate = "merged"
	GoalUndone GoalFate = "undone" // that was merged, and a person had it taken back
)

// Bounds of what is kept of goals before: how many, the first one always, and how much of each.
const (
	mostGoals   = 12
	longestGoal = 4000
	mostSaid    = 10 // at the gates of a run: the last ones
)

// Chain are the goals before, oldest first; of a run that an older build began the last one
// alone is known.
func (f Follows) Chain() []FormerGoal {
	last := FormerGoal{Run: f.Run, State: f.State, Now: f.fate(true), By: f.Run}
	goals := slices.Clone(f.Goals)
	if n := len(goals); n > 0 {
		last, goals = goals[n-1], goals[:n-1]
	}
	last.Goal = f.Goal
	return append(goals, last)
}

// fate is what has become of the goal of its run; landed tells whether anything did of what
// that was asked for itself.
func (f Follows) fate(landed bool) GoalFate {
	switch {
	case f.Undone:
		return GoalUndone
	case f.Merged:
		return GoalMerged
	case f.Commit != "" && landed:
		return GoalLanded
	}
	return GoalOpen
}

// GoalsBefore are the goals before a run that follows a former one of all, oldest first;
// landed tells whether anything did of what the former was asked for itself, said is what people
// said at its gates.
func (f Follows) GoalsBefore(all []Run, former Run, landed bool, said []Word) []FormerGoal {
	said = slices.DeleteFunc(said, func(w Word) bool { return w.Note == "" })
	own := FormerGoal{Run: former.ID, State: former.State, Now: f.fate(landed), Said: said[max(0, len(said)-mostSaid):]}
	if former.Merged != "" {
		own.By = former.ID
	}
	var out []FormerGoal
	if former.Follows != nil {
		out = former.Follows.Chain()
	}
	for i := range out {
		g := &out[i]
		g.Goal = text.Head(g.Goal, longestGoal)
		switch over := f.fate(true); {
		case g.Now == GoalMerged && UndoneBy(all, g.By) != nil:
			g.Now = GoalUndone
		case g.Now == GoalUndone && slices.ContainsFunc(all, func(r Run) bool { return r.ID == g.By }) && UndoneBy(all, g.By) == nil:
			g.Now = GoalMerged
		case g.Now == GoalLanded: // the former had taken it over
			g.Now, g.By = over, own.By
		case g.Now == GoalOpen && former.Follows.What == FollowOn: // the former was to do it, too
			g.Now, g.By = own.Now, own.By
		}
	}
	if n := len(out) + 1 - mostGoals; n > 0 {
		out = slices.Delete(out, 1, 1+n)
	}
	return append(out, own) // its words are in Goal
}
