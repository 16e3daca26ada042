package host

import (
	"encoding/json"
	"slices"
	"time"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/config"
	"agency/internal/registry"
	"agency/internal/roster/agentfile"
	"agency/internal/store"
)

// RunConfig is the configuration that a run keeps from its start to its end. It
// holds no secret: a key is named by the variable that it came from.
type RunConfig struct {
	Config config.Config `json:"config"`
	// Env is what toolchains need of the environment of whoever started the
	// run: PATH, HOME, GOCACHE and their like.
	Env map[string]string `json:"env,omitempty"`
	// Plan is what a person gave in the place of a manager's plan.
	Plan *agency.Plan `json:"plan,omitempty"`
	// Untested is set where the configuration says that there are no tests:
	// commands.test is set, and empty.
	Untested bool `json:"untested,omitempty"`
	// Agents are those that a run of an agent may come to, as their files were at its
	// start.
	Agents agentfile.Cast `json:"agents,omitzero"`
	// NoRepo says that there is no repository: agents have no tool of a checkout.
	NoRepo bool `json:"no_repo,omitempty"`
}

// Getenv looks a variable of the copy up, as os.LookupEnv does.
func (c RunConfig) Getenv(name string) (string, bool) {
	v, ok := c.Env[name]
	return v, ok
}

// Commands are the run's own commands. What need not pass is a rule of the modes with
// a critic.
func (c RunConfig) Commands() check.Commands {
	k, rules, reviewed := c.Config.Commands, c.Config.ProducerCritic, c.Config.Mode == agency.ModeProducerCritic || c.Config.Mode.Team()
	return check.Commands{
		Setup: k.Setup, Build: k.Build, Typecheck: k.Typecheck, Lint: k.Lint, Test: k.Test, TimeoutSeconds: k.TimeoutSeconds,
		LintMayFail: reviewed && !rules.RequireLintPass, TestsMayFail: reviewed && !rules.RequireTestsPass,
	}
}

// gateTimeout is how long a gate waits until the run is announced as waiting.
func (c RunConfig) gateTimeout() time.Duration {
	return time.Duration(c.Config.Visibility.GateTimeoutMinutes) * time.Minute
}

// ReadRunConfig is the copy of a run.
func ReadRunConfig(q store.Querier, run agency.RunID) (RunConfig, error) {
	raw, err := registry.Copy(q, run)
	if err != nil {
		return RunConfig{}, err
	}
	return ParseRunConfig(raw)
}

// ParseRunConfig reads a copy as the registry keeps it.
func ParseRunConfig(raw json.RawMessage) (RunConfig, error) {
	var c RunConfig
	if err := json.Unmarshal(raw, &c); err != nil {
		return c, agency.Errorf(agency.KindInternal, "the run's configuration: %w", err)
	}
	return c, nil
}

// Models are those that the run may ask: of a run of an agent those of each that it comes
// to, and the overseer's.
func (c RunConfig) Models() (refs []config.ModelRef, err error) {
	if len(c.Agents.Agents) == 0 {
		return c.Config.RunModels()
	}
	add := func(more []config.ModelRef, err error) error {
		for _, one := range more {
			if !slices.Contains(refs, one) {
				refs = append(refs, one)
			}
		}
		return err
	}
	for _, f := range c.Agents.Agents {
		if err := add(c.ModelsOf(f)); err != nil {
			return nil, err
		}
	}
	if o := c.Config.Overseer; o.Enabled && o.Model != "" {
		err = add(c.Config.Resolve(o.Model))
	}
	if ref, wanted := c.Config.Embeddings(); wanted && err == nil {
		err = add([]config.ModelRef{ref}, nil)
	}
	return refs, err
}

// ModelsOf is the list of fallback of an agent: its own, or the generalist's.
func (c RunConfig) ModelsOf(f agentfile.File) ([]config.ModelRef, error) {
	if f.Model == "" {
		return c.Config.ModelsOf(agency.RoleGeneralist)
	}
	refs, err := c.Config.Resolve(f.Model)
	if err != nil {
		err = agency.Errorf(agency.KindInvalid, "agent %s: model: %w", f.Name, err).WithMend("name a level, or a provider of yours: agency agents show %s", f.Name)
	}
	return refs, err
}
