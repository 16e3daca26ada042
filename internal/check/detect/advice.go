package detect

import (
	"context"
	"io/fs"
	"slices"

	"agency/internal/check"
)

// Advice is what a configuration would have to say so that packages which a
// change asks for are installed without a question: the command, and the hosts
// that the repository's lockfiles and the user's package managers name. Empty
// where a repository installs nothing.
func Advice(ctx context.Context, root fs.FS, env func(string) (string, bool)) (setup string, hosts []string) {
	units := slices.DeleteFunc(Finder{}.Units(root), func(u check.Dependency) bool { return empty(root, u) })
	if len(units) == 0 {
		return "", nil
	}
	for _, u := range units {
		for _, name := range HostFiles(u) {
			hosts = append(hosts, HostsIn(name, []byte(text(root, name)))...)
		}
	}
	hosts = append(hosts, HostsOfTools(ctx, units, env)...)
	slices.Sort(hosts)
	return Setup(root, units, false), slices.Compact(hosts)
}
