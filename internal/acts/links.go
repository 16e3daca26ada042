package acts

import (
	"path"
	"sort"
	"strings"

	"agency/internal/git"
)

// Bounds of a link that is followed, as systems have them.
const (
	maxHops = 40
	maxPath = 4096 // bytes
)

const (
	leavesRepo = "is a link that leaves the repository"
	unfollowed = "is a link that cannot be followed"
)

// links are those of a tree, followed as a checkout has them; nil: there are none.
type links struct {
	exact, folded map[string]git.Entry
	sorted        []string
	watch         map[string]bool // paths whose passing counts, too
	read          func(git.Entry) (string, bool)
}

// trail is where a link leads.
type trail struct {
	end  string   // in the repository, "" its root
	over []string // links on the way
	why  string   // it cannot be said to stay in the repository; "": it does
}

func linksOf(entries []git.Entry, watch map[string]bool, read func(git.Entry) (string, bool)) *links {
	l := &links{exact: map[string]git.Entry{}, folded: map[string]git.Entry{}, watch: watch, read: read}
	for _, e := range entries {
		if e.Mode == modeLink {
			l.exact[e.Path], l.folded[fold(e.Path)] = e, e
			l.sorted = append(l.sorted, e.Path)
		}
	}
	sort.Strings(l.sorted)
	return l
}

// at is the link at a path, or at one that file systems may take for it.
func (l *links) at(p string) (git.Entry, bool) {
	if l == nil {
		return git.Entry{}, false
	}
	if e, ok := l.exact[p]; ok {
		return e, true
	}
	e, ok := l.folded[fold(p)]
	return e, ok
}

// follow tells where a link at a path leads, link by link: "a/.." is not the
// folder of a where a is a link.
func (l *links) follow(p, target string) (t trail) {
	at := parent(p)
	todo, out := steps(target)
	for hops := 0; !out && len(todo) > 0; {
		s := todo[0]
		todo = todo[1:]
		switch s {
		case "", ".":
			continue
		case "..":
			if at == "" {
				t.why = leavesRepo
				return t
			}
			at = parent(at)
			continue
		}
		next := path.Join(at, s)
		if len(next) > maxPath {
			t.why = unfollowed
			return t
		}
		if fold(next) == ".git" {
			t.why = "is a link into git's own folder"
			return t
		}
		link, ok := l.at(next)
		if ok || l != nil && l.watch[next] {
			t.over = append(t.over, next)
		}
		if !ok {
			at = next
			continue
		}
		to, read := l.read(link)
		if hops++; hops > maxHops || !read {
			t.why = unfollowed
			return t
		}
		var more []string
		more, out = steps(to)
		todo = append(more, todo...)
	}
	if out {
		t.why = leavesRepo
	}
	t.end = at
	return t
}

// steps are the names of a target; true: it is from the root of a disk, also on
// Windows.
func steps(target string) ([]string, bool) {
	t := strings.ReplaceAll(target, `\`, "/")
	return strings.Split(t, "/"), strings.HasPrefix(t, "/") || strings.HasPrefix(t, "~") || len(t) > 1 && t[1] == ':'
}

func parent(p string) string {
	if d := path.Dir(p); d != "." {
		return d
	}
	return ""
}

// beneath are those of sorted paths that are a path or lie in it, with what
// follows it.
func beneath(sorted []string, p string) (out [][2]string) {
	if p == "" {
		for _, s := range sorted {
			out = append(out, [2]string{s, s})
		}
		return out
	}
	if i := sort.SearchStrings(sorted, p); i < len(sorted) && sorted[i] == p {
		out = append(out, [2]string{p, ""})
	}
	for i := sort.SearchStrings(sorted, p+"/"); i < len(sorted) && strings.HasPrefix(sorted[i], p+"/"); i++ {
		out = append(out, [2]string{sorted[i], sorted[i][len(p)+1:]})
	}
	return out
}
