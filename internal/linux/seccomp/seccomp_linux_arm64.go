package seccomp

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// This machine has only the calls that both machines have.

func archRules() []unix.SockFilter { return nil }
func archRefused() []uint32        { return nil }
func archMasked() []masked         { return nil }
func archOpens() []opening         { return nil }
