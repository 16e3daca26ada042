package supervisor

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"syscall"

	"agency/internal/linux/meter"
	"agency/internal/rootfs"
)

// fdControl is the child's end of the socket to its host. What comes through
// it is the plan, then one request after the other; its end is also the sign
// that the host is gone.
const fdControl = 3

// childName begins the child's argv[0], which the number of its host follows: of
// one whose host is gone another tells by it. Nobody starts a program under this
// name by chance.
const childName = "agency: sandbox"

// subreaperName is the same in the landlock tier.
const subreaperName = "agency: landlock"

// Plan is what a sandbox is, the same for all its commands.
type Plan struct {
	rootfs.Plan
	// Landlock: the supervisor has no namespaces of its own (the landlock tier). Then
	// the items are what Landlock lets commands reach, at the host's own paths.
	Landlock bool
	Loopback bool // landlock tier: internet sockets are open, and none that has a path
	// NoUnix says that commands get no sockets that have a path: PID 1 sets it where
	// it had to show folders in which the host's would answer.
	NoUnix bool `json:"-"`
	// Once says that no second command will see the same.
	Once bool
	// Together, of the full tier: the commands are those of one session, of which some go on
	// beside later ones. They share the network and the kernel's objects that no path names,
	// what they use is counted together, and each comes with a leash: an open socket, whose
	// end on the host's side is the sign that the command is to end.
	Together bool `json:",omitempty"`
}

// Limits bound one command.
type Limits struct {
	meter.Limits     // of all processes together; without one of time there is the host's patience
	TmpMB        int // of each of the folders for temporary files
	Tasks        int // threads of all processes together
	OpenFiles    int // a process
	FileSizeMB   int // a file
	Nice         int // of all processes; 0 is the host's
}

// Request is one command; its three streams come with it as open files, and
// where it has hosts to reach the channel to the proxy.
type Request struct {
	Dir  string
	Argv []string
	Env  []string
	// Programs are the paths at which the program is looked for, in order.
	Programs []string
	Limits   Limits
	Layers   []string // of each overlay in the plan's order, the folder in Layers
	Tmp      string   // landlock tier: the command's own folder for temporary files
	Port     int      // landlock tier: of the proxy, on the machine's loopback address; 0 for none
	// Stays, of a plan with Together: the command goes on beside later ones, and cannot write
	// the repository. Its report comes through its leash; what answers the request says that
	// it has begun.
	Stays bool
}

// Report is all that a child tells of one request, or of the plan.
type Report struct {
	// Setup is what went wrong before the command; then nothing else is set.
	Setup string
	// NotStarted is why the command could not be executed, Errno the kernel's word.
	NotStarted string
	Errno      syscall.Errno
	Wait       uint32 // the command's wait status
	Cause      string // the limit that ended it, by its name in package meter, Killed or ""
	CPUMicros  int64
	MaxRSSKB   int64
	OwnCaches  []string
	// Bound are the folders that are shown without an overlay, which the kernel
	// refused; commands then get no sockets that have a path.
	Bound []string
}

// Killed stands in a report on a command that was ended, until it is known by whom.
const Killed = "killed"

// maxFrame bounds a frame, so that a broken peer cannot ask for memory.
const maxFrame = 64 << 20

// Frame is v as its length in four bytes and its JSON.
func Frame(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	out := binary.LittleEndian.AppendUint32(make([]byte, 0, len(b)+4), uint32(len(b)))
	return append(out, b...), nil
}

// WriteFrame sends v.
func WriteFrame(w io.Writer, v any) error {
	b, err := Frame(v)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// ReadFrame receives v.
func ReadFrame(r io.Reader, v any) error {
	var n [4]byte
	if _, err := io.ReadFull(r, n[:]); err != nil {
		return err
	}
	size := binary.LittleEndian.Uint32(n[:])
	if size > maxFrame {
		return fmt.Errorf("frame of %d bytes", size)
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(r, b); err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}
