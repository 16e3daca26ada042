package resources

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/bounded"
	"agency/internal/budget"
	"agency/internal/config"
	"agency/internal/effects"
	"agency/internal/host"
	"agency/internal/llm"
	"agency/internal/llm/anthropic"
	"agency/internal/llm/catalog"
	"agency/internal/llm/failover"
	"agency/internal/llm/gemini"
	"agency/internal/llm/openai"
	"agency/internal/llm/rehearsal"
	"agency/internal/session"
)

// Models asks the models of runs, with the keys that clients brought. It is safe
// for concurrent use.
type Models struct {
	runs    *Runs
	known   *catalog.Catalog
	secrets *host.Secrets
	players players
}

var _ effects.Models = (*Models)(nil)

// NewModels makes Models.
func NewModels(runs *Runs, known *catalog.Catalog, secrets *host.Secrets) *Models {
	return &Models{runs: runs, known: known, secrets: secrets}
}

func (m *Models) lineup(run agency.RunID, b *resources, role agency.RoleID, level agency.Level) (out session.Lineup, err error) {
	refs, err := refsOf(b.kept().Config, role, level)
	if err != nil {
		return out, err
	}
	return m.lineupOf(run, b, refs)
}

// refsOf are the models that the sessions of a role ask, on a level or of its own. A run
// that moves up from a single agent asks none that it was not started with.
func refsOf(c config.Config, role agency.RoleID, level agency.Level) ([]config.ModelRef, error) {
	if level != "" && !c.Stands(role) {
		return c.Resolve(string(level))
	}
	if c.Mode == agency.ModeSingle {
		role = agency.RoleGeneralist
	}
	return c.ModelsOf(role)
}

// lineupOf is a list of models, in order of fallback.
func (m *Models) lineupOf(run agency.RunID, b *resources, refs []config.ModelRef) (out session.Lineup, err error) {
	var named []failover.Named
	for i, ref := range refs {
		one, err := m.model(run, b, ref)
		if err != nil {
			return out, err
		}
		patient := failover.Retry(one, failover.RetryOptions{Patience: patience(b.kept().Config.Providers[ref.Provider], i == len(refs)-1), Name: ref.String()})
		named = append(named, failover.Named{Name: ref.String(), Provider: ref.Provider, ID: ref.Name, Model: patient, Sees: Sees(m.known, b.kept().Config, ref)})
		out.Sees = out.Sees || named[len(named)-1].Sees
		out.Names = append(out.Names, ref.String())
		// The smallest window of the list counts: each may have to take the
		// conversation over.
		if _, window := host.Known(m.known, b.kept().Config, ref); window > 0 && (out.Window == 0 || window < out.Window) {
			out.Window = window
		}
		out.Output = shortest(out.Output, m.catalogued(b.kept().Config, ref).MaxOutput)
	}
	out.Model, err = failover.Fallback(named, failover.FallbackOptions{})
	return out, err
}

// How long a request waits in all for a provider that limits the rate, where nobody says so:
// for the last model of a list, and where another can be asked.
const lastPatience, earlyPatience = time.Hour, 5 * time.Minute

func patience(p config.Provider, last bool) time.Duration {
	switch {
	case p.MaxWait > 0:
		return time.Duration(p.MaxWait) * time.Minute
	case last:
		return lastPatience
	}
	return earlyPatience
}

// firstByte is how long an answer may let itself be awaited, where nobody says so: models of
// this machine read long prompts slowly.
func firstByte(p config.Provider) time.Duration {
	switch {
	case p.Header > 0:
		return time.Duration(p.Header) * time.Second
	case p.Local():
		return 10 * time.Minute
	}
	return 3 * time.Minute
}

// mostOutput is how long an answer may be at most where nobody says so, in tokens: a
// request reserves all of it.
const mostOutput = 64_000

// shortest is the shorter limit of an answer of two models; of one that is not known it is
// the default.
func shortest(a, b int64) int64 {
	if b <= 0 {
		b = llm.DefaultMaxOutput
	}
	if a > 0 {
		b = min(a, b)
	}
	return min(b, mostOutput)
}

