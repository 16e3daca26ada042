package escape

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// fileAttempts go through files: the kernel's, the supervisor's, the devices.
func fileAttempts(in Inside) []Attempt {
	return []Attempt{
		{"read the kernel's memory", func() error { return kernelFiles("kcore", "kmsg", "kpagecount", "kpageflags", "kpagecgroup") }},
		{"read the kernel's addresses", kernelAddresses},
		{"read the kernel's tables", func() error { return kernelFiles(in.Hidden...) }},
		{"reach the control groups", controlGroups},
		{"overwrite the program that runs", func() error { return opened("/proc/self/exe", os.O_WRONLY) }},
		{"open the supervisor's program", func() error {
			return noneOf(opened(parent("exe"), os.O_WRONLY), opened(parent("exe"), os.O_RDONLY))
		}},
		{"write the supervisor's files in /proc", func() error {
			return noneOpens(os.O_WRONLY, parent(""), "oom_score_adj", "clear_refs", "coredump_filter", "setgroups", "uid_map", "attr/current", "comm", "timerslack_ns")
		}},
		{"enter the supervisor's namespaces", func() error {
			return noneOpens(os.O_RDONLY, parent("ns/"), "mnt", "pid", "user", "net", "ipc", "uts", "cgroup")
		}},
		{"open a device of the host by name", func() error {
			return noneOf(noneOpens(os.O_RDONLY, "/dev/", devices...), noneOpens(os.O_WRONLY, "/dev/", devices...))
		}},
		{"write kernel settings", kernelSettings},
		{"reach daemons of the host", daemons},
		{"hold the user's file watches", func() error { return fileWatches(in.Watchers) }},
	}
}

// kernelFiles reads one of the files of /proc that are of the kernel; a device
// that covers one is nothing to read.
func kernelFiles(names ...string) error {
	for _, name := range names {
		f, err := os.Open("/proc/" + name)
		if err != nil {
			continue
		}
		fi, err := f.Stat()
		if err == nil && fi.Mode()&os.ModeDevice == 0 {
			_, err = f.Read(make([]byte, 1))
		} else {
			err = unix.ENODEV
		}
		if _ = f.Close(); err == nil {
			return nil
		}
	}
	return errors.New("covered")
}

// kernelAddresses looks whether the kernel tells where its parts lie.
func kernelAddresses() error {
	b := make([]byte, 16)
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if n, err := f.Read(b); err != nil || n < len(b) {
		return errors.New("none")
	}
	if string(b) != "0000000000000000" {
		return nil
	}
	return errors.New("all are zero")
}

// controlGroups tries to leave the group, and to raise its walls.
func controlGroups() error {
	for _, pattern := range []string{"cgroup.procs", "*/cgroup.procs", "*/tasks", "*/memory.limit_in_bytes", "*/release_agent", "memory.max"} {
		found, err := filepath.Glob("/sys/fs/cgroup/" + pattern)
		if err != nil {
			return err
		}
		for _, f := range found {
			if opened(f, os.O_WRONLY) == nil {
				return nil
			}
		}
	}
	if _, err := os.ReadDir("/sys/fs/cgroup"); err != nil {
		return err
	}
	return errors.New("none to be written")
}

// noneOpens is nil, which is the failure, when one of several files can be opened.
func noneOpens(flags int, at string, names ...string) error {
	answers := make([]error, len(names))
	for i, name := range names {
		answers[i] = opened(at+name, flags)
	}
	return noneOf(answers...)
}

var devices = []string{
	"mem", "kmem", "port", "kmsg", "kvm", "fuse", "vda", "sda", "nvme0n1", "loop-control", "loop0", "mapper/control", "net/tun",
	"userfaultfd", "vhost-vsock", "vsock", "uinput", "input/event0", "dri/card0", "dri/renderD128", "snd/controlC0", "video0",
	"console", "tty0", "tty1", "ttyS0", "vcs1", "hpet", "rtc0", "cpu/0/msr", "autofs", "btrfs-control", "nbd0", "mqueue", "hugepages",
}

func kernelSettings() error {
	answer := noneOpens(os.O_WRONLY, "/proc/sys/",
		"kernel/core_pattern", "kernel/modprobe", "kernel/hotplug", "kernel/pid_max", "kernel/ns_last_pid", "kernel/randomize_va_space",
		"kernel/yama/ptrace_scope", "kernel/shmmax", "kernel/msgmax", "kernel/domainname", "fs/binfmt_misc/register", "fs/mqueue/msg_max",
		"fs/suid_dumpable", "vm/drop_caches", "vm/overcommit_memory", "net/ipv4/ip_forward", "net/ipv4/ping_group_range",
		"user/max_user_namespaces", "user/max_inotify_instances")
	for _, name := range []string{"/proc/sysrq-trigger", "/proc/self/loginuid", "/proc/self/sessionid", "/proc/irq/0/smp_affinity", "/proc/bus/pci"} {
		if fi, err := os.Lstat(name); err == nil && fi.Mode().IsRegular() && opened(name, os.O_WRONLY) == nil {
			return nil
		}
	}
	return answer
}

// daemons dials what runs on many machines and acts for who speaks to it.
func daemons() error {
	uid := os.Getuid()
	for _, path := range []string{
		"/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock", "/run/dbus/system_bus_socket",
		"/run/systemd/private", "/run/systemd/notify", "/run/systemd/journal/socket", "/dev/log", "/tmp/.X11-unix/X0", "\x00/tmp/.X11-unix/X0",
		"/run/snapd.socket", "/run/libvirt/libvirt-sock", "/var/run/nscd/socket",
		fmt.Sprintf("/run/user/%d/bus", uid), fmt.Sprintf("/run/user/%d/systemd/private", uid), fmt.Sprintf("/run/user/%d/gnupg/S.gpg-agent", uid),
		fmt.Sprintf("/run/user/%d/keyring/ssh", uid), fmt.Sprintf("/run/user/%d/docker.sock", uid), os.Getenv("SSH_AUTH_SOCK"), os.Getenv("DBUS_SESSION_BUS_ADDRESS"),
	} {
		if path == "" {
			continue
		}
		for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_SEQPACKET} {
			if meets(kind, path) == nil {
				return nil
			}
		}
	}
	return errors.New("none answers")
}

// fileWatches takes what the kernel gives one user for all programs.
func fileWatches(most int) error {
	var held []int
	defer func() {
		for _, fd := range held {
			_ = unix.Close(fd)
		}
	}()
	for range most + 1 {
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
		if err != nil {
			return fmt.Errorf("after %d: %w", len(held), err)
		}
		held = append(held, fd)
	}
	return nil
}
