package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// The child finds these open: the plan comes through control, whose end is
// also the sign that the host is gone; its report goes into status.
const (
	fdControl = 3
	fdStatus  = 4
)

// childName is the child's argv[0]. Nobody starts a program under this name by
// chance.
const childName = "agency: sandbox"

// kind says what is shown at a path.
type kind string

const (
	kindBind    kind = "bind"
	kindOverlay kind = "overlay"
	kindMemory  kind = "memory" // a tmpfs
	kindEmpty   kind = "empty"  // an empty read-only folder
)

// layer is the host side of one overlay.
type layer struct {
	Upper, Work string
	Own         string // the cache to use instead when the overlay is refused
}

// item is one thing to show, in the order of mounting.
type item struct {
	Kind     kind
	Host, At string
	Writable bool
	Inside   bool // lies below the repository: no symbolic link on the way counts
	Place    bool // is the repository: made read-only last, for the mount points in it
	Layer    layer
	SizeMB   int
}

// plan is all that a child must know.
type plan struct {
	At       string
	Items    []item
	UID, GID int // inside
	Dir      string
	Argv     []string
	Env      []string
	Limits   Limits
}

// report is all that a child tells.
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

// writeFrame sends v as its length in four bytes and its JSON.
func writeFrame(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	out := binary.LittleEndian.AppendUint32(make([]byte, 0, len(b)+4), uint32(len(b)))
	_, err = w.Write(append(out, b...))
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
