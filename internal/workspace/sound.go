package workspace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/git"
)

// What a checkout holds must become a tree that the user's git takes over and
// checks out as what was verified. Two things stand in the way that no file
// shows by itself: rules by which git recodes files, and data of git's own that
// it refuses when objects come from elsewhere.

// audit looks at the tree of a checkout for what must not land.
type audit struct {
	*checkout
	// unfiltered is the last tree in which no change of a filtered path was seen.
	unfiltered agency.OID
	// suspect is set where data of git's own may differ from the base's;
	// seenSound is the last tree with such that was found sound.
	suspect   bool
	seenSound agency.OID
}

// encoding is the attribute by which git stores a file in another encoding than
// that of the checkout.
const encoding = "working-tree-encoding"

// settleEncodings takes the attribute out of force where the base does not use
// it: what a claim writes then has no say in what is stored of it. Where the
// base uses it, files are stored by its rules, and unchangedRules holds claims
// to these.
func (r *rules) settleEncodings(base *baseFacts) error {
	if mentions(base.attributes, encoding) {
		return nil
	}
	text := strings.TrimRight(r.info.Settings.Attributes, "\n") + "\n* -" + encoding + "\n"
	return git.WriteFile(filepath.Join(r.dir.GitDir, "info", "attributes"), []byte(text))
}

// isGitData tells a name that git may read in a checkout or object as data of
// its own. It takes more than git does: file systems fold names, each in its way.
func isGitData(p string) bool {
	name := strings.ToLower(path.Base(p))
	if strings.ContainsFunc(name, func(r rune) bool { return r > 126 || r < 32 }) { // some of which count for nothing
		return strings.ContainsAny(name, "g")
	}
	return strings.HasPrefix(name, ".git") || strings.HasPrefix(name, "gi") && strings.Contains(name, "~")
}

// gitDataIn tells whether one of the paths, or a folder above it, is one.
func gitDataIn(paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		for ; p != "." && p != "/"; p = path.Dir(p) {
			if isGitData(p) && path.Base(p) != ".gitignore" {
				return true
			}
		}
		return false
	})
}

// sound looks at a tree in which data of git's own was changed. What the last
// look found good is not looked at again.
func (a *audit) sound(ctx context.Context, tree agency.OID) error {
	if a.kind != Work || !a.suspect || tree == a.seenSound || tree == a.run.baseTree {
		return nil
	}
	changes, err := a.dir.Diff().Changes(ctx, a.run.baseTree, tree)
	if err != nil {
		return err
	}
	if a.suspect = gitDataIn(pathsOf(changes)); !a.suspect {
		return nil
	}
	if err := a.unchangedRules(ctx, tree, changes); err != nil {
		return err
	}
	if err := a.run.Sound(ctx, tree); err != nil {
		return err
	}
	a.seenSound = tree
	return nil
}

func pathsOf(changes []git.Change) []string {
	paths := make([]string, len(changes))
	for i, c := range changes {
		paths[i] = c.Path
	}
	return paths
}

// unchangedRules refuses rules of encodings that differ from the base's: what a
// person is shown of such a file would not be what lies in a checkout.
func (a *audit) unchangedRules(ctx context.Context, tree agency.OID, changes []git.Change) error {
	var rules []string
	for _, c := range changes {
		if !strings.EqualFold(path.Base(c.Path), ".gitattributes") {
			continue
		}
		if mentions(a.base.attributes, encoding) {
			return a.sameEncodings(ctx, tree)
		}
		if c.New.Mode != git.ModeFile && c.New.Mode != git.ModeExec {
			continue
		}
		text, err := a.dir.Objects().Content(ctx, c.New.ID, maxRules)
		if err != nil {
			return err
		}
		if recodes(string(text)) {
			rules = append(rules, c.Path)
		}
	}
	if len(rules) == 0 {
		return nil
	}
	return &Violation{Kind: Encoded, Paths: rules}
}

