package api

import (
	"encoding/json"
	"time"

	"agency/internal/agency"
)

// Hello is the first thing that both sides say.
type Hello struct {
	Wire  int    `json:"wire"`
	Build Build  `json:"build"`
	PID   int    `json:"pid"`
	Repo  string `json:"repo_id"`
	// CommonDir is the repository's folder as the host found it.
	CommonDir string `json:"common_dir"`
}

// Build says which program this is.
type Build struct {
	Version string    `json:"version"`
	Commit  string    `json:"commit,omitempty"`
	Made    time.Time `json:"made,omitzero"` // when the binary was written
}

// NewerThan tells whether b should take over from an older host: another
// program that was made later.
func (b Build) NewerThan(old Build) bool {
	return !old.Made.IsZero() && b.Made.After(old.Made)
}

// HideRequest names texts that are taken out of whatever is written.
type HideRequest struct {
	Texts []string `json:"texts"`
}

// RunRequest starts a run. Its ID is chosen by the client, so that a request
// whose answer was lost can be made again.
type RunRequest struct {
	ID      agency.RunID    `json:"id"`
	Goal    string          `json:"goal"`
	Feature *agency.Feature `json:"feature,omitempty"` // that the goal is
	// Follows is the run where this one begins, and in which way; nil: none.
	Follows *agency.Follows `json:"follows,omitempty"`
	// Agent is who answers the goal, in mode agent, and Agents all that it comes to, as
	// files say it. NoRepo: Repo holds nothing, and is none of the user's.
	Agent  string          `json:"agent,omitempty"`
	Agents json.RawMessage `json:"agents,omitempty"`
	NoRepo bool            `json:"no_repo,omitempty"`
	Repo   string          `json:"repo"` // the working tree's absolute path
	Mode   agency.Mode     `json:"mode"`
	Target string          `json:"target,omitempty"` // empty: the branch that is checked out
	Land   agency.LandMode `json:"land"`
	Yes    bool            `json:"yes,omitempty"`
	Strict bool            `json:"strict,omitempty"`
	Asks   bool            `json:"asks,omitempty"` // somebody can be asked where the command runs
	// IncludeDirty takes edits of tracked files along, IncludeUntracked new files
	// and folders, relative to Repo.
	IncludeDirty     bool              `json:"include_dirty,omitempty"`
	IncludeUntracked []string          `json:"include_untracked,omitempty"`
	Untested         bool              `json:"untested,omitempty"` // the configuration says that there are no tests
	Dry              bool              `json:"dry_run,omitempty"`  // the run ends with its plan
	Plan             *agency.Plan      `json:"plan,omitempty"`     // in the place of a manager's
	Config           json.RawMessage   `json:"config"`             // resolved, without secrets
	From             Sources           `json:"from"`               // what Config came from
	Env              map[string]string `json:"env"`                // of the caller, what toolchains need
	Secrets          map[string]string `json:"secrets,omitempty"`  // by provider; stay in the host's memory
	By               string            `json:"by"`
	Images           []Image           `json:"images,omitempty"` // that the agents are shown, where their models see
}

// Image is a picture of the user's.
type Image struct {
	Name string `json:"name"` // of its file
	Data []byte `json:"data"`
}

// Sources are what a client made a configuration from, beside the files of the
// user and the repository: with them the host, which reads these files itself,
// must come to the same. They stay in its memory.
type Sources struct {
	Flags    []Setting `json:"flags,omitempty"`
	TeamPath string    `json:"team_path,omitempty"` // as the user named it
	Team     []byte    `json:"team,omitempty"`      // the text of the file that the run is started with
	// Vars are the caller's variables for which the configuration asks. They may
	// hold keys.
	Vars map[string]string `json:"vars,omitempty"`
}

// Setting is one setting of a command line: a dotted key, its value as YAML, and
// the flag as the user wrote it.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Name  string `json:"name"`
}

// RunStarted answers a RunRequest. Notes are for people, one line each.
type RunStarted struct {
	Run   RunDoc   `json:"run"`
	Notes []string `json:"notes,omitempty"`
}

