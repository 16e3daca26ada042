// Package oversee is what the model-backed overseer may look at and do: how the
// agents of its run are, in figures and states, and one step about an agent.
package oversee

import (
	"context"
	"embed"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/overseer"
	"agency/internal/tool"
)

//go:embed *.md
var texts embed.FS

// Tools are those of this package.
func Tools() []tool.Tool {
	return []tool.Tool{
		look("get_agent_status", status), look("get_token_usage", usage), look("get_time_elapsed", elapsed), look("detect_loop_pattern", loops),
		look("calculate_progress_rate", progress), getAgentHistory(),
		step("send_nudge", overseer.ActionNudge, func(a nudgeArgs) (string, string) { return a.Agent, a.Message }),
		step("halt_agent", overseer.ActionHalt, func(a reasonArgs) (string, string) { return a.Agent, a.Reason }),
		step("escalate_to_human", overseer.ActionEscalate, func(a reasonArgs) (string, string) { return a.Agent, a.Reason }),
	}
}

type agentArgs struct {
	Agent string `json:"agent_id" jsonschema_description:"An agent at work, as your first message names it."`
}

// look is a tool that shows a part of what is known of an agent.
func look(name string, part func(overseer.View) any) tool.Tool {
	return tool.Define(texts, name, tool.Read, func(ctx context.Context, env *tool.Env, a agentArgs) (tool.Result, error) {
		v, err := env.Oversight.View(ctx, id(a.Agent))
		if err != nil {
			return tool.Answer(err)
		}
		text, err := json.Marshal(part(v))
		return tool.OK(string(text)), err
	}).OnBoard()
}

func id(agent string) agency.AgentID { return agency.AgentID(strings.TrimSpace(agent)) }

func status(v overseer.View) any {
	return struct {
		overseer.Snapshot
		Condition overseer.Condition `json:"health"`
		Why       string             `json:"why,omitempty"`
		Since     string             `json:"since"`
		Nudges    int                `json:"nudges"`
		Cooldown  float64            `json:"nudge_cooldown_seconds"`
	}{v.Snapshot, v.Condition, v.Why, v.Since.UTC().Format("15:04:05"), v.Nudges, math.Ceil(v.Cooldown)}
}

func usage(v overseer.View) any {
	return struct {
		Tokens    int64 `json:"tokens_used"`
		Estimated bool  `json:"estimated,omitempty"`
		Warn      int64 `json:"warned_at"`
		Most      int64 `json:"limit"`
		Turns     int   `json:"turns"`
		PerTurn   int64 `json:"tokens_per_turn"`
		Idle      int64 `json:"tokens_without_progress"`
	}{v.Tokens, v.Estimated, v.WarnTokens, v.MaxTokens, v.Turns, v.Tokens / int64(max(v.Turns, 1)), v.IdleTokens}
}

func elapsed(v overseer.View) any {
	return struct {
		Elapsed float64 `json:"at_work_seconds"`
		Waited  float64 `json:"waited_for_others_seconds"`
		Silent  float64 `json:"silent_seconds"`
		Limit   int     `json:"limit_seconds"`
	}{math.Round(v.Elapsed), math.Round(v.Waited), math.Round(v.Silent), v.Timeout}
}

func loops(v overseer.View) any {
	found := slices.DeleteFunc(slices.Clone(v.Patterns), func(p overseer.Pattern) bool {
		return !slices.Contains([]overseer.Behaviour{overseer.InfiniteLoop, overseer.RepeatedFailures, overseer.Oscillation, overseer.Stagnation}, p.Behaviour)
	})
	return struct {
		Found []overseer.Pattern `json:"patterns"`
	}{found}
}

func progress(v overseer.View) any {
	return struct {
		Turns      int     `json:"turns"`
		Idle       int     `json:"turns_without_progress"`
		IdleTokens int64   `json:"tokens_without_progress"`
		Rate       float64 `json:"share_of_turns_with_progress"` // of late
		Files      int     `json:"files_modified"`
		Calls      int     `json:"tool_calls"`
		Errors     int     `json:"calls_that_failed"`
	}{v.Turns, v.Idle, v.IdleTokens, math.Round(100*float64(max(0, v.Turns-v.Idle))/float64(max(v.Turns, 1))) / 100, v.Files, v.Calls, v.Errors}
}

func getAgentHistory() tool.Tool {
	return tool.Define(texts, "get_agent_history", tool.Read, func(ctx context.Context, env *tool.Env, a agentArgs) (tool.Result, error) {
		lines, err := env.Oversight.History(ctx, id(a.Agent))
		if err != nil {
			return tool.Answer(err)
		}
		return tool.OK(tool.Cap(strings.Join(lines, "\n"), tool.MaxResult)), nil
	}).OnBoard()
}

type nudgeArgs struct {
	Agent   string `json:"agent_id" jsonschema_description:"An agent at work, as your first message names it."`
	Message string `json:"message" jsonschema_description:"What you saw, with the figure or call that shows it, and one thing to try instead."`
}

type reasonArgs struct {
	Agent  string `json:"agent_id" jsonschema_description:"An agent at work, as your first message names it."`
	Reason string `json:"reason" jsonschema_description:"What you saw, with the figures, and what was tried. A person and the next attempt read it."`
}

// maxWords is the most bytes of what is said to an agent or a person.
const maxWords = 4 << 10

// step is a tool that steps in.
func step[A any](name string, action overseer.Action, of func(A) (agent, words string)) tool.Tool {
	return tool.Define(texts, name, tool.Write, func(ctx context.Context, env *tool.Env, args A) (tool.Result, error) {
		agent, words := of(args)
		if words = strings.TrimSpace(words); words == "" || len(words) > maxWords {
			return tool.Refuse("the words are empty or longer than " + tool.Size(maxWords)), nil
		}
		said, err := env.Oversight.Step(ctx, id(agent), action, words)
		if err != nil {
			return tool.Answer(err)
		}
		return tool.OK(said), nil
	}).OnBoard()
}
