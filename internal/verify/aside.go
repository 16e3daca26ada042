package verify

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"

	"agency/internal/check/detect"
	"agency/internal/checkout"
	"agency/internal/git"
)

// aside are the folders of the parts that a change touches and no command of
// the run enters: nothing of what it does there was checked.
func (j *job) aside(ctx context.Context, changes []git.Change, claim *checkout.Checkout) (out []string, err error) {
	if !hasNestedPart(j.trees.List(ctx, j.task.claim), changes) {
		return nil, nil
	}
	err = claim.Files(ctx, func(files fs.FS) {
		for _, a := range detect.NotEntered(files, j.task.Commands) {
			if slices.ContainsFunc(changes, func(c git.Change) bool { return strings.HasPrefix(c.Path, a.Dir+"/") }) {
				out = append(out, a.Dir)
			}
		}
	})
	return out, err
}

// hasNestedPart tells whether a changed file lies in a folder below the root, or
// in one below such a folder, that has a manifest.
func hasNestedPart(entries []git.Entry, changes []git.Change) bool {
	parts := map[string]bool{}
	for _, e := range entries {
		if dir := path.Dir(e.Path); dir != "." && manifests[path.Base(e.Path)] {
			parts[dir] = true
		}
	}
	for _, c := range changes {
		for at := path.Dir(c.Path); at != "."; at = path.Dir(at) {
			if parts[at] {
				return true
			}
		}
	}
	return false
}

// manifests are the files that make a folder a part of its own.
var manifests = map[string]bool{
	"go.mod": true, "package.json": true, "Cargo.toml": true, "pyproject.toml": true, "setup.py": true, "setup.cfg": true,
	"requirements.txt": true, "Pipfile": true, "pom.xml": true, "build.gradle": true, "build.gradle.kts": true,
}

// judgeAside names what nothing has checked; it decides nothing.
func (j judgement) judgeAside() {
	for _, dir := range j.aside {
		j.v.Unchecked = append(j.v.Unchecked, dir)
		j.r.note("not checked: the change touches %s, which no command of the run enters: the merge gate names it", dir)
	}
}
