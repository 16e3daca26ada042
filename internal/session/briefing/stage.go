package briefing

import (
	"context"
	"encoding/json"
	"path"
	"slices"

	"agency/internal/agency"
	"agency/internal/brief"
	"agency/internal/brief/staging"
	"agency/internal/event"
	"agency/internal/llm"
	"agency/internal/registry"
	"agency/internal/roster"
	"agency/internal/store"
	"agency/internal/text"
	"agency/internal/tool"
)

// stagedDir is where a contract's context lies in its workspace. Snapshots
// leave it out (package workspace).
const stagedDir = tool.StagedDir

// stageMark is the file that tells our folder from one of the repository.
const stageMark = "# Staged by agency for the contract at hand; never part of a change.\n*\n"

// stagedSuffix ends the name of each staged file. Under its own name a copy of
// a test is a test to runners that look everywhere (node --test), and it fails
// for want of what stood beside it.
const stagedSuffix = ".txt"

// pick picks the context of a contract where the session has one.
func (b Briefing) pick(ctx context.Context, contract agency.Contract) ([]staging.Item, error) {
	if !b.Spec.Staged {
		return nil, nil
	}
	recent, err := b.Tools.Recent(ctx)
	if err != nil {
		return nil, err
	}
	items, err := staging.Stage(ctx, staging.Input{FS: b.Tools.Files.FS(), Contract: contract, Limits: b.Setup.Context, Recent: recent})
	if err != nil || !b.Setup.Context.Similar || b.Setup.Context.MaxTokens <= 0 {
		return items, err
	}
	ended, err := b.ended(ctx, contract)
	for _, e := range ended {
		items = append(items, e.Item())
	}
	return items, err
}

const (
	// maxKnown is how many ended contracts are looked at for some like the one at hand.
	maxKnown    = 300
	maxFailures = 3
	maxFailure  = 300 // bytes of one
)

// ended are contracts like the one at hand that had ended in this repository before the run
// began, so that all of it is told the same.
func (b Briefing) ended(ctx context.Context, contract agency.Contract) (out []staging.Ended, err error) {
	err = b.DB.Read(ctx, func(q *store.Snapshot) error {
		run, err := registry.Run(q, b.Spec.Run)
		if err != nil {
			return err
		}
		known, err := registry.Ended(q, run.CreatedAt, maxKnown)
		if err != nil {
			return err
		}
		known = slices.DeleteFunc(known, func(c agency.Contract) bool {
			return roster.Leads(c.AssignedRole) || c.Type == agency.TypeReview
		})
		for _, c := range staging.Alike(contract, known) {
			told, err := event.Since(q, 0, event.Filter{Run: c.RunID, Contract: c.ID, Types: []agency.EventType{"state_changed", "failed"}}, 0)
			if err != nil {
				return err
			}
			out = append(out, staging.Ended{Contract: c, Failed: reasons(told)})
		}
		return nil
	})
	for i, e := range out {
		if commit := e.Contract.ActualOutputs.Commit; commit != "" {
			out[i].Diff, _ = b.Tools.Landed(ctx, commit, maxDiff) // one that is gone is not shown
		}
	}
	return out, err
}

// maxDiff is how much is read of what landed, in bytes.
const maxDiff = 16 << 10

// reasons are why attempts were not enough, each once, the last ones.
func reasons(told []agency.Event) (out []string) {
	for _, ev := range told {
		reason := ""
		switch d, _ := agency.DecodeDetail(ev); d := d.(type) {
		case *agency.StateChanged:
			reason = d.Reason
		case *agency.Failed:
			reason = d.Reason
		}
		if reason = text.OneLine(reason, maxFailure); reason != "" && !slices.Contains(out, reason) {
			out = append(out, reason)
		}
	}
	return out[max(0, len(out)-maxFailures):]
}

// lay writes the staged context and a person's pictures into the workspace. A folder of that
// name that the repository itself has is left alone.
func (b Briefing) lay(f *Facts) error {
	if b.Tools.Files == nil || !b.Spec.Staged && len(f.Images) == 0 {
		return nil
	}
	if _, err := b.Tools.Files.List(context.Background(), stagedDir, 1, 1); err == nil {
		if text, err := b.Tools.Files.Text(stagedDir + "/.gitignore"); err != nil || text != stageMark {
			return nil
		}
	}
	files := map[string]string{".gitignore": stageMark}
	if b.Spec.Staged {
		doc, err := json.MarshalIndent(f.Contract, "", "  ")
		if err != nil {
			return err
		}
		files["contract.json"] = string(doc) + "\n"
	}
	for _, i := range f.Staged {
		files[path.Join(string(i.Kind), i.Path+stagedSuffix)] = i.Text
	}
	for _, i := range f.Images {
		files[path.Join(imagesDir, i.Name)] = string(i.Data)
	}
	switch err := b.Tools.Files.Replace(stagedDir, files); agency.KindOf(err) {
	case agency.KindInvalid, agency.KindDenied, agency.KindNotFound, agency.KindConflict:
		return nil // an agent made the place unusable; the brief holds the same
	default:
		return err
	}
}

// imagesDir is where in it the pictures of a person lie.
const imagesDir = "images"

// with is a first message with what a person shows, behind its words.
func (b Briefing) with(images []llm.Image, m llm.Message) llm.Message {
	if len(images) == 0 {
		return m
	}
	words := "These pictures belong to what is asked for"
	if b.Tools.Files != nil {
		if _, _, err := b.Tools.Files.Stat(path.Join(stagedDir, imagesDir, images[0].Name)); err == nil {
			words += "; they lie in `" + path.Join(stagedDir, imagesDir) + "/`"
		}
	}
	m.Blocks = append(m.Blocks, llm.Text{Text: words + ":"})
	for _, i := range images {
		m.Blocks = append(m.Blocks, i)
	}
	return m
}

// shown is a staged context as the brief has it.
func shown(staged []staging.Item) []brief.Staged {
	out := make([]brief.Staged, len(staged))
	for n, i := range staged {
		out[n] = brief.Staged{Path: i.Path, Text: i.Text, Why: i.Why, Kind: string(i.Kind), Whole: i.Whole}
	}
	return out
}
