package verify

import (
	"context"
	"errors"
	"path"
	"regexp"
	"strings"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/git"
)

// maxGutted bounds the files of a tree that is gutted; of a larger one nothing is
// found out.
const maxGutted = 50_000

// nonsense is a text that no language and no format takes.
const nonsense = ")\"'<\x01}\n"

// gutted finds out whether a test command of which no result can be read tests
// anything: one that passes where no file of the repository makes sense, and
// where none is left, hides that its runner is not there, or has nothing to run.
// What it is made of stays: scripts that it names, recipes and manifests. Claims
// alone are asked about: by their verdicts a merge is shown.
func (j *job) gutted(ctx context.Context, f *facts, cmd check.Command) error {
	r := f.claimSuite.receipt
	if !j.task.isClaim() || !f.claimSuite.ran || r.Parsed || !r.OK() || idle(r) {
		return nil
	}
	entries, err := j.tree(ctx, j.task.claim)
	if err != nil || len(entries) > maxGutted {
		return err
	}
	named, err := j.namedFiles(ctx)
	if err != nil {
		return err
	}
	text, err := j.blob(ctx, "nonsense", []byte(nonsense))
	if err != nil {
		return err
	}
	var broken, gone []git.Entry
	for _, e := range entries {
		if !regular(e.Mode) || named[e.Path] && runnable(e) || hasParts(e.Path) || isLock(e.Path) || isRunner(e.Path) || isRecipe(path.Base(e.Path)) || strings.HasPrefix(path.Base(e.Path), ".git") {
			continue
		}
		broken = append(broken, git.Entry{Path: e.Path, Mode: e.Mode, ID: text.ID})
		gone = append(gone, git.Entry{Path: e.Path})
	}
	if len(broken) == 0 {
		return nil
	}
	for _, set := range [][]git.Entry{broken, gone} {
		tree, err := j.withEntries(ctx, j.task.claim, set)
		if err != nil {
			return err
		}
		if passes, err := j.passesOn(ctx, f, tree, cmd); err != nil || !passes {
			return err
		}
	}
	f.hollow = true
	return nil
}

// idle tells whether a command that passed ran nothing: there is nothing in it to
// run, or make found nothing to make, as where a folder has the target's name.
func idle(r agency.Receipt) bool {
	if doesNothing(r.Command) {
		return true
	}
	said := 0
	for line := range strings.Lines(r.Output) {
		switch line = strings.TrimSpace(line); {
		case nothingMade.MatchString(line):
			said++
		case line != "" && !enters.MatchString(line):
			return false
		}
	}
	return said > 0
}

// What make says when it made nothing, and as it goes from folder to folder.
var (
	nothingMade = regexp.MustCompile("^\\S*make(?:\\[\\d+\\])?: (?:[`'].*' is up to date|Nothing to be done for [`'].*')\\.$")
	enters      = regexp.MustCompile(`^\S*make(?:\[\d+\])?: (?:Entering|Leaving) directory `)
)

// runnable tells of a file that a command can run.
func runnable(e git.Entry) bool {
	return e.Mode == 0o100755 || isUnread(e.Path) || languageOf(e.Path) != ""
}

func (j *job) passesOn(ctx context.Context, f *facts, tree agency.OID, cmd check.Command) (bool, error) {
	b := newBench(j, check.StageGutted, tree)
	cmd.Timeout = patience(cmd, f.claimSuite.receipt)
	r, err := b.run(ctx, cmd)
	f.madeWithout = append(f.madeWithout, b.made...)
	return passes(r), errors.Join(err, b.close(ctx))
}
