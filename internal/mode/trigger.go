package mode

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/flow"
	"agency/internal/registry"
	"agency/internal/store"
)

// The triggers that move a run of mode single up (DESIGN 9).
const (
	onLargeGoal = "feature_size_large"
	onWish      = "manual_request"
	onFailure   = OnFailure
)

// OnFailure is the trigger that moves a run up whose claims do not hold.
const OnFailure = "single_agent_failure"

// ascent is a run's move to another mode at its start; without to there is none.
type ascent struct {
	trigger, why string
	to           agency.Mode
}

// movesUp says to which mode a goal moves a run, by the triggers of the run:
// what is large is decomposed, a wish is followed (R4, migration: contracts
// first, then a critic, and a team where tasks are complex).
func movesUp(in Input) ascent {
	if slices.Contains(in.Triggers, onWish) {
		if to, words := wishedMode(in.Goal); to != "" {
			return ascent{onWish, fmt.Sprintf("the goal asks for it: %q", words), to}
		}
	}
	if !slices.Contains(in.Triggers, onLargeGoal) {
		return ascent{}
	}
	if f := in.Feature; f != nil && f.Size == agency.Large {
		return ascent{onLargeGoal, fmt.Sprintf("the backlog says that the feature %s is large", f.ID), agency.ModeMultiAgent}
	}
	if files, points := goalSize(in.Goal); agency.DefaultBounds().Complexity(agency.Size{Files: files, Criteria: points}) == agency.Large {
		return ascent{onLargeGoal, largeGoal(files, points), agency.ModeMultiAgent}
	}
	return ascent{}
}

// begin goes on in the mode to which the run moved.
func (m ascent) begin(c flow.Ctx, in Input) (Result, error) {
	switch {
	case m.to.Team():
		return split(c, in)
	case m.to == agency.ModeProducerCritic:
		return formal(c, in, workOn{reviewed: true})
	}
	return formal(c, in, workOn{})
}

// MovesUp says to which mode a run of mode single with these triggers would
// move at its start, and why; empty where it would not.
func MovesUp(goal string, f *agency.Feature, triggers []string) (to agency.Mode, why string) {
	m := movesUp(Input{Goal: goal, Feature: f, Triggers: triggers})
	return m.to, m.why
}

// modeWish is an explicit wish for a mode by its name.
var modeWish = regexp.MustCompile(`(?i)\b(?:in|use|using|with) (?:the )?(?:mode [\x60"']?(contract|producer[_-]critic|multi[_-]agent|full)\b|[\x60"']?(contract|producer[_-]critic|multi[_-]agent)[\x60"']? mode\b)|--mode[ =](contract|producer[_-]critic|multi[_-]agent|full)\b`)

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

// moveUp is movesUp of earlier builds, which knew one mode to move to: runs
// that they began keep to it.
func moveUp(in Input) (trigger, why string) {
	if slices.Contains(in.Triggers, onWish) {
		if words := wish.FindString(in.Goal); words != "" {
			return onWish, fmt.Sprintf("the goal asks for it: %q", words)
		}
	}
	if slices.Contains(in.Triggers, onLargeGoal) {
		if files, points := goalSize(in.Goal); agency.DefaultBounds().Complexity(agency.Size{Files: files, Criteria: points}) == agency.Large {
			return onLargeGoal, largeGoal(files, points)
		}
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

// escalation is one move of a run, for its log.
type escalation struct {
	Run    agency.RunID `json:"run"`
	Reason string       `json:"reason"`
}

var noteEscalation = flow.Activity[escalation, flow.None]{Name: "mode.escalated"}

// move is a run's change of mode, for its record.
type move struct {
	Run agency.RunID `json:"run"`
	To  agency.Mode  `json:"to"`
}

var noteMove = flow.Activity[move, flow.None]{Name: "mode.moved"}

// escalated tells the log that a run moves, and why, and the record where to.
func escalated(c flow.Ctx, in Input, key, reason string, to agency.Mode) error {
	if _, err := flow.Call(c, noteEscalation, path("escalated", key), escalation{Run: in.Run, Reason: reason}); err != nil {
		return err
	}
	if flow.Version(c, "moved/"+key, 1) < 1 {
		return nil // it began with a build that kept no record of it
	}
	_, err := flow.Call(c, noteMove, path("moved", key), move{Run: in.Run, To: to})
	return err
}

// moved records the mode in which a run works from now on.
func (s *Steps) moved(ctx context.Context, _ agency.StepKey, in move) (flow.None, error) {
	return s.write(ctx, func(tx *store.Tx) error { return registry.SetMoved(tx, in.Run, in.To) })
}

// escalate appends the event, once.
func (s *Steps) escalate(ctx context.Context, key agency.StepKey, in escalation) (flow.None, error) {
	return s.write(ctx, func(tx *store.Tx) error {
		ev := agency.NewEvent(in.Run, agency.SeverityWarning, firstLine(in.Reason), agency.Escalated{Reason: in.Reason, Step: key})
		old, err := event.Since(tx, 0, event.Filter{Run: in.Run, Types: []agency.EventType{ev.Type}}, 0)
		if err != nil {
			return err
		}
		for _, o := range old {
			d, err := agency.DecodeDetail(o)
			if said, ok := d.(*agency.Escalated); err == nil && ok && said.Step == key {
				return nil
			}
		}
		_, err = event.Append(tx, ev)
		return err
	})
}

func largeGoal(files, points int) string {
	return fmt.Sprintf("the goal is large: it names %s and %s to do", agency.Things(files, "file", "files"), agency.Things(points, "thing", "things"))
}
