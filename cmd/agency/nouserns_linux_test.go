package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// noNamespaces marks the half of nouserns that is inside.
const noNamespaces = "AGENCY_TEST_NO_NAMESPACES"

// withoutNamespaces runs a command as on a machine that refuses user
// namespaces: in one of its own, whose limit of further ones is none. As nowalls
// it has no Landlock either.
func withoutNamespaces(args []string) int {
	runtime.LockOSThread() // what it gives up must be given up by the thread that executes
	if os.Getenv(noNamespaces) == "" {
		return enterNamespace(args)
	}
	err := os.Unsetenv(noNamespaces)
	if err == nil {
		err = os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
	}
	if err == nil && args[0] == "nowalls" {
		err = refuseLandlock()
	}
	program := ""
	if err == nil {
		program, err = exec.LookPath(args[1])
	}
	if err == nil {
		err = syscall.Exec(program, append([]string{filepath.Base(program)}, args[2:]...), os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	return 125
}

func enterNamespace(args []string) int {
	cmd := exec.Command("/proc/self/exe", args[1:]...)
	cmd.Args[0] = args[0]
	cmd.Env = append(os.Environ(), noNamespaces+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		// To write the namespace's own limit.
		AmbientCaps: []uintptr{unix.CAP_SYS_RESOURCE, unix.CAP_DAC_OVERRIDE},
	}
	var ended *exec.ExitError
	switch err := cmd.Run(); {
	case errors.As(err, &ended):
		return ended.ExitCode()
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 125
	}
	return 0
}

// refuseLandlock makes this process's kernel one without Landlock.
func refuseLandlock() error {
	const load, equal, ret = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	p := []unix.SockFilter{
		{Code: load},
		{Code: equal, Jf: 1, K: unix.SYS_LANDLOCK_CREATE_RULESET},
		{Code: ret, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: ret, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0)
}
