package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/text"

	"agency/internal/agency"
)

// checker looks at the effective values for what no single key can show.
type checker struct {
	state  *state
	texts  map[string]*lines
	faults *collector
	in     Input
}

func (l *Loaded) check(in Input, c *collector) {
	ch := &checker{state: l.state, texts: l.texts, faults: c, in: in}
	ch.limits()
	ch.raised()
	ch.ownOnly()
	ch.contradictions()
	ch.needs()
	for _, name := range sortedKeys(l.state.config.Providers) {
		ch.provider(name, l.state.config.Providers[name])
	}
	ch.models()
	ch.reads()
	for _, name := range sortedKeys(l.state.config.MCP) {
		ch.server(name, l.state.config.MCP[name])
	}
	for i, n := range l.state.config.Notify {
		ch.notify(i, n)
	}
	ch.store()
}

// fault reports at the first of the keys that a file sets, or at the mapping
// that one of them stands in.
func (ch *checker) fault(format string, args []any, keys ...string) {
	o := ch.state.nearest(keys)
	t := ch.texts[o.File]
	if t == nil || o.Line == 0 {
		t = &lines{path: o.File}
	}
	ch.faults.add(t, o.Line, o.Col, format, args...)
}

// nearest is the origin of the strongest layer among keys: of two values that
// contradict each other the later one is at fault.
func (s *state) nearest(keys []string) Origin {
	rank := map[Layer]int{LayerDefault: 0, LayerCatalogue: 1, LayerUser: 2, LayerTeam: 3, LayerRepo: 4, LayerProfile: 5, LayerFlag: 6}
	best := Origin{Layer: LayerDefault}
	for _, k := range keys {
		for ; k != ""; k = parent(k) {
			if o, ok := s.origins[k]; ok {
				if rank[o.Layer] > rank[best.Layer] || o.Layer == best.Layer && o.Line > best.Line {
					best = o
				}
				break
			}
		}
	}
	return best
}

func parent(key string) string {
	if i := strings.LastIndexAny(key, ".["); i > 0 {
		return key[:i]
	}
	return ""
}

// order faults when a is not below b.
func (ch *checker) order(strict bool, aKey string, a int64, bKey string, b int64) {
	if a < b || !strict && a == b {
		return
	}
	word := "at most"
	if strict {
		word = "less than"
	}
	ch.fault("%s (%d) must be %s %s (%d)", []any{aKey, a, word, bKey, b}, aKey, bKey)
}

func (ch *checker) limits() {
	c := ch.state.config
	r, o := c.Routing, c.Overseer
	ch.order(true, "routing.simple_max_files", int64(r.SimpleMaxFiles), "routing.complex_min_files", int64(r.ComplexMinFiles))
	ch.order(true, "routing.simple_max_criteria", int64(r.SimpleMaxCriteria), "routing.complex_min_criteria", int64(r.ComplexMinCriteria))
	ch.order(false, "overseer.token_warning_threshold", o.TokenWarningThreshold, "overseer.max_tokens", o.MaxTokens)
	for _, role := range sortedKeys(c.Agents) {
		a, key := c.Agents[role], "agents."+role
		if a.MaxTokensPerSession > 0 {
			ch.order(false, key+".max_tokens", int64(a.MaxTokens), key+".max_tokens_per_session", a.MaxTokensPerSession)
		}
	}
	severities := []string{"low", "medium", "high", "critical"}
	if slices.Index(severities, o.WarnThreshold) > slices.Index(severities, o.ForceStopThreshold) {
		ch.fault("overseer.warn_threshold (%s) must not be above overseer.force_stop_threshold (%s)",
			[]any{o.WarnThreshold, o.ForceStopThreshold}, "overseer.warn_threshold", "overseer.force_stop_threshold")
	}
}

// raised warns of a repository that may spend more than the defaults where the
// user's own file says nothing: it needs no trust, but a person should see it.
func (ch *checker) raised() {
	now, usual := ch.state.config.Budget.limits(), Defaults().Budget.limits()
	for _, key := range budgetKeys {
		if by := ch.state.origins[key].Layer; now[key] > usual[key] && (by == LayerRepo || by == LayerTeam) {
			ch.warn(key, "the repository raises it above the default; your own limit, set in your own file, would need your trust to be passed")
		}
	}
}

func (ch *checker) contradictions() {
	c := ch.state.config
	if c.ProducerCritic.RequirePerfect && c.ProducerCritic.AllowMajorIssuesOnApproval {
		ch.fault("producer_critic.require_perfect and allow_major_issues_on_approval contradict each other", nil,
			"producer_critic.require_perfect", "producer_critic.allow_major_issues_on_approval")
	}
	if halts, set := "overseer.halt_on_critical", ch.state.origins["overseer.halt_on_critical"]; set.Line > 0 && c.Overseer.HaltOnCritical && !c.Overseer.Enabled {
		ch.fault("overseer.halt_on_critical is true, and nothing is halted while overseer.enabled is false: set one of them otherwise", nil, halts)
	}
	if c.Improve.AutoApproveLowRisk && c.Improve.RequireHumanApproval {
		ch.fault("improve.auto_approve_low_risk and require_human_approval contradict each other: set the second to false", nil,
			"improve.auto_approve_low_risk", "improve.require_human_approval")
	}
}

