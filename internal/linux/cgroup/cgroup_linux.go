// Package cgroup bounds what processes use together by the kernel's control
// groups, of either version, where this process may make any. A group is the hard
// wall behind who counts: what no look can count, or what comes between two looks,
// the kernel still bounds. Groups are kept and used again, because making and
// removing one costs more than a command.
package cgroup

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"agency/internal/linux"
)

// Walls are what all processes of a group get together.
type Walls struct {
	MemoryMB int // resident, and files in memory
	Tasks    int // threads
}

// Hierarchy is where groups can be made; nil where nowhere.
type Hierarchy struct {
	ver    string            // "v1" or "v2"
	roots  map[string]string // controller, memory or pids, to its folder
	mu     sync.Mutex
	free   []*Group
	made   int
	mark   uint64 // tells its groups from those of another of this process
	closed bool
}

// Group is one set of folders that a command lives in; nil for none.
type Group struct {
	h      *Hierarchy
	Dirs   map[string]string   // controller to folder; in v2 both are the same
	held   map[string]*os.File // folder to its lock: who has it lives
	walls  Walls
	kills  int64 // of the kernel's memory killer before this command
	denied int64 // tasks that the kernel has refused, before this command
}

// groupPrefix begins a group's name, before the host's process id.
const groupPrefix = "agency-"

// maxFree groups are kept; more do not usually run at the same time.
const maxFree = 16

// Find looks where this process could make groups with both
// controllers, and sweeps what dead hosts left there, processes too.
func Find() *Hierarchy {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	for _, h := range cgroupFolders(string(mounts), string(own)) {
		if h.usable() {
			h.sweep()
			h.mark = rand.Uint64()
			return h
		}
	}
	return nil
}

// cgroupFolders reads the two files of /proc: v1 when it has both controllers,
// else v2. In v1 groups lie in this process's own; in v2 beside it, because a
// group with processes may have none below it that is limited, or beside one
// that it lies in, up to where the user's own begin: that of his service
// manager, as a rule.
func cgroupFolders(mounts, own string) []*Hierarchy {
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
	v1 := map[string]string{}
	var v2 []*Hierarchy
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
				if slices.Contains(strings.Split(r[2], ","), c) && paths[c] != "" {
					v1[c] = dir(c)
				}
			}
		case "cgroup2":
			v2 = nil
			for at := dir(""); ; {
				if at != l[4] {
					at = filepath.Dir(at)
				}
				v2 = append(v2, &Hierarchy{ver: "v2", roots: map[string]string{"memory": at, "pids": at}})
				if !linux.Within(at, l[4]) || at == l[4] {
					break
				}
			}
		}
	}
	if len(v1) == 2 {
		return []*Hierarchy{{ver: "v1", roots: v1}}
	}
	return v2
}

func (h *Hierarchy) usable() bool {
	if h.ver == "v2" {
		b, err := os.ReadFile(filepath.Join(h.roots["memory"], "cgroup.subtree_control"))
		if err != nil || !strings.Contains(string(b), "memory") || !strings.Contains(string(b), "pids") {
			return false
		}
	}
	for _, dir := range h.roots {
		// Into a group comes a process only from where both lie in one that may be
		// written.
		if unix.Access(dir, unix.W_OK) != nil || unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) != nil {
			return false
		}
	}
	return true
}

// sweep ends what is left in the groups of hosts that are no more, and removes
// them. A host holds a lock on each of its own: numbers of processes come again,
// and mean another in a container that shares the folder.
func (h *Hierarchy) sweep() {
	for _, root := range h.roots {
		left, _ := filepath.Glob(filepath.Join(root, groupPrefix+"*"))
		for _, dir := range left {
			if f, err := lockFolder(dir); err == nil {
				emptyGroup(dir, 0)
				_ = unix.Rmdir(dir)
				_ = f.Close()
			}
		}
	}
}

// lockFolder takes the lock of a group; nobody waits for it.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// EmptyPatience bounds how long the death of what is in a group is awaited.
const EmptyPatience = 5 * time.Second

// emptyGroup ends all processes in a group but one, 0 for none. The kernel knows
// them all, whatever they did to be lost.
func emptyGroup(dir string, but int) {
	for until := time.Now().Add(EmptyPatience); time.Now().Before(until); time.Sleep(time.Millisecond) {
		b, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if err != nil {
			return
		}
		found := slices.DeleteFunc(strings.Fields(string(b)), func(pid string) bool { return pid == strconv.Itoa(but) })
		if len(found) == 0 {
			return
		}
		if but == 0 && os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0) == nil { // v2, of Linux 5.14
			continue
		}
		linux.KillAll(found)
	}
}

// EndOthers ends what a command has left in a group beside its subreaper.
func (g *Group) EndOthers(subreaper int) {
	if g == nil {
		return
	}
	emptyGroup(g.Dirs["pids"], subreaper)
}

