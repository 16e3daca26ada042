package workspace

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/git"
)

// Files that the base hands to a filter, such as LFS, lie in every checkout as
// they lie in git: filters are programs, and the host runs none. An agent that
// wrote them would land what the filter should have cleaned, so no contract
// may write them (docs/security.md).

// maxRules bounds a .gitattributes or .gitignore that is read, in bytes.
const maxRules = 4 << 20

// attributeTexts are the rules of attributes that count for the base's files.
func (r *rules) attributeTexts(ctx context.Context, entries []git.Entry) ([]string, error) {
	texts := []string{r.info.Settings.Attributes, r.info.Settings.GlobalAttributes}
	for _, e := range entries {
		if path.Base(e.Path) != ".gitattributes" || e.Mode == git.ModeSymlink {
			continue
		}
		text, err := r.dir.Objects().Content(ctx, e.ID, maxRules)
		if err != nil {
			return nil, err
		}
		texts = append(texts, string(text))
	}
	return texts, nil
}

// filters tells whether any rule may hand a path to a filter: most repositories
// have none, and nothing has to be asked for them.
func (f *baseFacts) filters() bool { return mentions(f.attributes, "filter") }

// refuseEncrypted refuses repositories whose files git-crypt must decrypt.
func (r *rules) refuseEncrypted(ctx context.Context) error {
	base, err := r.base(ctx)
	if err != nil || !mentions(base.attributes, "filter=git-crypt") {
		return err
	}
	return agency.Errorf(agency.KindInvalid, "the repository is encrypted by git-crypt, which agents cannot work on").
		WithMend("work on a clone without the filter=git-crypt lines in .gitattributes")
}

func mentions(texts []string, what string) bool {
	return slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, what) })
}

// Filtered gives, of the paths, those that the base hands to a filter such as
// LFS, with the filter's name.
func (r *rules) Filtered(ctx context.Context, paths []string) (map[string]string, error) {
	base, err := r.base(ctx)
	if err != nil || !base.filters() || len(paths) == 0 {
		return nil, err
	}
	d, err := r.baseIndex(ctx)
	if err != nil {
		return nil, err
	}
	set, err := d.Index().Attr(ctx, "filter", paths)
	maps.DeleteFunc(set, func(_, name string) bool { return name == "set" }) // names no filter
	return set, err
}

// Kept is what of the base is kept by filters.
type Kept struct {
	Filters []string // their names, sorted
	Files   int      // how many files they keep
	Others  int      // how many files they do not keep, but for git's own (.gitignore and the like)
}

// Kept counts the base's files that filters keep. A repository of which
// nothing else is left has no work for an agent: KindInvalid.
func (r *rules) Kept(ctx context.Context) (Kept, error) {
	var k Kept
	base, err := r.base(ctx)
	if err != nil || !base.filters() {
		return k, err
	}
	set, err := r.Filtered(ctx, slices.Collect(maps.Keys(base.files)))
	if err != nil {
		return k, err
	}
	names := map[string]bool{}
	for p := range base.files {
		switch name, kept := set[p]; {
		case kept:
			names[name] = true
			k.Files++
		case !strings.HasPrefix(path.Base(p), ".git"):
			k.Others++
		}
	}
	k.Filters = slices.Sorted(maps.Keys(names))
	if k.Files > 0 && k.Others == 0 {
		return k, agency.Errorf(agency.KindInvalid, "every file of the repository is kept by a git filter (%s), and agents cannot change such files", strings.Join(k.Filters, ", ")).
			WithMend("take the filter= of the files to be changed out of .gitattributes, and commit")
	}
	return k, nil
}

// checkFiltered names the changes of a tree that a filter keeps.
func (a *audit) checkFiltered(ctx context.Context, tree agency.OID) error {
	if !a.base.filters() || a.kind != Work || tree == a.unfiltered {
		return nil
	}
	from, err := a.Start()
	if err != nil {
		return err
	}
	changes, err := a.dir.Diff().Changes(ctx, from, tree)
	if err != nil {
		return err
	}
	set, err := a.run.Filtered(ctx, pathsOf(changes))
	if err != nil {
		return err
	}
	if len(set) == 0 {
		a.unfiltered = tree
		return nil
	}
	named := make([]string, 0, len(set))
	for _, p := range slices.Sorted(maps.Keys(set)) {
		named = append(named, fmt.Sprintf("%s (filter %s)", p, set[p]))
	}
	return &Violation{Kind: Filtered, Paths: named}
}
