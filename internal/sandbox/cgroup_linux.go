package sandbox

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// A cgroup is the hard wall behind the watch: what no look can count, or what
// comes between two looks, the kernel still bounds. Groups are kept and used
// again, because making and removing one costs more than a command.

// hierarchy is where groups can be made; nil where nowhere.
type hierarchy struct {
	ver    string            // "v1" or "v2"
	roots  map[string]string // controller, memory or pids, to its folder
	mu     sync.Mutex
	free   []*group
	made   int
	mark   uint64 // tells its groups from those of another of this process
	closed bool
}

// group is one set of folders that a command lives in; nil for none.
type group struct {
	h      *hierarchy
	dirs   map[string]string // controller to folder; in v2 both are the same
	fd     *os.File          // v2: the folder, for clone to start in
	limits Limits
	kills  int64 // of the kernel's memory killer before this command
	denied int64 // tasks that the kernel has refused, before this command
}

// groupPrefix begins a group's name, before the host's process id.
const groupPrefix = "agency-"

// maxFree groups are kept; more do not usually run at the same time.
const maxFree = 16

// initMB is room for PID 1, initTasks its threads.
const (
	initMB    = 64
	initTasks = 32
)

// findHierarchy looks where this process could make groups with both
// controllers, and sweeps what dead hosts left there.
func findHierarchy() *hierarchy {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	h := cgroupFolders(string(mounts), string(own))
	if h == nil || !h.usable() {
		return nil
	}
	h.sweep()
	h.mark = rand.Uint64()
	return h
}

// cgroupFolders reads the two files of /proc: v1 when it has both controllers,
// else v2. In v1 groups lie in this process's own; in v2 beside it, because a
// group with processes may have none below it that is limited.
func cgroupFolders(mounts, own string) *hierarchy {
	paths := map[string]string{}
	for line := range strings.Lines(own) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		for c := range strings.SplitSeq(f[1], ",") {
			paths[c] = f[2]
		}
	}
	v1, v2 := map[string]string{}, ""
	for line := range strings.Lines(mounts) {
		left, right, ok := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 5 || len(r) < 3 {
			continue
		}
		dir := func(c string) string {
			rel := strings.TrimPrefix(paths[c], strings.TrimSuffix(l[3], "/"))
			return filepath.Join(l[4], rel)
		}
		switch r[0] {
		case "cgroup":
			for _, c := range []string{"memory", "pids"} {
				if hasOption(r[2], c) && paths[c] != "" {
					v1[c] = dir(c)
				}
			}
		case "cgroup2":
			v2 = l[4]
			if own := dir(""); own != l[4] {
				v2 = filepath.Dir(own)
			}
		}
	}
	if len(v1) == 2 {
		return &hierarchy{ver: "v1", roots: v1}
	}
	if v2 != "" {
		return &hierarchy{ver: "v2", roots: map[string]string{"memory": v2, "pids": v2}}
	}
	return nil
}

func hasOption(list, want string) bool {
	for o := range strings.SplitSeq(list, ",") {
		if o == want {
			return true
		}
	}
	return false
}

func (h *hierarchy) usable() bool {
	if h.ver == "v2" {
		b, err := os.ReadFile(filepath.Join(h.roots["memory"], "cgroup.subtree_control"))
		if err != nil || !strings.Contains(string(b), "memory") || !strings.Contains(string(b), "pids") {
			return false
		}
	}
	for _, dir := range h.roots {
		if unix.Access(dir, unix.W_OK) != nil {
			return false
		}
	}
	return true
}

// sweep removes groups of hosts that are no more; one in use cannot be removed.
func (h *hierarchy) sweep() {
	for _, root := range h.roots {
		left, _ := filepath.Glob(filepath.Join(root, groupPrefix+"*"))
		for _, dir := range left {
			id, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), groupPrefix), "-")
			if pid, err := strconv.Atoi(id); err == nil && errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
				_ = unix.Rmdir(dir)
			}
		}
	}
}

func (h *hierarchy) version() string {
	if h == nil {
		return ""
	}
	return h.ver
}

// open takes a group with these limits. Without one the command runs all the
// same: the watch counts it in any case.
func (h *hierarchy) open(l Limits) *group {
	if h == nil {
		return nil
	}
	for range maxFree + 1 { // one that was kept may be gone
		g, err := h.take()
		if err != nil {
			return nil
		}
		if g.ready(l) == nil {
			return g
		}
		g.remove()
	}
	return nil
}

