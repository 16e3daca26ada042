package session

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/brief"
	"agency/internal/check"
	"agency/internal/llm"
	"agency/internal/registry"
	"agency/internal/roster"
	"agency/internal/store"
	"agency/internal/tool"
)

// conversation is one session in memory while a part of it runs. What it holds
// is what is stored; it changes only after the commit that stores it.
type conversation struct {
	r     *Runner
	spec  Spec
	id    agency.SessionID
	emit  func(Event)
	fence agency.Fence

	setup    Setup
	role     roster.Role
	kit      *kit
	desk     *Desk
	criteria []string
	learned  int64 // window that a provider has shown, in tokens; 0: none

	stored bool // the session's row exists
	st     state
	turn   turn // open, or the zero turn
	req    llm.Request
	used   map[string]bool // ids of tool calls

	pending []message // for the next commit
	// replyID is the message that is shown as a call's result by the next commit.
	replyID agency.MessageID

	joined bool            // the board shows the agent as at work in this part
	edited map[string]bool // files that the board knows of as changed by it
	beat   *beat
}

// turn is the open turn.
type turn struct {
	n     int
	try   int
	phase phase
	call  message // the model's answer, in phase answered
	said  bool    // the answer is a message of the transcript
	stop  llm.StopReason
	model string
	usage agency.Usage
	cost  agency.Money
	// unpriced says that the model has no price, so that cost is 0.
	unpriced bool
	// tries is how often calls have begun and not ended, by their index; fresh
	// says that the first ones were counted with the answer just now.
	tries map[int]int
	fresh bool
}

// phase is how far a turn has come, durably.
type phase string

const (
	phaseAsked    phase = "asked"    // the request may have been sent
	phaseAnswered phase = "answered" // the answer is stored and paid for
	phaseSettled  phase = "settled"  // its calls have their results
)

// message is a message with the bytes under which it is stored.
type message struct {
	llm.Message
	data []byte
}

// pack gives a message the form in which it is stored and sent: without
// secrets, and equal to what a later process reads back.
func (c *conversation) pack(m llm.Message) (message, error) {
	data, err := json.Marshal(m)
	if err != nil {
		return message{}, err
	}
	if clean := c.r.o.DB.Redact(data); !bytes.Equal(clean, data) {
		data = clean
		if err := json.Unmarshal(data, &m); err != nil {
			return message{}, fmt.Errorf("redacted message: %w", err)
		}
	}
	return message{m, data}, nil
}

func userText(text string) llm.Message {
	return llm.Message{Role: llm.User, Blocks: []llm.Block{llm.Text{Text: text}}}
}

// open gets the setup and the desk; a new session gets its brief.
func (c *conversation) open(ctx context.Context) error {
	var err error
	if c.setup, err = c.r.o.Host.Setup(ctx, c.spec); err != nil {
		return err
	}
	if c.setup.Model == nil || len(c.setup.Models) == 0 {
		return agency.Errorf(agency.KindInternal, "session %s: the host gives no model", c.id)
	}
	if c.role, err = roster.Find(c.spec.Role); err != nil {
		return err
	}
	if c.desk, err = c.r.o.Host.Desk(ctx, c.spec); err != nil {
		return err
	}
	c.kit, err = c.r.kit(c.role, c.spec.phase(), c.desk.Files.HasBacklog())
	if err == nil {
		err = c.recall(ctx)
	}
	if err == nil {
		if c.stored {
			err = c.resume(ctx)
		} else {
			err = c.begin(ctx)
		}
	}
	if err != nil {
		_ = c.desk.Files.Close() // only a folder's handle
	}
	return err
}

// begin renders the prompt; the first commit stores it.
func (c *conversation) begin(ctx context.Context) error {
	contract, receipts, err := c.read(ctx)
	if err != nil {
		return err
	}
	contract.Attempts = c.spec.Attempt // an attempt is one, however often it starts
	system, err := c.role.Prompt(roster.View{
		Repo: c.setup.Repo, Network: c.setup.Network, Contracts: c.spec.MaxContracts, Phase: c.spec.phase(), Backlog: c.desk.Files.HasBacklog(),
		MaxFiles: c.setup.Rules.MaxFiles, MaxLines: c.setup.Rules.MaxLines,
	})
	if err != nil {
		return err
	}
	c.criteria = ids(contract)
	c.req = llm.Request{
		Model: c.setup.Models[0], System: string(c.r.o.DB.Redact([]byte(system))), Tools: c.kit.shown,
		MaxOutput: c.output(), Session: string(c.id),
	}
	if c.spec.From != "" && c.spec.Round == 0 && (c.spec.Attempt == 1 || c.spec.Hand > 0) {
		if err := c.desk.Tree.Restore(ctx, c.spec.From); err != nil {
			return err
		}
	}
	if c.st.Tree, err = c.desk.Tree.Snapshot(ctx); err != nil && agency.KindOf(err) != agency.KindInvalid {
		return err
	}
	staged, err := c.pick(ctx, contract)
	if err != nil {
		return err
	}
	room := c.foldRoom()
	staged = staged.Fit(min(room, max(c.setup.Limits.Tokens, 0)))
	if err := c.lay(contract, staged); err != nil {
		return err
	}
	first, err := c.firstMessage(ctx, &about{contract: contract, receipts: receipts, staged: staged}, nil, room)
	if err != nil {
		return err
	}
	c.st.Bytes = llm.Bytes(c.req)
	c.used = map[string]bool{}
	c.queue(first)
	return nil
}

