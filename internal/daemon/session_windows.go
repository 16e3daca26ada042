package daemon

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

func ownSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS}
}

// cutOff tells whether a process was ended from outside; here that cannot be
// known.
func cutOff(*os.ProcessState) (bool, string) { return false, "" }
