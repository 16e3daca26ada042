package native

import (
	"context"
	"encoding/json"
	"path"

	"agency/internal/agency"
	"agency/internal/brief"
	"agency/internal/brief/staging"
)

// stagedDir is where a contract's context lies in its workspace. Snapshots
// leave it out (package workspace).
const stagedDir = ".agency/task-context"

// stageMark is the file that tells our folder from one of the repository.
const stageMark = "# Staged by agency for the contract at hand; never part of a change.\n*\n"

// stagedSuffix ends the name of each staged file. Under its own name a copy of
// a test is a test to runners that look everywhere (node --test), and it fails
// for want of what stood beside it.
const stagedSuffix = ".txt"

// pick picks the context of a contract where the session has one.
func (b briefing) pick(ctx context.Context, contract agency.Contract) (staging.Context, error) {
	if !b.Spec.Staged {
		return staging.Context{}, nil
	}
	in := staging.Input{FS: b.tools.Files.FS(), Contract: contract, Limits: b.Setup.Context}
	if b.tools.Recent != nil {
		var err error
		if in.Recent, err = b.tools.Recent(ctx); err != nil {
			return staging.Context{}, err
		}
	}
	return staging.Stage(ctx, in)
}

// lay writes the staged context into the workspace. A folder of that name that
// the repository itself has is left alone.
func (b briefing) lay(contract agency.Contract, staged staging.Context) error {
	if !b.Spec.Staged {
		return nil
	}
	if _, err := b.tools.Files.List(context.Background(), stagedDir, 1, 1); err == nil {
		if text, err := b.tools.Files.Text(stagedDir + "/.gitignore"); err != nil || text != stageMark {
			return nil
		}
	}
	doc, err := json.MarshalIndent(contract, "", "  ")
	if err != nil {
		return err
	}
	files := map[string]string{".gitignore": stageMark, "contract.json": string(doc) + "\n"}
	for _, i := range staged.Items {
		files[path.Join(string(i.Kind), i.Path+stagedSuffix)] = i.Text
	}
	switch err := b.tools.Files.Replace(stagedDir, files); agency.KindOf(err) {
	case agency.KindInvalid, agency.KindDenied, agency.KindNotFound, agency.KindConflict:
		return nil // an agent made the place unusable; the brief holds the same
	default:
		return err
	}
}

// shown is a staged context as the brief has it.
func shown(staged staging.Context) []brief.Staged {
	out := make([]brief.Staged, len(staged.Items))
	for n, i := range staged.Items {
		out[n] = brief.Staged{Path: i.Path, Text: i.Text, Why: i.Why, Kind: string(i.Kind), Whole: i.Whole}
	}
	return out
}
