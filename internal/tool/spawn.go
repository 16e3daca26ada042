package tool

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
)

// The effects of a manager that leads: the session parks until the run has
// answered, for several calls of one turn together.
type (
	// Spawn has an agent of a role start on a contract.
	Spawn struct {
		Role     agency.RoleID
		Contract agency.ContractID
	}
	// Await waits until the agents have ended.
	Await struct{ Agents []agency.AgentID }
	// Collect asks what the agents' work came to, as it was measured.
	Collect struct{ Agents []agency.AgentID }
)

func (Spawn) effect()   {}
func (Await) effect()   {}
func (Collect) effect() {}

// joins marks a tool of which several calls of one turn park the session
// together.
func (t Tool) joins() Tool {
	t = t.last()
	t.Joins = true
	return t
}

type spawnArgs struct {
	Role        string `json:"role" jsonschema_description:"The contract's assigned_role, or another role that you may spawn; then it is the contract's."`
	Subcontract string `json:"subcontract_id" jsonschema_description:"Id of a contract that create_subcontract noted."`
}

func spawnAgent() Tool {
	return define("spawn_agent", Write, func(_ context.Context, _ *Env, a spawnArgs) (Result, error) {
		role := strings.TrimSpace(a.Role)
		if role == "" {
			return refuse(`"role" is empty: name the contract's assigned_role`), nil
		}
		return Result{Text: "asked", Effect: Spawn{Role: roleOf(role), Contract: agency.ContractID(a.Subcontract)}}, nil
	}).joins()
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

func waitForAgents() Tool {
	return define("wait_for_agents", Write, func(_ context.Context, _ *Env, a agentsArgs) (Result, error) {
		agents, refusal := a.agents()
		if refusal != "" {
			return refuse(refusal), nil
		}
		return Result{Text: "asked", Effect: Await{Agents: agents}}, nil
	}).joins()
}

func collectResults() Tool {
	return define("collect_results", Write, func(_ context.Context, _ *Env, a agentsArgs) (Result, error) {
		agents, refusal := a.agents()
		if refusal != "" {
			return refuse(refusal), nil
		}
		return Result{Text: "asked", Effect: Collect{Agents: agents}}, nil
	}).joins()
}
