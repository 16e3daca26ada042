package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"agency/internal/agency"
)

// Security is the part of a configuration that decides what a run may reach,
// with references unexpanded and secrets in the clear: it is compared and
// hashed, never stored or shown.
type Security struct {
	Sandbox    Sandbox
	Providers  map[string]Provider
	Notify     []Notify
	VCS        VCS
	MCP        map[string]MCP
	Store      Store
	Budget     map[string]float64 // those that a file sets, by key
	Resources  map[string]int
	Prices     map[string]Price     // cached_in filled in
	Guards     map[string]string    // those that a file sets, by key
	Runtimes   map[string]string    // by role
	Languages  string               // whether language servers are started
	AgentFiles map[string]AgentFile // by slash path
	closed     map[string]setting   // all else that is not harmless, by dotted key
}

// Widening is one setting that reaches further than the user's own.
type Widening struct {
	Key  string // dotted, or the path of an agent file
	Have string // the user's value, secrets masked
	Want string // the repository's value, secrets masked
	Line int    // in the repository's file; 0 for a file of its own
	col  int
	bind string // the exact value, which the trust is bound to
}

// String is the line that `agency trust` shows: one line, whatever a repository writes.
func (w Widening) String() string {
	if w.Have == "" {
		return fmt.Sprintf("%s: %s", plain(w.Key), plain(w.Want))
	}
	return fmt.Sprintf("%s: %s instead of %s", plain(w.Key), plain(w.Want), plain(w.Have))
}

// hash stands for the exact value.
func (w Widening) hash() agency.Hash {
	sum := sha256.Sum256([]byte(w.bind))
	return agency.Hash(hex.EncodeToString(sum[:]))
}

// plain is a text as it is where all of it can be seen, else quoted.
func plain(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return strconv.Quote(s)
	}
	return s
}

// Widens compares what a repository's file leads to with the user's own
// effective settings. A setting that only narrows is not in the result:
// smaller limits, fewer hosts and paths, a stricter mode, the native runtime.
// What cannot be ordered counts as wider when it differs.
func Widens(want, have Security) []Widening {
	w := &widener{}
	w.sandbox(want.Sandbox, have.Sandbox)
	for _, name := range sortedKeys(want.Providers) {
		w.provider(name, want.Providers[name], have.Providers)
	}
	for _, name := range sortedKeys(want.MCP) {
		w.server(name, want.MCP[name], have.MCP)
	}
	for i, n := range want.Notify {
		if !slices.ContainsFunc(have.Notify, func(m Notify) bool { return bindOf(m.bound()) == bindOf(n.bound()) }) {
			w.add(fmt.Sprintf("notify[%d]", i), "", strings.Join(append([]string{n.Type, masked(n.URL)}, n.To...), " "), bindOf(n.bound()))
		}
	}
	w.differs("vcs.type", have.VCS.Type, want.VCS.Type, want.VCS.Type == "git")
	if want.Store.URL != have.Store.URL {
		w.add("store.url", masked(have.Store.URL), masked(want.Store.URL), bindOf(string(want.Store.URL)))
	}
	w.budget(want.Budget, have.Budget)
	for _, name := range sortedKeys(want.Resources) {
		if n := have.Resources[name]; n > 0 { // where the user counts nothing, any number is less
			w.more("resources."+name, n, want.Resources[name])
		}
	}
	w.guards(want.Guards, have.Guards)
	for _, model := range sortedKeys(want.Prices) {
		w.price(model, want.Prices[model], have.Prices)
	}
	for _, role := range sortedKeys(want.Runtimes) {
		r := want.Runtimes[role]
		w.differs("agents."+role+".runtime", have.Runtimes[role], r, r == RuntimeNative)
	}
	w.differs("context.language_servers", have.Languages, want.Languages, want.Languages == "off")
	w.closed(want.closed, have.closed)
	for _, p := range sortedKeys(want.AgentFiles) {
		if have.AgentFiles[p].hash != want.AgentFiles[p].hash {
			w.add(p, "", "an agent file of the repository, "+want.AgentFiles[p].Asks, string(want.AgentFiles[p].hash))
		}
	}
	return w.found
}

