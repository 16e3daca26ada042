package seccomp

import (
	"golang.org/x/sys/unix"

	"agency/internal/linux"
)

const auditArch = unix.AUDIT_ARCH_X86_64

func archRules() []unix.SockFilter {
	return []unix.SockFilter{{Code: opJGE, Jf: 1, K: linux.X32Bit}, {Code: opRet, K: retKill}}
}

func archRefused() []uint32 {
	return []uint32{
		unix.SYS_USELIB, unix.SYS_MODIFY_LDT, unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS__SYSCTL,
		unix.SYS_CREATE_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE, unix.SYS_USTAT, unix.SYS_SYSFS,
	}
}

func archMasked() []masked {
	return []masked{
		{call: unix.SYS_CHMOD, arg: 1, bits: setIDBits},
		{call: unix.SYS_MKNOD, arg: 1, bits: setIDBits},
		{call: unix.SYS_CREAT, arg: 1, bits: setIDBits},
	}
}

func archOpens() []opening { return []opening{{call: unix.SYS_OPEN, flags: 1}} }
