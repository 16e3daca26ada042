package linux

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Children are the processes that a process has started, or got as orphans.
func Children(pid string) []string {
	var out []string
	threads, err := os.ReadDir("/proc/" + pid + "/task")
	for _, t := range threads {
		b, rerr := os.ReadFile("/proc/" + pid + "/task/" + t.Name() + "/children")
		if rerr != nil {
			err = rerr
			continue
		}
		out = append(out, strings.Fields(string(b))...)
	}
	if err == nil {
		return out
	}
	n, err := strconv.Atoi(pid) // a kernel without such lists, or a thread that ended
	if err != nil {
		return nil
	}
	out, _ = Descendants(n)
	return out
}

// Command is what a process was started as, or where it hides that its name.
func Command(pid string) string {
	const most = 120
	b, err := os.ReadFile(LivingDir(pid) + "/cmdline")
	if err != nil || len(b) == 0 {
		stat, _ := os.ReadFile("/proc/" + pid + "/stat")
		_, b, _ = bytes.Cut(stat[:max(bytes.LastIndexByte(stat, ')'), 0)], []byte("("))
	}
	b = bytes.TrimSpace(bytes.ReplaceAll(b, []byte{0}, []byte{' '}))
	if len(b) > most {
		b = append(b[:most:most], "[...]"...)
	}
	return strings.ToValidUTF8(string(b), "?")
}

// KillAll kills processes, given by their numbers in decimal. It stops all first, so that what forks does not outrun it.
func KillAll(pids []string) {
	for _, s := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
		for _, p := range pids {
			if pid, err := strconv.Atoi(p); err == nil && pid > 1 {
				_ = unix.Kill(pid, s)
			}
		}
	}
}

// Processes are all that this one sees; none where that cannot be told.
func Processes() []string {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = d.Close() }() // only read
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(names, func(n string) bool { return n[0] < '0' || n[0] > '9' })
}

// Descendants are all processes below one, from one look at the machine. loose
// are those whose parent came or went during the look: they may be of them, and
// in a storm of forks most are.
func Descendants(root int) (found []string, loose int) {
	children, parents := map[string][]string{}, map[string]string{}
	for _, n := range Processes() {
		if parent := Parent(n); parent != "" {
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

// Parent is the parent of a process that runs; one that only waits to be
// reaped has none.
func Parent(pid string) string {
	if f := stat("/proc/" + pid); Runs(f) {
		return string(f[statParent])
	}
	return ""
}

// KillDescendants ends all processes below one. They are stopped first, so that
// what forks does not outrun it. Where there is no namespace of
// processes and nothing else holds them, it is what there is.
func KillDescendants(root int) {
	for {
		found, _ := Descendants(root)
		if len(found) == 0 {
			break
		}
		KillAll(found)
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

// MachineTasks are all threads of the machine.
func MachineTasks() uint64 {
	b, _ := os.ReadFile("/proc/loadavg")
	f := strings.Fields(string(b))
	if len(f) < 4 {
		return 0
	}
	_, all, _ := strings.Cut(f[3], "/")
	n, _ := strconv.ParseUint(all, 10, 32)
	return n
}

// ProcText is a small file of a process in /proc without the space around it; empty
// where it cannot be read.
func ProcText(pid, name string) string {
	b, _ := os.ReadFile("/proc/" + pid + "/" + name)
	return string(bytes.TrimSpace(b))
}

// Age is how long a process has been there; 0 where it cannot be told.
func Age(pid string) time.Duration {
	up, _ := os.ReadFile("/proc/uptime")
	now, _, _ := strings.Cut(string(up), " ")
	seconds, err := strconv.ParseFloat(now, 64)
	if f := stat("/proc/" + pid); f != nil && err == nil {
		began := time.Duration(Number(f[statStarted])) * time.Second / ClockTicks
		return max(time.Duration(seconds*float64(time.Second))-began, 0).Truncate(time.Second)
	}
	return 0
}

// Running says whether a process has a thread that is alive.
func Running(pid string) bool { return Runs(stat("/proc/" + pid)) }

// ClockTicks is USER_HZ, 100 on every machine Linux has now.
const ClockTicks = 100

// Fields of /proc/PID/stat (StatFields), counted from the one after the program's name.
const (
	statState   = 0
	statParent  = 1
	StatUser    = 11 // then system, and both of reaped children
	statThreads = 17
	statStarted = 19
	StatRSS     = 21
)

// StatFields are the fields of a stat file after the name; nil where there are
// not enough of them.
func StatFields(b []byte) [][]byte {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return nil
	}
	if f := bytes.Fields(b[i+1:]); len(f) > StatRSS {
		return f
	}
	return nil
}

// stat are the fields of a process or thread by its folder; nil where it has ended.
func stat(dir string) [][]byte {
	b, _ := os.ReadFile(dir + "/stat")
	return StatFields(b)
}

// Headless says whether the first thread of a process has ended: then the
// process looks dead, shows no memory and no files, and goes on all the same
// while another thread does.
func Headless(f [][]byte) bool { return f[statState][0] == 'Z' || f[statState][0] == 'X' }

// Runs says whether any thread of a process is alive.
func Runs(f [][]byte) bool { return f != nil && (!Headless(f) || Number(f[statThreads]) > 1) }

// LivingDir is the folder in /proc of a process as one that is alive: that of
// another thread where the first has ended.
func LivingDir(pid string) string {
	dir := "/proc/" + pid
	if f := stat(dir); f == nil || !Headless(f) {
		return dir
	}
	threads, _ := filepath.Glob(dir + "/task/*")
	for _, t := range threads {
		if f := stat(t); f != nil && !Headless(f) {
			return t
		}
	}
	return dir
}

// Number is a decimal number of the kernel's; 0 for what is none.
func Number(b []byte) int64 {
	n, _ := strconv.ParseInt(string(b), 10, 64)
	return n
}
