package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// complete fills in what depends on more than one key.
func (s *state) complete(in Input) {
	for name, p := range s.config.Prices {
		if _, own := s.origins["prices."+name+".cached_in"]; !own {
			p.CachedIn = p.In // never cheaper than known: a cap must hold
			s.config.Prices[name] = p
		}
	}
	if s.modelsIn {
		s.fillLevels()
	} else {
		s.chooseModels(in)
	}
	if _, own := s.origins["routing.roles"]; !own {
		s.config.Routing.Roles = slices.DeleteFunc(slices.Clone(s.config.Routing.Roles), func(role string) bool {
			_, own := s.origins["agents."+role+".model"] // said by a person: it stands
			return own
		})
	}
	s.resolveReads(in)
}

// chooseModels takes the catalogue's models of the first provider whose key
// is set. Where none is, the default stays and says at its use what to set.
func (s *state) chooseModels(in Input) {
	for _, name := range []string{"anthropic", "openai", "google"} {
		p, ok := s.config.Providers[name]
		if !ok || p.APIKey == "" || p.APIKey == NoKey {
			continue
		}
		if _, unset := s.secret(name, p, in.Env); len(unset) > 0 {
			continue
		}
		if len(in.Catalogue[name]) == 0 {
			continue
		}
		models := map[string][]string{}
		for level, names := range in.Catalogue[name] {
			for _, n := range names {
				models[level] = append(models[level], name+"/"+n)
			}
			s.origins["models."+level] = Origin{Layer: LayerCatalogue, File: name}
		}
		s.config.Models = models
		s.fillLevelsFrom(models)
		return
	}
}

// fillLevels gives the levels that no file names the models of the nearest
// level that one does: a user who names one model means that model, not one
// of a provider without a key.
func (s *state) fillLevels() {
	given := map[string][]string{}
	for _, level := range levels() {
		if _, ok := s.origins["models."+level]; ok {
			given[level] = s.config.Models[level]
		}
	}
	if len(given) > 0 {
		s.fillLevelsFrom(given)
	}
}

func (s *state) fillLevelsFrom(given map[string][]string) {
	all := levels()
	for i, level := range all {
		if _, ok := given[level]; ok {
			continue
		}
		near := slices.Clone(all)
		slices.SortStableFunc(near, func(a, b string) int {
			return abs(slices.Index(all, a)-i) - abs(slices.Index(all, b)-i)
		})
		for _, n := range near {
			if models, ok := given[n]; ok {
				s.config.Models[level] = slices.Clone(models)
				s.origins["models."+level] = s.origins["models."+n]
				break
			}
		}
	}
}

func abs(i int) int { return max(i, -i) }

// secret is the text of a provider's key, and the variables it lacks.
func (s *state) secret(name string, p Provider, env Env) (string, []string) {
	switch {
	case p.APIKey == NoKey:
		return string(NoKey), nil
	case p.APIKey == Literal:
		return expand(s.raw["providers."+name+".api_key"], env)
	default:
		return expand(string(p.APIKey), env)
	}
}

// resolveReads makes the paths of sandbox.read absolute and drops those whose
// variable is not set: an unset variable is an error only for a model.
func (s *state) resolveReads(in Input) {
	var out []string
	for _, p := range s.config.Sandbox.Read {
		if _, unset := expand(p, in.Env); len(unset) > 0 {
			s.warnings = append(s.warnings, Warning{
				Origin: s.origins["sandbox.read"],
				Text:   fmt.Sprintf("%s is not set, so %s cannot be read", unset[0], p),
			})
			continue
		}
		out = append(out, absolute(p, in))
	}
	s.config.Sandbox.Read = append([]string{}, out...)
}

func absolute(p string, in Input) string {
	switch {
	case strings.HasPrefix(p, "~/") && in.Home != "":
		return filepath.Join(in.Home, p[2:])
	case strings.HasPrefix(p, "~/"), filepath.IsAbs(p), in.Repo == "":
		return filepath.Clean(p)
	default:
		return filepath.Join(in.Repo, p)
	}
}
