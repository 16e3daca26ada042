package linux

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// PipeMost is what a pipe may hold by itself (pipe(7)).
const PipeMost = 64 << 10

// IoprioUser is IOPRIO_WHO_USER.
const IoprioUser = 3

// Commands of file systems that package unix does not name; those of 32 bits have
// numbers of their own.
const (
	GetFlags32    = 0x80046601
	GetVersion    = 0x80087601
	GetVersion32  = 0x80047601
	GetAttributes = 0x801c581f // FS_IOC_FSGETXATTR
	GetFieMap     = 0xc020660b // FS_IOC_FIEMAP
)

// KernelAtLeast says whether the kernel that runs is of this version or a later one.
func KernelAtLeast(major, minor int) bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	var a, b int
	if n, _ := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &a, &b); n != 2 {
		return false
	}
	return a > major || a == major && b >= minor
}

// X32Bit marks calls of the x32 machine, which are not those of amd64.
const X32Bit = 0x40000000
