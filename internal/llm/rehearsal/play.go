package rehearsal

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"agency/internal/agency"
	"agency/internal/llm"
	"agency/internal/text"
)

// Player answers requests by a script. It is safe for concurrent use.
type Player struct {
	script *Script

	mu      sync.Mutex
	faulted map[string]int // by rule and request: how often its fault was played
}

// NewPlayer starts a player.
func NewPlayer(s *Script) *Player { return &Player{script: s, faulted: map[string]int{}} }

// Take is one answer, decided but not yet played.
type Take struct {
	Rule      string // "" where no rule matched
	Hash      string // of the canonical request, hexadecimal SHA-256
	ID        string // of the answer, made from the hash
	Model     string
	Text      string
	Reasoning string
	Calls     []llm.RawCall
	Stop      llm.StopReason
	Usage     agency.Usage
	Latency   time.Duration
	Fault     *Fault // of the exchange; those of the answer are already in it
	Quirks    []string
	seed      uint64
}

// Has says whether the rule asks for a quirk of the wire.
func (t Take) Has(quirk string) bool {
	for _, q := range t.Quirks {
		if q == quirk {
			return true
		}
	}
	return false
}

// Play decides the answer to a request.
func (p *Player) Play(req llm.Request) Take {
	sum := sha256.Sum256(llm.Encode(req))
	t := Take{
		Hash: hex.EncodeToString(sum[:]), Model: req.Model, Stop: llm.StopEndTurn,
		seed: p.script.seed ^ binary.BigEndian.Uint64(sum[:]),
	}
	t.ID = "rehearsal-" + t.Hash[:16]
	i, f, v := p.script.choose(req)
	if i < 0 {
		t.missing(p.script.name, f)
	} else {
		p.play(&t, &p.script.rules[i], f, v)
	}
	if t.Usage == (agency.Usage{}) {
		t.Usage = estimate(req, t)
	}
	return t
}

func (p *Player) play(t *Take, r *rule, f facts, v values) {
	t.Rule, t.Latency, t.Quirks = r.name, r.latency, r.quirks
	t.Text, t.Reasoning = v.expand(r.text), v.expand(r.reasoning)
	for i, c := range r.calls {
		t.Calls = append(t.Calls, c.raw(v, f.turn, i))
	}
	if r.stop != "" {
		t.Stop = r.stop
	}
	if u := r.usage; u != nil {
		t.Usage = agency.Usage{In: u.In, Cached: u.Cached, CacheWrite: u.CacheWrite, Out: u.Out}
	}
	if r.fault == nil || !p.count(r, t.Hash) {
		return
	}
	if r.fault.Kind.OfAnswer() {
		t.spoil(*r.fault, f)
		return
	}
	t.Fault = r.fault
}

// count says whether this request meets the rule's fault once more.
func (p *Player) count(r *rule, hash string) bool {
	if r.fault.Times == 0 {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := r.name + "\x00" + hash
	p.faulted[key]++
	return p.faulted[key] <= r.fault.Times
}

// raw fills a call's slots. Keys are sorted, so that equal calls have equal
// bytes; its id says the turn and its place in it.
func (c call) raw(v values, turn, i int) llm.RawCall {
	out := llm.RawCall{ID: c.ID, Name: c.Tool.s, Args: c.Raw}
	if out.ID == "" {
		out.ID = fmt.Sprintf("call_t%d_%d", turn, i+1)
	}
	if out.Args != "" {
		return out
	}
	out.Args = "{}"
	if len(c.Args) > 0 {
		out.Args = encodeArgs(v.expandAll(c.Args))
	}
	return out
}

func encodeArgs(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return "{}" // cannot happen: YAML gives nothing that JSON cannot hold, except NaN
	}
	return strings.TrimRight(b.String(), "\n")
}