// Processes are those in a group; not ok where it cannot be told.
func (g *Group) Processes() (pids []string, ok bool) {
	if g == nil {
		return nil, false
	}
	b, err := os.ReadFile(filepath.Join(g.Dirs["pids"], "cgroup.procs"))
	return strings.Fields(string(b)), err == nil
}

func (h *Hierarchy) Version() string {
	if h == nil {
		return ""
	}
	return h.ver
}

// Open takes a group with these walls; nil where none can be had.
func (h *Hierarchy) Open(w Walls) *Group {
	if h == nil {
		return nil
	}
	for range maxFree + 1 { // one that was kept may be gone, one without its lock yet swept
		g, err := h.take()
		if err != nil {
			continue
		}
		if g.Ready(w) == nil {
			return g
		}
		g.remove()
	}
	return nil
}

func (h *Hierarchy) take() (*Group, error) {
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
	g := &Group{h: h, Dirs: map[string]string{}, held: map[string]*os.File{}}
	for c, root := range h.roots {
		dir := filepath.Join(root, name)
		g.Dirs[c] = dir
		if g.held[dir] != nil { // v2: one folder for both
			continue
		}
		err := os.Mkdir(dir, 0o755)
		if err == nil || os.IsExist(err) {
			g.held[dir], err = lockFolder(dir)
		}
		if err != nil {
			delete(g.held, dir)
			g.remove()
			return nil, err
		}
	}
	return g, nil
}

// limit writes the walls.
func (g *Group) limit(w Walls) error {
	if g.walls == w {
		return nil
	}
	bytes := strconv.Itoa(w.MemoryMB << 20)
	tasks := strconv.Itoa(w.Tasks)
	files := [][3]string{
		{"memory", "memory.limit_in_bytes", bytes},
		{"memory", kmemTCP, bytes},
		{"pids", "pids.max", tasks},
	}
	if g.h.ver == "v2" {
		files = [][3]string{
			{"memory", "memory.max", bytes},
			{"memory", "memory.swap.max", "0"},
			{"memory", "memory.oom.group", "1"},
			{"pids", "pids.max", tasks},
		}
	}
	for _, f := range files {
		err := os.WriteFile(filepath.Join(g.Dirs[f[0]], f[1]), []byte(f[2]), 0)
		if err != nil && !(os.IsNotExist(err) && (f[1] == "memory.swap.max" || f[1] == kmemTCP)) {
			return err
		}
	}
	g.walls = w
	return nil
}

// kmemTCP is v1's limit of what TCP holds, which it counts apart.
const kmemTCP = "memory.kmem.tcp.limit_in_bytes"

// Ready prepares a group that is in use for its next command.
func (g *Group) Ready(w Walls) error {
	if g == nil {
		return nil
	}
	if err := g.limit(w); err != nil {
		return err
	}
	g.kills, g.denied = g.killed(), g.refusedTasks()
	return nil
}

// Into makes the child start in the group, in v2, which can.
func (g *Group) Into(a *syscall.SysProcAttr) {
	if g != nil && g.h.ver == "v2" {
		a.UseCgroupFD, a.CgroupFD = true, int(g.held[g.Dirs["memory"]].Fd())
	}
}

// Adopt moves the child into the group, in v1, while it builds its view.
func (g *Group) Adopt(pid int) {
	if g == nil || g.h.ver == "v2" {
		return
	}
	for _, dir := range g.Dirs {
		_ = os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
	}
}

// killed counts the processes that the kernel has killed for memory.
func (g *Group) killed() int64 {
	file := "memory.oom_control"
	if g.h.ver == "v2" {
		file = "memory.events"
	}
	return g.count("memory", file, "oom_kill ")
}

// refusedTasks counts the forks that the kernel has refused.
func (g *Group) refusedTasks() int64 { return g.count("pids", "pids.events", "max ") }

func (g *Group) count(controller, file, name string) int64 {
	b, _ := os.ReadFile(filepath.Join(g.Dirs[controller], file))
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, name); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
			return n
		}
	}
	return 0
}

// Passed says which wall the kernel held against this command, if any: of memory
// first.
func (g *Group) Passed() (memory, tasks bool) {
	switch {
	case g == nil:
		return false, false
	case g.killed() > g.kills:
		return true, false
	}
	return false, g.refusedTasks() > g.denied
}

// Close gives the group back.
func (g *Group) Close() {
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

// removePatience bounds how long the kernel may hold a group in which nobody is
// any more.
const removePatience = 100 * time.Millisecond

// remove removes the folders; one that the kernel still holds is swept by the
// next host.
func (g *Group) remove() {
	for dir, f := range g.held {
		for until := time.Now().Add(removePatience); unix.Rmdir(dir) == unix.EBUSY && time.Now().Before(until); {
			time.Sleep(time.Millisecond)
		}
		_ = f.Close()
	}
}

func (h *Hierarchy) Close() {
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
