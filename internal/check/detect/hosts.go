package detect

import (
	"context"
	"path"
	"slices"
	"strings"

	"agency/internal/ecosystem"
	"agency/internal/regexp"
)

// Hosts are the names from which packages come, as files name them: at the
// base, which the user has, and in a claim.
type Hosts struct{ Base, Claim []string }

// HostFiles are the files of a unit that can name hosts.
func HostFiles(u ecosystem.Unit) []string {
	out := slices.Clone(u.Locks)
	for _, l := range projects {
		for _, n := range l.Dependencies.HostFiles {
			if at := path.Join(u.Dir, n); !slices.Contains(out, at) {
				out = append(out, at)
			}
		}
	}
	return out
}

var hostURL = regexp.MustCompile(`https://(?:[^/\s"'@]*@)?([A-Za-z0-9.-]+)`)

// maxHosts bounds those of one text.
const maxHosts = 500

// HostsIn are the hosts that a lockfile or a package manager's file names, the first
// of them where they are very many.
func HostsIn(name string, text []byte) []string {
	for _, l := range projects {
		if l.Dependencies.Hosts == nil {
			continue
		}
		if part, ok := l.Dependencies.Hosts(path.Base(name), text); ok {
			text = part
			break
		}
	}
	var out []string
	for m := hostURL.FindSubmatchIndex(text); m != nil && len(out) < maxHosts; m = hostURL.FindSubmatchIndex(text) {
		if h := strings.ToLower(string(text[m[2]:m[3]])); !slices.Contains(out, h) && strings.Contains(h, ".") {
			out = append(out, h)
		}
		text = text[m[1]:]
	}
	return out
}

// HostsOfTools are the hosts that the user's own package managers name, each
// asked itself in an empty folder: no list of registries is kept here, and a
// mirror counts as the user has it. One that does not tell adds nothing.
func HostsOfTools(ctx context.Context, units []ecosystem.Unit, env func(string) (string, bool)) []string {
	var out []string
	ctx, cancel := context.WithTimeout(ctx, askTimeout) // all of them together
	defer cancel()
	m := machine(ecosystem.NewCheckout(nil), "", env)
	asked := map[string]bool{}
	for _, u := range units {
		tell := managedBy(u.Manager).Registries
		if asked[u.Manager] || tell == nil {
			continue
		}
		asked[u.Manager] = true
		for _, of := range hostURL.FindAllStringSubmatch(tell(ctx, m, u.Manager), -1) {
			if h := strings.ToLower(of[1]); !slices.Contains(out, h) {
				out = append(out, h)
			}
		}
	}
	return out
}
