// Package brief writes what a session is told before it begins: the first user
// message beside the prompt of its role (roster), and the messages that the
// harness itself adds later. What came from outside stands in a block whose
// marker the text cannot forge.
//
// It reads no file and asks nobody: the caller hands in what there is to tell.
// Which messages a conversation holds, and when, is decided by the runtime (session/native).
package brief

import (
	"embed"
	"strings"
	"text/template"

	"agency/internal/agency"
	"agency/internal/block"
	"agency/internal/roster"
)

//go:embed texts/*.md
var texts embed.FS

// Input is everything that the first message of a session tells.
type Input struct {
	Contract agency.Contract // Attempts is the attempt that begins
	Repo     string          // path at which the agent sees its repository
	Limits   roster.Limits
	Commands []Command
	Overview string // listing of the repository's files
	Guides   []Source
	Skills   string // a line each; empty: there are none
	Feedback *Feedback
	// Review is set for a session that reviews a claim.
	Review *ReviewRequest
	// Kept are the decisions that a person had stand in later runs, in at most KeptRoom
	// bytes of the message, and no more than maxKept bytes.
	Kept     []agency.SharedDecision
	KeptRoom int64
	// Staged are files that were picked for the contract, best first.
	Staged []Staged
	// Reworked are those of them that earlier attempts changed. They stand behind all that
	// the attempts at a contract have in common, which then is one prefix of their requests.
	Reworked []Staged
	// Said are the messages of earlier attempts that still hold.
	Said []agency.Message
	// Standing is set where a conversation goes on in a new epoch.
	Standing *Standing
}

// Command is one of the repository's own commands; Tool runs it.
type Command struct{ Kind, Line, Tool string }

// Source is a text from outside with its name.
type Source struct{ Name, Text string }

// Staged is a file, or parts of one, that was picked for the contract.
type Staged struct {
	Path, Text, Why string
	// Kind is source, tests, apis or examples; Whole tells whether Text is all.
	Kind  string
	Whole bool
}

// Feedback is why an earlier attempt was not enough.
type Feedback struct {
	Attempt int    `json:"attempt"` // that failed
	Reason  string `json:"reason"`
	// Rollback is what the critic or the overseer asks for who says that the way was
	// wrong; empty: nobody does. TakenBack is what came of it and of the run's rule.
	Rollback  agency.Rollback   `json:"rollback,omitempty"`
	TakenBack *agency.TakenBack `json:"taken_back,omitempty"`
	// Learnt is the record that a session before left, which had used up what it may.
	Learnt string `json:"learnt,omitempty"`
	// Note is what a person said about it.
	Note     string           `json:"note,omitempty"`
	Verdict  *agency.Verdict  `json:"verdict,omitempty"`
	Conflict *agency.Conflict `json:"conflict,omitempty"`
	// Lost are lines of the other side of a conflict of which its resolution has
	// no trace.
	Lost []string `json:"lost,omitempty"`
	// Reviews are what critics said of the attempt and nobody has mended yet, the
	// last one last.
	Reviews []agency.Review `json:"reviews,omitempty"`
	// Receipts are those of the verdict; the session fills them in.
	Receipts []agency.Receipt `json:"receipts,omitempty"`
}

// First writes the first message of a session in two parts: what the sessions of a run have
// in common, and what is its own. A provider that keeps prefixes keeps the first for all.
func First(in Input) (common, own string, err error) {
	block, err := in.Contract.Block()
	if err != nil {
		return "", "", err
	}
	view := firstView{Input: in, Block: strings.TrimRight(block, "\n")}
	if common, err = execute("context.md", view); err == nil {
		own, err = execute("first.md", view)
	}
	return common, own, err
}

// execute renders one of the embedded texts.
func execute(name string, view any) (string, error) {
	words, err := texts.ReadFile("texts/" + name)
	if err != nil {
		return "", agency.Errorf(agency.KindInternal, "brief %s: %w", name, err)
	}
	t, err := template.New(name).Option("missingkey=error").
		Funcs(template.FuncMap{"data": block.Data, "line": oneLine, "tail": tail, "failures": failures, "message": message, "review": reviewText, "changes": ChangesText, "join": joinLines}).Parse(string(words))
	if err != nil {
		return "", agency.Errorf(agency.KindInternal, "brief %s: %w", name, err)
	}
	var b strings.Builder
	if err := t.Execute(&b, view); err != nil {
		return "", agency.Errorf(agency.KindInternal, "brief %s: %w", name, err)
	}
	return b.String(), nil
}

func joinLines(lines []string) string { return strings.Join(lines, "\n") }

type firstView struct {
	Input
	Block string
}
