package supervisor

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Command is a supervisor to be started, of the landlock tier or the full one, with
// its end of the socket to this process, its host. One of the full tier gets its users
// by MapIDs.
func Command(landlocked bool, control *os.File) *exec.Cmd {
	// The program of this very process, also when its file is gone.
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{childName + " " + strconv.Itoa(os.Getpid())}
	// The last is for builds with the race detector, which else waits a second
	// at the end.
	cmd.Env = []string{"GOGC=off", "GOMAXPROCS=2", "GOTRACEBACK=none", "GORACE=atexit_sleep_ms=0"}
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{control} // fdControl
	if landlocked {
		cmd.Args = []string{subreaperName}
		// No parent-death signal: at the end of its control it has processes to
		// end first.
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	} else {
		cmd.SysProcAttr = namespaces()
	}
	return cmd
}

// MapIDs gives PID 1 the user that it is inside. It may wait for that until it
// gets its plan: its capabilities do not come from who it is.
func MapIDs(pid int) error {
	for _, f := range [...]struct{ name, text string }{
		{"uid_map", fmt.Sprintf("%d %d 1\n", InsideID(os.Getuid()), os.Getuid())},
		{"setgroups", "deny"}, // else an ordinary user may map no group
		{"gid_map", fmt.Sprintf("%d %d 1\n", InsideID(os.Getgid()), os.Getgid())},
	} {
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/%s", pid, f.name), []byte(f.text), 0); err != nil {
			return err
		}
	}
	return nil
}

func namespaces() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Setsid:    true,
		Pdeathsig: syscall.SIGKILL,
		// The last two are what package syscall adds where there is no new user
		// namespace: without them the host's memory would be copied for a process
		// that has no use for it.
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID |
			unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_VM | unix.CLONE_VFORK,
		// Enough to build the view, nothing outside: these hold in the new
		// namespaces only, and no command has them. CHROOT is for coming back
		// from a command's mounts, DAC_OVERRIDE for overlays, whose work folder
		// nobody may enter, SYS_RESOURCE for the counts of the user namespace.
		AmbientCaps: []uintptr{
			unix.CAP_SYS_ADMIN, unix.CAP_SYS_CHROOT, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE, unix.CAP_SYS_RESOURCE,
		},
	}
}

// rootInside is the user that the host's root is inside: many programs refuse
// to run, or do not respect permissions, as root.
const rootInside = 1000

// InsideID is the number that a user or group of the host is inside.
func InsideID(id int) int {
	if id == 0 {
		return rootInside
	}
	return id
}
