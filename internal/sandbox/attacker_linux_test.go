package sandbox

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"agency/internal/agency"
)

// attacker runs inside the sandbox as an enemy. It exits with 0 when it was
// stopped, 1 when it got through, 2 when it does not know what to do.
func attacker(args []string) int {
	f, ok := attackers()[args[0]]
	if !ok {
		fmt.Println("no attacker", args[0])
		return 2
	}
	if err := f(args[1:]); err != nil {
		fmt.Println("stopped:", err)
		return 0
	}
	fmt.Println("got through:", args)
	return 1
}

func attackers() map[string]func([]string) error {
	return map[string]func([]string) error{
		"read":      func(a []string) error { _, err := os.ReadFile(a[0]); return err },
		"list":      func(a []string) error { _, err := os.ReadDir(a[0]); return err },
		"write":     func(a []string) error { return os.WriteFile(a[0], []byte("escaped"), 0o644) },
		"rename":    func(a []string) error { return os.Rename(a[0], a[1]) },
		"remove":    func(a []string) error { return os.RemoveAll(a[0]) },
		"hard link": hardLink,
		"dial":      func(a []string) error { return dialed(a[0], a[1]) },
		"datagram":  datagram,
		"memory":    func([]string) error { return eatMemory(0) },
		"memory of many": func([]string) error {
			return manyEaters()
		},
		"eat": func(a []string) error {
			n, err := strconv.Atoi(a[0])
			return errors.Join(err, eatMemory(n))
		},
		"shared memory": func([]string) error { return eatShared() },
		"files":         func([]string) error { return openMany() },
		"hold a port": func([]string) error {
			l, err := net.Listen("tcp", "127.0.0.1:4242")
			if err != nil {
				return err
			}
			_, err = net.Listen("unix", "@held")
			return errors.Join(err, dialed("tcp", l.Addr().String()))
		},
		"listen": func([]string) error {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			return unix.Listen(fd, 1) // at a port that the kernel picks
		},
		"send first":    func([]string) error { return sendFirst() },
		"other streams": func([]string) error { return otherStreams() },
		"fetch":         func(a []string) error { return fetch(a[0]) },
		"front":         func([]string) error { return front() },
		"hang on the proxy": func([]string) error {
			c, err := net.Dial("tcp", proxyAddr())
			if err == nil {
				_, err = io.WriteString(c, "CONNECT proxy.golang.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")
			}
			if err == nil {
				_, err = c.Read(make([]byte, 16))
			}
			return errors.Join(err, errors.New("left open"))
		},
		"need loopback": func([]string) error {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				fmt.Println(err)
				return nil // an exit code of 1
			}
			return errors.Join(errors.New("has it"), l.Close())
		},
		"leave shared memory": func([]string) error {
			_, err := unix.SysvShmGet(4242, 4096, unix.IPC_CREAT|0o600)
			return errors.Join(err, errors.New("left"))
		},
		"loopback": func([]string) error {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			return dialed("tcp", l.Addr().String())
		},
		"uncounted": func([]string) error { return eatUncounted() },
		"nested": func([]string) error {
			_, err := New(Options{Mode: ModeFull})
			if err != nil {
				err = fmt.Errorf("%s: %w; %s", agency.KindOf(err), err, agency.MendOf(err))
			}
			return err
		},
		"memfd": func([]string) error {
			_, err := unix.MemfdCreate("x", 0)
			return err
		},
	}
}

// hardLink tries to give a file from outside a second name that is writable.
func hardLink(a []string) error {
	if err := os.Link(a[0], a[1]); err != nil {
		return err
	}
	return os.WriteFile(a[1], []byte("escaped"), 0o644)
}

// datagram sends, and can only say that sending was refused; whether anything
// arrived is seen by the host.
func datagram(a []string) error {
	c, err := net.Dial("udp", a[0])
	if err != nil {
		return err
	}
	for range 3 {
		if _, err = c.Write([]byte("escaped")); err != nil {
			return err
		}
	}
	return errors.New("sent; the host knows whether it arrived")
}

const chunk = 16 << 20

