package acts

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/git"
	"agency/internal/regexp"
)

// Bounds of what is read and listed. What lies beyond is named as such: nobody
// has looked at it.
const (
	maxRead   = 2000     // files
	maxSize   = 1 << 20  // bytes of a side
	maxListed = 500      // files
	maxLinks  = 200      // that act and show other files
	maxBytes  = 16 << 20 // of all sides
	maxTime   = 30 * time.Second
)

// hooksPath is how a script sets the folder of git's hooks.
const hooksPath = `[cC][oO][rR][eE]\.[hH][oO][oO][kK][sS][pP][aA][tT][hH]`

// prose are the endings of files that tell people what to do and run nothing.
var prose = regexp.MustCompile(`(?i)\.(md|markdown|rst|adoc|txt)$`)

// finder looks through one change.
type finder struct {
	rules
	dir     git.Dir
	blobs   *git.Reader
	from    agency.OID
	to      agency.OID
	read    int
	skipped int
	out     []agency.Act
	bytes   int64 // that may still be read
	until   time.Time
	entries []git.Entry // of the new side
	tree    *links
}

// late tells whether the time for looking is over; what is left counts as not
// looked at.
func (f *finder) late() bool {
	if time.Now().Before(f.until) {
		return false
	}
	f.skipped++
	return true
}

// Find names what a change from one commit or tree to another does on others'
// machines, by path. Contracts and declarations are the caller's to add. Ours
// tells which paths count; nil: all.
func Find(ctx context.Context, dir git.Dir, from, to agency.OID, ours func(path string) bool) ([]agency.Act, error) {
	f := &finder{rules: newRules(), dir: dir, blobs: dir.Objects().Reader(), from: from, to: to, bytes: maxBytes, until: time.Now().Add(maxTime)}
	defer f.blobs.Close()
	changes, err := dir.Diff().Changes(ctx, from, to)
	if err != nil {
		return nil, fmt.Errorf("what acts on others' machines: %w", err)
	}
	if ours != nil {
		changes = slices.DeleteFunc(changes, func(c git.Change) bool { return !ours(c.Path) })
	}
	if err := f.open(ctx, changes); err != nil {
		return nil, fmt.Errorf("what acts on others' machines: %w", err)
	}
	for _, step := range []func(context.Context, []git.Change) error{f.plain, f.linked, f.bent, f.bare, f.scripts, f.behind} {
		if err := step(ctx, changes); err != nil {
			return nil, fmt.Errorf("what acts on others' machines: %w", err)
		}
	}
	slices.SortStableFunc(f.out, func(a, b agency.Act) int { return strings.Compare(a.Path, b.Path) })
	for i := len(f.out) - 2; i >= 0; i-- { // the first of a path stays, for all of them
		f.out[i].Became = f.out[i].Became || f.out[i].Path == f.out[i+1].Path && f.out[i+1].Became
	}
	f.out = slices.CompactFunc(f.out, func(a, b agency.Act) bool { return a.Path == b.Path })
	if n := len(f.out) - maxListed; n > 0 {
		f.out = append(f.out[:maxListed], more(n, "act on others' machines"))
	}
	if f.skipped > 0 {
		f.out = append(f.out, more(f.skipped, "may act, and are too many to be looked at"))
	}
	return f.out, nil
}

// open reads the new side's list of files, and how its links are read: each
// once, and those that are too many not at all.
func (f *finder) open(ctx context.Context, changes []git.Change) (err error) {
	if f.entries, err = f.dir.Objects().Tree(ctx, f.to); err != nil {
		return err
	}
	watch := map[string]bool{}
	for _, c := range changes {
		if c.Old.Mode == modeLink || c.New.Mode == modeLink {
			watch[c.Path] = true
		}
	}
	targets := map[agency.OID]string{}
	f.tree = linksOf(f.entries, watch, func(e git.Entry) (string, bool) {
		if t, ok := targets[e.ID]; ok || len(targets) >= maxRead {
			return t, ok
		}
		b, err := f.blobs.Content(ctx, e.ID, maxPath)
		if err != nil {
			return "", false
		}
		targets[e.ID] = string(b)
		return targets[e.ID], true
	})
	return nil
}

func (f *finder) add(p, does string, became bool) {
	if does != "" {
		f.out = append(f.out, agency.Act{Path: p, Does: does, Became: became})
	}
}

// plain judges each change where it lies.
func (f *finder) plain(ctx context.Context, changes []git.Change) error {
	for _, c := range changes {
		if err := f.look(ctx, c.Path, "", c); err != nil {
			return err
		}
	}
	return nil
}

// look judges a change as if it lay at a path.
func (f *finder) look(ctx context.Context, at, note string, c git.Change) error {
	var s sides
	if f.reads(at, c) {
		if f.late() {
			return nil
		}
		if f.read++; f.read > maxRead {
			f.skipped++
			return nil
		}
		var err error
		if s, err = f.sides(ctx, at, c); err != nil {
			return err
		}
	}
	if does := f.judge(at, c, s); does != "" {
		f.add(c.Path, does+note, note != "" || f.pointing(c, s) != "")
	}
	return nil
}

