package config

import "net/url"

// Ordinary are the names of a configuration that everybody may read, and of
// which therefore no secret is made: providers, their hosts, models, and the
// branches' prefix.
func (c Config) Ordinary() []string {
	out := []string{c.BranchPrefix}
	for name, p := range c.Providers {
		out = append(out, name)
		if u, err := url.Parse(p.BaseURL); err == nil {
			out = append(out, u.Host)
		}
	}
	for _, models := range c.Models {
		out = append(out, models...)
	}
	for _, a := range c.Agents {
		out = append(out, a.Model)
	}
	return out
}
