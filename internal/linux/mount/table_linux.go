package mount

import (
	"bufio"
	"os"
	"slices"
	"strconv"
	"strings"

	"agency/internal/linux"
)

// Mounted is one file system of the host, at its place.
type Mounted struct{ At, Kind string }

// All are all that this process sees.
func All() ([]Mounted, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	var out []Mounted
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		head, tail, ok := strings.Cut(lines.Text(), " - ")
		fields := strings.Fields(head)
		if kind, _, _ := strings.Cut(tail, " "); ok && len(fields) > 4 {
			out = append(out, Mounted{unescaped(fields[4]), kind})
		}
	}
	return out, lines.Err()
}

// unescaped is a path as the kernel writes it in its tables.
func unescaped(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// Below are the paths of what is mounted below a folder, relative to it, the
// topmost only. Of the system's own folders those count that are no disks: its
// parts may lie on several.
func Below(all []Mounted, dir string, system bool) []string {
	var out []string
	for _, m := range all {
		if m.At == dir || !linux.Within(m.At, dir) || system && !slices.Contains(noDisks[:], m.Kind) {
			continue
		}
		rel := strings.TrimPrefix(strings.TrimPrefix(m.At, dir), "/")
		if !slices.ContainsFunc(out, func(o string) bool { return linux.Within(rel, o) }) {
			out = append(out, rel)
		}
	}
	return out
}

// Socket is the kind of a socket with a path.
const Socket = "socket"

// noDisks are file systems that show something of the kernel or of daemons.
var noDisks = [...]string{
	"proc", "sysfs", "devtmpfs", "devpts", "tmpfs", "ramfs", "cgroup", "cgroup2", "mqueue", "debugfs", "tracefs", "securityfs", "configfs", "bpf",
	"pstore", "efivarfs", "binfmt_misc", "autofs", "rpc_pipefs", "nsfs", "fusectl", "selinuxfs",
	Socket,
}
