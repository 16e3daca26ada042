package sandbox

import "syscall"

// rssUnit divides rusage's Maxrss, bytes here, into kilobytes.
const rssUnit = 1024

func plainAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
