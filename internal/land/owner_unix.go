//go:build unix

package land

import (
	"fmt"
	"os"
	"syscall"
)

// foreign refuses to write, as root, what belongs to another user: files of
// root's would be left there that its owner cannot change. An ordinary user
// writes where the owner lets him, as in a repository that a group shares.
func foreign(paths ...string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			continue // what is absent is told by whoever needs it
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 {
			return refuse(CauseOwner, []string{p},
				fmt.Sprintf("%s belongs to the user with the id %d, and this is root", p, st.Uid), "run agency as that user")
		}
	}
	return nil
}
