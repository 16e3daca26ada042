package host

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/check"
	"agency/internal/config"
	"agency/internal/event"
	"agency/internal/llm/catalog"
	"agency/internal/registry"
	"agency/internal/roster/agentfile"
	"agency/internal/store"
	"agency/internal/text"
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
	// TakesBack says that the run takes back what was merged: a person may take a fix back.
	TakesBack bool `json:"takes_back,omitempty"`
	// Asks says that a person is asked before the run moves to another mode.
	Asks bool `json:"asks,omitempty"`
}

// Getenv looks a variable of the copy up, as os.LookupEnv does.
func (c RunConfig) Getenv(name string) (string, bool) {
	v, ok := c.Env[name]
	return v, ok
}

// Commands are the run's own commands. What need not pass is a rule of the modes with
// a critic; what fails by an undo, be it the build, its merge gate names.
func (c RunConfig) Commands() check.Commands {
	k, rules, reviewed := c.Config.Commands, c.Config.ProducerCritic, c.Config.Mode == agency.ModeProducerCritic || c.Config.Mode.Team()
	return check.Commands{
		Setup: k.Setup, Build: k.Build, Typecheck: k.Typecheck, Lint: k.Lint, Test: k.Test, TimeoutSeconds: k.TimeoutSeconds,
		LintMayFail: c.TakesBack || reviewed && !rules.RequireLintPass, TestsMayFail: c.TakesBack || reviewed && !rules.RequireTestsPass,
		BuildMayFail: c.TakesBack,
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

// choosing is what a host does with the models of its runs.
type choosing struct {
	rec     *records
	live    *Live
	secrets *Secrets
}

// Choose has a run, or in it a role or a level, ask another model. The run's copy of its
// configuration says so from now on, so that nothing is lost with the host; each session
// asks it with its next request, for which it is reserved before.
func (c choosing) Choose(ctx context.Context, id agency.RunID, r api.ModelRequest) (out api.ModelDoc, err error) {
	known, err := catalog.Load()
	if err != nil {
		return out, err
	}
	var kept RunConfig
	err = c.rec.write(ctx, func(tx *store.Tx) error {
		run, err := registry.Run(tx, id)
		if err != nil {
			return err
		}
		if run.State.Final() {
			return agency.Errorf(agency.KindConflict, "run %s %s: it asks no model any more", id, run.State.Has())
		}
		if kept, err = ReadRunConfig(tx, id); err != nil {
			return err
		}
		before := kept
		if kept.Config, err = Choose(known, kept.Config, r.Whom, r.Name); err != nil {
			return err
		}
		if out.Before, err = before.namesOf(r.Whom); err != nil {
			return err
		}
		if out.Model, err = kept.namesOf(r.Whom); err != nil || out.Model == out.Before {
			return err
		}
		raw, err := json.Marshal(kept)
		if err != nil {
			return err
		}
		if err := registry.SetCopy(tx, id, raw); err != nil {
			return err
		}
		if now := Unpriced(known, kept.Config); now != Unpriced(known, before.Config) { // else it was said before
			out.Note = now
		}
		text := cmp.Or(r.Whom, "the run") + " asks " + out.Model + " from the next request on, instead of " + out.Before
		severity := agency.SeverityInfo
		if out.Note != "" {
			severity, text = agency.SeverityWarning, text+"; "+out.Note
		}
		_, err = event.Append(tx, agency.NewEvent(id, severity, text, agency.ModelChosen{Whom: r.Whom, Model: out.Model, Before: out.Before, By: r.By}))
		return err
	})
	if err != nil {
		return out, err
	}
	c.secrets.Put(id, r.Secrets, kept.Config.Ordinary()...)
	c.live.copied(id)
	return out, nil
}

// namesOf are the models that whom asks, in words.
func (c RunConfig) namesOf(whom string) (string, error) {
	refs, err := c.Models()
	switch role, level := c.Config.Agents[whom], c.Config.Models[whom]; {
	case whom == string(agency.RoleOverseer):
		refs, err = c.Config.Resolve(c.Config.Overseer.Model)
	case level != nil:
		refs, err = c.Config.Resolve(whom)
	case role.Model != "": // else it has none of its own
		refs, err = c.Config.Resolve(role.Model)
	}
	var names []string
	for _, ref := range refs {
		names = append(names, ref.String())
	}
	return strings.Join(names, ", "), err
}

// Choose is a configuration in which whom names asks the model that is named, alone: whom
// is a role, a level, or empty for all. A name is a level's, provider/model, or a model's
// without its provider where one provider alone has it. What nobody knows is refused with
// the nearest names: nothing is known of what it costs. The error is KindInvalid.
func Choose(known *catalog.Catalog, c config.Config, whom, name string) (config.Config, error) {
	names, err := modelsNamed(known, c, name)
	if err != nil {
		return c, err
	}
	if role, alias := config.RoleNamed(whom); alias {
		whom = role
	}
	levels := []string{config.LevelReasoningHeavy, config.LevelCapable, config.LevelFastCheap}
	c.Models, c.Agents = maps.Clone(c.Models), maps.Clone(c.Agents)
	switch agent, role := c.Agents[whom]; {
	case whom == "":
		for _, level := range levels {
			c.Models[level] = names
		}
		for role, a := range c.Agents {
			a.Model = config.LevelCapable // whichever: they are alike
			c.Agents[role] = a
		}
		if c.Overseer.Model != "" {
			c.Overseer.Model = config.LevelCapable
		}
	case slices.Contains(levels, whom):
		c.Models[whom] = names
	case whom == string(agency.RoleOverseer):
		c.Overseer.Model = name
		if !config.IsLevel(name) {
			c.Overseer.Model = names[0]
		}
	case role:
		agent.Model = name
		if !config.IsLevel(name) {
			agent.Model = names[0]
		}
		c.Agents[whom] = agent
		c.Routing.Roles = slices.DeleteFunc(slices.Clone(c.Routing.Roles), func(r string) bool { return r == whom }) // said by a person: it stands
	default:
		all := append(slices.Sorted(maps.Keys(c.Agents)), levels...)
		return c, agency.Errorf(agency.KindInvalid, "there is no role or level %q%s", whom, text.Suggestion(whom, all)).
			WithMend("name one of %s", strings.Join(all, ", "))
	}
	return c, nil
}

// modelsNamed are the models that a person's word stands for.
func modelsNamed(known *catalog.Catalog, c config.Config, name string) ([]string, error) {
	switch {
	case strings.TrimSpace(name) == "":
		return nil, agency.Errorf(agency.KindInvalid, "no model is named")
	case config.IsLevel(name):
		return c.Models[name], nil
	}
	all := modelsOf(known, c)
	if strings.Contains(name, "/") {
		ref, err := config.ParseModel(name)
		if err != nil {
			return nil, err
		}
		p, ok := c.Providers[ref.Provider]
		if !ok {
			return nil, agency.Errorf(agency.KindInvalid, "model %s: there is no provider %q%s", name, ref.Provider, text.Suggestion(ref.Provider, slices.Sorted(maps.Keys(c.Providers)))).
				WithMend("name one of %s, or add it under providers in your own file", strings.Join(slices.Sorted(maps.Keys(c.Providers)), ", "))
		}
		_, catalogued := known.Lookup(p.Type, ref.Name)
		vendors := p.BaseURL == "" && len(known.Providers[p.Type]) > 0 // another's server has models of its own
		if catalogued || !vendors || slices.Contains(all, name) {
			return []string{name}, nil
		}
		return nil, unknownModel(name, ref.Provider+"/", all)
	}
	var fits []string
	for _, m := range all {
		if strings.HasSuffix(m, "/"+name) {
			fits = append(fits, m)
		}
	}
	switch len(fits) {
	case 0:
		return nil, unknownModel(name, "", all)
	case 1:
		return fits, nil
	}
	return nil, agency.Errorf(agency.KindInvalid, "model %s: several providers have it", name).WithMend("name one of %s", strings.Join(fits, ", "))
}

// unknownModel names those that are like it; all are of the providers of the prefix.
func unknownModel(name, prefix string, all []string) error {
	var of, short []string
	for _, m := range all {
		if strings.HasPrefix(m, prefix) {
			_, bare, _ := strings.Cut(m, "/")
			of, short = append(of, m), append(short, bare)
		}
	}
	near := text.Suggestion(name, of)
	if near == "" {
		near = text.Suggestion(name, short)
	}
	mend := "name provider/model; where it is new, say what it costs: prices in your own file"
	if near == "" && len(of) > 0 {
		mend = "name one of " + strings.Join(of[:min(len(of), mostModels)], ", ") + "; where it is new, say what it costs: prices in your own file"
	}
	return agency.Errorf(agency.KindInvalid, "model %s is not known%s", name, near).WithMend("%s", mend)
}

// mostModels bounds a list of them in an error.
const mostModels = 12

// modelsOf are the models that a configuration or the catalogue knows by name: first those
// that it asks.
func modelsOf(known *catalog.Catalog, c config.Config) (all []string) {
	add := func(m string) {
		ref, err := config.ParseModel(m)
		if _, ok := c.Providers[ref.Provider]; err == nil && ok && !slices.Contains(all, m) {
			all = append(all, m)
		}
	}
	for _, level := range slices.Sorted(maps.Keys(c.Models)) {
		for _, m := range c.Models[level] {
			add(m)
		}
	}
	for _, role := range slices.Sorted(maps.Keys(c.Agents)) {
		add(c.Agents[role].Model)
	}
	for _, m := range slices.Concat(slices.Sorted(maps.Keys(c.Prices)), slices.Sorted(maps.Keys(c.Windows)), c.Sees) {
		add(m)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		for _, m := range known.Providers[c.Providers[name].Type] {
			if c.Providers[name].BaseURL == "" {
				add(name + "/" + m.ID)
			}
		}
	}
	return all
}

// Nameable are the names by which Choose takes a model, for completion.
func Nameable(known *catalog.Catalog, c config.Config) []string {
	return append([]string{config.LevelReasoningHeavy, config.LevelCapable, config.LevelFastCheap}, modelsOf(known, c)...)
}

// Known is what a configuration and the catalogue know about a model: its
// price, nil where there is none, and its window in tokens, 0 where unknown.
func Known(known *catalog.Catalog, c config.Config, ref config.ModelRef) (price *agency.Price, window int64) {
	m, ok := known.Lookup(c.Providers[ref.Provider].Type, ref.Name)
	window = m.Context
	if w := c.WindowOf(ref); w > 0 {
		window = w
	}
	if p, set := c.PriceOf(ref); set {
		return &p, window
	}
	if ok {
		p := m.Pricing()
		return &p, window
	}
	return nil, window
}

// fewModels is how many models a sentence names.
const fewModels = 5

// Unpriced says which limit holds where a run may ask models without a known price, "" where it
// asks none.
func Unpriced(known *catalog.Catalog, c config.Config) string {
	refs, err := c.RunModels()
	if err != nil {
		return "" // a start is refused for it elsewhere
	}
	var without []string
	for _, ref := range refs {
		if price, _ := Known(known, c, ref); price == nil {
			without = append(without, ref.String())
		}
	}
	if len(without) == 0 {
		return ""
	}
	money := "the limit of " + agency.USD(c.Budget.USD).String() + " does not"
	if c.Budget.DailyUSD > 0 || c.Budget.MonthlyUSD > 0 {
		money = "the limit of " + agency.USD(c.Budget.USD).String() + " and those of a day or a month do not"
	}
	return fmt.Sprintf("unpriced, for no price is known: %s: the limit of %s tokens holds its requests, %s; set prices in agency.yaml",
		text.Few(without, fewModels), agency.Count(c.Budget.Tokens), money)
}
