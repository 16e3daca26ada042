package verify

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"agency/internal/agency"
	"agency/internal/changeset"
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
func (t *testRun) gutted(ctx context.Context) error {
	r := t.f.claimSuite.Receipt
	if !t.task.isClaim() || !t.f.claimSuite.Ran || r.Parsed || !r.OK() || idle(r) {
		return nil
	}
	entries := t.trees.List(ctx, t.task.claim)
	if len(entries) > maxGutted {
		return nil
	}
	named := t.files.named(ctx)
	text := t.trees.Store(ctx, "nonsense", 0o100644, []byte(nonsense))
	var broken, gone []git.Entry
	for _, e := range entries {
		runs := e.Mode == 0o100755 || isUnread(e.Path) || languageOf(e.Path) != "" // a command can run it
		if !changeset.Regular(e.Mode) || named[e.Path] && runs || hasParts(e.Path) || isLock(e.Path) || isRunner(e.Path) || isRecipe(path.Base(e.Path)) || strings.HasPrefix(path.Base(e.Path), ".git") {
			continue
		}
		broken = append(broken, git.Entry{Path: e.Path, Mode: e.Mode, ID: text.ID})
		gone = append(gone, git.Entry{Path: e.Path})
	}
	if len(broken) == 0 {
		return nil
	}
	cmd := t.cmd
	cmd.Timeout = patience(cmd, r)
	for _, set := range [][]git.Entry{broken, gone} {
		tree, err := t.trees.With(ctx, t.task.claim, set)
		if err != nil {
			return err
		}
		if got, err := t.trial(ctx, cmd, check.StageGutted, tree, nil); err != nil || !passes(got.Receipt) {
			return err
		}
	}
	t.f.hollow = true
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

// doesNothing tells whether a line of shell consists of commands that succeed
// whatever the repository holds.
func doesNothing(line string) bool {
	return callsOnly(line, syntax.LangPOSIX, func(program string) bool {
		return slices.Contains([]string{"true", ":", "echo", "printf", "exit"}, program)
	})
}

// What make says when it made nothing, and as it goes from folder to folder.
var (
	nothingMade = regexp.MustCompile("^\\S*make(?:\\[\\d+\\])?: (?:[`'].*' is up to date|Nothing to be done for [`'].*')\\.$")
	enters      = regexp.MustCompile(`^\S*make(?:\[\d+\])?: (?:Entering|Leaving) directory `)
)
