package supervisor

import (
	"strings"

	"agency/internal/linux/landlock"
	"agency/internal/rootfs"
)

// grantsOf are the rules of the landlock tier: only what is listed can be read, also
// the files of /etc that hold no secret and that the full tier makes anew.
func grantsOf(p Plan) []landlock.Grant {
	var out []landlock.Grant
	for _, path := range append(rootfs.System(), "/etc/passwd", "/etc/group", "/etc/hosts", "/etc/hostname", "/etc/nsswitch.conf", "/proc") {
		out = append(out, landlock.Grant{Path: path, Write: strings.HasPrefix(path, "/dev/")})
	}
	for _, it := range p.Items {
		out = append(out, landlock.Grant{Path: it.Host, Write: it.Writable, ID: it.HostID})
	}
	return out
}

// rulesOf makes the rules of one command of the full tier, in which Landlock doubles
// what the mounts say: should a mount or a /proc file be writable by mistake, it
// still is not. Everything in the view, which is only what is listed, can be read;
// written can be what the plan has writable, less the repository for one that stays.
func rulesOf(p Plan, stays bool) (int, error) {
	grants := []landlock.Grant{{Path: "/"}, {Path: "/dev", Write: true}}
	for _, path := range p.Writable(stays) {
		grants = append(grants, landlock.Grant{Path: path, Write: true})
	}
	return landlock.Rules(grants, 0)
}
