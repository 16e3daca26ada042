package verify

import (
	"context"
	"path"
	"slices"
	"strings"
)

// testModules are the modules of Python of the claim.
type testModules struct {
	exists func(string) bool
	theirs map[string]bool // modules in folders of tests, by each name that a path to search gives them
}

// testModules reads them.
func (j *job) testModules(ctx context.Context) (*testModules, error) {
	m := &testModules{theirs: map[string]bool{}}
	var err error
	if m.exists, err = j.existing(ctx); err != nil || j.run == nil {
		return m, err
	}
	entries, err := j.tree(ctx, j.task.claim)
	for _, e := range entries {
		if languageOf(e.Path) != python || matterOf(e.Path) != ofTests || isVendored(e.Path) {
			continue
		}
		for rest, more := moduleOf(e.Path), true; more; _, rest, more = strings.Cut(rest, "/") {
			m.theirs[strings.ReplaceAll(rest, "/", ".")] = true
		}
	}
	return m, err
}

// seenFrom tells of modules that a file cannot load but where the path to search
// leads into a folder of tests: nothing of that name stands where it is looked for
// without.
func (m *testModules) seenFrom(f source) func(module string) bool {
	if m == nil || f.lang != python {
		return nil
	}
	return func(module string) bool {
		first, _, _ := strings.Cut(module, ".")
		if !m.theirs[module] || stdlib[first] {
			return false
		}
		return !slices.ContainsFunc(append([]string{path.Dir(f.path)}, sourceRoots[:4]...), func(root string) bool {
			at := path.Join(root, first)
			return m.exists(at) || m.exists(at+".py")
		})
	}
}
