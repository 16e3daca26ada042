package team

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/roster"
	"agency/internal/text"
	"agency/internal/tool"
)

// maxPrompt is the most bytes that one agent gives another.
const maxPrompt = 64 << 10

// ForAgent are the tools by which an agent of a file asks others, speaks in its team and
// ends.
func ForAgent(p roster.Persona) (out []tool.Tool) {
	for _, c := range p.Calls {
		out = append(out, callAgent(c))
	}
	if p.Chats() {
		out = append(out, askClarification(), endAgent())
	}
	if len(p.Routes) > 0 {
		out = append(out, handoffTo(p.Routes))
	}
	if p.Team != "" {
		out = append(out, teamBroadcast(p.Member))
	}
	if !p.Member {
		out = append(out, agentReport(p.JSON))
	}
	return out
}

// said is a text that goes on to another agent, and what is wrong with it.
func said(name, s string) (words, fault string) {
	words = strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD"))
	if words == "" || len(words) > maxPrompt {
		return "", `"` + name + `" is empty or longer than ` + tool.Size(maxPrompt)
	}
	return words, ""
}

type callAgentArgs struct {
	Prompt string `json:"prompt" jsonschema_description:"All that the agent needs: it sees nothing else."`
	Reason string `json:"reason,omitempty" jsonschema_description:"Why you call it, in a few words, for the log."`
	Tokens int64  `json:"max_tokens,omitempty" jsonschema_description:"The most tokens, in and out, that it and all whom it asks may use. Without it only its own limits and the run's budget hold."`
}

func callAgent(c roster.Callee) tool.Tool {
	t := tool.Define(texts, "agent", tool.Write, func(_ context.Context, _ *tool.Env, a callAgentArgs) (tool.Result, error) {
		prompt, fault := said("prompt", a.Prompt)
		if fault != "" {
			return tool.Refuse(fault), nil
		}
		if a.Tokens < 0 {
			return tool.Refuse(`"max_tokens" is less than none`), nil
		}
		return tool.Result{Text: "asked", Effect: tool.CallAgent{Agent: c.Name, Prompt: prompt, Reason: text.OneLine(a.Reason, 200), MaxTokens: a.Tokens}}, nil
	})
	return t.Named(c.Tool(), cmp.Or(c.Description, "The agent "+c.Name+".")).Joining()
}

type askClarificationArgs struct {
	ID       string `json:"clarification_id" jsonschema_description:"As the agent's answer names it."`
	Question string `json:"question" jsonschema_description:"What else you want to know of it."`
}

func askClarification() tool.Tool {
	return tool.Define(texts, "ask_clarification", tool.Write, func(_ context.Context, _ *tool.Env, a askClarificationArgs) (tool.Result, error) {
		question, fault := said("question", a.Question)
		if fault != "" {
			return tool.Refuse(fault), nil
		}
		return tool.Result{Text: "asked", Effect: tool.AskAgain{ID: agency.ContractID(strings.TrimSpace(a.ID)), Question: question}}, nil
	}).Joining()
}

type endAgentArgs struct {
	ID string `json:"clarification_id" jsonschema_description:"As the agent's answer names it."`
}

func endAgent() tool.Tool {
	return tool.Define(texts, "end_agent", tool.Write, func(_ context.Context, _ *tool.Env, a endAgentArgs) (tool.Result, error) {
		return tool.Result{Text: "asked", Effect: tool.Release{ID: agency.ContractID(strings.TrimSpace(a.ID))}}, nil
	}).Joining()
}

type handoffToArgs struct {
	Agent   string `json:"agent" jsonschema_description:"Who gets the request."`
	Message string `json:"message,omitempty" jsonschema_description:"What the agent should know beside the request."`
}

func handoffTo(to []roster.Callee) tool.Tool {
	names := make([]string, len(to))
	for i, c := range to {
		names[i] = c.Name
	}
	return tool.Define(texts, "handoff_to", tool.Write, func(_ context.Context, _ *tool.Env, a handoffToArgs) (tool.Result, error) {
		name := strings.TrimSpace(a.Agent)
		message := strings.TrimSpace(strings.ToValidUTF8(a.Message, "\uFFFD"))
		switch {
		case !slices.Contains(names, name):
			return tool.Refuse("there is no agent " + tool.QuoteName(name) + " to hand over to" + text.Suggestion(name, names) + ". Yours are: " + strings.Join(names, ", ")), nil
		case len(message) > maxPrompt:
			return tool.Refuse("the message is longer than " + tool.Size(maxPrompt)), nil
		}
		return tool.Result{Text: "handed over to " + name, Effect: tool.HandTo{Agent: name, Message: message}}, nil
	}).Choosing("agent", names).Concludes()
}

type teamBroadcastArgs struct {
	Message string `json:"message" jsonschema_description:"What all others of the team should know."`
	Final   bool   `json:"final,omitempty" jsonschema_description:"Of a member: this is its last word, and it leaves the team."`
	Status  string `json:"status,omitempty" jsonschema:"enum=success,enum=failed" jsonschema_description:"With final: whether it did its part; success where absent."`
}

func teamBroadcast(member bool) tool.Tool {
	return tool.Define(texts, "team_broadcast", tool.Write, func(_ context.Context, _ *tool.Env, a teamBroadcastArgs) (tool.Result, error) {
		message, fault := said("message", a.Message)
		switch {
		case fault != "":
			return tool.Refuse(fault), nil
		case a.Final && !member:
			return tool.Refuse("a supervisor leaves by final_report, which is the team's answer"), nil
		case a.Status != "" && a.Status != "success" && a.Status != "failed":
			return tool.Refuse("status " + tool.QuoteName(a.Status) + " is none of success, failed"), nil
		case a.Status == "failed" && !a.Final:
			return tool.Refuse(`"status" failed goes with "final": what is only harder than it seemed is an update`), nil
		}
		return tool.Result{Text: "told the team", Effect: tool.Broadcast{Message: message, Final: a.Final, Failed: a.Status == "failed"}}, nil
	}).Concludes()
}

type agentReportArgs struct {
	Report string `json:"report" jsonschema_description:"The answer. JSON is written as text."`
	Format string `json:"format,omitempty" jsonschema:"enum=markdown,enum=json" jsonschema_description:"markdown where absent."`
}

// agentReport ends an agent's session by its answer.
func agentReport(isJSON bool) tool.Tool {
	return tool.Define(texts, "agent_report", tool.Write, func(_ context.Context, _ *tool.Env, a agentReportArgs) (tool.Result, error) {
		words, fault := said("report", a.Report)
		switch {
		case fault != "":
			return tool.Refuse(fault), nil
		case a.Format != "" && a.Format != "markdown" && a.Format != "json":
			return tool.Refuse("format " + tool.QuoteName(a.Format) + " is none of markdown, json"), nil
		case (isJSON || a.Format == "json") && !json.Valid([]byte(words)):
			return tool.Refuse("the report is not JSON: put one JSON value into it, and nothing else"), nil
		}
		return tool.Result{Text: "report recorded", Effect: tool.Report{Text: words}}, nil
	}).Named("final_report", "").Concludes()
}
