package detect

import (
	"cmp"
	"context"
	"io/fs"
	"path"
	"slices"

	"agency/internal/ecosystem"
)

// Decides tells whether a file of this name decides what is installed.
func Decides(name string) bool {
	base := path.Base(name)
	return readerOf(base) != nil || slices.ContainsFunc(projects, func(l ecosystem.Project) bool { return slices.Contains(l.Dependencies.Unread, base) })
}

// Rank orders files that name packages by what they say of what is installed:
// 0 lockfiles, 1 the manifests in which people ask for it, 2 lists of more.
func Rank(name string) int {
	for _, l := range projects {
		switch base := path.Base(name); {
		case slices.Contains(l.Dependencies.Manifests, base):
			return 1
		case slices.Contains(l.Dependencies.Sums, base):
			return 2
		}
	}
	return 0
}

// LeavesLock tells whether a package manager of the checkout writes a lockfile where
// there is none, if only it is asked for the packages.
func LeavesLock(root fs.FS) bool {
	c := ecosystem.NewCheckout(root)
	return slices.ContainsFunc(projects, func(l ecosystem.Project) bool {
		return l.Dependencies.Leaves != "" && slices.ContainsFunc(l.Parts.Manifests, c.Exists)
	})
}

// readerOf reads the packages of a file.
func readerOf(base string) func([]byte) ecosystem.Versions {
	for _, l := range projects {
		if l.Dependencies.Reader == nil {
			continue
		}
		if read := l.Dependencies.Reader(base); read != nil {
			return read
		}
	}
	return nil
}

// Packages are what differs between two texts of a lockfile or manifest, by
// name; none for a file whose form is not read. It is not whole where a text names
// more than is read of one.
func Packages(name string, from, to []byte) (out []ecosystem.Package, whole bool) {
	read := readerOf(path.Base(name))
	if read == nil {
		return nil, true
	}
	was, is := read(from), read(to)
	for n, v := range is.Of {
		if was.Of[n] != v {
			out = append(out, ecosystem.Package{Name: n, From: was.Of[n], To: v})
		}
	}
	for n, v := range was.Of {
		if is.Of[n] == "" {
			out = append(out, ecosystem.Package{Name: n, From: v})
		}
	}
	slices.SortFunc(out, func(a, b ecosystem.Package) int { return cmp.Compare(a.Name, b.Name) })
	return out, !was.More && !is.More
}

// Probe is a line that tells, run on a checkout in the sandbox and without
// network, whether what a unit needs is there although no folder of its own
// fits: "true" where nothing is needed, empty where it cannot be known.
func Probe(root fs.FS, u ecosystem.Unit, changed []ecosystem.Package) string {
	c := ecosystem.NewCheckout(root)
	if probe := managedBy(u.Manager).Probe; probe != nil {
		return probe(c, u, changed)
	}
	if len(changed) == 0 || !slices.ContainsFunc(changed, func(p ecosystem.Package) bool { return p.To != "" }) && empty(c, u) {
		return "true"
	}
	return ""
}

// Answered tells what a probe found: everything is there.
func Answered(u ecosystem.Unit, exit int, output string) bool {
	if answered := managedBy(u.Manager).Answered; answered != nil {
		return answered(exit, output)
	}
	return exit == 0
}

// empty tells whether no lockfile or manifest of a unit names a package.
func empty(c *ecosystem.Checkout, u ecosystem.Unit) bool {
	return !slices.ContainsFunc(u.Locks, func(l string) bool {
		named, whole := Packages(l, nil, []byte(c.Text(l)))
		return len(named) > 0 || !whole
	})
}

// Advice is what a configuration would have to say so that packages which a
// change asks for are installed without a question: the command, and the hosts
// that the repository's lockfiles and the user's package managers name. Empty
// where a repository installs nothing.
func Advice(ctx context.Context, root fs.FS, env func(string) (string, bool)) (setup string, hosts []string) {
	c := ecosystem.NewCheckout(root)
	units := slices.DeleteFunc(Finder{}.Units(root), func(u ecosystem.Unit) bool { return empty(c, u) })
	if len(units) == 0 {
		return "", nil
	}
	for _, u := range units {
		for _, name := range HostFiles(u) {
			hosts = append(hosts, HostsIn(name, []byte(c.Text(name)))...)
		}
	}
	hosts = append(hosts, HostsOfTools(ctx, units, env)...)
	slices.Sort(hosts)
	return Setup(root, units, false), slices.Compact(hosts)
}