func (h *hierarchy) take() (*group, error) {
	h.mu.Lock()
	if n := len(h.free); n > 0 {
		g := h.free[n-1]
		h.free = h.free[:n-1]
		h.mu.Unlock()
		return g, nil
	}
	h.made++
	// Another Runner of this process has groups of its own beside these.
	name := fmt.Sprintf("%s%d-%x-%d", groupPrefix, os.Getpid(), h.mark, h.made)
	h.mu.Unlock()
	g := &group{h: h, dirs: map[string]string{}}
	for c, root := range h.roots {
		g.dirs[c] = filepath.Join(root, name)
		if err := os.Mkdir(g.dirs[c], 0o755); err != nil && !os.IsExist(err) {
			g.remove()
			return nil, err
		}
	}
	if h.ver == "v2" {
		fd, err := os.Open(g.dirs["memory"])
		if err != nil {
			g.remove()
			return nil, err
		}
		g.fd = fd
	}
	return g, nil
}

// limit writes the walls, a little beyond the limits, so that the watch, which
// can name the cause, comes first where it can.
func (g *group) limit(l Limits) error {
	if g.limits == l {
		return nil
	}
	bytes := strconv.Itoa((l.MemoryMB + 2*l.tmpMB() + initMB) << 20)
	tasks := strconv.Itoa(l.tasks() + initTasks)
	files := [][3]string{{"memory", "memory.limit_in_bytes", bytes}, {"pids", "pids.max", tasks}}
	if g.h.ver == "v2" {
		files = [][3]string{
			{"memory", "memory.max", bytes},
			{"memory", "memory.swap.max", "0"},
			{"memory", "memory.oom.group", "1"},
			{"pids", "pids.max", tasks},
		}
	}
	for _, f := range files {
		err := os.WriteFile(filepath.Join(g.dirs[f[0]], f[1]), []byte(f[2]), 0)
		if err != nil && !(f[1] == "memory.swap.max" && os.IsNotExist(err)) {
			return err
		}
	}
	g.limits = l
	return nil
}

// ready prepares a group that is in use for its next command.
func (g *group) ready(l Limits) error {
	if g == nil {
		return nil
	}
	if err := g.limit(l); err != nil {
		return err
	}
	g.kills, g.denied = g.killed(), g.refusedTasks()
	return nil
}

// into makes the child start in the group, in v2, which can.
func (g *group) into(a *syscall.SysProcAttr) {
	if g != nil && g.fd != nil {
		a.UseCgroupFD, a.CgroupFD = true, int(g.fd.Fd())
	}
}

// adopt moves the child into the group, in v1, while it builds its view.
func (g *group) adopt(pid int) {
	if g == nil || g.fd != nil {
		return
	}
	for _, dir := range g.dirs {
		_ = os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
	}
}

// killed counts the processes that the kernel has killed for memory.
func (g *group) killed() int64 {
	if g.h.ver == "v2" {
		return g.count("memory", "memory.events", "oom_kill ")
	}
	return g.count("memory", "memory.oom_control", "oom_kill ")
}

// refusedTasks counts the forks that the kernel has refused.
func (g *group) refusedTasks() int64 { return g.count("pids", "pids.events", "max ") }

func (g *group) count(controller, file, name string) int64 {
	b, err := os.ReadFile(filepath.Join(g.dirs[controller], file))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, name); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
			return n
		}
	}
	return 0
}

// passed names the wall that the kernel held against this command, if any.
func (g *group) passed() Cause {
	switch {
	case g == nil:
		return ""
	case g.killed() > g.kills:
		return CauseMemory
	case g.refusedTasks() > g.denied:
		return CauseProcesses
	}
	return ""
}

// close gives the group back.
func (g *group) close() {
	if g == nil {
		return
	}
	g.h.mu.Lock()
	keep := !g.h.closed && len(g.h.free) < maxFree
	if keep {
		g.h.free = append(g.h.free, g)
	}
	g.h.mu.Unlock()
	if !keep {
		g.remove()
	}
}

// remove removes the folders; one that the kernel still holds is swept by the
// next host.
func (g *group) remove() {
	if g.fd != nil {
		_ = g.fd.Close()
	}
	for _, dir := range g.dirs {
		_ = unix.Rmdir(dir)
	}
}

func (h *hierarchy) close() {
	if h == nil {
		return
	}
	h.mu.Lock()
	free := h.free
	h.free, h.closed = nil, true
	h.mu.Unlock()
	for _, g := range free {
		g.remove()
	}
}
