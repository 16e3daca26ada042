package meter

import (
	"encoding/binary"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"agency/internal/linux"
)

// A command can hold memory that is in no process's resident size: page tables
// and what stands for mappings, what was swapped out, what waits in sockets and pipes, files that are deleted
// and open, and shared memory that nobody has touched lately. All that /proc and
// the kernel's list of sockets tell of it is added up, less often than the rest:
// it costs a look at each open file.
const (
	hiddenPause = 100 * time.Millisecond
	// hiddenShare is how many times the cost of a count passes before the next.
	hiddenShare = 25
	// Where it has found more than this part of the limit it comes sooner: what
	// holds much so makes the count itself slow.
	hiddenMuch, hiddenSoon = 8, 2
	// However slow a machine or a command makes a count, the next one comes no later,
	// as long as no more than half of a processor goes into them.
	hiddenMost = 2 * time.Second
	// What one user's pipes get at most together before they get the least (pipe(7)).
	pipesMost = 64 << 20
	pipeLeast = 8 << 10
	// pipesFew is what ordinary work has, full or not.
	pipesFew = 64
	// socketDefault is what a socket holds where the kernel does not tell.
	socketDefault = 208 << 10
	// mappingSize is what the kernel keeps of one mapping, used or not.
	mappingSize = 256
	// mappingsMost is how many a process can have on most machines.
	mappingsMost = 65530
)

// hidden is the memory of a command that is in no process's resident size.
type hidden struct {
	began int64 // the machine's shared memory at the first look
	slab  int64 // its small objects likewise
	next  time.Time
	soon  time.Time // the next count, where many files were opened
	open  int64     // files, at the last count
	sent  bool      // at the last count files were on their way in sockets
	bytes int64
}

// Look counts again when it is time, or when there are many more open files. over
// says that what it counts alone passes the limit.
func (h *hidden) look(w *Watch, pids []string, limit, open int64) (over bool) {
	now := time.Now()
	if h.next.IsZero() {
		h.began, h.slab, h.next = machine("Shmem:"), machine("SUnreclaim:"), now.Add(hiddenPause)
	}
	if open*openSize > limit+ordinary {
		return true
	}
	if now.Before(h.next) && (open < h.open+openJump || now.Before(h.soon)) {
		return false
	}
	f := newFiles(w.Temp.Dir, limit)
	h.bytes = 0
	for _, pid := range pids {
		dir := linux.LivingDir(pid)
		b := w.read(dir + "/status")
		h.bytes += statusKB(b, "VmPTE:") + statusKB(b, "VmSwap:") + mappings(dir, statusKB(b, "VmSize:"))*mappingSize
		f.kept += threadSize * (statusKB(b, "Threads:") >> 10) // a number
		f.add(dir)
	}
	locks, many := f.locks()
	h.bytes += f.bytes(w.Open) + f.objects() + locks
	if !w.Open {
		h.bytes += semaphores(len(pids))
	}
	w.Temp.held = f.held()
	over = h.bytes > limit || f.crowdsPipes() || machine("Shmem:")-h.began > limit && sharedSizes(pids) > limit
	// What is on its way nobody can look into, nor into too many locks. Where it
	// stays so, the machine tells.
	over = over || (many || f.sent > 0 && h.sent) && machine("SUnreclaim:")-h.slab > limit+ordinary
	cost := time.Since(now)
	h.open, h.sent, h.soon = open, f.sent > 0, now.Add(hiddenSoon*cost)
	h.next = now.Add(pauseAfter(cost, h.bytes > limit/hiddenMuch))
	return over
}

// pauseAfter is in what time, from the begin of a count, the next one comes; much
// tells that the one that took so long has found much.
func pauseAfter(cost time.Duration, much bool) time.Duration {
	share := time.Duration(hiddenShare)
	if much {
		share = hiddenSoon
	}
	return max(hiddenPause, min(share*cost, max(hiddenMost, hiddenSoon*cost)))
}

// statusKB reads one line of a status file, given in kilobytes; 0 where there is
// none.
func statusKB(b []byte, name string) int64 {
	v, _ := rollup(b, name)
	return v
}

