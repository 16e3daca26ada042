package config

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"strings"

	"agency/internal/text"
)

// Team is what a team file says beside settings: the goal, and contracts in
// the place of a manager's plan.
type Team struct {
	Goal Value
	// Multiplier is the plan's retry_budget_multiplier.
	Multiplier Value
	// Contracts are as they stand there; Planned is where they begin, its Line 0
	// where there are none.
	Contracts []TeamContract
	Planned   Value

	text   *lines
	tiered bool // it is the plan of a tiered run
}

// Value is a text or number of a team file and where it stands; Line is 0
// where it does not.
type Value struct {
	Text      string
	Line, Col int
}

// TeamContract is a contract of a team file, for whoever knows what its fields
// mean.
type TeamContract struct {
	Line, Col int
	Fields    []TeamField
}

// TeamField is a field of a contract. Its value is given as JSON.
type TeamField struct {
	Name      string
	Line, Col int
	JSON      json.RawMessage
}

// The keys of a team file that are no settings. A plan's own form names the
// goal goal_anchor.
const (
	teamGoal       = "goal"
	teamAnchor     = "goal_anchor"
	teamMultiplier = "retry_budget_multiplier"
	teamContracts  = "contracts"
	teamTiers      = "tier_plans" // what a tiered run planned, which is shown and not taken
)

// readTeam parses a team file, JSON by its name and YAML otherwise, and takes
// what is no setting out of it.
func readTeam(src Source, c *collector) (*Team, *node, *lines) {
	if src.Data == nil {
		return nil, nil, &lines{path: src.Path}
	}
	read := readTree
	if strings.EqualFold(filepath.Ext(src.Path), ".json") {
		read = readJSON
	}
	root, t := read(src, c)
	team := &Team{text: t}
	if root == nil {
		return team, nil, t
	}
	rest := *root
	rest.entries = nil
	for _, e := range root.entries {
		if !team.take(e, c) {
			rest.entries = append(rest.entries, e)
		}
	}
	return team, &rest, t
}

// take reads an entry that is no setting.
func (tm *Team) take(e entry, c *collector) bool {
	n := e.value
	switch {
	case e.key == teamGoal || e.key == teamAnchor:
		if n.shape != isText {
			c.add(tm.text, n.line, n.col, "%s must be text, not %s", e.key, n.describe())
		} else if tm.Goal.Line == 0 || e.key == teamGoal { // the goal, where it has both
			tm.Goal = Value{Text: n.text, Line: n.line, Col: n.col}
		}
	case e.key == teamMultiplier:
		tm.Multiplier = Value{Text: n.text, Line: n.line, Col: n.col}
		if n.shape != isInt {
			c.add(tm.text, n.line, n.col, "%s must be a whole number, not %s", e.key, n.describe())
		}
	case e.key == teamContracts && n.shape != isMap: // a mapping is the setting of that name
		tm.Planned = Value{Line: e.line, Col: e.col}
		if n.shape != isList {
			c.add(tm.text, n.line, n.col, "%s must be a list of contracts, or the settings of that name, not %s", e.key, n.describe())
		}
		for _, item := range n.items {
			tm.contract(item, c)
		}
	case e.key == teamTiers:
		c.add(tm.text, e.line, e.col, "this is the plan of a tiered run, which no run takes: its visionary plans; give the goal again, with what you want otherwise: agency run --mode tiered \"GOAL\"")
		tm.tiered = true
	case tm.tiered: // the rest of it
	default:
		return false
	}
	return true
}

func (tm *Team) contract(n *node, c *collector) {
	one := TeamContract{Line: n.line, Col: n.col}
	if n.shape != isMap {
		c.add(tm.text, n.line, n.col, "a contract must be a mapping, not %s", n.describe())
		return
	}
	for _, e := range n.entries {
		raw, err := json.Marshal(e.value.plain())
		if err != nil { // .inf and .nan
			c.add(tm.text, e.value.line, e.value.col, "%s is no value that a contract may have", clip(e.value.text))
			continue
		}
		one.Fields = append(one.Fields, TeamField{Name: e.key, Line: e.value.line, Col: e.value.col, JSON: raw})
	}
	tm.Contracts = append(tm.Contracts, one)
}

// plain is the value as JSON knows it.
func (n *node) plain() any {
	switch n.shape {
	case isBool:
		return n.bool
	case isInt:
		if n.tooBig {
			return n.float
		}
		return n.int
	case isFloat:
		return n.float
	case isText:
		return n.text
	case isMap:
		out := make(map[string]any, len(n.entries))
		for _, e := range n.entries {
			out[e.key] = e.value.plain()
		}
		return out
	case isList:
		out := make([]any, len(n.items))
		for i, item := range n.items {
			out[i] = item.plain()
		}
		return out
	}
	return nil
}

// TeamFault is one thing that is wrong with a team file, at its place.
type TeamFault struct {
	Line, Col int
	What      string
}

// Unknown is the fault of a field that no contract has.
func (f TeamField) Unknown(known []string) TeamFault {
	return TeamFault{Line: f.Line, Col: f.Col, What: "unknown key " + clipKey(f.Name) + text.Suggestion(f.Name, known)}
}

// Err names faults at their places; nil where there are none. Its error is
// KindInvalid.
func (tm *Team) Err(faults []TeamFault) error {
	c := &collector{}
	for _, f := range faults {
		c.add(tm.text, f.Line, f.Col, "%s", f.What)
	}
	return c.err()
}

// Profile is a set of settings under a name, for a run to be started with. It stands in
// the user's own file, and so may say what costs money.
type Profile struct {
	Mode              string              `json:"mode,omitempty" doc:"as the key of that name at the top level" enum:"single,contract,producer_critic,multi_agent,tiered,full"`
	MaxParallelAgents int                 `json:"max_parallel_agents,omitempty" doc:"likewise" min:"1" max:"1000"`
	RetryBudget       int                 `json:"retry_budget,omitempty" doc:"likewise" min:"1" max:"100"`
	Budget            Budget              `json:"budget,omitzero" doc:"likewise"`
	Models            map[string][]string `json:"models,omitempty" doc:"likewise" keys:"reasoning-heavy,capable,fast-cheap" form:"model"`
	Agents            map[string]Agent    `json:"agents,omitempty" doc:"likewise" keys:"project_manager,scaffolder,test_engineer,reviewer,overseer,cleanup,generalist,t1_visionary,t2_lead,t2_architect,t3_lead,t4_implementer,t5_verifier" alias:"pm=project_manager,producer=scaffolder,critic=reviewer,tester=test_engineer"`
}

// profileIn is the profile that is asked for, as the user's file has it; nil where none is.
func profileIn(user *node, in Input, c *collector) *node {
	if in.Profile == "" {
		return nil
	}
	var names []string
	for _, e := range user.under("profiles") {
		if e.key == in.Profile {
			return e.value
		}
		names = append(names, e.key)
	}
	c.add(&lines{path: "--profile"}, 0, 0, "there is no profile %s in %s%s", clip(in.Profile), cmp.Or(in.UserFile.Path, "your own file"), text.Suggestion(in.Profile, names))
	return nil
}

// under are the entries of a mapping at the top of a file.
func (n *node) under(key string) []entry {
	if n == nil || n.shape != isMap {
		return nil
	}
	for _, e := range n.entries {
		if e.key == key && e.value.shape == isMap {
			return e.value.entries
		}
	}
	return nil
}