// catalogued is what the catalogue knows of a model; the zero Model: nothing.
func (m *Models) catalogued(c config.Config, ref config.ModelRef) catalog.Model {
	known, _ := m.known.Lookup(c.Providers[ref.Provider].Type, ref.Name)
	return known
}

// Level is the first model of a run's level, and its price where it is known.
func (m *Models) Level(ctx context.Context, run agency.RunID, level agency.Level) (string, *agency.Price, error) {
	b, err := m.runs.of(ctx, run)
	if err != nil {
		return "", nil, err
	}
	refs, err := b.kept().Config.Resolve(string(level))
	if err != nil {
		return "", nil, err
	}
	price, _ := host.Known(m.known, b.kept().Config, refs[0])
	return refs[0].String(), price, nil
}

// Staff is what the sessions of a role ask, on a level or of its own models,
// and how far each may go.
func (m *Models) Staff(ctx context.Context, run agency.RunID, role agency.RoleID, level agency.Level) (out agency.Staffing, err error) {
	b, err := m.runs.of(ctx, run)
	if err != nil {
		return out, err
	}
	return StaffOf(m.known, b.kept().Config, role, level)
}

// Routing is how a run picks levels.
func (m *Models) Routing(ctx context.Context, run agency.RunID) (agency.Routing, error) {
	b, err := m.runs.of(ctx, run)
	if err != nil {
		return agency.Routing{}, err
	}
	return b.kept().Config.RoutingRules(), nil
}

// StaffOf is Staff of a configuration that no run keeps yet.
func StaffOf(known *catalog.Catalog, c config.Config, role agency.RoleID, level agency.Level) (out agency.Staffing, err error) {
	first, err := refsOf(c, role, level)
	if err != nil {
		return out, err
	}
	if c.Mode == agency.ModeSingle {
		role = agency.RoleGeneralist
	}
	may, err := c.MayAsk(role)
	if err != nil {
		return out, err
	}
	offer := func(ref config.ModelRef) agency.Offer {
		price, window := host.Known(known, c, ref)
		return agency.Offer{Model: ref.String(), Price: price, Window: window}
	}
	out.First = offer(first[0])
	for _, ref := range may {
		out.May = append(out.May, offer(ref))
	}
	a := c.Agents[string(role)]
	out.Tokens, out.Turns = sessionTokens(known, c, a, first), a.MaxTurns
	return out, nil
}

// How many tokens a session may take where nobody says so: half of the smallest window of
// its models, between these.
const leastSession, mostSession = 100_000, 200_000

func sessionTokens(known *catalog.Catalog, c config.Config, a config.Agent, refs []config.ModelRef) int64 {
	if a.MaxTokensPerSession > 0 {
		return a.MaxTokensPerSession
	}
	tokens := int64(mostSession)
	for _, ref := range refs {
		_, window := host.Known(known, c, ref)
		tokens = min(tokens, window/2)
	}
	return max(tokens, leastSession)
}

// tariff prices what answered: by the user's word on it, by that on the model
// asked for, and by the catalogue likewise. So a router is paid by what it
// chose, and a proxy by what its user says.
func tariff(known *catalog.Catalog, c config.Config) budget.Tariff {
	return func(model, reported string) (agency.Price, bool) {
		asked, err := config.ParseModel(model)
		if err != nil {
			return agency.Price{}, false
		}
		answered := config.ModelRef{Provider: asked.Provider, Name: reported}
		for _, ref := range []config.ModelRef{answered, asked} {
			if p, set := c.PriceOf(ref); set {
				return p, true
			}
		}
		for _, ref := range []config.ModelRef{answered, asked} {
			if m, ok := known.Lookup(c.Providers[asked.Provider].Type, ref.Name); ok {
				return m.Pricing(), true
			}
		}
		return agency.Price{}, false
	}
}

// Sees tells whether a model is shown pictures: by the user's word, else by the catalogue's.
func Sees(known *catalog.Catalog, c config.Config, ref config.ModelRef) bool {
	m, _ := known.Lookup(c.Providers[ref.Provider].Type, ref.Name)
	return m.Sees || slices.Contains(c.Sees, ref.String())
}

