package native

import (
	"context"
	"strings"

	"agency/internal/agency"
	"agency/internal/brief"
	"agency/internal/check"
	"agency/internal/llm"
	"agency/internal/registry"
	"agency/internal/store"
	"agency/internal/tool"
)

// briefing writes the first message of a conversation, and of one that goes on
// after a compaction: from the store, not from what was said.
type briefing struct {
	*part
	st state
}

// first writes the first message of an epoch: the brief, and where the
// session stands. What is only convenient, the overview and the notes, is
// there as far as it fits the room.
func (b briefing) first(ctx context.Context, a *about, standing *brief.Standing, room int64) (message, error) {
	in := brief.Input{
		Role: b.role, Contract: a.contract, Repo: b.Setup.Repo, Network: b.Setup.Network,
		Limits: b.Setup.Limits, Commands: commands(b.Setup.Commands), Standing: standing,
	}
	if standing == nil && b.Spec.Attempt > 1 {
		err := b.DB.Read(ctx, func(q *store.Snapshot) (err error) {
			in.Said, err = b.binding(q)
			return err
		})
		if err != nil {
			return message{}, err
		}
	}
	var err error
	if in.Review, err = b.reviewBrief(ctx, room); err != nil {
		return message{}, err
	}
	if in.Review != nil {
		in.Review.Receipts = a.receipts
	}
	if f := b.Spec.Feedback; f != nil {
		told := *f
		told.Receipts = a.receipts
		in.Feedback = &told
	}
	var m message
	for _, size := range contextSizes() {
		if in.Overview, err = b.overview(ctx, size); err != nil {
			return m, err
		}
		in.Guides = guides(b.tools.Files, size.guide)
		in.Staged = shown(a.staged.Fit(room / size.share))
		out, err := brief.Render(in)
		if err != nil {
			return m, err
		}
		if m, err = b.pack(userText(out.First)); err != nil || messageBytes(m) <= room {
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

func (b briefing) overview(ctx context.Context, size contextSize) (string, error) {
	if size.entries == 0 {
		return "", nil
	}
	return b.tools.Files.List(ctx, ".", size.depth, size.entries)
}

// read gets what the store knows of the contract.
func (b briefing) read(ctx context.Context) (contract agency.Contract, receipts []agency.Receipt, err error) {
	err = b.DB.Read(ctx, func(s *store.Snapshot) error {
		if contract, err = registry.Contract(s, b.Spec.Run, b.Spec.Contract); err != nil {
			return err
		}
		others, err := b.others(s, contract)
		if err != nil {
			return err
		}
		contract = brief.WithOutputs(contract, b.Spec.Role, others)
		for _, id := range b.judgedBy() {
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
func (b briefing) others(s *store.Snapshot, contract agency.Contract) (out []agency.Contract, err error) {
	if brief.SeesAll(contract, b.Spec.Role) {
		return registry.Contracts(s, b.Spec.Run)
	}
	for _, id := range contract.DependsOn {
		o, err := registry.Contract(s, b.Spec.Run, id)
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
func (b briefing) judgedBy() []agency.ReceiptID {
	switch f, r := b.Spec.Feedback, b.Spec.Review; {
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

// room is how many bytes the messages of a compaction may have: half of what the
// window leaves, and half again for each try that was not enough.
func (b briefing) room(fixed llm.Request) int64 {
	left := (b.window.tokens()-b.window.output())*3 - llm.Bytes(llm.Request{System: fixed.System, Tools: fixed.Tools})
	return max(0, left/2>>b.st.Compactions)
}

// binding are the messages that the agent has read and that hold on.
func (b briefing) binding(q store.Querier) ([]agency.Message, error) {
	return b.Mail.Binding(q, int(b.window.tokens())/4)
}

// reviewBrief is what a reviewer is shown beside the contract: all changes, what
// the harness recorded of them, and the reviews before.
func (b briefing) reviewBrief(ctx context.Context, room int64) (*brief.ReviewRequest, error) {
	of := b.Spec.Review
	if of == nil {
		return nil, nil
	}
	out := &brief.ReviewRequest{
		Iteration: of.Iteration, Claim: of.Claim, Verdict: of.Verdict, Frozen: of.Frozen, Oscillating: of.Oscillating,
	}
	err := b.DB.Read(ctx, func(q *store.Snapshot) error {
		all, err := registry.Reviews(q, b.Spec.Run)
		for _, r := range all {
			if r.ContractID == b.Spec.Contract && (r.Attempt < b.Spec.Attempt || r.Iteration < of.Iteration) {
				out.Earlier = append(out.Earlier, r)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if out.Files, err = b.tools.History.Changed(ctx); err != nil {
		return nil, err
	}
	if out.Diff, err = b.tools.History.Diff(ctx, ""); err != nil {
		return nil, err
	}
	if most := int(room / 2); len(out.Diff) > most {
		out.Diff, out.Cut = cutDiff(out.Diff, most), true
	}
	return out, nil
}

// cutDiff keeps whole files of a diff as far as they fit: a hunk that breaks
// off would be reviewed as it stands.
func cutDiff(diff string, most int) string {
	var b strings.Builder
	parts := strings.SplitAfter(diff, "\ndiff --git ")
	for i, p := range parts {
		if i < len(parts)-1 {
			p = strings.TrimSuffix(p, "diff --git ")
		}
		if i > 0 {
			p = "diff --git " + p
		}
		if b.Len()+len(p) > most {
			break
		}
		b.WriteString(p)
	}
	return b.String()
}