// stay ends only when it is killed. Without cgo, select {} in the only
// goroutine would end the process as a deadlock.
func stay() { time.Sleep(time.Hour) }

// eatMemory takes chunks, n or without end, and holds them.
func eatMemory(n int) error {
	for i := 0; n == 0 || i < n; i++ {
		b, err := unix.Mmap(-1, 0, chunk, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			return err
		}
		for j := 0; j < len(b); j += 4096 {
			b[j] = 1
		}
	}
	stay()
	return nil
}

// manyEaters stays under the limit in each process and passes it in all.
func manyEaters() error {
	for range 8 {
		p, err := os.StartProcess(attackerAt, []string{attackerAt, attackerArg, "eat", "3"},
			&os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
		if err != nil {
			return err
		}
		defer func() { _ = p.Release() }()
	}
	stay()
	return nil
}

// eatShared leaves memory behind in segments that no process has attached, 1
// GiB: enough for every limit, too little for the machine.
func eatShared() error {
	for range 64 {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, chunk, unix.IPC_CREAT|0o600)
		if err != nil {
			return err
		}
		b, err := unix.SysvShmAttach(id, 0, 0)
		if err != nil {
			return err
		}
		for j := 0; j < len(b); j += 4096 {
			b[j] = 1
		}
		if err := unix.SysvShmDetach(b); err != nil {
			return err
		}
	}
	stay()
	return nil
}

// eatUncounted fills shared memory and tells the kernel not to count it as
// resident here.
func eatUncounted() error {
	for range 256 { // 4 GiB: enough for every limit, too little for the machine
		b, err := unix.Mmap(-1, 0, chunk, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_SHARED)
		if err != nil {
			return err
		}
		for j := 0; j < len(b); j += 4096 {
			b[j] = 1
		}
		if err := unix.Madvise(b, unix.MADV_DONTNEED); err != nil {
			return err
		}
	}
	return nil
}

func openMany() error {
	var held []*os.File
	for range 100_000 {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return fmt.Errorf("after %d files: %w", len(held), err)
		}
		held = append(held, f)
	}
	return nil
}

// hostArg starts the test binary as a host that runs one command and is then
// killed.
const hostArg = "sandbox-host"

// host runs a command that opens the pipe in dir, in two processes of which
// one has left its session, and waits for ever.
func host(dir, mode string) int {
	r, err := New(Options{Mode: Mode(mode)})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	spec := Spec{
		Place:  Place{Root: filepath.Join(dir, "tree"), At: at},
		Argv:   []string{"/bin/sh", "-c", holdPipe + "; sleep 1000"},
		Limits: Limits{Wall: time.Minute},
	}
	_, err = r.Run(testContext(), spec)
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// attemptArg starts the test binary to make one attempt without a sandbox.
const attemptArg = "sandbox-attempt"

func oneAttempt(name string) int {
	for _, a := range attempts() {
		if a.name != name {
			continue
		}
		if err := a.try(); err != nil {
			fmt.Println("stopped:", err)
			return 1
		}
		fmt.Println("through")
		return 0
	}
	return 2
}

// tierArg starts the test binary to say which tier it gets.
const tierArg = "sandbox-tier"

func sayTier() int {
	r, err := New(Options{})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Printf("%s\nrefused: %v\n", r.Tier(), r.Refused() != nil)
	return 0
}

// inLimitArg is the half of withoutNamespaces that is inside.
const inLimitArg = "sandbox-in-limit"

// withoutNamespaces starts the test binary as on a machine that refuses user
// namespaces: in one of its own, whose limit of further ones is none.
func withoutNamespaces(t *testing.T, arg string) string {
	t.Helper()
	cmd := exec.Command(self(t), inLimitArg, arg)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_DAC_OVERRIDE, unix.CAP_SYS_RESOURCE},
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v %s", err, out)
	}
	return string(out)
}

func inLimit(arg string) int {
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		fmt.Println(err)
		return 1
	}
	switch arg {
	case tierArg:
		return sayTier()
	}
	return 2
}

func dialed(network, addr string) error {
	c, err := net.DialTimeout(network, addr, time.Second)
	if err == nil {
		_ = c.Close()
	}
	return err
}
