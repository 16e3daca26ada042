// Package native is the runtime of sessions that asks a model itself: it persists
// the answer before anything acts on it, runs the tool calls, takes a snapshot,
// settles what it cost, and goes on until a tool ends the part, a limit is
// reached or it has to wait (docs/design.md, Sessions). Each turn is durable:
// after a crash a stored answer is never asked for again, and the transcript is
// always one that a model accepts. A conversation that nears its model's window
// is compacted: what binds it is read from the store again, what was said is
// summed up.
//
// It does not say what an effect of a tool means or how a part may end (session), nor
// what the agent is told from the store (session/briefing).
package native

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/llm"
	"agency/internal/roster"
	"agency/internal/session"
	"agency/internal/tool"
)

// Options make a Runner.
type Options struct {
	Host session.Host
	Now  func() time.Time // default time.Now

	// between is called after each commit and each effect; a test dies there.
	between func(point string) error
}

// Runner runs sessions. It is safe for concurrent use; what it holds is shared
// by all of them.
type Runner struct {
	o       Options
	watch   watch
	stagger stagger

	mu   sync.Mutex
	kits map[kitName]*kit
}

// New makes a Runner; it does no I/O.
func New(o Options) *Runner {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.between == nil {
		o.between = func(string) error { return nil }
	}
	return &Runner{o: o, watch: watch{of: map[*stint]*conversation{}, last: map[string]time.Time{}}, stagger: stagger{of: map[prefix]*kept{}}, kits: map[kitName]*kit{}}
}

// Run is for session.Runtime: it finds where the session stands and goes on from
// there.
func (r *Runner) Run(ctx context.Context, p *session.Part) (session.Outcome, error) {
	c := newConversation(r, p)
	ended, err := c.load(ctx)
	if err != nil || ended != nil {
		return orZero(ended), err
	}
	if err := c.open(ctx); err != nil {
		return c.interrupted(ctx, err)
	}
	defer c.tools.Close()
	out, err := c.loop(ctx)
	if err != nil {
		return c.interrupted(ctx, err)
	}
	return out, nil
}

func orZero(o *session.Outcome) session.Outcome {
	if o == nil {
		return session.Outcome{}
	}
	return *o
}

// kit is what a role's sessions share: its tools, as they run and as a model
// is shown them.
type kit struct {
	tools []tool.Tool
	shown []llm.Tool
	json  []byte // of shown, as it is stored
}

// kitName says whose kit it is: that of a role, in a phase of it, or that of an agent of a
// file; with what the checkout has.
type kitName struct {
	role  agency.RoleID
	phase roster.Phase
	have  roster.Present
	agent string
}

// kitOf is the kit of the session, made once for all that have the same.
func kitOf(c *conversation) (*kit, error) {
	own, err := ownKit(c)
	if err != nil || len(c.tools.Outside) == 0 {
		return own, err
	}
	return makeKit(slices.Concat(own.tools, c.tools.Outside)) // of this session's servers: nobody else has it
}

// ownKit is the kit without tools of servers.
func ownKit(c *conversation) (*kit, error) {
	name := kitName{role: c.role.ID, phase: c.Spec.Phase(), have: c.tools.Present(c.Spec)}
	name.have.Patches = knowsPatches(c.lineup.Names[0])
	if c.stored { // a model that is chosen in the middle has the tools that the conversation shows
		name.have.Patches = slices.ContainsFunc(c.req.Tools, func(t llm.Tool) bool { return t.Name == "apply_patch" })
	}
	if c.Spec.Post == nil {
		return c.r.kit(name, func() []tool.Tool { return session.Offered(c.role, name.phase, name.have) })
	}
	doc, err := json.Marshal(c.Setup.Persona)
	if err != nil {
		return nil, err
	}
	name.agent = string(doc)
	return c.r.kit(name, func() []tool.Tool { return session.OfferedTo(c.Setup.Persona, name.have) })
}

// knowsPatches tells whether a model was trained on apply_patch: those of the GPT family, by
// the name of provider/model, whoever serves it.
func knowsPatches(model string) bool {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	for _, family := range []string{"gpt-", "codex", "chatgpt", "o1", "o3", "o4"} {
		if strings.HasPrefix(name, family) {
			return true
		}
	}
	return false
}

// kit makes a kit once.
func (r *Runner) kit(name kitName, offered func() []tool.Tool) (*kit, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := r.kits[name]; k != nil {
		return k, nil
	}
	k, err := makeKit(offered())
	if err == nil {
		r.kits[name] = k
	}
	return k, err
}

func makeKit(tools []tool.Tool) (*kit, error) {
	k := &kit{tools: tools}
	for _, t := range k.tools {
		k.shown = append(k.shown, llm.Tool{Name: t.Name, Description: t.Description, Schema: t.Schema})
	}
	k.shown = llm.SortedTools(k.shown)
	var err error
	k.json, err = json.Marshal(k.shown)
	return k, err
}

func (k *kit) find(name string) (tool.Tool, bool) {
	i := slices.IndexFunc(k.tools, func(t tool.Tool) bool { return t.Name == name })
	if i < 0 {
		return tool.Tool{}, false
	}
	return k.tools[i], true
}
