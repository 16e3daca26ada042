// Package meter counts what a tree of processes uses, by what /proc and the kernel's
// list of sockets tell: processes, memory also where it is in no process's resident
// size, processor time, room on disks. It names the limit that is passed.
//
// This is the only count that holds for the host's root, who is above the limits of
// the kernel, where no cgroup can be written; and it is what gives a limit its name.
// Between two looks the kernel's own walls hold: tasks for ordinary users, size of a
// file, size of /tmp, the cgroup where there is one. It ends nobody.
package meter

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"agency/internal/linux"
)

const (
	// FirstLook is when the first look is due, after the start.
	FirstLook = 5 * time.Millisecond
	nextLook  = 20 * time.Millisecond
	// exactPause is how many times the cost of an exact count passes before
	// the next one, so that a tree that shares much memory is not slowed down.
	exactPause = 8
	// openPause is the same for a look at the whole machine.
	openPause = 3
)

// Limits are what all processes together may use.
type Limits struct {
	CPU       time.Duration // zero: no limit
	MemoryMB  int
	Processes int // alive at one time
}

// Limit names one that is passed.
type Limit string

// The closed set of limits.
const (
	CPU       Limit = "cpu"
	Memory    Limit = "memory"
	Processes Limit = "processes"
	Disk      Limit = "disk" // too little is left free, or there are too many temporary files
)

// Watch looks again and again at the processes of one command.
type Watch struct {
	limits    Limits
	disks     Disks
	floors    []space
	First     int  // the first process of the command's namespace, itself no part of the command
	Open      bool // no namespace of its own: the command's processes are First's descendants
	Scoped    bool // the first ends them itself when it is told
	Temp      Temp // where those files are in no memory
	hidden    hidden
	Pause     time.Duration // until the next look is due
	page      int64
	peakKB    int64
	cpu       time.Duration
	nextExact time.Time
	buf       []byte
}

// New makes one that begins to count now.
func New(l Limits, d Disks) *Watch {
	return &Watch{limits: l, disks: d, floors: d.floors(), Pause: nextLook, page: int64(os.Getpagesize()), buf: make([]byte, 4096)}
}

// usage is what one look found.
type usage struct {
	processes int
	bytes     int64 // resident, memory that processes share counted for each
	ticks     int64
	files     int64 // open, in each process; 0 where the kernel does not tell (Linux before 6.2)
}

// Look counts once and names the limit that is passed, if any.
func (w *Watch) Look() Limit {
	pids, loose := w.processes()
	if len(pids)+loose > w.limits.Processes {
		return Processes
	}
	var u, first usage
	for _, pid := range pids {
		w.add(&u, pid)
	}
	w.add(&first, strconv.Itoa(w.First)) // what it has reaped has used processor time
	limit := int64(w.limits.MemoryMB) << 20
	if w.hidden.look(w, pids, limit, u.files) {
		return Memory
	}
	u.bytes += w.systemV() + w.hidden.bytes
	w.peakKB = max(w.peakKB, u.bytes>>10)
	w.cpu = max(w.cpu, time.Duration(u.ticks+first.ticks)*time.Second/linux.ClockTicks)
	if w.limits.CPU > 0 && w.cpu > w.limits.CPU {
		return CPU
	}
	if w.disks.below(w.floors) || w.Temp.full() {
		return Disk
	}
	if u.bytes > limit && w.exact(pids) > limit {
		return Memory
	}
	return ""
}

// Used is what was counted, ru by the kernel for all processes that have ended.
func (w *Watch) Used(ru *syscall.Rusage) (cpu time.Duration, peakKB int64) {
	w.peakKB = max(w.peakKB, ru.Maxrss)
	return max(time.Duration(ru.Utime.Nano()+ru.Stime.Nano()), w.cpu), w.peakKB
}

// processes lists every process of the command.
func (w *Watch) processes() (pids []string, loose int) {
	if w.Open {
		began := time.Now()
		pids, loose = linux.Descendants(w.First)
		w.Pause = max(nextLook, openPause*time.Since(began))
		return pids, loose
	}
	first := strconv.Itoa(w.First)
	return slices.DeleteFunc(linux.Processes(), func(n string) bool { return n == "1" || n == first }), 0
}

func (w *Watch) add(u *usage, pid string) {
	f := linux.StatFields(w.read("/proc/" + pid + "/stat"))
	if f == nil {
		return // it has ended
	}
	u.processes++
	for _, t := range f[linux.StatUser : linux.StatUser+4] {
		u.ticks += linux.Number(t)
	}
	dir := "/proc/" + pid
	if linux.Headless(f) && linux.Runs(f) {
		dir = linux.LivingDir(pid)
		if f = linux.StatFields(w.read(dir + "/stat")); f == nil {
			return
		}
	}
	u.bytes += linux.Number(f[linux.StatRSS]) * w.page
	var st unix.Stat_t
	if unix.Stat(dir+"/fd", &st) == nil {
		u.files += st.Size
	}
}

// read reads a small file of /proc into the watch's buffer.
func (w *Watch) read(path string) []byte {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	n, err := unix.Read(fd, w.buf)
	_ = unix.Close(fd)
	if err != nil {
		return nil
	}
	return w.buf[:n]
}

// exact counts memory once however many processes share it, and leaves out
// what can be read again from files. It walks page tables, hence only when the
// rough count is over the limit, and seldom.
func (w *Watch) exact(pids []string) int64 {
	now := time.Now()
	if now.Before(w.nextExact) {
		return 0
	}
	all := w.systemV()
	sum := all + w.hidden.bytes
	for _, pid := range pids {
		if all > 0 {
			sum -= systemVOf(pid)
		}
		b := w.read(linux.LivingDir(pid) + "/smaps_rollup")
		anon, ok := rollup(b, "Pss_Anon:")
		shared, ok2 := rollup(b, "Pss_Shmem:")
		if ok && ok2 {
			sum += anon + shared
			continue
		}
		// Hidden by the process itself: count all of it.
		var u usage
		w.add(&u, pid)
		sum += u.bytes
	}
	w.nextExact = now.Add(exactPause * time.Since(now))
	return sum
}

// rollup reads one line of smaps_rollup, given in kilobytes.
func rollup(b []byte, name string) (int64, bool) {
	_, rest, ok := bytes.Cut(b, []byte("\n"+name))
	if !ok {
		return 0, false
	}
	f := bytes.Fields(rest)
	if len(f) == 0 {
		return 0, false
	}
	return linux.Number(f[0]) << 10, true
}

// systemVOf is what a process's own share of such segments is in its memory.
func systemVOf(pid string) (sum int64) {
	b, err := os.ReadFile(linux.LivingDir(pid) + "/smaps")
	if err != nil {
		return 0
	}
	in := false
	for line := range bytes.Lines(b) {
		f := bytes.Fields(line)
		switch {
		case len(f) > 5 && bytes.IndexByte(f[0], '-') > 0:
			in = bytes.HasPrefix(f[5], []byte("/SYSV"))
		case in && len(f) > 1 && string(f[0]) == "Pss:":
			sum += linux.Number(f[1]) << 10
		}
	}
	return sum
}
