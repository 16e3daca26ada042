package sandbox

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// PID 1 looks at what the processes use. This is the only count that holds for
// the host's root, who is above the limits of the kernel, where no cgroup can
// be written; and it is what gives a limit its name. Between two looks the
// kernel's own walls hold: tasks for ordinary users, size of a file, size of
// /tmp, the cgroup where there is one.
const (
	firstLook = 5 * time.Millisecond
	nextLook  = 20 * time.Millisecond
	// exactPause is how many times the cost of an exact count passes before
	// the next one, so that a tree that shares much memory is not slowed down.
	exactPause = 8
	// openPause is the same for a look at the whole machine.
	openPause = 3
)

type watch struct {
	limits    Limits
	disks     disks
	floors    []space
	first     int  // the first process of the command's namespace, itself no part of the command
	open      bool // no namespace of its own: the command's processes are first's descendants
	temp      temp // landlock tier
	pause     time.Duration
	page      int64
	peakKB    int64
	cpu       time.Duration
	nextExact time.Time
	buf       []byte
}

func newWatch(l Limits, d disks) *watch {
	return &watch{limits: l, disks: d, floors: d.floors(), pause: nextLook, page: int64(os.Getpagesize()), buf: make([]byte, 4096)}
}

// usage is what one look found.
type usage struct {
	processes int
	bytes     int64 // resident, memory that processes share counted for each
	ticks     int64
}

// look counts once and names the limit that is passed, if any.
func (w *watch) look() Cause {
	pids, loose := w.processes()
	if len(pids)+loose > w.limits.Processes {
		return CauseProcesses
	}
	var u, first usage
	for _, pid := range pids {
		w.add(&u, pid)
	}
	w.add(&first, strconv.Itoa(w.first)) // what it has reaped has used processor time
	u.bytes += w.detachedShared()
	w.peakKB = max(w.peakKB, u.bytes>>10)
	w.cpu = max(w.cpu, time.Duration(u.ticks+first.ticks)*time.Second/clockTicks)
	if w.limits.CPU > 0 && w.cpu > w.limits.CPU {
		return CauseCPU
	}
	if w.disks.below(w.floors) || w.temp.full() {
		return CauseDisk
	}
	limit := int64(w.limits.MemoryMB) << 20
	if u.bytes > limit && w.exact(pids) > limit {
		return CauseMemory
	}
	return ""
}

// report adds what was counted, ru by the kernel for all processes that have
// ended.
func (w *watch) report(rep report, ru *syscall.Rusage) report {
	w.peakKB = max(w.peakKB, ru.Maxrss)
	rep.CPUMicros = max(time.Duration(ru.Utime.Nano()+ru.Stime.Nano()), w.cpu).Microseconds()
	rep.MaxRSSKB = w.peakKB
	return rep
}

// clockTicks is USER_HZ, 100 on every machine Linux has now.
const clockTicks = 100

// processes lists every process of the command.
func (w *watch) processes() (pids []string, loose int) {
	if w.open {
		began := time.Now()
		pids, loose = descendants(w.first)
		w.pause = max(nextLook, openPause*time.Since(began))
		return pids, loose
	}
	d, err := os.Open("/proc")
	if err != nil {
		return nil, 0
	}
	defer func() { _ = d.Close() }()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, 0
	}
	first := strconv.Itoa(w.first)
	pids = names[:0]
	for _, n := range names {
		if n[0] >= '0' && n[0] <= '9' && n != "1" && n != first {
			pids = append(pids, n)
		}
	}
	return pids, 0
}

// Fields of /proc/PID/stat, counted from the one after the program's name.
const (
	statUser = 11 // then system, and both of reaped children
	statRSS  = 21
)

func (w *watch) add(u *usage, pid string) {
	b := w.read("/proc/" + pid + "/stat")
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return // it has ended
	}
	u.processes++
	f := bytes.Fields(b[i+1:])
	if len(f) <= statRSS {
		return
	}
	for _, t := range f[statUser : statUser+4] {
		u.ticks += number(t)
	}
	u.bytes += number(f[statRSS]) * w.page
}

func number(b []byte) int64 {
	n, _ := strconv.ParseInt(string(b), 10, 64)
	return n
}

// read reads a small file of /proc into the watch's buffer.
func (w *watch) read(path string) []byte {
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
func (w *watch) exact(pids []string) int64 {
	now := time.Now()
	if now.Before(w.nextExact) {
		return 0
	}
	sum := w.detachedShared()
	for _, pid := range pids {
		b := w.read("/proc/" + pid + "/smaps_rollup")
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
	return number(f[0]) << 10, true
}

// Columns of /proc/sysvipc/shm.
const (
	shmAttached = 6
	shmRSS      = 14
)

// detachedShared is the memory of System V segments that no process has
// attached: it belongs to no process's resident size. Without an ipc namespace
// they are the whole machine's.
func (w *watch) detachedShared() int64 {
	if w.open {
		return 0
	}
	b, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		return 0
	}
	var sum int64
	for i, line := range bytes.Split(b, []byte("\n")) {
		f := bytes.Fields(line)
		if i == 0 || len(f) <= shmRSS || string(f[shmAttached]) != "0" {
			continue
		}
		sum += number(f[shmRSS])
	}
	return sum
}
