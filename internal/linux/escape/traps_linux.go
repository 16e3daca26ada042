package escape

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"

	"agency/internal/linux"
)

// What waits for a command in a folder of the host that it is shown.
const (
	TrapStream  = "stream.sock"
	trapMessage = "message.sock"
	trapPipe    = "pipe"
	trapNode    = "null"
	trapShown   = "shown"
	// Beside the folder, shown to nobody: a socket of the program's own, whose path
	// is the name of an abstract one, too, and a file of the user's.
	TrapOwn  = "own.sock"
	trapFile = "file"
)

// trapsFolder is that folder, in one of the user's.
const trapsFolder = "shown"

// LongestSocket is how long the path of a socket may be (unix(7)).
const LongestSocket = 107

// TrapsParent is a new folder in which traps can be planted: where temporary files
// lie so deep that no socket may be named there, it is one of the machine's own.
func TrapsParent() (string, error) {
	var last error
	for _, parent := range []string{os.TempDir(), "/tmp", "/var/tmp", "/dev/shm"} {
		dir, err := os.MkdirTemp(parent, "agency-probe-")
		if err != nil {
			last = err
			continue
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if len(filepath.Join(dir, trapsFolder, trapMessage)) <= LongestSocket {
			return dir, nil
		}
		last = errors.Join(fmt.Errorf("%s is too long for the path of a socket", dir), os.Remove(dir))
	}
	return "", last
}

// TrapSaid is what waits in the pipe for who may read it.
const TrapSaid = "for the user's own programs"

// TrapsEnv names to the probe the folder as it sees it, TrapsOwnEnv the socket of
// the program's own, by its path on the host.
const (
	TrapsEnv    = "AGENCY_PROBE_SHOWN"
	TrapsOwnEnv = "AGENCY_PROBE_OWN"
)

// TrapsAt is where the probe is shown it.
const TrapsAt = "/opt/agency/shown"

// TrapDevice and TrapDeviceRead are the attempts that need root to be prepared.
const (
	TrapDevice     = "open a device in a folder that is shown"
	TrapDeviceRead = "read a device in a folder that is shown"
)

// Traps is a folder of the host in which somebody answers.
type Traps struct {
	Dir   string
	Files []int // what is open: three sockets, that of messages, the pipe
}

func PlantTraps(parent string) (*Traps, error) {
	t := &Traps{Dir: filepath.Join(parent, trapsFolder)}
	if err := t.plant(parent); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

func (t *Traps) plant(parent string) error {
	if err := os.Mkdir(t.Dir, 0o755); err != nil {
		return err
	}
	for _, s := range []struct {
		kind int
		path string
	}{
		{unix.SOCK_STREAM, filepath.Join(t.Dir, TrapStream)},
		{unix.SOCK_STREAM, filepath.Join(parent, TrapOwn)},
		{unix.SOCK_STREAM, "@" + filepath.Join(parent, TrapOwn)},
		{unix.SOCK_DGRAM, filepath.Join(t.Dir, trapMessage)},
	} {
		fd, err := unix.Socket(unix.AF_UNIX, s.kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err == nil {
			t.Files = append(t.Files, fd)
			err = unix.Bind(fd, &unix.SockaddrUnix{Name: s.path})
		}
		if err == nil && s.kind == unix.SOCK_STREAM {
			err = unix.Listen(fd, 8)
		}
		if err != nil {
			return &os.PathError{Op: "listen", Path: s.path, Err: err}
		}
	}
	pipe := filepath.Join(t.Dir, trapPipe)
	err := unix.Mkfifo(pipe, 0o600)
	if err == nil {
		var fd int
		if fd, err = unix.Open(pipe, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err == nil {
			t.Files = append(t.Files, fd)
			_, err = unix.Write(fd, []byte(TrapSaid))
		}
	}
	if err != nil {
		return &os.PathError{Op: "pipe", Path: pipe, Err: err}
	}
	for _, path := range []string{filepath.Join(parent, trapFile), filepath.Join(t.Dir, trapShown)} {
		if err := os.WriteFile(path, []byte("the user's"), 0o600); err != nil {
			return err
		}
	}
	_ = unix.Mknod(filepath.Join(t.Dir, trapNode), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))) // root alone may
	return nil
}

func (t *Traps) Close() {
	for _, fd := range t.Files {
		_ = unix.Close(fd)
	}
}

// TrapAttempts try what lies in a folder that is shown. Without one there is
// nothing that stops them.
func TrapAttempts() []Attempt {
	in := func(name string, try func(path string) error) func() error {
		return func() error {
			dir := os.Getenv(TrapsEnv)
			if dir == "" {
				return nil
			}
			return try(filepath.Join(dir, name))
		}
	}
	return []Attempt{
		{"connect to a socket in a folder that is shown", in(TrapStream, func(p string) error { return meets(unix.SOCK_STREAM, p) })},
		{"send to a socket in a folder that is shown", in(trapMessage, sendTo)},
		{"write to a pipe in a folder that is shown", in(trapPipe, func(p string) error {
			fd, err := unix.Open(p, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
			if err != nil {
				return err // nobody reads, or it is not to be written
			}
			defer func() { _ = unix.Close(fd) }()
			_, err = unix.Write(fd, []byte("escaped"))
			return err
		})},
		{"read from a pipe in a folder that is shown", in(trapPipe, readPipe)},
		{"set the flags of a folder that is shown", in("", setFlags)},
		{TrapDevice, in(trapNode, func(p string) error { return opened(p, os.O_WRONLY) })},
		{TrapDeviceRead, in(trapNode, func(p string) error { return opened(p, os.O_RDONLY) })},
		{"send to a socket by half of a pair", in(trapMessage, sendByPair)},
		{"connect to the program's own socket", func() error { return meets(unix.SOCK_STREAM, beside(TrapOwn)) }},
		{"connect to an abstract socket of the user's", func() error { return meets(unix.SOCK_STREAM, "@"+beside(TrapOwn)) }},
		{"see that a file outside is there", onOutside(func(p string) error { _, err := os.Lstat(p); return err })},
		{"change the mode of a file outside", onOutside(func(p string) error {
			return noneOf(unix.Chmod(p, 0o644), unix.Fchmodat(unix.AT_FDCWD, p, 0o644, unix.AT_SYMLINK_NOFOLLOW))
		})},
		{"change the times of a file outside", onOutside(func(p string) error {
			return noneOf(unix.UtimesNanoAt(unix.AT_FDCWD, p, make([]unix.Timespec, 2), 0), unix.Utimes(p, make([]unix.Timeval, 2)))
		})},
		{"change the owner of a file outside", onOutside(func(p string) error { return unix.Lchown(p, os.Getuid(), os.Getgid()) })},
		{"give a file outside an attribute", onOutside(func(p string) error {
			return noneOf(unix.Setxattr(p, "user.agency-escape", []byte("x"), 0), unix.Lsetxattr(p, "user.agency-escape", []byte("x"), 0))
		})},
		{"say in a list who may use a file outside", onOutside(func(p string) error { return unix.Setxattr(p, "system.posix_acl_access", everybody, 0) })},
		{"cut a file outside short", onOutside(func(p string) error { return unix.Truncate(p, 1) })},
		{"take a file outside into the checkout", onOutside(taken)},
		{"take a file that is shown into the checkout", in(trapShown, taken)},
		{"put a file of the checkout into a folder that is shown", in("put", put)},
	}
}

// taken has a file that the command may not write lie where it may, by a link and
// by moving it.
func taken(path string) error {
	here := "agency-taken"
	err := noneOf(unix.Link(path, here), unix.Rename(path, here))
	_ = unix.Unlink(here) // where it is the attempt got through
	return err
}

// put has a file of the checkout lie where the command may not write.
func put(path string) error {
	here := "agency-put"
	if err := os.WriteFile(here, nil, 0o600); err != nil {
		return nil // the attempt could not be made
	}
	err := noneOf(unix.Link(here, path), unix.Rename(here, path))
	_ = unix.Unlink(here)
	return err
}

// everybody is a list by which all may do everything: version 2, then the owner,
// the group and others with all rights.
var everybody = []byte{
	2, 0, 0, 0,
	1, 0, 7, 0, 255, 255, 255, 255,
	4, 0, 7, 0, 255, 255, 255, 255,
	32, 0, 7, 0, 255, 255, 255, 255,
}

// beside is what lies beside the folder that is shown, by its path on the host.
func beside(name string) string {
	if own := os.Getenv(TrapsOwnEnv); own != "" {
		return filepath.Join(filepath.Dir(own), name)
	}
	return filepath.Join(filepath.Dir(os.Getenv(TrapsEnv)), name)
}

func onOutside(try func(path string) error) func() error {
	return func() error { return try(beside(trapFile)) }
}

func readPipe(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	n, err := unix.Read(fd, make([]byte, len(TrapSaid)))
	if err == nil && n == 0 {
		return errors.New("nobody writes to it")
	}
	return err
}

// setFlags sets flags and number of a file, which needs no more than that it is
// the user's, to what they are; by the numbers of the commands of 64 bits and 32.
func setFlags(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	const setFlags32, setVersion, setVersion32, setAttributes = 0x40046602, 0x40087602, 0x40047602, 0x401c5820
	var answers []error
	for _, c := range []struct{ ask, set uintptr }{
		{unix.FS_IOC_GETFLAGS, unix.FS_IOC_SETFLAGS},
		{unix.FS_IOC_GETFLAGS, setFlags32},
		{unix.FS_IOC_GETFLAGS, unix.FS_IOC_SETFLAGS | 1<<32},
		{linux.GetVersion, setVersion},
		{linux.GetVersion, setVersion32},
		{linux.GetAttributes, setAttributes},
	} {
		var now [64]byte
		if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), c.ask, uintptr(unsafe.Pointer(&now))); e != 0 {
			answers = append(answers, e) // the file system has none
			continue
		}
		answers = append(answers, errnoOf(unix.Syscall(unix.SYS_IOCTL, uintptr(fd), c.set, uintptr(unsafe.Pointer(&now)))))
	}
	return noneOf(answers...)
}

// sendByPair sends to a socket from one that was never opened by its family.
func sendByPair(path string) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer func() { _, _ = unix.Close(fds[0]), unix.Close(fds[1]) }()
	to := &unix.SockaddrUnix{Name: path}
	return noneOf(unix.Sendto(fds[0], []byte("escaped"), 0, to), unix.Connect(fds[0], to))
}

// meets connects to a socket that has a path.
func meets(kind int, path string) error {
	return connected(unix.AF_UNIX, kind, 0, &unix.SockaddrUnix{Name: path})
}

// sendTo sends a message to a socket without connecting, and by connecting.
func sendTo(path string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return noneOf(unix.Sendto(fd, []byte("escaped"), 0, &unix.SockaddrUnix{Name: path}), meets(unix.SOCK_DGRAM, path))
}
