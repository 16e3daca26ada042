package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// noNamespaces marks the half of nouserns that is inside.
const noNamespaces = "AGENCY_TEST_NO_NAMESPACES"

// withoutNamespaces runs a command as on a machine that refuses user
// namespaces: in one of its own, whose limit of further ones is none.
func withoutNamespaces(args []string) int {
	if os.Getenv(noNamespaces) == "" {
		return enterNamespace(args)
	}
	err := os.Unsetenv(noNamespaces)
	if err == nil {
		err = os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
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
		AmbientCaps: []uintptr{capDACOverride},
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

// capDACOverride lets who is not root write the namespace's own limit.
const capDACOverride = 1