type widener struct{ found []Widening }

func (w *widener) add(key, have, want, bind string) {
	w.found = append(w.found, Widening{Key: key, Have: have, Want: want, bind: bind})
}

func (w *widener) differs(key, have, want string, narrow bool) {
	if have != want && !narrow {
		w.add(key, shownEmpty(have), shownEmpty(want), bindOf(want))
	}
}

func (w *widener) more(key string, have, want int) {
	if want > have {
		w.add(key, fmt.Sprint(have), fmt.Sprint(want), bindOf(fmt.Sprint(want)))
	}
}

// below tells whether a path is the user's or lies in it, as written: a
// reference may lead anywhere and is compared as text.
func below(have, want string) bool {
	if have == want {
		return true
	}
	if strings.Contains(have+want, "${") {
		return false
	}
	have, want = path.Clean(have), path.Clean(want)
	rest, ok := strings.CutPrefix(want, have+"/")
	return have == want || ok && rest != ".." && !strings.HasPrefix(rest, "../")
}

// superset adds the entries that none of the user's covers.
func (w *widener) superset(key string, have, want []string, covers func(have, want string) bool) {
	var extra []string
	for _, s := range want {
		if !slices.ContainsFunc(have, func(h string) bool { return covers(h, s) }) {
			extra = append(extra, s)
		}
	}
	if len(extra) > 0 {
		slices.Sort(extra)
		w.add(key, "", "adds "+strings.Join(extra, ", "), bindOf(extra))
	}
}

func (w *widener) sandbox(want, have Sandbox) {
	strict := []string{"full", "auto", "off"}
	w.differs("sandbox.mode", have.Mode, want.Mode, slices.Index(strict, want.Mode) < slices.Index(strict, have.Mode))
	w.differs("sandbox.network", have.Network, want.Network, want.Network == "none")
	w.more("sandbox.timeout_seconds", have.TimeoutSeconds, want.TimeoutSeconds)
	w.more("sandbox.memory_mb", have.MemoryMB, want.MemoryMB)
	w.more("sandbox.processes", have.Processes, want.Processes)
	w.more("sandbox.output_kb", have.OutputKB, want.OutputKB)
	same := func(have, want string) bool { return have == want }
	w.superset("sandbox.allow_hosts", have.AllowHosts, want.AllowHosts, same)
	w.superset("sandbox.setup_hosts", have.SetupHosts, want.SetupHosts, same)
	w.superset("sandbox.read", have.Read, want.Read, below)
	w.differs("sandbox.loopback", have.Loopback, want.Loopback, want.Loopback == "deny")
}

func (w *widener) provider(name string, want Provider, all map[string]Provider) {
	key := "providers." + name
	have, ok := all[name]
	if !ok {
		text := fmt.Sprintf("type %s at %s with key %s", want.Type, shownEmpty(want.BaseURL), masked(want.APIKey))
		w.add(key, "", text, bindOf(want.bound()))
		return
	}
	w.differs(key+".type", have.Type, want.Type, false)
	w.differs(key+".base_url", have.BaseURL, want.BaseURL, false)
	if have.APIKey != want.APIKey {
		// bound to where the key goes: the same key to another place is
		// another wish
		w.add(key+".api_key", masked(have.APIKey), masked(want.APIKey), bindOf(want.bound()))
	}
	w.differs(key+".api", have.API, want.API, apiName(have.API) == apiName(want.API))
	w.differs(key+".script", have.Script, want.Script, false)
}

// budget: a repository may spend less of its user's money than the user set,
// not more. Where the user set nothing there is nothing to widen.
func (w *widener) budget(want, have map[string]float64) {
	for _, key := range budgetKeys {
		if have[key] > 0 && want[key] > have[key] {
			w.add(key, number(have[key]), number(want[key]), bindOf(number(want[key])))
		}
	}
}

