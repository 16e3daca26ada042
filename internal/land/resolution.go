package land

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/git"
	"agency/internal/store"
	"agency/internal/textmerge"
)

// ResolutionActivity compares work that was made to fit with both sides of the
// conflict that it met; Queue performs it.
var ResolutionActivity = flow.Activity[ResolutionSpec, Resolution]{Name: "land.resolution"}

// ResolutionSpec names the trees and commits: Ours is the claim that conflicted,
// made from From, Theirs what it met, Result the claim that holds both.
type ResolutionSpec struct {
	Run      agency.RunID      `json:"run"`
	Contract agency.ContractID `json:"contract"`
	From     agency.OID        `json:"from"`
	Ours     agency.OID        `json:"ours"`
	Theirs   agency.OID        `json:"theirs"`
	Result   agency.OID        `json:"result"`
	Paths    []string          `json:"paths"`
}

// Resolution is what is wrong with it: lines of either side of which it has no
// trace, each behind its path, and files with conflict marks.
type Resolution struct {
	Ours   []string `json:"ours,omitempty"`
	Theirs []string `json:"theirs,omitempty"`
	Marked []string `json:"marked,omitempty"`
	// Alone are the places at which it is one side alone.
	Alone []string `json:"alone,omitempty"`
}

// String says what matters most of it; empty where nothing of the other side is
// lost, and no side was dropped.
func (r Resolution) String() string {
	switch {
	case len(r.Marked) > 0:
		return "conflict marks are left in " + strings.Join(r.Marked, ", ")
	case len(r.Theirs) > 0:
		return fmt.Sprintf("the resolution of the conflict has no trace of %s of the other side, such as %s", agency.Things(len(r.Theirs), "line", "lines"), r.Theirs[0])
	case len(r.Alone) > 0:
		return fmt.Sprintf("the resolution of the conflict is one side alone, such as %s", r.Alone[0])
	}
	return ""
}

// maxLost bounds the lines of one side that are named.
const maxLost = 20

// Resolution looks at the files in conflict. One that a side does not have is
// an empty one.
func (q *Queue) Resolution(ctx context.Context, _ agency.StepKey, spec ResolutionSpec) (Resolution, error) {
	run, _, err := q.o.open(ctx, spec.Run)
	if err != nil {
		return Resolution{}, err
	}
	var out Resolution
	for _, path := range spec.Paths {
		var texts [4][]byte
		large := false
		for i, tree := range []agency.OID{spec.From, spec.Ours, spec.Theirs, spec.Result} {
			texts[i], err = run.Dir().Objects().Blob(ctx, tree, path, maxMerged)
			if err != nil && agency.KindOf(err) != agency.KindNotFound && !git.IsTooLong(err) {
				return out, err
			}
			large = large || git.IsTooLong(err)
		}
		if large {
			out.Theirs = append(out.Theirs, fmt.Sprintf("%s: larger than %d MB, and not looked at", path, maxMerged>>20))
			continue
		}
		name := func(to []string, lines []string) []string {
			for _, l := range lines {
				if len(to) < maxLost {
					to = append(to, path+": "+l)
				}
			}
			return to
		}
		out.Ours = name(out.Ours, textmerge.Lost(texts[0], texts[1], texts[2], texts[3]))
		out.Theirs = name(out.Theirs, textmerge.Lost(texts[0], texts[2], texts[1], texts[3]))
		out.Alone = name(out.Alone, textmerge.Alone(texts[0], texts[1], texts[2], texts[3]))
		if textmerge.Marked(texts[3], texts[:3]...) {
			out.Marked = append(out.Marked, path)
		}
	}
	said := out.String()
	if said == "" {
		return out, nil
	}
	return out, q.o.write(ctx, func(tx *store.Tx) error {
		return appendEvent(tx, agency.NewEvent(spec.Run, agency.SeverityWarning, said,
			agency.MergeConflicted{Contract: spec.Contract, Paths: spec.Paths}), spec.Contract)
	})
}

// maxStructural bounds how many files of one landing are merged structurally: a
// claim that meets more of them was made for another tree.
const maxStructural = 20

// maxMerged bounds each side of a file that is merged, or looked at for what a
// merge lost, in bytes.
const maxMerged = 2 << 20

// structurally merges what conflicts by lines only. It gives no tree where any
// of the files stays in conflict: then all of them go back to the owner.
func (l *landing) structurally(ctx context.Context, m git.Merge) (tree agency.OID, paths []string, err error) {
	if len(m.FileConflicts) == 0 || len(m.FileConflicts) > maxStructural {
		return "", nil, nil
	}
	d := l.run.Dir()
	var entries []git.Entry
	for _, c := range m.FileConflicts {
		content, ok, err := mergedFile(ctx, d, c)
		if err != nil || !ok {
			return "", nil, err
		}
		e := c.Ours
		e.Stage = 0
		if e.ID, err = d.Objects().WriteBlob(ctx, content); err != nil {
			return "", nil, err
		}
		entries, paths = append(entries, e), append(paths, c.Base.Path)
	}
	tree, err = d.Index().TreeWith(ctx, m.Tree, l.mergeScratch(), entries)
	return tree, paths, err
}

// mergedFile merges one file; ok is false where it conflicts.
func mergedFile(ctx context.Context, d git.Dir, c git.FileConflict) (content []byte, ok bool, err error) {
	regular := func(e git.Entry) bool {
		return e.Mode == c.Base.Mode && (e.Mode == git.ModeFile || e.Mode == git.ModeExec)
	}
	if !regular(c.Base) || !regular(c.Ours) || !regular(c.Theirs) {
		return nil, false, nil
	}
	var texts [3][]byte
	for i, e := range []git.Entry{c.Base, c.Ours, c.Theirs} {
		if texts[i], err = d.Objects().Content(ctx, e.ID, maxMerged); git.IsTooLong(err) {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
	content, err = textmerge.Merge(c.Base.Path, texts[0], texts[1], texts[2])
	if in := textmerge.Doubt(""); errors.As(err, &in) {
		return nil, false, nil
	}
	return content, err == nil, err
}
