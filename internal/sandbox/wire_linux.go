package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// fdControl is the child's end of the socket to its host. What comes through
// it is the plan, then one request after the other; its end is also the sign
// that the host is gone.
const fdControl = 3

// childName is the child's argv[0]. Nobody starts a program under this name by
// chance.
const childName = "agency: sandbox"

// keeperName is the same in the landlock tier.
const keeperName = "agency: landlock"

// kind says what is shown at a path.
type kind string

const (
	kindBind    kind = "bind"
	kindOverlay kind = "overlay"
	kindMemory  kind = "memory" // a tmpfs
	kindEmpty   kind = "empty"  // an empty read-only folder
)

// fresh says whether what is shown is made anew for every command; all else
// stays mounted as long as the sandbox lives.
func (k kind) fresh() bool { return k == kindOverlay || k == kindMemory }

// item is one thing to show, in the order of mounting.
type item struct {
	Kind     kind
	Host, At string
	Writable bool
	Inside   bool // lies below the repository: no symbolic link on the way counts
	Place    bool // is the repository: made read-only last, for the mount points in it
	Layers   string
	// Under is the index of the nearest item that this one lies in, -1 for
	// none.
	Under int
	// IDs are device and inode of Host and Layers: a folder that was made anew
	// at the same path is not the one that is mounted.
	IDs [][2]uint64
}

// plan is what a sandbox shows, the same for all its commands.
type plan struct {
	Tier     Tier
	Loopback bool // landlock tier: internet sockets are open
	// Once says that no second command will see the same.
	Once     bool
	At       string
	Items    []item
	UID, GID int // inside
}

// request is one command; its three streams come with it as open files, and
// where it has hosts to reach the channel to the proxy.
type request struct {
	Dir    string
	Argv   []string
	Env    []string
	Limits Limits
	Layers []string // of each overlay in the plan's order, the folder in Layers
	Tmp    string   // landlock tier: the command's own folder for temporary files
	Port   int      // landlock tier: of the proxy, on the machine's loopback address; 0 for none
	door   *socket  // where that proxy listens, on the host
}

// report is all that a child tells of one request, or of the plan.
type report struct {
	// Setup is what went wrong before the command; then nothing else is set.
	Setup string
	// NotStarted is why the command could not be executed, Code its 126 or 127.
	NotStarted string
	Code       int
	Wait       uint32 // the command's wait status
	Cause      Cause  // the limit that ended it, or ""
	CPUMicros  int64
	MaxRSSKB   int64
	OwnCaches  []string
}

// maxFrame bounds a frame, so that a broken peer cannot ask for memory.
const maxFrame = 64 << 20

// frame is v as its length in four bytes and its JSON.
func frame(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	out := binary.LittleEndian.AppendUint32(make([]byte, 0, len(b)+4), uint32(len(b)))
	return append(out, b...), nil
}

func writeFrame(w io.Writer, v any) error {
	b, err := frame(v)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

func readFrame(r io.Reader, v any) error {
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
