// Package briefing brings the checkout of a session to where it begins, and writes
// what its agent is told: at the start, and where it stands when its conversation
// goes on without what was said. All of it is read from the store and from the files,
// whatever runs the session.
//
// It does not say when an agent is told (the runtime), nor in which words (brief).
package briefing

import (
	"context"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/artifact"
	"agency/internal/brief"
	"agency/internal/brief/staging"
	"agency/internal/check"
	"agency/internal/decision"
	"agency/internal/git"
	"agency/internal/llm"
	"agency/internal/registry"
	"agency/internal/roster"
	"agency/internal/session"
	"agency/internal/store"
	"agency/internal/tool"
)

// Briefing is that of a part of a session.
type Briefing struct {
	*session.Part
	Role  roster.Role
	Tools *session.Toolset
	// MailRoom is how many bytes the messages may have that still hold.
	MailRoom int
}

// System is the system prompt of the role, or of the agent of a file.
func (b Briefing) System() (text string, err error) {
	view := roster.View{
		Repo: b.Setup.Repo, Network: b.Setup.Network, Contracts: b.Spec.MaxContracts, Phase: b.Spec.Phase(), Present: b.Tools.Present(b.Spec),
		MaxFiles: b.Setup.Rules.MaxFiles, MaxLines: b.Setup.Rules.MaxLines, Resources: b.Setup.Rules.Resources, Talent: b.Setup.Talent, Talents: b.Setup.Talents,
	}
	if b.Spec.Post != nil {
		text, err = b.Setup.Persona.Prompt(view)
	} else {
		text, err = b.Role.Prompt(view)
	}
	return string(b.DB.Redact([]byte(text))), err
}

// Facts are what the store and the files, and not an agent's memory, know of a
// contract.
type Facts struct {
	Contract agency.Contract  // Attempts is the session's
	Receipts []agency.Receipt // of the verdict that the session is told of
	Staged   []staging.Item
	Images   []llm.Image     // that a person gave the run
	changed  map[string]bool // files that earlier attempts changed
}

// Begin brings the files to where the session begins, stages its context and
// writes the first message in so many bytes; tree is what the files are then, empty
// where that cannot be recorded.
func (b Briefing) Begin(ctx context.Context, room int64) (first llm.Message, f *Facts, tree agency.OID, err error) {
	if f := b.Spec.Feedback; f != nil && f.TakenBack != nil {
		if err := b.takeBack(ctx, *f.TakenBack); err != nil {
			return first, nil, "", err
		}
	} else if b.Spec.From != "" && b.Spec.Round == 0 && (b.Spec.Attempt == 1 || b.Spec.Hand > 0) {
		if err := b.Tools.Tree.Restore(ctx, b.Spec.From); err != nil {
			return first, nil, "", err
		}
	}
	if tree, err = b.Tools.Tree.Snapshot(ctx); err != nil && agency.KindOf(err) != agency.KindInvalid {
		return first, nil, "", err
	}
	if f, err = b.Facts(ctx); err != nil {
		return first, nil, "", err
	}
	f.Staged = staging.Fit(f.Staged, min(room, max(b.Setup.Limits.Tokens, 0)))
	if err := b.lay(f); err != nil {
		return first, nil, "", err
	}
	if b.Spec.Post != nil {
		return b.request(f, nil), f, tree, nil
	}
	first, err = b.First(ctx, f, nil, room)
	return first, f, tree, err
}

// takeBack brings the files back to where the attempt begins; what was left stays as a
// checkpoint, which is the same one when this is done again.
func (b Briefing) takeBack(ctx context.Context, back agency.TakenBack) error {
	_, err := b.Tools.Tree.Checkpoint(ctx, back.Left, fmt.Sprintf("what attempt %d left", b.Spec.Feedback.Attempt))
	if agency.KindOf(err) == agency.KindInvalid { // cannot be recorded
		told := *b.Spec.Feedback
		back.Left = ""
		told.TakenBack, b.Spec.Feedback, err = &back, &told, nil
	}
	if err != nil {
		return err
	}
	if err := b.Tools.Tree.Restore(ctx, back.To); err != nil {
		return err
	}
	return b.Write(ctx, func(tx *store.Tx) error {
		return b.Log(tx, agency.SeverityInfo, "rolled back to "+back.What+": "+back.Why, agency.RolledBack{Tree: back.To, Left: back.Left, Reason: back.Why})
	})
}

// request is the first message of an agent of a file: its input, as it was given, and where
// it stands if it goes on.
func (b Briefing) request(f *Facts, standing *brief.Standing) llm.Message {
	text := f.Contract.Description
	if standing != nil {
		text += "\n\n## WHAT YOU HAVE DONE SO FAR\n\n" + standing.Summary
	}
	return b.with(f.Images, llm.UserText(string(b.DB.Redact([]byte(text)))))
}

