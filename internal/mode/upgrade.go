package mode

import (
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/contractrun"
	"agency/internal/effects"
	"agency/internal/flow"
	"agency/internal/regexp"
	"agency/internal/text"
)

// The triggers that move a run of mode single up (docs/design.md, Modes).
const (
	onLargeGoal = "feature_size_large"
	onWish      = "manual_request"
)

// OnFailure is the trigger that moves a run up whose claims do not hold.
const OnFailure = "single_agent_failure"

// modeUpgrade is a run's move to another mode at its start; without to there is none.
type modeUpgrade struct {
	trigger, why string
	to           agency.Mode
}

// upgradeOf says to which mode a goal moves a run, by the triggers of the run:
// what is large is decomposed, a wish is followed.
func upgradeOf(in Input) modeUpgrade {
	if slices.Contains(in.Triggers, onWish) {
		if to, words := wishedMode(in.Goal); to != "" {
			return modeUpgrade{onWish, fmt.Sprintf("the goal asks for it: %q", words), to}
		}
	}
	if !slices.Contains(in.Triggers, onLargeGoal) {
		return modeUpgrade{}
	}
	if f := in.Feature; f != nil && f.Size == agency.Large {
		return modeUpgrade{onLargeGoal, fmt.Sprintf("the backlog says that the feature %s is large", f.ID), agency.ModeMultiAgent}
	}
	if files, points := goalSize(in.Goal); agency.DefaultBounds().Complexity(agency.Size{Files: files, Criteria: points}) == agency.Large {
		return modeUpgrade{onLargeGoal, largeGoal(files, points), agency.ModeMultiAgent}
	}
	return modeUpgrade{}
}

// mayMoveUp tells whether a run moves up to a mode; without one it does not. Where somebody can
// be asked, they are told why first, and what another answer than yes comes to.
func mayMoveUp(c flow.Ctx, in Input, key string, to agency.Mode, why, otherwise string) (bool, error) {
	if to == "" || !in.Asks {
		return to != "", nil
	}
	what := "a manager makes a formal contract of it, which is worked on anew"
	if to.Team() || to == agency.ModeTiered {
		what = "a team plans it and works on it"
	}
	d, err := contractrun.Ask(c, agency.Gate{
		ID: contractrun.GateID(in.Run, "escalate-"+key), RunID: in.Run, Kind: agency.GateEscalation,
		Summary: text.FirstLine(fmt.Sprintf("go on in mode %s? %s", to, why), 100),
		Body: fmt.Sprintf("This run was started with one agent alone: %s.\n\nIn mode %s %s. That takes more sessions, some of larger models, within the run's budget.\n\n"+
			"`escalate: auto` in agency.yaml does so unasked, `escalate: never` does not.", text.OneLine(why, text.MostLine), to, what),
		Approving: "go on in mode " + string(to), Rejecting: otherwise,
	})
	return err == nil && d.Verb == agency.Approve, err
}

// begin goes on in the mode to which the run moved.
func (m modeUpgrade) begin(c flow.Ctx, in Input) (Result, error) {
	switch {
	case m.to == agency.ModeTiered:
		return throughTiers(c, in)
	case m.to.Team():
		return split(c, in)
	}
	return formal(c, in, in.alone(m.to == agency.ModeProducerCritic))
}

// MovesUp says to which mode a run of mode single with these triggers would
// move at its start, and why; empty where it would not.
func MovesUp(goal string, f *agency.Feature, triggers []string) (to agency.Mode, why string) {
	m := upgradeOf(Input{Facts: contractrun.Facts{Goal: goal, Feature: f}, Triggers: triggers})
	return m.to, m.why
}

// modeWish is an explicit wish for a mode by its name.
var modeWish = regexp.MustCompile(`(?i)\b(?:in|use|using|with) (?:the )?(?:mode [\x60"']?` + modeName + `\b|[\x60"']?` + modeName + `[\x60"']? mode\b)|--mode[ =]` + modeName + `\b`)

const modeName = `(contract|producer[_-]critic|multi[_-]agent|tiered|full)`

// wishedMode is the mode that a goal asks for, with the words that do.
func wishedMode(goal string) (agency.Mode, string) {
	if m := modeWish.FindStringSubmatch(goal); m != nil {
		name := strings.ReplaceAll(strings.ToLower(m[1]+m[2]+m[3]), "-", "_")
		return agency.Mode(name), m[0]
	}
	if words := wish.FindString(goal); words != "" {
		return agency.ModeContract, words
	}
	return "", ""
}

// wish is an explicit wish for a formal contract. It is narrow: a goal about
// contracts is no wish for one.
var wish = regexp.MustCompile(`(?i)\b(?:in|use|using|with) (?:the )?(?:mode [\x60"']?contract[\x60"']?|[\x60"']?contract[\x60"']? mode)\b|\b(?:write|draft|make) a formal contract (?:first|before)\b|--mode[ =]contract\b`)

var (
	fileName = regexp.MustCompile(`(?:^|[\s(\x60"'])((?:[\w.-]+/)*[\w-]+\.(?:go|py|js|jsx|ts|tsx|mjs|rs|java|kt|rb|php|cs|c|h|cc|cpp|hpp|sh|sql|html|css|scss|vue|svelte|ya?ml|toml|json|md|proto|tf))\b`)
	listItem = regexp.MustCompile(`(?m)^\s*(?:[-*+]|\d+[.)])\s+\S`)
)

// goalSize counts what a goal's words name: files, and things to do as a list.
func goalSize(goal string) (files, points int) {
	names := map[string]bool{}
	for _, m := range fileName.FindAllStringSubmatch(goal, -1) {
		names[m[1]] = true
	}
	return len(names), len(listItem.FindAllString(goal, -1))
}

// recordUpgrade records that a run moves, where to and why.
func recordUpgrade(c flow.Ctx, in Input, key, reason string, to agency.Mode) error {
	_, err := flow.Call(c, effects.RecordModeChange, contractrun.Path("escalated", key), effects.ModeChange{Run: in.Run, To: to, Reason: reason})
	return err
}

func largeGoal(files, points int) string {
	return fmt.Sprintf("the goal is large: it names %s and %s to do", agency.Things(files, "file", "files"), agency.Things(points, "thing", "things"))
}
