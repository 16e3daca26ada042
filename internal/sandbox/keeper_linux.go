package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// keeperProcess is what PID 1 is in the full tier: it runs one command after the
// other under Landlock, seccomp and limits, and sees to it that none leaves a
// process behind. It has no namespace that would do that for it: it adopts what
// a command leaves, and ends it.
func keeperProcess() int {
	gone := func() { killDescendants(os.Getpid()) }
	return serve(gone, func(p plan) (func(*incoming) report, error) {
		if landlockInForce() == 0 {
			return nil, fmt.Errorf("this kernel has no Landlock of version %d or later", landlockMinABI)
		}
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return nil, fmt.Errorf("orphans: %w", err)
		}
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			return nil, fmt.Errorf("dumpable: %w", err)
		}
		k := &keeper{plan: p, disks: openDisks(p)}
		return k.run, nil
	})
}

type keeper struct {
	plan  plan
	disks disks
}

func (k *keeper) run(in *incoming) report {
	defer in.close()
	if len(in.files) != 3 {
		return report{Setup: fmt.Sprintf("%d files came with a request", len(in.files))}
	}
	if in.request.Port != 0 && !knowsPorts() {
		return report{Setup: "this kernel's Landlock knows no ports"}
	}
	rules, err := makeRules(append(grantsOf(k.plan), grant{in.request.Tmp, true}), in.request.Port)
	if err != nil {
		return report{Setup: err.Error()}
	}
	defer func() { _ = unix.Close(rules) }()
	rep, err := command(k.plan, in, rules, k.disks)
	if err != nil {
		return report{Setup: err.Error()}
	}
	return rep
}

// shownFiles are the files of /etc that hold no secret and that the full tier
// makes anew.
func shownFiles() []string {
	return []string{"/etc/passwd", "/etc/group", "/etc/hosts", "/etc/hostname", "/etc/nsswitch.conf", "/proc"}
}

// grantsOf are the rules of the landlock tier: only what is listed can be read.
func grantsOf(p plan) []grant {
	var out []grant
	for _, path := range append(shownSystem(), shownFiles()...) {
		out = append(out, grant{path, strings.HasPrefix(path, "/dev/")})
	}
	for _, it := range p.Items {
		out = append(out, grant{it.Host, it.Writable})
	}
	return out
}

// descendants are all processes below one, from one look at the machine. loose
// are those whose parent came or went during the look: they may be of them, and
// in a storm of forks most are.
func descendants(root int) (found []string, loose int) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, 0
	}
	defer func() { _ = d.Close() }()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, 0
	}
	children, parents := map[string][]string{}, map[string]string{}
	for _, n := range names {
		if n[0] < '0' || n[0] > '9' {
			continue
		}
		if parent := parentOf(n); parent != "" {
			children[parent] = append(children[parent], n)
			parents[n] = parent
		}
	}
	for _, parent := range parents {
		if _, known := parents[parent]; !known && parent != "0" {
			loose++
		}
	}
	found = children[strconv.Itoa(root)]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
	}
	return found, loose
}

// parentOf is the parent of a process that runs; one that only waits to be
// reaped has none.
func parentOf(pid string) string {
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	i := bytes.LastIndexByte(b, ')')
	if err != nil || i < 0 {
		return ""
	}
	f := bytes.Fields(b[i+1:])
	if len(f) < 2 || f[0][0] == 'Z' || f[0][0] == 'X' {
		return ""
	}
	return string(f[1])
}

// killDescendants ends all processes below one. They are stopped first, so that
// what forks does not outrun it.
func killDescendants(root int) {
	for {
		found, _ := descendants(root)
		if len(found) == 0 {
			break
		}
		for _, s := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
			for _, n := range found {
				if pid, err := strconv.Atoi(n); err == nil {
					_ = unix.Kill(pid, s)
				}
			}
		}
		reapAll(root)
		time.Sleep(time.Millisecond) // what is told to end needs a moment
	}
	reapAll(root)
}

// reapAll takes what has ended of this process's own children, unless one is
// still to be waited for.
func reapAll(root int) {
	if root != os.Getpid() {
		return
	}
	for {
		if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); err != nil || pid <= 0 {
			return
		}
	}
}

// machineTasks are all threads of the machine.
func machineTasks() uint64 {
	b, err := os.ReadFile("/proc/loadavg")
	f := strings.Fields(string(b))
	if err != nil || len(f) < 4 {
		return 0
	}
	_, all, _ := strings.Cut(f[3], "/")
	n, _ := strconv.ParseUint(all, 10, 32)
	return n
}

// inSandbox says whether this process was started by a sandbox.
func inSandbox() bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", os.Getppid()))
	return err == nil && (bytes.HasPrefix(b, []byte(childName)) || bytes.HasPrefix(b, []byte(keeperName)))
}
