package team

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/block"
	"agency/internal/regexp"
	"agency/internal/tool"
)

type noteDecisionArgs struct {
	Key      string   `json:"key" jsonschema_description:"What is decided, as a path of words: api/errors, db/user-id."`
	Value    string   `json:"value" jsonschema_description:"What holds from now on."`
	Why      string   `json:"why" jsonschema_description:"The reason, for whoever would decide otherwise."`
	Version  int64    `json:"version,omitempty" jsonschema_description:"To change a decision: the version that you have read. Leave it out for a new one."`
	Concerns []string `json:"concerns,omitempty" jsonschema_description:"The files or folders that it is about, where those are not the files of your own contract."`
}

type readDecisionsArgs struct {
	Prefix string `json:"prefix,omitempty" jsonschema_description:"How the keys begin; all where it is left out."`
}

// A decision's key is 128 bytes at most, its value and its reason 4 KiB each.
const (
	maxDecisionText = 4 << 10
	maxConcerns     = 50
	maxListed       = 100
)

var decisionKey = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$`)

func noteDecision() tool.Tool {
	return tool.Define(texts, "note_decision", tool.Write, func(ctx context.Context, env *tool.Env, a noteDecisionArgs) (tool.Result, error) {
		var refused error
		for _, entry := range a.Concerns {
			refused = cmp.Or(refused, agency.CheckRelPath(entry))
		}
		switch {
		case !decisionKey.MatchString(a.Key):
			return tool.Refuse(fmt.Sprintf("key %s: want 1 to 128 letters, digits, dots, dashes, underscores and slashes", tool.QuoteName(a.Key))), nil
		case strings.TrimSpace(a.Value) == "" || strings.TrimSpace(a.Why) == "":
			return tool.Refuse(`"value" or "why" is empty`), nil
		case len(a.Value) > maxDecisionText || len(a.Why) > maxDecisionText:
			return tool.Refuse("the value or why is longer than " + tool.Size(maxDecisionText) + "; what is large stands in a file that you name"), nil
		case len(a.Concerns) > maxConcerns:
			return tool.Refuse(fmt.Sprintf("concerns has %d entries: want at most %d; name the folder", len(a.Concerns), maxConcerns)), nil
		case refused != nil:
			return tool.Refuse("concerns: " + refused.Error()), nil
		case a.Version < 0:
			return tool.Refuse(fmt.Sprintf("version is %d: want the one that read_decisions shows, or leave it out", a.Version)), nil
		}
		now, told, err := env.Decisions.Note(ctx, agency.SharedDecision{Key: a.Key, Value: a.Value, Why: a.Why, Version: a.Version, Concerns: a.Concerns})
		if agency.KindOf(err) == agency.KindConflict && now.Key != "" {
			return tool.Fail("%s; it is:\n%s\nGo by it; or, where it has to change, speak with %s and note yours with \"version\": %d", err, shown(now), now.By, now.Version), nil
		}
		if err != nil {
			return tool.Result{}, err
		}
		who := "Nobody at work is concerned; who begins later and is, is told then."
		if len(told) > 0 {
			who = "It is read before the next turn of " + tool.Joined(told, ", ") + "."
		}
		return tool.OK(fmt.Sprintf("decided: %s is version %d. %s", now.Key, now.Version, who)), nil
	}).OnBoard()
}

func readDecisions() tool.Tool {
	return tool.Define(texts, "read_decisions", tool.Read, func(ctx context.Context, env *tool.Env, a readDecisionsArgs) (tool.Result, error) {
		all, err := env.Decisions.List(ctx, a.Prefix)
		if err != nil {
			return tool.Result{}, err
		}
		if len(all) == 0 {
			return tool.OK("nothing is decided" + under(a.Prefix)), nil
		}
		var b strings.Builder
		for i, d := range all {
			if i == maxListed {
				fmt.Fprintf(&b, "and %d more; name a longer prefix\n", len(all)-i)
				break
			}
			b.WriteString(shown(d) + "\n\n")
		}
		return tool.OK(strings.TrimSpace(b.String())), nil
	}).OnBoard()
}

// shown is a decision as another agent's words.
func shown(d agency.SharedDecision) string { return block.Data("decision "+d.Key, d.Text()) }

func under(prefix string) string {
	if prefix == "" {
		return ""
	}
	return " under " + tool.QuoteName(prefix)
}
