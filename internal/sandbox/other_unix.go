//go:build unix && !linux

package sandbox

import "syscall"

const plainPossible = true

const noSandboxMend = "run on Linux, or set sandbox.mode: off to run without a sandbox"

func plainAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
