//go:build unix

package daemon

import "syscall"

// ownSession takes the host off the terminal: neither Ctrl-C nor a closed
// window reaches it.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
