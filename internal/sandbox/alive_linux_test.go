package sandbox

import (
	"bytes"
	"os"
)

// alive says whether a process runs; one that waits to be reaped does not.
func alive(pid string) bool {
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	_, state, ok := bytes.Cut(b, []byte(") "))
	return err == nil && ok && state[0] != 'Z' && state[0] != 'X'
}