// price: a model that is called cheap is a budget that never ends. What the
// user said a model costs may be called dearer.
func (w *widener) price(model string, want Price, all map[string]Price) {
	have, ok := all[model]
	if ok && want.In >= have.In && want.CachedIn >= have.CachedIn && want.Out >= have.Out {
		return
	}
	text := func(p Price) string {
		return fmt.Sprintf("%s in, %s cached, %s out", number(p.In), number(p.CachedIn), number(p.Out))
	}
	was := ""
	if ok {
		was = text(have)
	}
	w.add("prices."+model, was, text(want), bindOf(text(want)))
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func apiName(api string) string {
	if api == "" {
		return "chat"
	}
	return api
}

func (w *widener) server(name string, want MCP, all map[string]MCP) {
	have, ok := all[name]
	same := ok && slices.Equal(have.Command, want.Command) && have.URL == want.URL && have.Scope == want.Scope && want.patience() <= have.patience()
	fewer := !slices.ContainsFunc(want.Roles, func(r string) bool { return !slices.Contains(have.Roles, r) })
	if same && fewer {
		return
	}
	text := want.URL
	if text == "" {
		text = strings.Join(want.Command, " ")
	}
	slices.Sort(want.Roles)
	w.add("mcp."+name, "", fmt.Sprintf("%s for %s, %d seconds a call", text, strings.Join(want.Roles, ", "), want.patience()),
		bindOf([][]string{want.Command, {want.URL, want.Scope, strconv.Itoa(want.patience())}, want.Roles}))
}

// patience is how many seconds a call of the server may take.
func (m MCP) patience() int { return cmp.Or(m.TimeoutSeconds, 60) }

func (p Provider) bound() []string {
	return []string{p.Type, p.BaseURL, string(p.APIKey), apiName(p.API), p.Script}
}

func (n Notify) bound() []string {
	return slices.Concat([]string{n.Type, string(n.URL), string(n.Secret), n.From, strconv.FormatBool(n.Insecure)}, n.To, []string{""}, n.Events)
}

// bindOf is canonical JSON: no maps, no floats, one form for each value.
func bindOf[T string | []string | [][]string](v T) string {
	b, _ := json.Marshal(v) // texts and lists of texts cannot fail
	return string(b)
}

func shownEmpty(s string) string {
	if s == "" {
		return "the vendor's default"
	}
	return s
}

func masked(s Secret) string {
	switch safe := s.safe(); safe {
	case "":
		return "none"
	case Literal:
		return "********"
	default:
		return string(safe)
	}
}

// security reads the subset out of a state. Texts are as written, before
// expansion: trust is given to a reference, not to what it means today.
func (s *state) security() Security {
	c := s.config
	sec := Security{
		Sandbox: c.Sandbox, VCS: c.VCS, Store: Store{URL: s.written("store.url", c.Store.URL)},
		Providers: map[string]Provider{}, MCP: map[string]MCP{}, Runtimes: map[string]string{}, Prices: map[string]Price{},
		Budget: s.ownLimits(), Guards: s.guarded(), Resources: c.Resources, Languages: c.Context.LanguageServers,
		closed: s.closedSettings(),
	}
	for model, p := range c.Prices {
		if _, own := s.origins["prices."+model+".cached_in"]; !own {
			p.CachedIn = p.In
		}
		sec.Prices[model] = p
	}
	sec.Sandbox.Read = make([]string, len(c.Sandbox.Read))
	for i, p := range c.Sandbox.Read {
		sec.Sandbox.Read[i] = s.writtenText(fmt.Sprintf("sandbox.read[%d]", i), p)
	}
	for name, p := range c.Providers {
		key := "providers." + name + "."
		p.APIKey = s.written(key+"api_key", p.APIKey)
		p.BaseURL = s.writtenText(key+"base_url", p.BaseURL)
		p.Script = s.writtenText(key+"script", p.Script)
		sec.Providers[name] = p
	}
	for name, m := range c.MCP {
		m.URL = s.writtenText("mcp."+name+".url", m.URL)
		m.Roles = slices.Clone(m.Roles)
		sec.MCP[name] = m
	}
	for i, n := range c.Notify {
		n.URL = s.written(fmt.Sprintf("notify[%d].url", i), n.URL)
		n.Secret = s.written(fmt.Sprintf("notify[%d].secret", i), n.Secret)
		sec.Notify = append(sec.Notify, n)
	}
	for role, a := range c.Agents {
		sec.Runtimes[role] = a.Runtime
	}
	return sec
}

// budgetKeys are the limits of a run, as they are shown.
var budgetKeys = []string{"budget.usd", "budget.tokens", "budget.wall_minutes"}

func (b Budget) limits() map[string]float64 {
	return map[string]float64{budgetKeys[0]: b.USD, budgetKeys[1]: float64(b.Tokens), budgetKeys[2]: float64(b.WallMinutes)}
}

// ownLimits are what some file sets; a default is nobody's wish.
func (s *state) ownLimits() map[string]float64 {
	own := s.config.Budget.limits()
	maps.DeleteFunc(own, func(key string, _ float64) bool { _, set := s.origins[key]; return !set })
	return own
}

func (s *state) written(key string, safe Secret) Secret {
	return Secret(s.writtenText(key, string(safe)))
}

func (s *state) writtenText(key, value string) string {
	if raw, ok := s.raw[key]; ok {
		return raw
	}
	return value
}

// asks are the wishes of a file that is not the user's own: what it leads to beside the
// user's file, below the profile that the user chose, against these two without it. Flags are
// left out, and what depends on the environment stays as it is written. The repository's
// agency.yaml and the files that runs are started with are judged by it, and by nothing else.
func asks(in Input, user, file, profile laid, agents map[string]AgentFile) []Widening {
	quiet := &collector{} // the files have been read without a fault
	have, want := newState(), newState()
	for _, l := range []laid{user, profile} {
		have.lay(l, in.Env, quiet)
	}
	for _, l := range []laid{user, file, profile} {
		want.lay(l, in.Env, quiet)
	}
	wanted := want.security()
	wanted.AgentFiles = map[string]AgentFile{}
	for p, f := range agents {
		sum := sha256.Sum256(f.Raw)
		f.hash = agency.Hash(hex.EncodeToString(sum[:]))
		wanted.AgentFiles[p] = f
	}
	ws := Widens(wanted, have.security())
	for i := range ws {
		ws[i].Line = want.nearest([]string{ws[i].Key}).Line
		ws[i].col = want.nearest([]string{ws[i].Key}).Col
	}
	return ws
}

// TrustHash binds a user's trust to what the repository's file widens, as the
// SHA-256 of canonical JSON. Comments, order, anchors, equivalent spellings and
// settings that narrow do not change it; "" when nothing is widened.
func (l *Loaded) TrustHash() agency.Hash {
	if len(l.Widenings) == 0 {
		return ""
	}
	pairs := make([]string, 0, len(l.Widenings))
	for _, w := range l.Widenings {
		pairs = append(pairs, bindOf([]string{w.Key, w.bind}))
	}
	slices.Sort(pairs)
	h := sha256.New()
	_, _ = io.WriteString(h, "agency trust 1\n"+strings.Join(pairs, "\n")) // a hash takes every write
	return agency.Hash(hex.EncodeToString(h.Sum(nil)))
}

// RequireTrust fails with KindInvalid, naming `agency trust`, unless nothing
// is widened, the store trusts it for this repository, or AGENCY_TRUST=1.
func (l *Loaded) RequireTrust(ts *TrustStore, repo string) error {
	if l.trusted {
		return nil
	}
	ok, err := ts.Trusted(repo, l.TrustHash())
	if err != nil {
		return err
	}
	l.trusted = ok
	return l.untrusted()
}

func (l *Loaded) untrusted() error {
	if l.trusted {
		return nil
	}
	lines := make([]string, len(l.Widenings))
	for i, w := range l.Widenings {
		lines[i] = "\n  "
		if w.Line > 0 {
			lines[i] += fmt.Sprintf("line %d: ", w.Line)
		}
		lines[i] += w.String()
	}
	return agency.Errorf(agency.KindInvalid, "config: the repository's configuration asks for more than your own allows:%s", strings.Join(lines, "")).
		WithMend("agency trust")
}
