package team

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/tool"
)

type spawnArgs struct {
	Role        string `json:"role" jsonschema_description:"The contract's assigned_role, or another role that you may spawn; then it is the contract's."`
	Subcontract string `json:"subcontract_id" jsonschema_description:"Id of a contract that create_subcontract noted."`
}

func spawnAgent() tool.Tool {
	return tool.Define(texts, "spawn_agent", tool.Write, func(_ context.Context, _ *tool.Env, a spawnArgs) (tool.Result, error) {
		role := strings.TrimSpace(a.Role)
		if role == "" {
			return tool.Refuse(`"role" is empty: name the contract's assigned_role`), nil
		}
		return tool.Result{Text: "asked", Effect: tool.Spawn{Role: roleOf(role), Contract: agency.ContractID(a.Subcontract)}}, nil
	}).Joining()
}

// agentsArgs name agents that were spawned.
type agentsArgs struct {
	Agents []string `json:"agent_ids" jsonschema_description:"As spawn_agent answered them."`
}

// maxAgents is how many agents one call may name.
const maxAgents = 500

// agents are the named ones, each once. A refusal says what is wrong.
func (a agentsArgs) agents() (out []agency.AgentID, refusal string) {
	if len(a.Agents) == 0 {
		return nil, `"agent_ids" names no agent`
	}
	if len(a.Agents) > maxAgents {
		return nil, fmt.Sprintf(`"agent_ids" names %d agents, the most is %d`, len(a.Agents), maxAgents)
	}
	for _, one := range a.Agents {
		if id := agency.AgentID(strings.TrimSpace(one)); !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out, ""
}

func waitForAgents() tool.Tool {
	return ofAgents("wait_for_agents", func(agents []agency.AgentID) tool.Effect { return tool.Await{Agents: agents} })
}

func collectResults() tool.Tool {
	return ofAgents("collect_results", func(agents []agency.AgentID) tool.Effect { return tool.Collect{Agents: agents} })
}

func ofAgents(name string, effect func([]agency.AgentID) tool.Effect) tool.Tool {
	return tool.Define(texts, name, tool.Write, func(_ context.Context, _ *tool.Env, a agentsArgs) (tool.Result, error) {
		agents, refusal := a.agents()
		if refusal != "" {
			return tool.Refuse(refusal), nil
		}
		return tool.Result{Text: "asked", Effect: effect(agents)}, nil
	}).Joining()
}
