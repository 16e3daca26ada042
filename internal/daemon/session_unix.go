//go:build unix

package daemon

import (
	"os"
	"syscall"
)

// ownSession takes the host off the terminal: neither Ctrl-C nor a closed
// window reaches it.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// cutOff tells whether a process was ended from outside, and by what.
func cutOff(end *os.ProcessState) (bool, string) {
	status, ok := end.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return false, ""
	}
	switch status.Signal() {
	case syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP:
		return true, status.Signal().String()
	}
	return false, ""
}
