//go:build unix && !linux

package git

import (
	"os/exec"
	"syscall"
)

// isolate puts the command into a process group of its own that is killed
// whole.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
