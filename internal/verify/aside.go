package verify

import (
	"context"
	"os"
	"path"
	"strings"

	"agency/internal/agency"
	"agency/internal/check/detect"
	"agency/internal/git"
)

// aside are the folders of the parts that a change touches and no command of
// the run enters: nothing of what it does there was checked.
func (j *job) aside(ctx context.Context, changes []git.Change, claim *bench) (out []string, err error) {
	entries, err := j.tree(ctx, j.task.claim)
	if err != nil || !hasNestedPart(entries, changes) {
		return nil, err
	}
	if err := claim.prepare(ctx); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(claim.place.Root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // only read
	for _, a := range detect.NotEntered(root.FS(), j.task.Commands) {
		for _, c := range changes {
			if strings.HasPrefix(c.Path, a.Dir+"/") {
				out = append(out, a.Dir)
				break
			}
		}
	}
	return out, nil
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
func (f facts) judgeAside(v *agency.Verdict, r *report) {
	for _, dir := range f.aside {
		v.Unchecked = append(v.Unchecked, dir)
		r.note("not checked: the change touches %s, which no command of the run enters: the merge gate names it", dir)
	}
}