// mappings counts those of a process. Where it hides them it has as many as its
// size, in bytes, allows.
func mappings(dir string, size int64) int64 {
	f, err := os.Open(dir + "/maps")
	if os.IsPermission(err) {
		return min(size/int64(os.Getpagesize()), mappingsMost)
	}
	if err != nil {
		return 0 // it has ended
	}
	defer func() { _ = f.Close() }() // only read
	return countText(f, "\n", math.MaxInt64)
}

// machine is what of the machine's memory is of one kind: Shmem is what is shared and
// in memory file systems, SUnreclaim small objects that cannot be freed.
func machine(kind string) int64 {
	b, _ := os.ReadFile("/proc/meminfo")
	return statusKB(b, kind)
}

// sharedSizes are the sizes of the shared memory without a name that processes
// have mapped, whether it is in use or not. The kernel does not tell how much of
// it is: together with what the machine's has grown by it is enough to know.
func sharedSizes(pids []string) (sum int64) {
	sizes := map[string]int64{}
	for _, pid := range pids {
		b, err := os.ReadFile(linux.LivingDir(pid) + "/maps")
		if err != nil && !os.IsNotExist(err) { // hidden by the process itself
			return 1 << 62
		}
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if len(f) != 7 || f[5] != "/dev/zero" || f[6] != "(deleted)" {
				continue
			}
			from, to, _ := strings.Cut(f[0], "-")
			first, err1 := strconv.ParseUint(from, 16, 64)
			end, err2 := strconv.ParseUint(to, 16, 64)
			offset, err3 := strconv.ParseUint(f[2], 16, 64)
			if err1 == nil && err2 == nil && err3 == nil {
				sizes[f[4]] = max(sizes[f[4]], int64(offset+end-first))
			}
		}
	}
	for _, n := range sizes {
		sum += n
	}
	return sum
}

// bytes is what sockets and pipes hold. The sockets of a network of the command's
// own are all its own, also those that are on their way in others; of the
// machine's only those which its processes have open.
func (f *files) bytes(open bool) int64 {
	sum := f.unseen * socketDefault
	if n := int64(len(f.pipes)) + f.sent; n > pipesFew { // what is on its way may be one
		sum += min(n*linux.PipeMost, pipesMost+n*pipeLeast)
	}
	if open && len(f.sockets) == 0 {
		return sum
	}
	mine := func(inode uint64) bool {
		if !open && inode != 0 && !f.sockets[inode] {
			f.away++
		}
		return !open || f.sockets[inode]
	}
	for _, l := range internetLists {
		if !l.slow || inUse(l.name) {
			sum += internetQueues(l, mine)
		}
	}
	held, err := unixQueues(mine)
	if err != nil {
		held = int64(len(f.sockets)) * socketDefault
	}
	return sum + held
}

// socketList is one of the kernel's lists of sockets, by its columns.
type socketList struct {
	name   string
	queues []int
	base   int // of their numbers
	inode  int
	slow   bool // to read, also where it is empty
}

// Of the internet's, what is sent, a colon, and what is received; of netlink's,
// both by themselves. For a list of TCP the kernel goes through a table that is as large
// as the machine's memory allows, which takes it milliseconds.
var internetLists = [...]socketList{
	{"tcp", []int{4}, 16, 9, true},
	{"tcp6", []int{4}, 16, 9, true},
	{"udp", []int{4}, 16, 9, false},
	{"udp6", []int{4}, 16, 9, false},
	{"icmp", []int{4}, 16, 9, false},
	{"icmp6", []int{4}, 16, 9, false},
	{"netlink", []int{4, 5}, 10, 9, false},
}

// inUse tells whether a network has sockets of a protocol, as far as the kernel counts them.
func inUse(protocol string) bool {
	file, name := "sockstat", strings.ToUpper(protocol)+":"
	if strings.HasSuffix(protocol, "6") {
		file = "sockstat6"
	}
	b, err := os.ReadFile("/proc/thread-self/net/" + file)
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 2 && f[0] == name {
			return f[2] != "0" // after "inuse"
		}
	}
	return err == nil || !os.IsNotExist(err) // no IPv6, no such file
}

