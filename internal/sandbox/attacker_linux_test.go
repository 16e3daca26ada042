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
	"agency/internal/linux/escape"
	"agency/internal/supervisor"
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
		"read":   func(a []string) error { _, err := os.ReadFile(a[0]); return err },
		"list":   func(a []string) error { _, err := os.ReadDir(a[0]); return err },
		"write":  func(a []string) error { return os.WriteFile(a[0], []byte("escaped"), 0o644) },
		"rename": func(a []string) error { return os.Rename(a[0], a[1]) },
		"remove": func(a []string) error { return os.RemoveAll(a[0]) },
		"swap": func(a []string) error {
			return unix.Renameat2(unix.AT_FDCWD, a[0], unix.AT_FDCWD, a[1], unix.RENAME_EXCHANGE)
		},
		"hard link":   hardLink,
		"serve":       func([]string) error { return serving() },
		"threads":     threading,
		"give folder": func([]string) error { return giveFolder() },
		"take folder": func([]string) error { return takeFolder() },
		"dial":        func(a []string) error { return dialed(a[0], a[1]) },
		"datagram":    datagram,
		"memory":      func([]string) error { return eatMemory(0) },
		"memory of many": func([]string) error {
			return manyEaters()
		},
		"eat": func(a []string) error {
			n, err := strconv.Atoi(a[0])
			return errors.Join(err, eatMemory(n))
		},
		"outlive": func(a []string) error {
			n, err := strconv.Atoi(a[0])
			return errors.Join(err, outlive(n))
		},
		"shared memory":      func([]string) error { return eatShared(64, unix.SysvShmDetach) },
		"put away memory":    func([]string) error { return eatShared(64, putAway) },
		"some shared memory": func([]string) error { return eatShared(5, func([]byte) error { return nil }) },
		"files":              func([]string) error { return openMany() },
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
		"send first":    func([]string) error { return made("reach the network while sending") },
		"other streams": func([]string) error { return made("reach the network by other streams") },
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
		"memory of the dead": func([]string) error {
			go loseFirstThread()
			return eatMemory(0)
		},
		"sockets":          func([]string) error { return fill(socketPipe) },
		"internet sockets": func([]string) error { return fill(internetPipe) },
		"pipes": func([]string) error {
			return fill(func() (int, int, error) {
				var p [2]int
				err := unix.Pipe2(p[:], unix.O_NONBLOCK)
				return p[0], p[1], err
			})
		},
		"page tables":       func([]string) error { return eatTables() },
		"hold":              hold,
		"mappings":          func([]string) error { return eatMappings() },
		"mappings and hide": func([]string) error { return errors.Join(unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0), eatMappings()) },
		"nested": func([]string) error {
			_, err := New(Options{Mode: ModeFull})
			if err != nil {
				err = fmt.Errorf("%s: %w; %s", agency.KindOf(err), err, agency.MendOf(err))
			}
			return err
		},
		"trap": func(a []string) error {
			for _, t := range escape.TrapAttempts() {
				if t.Name == a[0] {
					return t.Try()
				}
			}
			return nil
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

// putAway tells the kernel not to count memory as resident here.
func putAway(b []byte) error { return unix.Madvise(b, unix.MADV_DONTNEED) }

// eatShared fills segments and leaves them so; 64 are 1 GiB: enough for every
// limit, too little for the machine.
func eatShared(segments int, leave func([]byte) error) error {
	for range segments {
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
		if err := leave(b); err != nil {
			return err
		}
	}
	if segments < 64 {
		time.Sleep(200 * time.Millisecond) // it is looked at meanwhile
		return nil
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
	stay()
	return nil
}

// fill holds pairs of ends with all that fits between them.
func fill(pair func() (read, write int, err error)) error {
	b := make([]byte, 32<<10)
	for n := 0; ; n++ {
		_, w, err := pair()
		if err != nil {
			fmt.Println("after", n, "pairs:", err)
			_, _ = unix.Ppoll(nil, nil, nil) // the runtime's own way to wait needs a file
		}
		for {
			if _, err := unix.Write(w, b); err != nil {
				break
			}
		}
	}
}

func socketPipe() (int, int, error) {
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	return p[0], p[1], err
}

func internetPipe() (int, int, error) {
	l, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = unix.Close(l) }()
	if err := errors.Join(unix.Bind(l, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(l, 1)); err != nil {
		return 0, 0, err
	}
	at, err := unix.Getsockname(l)
	if err != nil {
		return 0, 0, err
	}
	w, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err == nil {
		err = unix.Connect(w, at)
	}
	if err == nil {
		err = unix.SetNonblock(w, true)
	}
	if err != nil {
		return 0, 0, err
	}
	r, _, err := unix.Accept(l)
	return r, w, err
}

// eatTables reads a byte of each part of an empty space that needs a page of the
// kernel's to be described, and has no other memory: 512 GiB, 1 GiB of tables.
func eatTables() error {
	const size, part = 512 << 30, 2 << 20
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	if err != nil {
		return err
	}
	if err := unix.Madvise(b, unix.MADV_NOHUGEPAGE); err != nil {
		return err
	}
	sum := 0
	for i := 0; i < size; i += part {
		sum += int(b[i])
	}
	fmt.Println("read", sum)
	stay()
	return nil
}

// eatMappings takes as many mappings as a process can have, none of them used.
func eatMappings() error {
	const size, page = 60_000 * 4096, 4096
	b, err := unix.Mmap(-1, 0, size, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	if err != nil {
		return err
	}
	for i := 0; i < size; i += 2 * page {
		if err := unix.Mprotect(b[i:i+page], unix.PROT_READ); err != nil {
			return err
		}
	}
	stay()
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

// host runs a script, which opens the pipe in dir and never ends.
func host(dir, mode, script string) int {
	r, err := New(Options{Mode: Mode(mode)})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if r.Tier() == TierLandlock { // a control group would hide what the rest leaves
		r.machine = newMachine(nil, -1, nil)
	}
	spec := Spec{
		Place:  Place{Root: filepath.Join(dir, "tree"), At: at},
		Argv:   sh(script),
		Limits: Limits{Wall: time.Minute},
	}
	if name, err := os.Executable(); err == nil {
		spec.Tools.ReadOnly = []Mount{{Host: name, At: attackerAt}}
	}
	_, err = r.Run(testContext(), spec)
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// made makes one attempt.
func made(name string) error {
	for _, a := range supervisor.Attempts() {
		if a.Name == name {
			return a.Try()
		}
	}
	return nil // which is the failure
}

// attemptArg starts the test binary to make one attempt without a sandbox.
const attemptArg = "sandbox-attempt"

func oneAttempt(name string) int {
	for _, a := range supervisor.Attempts() {
		if a.Name != name {
			continue
		}
		if err := a.Try(); err != nil {
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
