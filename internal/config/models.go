package config

import (
	"slices"
	"strings"
	"unicode"

	"agency/internal/agency"
)

// ModelRef names a model of a provider.
type ModelRef struct {
	Provider string `json:"provider"`
	Name     string `json:"name"` // everything after the first '/'
}

// String is provider/model.
func (r ModelRef) String() string { return r.Provider + "/" + r.Name }

// ParseModel splits provider/model at the first '/'. Its error is
// KindInvalid.
func ParseModel(s string) (ModelRef, error) {
	provider, name, ok := strings.Cut(s, "/")
	if !ok || provider == "" || name == "" || strings.ContainsAny(s, " \t\r\n") {
		return ModelRef{}, agency.Errorf(agency.KindInvalid, "model %q: want provider/model, for instance anthropic/claude-sonnet-4-5", s)
	}
	return ModelRef{Provider: provider, Name: name}, nil
}

// IsLevel tells whether s is a capability level.
func IsLevel(s string) bool {
	return s == LevelReasoningHeavy || s == LevelCapable || s == LevelFastCheap
}

// Resolve turns a capability level into its list of fallback and a
// provider/model into a list of one. Its error is KindInvalid.
func (c Config) Resolve(levelOrModel string) ([]ModelRef, error) {
	names := []string{levelOrModel}
	if IsLevel(levelOrModel) {
		names = c.Models[levelOrModel]
	}
	refs := make([]ModelRef, 0, len(names))
	for _, n := range names {
		r, err := ParseModel(n)
		if err != nil {
			return nil, err
		}
		if _, ok := c.Providers[r.Provider]; !ok {
			return nil, agency.Errorf(agency.KindInvalid, "model %s: no provider %q in the configuration", n, r.Provider).
				WithMend("add it under providers: in agency.yaml")
		}
		refs = append(refs, r)
	}
	if len(refs) == 0 {
		return nil, agency.Errorf(agency.KindInvalid, "no model for the level %s", levelOrModel).
			WithMend("add one under models: in agency.yaml")
	}
	return refs, nil
}

// ModelsOf is the list of fallback of a role's model.
func (c Config) ModelsOf(role agency.RoleID) ([]ModelRef, error) {
	a, ok := c.Agents[string(role)]
	if !ok {
		return nil, agency.Errorf(agency.KindInvalid, "no role %q", role)
	}
	return c.Resolve(a.Model)
}

// RunModels are the models that a run of this configuration may ask: those of
// the roles of its mode, who begins it first, then those of the overseer. A run
// of mode single that moves up stays with the generalist's.
func (c Config) RunModels() ([]ModelRef, error) {
	var refs []ModelRef
	for _, role := range rolesOf(c.Mode) {
		more, err := c.MayAsk(role)
		if err != nil {
			return refs, err
		}
		refs = union(refs, more)
	}
	if c.Overseer.Enabled && c.Overseer.Model != "" {
		more, err := c.Resolve(c.Overseer.Model)
		if err != nil {
			return refs, err
		}
		refs = union(refs, more)
	}
	if ref, wanted := c.Embeddings(); wanted {
		refs = union(refs, []ModelRef{ref})
	}
	return refs, nil
}

// Embeddings is the model by which searches find code by its meaning; false: they do not.
func (c Config) Embeddings() (ModelRef, bool) {
	ref, err := ParseModel(c.Context.EmbeddingsModel)
	return ref, err == nil && c.Context.VectorSearch
}