func internetQueues(l socketList, mine func(uint64) bool) (sum int64) {
	b, _ := os.ReadFile("/proc/thread-self/net/" + l.name)
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) <= l.inode {
			continue
		}
		inode, err := strconv.ParseUint(f[l.inode], 10, 64)
		if err != nil || !mine(inode) {
			continue
		}
		for _, column := range l.queues {
			for q := range strings.SplitSeq(f[column], ":") {
				n, _ := strconv.ParseInt(q, l.base, 64)
				sum += n
			}
		}
	}
	return sum
}

// The kernel's list of sockets (sock_diag(7)), of those that are of this machine
// alone.
const (
	diagQueue     = 0x10 // UDIAG_SHOW_RQLEN
	diagMemory    = 0x20 // UDIAG_SHOW_MEMINFO
	diagHead      = 16   // struct unix_diag_msg
	diagAttrQueue = 4    // UNIX_DIAG_RQLEN: what waits to be read
	diagAttrMem   = 5    // UNIX_DIAG_MEMINFO
	diagMemSent   = 8    // in it, SK_MEMINFO_WMEM_ALLOC: what others have not read
	diagMemOption = 24   // SK_MEMINFO_OPTMEM
)

// unixQueues is what sockets have sent that nobody has read yet, and what waits
// in them for those who read. One counts also when the sender is gone, the other
// in full.
func unixQueues(mine func(uint64) bool) (int64, error) {
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(s) }()
	order := binary.NativeEndian
	ask := order.AppendUint32(nil, unix.SizeofNlMsghdr+24)
	ask = order.AppendUint16(order.AppendUint16(ask, unix.SOCK_DIAG_BY_FAMILY), unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	ask = order.AppendUint64(ask, 0)                                         // number and port
	ask = order.AppendUint32(append(ask, unix.AF_UNIX, 0, 0, 0), ^uint32(0)) // in every state
	ask = order.AppendUint32(order.AppendUint32(ask, 0), diagQueue|diagMemory)
	ask = order.AppendUint64(ask, 0)
	if err := unix.Sendto(s, ask, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, err
	}
	var sum int64
	for buf := make([]byte, 64<<10); ; {
		n, _, err := unix.Recvfrom(s, buf, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0, err
		}
		for b := buf[:n]; len(b) >= unix.SizeofNlMsghdr; {
			size, kind := int(order.Uint32(b)), order.Uint16(b[4:])
			if size < unix.SizeofNlMsghdr || size > len(b) {
				return 0, unix.EBADMSG
			}
			switch body := b[unix.SizeofNlMsghdr:size]; {
			case kind == unix.NLMSG_DONE:
				return sum, nil
			case kind == unix.NLMSG_ERROR && len(body) >= 4:
				return 0, syscall.Errno(-int32(order.Uint32(body)))
			case len(body) >= diagHead && mine(uint64(order.Uint32(body[4:]))):
				sum += queueOf(body[diagHead:])
			}
			b = b[min(aligned(size), len(b)):]
		}
	}
}

// queueOf reads the attributes of one socket.
func queueOf(b []byte) (sum int64) {
	order := binary.NativeEndian
	for len(b) >= unix.SizeofRtAttr {
		size, kind := int(order.Uint16(b)), order.Uint16(b[2:])
		if size < unix.SizeofRtAttr || size > len(b) {
			return sum
		}
		switch body := b[unix.SizeofRtAttr:size]; {
		case kind == diagAttrQueue && len(body) >= 4:
			sum += int64(order.Uint32(body))
		case kind == diagAttrMem && len(body) >= diagMemOption+4:
			sum += int64(order.Uint32(body[diagMemSent:])) + int64(order.Uint32(body[diagMemOption:]))
		}
		b = b[min(aligned(size), len(b)):]
	}
	return sum
}

// aligned is the size of a message of netlink with what pads it.
func aligned(n int) int { return (n + 3) &^ 3 }