// firstMessage writes the first message of an epoch: the brief, and where the
// session stands. What is only convenient, the overview and the notes, is
// there as far as it fits the room.
func (c *conversation) firstMessage(ctx context.Context, a *about, standing *brief.Standing, room int64) (message, error) {
	in := brief.Input{
		Role: c.role, Contract: a.contract, Repo: c.setup.Repo, Network: c.setup.Network,
		Limits: c.setup.Limits, Commands: commands(c.setup.Commands), Standing: standing,
	}
	if standing == nil && c.spec.Attempt > 1 {
		err := c.r.o.DB.Read(ctx, func(q *store.Snapshot) (err error) {
			in.Said, err = c.binding(q)
			return err
		})
		if err != nil {
			return message{}, err
		}
	}
	var err error
	if in.Review, err = c.reviewBrief(ctx, room); err != nil {
		return message{}, err
	}
	if in.Review != nil {
		in.Review.Receipts = a.receipts
	}
	if f := c.spec.Feedback; f != nil {
		told := *f
		told.Receipts = a.receipts
		in.Feedback = &told
	}
	var m message
	for _, size := range contextSizes() {
		if in.Overview, err = c.overview(ctx, size); err != nil {
			return m, err
		}
		in.Guides = guides(c.desk.Files, size.guide)
		in.Staged = shown(a.staged.Fit(room / size.share))
		b, err := brief.Render(in)
		if err != nil {
			return m, err
		}
		if m, err = c.pack(userText(b.First)); err != nil || messageBytes(m) <= room {
			return m, err
		}
	}
	return m, nil
}

// contextSize is how much of the context a first message holds.
type contextSize struct {
	depth, entries, guide int
	share                 int64 // of the room, for what is staged: one over this
}

// contextSizes are tried in order until one fits.
func contextSizes() []contextSize {
	return []contextSize{
		{overviewDepth, overviewEntries, maxGuide, 1}, {2, 100, maxGuide / 3, 2}, {1, 40, maxGuide / 12, 4}, {share: 1 << 40},
	}
}

func (c *conversation) overview(ctx context.Context, size contextSize) (string, error) {
	if size.entries == 0 {
		return "", nil
	}
	return c.desk.Files.List(ctx, ".", size.depth, size.entries)
}

// read gets what the store knows of the contract.
func (c *conversation) read(ctx context.Context) (contract agency.Contract, receipts []agency.Receipt, err error) {
	err = c.r.o.DB.Read(ctx, func(s *store.Snapshot) error {
		if contract, err = registry.Contract(s, c.spec.Run, c.spec.Contract); err != nil {
			return err
		}
		others, err := c.others(s, contract)
		if err != nil {
			return err
		}
		contract = brief.WithOutputs(contract, c.spec.Role, others)
		for _, id := range c.judgedBy() {
			r, err := check.Receipt(s, id)
			if agency.KindOf(err) == agency.KindNotFound {
				continue
			}
			if err != nil {
				return err
			}
			if !check.Stage(r.Stage).Trial() {
				receipts = append(receipts, r)
			}
		}
		return nil
	})
	return contract, receipts, err
}

// others are the contracts whose outputs the session may see: of a plan of
// thousands mostly a few.
func (c *conversation) others(s *store.Snapshot, contract agency.Contract) (out []agency.Contract, err error) {
	if brief.SeesAll(contract, c.spec.Role) {
		return registry.Contracts(s, c.spec.Run)
	}
	for _, id := range contract.DependsOn {
		o, err := registry.Contract(s, c.spec.Run, id)
		switch {
		case err == nil:
			out = append(out, o)
		case agency.KindOf(err) != agency.KindNotFound:
			return nil, err
		}
	}
	return out, nil
}

// judgedBy are the receipts of the verdict that the session is told of.
func (c *conversation) judgedBy() []agency.ReceiptID {
	switch f, r := c.spec.Feedback, c.spec.Review; {
	case f != nil && f.Verdict != nil:
		return f.Verdict.Receipts
	case r != nil && r.Verdict != nil:
		return r.Verdict.Receipts
	}
	return nil
}

func ids(c agency.Contract) []string {
	out := make([]string, 0, len(c.AcceptanceCriteria))
	for _, cr := range c.AcceptanceCriteria {
		out = append(out, cr.ID)
	}
	return out
}

const (
	overviewDepth   = 3
	overviewEntries = 300
	// maxGuide is how much of a note for contributors a brief holds.
	maxGuide = 12 << 10
)

// guideNames are the notes for contributors that people keep, one of a kind.
func guideNames() []string {
	return []string{"AGENTS.md", "CLAUDE.md", "CONTRIBUTING.md", ".github/CONTRIBUTING.md", "docs/CONTRIBUTING.md"}
}

// guides are the first two of the notes that there are. One that cannot be
// read is as good as none.
func guides(files *tool.Files, most int) []brief.Source {
	var out []brief.Source
	if most == 0 {
		return nil
	}
	for _, name := range guideNames() {
		text, err := files.Text(name)
		if err != nil || strings.TrimSpace(text) == "" {
			continue
		}
		if out = append(out, brief.Source{Name: name, Text: tool.Cap(text, most)}); len(out) == 2 {
			break
		}
	}
	return out
}

// commands are the repository's own in the order in which they are run.
func commands(c check.Commands) []brief.Command {
	var out []brief.Command
	add := func(kind agency.CheckKind, toolName string) {
		if line := c.Command(kind).Line; line != "" {
			out = append(out, brief.Command{Kind: string(kind), Line: line, Tool: toolName})
		}
	}
	add(agency.CheckSetup, "")
	add(agency.CheckBuild, "")
	add(agency.CheckTypecheck, "run_type_check")
	add(agency.CheckLint, "run_lint")
	add(agency.CheckTest, "run_tests")
	return out
}
