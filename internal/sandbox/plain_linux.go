package sandbox

import "syscall"

// rssUnit divides rusage's Maxrss into kilobytes.
const rssUnit = 1

func plainAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