// ResumeRequest makes a paused, waiting or interrupted run go on. Secrets are
// those that the run's copy names.
type ResumeRequest struct {
	Secrets map[string]string `json:"secrets,omitempty"`
	Yes     bool              `json:"yes,omitempty"`
	By      string            `json:"by"`
}

// ModelRequest has a run, or in it Whom, which is a role or a level, ask another model.
// Secrets are the keys of the providers that are asked then.
type ModelRequest struct {
	Whom    string            `json:"whom,omitempty"`
	Name    string            `json:"name"` // as a person names it
	Secrets map[string]string `json:"secrets,omitempty"`
	By      string            `json:"by"`
}

// ModelDoc is what is asked now and what was asked before.
type ModelDoc struct {
	Model  string `json:"model"`
	Before string `json:"before"`
	Note   string `json:"note,omitempty"` // what a person must know of it
}

// ByRequest is a request that needs no more than who asks.
type ByRequest struct {
	By string `json:"by"`
}

// KeepRequest has decisions of a run stand in later runs of the repository, all of the run
// where Keys is empty. With Drop, the keys stand in later runs no more, whichever run they
// are of.
type KeepRequest struct {
	Run  agency.RunID `json:"run,omitempty"`
	Keys []string     `json:"keys,omitempty"`
	Drop bool         `json:"drop,omitempty"`
	By   string       `json:"by"`
}

// AnswerRequest answers a gate; an empty Gate means the only one that waits.
// Secrets let the run go on where the host that ran it is gone.
type AnswerRequest struct {
	Gate      agency.GateID     `json:"gate,omitempty"`
	Verb      agency.Verb       `json:"verb"`
	Note      string            `json:"note,omitempty"`
	BudgetUSD float64           `json:"budget_usd,omitempty"`
	By        string            `json:"by"`
	Secrets   map[string]string `json:"secrets,omitempty"`
	Yes       bool              `json:"yes,omitempty"` // the gates after this one are approved, as ResumeRequest's says
}

// Answered is the gate after its decision. Note says what does not go on by
// itself, for instance because a key is missing.
type Answered struct {
	Gate agency.Gate `json:"gate"`
	Run  RunDoc      `json:"run"`
	Note string      `json:"note,omitempty"`
}

// SaidDoc is a person's message as it was sent. Readers are those who have it in front of
// them of one that was for everyone.
type SaidDoc struct {
	agency.Message
	Readers []agency.AgentID `json:"readers,omitempty"`
}

// FreeRequest has a person free a name that a contract has reserved.
type FreeRequest struct {
	Name string `json:"name"`
	By   string `json:"by,omitempty"`
}

// SayRequest is a person's message into a run. ID is chosen by the client.
type SayRequest struct {
	ID agency.MessageID `json:"id"`
	To string           `json:"to,omitempty"` // an agent's id or role; empty: whoever leads the run
	// InReplyTo is the message that this one answers; empty: the question that the
	// agent waits with, if it waits. Without To it goes to that message's sender.
	InReplyTo agency.MessageID `json:"in_reply_to,omitempty"`
	Text      string           `json:"text"`
	By        string           `json:"by"`
}

// CopyDoc is the configuration that a run keeps; it holds no secret.
type CopyDoc struct {
	Config json.RawMessage `json:"config"`
}

// DrainDoc names the runs that a draining host left for its successor.
type DrainDoc struct {
	Runs []agency.RunID `json:"runs"`
}

// EventQuery selects events. An empty Run means all runs of the repository.
type EventQuery struct {
	Run         agency.RunID
	After       int64 // ids greater than this
	Category    agency.Category
	MinSeverity agency.Severity
	Follow      bool
	// Pace lets a host bring what follows within so long in one piece: whoever draws ten
	// times a second need not be woken for each event. At most MostPace, in whole milliseconds.
	Pace time.Duration
}

// MostPace bounds how long an event may wait for others.
const MostPace = 10 * time.Second
