package briefing

import (
	"context"
	"encoding/json"
	"path"

	"agency/internal/agency"
	"agency/internal/brief"
	"agency/internal/brief/staging"
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
	return staging.Stage(ctx, staging.Input{FS: b.Tools.Files.FS(), Contract: contract, Limits: b.Setup.Context, Recent: recent})
}

// lay writes the staged context into the workspace. A folder of that name that
// the repository itself has is left alone.
func (b Briefing) lay(f *Facts) error {
	if !b.Spec.Staged {
		return nil
	}
	if _, err := b.Tools.Files.List(context.Background(), stagedDir, 1, 1); err == nil {
		if text, err := b.Tools.Files.Text(stagedDir + "/.gitignore"); err != nil || text != stageMark {
			return nil
		}
	}
	doc, err := json.MarshalIndent(f.Contract, "", "  ")
	if err != nil {
		return err
	}
	files := map[string]string{".gitignore": stageMark, "contract.json": string(doc) + "\n"}
	for _, i := range f.Staged {
		files[path.Join(string(i.Kind), i.Path+stagedSuffix)] = i.Text
	}
	switch err := b.Tools.Files.Replace(stagedDir, files); agency.KindOf(err) {
	case agency.KindInvalid, agency.KindDenied, agency.KindNotFound, agency.KindConflict:
		return nil // an agent made the place unusable; the brief holds the same
	default:
		return err
	}
}

// shown is a staged context as the brief has it.
func shown(staged []staging.Item) []brief.Staged {
	out := make([]brief.Staged, len(staged))
	for n, i := range staged {
		out[n] = brief.Staged{Path: i.Path, Text: i.Text, Why: i.Why, Kind: string(i.Kind), Whole: i.Whole}
	}
	return out
}