// First writes the first message of a conversation: the brief, and where the session
// stands if it goes on. What is only convenient, the overview and the notes, is
// there as far as it fits the room.
func (b Briefing) First(ctx context.Context, f *Facts, standing *brief.Standing, room int64) (first llm.Message, err error) {
	if b.Spec.Post != nil {
		return b.request(f, standing), nil
	}
	in := brief.Input{
		Contract: f.Contract, Repo: b.Setup.Repo,
		Limits: b.Setup.Limits, Commands: commands(b.Setup.Commands), Standing: standing, KeptRoom: room / 8,
	}
	if in.Kept, err = store.Get(ctx, b.DB, decision.Standing, b.Spec.Run); err != nil {
		return first, err
	}
	if standing == nil && b.Spec.Attempt > 1 {
		err := b.DB.Read(ctx, func(q *store.Snapshot) (err error) {
			in.Said, err = b.Mail.Binding(q, b.MailRoom)
			return err
		})
		if err != nil {
			return first, err
		}
	}
	if in.Review, err = b.reviewBrief(ctx, room); err != nil {
		return first, err
	}
	if in.Review != nil {
		in.Review.Receipts = f.Receipts
	}
	if told := b.Spec.Feedback; told != nil {
		with := *told
		with.Receipts = f.Receipts
		in.Feedback = &with
	}
	files, err := b.Tools.Listed(ctx)
	if err != nil {
		return first, err
	}
	for _, size := range contextSizes() {
		in.Overview = overview(files, size.depth, size.entries)
		in.Guides = guides(b.Tools.Files, size.guide)
		if in.Skills = ""; size.guide > 0 && b.Role.OffersIn(b.Spec.Phase(), "use_skill") {
			in.Skills = tool.SkillList(b.Tools.Files.Skills())
		}
		in.Staged, in.Reworked = nil, nil
		for _, one := range shown(staging.Fit(f.Staged, room/size.share)) {
			if f.changed[one.Path] {
				in.Reworked = append(in.Reworked, one)
			} else {
				in.Staged = append(in.Staged, one)
			}
		}
		common, own, err := brief.First(in)
		if err != nil {
			return first, err
		}
		first = llm.UserText(string(b.DB.Redact([]byte(common))), string(b.DB.Redact([]byte(own))))
		first = b.with(f.Images, first)
		if llm.Bytes(llm.Request{Messages: []llm.Message{first}}) <= room {
			break
		}
	}
	return first, nil
}

// Learnt writes the first message of a session that goes on with another's work, whose
// conversation does not fit, with the record of that.
func (b Briefing) Learnt(ctx context.Context, f *Facts, record string, room int64) (llm.Message, error) {
	if b.Spec.Feedback == nil {
		b.Spec.Feedback = &session.Feedback{Reason: "a person wants more of work that another session did, or wants it otherwise"}
	}
	told := *b.Spec.Feedback
	told.Learnt = record
	b.Spec.Feedback = &told
	return b.First(ctx, f, nil, room)
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

// Facts reads what is known of the contract, and picks its context.
func (b Briefing) Facts(ctx context.Context) (*Facts, error) {
	f := &Facts{}
	err := b.DB.Read(ctx, func(s *store.Snapshot) error {
		contract, err := registry.Contract(s, b.Spec.Run, b.Spec.Contract)
		if err != nil {
			return err
		}
		others, err := b.others(s, contract)
		if err != nil {
			return err
		}
		f.Contract = brief.WithOutputs(contract, b.Spec.Role, others)
		published, err := artifact.List(s, b.Spec.Run, brief.ReadsOf(contract, b.Spec.Role)...)
		if err != nil {
			return err
		}
		if f.Images, err = registry.Images(s, b.Spec.Run); err != nil {
			return err
		}
		f.Contract = brief.WithArtifacts(f.Contract, published)
		f.Contract.Attempts = b.Spec.Attempt // an attempt is one, however often it starts
		for _, id := range b.judgedBy() {
			r, err := check.Receipt(s, id)
			if agency.KindOf(err) == agency.KindNotFound {
				continue
			}
			if err != nil {
				return err
			}
			if !check.Stage(r.Stage).Trial() {
				f.Receipts = append(f.Receipts, r)
			}
		}
		return nil
	})
	if err == nil {
		f.Staged, err = b.pick(ctx, f.Contract)
	}
	if err != nil || len(f.Staged) == 0 || b.Spec.Attempt == 1 && b.Spec.Fresh == 0 {
		return f, err
	}
	changes, err := b.Tools.History.Changed(ctx)
	f.changed = map[string]bool{}
	for _, c := range changes {
		f.changed[c.Path] = true
	}
	return f, err
}

// others are the contracts whose outputs the session may see: of a plan of
// thousands mostly a few.
func (b Briefing) others(s *store.Snapshot, contract agency.Contract) (out []agency.Contract, err error) {
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
func (b Briefing) judgedBy() []agency.ReceiptID {
	switch f, r := b.Spec.Feedback, b.Spec.Review; {
	case f != nil && f.Verdict != nil:
		return f.Verdict.Receipts
	case r != nil && r.Verdict != nil:
		return r.Verdict.Receipts
	}
	return nil
}

const (
	overviewDepth   = 3
	overviewEntries = 300
	// maxGuide is how much of a note for contributors a brief holds.
	maxGuide = 12 << 10
)

// guideNames are the notes for contributors that people keep, one of a kind.
func guideNames() []string {
	return []string{
		"AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md", ".cursorrules", ".windsurfrules", "CONVENTIONS.md",
		"CONTRIBUTING.md", ".github/CONTRIBUTING.md", "docs/CONTRIBUTING.md",
	}
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

// reviewBrief is what a reviewer is shown beside the contract: all changes, what
// the harness recorded of them, and the reviews before.
func (b Briefing) reviewBrief(ctx context.Context, room int64) (*brief.ReviewRequest, error) {
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
	changed, err := b.Tools.History.Changed(ctx)
	if err != nil {
		return nil, err
	}
	out.Files = changeLines(changed)
	if out.Diff, err = b.Tools.History.Diff(ctx, ""); err != nil {
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

// changeLines names files that differ, each after what became of it.
func changeLines(changes []git.Change) []string {
	out := make([]string, len(changes))
	for i, c := range changes {
		out[i] = string(c.Status) + " " + c.Path
	}
	return out
}
