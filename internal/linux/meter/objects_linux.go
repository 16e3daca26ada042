package meter

import (
	"bufio"
	"bytes"
	"hash/maphash"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"agency/internal/linux"
)

// What the kernel keeps of what a command has open, threads and such, in bytes, on
// the machines of the day; of an overlay's files it keeps two. It is small, and
// there may be millions of it.
const (
	openSize      = 512      // an open file and its number
	nodeSize      = 1 << 10  // what it is of: inode and name
	socketSize    = 2 << 10  // beside its inode
	watchSize     = 192      // one file in an epoll
	noticeSize    = 1 << 10  // one watch of inotify, with the inode that it holds
	lockSize      = 224      // a lock on a part of a file
	threadSize    = 24 << 10 // with its stack
	semaphoreSize = 64
	undoSize      = 2 // of each semaphore in each process that asks for it
	queueSize     = 256
	messageSize   = 64
	// ordinary is what goes uncounted of it.
	ordinary = 4 << 20
	// openJump is by how many open files more a count comes sooner.
	openJump = 512
	// locksFew is how many locks a machine has that are not looked at.
	locksFew = 4096
	// locksMost are looked at: the kernel begins anew for each page of its list.
	locksMost = 32 << 10
	// Of the room in pipes that the kernel gives one user, in all namespaces
	// together, a command gets three quarters; each pipe takes sixteen pages.
	roomParts, roomPart, pipePages = 4, 3, 16
)

// files are the open files of a command that hold memory, or room on a disk that
// no name leads to, by their inodes.
type files struct {
	sockets, pipes map[uint64]bool
	nodes          map[uint64]bool // hashes of their names
	inodes         map[uint64]bool // of files that have a name; nil: nobody asks
	deleted        map[uint64]int64
	temp           string
	limit          int64 // where there is more nobody needs to know how much
	unseen         int64 // of processes that hide theirs
	open           int64 // once for each process that has it
	gone           int64 // of them those whose name was removed
	sent           int64 // on their way in sockets
	away           int64 // sockets that no process has
	kept           int64 // bytes for watches, notices and threads
	seed           maphash.Seed
	name           []byte
}

func newFiles(temp string, limit int64) *files {
	f := &files{
		sockets: map[uint64]bool{}, pipes: map[uint64]bool{}, nodes: map[uint64]bool{}, deleted: map[uint64]int64{},
		temp: temp, limit: limit, seed: maphash.MakeSeed(), name: make([]byte, unix.PathMax),
	}
	if countIn("/proc/locks", "\n", locksFew) >= locksFew {
		f.inodes = map[uint64]bool{}
	}
	return f
}

// add counts what one process has open.
func (f *files) add(dir string) {
	d, err := os.Open(dir + "/fd")
	if err != nil {
		if fi, bad := os.Stat(dir + "/fd"); os.IsPermission(err) && bad == nil { // its size is their number
			f.unseen += fi.Size()
		}
		return
	}
	defer func() { _ = d.Close() }() // only read
	for f.objects() <= f.limit {
		names, err := d.Readdirnames(256)
		for _, n := range names {
			f.addFile(dir, int(d.Fd()), n)
		}
		if err != nil {
			return
		}
	}
}

// addFile counts one open file of the process whose files are in the folder at.
func (f *files) addFile(dir string, at int, number string) {
	n, err := unix.Readlinkat(at, number, f.name)
	if err != nil {
		return
	}
	f.open++
	target := f.name[:n]
	if target[0] == '/' {
		f.addNamed(at, number, string(target))
		return
	}
	kind, rest, _ := strings.Cut(string(target), ":")
	inode, _ := strconv.ParseUint(strings.Trim(rest, "[]"), 10, 64)
	info := dir + "/fdinfo/" + number
	switch {
	case kind == "socket" && !f.sockets[inode]:
		f.sockets[inode] = true
		f.sent += sentFiles(info)
	case kind == "pipe":
		f.pipes[inode] = true
	case rest == "[eventpoll]":
		f.kept += watchSize * countIn(info, "\ntfd:", f.limit/watchSize)
	case rest == "inotify":
		f.kept += noticeSize * countIn(info, "\ninotify wd:", f.limit/noticeSize)
	}
}

func (f *files) addNamed(at int, number, target string) {
	f.nodes[maphash.String(f.seed, target)] = true
	removed := strings.HasSuffix(target, " (deleted)")
	if removed {
		f.gone++
	}
	held := removed && f.temp != "" && linux.Within(target, f.temp)
	if !held && f.inodes == nil {
		return
	}
	var st unix.Stat_t
	if unix.Fstatat(at, number, &st, 0) != nil {
		return
	}
	if held {
		f.deleted[st.Ino] = st.Blocks * 512
	}
	if f.inodes != nil {
		f.inodes[st.Ino] = true
	}
}