func union(refs, more []ModelRef) []ModelRef {
	for _, ref := range more {
		if !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// MayAsk are the models that a role's sessions may ask: its own, and, where
// its contracts are routed, those of every level.
func (c Config) MayAsk(role agency.RoleID) ([]ModelRef, error) {
	refs, err := c.ModelsOf(role)
	if err != nil || !slices.Contains(c.Routed(), role) {
		return refs, err
	}
	for _, level := range levels() {
		more, err := c.Resolve(level)
		if err != nil {
			return refs, err
		}
		refs = union(refs, more)
	}
	return refs, nil
}

// Routed are the roles for whose contracts a level is picked: none in mode
// single, where the levels do not differ, or where each role has its model.
func (c Config) Routed() []agency.RoleID {
	if c.Mode == agency.ModeSingle || c.Routing.Strategy == agency.RouteFixed {
		return nil
	}
	same := true
	for _, level := range levels() {
		same = same && slices.Equal(c.Models[level], c.Models[LevelCapable])
	}
	var out []agency.RoleID
	for _, role := range rolesOf(c.Mode) {
		if !same && slices.Contains(c.Routing.Roles, string(role)) {
			out = append(out, role)
		}
	}
	return out
}

// Stands tells whether a person has said which model a role asks, whatever level is
// picked for its contracts.
func (c Config) Stands(role agency.RoleID) bool {
	a, ok := c.Agents[string(role)]
	return ok && !IsLevel(a.Model) && !slices.Contains(c.Routing.Roles, string(role))
}

// MovesUpBy are the triggers that may move a run of one agent up.
func (c Config) MovesUpBy() []string {
	if c.Escalate == EscalateNever {
		return nil
	}
	return c.Triggers
}

// What a person allows of moves to another mode.
const (
	EscalateAsk   = "ask"
	EscalateNever = "never"
)

// RoutingRules are how a run of this configuration picks the level of a
// contract.
func (c Config) RoutingRules() agency.Routing {
	roles := c.Routed()
	if roles == nil {
		return agency.Routing{}
	}
	r := c.Routing
	return agency.Routing{Strategy: r.Strategy, Roles: roles, Bounds: agency.Bounds{
		SimpleFiles: r.SimpleMaxFiles, ComplexFiles: r.ComplexMinFiles,
		SimpleCriteria: r.SimpleMaxCriteria, ComplexCriteria: r.ComplexMinCriteria,
	}}
}

// QualityRules are what the quality score of a run is judged by; nil where it has none.
func (c Config) QualityRules() *agency.QualityRules {
	q := c.Quality
	if !q.Enabled {
		return nil
	}
	r := &agency.QualityRules{Block: q.BlockOnLowScore, Least: map[agency.Dimension]float64{
		agency.Overall: float64(q.MinOverallScore), agency.Correctness: float64(q.MinCorrectnessScore), agency.Security: float64(q.MinSecurityScore),
	}}
	for _, d := range []struct {
		of agency.Dimension
		on bool
	}{
		{agency.Security, q.Analyzers.Security},
		{agency.Readability, q.Analyzers.Readability},
		{agency.Maintainability, q.Analyzers.Maintainability},
		{agency.Performance, q.Analyzers.Performance},
	} {
		if !d.on {
			r.Off = append(r.Off, d.of)
		}
	}
	return r
}

// rolesOf are the roles that may work in a run of a mode.
func rolesOf(m agency.Mode) []agency.RoleID {
	switch m {
	case agency.ModeTiered:
		return []agency.RoleID{agency.RoleVisionary, agency.RoleLead, agency.RoleArchitect, agency.RoleSquadLead, agency.RoleImplementer, agency.RoleVerifier}
	case agency.ModeMultiAgent, agency.ModeFull:
		return []agency.RoleID{agency.RoleGeneralist, agency.RoleProjectManager, agency.RoleScaffolder, agency.RoleTestEngineer, agency.RoleCleanup, agency.RoleReviewer}
	case agency.ModeProducerCritic:
		return []agency.RoleID{agency.RoleGeneralist, agency.RoleProjectManager, agency.RoleReviewer}
	case agency.ModeContract:
		return []agency.RoleID{agency.RoleGeneralist, agency.RoleProjectManager}
	default:
		return []agency.RoleID{agency.RoleGeneralist}
	}
}

// TalentFor is the talent of a role's session over work of a domain; empty: none.
func (c Config) TalentFor(role agency.RoleID, domain string) string {
	a := c.Agents[string(role)]
	fits := ""
	for _, word := range append(strings.FieldsFunc(strings.ToLower(domain), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), strings.ToLower(domain)) {
		for key := range a.Talents {
			if strings.EqualFold(key, word) && (len(key) > len(fits) || len(key) == len(fits) && key < fits) {
				fits = key
			}
		}
	}
	if fits == "" {
		return a.Talent
	}
	return a.Talents[fits]
}

// WindowOf is the configured context window of a model in tokens; 0 where the
// file has none and the catalogue decides.
func (c Config) WindowOf(r ModelRef) int64 { return int64(c.Windows[r.String()]) }

// ProvidersOf are the distinct providers of a list of models, in its order.
func ProvidersOf(refs []ModelRef) []string {
	var names []string
	seen := map[string]bool{}
	for _, r := range refs {
		if !seen[r.Provider] {
			seen[r.Provider] = true
			names = append(names, r.Provider)
		}
	}
	return names
}

// PriceOf is the configured price of a model; ok is false where the file has
// none and the catalogue decides.
func (c Config) PriceOf(r ModelRef) (agency.Price, bool) {
	p, ok := c.Prices[r.String()]
	return agency.Price{In: p.In, CachedIn: p.CachedIn, Out: p.Out}, ok
}
