package config

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"agency/internal/agency"
)

// Secret is a setting that may hold a key. A Config that Load returned holds
// never the key itself, only how to find it: "" (none given), "none" (none
// wanted), "${NAME}" (in the client's environment) or Literal (written in a
// file of the client's). The texts themselves stay in Loaded.
type Secret string

// Values of a Secret that are no reference.
const (
	NoKey   Secret = "none"
	Literal Secret = "(literal)"
)

// Env is the environment variable that a secret names, or "".
func (s Secret) Env() string { return pureRef(string(s)) }

// MarshalJSON writes a reference as it is and never a literal.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(string(s.safe())) }

// String prints like MarshalJSON, so that a stray %v leaks nothing.
func (s Secret) String() string { return string(s.safe()) }

// GoString does the same for %#v.
func (s Secret) GoString() string { return string(s.safe()) }

func (s Secret) safe() Secret {
	switch {
	case s == "", s == NoKey, s == Literal, s.Env() != "":
		return s
	}
	return Literal
}

// Secrets expands the keys of the named providers from the environment, for
// the host to hold in memory. An unset ${NAME} is KindInvalid and names the
// variable; so is a repository's file that needs trust and has none.
func (l *Loaded) Secrets(providers []string) (map[string]string, error) {
	return l.SecretsFor(l.Config, providers)
}

// SecretsFor does the same for the providers as a run's copy has them: a
// client that resumes or answers brings the keys that the copy names. A key
// written in a file is taken from the provider of the same name in the
// client's own configuration.
func (l *Loaded) SecretsFor(run Config, providers []string) (map[string]string, error) {
	if err := l.untrusted(); err != nil {
		return nil, err
	}
	secrets := map[string]string{}
	for _, name := range providers {
		p, ok := run.Providers[name]
		if !ok {
			return nil, agency.Errorf(agency.KindInvalid, "config: no provider %q", name).
				WithMend("add it under providers: in agency.yaml")
		}
		if err := l.providerReady(name, p); err != nil {
			return nil, err
		}
		value, unset := l.state.secret(name, p, l.env)
		switch {
		case len(unset) > 0:
			return nil, l.unset(name, "api_key", unset[0])
		case value == "" && p.Type != "rehearsal":
			return nil, agency.Errorf(agency.KindInvalid, "config: provider %s has no api_key", name).
				WithMend("set providers.%s.api_key in your own file, or write none where the server wants no key", name)
		case value != "" && value != string(NoKey):
			secrets[name] = value
		}
	}
	l.announcing(run, secrets)
	return secrets, nil
}

// NotifyKey names one of the secrets of notify[i], url or secret, among those that a
// client brings.
func NotifyKey(i int, field string) string { return fmt.Sprintf("notify[%d].%s", i, field) }

// announcing adds what a run's places to announce to hold, as far as it is known here. What
// is written in a file is that of the same place in the client's own configuration.
func (l *Loaded) announcing(run Config, secrets map[string]string) {
	for i, n := range run.Notify {
		same := i < len(l.Config.Notify) && bindOf(l.Config.Notify[i].bound()) == bindOf(n.bound())
		for field, have := range map[string]Secret{"url": n.URL, "secret": n.Secret} {
			key, written := NotifyKey(i, field), string(have)
			if same {
				written = l.state.raw[key]
			}
			value, unset := expand(written, l.env)
			if value != "" && len(unset) == 0 && value != string(Literal) {
				secrets[key] = value
			}
		}
	}
}

// wellKnown are the variables that hold keys of the providers that the defaults
// name, and their usual other names.
var wellKnown = []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"}

// WellKnownKeys are the keys that an environment has under the usual names.
func WellKnownKeys(env Env) []string {
	var out []string
	for _, name := range wellKnown {
		if text, ok := env(name); ok && text != "" {
			out = append(out, text)
		}
	}
	return out
}

// Hidden are all secrets that this configuration and environment know, whether
// a run needs them or not, so that the host writes none of them anywhere. What
// a repository's file names counts only once it is trusted.
func (l *Loaded) Hidden() []string {
	found := map[string]bool{}
	add := func(text string) {
		if text != "" && text != string(NoKey) && !strings.Contains(text, "${") {
			found[text] = true
		}
	}
	for _, text := range WellKnownKeys(l.env) {
		add(text)
	}
	if l.untrusted() != nil {
		return sortedKeys(found)
	}
	for name, p := range l.Config.Providers {
		if text, unset := l.state.secret(name, p, l.env); len(unset) == 0 {
			add(text)
		}
	}
	for key, raw := range l.state.raw {
		if !strings.HasPrefix(key, "notify[") && key != "store.url" && !strings.HasSuffix(key, ".api_key") {
			continue
		}
		for _, ref := range anyForm.FindAllString(raw, -1) { // a part of an address is a secret of its own
			text, _ := expand(ref, l.env)
			add(text)
		}
		text, _ := expand(raw, l.env)
		if u, err := url.Parse(text); err == nil && u.User != nil {
			password, _ := u.User.Password()
			add(password)
		}
		add(text)
	}
	return sortedKeys(found)
}

// providerReady refuses what an unset variable left open.
func (l *Loaded) providerReady(name string, p Provider) error {
	for field, value := range map[string]string{"base_url": p.BaseURL, "script": p.Script} {
		if _, unset := expand(value, l.env); len(unset) > 0 {
			return l.unset(name, field, unset[0])
		}
	}
	return nil
}

func (l *Loaded) unset(provider, field, variable string) error {
	where := ""
	if o := l.Origin("providers." + provider + "." + field); o.Line > 0 {
		where = fmt.Sprintf("%s:%d:%d: ", o.File, o.Line, o.Col)
	}
	mend := "export " + variable + "=..."
	if o := l.state.nearest([]string{"models"}); !l.state.modelsIn && o.Layer == LayerDefault {
		mend += ", or OPENAI_API_KEY for OpenAI, or name your own under models: in agency.yaml"
	}
	return agency.Errorf(agency.KindInvalid, "config: %sproviders.%s.%s: %s is not set", where, provider, field, variable).
		WithMend("%s", mend)
}
