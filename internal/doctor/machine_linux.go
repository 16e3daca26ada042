package doctor

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// processesIn are the processes of this user that stand in a folder or have
// it for their root.
func processesIn(dir string) []int {
	var pids []int
	links, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	for _, p := range links {
		for _, link := range []string{"cwd", "root"} {
			at, err := os.Readlink(filepath.Join(p, link))
			if err == nil && (at == dir || strings.HasPrefix(at, dir+"/")) {
				if pid, err := strconv.Atoi(filepath.Base(p)); err == nil {
					pids = append(pids, pid)
				}
				break
			}
		}
	}
	return pids
}
