//go:build unix

package beneath

import (
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// Foreign is the first of some files that is another user's where this is root,
// and the name of that user; empty where there is none. What root writes there
// its owner cannot change any more, and what root reads there the owner wrote.
// An ordinary user is held by the files' modes, as in a repository that a group
// shares. What is not there is told by whoever needs it.
func Foreign(paths ...string) (at, owner string) {
	if os.Geteuid() != 0 {
		return "", ""
	}
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			continue
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok || st.Uid == 0 {
			continue
		}
		owner = strconv.FormatUint(uint64(st.Uid), 10)
		if u, err := user.LookupId(owner); err == nil {
			owner = u.Username
		}
		return p, owner
	}
	return "", ""
}