// needs faults commands that need what is not there.
func (ch *checker) needs() {
	c := ch.state.config
	for _, command := range sortedKeys(c.Commands.Needs) {
		for i, name := range c.Commands.Needs[command] {
			if c.Resources[name] > 0 {
				continue
			}
			key := fmt.Sprintf("commands.needs.%s", command)
			known := "there are none; set resources: {" + name + ": 1}"
			if names := sortedKeys(c.Resources); len(names) > 0 {
				known = "those of resources are " + strings.Join(names, ", ")
			}
			ch.fault("%s: no resource %s%s: %s", []any{key, clip(name), text.Suggestion(name, sortedKeys(c.Resources)), known}, fmt.Sprintf("%s[%d]", key, i))
		}
	}
}

// minThinking is the smallest budget for thinking that Anthropic takes.
const minThinking = 1024

func (ch *checker) provider(name string, p Provider) {
	key := "providers." + name
	only := func(field, value, typ string) {
		if value != "" && p.Type != typ {
			ch.fault("%s.%s: only type %s has it, not %s", []any{key, field, typ, p.Type}, key+"."+field)
		}
	}
	only("api", p.API, "openai")
	only("script", p.Script, "rehearsal")
	if p.Thinking != 0 {
		only("thinking_tokens", "set", "anthropic")
		if p.Thinking > 0 && p.Thinking < minThinking {
			ch.fault("%s.thinking_tokens: the provider takes no less than %d", []any{key, minThinking}, key+".thinking_tokens")
		}
	}
	if p.Type == "rehearsal" {
		if p.BaseURL != "" {
			ch.fault("%s.base_url: type rehearsal is in the program itself and has no address", []any{key}, key+".base_url")
		}
		if p.APIKey != "" && p.APIKey != NoKey {
			ch.fault("%s.api_key: type rehearsal needs no key", []any{key}, key+".api_key")
		}
	}
	raw := ch.state.raw[key+".api_key"]
	o := ch.state.origins[key+".api_key"]
	if raw != strings.TrimSpace(raw) {
		ch.fault("%s.api_key begins or ends with a space", []any{key}, key+".api_key")
	}
	if p.APIKey == Literal && o.Layer == LayerRepo && !loopback(p.BaseURL) {
		ch.warn(key+".api_key", "a key in a file that is committed is read by everyone who has the repository: write ${NAME}, or move it to your own file")
	}
	if strings.HasPrefix(p.BaseURL, "http://") && !loopback(p.BaseURL) && p.APIKey != NoKey && p.APIKey != "" {
		ch.warn(key+".base_url", "the key and the code travel to "+p.BaseURL+" unencrypted")
	}
}

func (ch *checker) warn(key, text string) {
	ch.state.warnings = append(ch.state.warnings, Warning{Text: text, Origin: ch.state.nearest([]string{key})})
}

func loopback(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	if u.Hostname() == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(u.Hostname())
	return err == nil && a.IsLoopback()
}

// Local tells whether a provider is asked at an address of this machine.
func (p Provider) Local() bool { return loopback(p.BaseURL) }

func (ch *checker) models() {
	c := ch.state.config
	names := sortedKeys(c.Providers)
	known := func(key, model string) {
		ref, err := ParseModel(model)
		if err != nil || IsLevel(model) {
			return // said where it was read
		}
		if _, ok := c.Providers[ref.Provider]; !ok {
			ch.fault("%s: no provider %s for %s%s", []any{key, clip(ref.Provider), clip(model), text.Suggestion(ref.Provider, names)}, key)
		}
	}
	for _, level := range sortedKeys(c.Models) {
		if len(c.Models[level]) == 0 {
			ch.fault("models.%s is empty: name a model, or leave the key out", []any{level}, "models."+level)
		}
		for i, m := range c.Models[level] {
			known(fmt.Sprintf("models.%s[%d]", level, i), m)
		}
	}
	for _, role := range sortedKeys(c.Agents) {
		key := "agents." + role + ".model"
		if c.Agents[role].Model == "" {
			ch.fault("%s is empty: name a capability level or provider/model", []any{key}, key)
		}
		known(key, c.Agents[role].Model)
	}
	known("overseer.model", c.Overseer.Model)
	ch.embeddings(known)
	for _, m := range sortedKeys(c.Prices) {
		ref, err := ParseModel(m)
		if _, ok := c.Providers[ref.Provider]; err == nil && !ok {
			ch.warn("prices."+m, fmt.Sprintf("a price for %s, but no provider %s%s", m, ref.Provider, text.Suggestion(ref.Provider, names)))
		}
	}
}

