package detect

import (
	"cmp"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/check"
	"agency/internal/ecosystem"
	"agency/internal/languages"
)

// projects are what is known of the projects of each language; nobody changes them.
var projects = func() (out []ecosystem.Project) {
	for _, l := range languages.All() {
		out = append(out, l.Project)
	}
	return out
}()

// managedBy is what is known of the dependencies that a manager installs.
func managedBy(manager string) ecosystem.Dependencies {
	for _, l := range projects {
		if slices.Contains(l.Dependencies.Managers, manager) {
			return l.Dependencies
		}
	}
	return ecosystem.Dependencies{}
}

// Finder is what check asks about a checkout.
type Finder struct{}

var _ check.Finder = Finder{}

// Units are what the manifests of a checkout ask to be installed, sorted by
// folder and cache.
func (Finder) Units(root fs.FS) []ecosystem.Unit { return unitsOf(ecosystem.NewCheckout(root)) }

func unitsOf(c *ecosystem.Checkout) []ecosystem.Unit {
	var units []ecosystem.Unit
	for _, l := range projects {
		if l.Dependencies.Units != nil {
			units = append(units, l.Dependencies.Units(c)...)
		}
	}
	slices.SortStableFunc(units, func(a, b ecosystem.Unit) int {
		return strings.Compare(a.Folder+"\x00"+a.Cache, b.Folder+"\x00"+b.Cache)
	})
	return units[:min(len(units), maxDependencies)]
}

// Folders are the dependency folders of a checkout, each with the lockfiles and
// manifests of the unit that it belongs to.
func (Finder) Folders(dir string, root fs.FS) []check.Dependency {
	c := ecosystem.NewCheckout(root)
	units := unitsOf(c)
	found := dependencies(dir, c)
	for i, d := range found {
		best := -1
		for _, n := range units {
			if n.Folder != "" && path.Base(n.Folder) == path.Base(d.Folder) && ecosystem.Below(path.Dir(d.Folder), n.Dir) && len(n.Dir) > best {
				best, found[i].Locks = len(n.Dir), n.Locks
			}
		}
	}
	return found
}

// Setup is the line that installs what units ask for, each in its folder.
// loose: also what a lockfile does not name yet.
func Setup(root fs.FS, units []ecosystem.Unit, loose bool) (line string) {
	c := ecosystem.NewCheckout(root)
	for _, u := range units {
		line = ecosystem.JoinLines(line, managedBy(u.Manager).Setup(c, u, loose))
	}
	return line
}

// mendBy is the command by which a person installs what units ask for, in the
// checkout at repo, such that git sees nothing of it there afterwards.
func mendBy(c *ecosystem.Checkout, repo string, units ...ecosystem.Unit) string {
	line, setup, clean := "", "", ""
	for _, u := range units {
		if u.Folder != "" && !c.IgnoresFolder(repo, u.Folder) {
			line = ecosystem.JoinLines(line, ecosystem.Exclude(u.Folder))
		}
		of := managedBy(u.Manager)
		install := of.Setup(c, u, false)
		if of.Relink != nil {
			install = cmp.Or(of.Relink(c, u), install)
		}
		setup = ecosystem.JoinLines(setup, install)
		if lock := path.Join(u.Dir, of.Leaves); of.Leaves != "" && !c.Exists(lock) && !ecosystem.Exist(filepath.Join(repo, filepath.FromSlash(lock))) {
			clean = ecosystem.JoinLines(clean, "rm "+ecosystem.Quote(lock))
		}
	}
	return ecosystem.JoinLines(ecosystem.JoinLines(line, setup), clean)
}

// setupOf is the command that installs what the unit of a folder asks for.
func setupOf(c *ecosystem.Checkout, repo, dir, packages string) string {
	var best *ecosystem.Unit
	for _, u := range unitsOf(c) {
		if ecosystem.Below(dir, u.Dir) && (packages == "" || path.Base(u.Folder) == packages) && (best == nil || len(u.Dir) > len(best.Dir)) {
			best = &u
		}
	}
	if best == nil {
		return ""
	}
	return mendBy(c, repo, *best)
}