// recodes tells whether rules of attributes set an encoding.
func recodes(text string) bool {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimLeft(line, " \t"), "#") {
			continue
		}
		for _, word := range strings.Fields(line) {
			if name, _, _ := strings.Cut(word, "="); name == encoding {
				return true
			}
		}
	}
	return false
}

// sameEncodings compares the encodings of a tree's files with those that the
// base's rules give them. The index holds the tree.
func (a *audit) sameEncodings(ctx context.Context, tree agency.OID) error {
	files, err := a.dir.Index().Paths(ctx)
	if err != nil {
		return err
	}
	now, err := a.dir.Index().Attr(ctx, encoding, files)
	if err != nil {
		return err
	}
	d, err := a.run.baseIndex(ctx)
	if err != nil {
		return err
	}
	was, err := d.Index().Attr(ctx, encoding, files)
	if err != nil {
		return err
	}
	var named []string
	for _, p := range files {
		if now[p] != was[p] && len(named) < mostTold {
			named = append(named, briefly(p))
		}
	}
	if len(named) == 0 {
		return nil
	}
	return &Violation{Kind: Encoded, Paths: named}
}

// Sound tells by a *Violation what git would refuse of a tree when it is sent to
// the user's repository.
func (r *repository) Sound(ctx context.Context, tree agency.OID) error {
	err := r.checked(ctx, tree, func(pass []agency.OID) error {
		return r.dir.Transfer().Try(ctx, git.Sending{Tips: []agency.OID{tree}, Not: []agency.OID{r.info.Base}, Pass: pass})
	})
	u := (*git.Unsound)(nil)
	if !errors.As(err, &u) {
		return err
	}
	named, terr := r.named(ctx, tree, u)
	if terr != nil {
		return errors.Join(err, terr)
	}
	return &Violation{Kind: Refused, Paths: named}
}

// Send brings a commit into the user's repository, checked and on disk, but for
// what not reaches, which is there.
func (r *repository) Send(ctx context.Context, tip agency.OID, not ...agency.OID) error {
	return r.checked(ctx, tip, func(pass []agency.OID) error {
		return r.dir.Transfer().Send(ctx, r.info.Repo.Objects(), git.Sending{Tips: []agency.OID{tip}, Not: not, Pass: pass})
	})
}

// checked does a sending, and once more where it is refused for objects of the
// base alone: those the user has already, whatever git says to them today.
func (r *repository) checked(ctx context.Context, tip agency.OID, send func(pass []agency.OID) error) error {
	err := send(nil)
	u := (*git.Unsound)(nil)
	if !errors.As(err, &u) || tip == r.baseTree {
		return err
	}
	base, berr := r.objectsOf(ctx, r.baseTree)
	if berr != nil {
		return errors.Join(err, berr)
	}
	var pass []agency.OID
	for _, o := range u.Objects {
		if base[o.ID] != "" {
			pass = append(pass, o.ID)
		}
	}
	if len(pass) == 0 {
		return err
	}
	return send(pass)
}

// objectsOf are the files and folders of a tree or commit by their ids.
func (r *repository) objectsOf(ctx context.Context, tree agency.OID) (map[agency.OID]string, error) {
	files, err := r.dir.Objects().Tree(ctx, tree)
	if err != nil {
		return nil, err
	}
	folders, err := r.dir.Objects().Folders(ctx, tree)
	at := make(map[agency.OID]string, len(files)+len(folders))
	for _, e := range slices.Concat(files, folders) {
		at[e.ID] = e.Path
	}
	return at, err
}

// named says where in a tree unsound objects lie, and what git says to them.
func (r *repository) named(ctx context.Context, tree agency.OID, u *git.Unsound) ([]string, error) {
	at, err := r.objectsOf(ctx, tree)
	if err != nil {
		return nil, err
	}
	said := map[string]bool{}
	for _, o := range u.Objects {
		p := at[o.ID]
		if p == "" {
			p = "the root folder"
		}
		said[fmt.Sprintf("%s (%s)", briefly(p), o.Why)] = true
	}
	list := slices.Sorted(maps.Keys(said))
	return list[:min(len(list), mostTold)], nil
}