func (m *Models) model(run agency.RunID, b *resources, ref config.ModelRef) (llm.Model, error) {
	p := b.kept().Config.Providers[ref.Provider]
	if p.Type == "rehearsal" {
		player, err := m.players.get(run, ref.Provider, b.repo, p.Script)
		if err != nil {
			return nil, err
		}
		return rehearsal.NewModel(ref.Provider, player, rehearsal.ModelOptions{}), nil
	}
	key, err := m.key(run, ref.Provider, p)
	if err != nil {
		return nil, err
	}
	opts := llm.Options{
		Name: ref.Provider, BaseURL: p.BaseURL, APIKey: key, KeyEnv: p.APIKey.Env(),
		HTTP: llm.HTTPOptions{Proxy: http.ProxyFromEnvironment, FirstByte: firstByte(p), Idle: time.Duration(p.Idle) * time.Second},
	}
	switch p.Type {
	case "openai":
		if p.API == "responses" {
			return openai.NewResponses(opts), nil
		}
		return openai.New(opts), nil
	case "anthropic":
		return anthropic.New(opts, thinking(m.catalogued(b.kept().Config, ref), p.Thinking)), nil
	case "gemini":
		return gemini.New(opts), nil
	}
	return nil, agency.Errorf(agency.KindInvalid, "provider %s: type %s: not in this version", ref.Provider, p.Type)
}

// defaultThinking is how many tokens of an answer a model may think that is told so, where
// nobody says how many.
const defaultThinking = 16_000

// thinking is how a model is told to think, by the catalogue and the user's number.
func thinking(m catalog.Model, tokens int) anthropic.Thinking {
	switch {
	case tokens < 0:
		return anthropic.Thinking{}
	case m.Thinking == catalog.ThinksFreely: // which refuses a number
		return anthropic.Thinking{Adaptive: true}
	case tokens > 0:
		return anthropic.Thinking{Budget: int64(tokens)}
	case m.Thinking == catalog.ThinksByBudget:
		return anthropic.Thinking{Budget: defaultThinking}
	}
	return anthropic.Thinking{}
}

// key is a provider's key as a client brought it. Without one the run is left
// interrupted until a client comes that has it.
func (m *Models) key(run agency.RunID, name string, p config.Provider) (string, error) {
	if p.APIKey == config.NoKey || p.APIKey == "" {
		return "", nil
	}
	if key, ok := m.secrets.Key(run, name); ok {
		return key, nil
	}
	err := agency.Errorf(agency.KindTransient, "the host has no key for the provider %s", name)
	if env := p.APIKey.Env(); env != "" {
		return "", err.WithMend("export %s=KEY; agency resume %s", env, run)
	}
	return "", err.WithMend("agency resume %s", run)
}

// players keeps one rehearsal player a run and provider, so that a fault that
// a script plays once is played once.
type players struct {
	mu   sync.Mutex
	have map[string]*rehearsal.Player
}

func (p *players) get(run agency.RunID, provider, repo, script string) (*rehearsal.Player, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := string(run) + "\x00" + provider
	if have := p.have[key]; have != nil {
		return have, nil
	}
	s, err := readScript(repo, script)
	if err != nil {
		return nil, err
	}
	if p.have == nil {
		p.have = map[string]*rehearsal.Player{}
	}
	p.have[key] = rehearsal.NewPlayer(s)
	return p.have[key], nil
}

func readScript(repo, script string) (*rehearsal.Script, error) {
	if script == "" {
		return rehearsal.Default()
	}
	if !filepath.IsAbs(script) {
		script = filepath.Join(repo, script)
	}
	b, err := bounded.ReadAt(script, rehearsal.MaxScript)
	if err != nil {
		return nil, agency.Errorf(agency.KindInvalid, "rehearsal script: %w", err).WithMend("set providers.NAME.script to a file that exists")
	}
	s, err := rehearsal.Parse(script, b)
	if err != nil {
		return nil, fmt.Errorf("rehearsal script: %w", err)
	}
	return s, nil
}