// embeddings is the model of vector search, which asks over OpenAI's wire.
func (ch *checker) embeddings(known func(key, model string)) {
	const key = "context.embeddings_model"
	c := ch.state.config
	if c.Context.EmbeddingsModel == "" {
		if c.Context.VectorSearch {
			ch.fault("context.vector_search needs %s: name provider/model", []any{key}, "context.vector_search", key)
		}
		return
	}
	known(key, c.Context.EmbeddingsModel)
	ref, err := ParseModel(c.Context.EmbeddingsModel)
	if p, ok := c.Providers[ref.Provider]; err == nil && ok && p.Type != "openai" {
		ch.fault("%s: provider %s is of type %s, and embeddings are asked of type openai", []any{key, ref.Provider, p.Type}, key)
	}
}

// reads keeps out of the sandbox what must stay hidden, by its name; where a path
// leads is looked at when it is shown.
func (ch *checker) reads() {
	var sight agency.Sight
	if ch.in.Home != "" {
		sight.Homes = []string{filepath.ToSlash(ch.in.Home)}
	}
	if ch.in.State != "" {
		sight.Own = []string{filepath.ToSlash(ch.in.State)}
	}
	for _, p := range ch.state.config.Sandbox.Read {
		if why := sight.Refuses(filepath.ToSlash(p), agency.NamedByUser); why != "" {
			ch.fault("sandbox.read: %s %s", []any{clip(p), why}, "sandbox.read")
		}
	}
}

func (ch *checker) server(name string, m MCP) {
	key := "mcp." + name
	switch {
	case len(m.Command) == 0 && m.URL == "":
		ch.fault("%s has neither command nor url", []any{key}, key)
	case len(m.Command) > 0 && m.URL != "":
		ch.fault("%s has both command and url", []any{key}, key)
	case len(m.Command) > 0 && strings.TrimSpace(m.Command[0]) == "":
		ch.fault("%s.command names no program", []any{key}, key+".command")
	case len(name) > 32 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "":
		ch.fault("%s: the name stands in those of its tools: want at most 32 of a-z, 0-9 and -", []any{key}, key)
	case m.URL != "":
		ch.serverURL(key+".url", m.URL)
	}
}

// serverURL refuses an address over which what is said can be read on the way.
func (ch *checker) serverURL(key, raw string) {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Hostname() == "":
		ch.fault("%s is no address of a server", []any{key}, key)
	case u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())):
		ch.fault("%s: want https, or http on this machine", []any{key}, key)
	}
}

// isLoopback tells whether a host is this machine, by its words alone.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func (ch *checker) notify(i int, n Notify) {
	key := fmt.Sprintf("notify[%d]", i)
	raw := ch.state.raw[key+".url"]
	switch {
	case n.Type == "desktop" && (raw != "" || len(n.To) > 0):
		ch.fault("%s: type desktop has neither url nor to", []any{key}, key+".url", key+".to")
	case n.Type != "desktop" && raw == "":
		ch.fault("%s: type %s needs a url", []any{key, n.Type}, key+".type")
	case n.Type == "email" && len(n.To) == 0:
		ch.fault("%s: type email needs to: a list of addresses", []any{key}, key+".type")
	case n.Type != "email" && len(n.To) > 0:
		ch.fault("%s.to: only type email has it", []any{key}, key+".to")
	case n.Type != "email" && n.From != "":
		ch.fault("%s.from: only type email has it", []any{key}, key+".from")
	case n.Type != "webhook" && n.Secret != "":
		ch.fault("%s.secret: only type webhook has it", []any{key}, key+".secret")
	}
	ch.scheme(key+".url", raw, map[string][]string{"email": {"smtp", "smtps"}, "webhook": {"https", "http"}, "slack": {"https", "http"}}[n.Type])
	ch.plain(key, raw, n)
}

// plain refuses a place on another machine to which messages would travel unencrypted.
func (ch *checker) plain(key, raw string, n Notify) {
	u, err := url.Parse(raw)
	if err == nil && u.Scheme == "http" && (n.Type == "webhook" || n.Type == "slack") && !n.Insecure && !isLoopback(u.Hostname()) && !strings.Contains(u.Host, "${") {
		ch.fault("%s.url: http:// only to this machine: write https://, or insecure: true", []any{key}, key+".url")
	}
}

func (ch *checker) store() {
	ch.scheme("store.url", ch.state.raw["store.url"], []string{"postgres", "postgresql"})
}

// scheme checks an address that may hold a secret, without showing it.
func (ch *checker) scheme(key, raw string, schemes []string) {
	if raw == "" || len(schemes) == 0 || strings.Contains(raw, "${") {
		return
	}
	u, err := url.Parse(raw)
	if err != nil || !slices.Contains(schemes, u.Scheme) || u.Hostname() == "" {
		ch.fault("%s must be an address that begins with %s://", []any{key, schemes[0]}, key)
	}
}