// sides reads what a change is judged by.
func (f *finder) sides(ctx context.Context, at string, c git.Change) (s sides, err error) {
	most := int64(maxSize)
	if of, _ := f.of(at); of != nil && of.most > 0 {
		most = of.most
	}
	text := func(e git.Entry) (b []byte) {
		if err != nil || e.Mode == 0 || e.Mode == modeModule {
			return nil
		}
		if f.bytes <= 0 {
			s.unread = true
			return nil
		}
		b, err = f.blobs.Content(ctx, e.ID, min(most, f.bytes))
		if f.bytes -= int64(len(b)); git.IsTooLong(err) {
			s.unread, err = true, nil
		}
		return b
	}
	s.tree = f.tree
	if c.New.Mode == modeLink {
		target, ok := f.tree.read(c.New)
		s.target, s.unread = target, !ok
		return s, nil
	}
	s.after = text(c.New)
	if c.Old.Mode != modeLink {
		s.before = text(c.Old)
	}
	return s, err
}

// shown is a link at the path at which it takes effect.
type shown struct {
	at   string
	link git.Entry
	of   *class
}

// acting is the class of a link at a path; nil: it does not act.
func (f *finder) acting(p string) *class {
	if of, _ := f.of(p); of != nil {
		return of
	}
	return f.stands(p)
}

// linked judges what lies elsewhere and takes effect through links that act, one
// after another: .husky -> hooks -> tools/hooks, .envrc -> scripts/env.sh.
func (f *finder) linked(ctx context.Context, changes []git.Change) error {
	byPath := make(map[string]git.Change, len(changes))
	for _, c := range changes {
		byPath[c.Path] = c
	}
	sorted := slices.Sorted(maps.Keys(byPath))
	var queue []shown
	for _, p := range f.tree.sorted {
		if of := f.acting(p); of != nil {
			queue = append(queue, shown{p, f.tree.exact[p], of})
		}
	}
	seen := map[string]bool{}
	for len(queue) > 0 {
		one := queue[0]
		queue = queue[1:]
		key := one.link.Path + "\x00" + one.of.paths
		if seen[key] {
			continue
		}
		if seen[key] = true; len(seen) > maxLinks {
			f.skipped++
			continue
		}
		if f.late() {
			continue
		}
		target, ok := f.tree.read(one.link)
		if !ok {
			continue
		}
		t := f.tree.follow(one.link.Path, target)
		note := ", by the link " + shorten(one.at)
		for _, hop := range t.over {
			if _, ok := byPath[hop]; ok {
				f.add(hop, one.of.what()+note, true)
			}
		}
		if t.why != "" {
			continue
		}
		for _, in := range beneath(sorted, t.end) {
			if err := f.look(ctx, path.Join(one.at, in[1]), note, byPath[in[0]]); err != nil {
				return err
			}
		}
		for _, in := range beneath(f.tree.sorted, t.end) {
			at := path.Join(one.at, in[1])
			if of := f.acting(at); of != nil && len(at) <= maxPath {
				queue = append(queue, shown{at, f.tree.exact[in[0]], of})
			}
		}
	}
	return nil
}

// bent names links that make others, which nobody touched, leave the repository.
func (f *finder) bent(_ context.Context, changes []git.Change) error {
	if len(f.tree.watch) == 0 {
		return nil
	}
	for i, p := range f.tree.sorted {
		if i >= maxRead {
			f.skipped++
			break
		}
		target, ok := f.tree.read(f.tree.exact[p])
		if !ok {
			continue
		}
		t := f.tree.follow(p, target)
		for _, hop := range t.over {
			if t.why != "" && f.tree.watch[hop] {
				f.add(hop, "changes where a link leads, which "+strings.TrimPrefix(t.why, "is a link that ")+": "+shorten(p), true)
			}
		}
	}
	return nil
}

// scripts names those that set the folder of git's hooks now.
func (f *finder) scripts(ctx context.Context, changes []git.Change) error {
	paths, err := f.dir.Diff().Touching(ctx, f.from, f.to, hooksPath)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if !slices.Contains(paths, c.Path) || prose.MatchString(c.Path) {
			continue
		}
		if f.read++; f.read > maxRead {
			f.skipped++
			continue
		}
		s, err := f.sides(ctx, c.Path, c)
		if err != nil {
			return err
		}
		f.add(c.Path, class{row: scripted}.judge(c.Path, c, s), true)
	}
	return nil
}

// Parts that make a folder a repository for git.
const (
	hasHead = 1 << iota
	hasObjects
	hasRefs
	isBare = hasHead | hasObjects | hasRefs
)

// bare names what git heeds of repositories that lie in the tree as files: who
// enters such a folder and asks for the status runs what its configuration says.
func (f *finder) bare(_ context.Context, changes []git.Change) error {
	folders := map[string]int{}
	for _, e := range f.entries {
		segs := strings.Split(fold(e.Path), "/")
		for i, s := range segs {
			has, last := 0, i == len(segs)-1
			switch {
			case s == "objects":
				has = hasObjects
			case s == "refs":
				has = hasRefs
			case s == "head" && last:
				has = hasHead
			case s == "commondir" && last:
				has = hasObjects | hasRefs
			}
			if has != 0 {
				folders[strings.Join(segs[:i], "/")] |= has
			}
		}
	}
	for _, c := range changes {
		segs := strings.Split(fold(c.Path), "/")
		for i, s := range segs {
			heeded := s == "head" || s == "config" || s == "config.worktree" || s == "commondir" || s == "hooks" || s == "info" ||
				c.Status == 'A' && (s == "objects" || s == "refs")
			// The checkout's own repository is found before a root that looks like one.
			if i > 0 && heeded && c.New.Mode != 0 && folders[strings.Join(segs[:i], "/")] == isBare {
				f.add(c.Path, "is of a repository in a folder, whose settings and hooks git heeds there", true)
			}
		}
	}
	return nil
}