// missing is the answer where no rule matches: it says which one would be
// needed and ends the session honestly.
func (t *Take) missing(script string, f facts) {
	last := strings.Join(strings.Fields(f.last), " ")
	t.Text = fmt.Sprintf(
		"The rehearsal script %q has no rule for role %q, contract %q, attempt %d, turn %d, last message %q.",
		script, f.role, f.contract, f.attempt, f.turn, text.Head(last, 200),
	)
	if f.agent != "" {
		t.Text = fmt.Sprintf("The rehearsal script %q has no rule for agent %q, turn %d, last message %q.", script, f.agent, f.turn, text.Head(last, 200))
	}
	args := func(pairs ...string) string {
		m := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return encodeArgs(m)
	}
	id := fmt.Sprintf("call_t%d_1", f.turn)
	switch {
	case f.offers["submit_review"]:
		t.Text = fmt.Sprintf("The rehearsal script %q has no rule for this reviewer. What reaches it is verified, and it lets it pass.", script)
		t.Calls = []llm.RawCall{{ID: id, Name: "submit_review", Args: args("verdict", "approve", "summary", t.Text)}}
	case f.offers["signal_blocked"]:
		t.Calls = []llm.RawCall{{ID: id, Name: "signal_blocked", Args: args("reason", t.Text, "attempted", "nothing: the script ends here")}}
	case f.offers["team_broadcast"] && !f.offers["final_report"]:
		t.Calls = []llm.RawCall{{ID: id, Name: "team_broadcast", Args: encodeArgs(map[string]any{"message": t.Text, "final": true, "status": "failed"})}}
	case f.offers["final_report"]:
		t.Calls = []llm.RawCall{{ID: id, Name: "final_report", Args: args("report", t.Text)}}
	}
}

// spoil plays a fault of the answer itself.
func (t *Take) spoil(f Fault, at facts) {
	if len(t.Calls) == 0 {
		t.Calls = []llm.RawCall{{ID: fmt.Sprintf("call_t%d_1", at.turn), Name: anyTool(at), Args: `{"path":"README.md"}`}}
	}
	first := &t.Calls[0]
	switch f.Kind {
	case FaultBadArgs:
		first.Args = strings.ToValidUTF8(first.Args[:len(first.Args)/2], "") + `"\`
	case FaultUnknownTool:
		first.Name = "no_such_tool"
	case FaultWrongTypes:
		first.Args = wrongTypes(first.Args)
	case FaultDuplicateIDs:
		if len(t.Calls) == 1 {
			t.Calls = append(t.Calls, *first)
		}
		for i := range t.Calls {
			t.Calls[i].ID = t.Calls[0].ID
		}
	case FaultHuge:
		t.Calls, t.Text = nil, strings.Repeat("rehearsal ", f.Size/10+1)[:f.Size]
	case FaultEmpty:
		t.Calls, t.Text = nil, ""
	case FaultRefusal:
		t.Calls, t.Text, t.Stop = nil, "I cannot help with that.", llm.StopRefusal
	case FaultLength:
		last := &t.Calls[len(t.Calls)-1]
		last.Args, t.Stop = strings.ToValidUTF8(last.Args[:len(last.Args)/2], ""), llm.StopLength
	}
}

func anyTool(f facts) string {
	name := "read_file"
	if f.offers[name] {
		return name
	}
	for t := range f.offers {
		if name == "read_file" || t < name {
			name = t
		}
	}
	return name
}

// wrongTypes gives every argument a type that it did not have.
func wrongTypes(args string) string {
	var m map[string]any
	if json.Unmarshal([]byte(args), &m) != nil || len(m) == 0 {
		return `{"path":42}`
	}
	for k, v := range m {
		if _, ok := v.(string); ok {
			m[k] = []any{42, true}
		} else {
			m[k] = "forty-two"
		}
	}
	return encodeArgs(m)
}

// estimate counts a usage as a provider with a prompt cache would: what the
// request before this one already held is cached.
func estimate(req llm.Request, t Take) agency.Usage {
	before := 0
	for i, m := range req.Messages {
		if m.Role == llm.Assistant {
			before = i
		}
	}
	in, cached := tokens(llm.Bytes(req)), int64(0)
	if before > 0 {
		req.Messages = req.Messages[:before]
		cached = tokens(llm.Bytes(req))
	}
	out := int64(len(t.Text) + len(t.Reasoning))
	for _, c := range t.Calls {
		out += int64(len(c.Name) + len(c.Args) + 16)
	}
	return agency.Usage{In: in, Cached: cached, Out: tokens(out)}
}

// tokens is a plausible count for the player's own price list.
func tokens(bytes int64) int64 { return (bytes + 3) / 4 }

// Split cuts a text into the pieces in which it is streamed: the same for the
// same request, never within a character.
func (t Take) Split(s string) []string {
	random := rand.New(rand.NewPCG(t.seed, uint64(len(s))))
	longest := max(24, len(s)/256)
	var out []string
	for len(s) > 0 {
		n := min(len(s), 1+random.IntN(longest))
		for n < len(s) && !utf8.RuneStart(s[n]) {
			n++
		}
		out, s = append(out, s[:n]), s[n:]
	}
	return out
}

// Pace spreads the latency over an answer of n pieces: half of it before the
// first, the rest evenly between them.
func (t Take) Pace(n int) (first, each time.Duration) {
	if n <= 1 {
		return t.Latency, 0
	}
	first = t.Latency / 2
	return first, (t.Latency - first) / time.Duration(n-1)
}