// objects is what the kernel keeps of all that, without what is in it.
func (f *files) objects() int64 {
	nodes := int64(len(f.nodes)+len(f.sockets)+len(f.pipes)) + f.gone + f.away
	sum := (f.open+f.sent)*openSize + nodes*nodeSize + (int64(len(f.sockets))+f.away)*socketSize + f.kept
	return max(sum-ordinary, 0)
}

// locks is what the kernel keeps of locks on these files. Only where the machine
// has more than a few are they looked at; many says that there are more than can
// be looked at, and that some are on these files. The device counts for nothing:
// with some file systems the list has another.
func (f *files) locks() (sum int64, many bool) {
	if len(f.inodes) == 0 {
		return 0, false
	}
	list, err := os.Open("/proc/locks")
	if err != nil {
		return 0, false
	}
	defer func() { _ = list.Close() }() // only read
	seen := 0
	for s := bufio.NewScanner(list); seen < locksMost && s.Scan(); seen++ {
		for _, field := range bytes.Fields(s.Bytes()) {
			if bytes.Count(field, []byte(":")) != 2 {
				continue
			}
			if n, err := strconv.ParseUint(string(field[bytes.LastIndexByte(field, ':')+1:]), 10, 64); err == nil && f.inodes[n] {
				sum += lockSize
			}
			break
		}
	}
	return sum, seen == locksMost && sum > 0
}

// held is the room that files take which are deleted and open.
func (f *files) held() (sum int64) {
	for _, n := range f.deleted {
		sum += n
	}
	return sum
}

// crowdsPipes says whether they take so much of the room in pipes that the user's
// own programs would get the smallest only.
func (f *files) crowdsPipes() bool {
	b, _ := os.ReadFile("/proc/sys/fs/pipe-user-pages-soft")
	room := linux.Number(bytes.TrimSpace(b))
	return room > 0 && (int64(len(f.pipes))+f.sent)*pipePages*roomParts > room*roomPart
}

// sentFiles is how many files wait in a socket to be received.
func sentFiles(info string) int64 {
	b, _ := os.ReadFile(info)
	_, rest, _ := bytes.Cut(b, []byte("\nscm_fds:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return linux.Number(bytes.TrimSpace(line))
}

// countIn counts how often a file of /proc has a text, up to most; 0 where it
// cannot be read.
func countIn(path, text string, most int64) int64 {
	file, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer func() { _ = file.Close() }() // only read
	return countText(file, text, most)
}

// countText is countIn of an open file.
func countText(file *os.File, text string, most int64) (n int64) {
	buf := make([]byte, 16<<10)
	for kept := 0; n < most; {
		got, err := file.Read(buf[kept:])
		all := buf[:kept+got]
		n += int64(bytes.Count(all, []byte(text)))
		kept = copy(buf, all[max(len(all)-len(text)+1, 0):]) // it may go on there
		if err != nil {
			return n
		}
	}
	return n
}

// Columns of /proc/sysvipc/sem, msg and shm.
const (
	semCount = 3
	msgBytes = 3
	msgCount = 4
	shmRSS   = 14
	shmSwap  = 15
)

// semaphores is the memory of System V semaphores and messages of a namespace of
// the command's own. Without one it has none.
func semaphores(processes int) int64 {
	return sumObjects("sem", msgCount, func(f [][]byte) int64 {
		return queueSize + linux.Number(f[semCount])*int64(semaphoreSize+undoSize*processes)
	}) + sumObjects("msg", msgCount, func(f [][]byte) int64 {
		return queueSize + linux.Number(f[msgBytes]) + linux.Number(f[msgCount])*messageSize
	})
}

// systemV is the memory of System V segments, whoever has them attached: it stays
// in memory when nobody has, or whoever has no longer looks at it. Without an ipc
// namespace they are the whole machine's.
func (w *Watch) systemV() int64 {
	if w.Open {
		return 0
	}
	return sumObjects("shm", shmSwap, func(f [][]byte) int64 { return linux.Number(f[shmRSS]) + linux.Number(f[shmSwap]) })
}

// sumObjects adds up what count makes of each line of one of the kernel's lists of
// System V objects, of those that have the last column asked for.
func sumObjects(name string, last int, count func(f [][]byte) int64) (sum int64) {
	list, err := os.Open("/proc/sysvipc/" + name)
	if err != nil {
		return 0
	}
	defer func() { _ = list.Close() }() // only read
	s := bufio.NewScanner(list)
	for s.Scan(); s.Scan(); { // after the heading
		if f := bytes.Fields(s.Bytes()); len(f) > last {
			sum += count(f)
		}
	}
	return sum
}
